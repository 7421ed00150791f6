"""The service: links over HTTP, speaks OpenRefine's protocol, and serves the page for curators."""
