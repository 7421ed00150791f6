"""Pure functions on the text of names and documents."""
