"""The tasks by which the papers judge encoders of names, apart from linking."""
