"""Scores, stages and counts beside a name, with their values: "multiple sclerosis, EDSS 0"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from linker.records import Span
from linker.text.composites import IsName
from linker.text.normalize import rows_of

_PERIOD = (
    r"\bper\s+(?:hour|night|day|week|month|year|annum)\b|\bthis\s+(?:week|month|year)\b"
    r"|/\s*(?:h|hour|night|d|day|wk|week|mo|month|y|yr|year)\b"
    r"|\b(?:in|over|during)\s+(?:the\s+)?(?:last|past)\s+(?:\d+\s+)?(?:day|week|month|year)s?\b"
)
_JOINT = (
    r"(?:\s*(?:[:=~<>≤≥]|(?<=\s)[–-](?=\s)|\b(?:scores?|scale|index|class|grade|stage|status|level"
    rf"|value|total|of|was|is|at|currently|today|baseline|last)\b|{_PERIOD}))*\s*"
)
_NUMBER = r"\d+(?:[.,]\d+)?"
_YEAR = r"(?:19|20)\d\d(?![\d.,]|\s*/)"
_DATE = r"\d{1,2}[./-]\d{1,2}[./-]\d"
_UNIT = r"(?:\s*(?:%|points?|pts?|mmol/(?:l|mol)|mg/(?:dl|mmol|g)|kg/m2?|mm|cm|ml/min|/\s*year))?"
_MOST = rf"(?:\s*(?:/|out of|of)\s*{_NUMBER})?"
_ANY_VALUE = rf"(?!{_YEAR}|{_DATE})(?:{_NUMBER}(?:\s*[–-]\s*{_NUMBER})?{_MOST}|zero\b){_UNIT}"
_NO_VALUE = rf"(?:0+(?:[.,]0+)?(?:[a-d]|is)?{_MOST}|(?:zero|nil|none)(?=\s*(?:[,;.)\]]|$))){_UNIT}"
_TNM = (
    r"(?-i:[cpyr]{0,2}T(?:[0-4][a-d]?|is|[xX])[\s,]*[cp]?N[0-3xX][a-c]?(?:[\s,]*[cp]?M[01xX][a-c]?)?"
    r"|[cp]?N0[\s,]*[cp]?M0|[cp]?[TNM]0|[RLV]0|Pn0)"
)


_OF_NAMES = frozenset({"disease", "tumour", "tumor", "pain"})
_LAST = frozenset("abcdivxo%)]")  # what a value may end with, beside digits
_ZEROS = ("zero", "nil", "none")
_SEPARATES = re.compile(r"[,;:|()\[\]]")


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of what a cell holds of scales: with values, and the same as all of a text."""
    names = _names()
    counts = _either([*names["count"], *names["finding"]])
    others = _either([*names["stage"], *names["count"], *names["finding"]])
    scores = _either([*names["score"], *names["count"]])
    core = "|".join(
        (
            rf"(?P<score>{scores}){_JOINT}{_value(_ANY_VALUE)}",
            rf"(?P<other>{others}){_JOINT}{_value(_NO_VALUE)}",
            rf"(?:{_NO_VALUE})\s*(?P<count>{counts})(?:\s*(?:{_PERIOD}))?",
            _TNM,
        )
    )
    core = rf"(?<![\w/-])(?:{core})(?![\w/]|-\w)"
    inside = re.compile(rf"[(\[]\s*{core.replace('?P<', '?P<in_')}\s*[)\]]|{core}", re.IGNORECASE)
    every = _either([*names["score"], *names["stage"]])
    alone = rf"(?:{every}){_JOINT}(?:{_value(_ANY_VALUE)}|[ivx]{{1,4}}[a-d]?|[a-d])"
    return inside, re.compile(alone, re.IGNORECASE)


@lru_cache(maxsize=1)
def _names() -> Mapping[str, list[str]]:
    """The names of scales, by their kind."""
    names: dict[str, list[str]] = {}
    for kind, of_one in rows_of("scales.tsv")[1:]:
        names.setdefault(kind, []).extend(of_one.split("|"))
    return names


def _value(pattern: str) -> str:
    """A pattern of a value that may be in brackets."""
    return rf"(?:\(\s*(?:{pattern})\s*\)|\[\s*(?:{pattern})\s*\]|(?<!\d)(?:{pattern}))"


def _either(names: list[str]) -> str:
    """A pattern of names, the longest first, whose hyphens and blanks may be either, or missing."""
    ordered = sorted(names, key=len, reverse=True)
    return "|".join(re.sub(r"(?:\\ |\\-)+", r"[\\s-]?", re.escape(name)) for name in ordered)


def spans(cell: str, is_name: IsName, *, is_first: bool = True) -> list[Span]:
    """Where a cell has a scale with its value.

    Args:
        cell: a text; one without a number is not looked at.
        is_name: tells the names of the dictionary, of which one with a 0 behind it is denied
            unless a name stands before it.
        is_first: whether nothing stands before the text.
    """
    if not any(map(str.isdigit, cell)) and not any(word in cell.lower() for word in _ZEROS):
        return []
    found = []
    for match in _patterns()[0].finditer(cell):
        scale = next((group for group in match.groups() if group), "")
        before = _SEPARATES.split(cell[: match.start()])[-1].split()
        word = scale.split()[0] if scale else ""
        is_denied = is_first and not any(map(str.isalpha, cell[: match.start()]))
        is_finding = scale.lower() in _names()["finding"]
        if is_finding and before and not _ends_with_name(before, is_name):
            continue  # "Wilms tumours: 0"
        if is_denied and scale and is_name(scale):
            continue
        start = match.start()
        is_of_name = before or (is_denied and word.lower() in _OF_NAMES)
        if is_of_name and word != scale and is_name(" ".join((*before, word))):
            start += len(word)  # "Crohn's disease activity 0"
        found.append((start, match.end()))
    return found


def _ends_with_name(words: list[str], is_name: IsName) -> bool:
    """Whether the last of some words are a name."""
    return any(is_name(" ".join(words[place:])) for place in range(len(words)))


def is_alone(cell: str) -> bool:
    """Whether a cell is a scale with its value, and nothing else."""
    may_be = cell[-1:].isdigit() or cell[-1:].lower() in _LAST
    return may_be and bool(_patterns()[1].fullmatch(cell))
