"""Names by characters and by vectors, grouped to concepts."""
