"""Scores, stages and counts beside a name, with their values: "multiple sclerosis, EDSS 0"."""

from __future__ import annotations

import re
from functools import lru_cache

from linker.records import Span
from linker.text.composites import IsName
from linker.text.normalize import rows_of

_JOINT = (
    r"(?:\s*(?:[:=~<>≤≥]|(?<=\s)[–-](?=\s)|\b(?:scores?|scale|index|class|grade|stage|status|level|value|total|of"
    r"|was|is|at|currently|today|baseline|last)\b))*\s*"
)
_NUMBER = r"\d+(?:[.,]\d+)?"
_YEAR = r"(?:19|20)\d\d(?![\d.,]|\s*/)"
_DATE = r"\d{1,2}[./-]\d{1,2}[./-]\d"
_UNIT = r"(?:\s*(?:%|points?|pts?|mmol/(?:l|mol)|mg/(?:dl|mmol|g)|kg/m2?|mm|cm|ml/min|/\s*year))?"
_MOST = rf"(?:\s*(?:/|out of|of)\s*{_NUMBER})?"
_ANY_VALUE = rf"(?!{_YEAR}|{_DATE})(?:{_NUMBER}(?:\s*[–-]\s*{_NUMBER})?{_MOST}|zero\b){_UNIT}"
_NO_VALUE = rf"(?:0+(?:[.,]0+)?(?:[a-d]|is)?{_MOST}|zero\b|nil\b|none\b){_UNIT}"
_TNM = (
    r"(?-i:[cpyr]{0,2}T(?:[0-4][a-d]?|is|[xX])[\s,]*[cp]?N[0-3xX][a-c]?(?:[\s,]*[cp]?M[01xX][a-c]?)?"
    r"|[cp]?N0[\s,]*[cp]?M0|[cp]?[TNM]0|[RLV]0|Pn0)"
)


_ZEROS = ("zero", "nil", "none")
_SEPARATES = re.compile(r"[,;:|()\[\]]")


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of what a cell holds of scales: with values, and the same as all of a text."""
    names: dict[str, list[str]] = {"score": [], "stage": [], "count": []}
    for kind, of_one in rows_of("scales.tsv")[1:]:
        names[kind] += of_one.split("|")
    counts = _either(names["count"])
    others = _either([*names["stage"], *names["count"]])
    core = "|".join(
        (
            rf"(?P<score>{_either(names['score'])}){_JOINT}{_value(_ANY_VALUE)}",
            rf"(?P<other>{others}){_JOINT}{_value(_NO_VALUE)}",
            rf"(?:{_NO_VALUE})\s*(?P<count>{counts})",
            _TNM,
        )
    )
    core = rf"(?<![\w/-])(?:{core})(?![\w/]|-\w)"
    inside = re.compile(rf"[(\[]\s*{core.replace('?P<', '?P<in_')}\s*[)\]]|{core}", re.IGNORECASE)
    every = _either([*names["score"], *names["stage"]])
    alone = rf"(?:{every}){_JOINT}(?:{_value(_ANY_VALUE)}|[ivx]{{1,4}}[a-d]?|[a-d])"
    return inside, re.compile(alone, re.IGNORECASE)


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
        before = _SEPARATES.split(cell[: match.start()])[-1].strip()
        word = scale.split()[0] if scale else ""
        is_denied = is_first and not any(map(str.isalpha, cell[: match.start()]))
        if scale and is_denied and is_name(scale):
            continue
        start = match.start()
        if before and word != scale and is_name(f"{before} {word}"):
            start += len(word)  # "Crohn's disease activity 0"
        found.append((start, match.end()))
    return found


def is_alone(cell: str) -> bool:
    """Whether a cell is a scale with its value, and nothing else."""
    return bool(_patterns()[1].fullmatch(cell))
