"""Files and formats: a format is one file that reads and writes."""
