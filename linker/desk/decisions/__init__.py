"""What people decided about mentions: kept, applied when linking, and checked against releases."""
