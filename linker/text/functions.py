"""Functions and parts of the body, of which it is a finding that they are lacking."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from linker.text.normalize import normalize, rows_of

_LACKING = ("absent {}", "absence of {}", "{} absent", "lack of {}", "loss of {}", "no {}")
"""How dictionaries name what is lacking."""
_MOST_WORDS = 6  # of a text that may be a function


@lru_cache(maxsize=1)
def _table() -> tuple[frozenset[str], frozenset[str]]:
    """The functions and organs of functions.tsv, and the words that may stand beside them."""
    rows = rows_of("functions.tsv")[1:]
    functions = frozenset(normalize(text) for kind, text in rows if kind != "qualifier")
    qualifiers = frozenset(text for kind, text in rows if kind == "qualifier")
    return functions, qualifiers


def is_function(text: str) -> bool:
    """Whether a text is a function or a part of the body, perhaps of one side."""
    functions, qualifiers = _table()
    words = normalize(text).split()
    if len(words) > _MOST_WORDS:
        return False
    qualified = [word for word in words if word not in qualifiers]
    return bool(qualified) and bool(functions & {" ".join(words), " ".join(qualified)})


def lacking(text: str) -> Iterator[str]:
    """The names that the lack of a function or organ may have."""
    for pattern in _LACKING:
        yield pattern.format(text)
