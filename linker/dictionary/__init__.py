"""Dictionaries: concepts with their names, ids and hierarchy, in columns."""

from linker.dictionary.dictionary import Dictionary
from linker.dictionary.names import NameTable

__all__ = ["Dictionary", "NameTable"]
