"""Scores, stages and counts beside a name, with their values: "multiple sclerosis, EDSS 0"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from linker.records import Span
from linker.text.composites import IsName
from linker.text.normalize import rows_of
from linker.text.word_forms import nouns_of

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
_MOST_WORDS = 8  # before what is counted that are looked at
_LAST = frozenset("abcdivxo%)]")  # what a value may end with, beside digits
_ZEROS = ("zero", "nil", "none")
_SEPARATES = re.compile(r"[,;:|()\[\]]")
_ADJECTIVE = re.compile(r".{2,}(?:ic|al|ile|ive|ous|ar|ary|ory|ian|ised|ized)", re.IGNORECASE)


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


def spans(
    cell: str,
    is_name: IsName,
    *,
    is_first: bool = True,
    is_known: IsName | None = None,
    is_modifier: IsName = lambda _: False,
) -> list[Span]:
    """Where a cell has a scale with its value.

    Args:
        cell: a text; one without a number is not looked at.
        is_name: tells the names of the dictionary, of which one with a 0 behind it is denied
            unless a name stands before it.
        is_first: whether nothing stands before the text.
        is_known: tells what may be a name in another spelling; None: `is_name`.
        is_modifier: tells what is no name beside another one.
    """
    if not any(map(str.isdigit, cell)) and not any(word in cell.lower() for word in _ZEROS):
        return []
    found = []
    for match in _patterns()[0].finditer(cell):
        scale = next((group for group in match.groups() if group), "")
        *apart, clause = _SEPARATES.split(cell[: match.start()])
        before = clause.split()
        word = scale.split()[0] if scale else ""
        is_denied = is_first and not any(map(str.isalpha, cell[: match.start()]))
        start = match.start()
        last = before[-_MOST_WORDS:]
        if last and _is_counted(scale):
            counted = _Counted(last, scale, is_name, is_known or is_name, is_modifier)
            if counted.is_named():
                continue  # "Wilms tumours: 0"
            describing = counted.describing()
            if not counted.is_of_name(last[: len(last) - len(describing)]):
                if not any(is_name(one.strip()) for one in apart):
                    continue  # "depressive episodes: 0"
                describing = before  # of "melanoma, axillary nodes: 0"
            if describing:
                start += _start_of_last(clause, len(describing)) - len(clause)
        if is_denied and scale and is_name(scale):
            continue
        is_of_name = before or (is_denied and word.lower() in _OF_NAMES)
        if is_of_name and word != scale and is_name(" ".join((*before, word))):
            start = match.start() + len(word)  # "Crohn's disease activity 0"
        found.append((start, match.end()))
    return found


def _start_of_last(text: str, words: int) -> int:
    """Where the last words of a text start."""
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    return starts[-words]


def _is_counted(scale: str) -> bool:
    """Whether a scale is of what is counted: "attacks", "tumours"."""
    return scale.lower() in _names()["finding"] or scale.lower() in _names()["count"]


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is counted, with the words before it.

    Attributes:
        before: the words, one at least.
        scale: what is counted.
        is_name, is_known, is_modifier: as of `spans`.
    """

    before: list[str]
    scale: str
    is_name: IsName
    is_known: IsName
    is_modifier: IsName

    def is_named(self) -> bool:
        """Whether the last of the words are a name with what is counted: "Wilms tumours"."""
        for place in range(len(self.before)):
            name = " ".join((*self.before[place:], self.scale))
            if self._is_noun(name) and not self._ends_with_name(self.before[:place]):
                return True
        return False

    def is_of_name(self, left: list[str]) -> bool:
        """Whether what is counted is that of a disease, which the rest of the words name."""
        is_finding = self.scale.lower() in _names()["finding"]
        return bool(left) and (not is_finding or self._ends_with_name(left))

    def describing(self) -> list[str]:
        """The last words that say which of what is counted is: "acute", "depressive"."""
        start = len(self.before)
        while start and self._is_describing(self.before[start - 1]):
            if start > 1 and self.is_name(" ".join(self.before[:start])):
                break  # "diabetes gestational"
            start -= 1
        return self.before[start:]

    def _is_describing(self, word: str) -> bool:
        """Whether a word says which of what is counted is.

        An adjective of a disease does so of a finding or an episode ("depressive episodes"), but
        stands for the disease before others: "neutropenic, relapses: 0".
        """
        if self.is_modifier(word):
            return True
        scale = self.scale.lower()
        takes_adjectives = scale in _names()["finding"] or "episode" in scale
        return bool(_ADJECTIVE.fullmatch(word)) and (takes_adjectives or not self.is_name(word))

    def _is_noun(self, name: str) -> bool:
        """Whether a text is a name in its plural or its singular."""
        if self.is_known(name):
            return True
        *words, last = name.lower().split()
        return any(self.is_known(" ".join((*words, noun))) for noun in nouns_of(last))

    def _ends_with_name(self, words: list[str]) -> bool:
        """Whether the last of some words are a name."""
        return any(self.is_name(" ".join(words[place:])) for place in range(len(words)))


def is_alone(cell: str) -> bool:
    """Whether a cell is a scale with its value, and nothing else."""
    may_be = cell[-1:].isdigit() or cell[-1:].lower() in _LAST
    may_be = may_be and _beginning(cell) in _beginnings()
    return may_be and bool(_patterns()[1].fullmatch(cell))


@lru_cache(maxsize=1)
def _beginnings() -> frozenset[str]:
    """What the names of scales that may be all of a cell begin with."""
    names = _names()
    return frozenset(map(_beginning, (*names["score"], *names["stage"])))


def _beginning(text: str) -> str:
    """The first two letters of a text, but for the blank or hyphen that may be between them."""
    second = text[1:2]
    if second.isspace() or second == "-":
        second = text[2:3]
    return (text[:1] + second).lower()
