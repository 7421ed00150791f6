"""Writers of predictions, one format a file."""
