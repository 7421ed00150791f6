"""linker maps the names of diseases and other concepts, as people write them, to identifiers of a dictionary."""
