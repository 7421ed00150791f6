"""Readers, one format a file: plain functions that yield records."""
