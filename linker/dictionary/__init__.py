"""Dictionaries: concepts with their names, ids and hierarchy, in columns."""

from linker.dictionary.dictionary import Dictionary
from linker.dictionary.lending import LendingOptions
from linker.dictionary.names import NameTable

__all__ = ["Dictionary", "LendingOptions", "NameTable"]
