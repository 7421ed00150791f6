"""The routes of the service; each file has a function `router(service)`."""
