"""The one rule for short forms: whether a text leaves open what it stands for.

Finding names in texts, linking, tables and reconciliation use it.
"""

from __future__ import annotations

import string

from linker.dictionary.dictionary import Dictionary
from linker.explanation import Doubt
from linker.text.find import LONGEST_SHORT, is_short_form

_AROUND = string.punctuation + string.whitespace
_BEGINNING = 4  # letters that a word and a short form do not share


def is_short_name(dictionary: Dictionary, row: int) -> bool:
    """Whether a name is a short form, and no word in capitals.

    Where most names are in capitals, case tells nothing, and no name is taken for a short form.

    Args:
        dictionary: the dictionary.
        row: of the name.
    """
    name, concept = dictionary.names[row], int(dictionary.name_concept[row])
    return _is_short(dictionary, name, concept) and not dictionary.is_in_capitals


def _is_short(dictionary: Dictionary, text: str, concept: int) -> bool:
    """Whether a text is a short form, and no word in capitals, if it means a concept.

    "ANXIETY" is a word, as the names of its concept have a word that begins like it, in small
    letters: "Anxiety Disorders".
    """
    if not is_short_form(text):
        return False
    if not text.isalpha() or len(text) < _BEGINNING:
        return True
    start = text[:_BEGINNING].lower()
    names = (dictionary.names[row] for row in dictionary.name_rows(concept).tolist())
    words = (word for name in names for word in name.split())
    return not any(word.lower().startswith(start) and word[1:].islower() for word in words)


def doubt(dictionary: Dictionary, text: str, concept: int) -> Doubt | None:
    """Why nobody can be sure that a text means a concept, if nothing is known but the text.

    Args:
        dictionary: the dictionary.
        text: a mention, or a part of one, as it is written.
        concept: the row of the concept that it is taken for.

    Returns:
        None where it is no short form.
    """
    text = text.strip(_AROUND)
    if len(text.split()) != 1 or len(letters := _letters(text)) > LONGEST_SHORT:
        return None
    names = dictionary.names
    rows = [
        row
        for row in dictionary.name_rows(concept).tolist()
        if _letters(names[row]) == letters and len(names[row].split()) == 1
    ]
    if not all(is_short_name(dictionary, row) for row in rows):
        return None
    if not is_short_form(text):
        return "other case" if rows else None
    if not rows and not _is_short(dictionary, text, concept):
        return None
    annotated = dictionary.columns.names.annotated
    if annotated is not None and any(annotated[row] and names[row] == text for row in rows):
        return "annotated short form"
    return "short form"


def _letters(text: str) -> str:
    """The letters and digits of a text, by which texts that differ in case are equal."""
    return "".join(filter(str.isalnum, text)).casefold()
