"""Jobs over many files: parts in, parts out, on one machine or on many (Ray)."""
