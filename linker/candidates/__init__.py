"""Candidate generators: from names to ranked concepts."""
