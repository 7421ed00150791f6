"""The release, read by setup.cfg and written into models and results."""

VERSION = "0.1.0"
