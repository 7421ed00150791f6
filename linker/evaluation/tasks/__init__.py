"""The tasks by which the papers evaluate encoders of names, apart from linking."""
