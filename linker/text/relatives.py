"""What cells say of whose a disease is: "2 maternal aunts died of gout", "gout in her twin".

The words are those of relatives.tsv, which says how they are combined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from linker.records import Assertion, Span
from linker.text.normalize import rows_of

_AGE = (
    r"(?:\s*[,(]?\s*(?:(?:died|dead|deceased|d\.|dx|diagnosed|at|the|aged?|@|of|in)\s*){0,4}"
    r"(?:\d{1,3}(?:\s*(?:y(?:rs?|ears?)?\.?(?:\s*old)?|y/?o)\b|(?![\w.-]))"
    r"|(?:(?:his|her|their|early|mid|late)[\s-]+){1,2}\d0'?s)\)?)"
)
_LONGEST_END = 100  # characters that say whose a disease is, behind its name
_SHORT = 5  # characters of a short form in capitals
_NUMBER = r"(?:\A|(?<=\bin\s)|(?<=\bof\s)|(?<=[:(,]\s)|(?<=\())\d{1,2}(?=\s+[^\W\d])"
_RELATION = r"(?:relation\w*(?:\s+to\s+\w+)?\s*[:=]\s*)"
_JOINER = r"(?:\s*[,/+&]\s*(?:and\s+)?|\s+(?:and|or|und|et|y|e)\s+)"
_VERBS_IN_TEXT = ["with", "had", "has", "diagnosed with", "died of", "died from"]
_ALWAYS_IN_TEXT = [  # not "sisters", who are the patients of an abstract unless they are somebody's
    *("mother", "father", "brother", "sister", "half-brother", "half-sister", "son", "daughter"),
    *("aunt", "uncle", "cousin", "nephew", "niece", "grandmother", "grandfather", "grandparent"),
    *("parent", "parents", "sibling", "siblings", "relative", "relatives"),
    *("family member", "family members"),
]
_WHOSE_IN_TEXT = ["his", "her", "their", "my", "patient's", "proband's", "maternal", "paternal"]
_REMEMBERED = 10_000  # cells of which it is kept whether they speak of relatives
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class OfRelative:
    """What is left of a cell that says that a relative has a disease."""

    rest: str
    is_weak: bool  # whether it says so only if the rest is a name: "sister Mary Joseph nodule"


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Patterns of cells that speak of relatives.

    Attributes:
        words: those that such cells have, one of them at least.
        all_of_them: one relative or several, and nothing else.
        label: a beginning up to a colon that names a relative.
        surely: what makes a relative's word one that means nothing else.
        heading: a beginning with a colon that names one only with it.
        short: the same of each language, in capitals.
        history, relative: other beginnings.
        behind_history, behind_relative: ends.
        birth: a beginning of what is said of somebody's mother.
        inside: what speaks of relatives in front of a name, anywhere in a cell.
        turn: the next relative, or the patient, in a cell that begins with one.
    """

    words: frozenset[str]
    all_of_them: re.Pattern[str]
    surely: re.Pattern[str]
    label: re.Pattern[str]
    heading: re.Pattern[str]
    short: dict[str, re.Pattern[str]]
    history: re.Pattern[str]
    relative: re.Pattern[str]
    behind_history: re.Pattern[str]
    behind_relative: re.Pattern[str]
    birth: re.Pattern[str]
    inside: re.Pattern[str]
    turn: re.Pattern[str]


def _either(words: list[str]) -> str:
    """A pattern of words, the longest first, that are no parts of words."""
    ordered = sorted(words, key=len, reverse=True)
    escaped = (re.escape(word).replace(r"\ ", r"\s+") for word in ordered)
    return rf"(?<![\w-])(?:{'|'.join(escaped)})(?![\w-])"


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    """The patterns of the words of relatives.tsv."""
    words: dict[str, list[str]] = defaultdict(list)
    short: dict[str, list[str]] = defaultdict(list)
    for language, kind, word in rows_of("relatives.tsv")[1:]:
        words[kind].append(word)
        if kind == "short":
            short[language].append(word)
    part = {name: _either(of_part) for name, of_part in words.items()}
    relative = rf"(?:{part['surely']}|{part['relative']})"
    whose = rf"(?:(?:{part['whose']}|{part['article']}|{_NUMBER})[\s-]*)*"
    one = rf"(?:{whose}{relative}(?:'s|s')?(?:[\s,(]*{part['side']}\)?)*{_AGE}?)"
    all_of_them = rf"{one}(?:{_JOINER}{one}){{0,4}}"
    verbs = rf"(?:[\s,(]+(?:{part['verb']}\)?|{_AGE}))*"
    strength = rf"(?:{part['strength']}\s*|\+\s*)*"
    history = rf"{strength}{part['history']}(?:\s*{part['result']}|\s*\+)*"
    mark = r"(?:\s*(?:[:=|]|[-–—]+(?=\s))\s*)"
    start = r"(?:^|(?<=[\s,;:(\[=/–-]))"
    end = r"[)\].,;\s]*$"

    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.IGNORECASE)

    names = ("relative", "surely", "history", "heading", "short", "label")
    telling: list[str] = []
    for name in names:
        telling += [word.lower() for word in words[name]]
    about = rf"(?:{relative}|{part['history']}|{part['label']})"
    return _Patterns(
        frozenset(map(_telling_word, telling)),
        compiled(rf"^\s*{_RELATION}?{all_of_them}{end}"),
        compiled(rf"{part['surely']}|{part['whose']}\s+\w|\d"),
        compiled(
            rf"^(?:[^:;,]{{0,60}}?{about}[^:;\d]{{0,40}}:|{_RELATION}{all_of_them}\s*[,–-])\s*"
        ),
        compiled(rf"^\s*{part['heading']}\s*:\s*"),
        {code: re.compile(rf"^\s*{_either(of_one)}\s*:\s*") for code, of_one in short.items()},
        compiled(rf"^\s*{history}(?:{mark}|\s*{part['of']})*\s*"),
        compiled(
            rf"^\s*(?P<who>{all_of_them})(?P<verbs>{verbs})(?P<mark>{mark}|(?:\s*[,(])?)\s*",
        ),
        compiled(rf"[\s,;:(\[–-]*{start}{history}{end}"),
        compiled(
            rf"(?P<mark>[\s,;:(\[=/–-]*){start}(?P<in>(?:{part['in']}\s+)*)"
            rf"(?P<who>{all_of_them}){end}"
        ),
        compiled(rf"^\s*{part['birth']}\s+(?:{part['article']}\s+)*"),
        compiled(
            rf"(?<!\bin\s)(?:{all_of_them}(?:\s+{part['verb']})+|{all_of_them}\s*:"
            rf"|{history}(?:\s*{part['of']}|\s*:)*)"
        ),
        compiled(rf"(?:{all_of_them}|(?P<self>{part['self']}))(?:\s*:)?"),
    )


def _telling_word(phrase: str) -> str:
    """The word of a phrase that other cells have least: "family" of "family history"."""
    words: list[str] = _WORD.findall(phrase)
    return max(words, key=lambda word: (word.startswith("fam"), len(word)))


@lru_cache(maxsize=1)
def in_text() -> str:
    """A pattern of relatives with a verb, for running text: "father with", "his sisters had"."""
    words: dict[str, list[str]] = defaultdict(list)
    for language, kind, word in rows_of("relatives.tsv")[1:]:
        if language == "en":
            words[kind].append(word)
    between = _either(words["whose"] + words["article"])
    relatives = _either(words["relative"] + words["surely"])
    of_somebody = rf"{_either(_WHOSE_IN_TEXT)}(?:\s+(?:{between}|\d+))*\s+{relatives}"
    return rf"(?:{of_somebody}|{_either(_ALWAYS_IN_TEXT)})\s+{_either(_VERBS_IN_TEXT)}"


def before(cell: str, codes: tuple[str, ...]) -> OfRelative | None:
    """A cell without a beginning that says that a relative has what follows; None: it has none.

    Args:
        cell: the cell.
        codes: of the languages whose short forms are known.
    """
    patterns = _patterns()
    if not _speaks_of_relatives(cell):
        return None
    short = [patterns.short[code] for code in codes if code in patterns.short]
    if match := next(filter(None, (pattern.match(cell) for pattern in short)), None):
        return _left(cell[match.end() :], is_weak=False)
    for pattern in (patterns.history, patterns.label, patterns.heading):
        match = pattern.match(cell)
        if match and match[0].count("(") <= match[0].count(")"):
            return _left(cell[match.end() :], is_weak=pattern is patterns.heading)
    if birth := patterns.birth.match(cell):
        cell = cell[birth.end() :]
        if mother := patterns.behind_relative.search(cell, max(0, len(cell) - _LONGEST_END)):
            return _left(cell[: mother.start()], is_weak=False)
    if match := patterns.relative.match(cell):
        is_apart = match["verbs"].strip() or match["mark"].strip(" ,")
        is_weak = not is_apart and not patterns.surely.search(match["who"])
        return _left(cell[match.end() :], is_weak=is_weak)
    return None


def behind(cell: str) -> OfRelative | None:
    """A cell without an end that says that a relative has what it names; None: it has none."""
    patterns = _patterns()
    if not _speaks_of_relatives(cell):
        return None
    start = max(0, len(cell) - _LONGEST_END)
    if match := patterns.behind_history.search(cell, start):
        return _left(cell[: match.start()], is_weak=False)
    if match := patterns.behind_relative.search(cell, start):
        is_apart = match["in"] or match["mark"].strip()
        is_weak = not is_apart and not patterns.surely.search(match["who"])
        return _left(cell[: match.start()], is_weak=is_weak)
    return None


def inside(cell: str) -> list[Span]:
    """Where a cell says that a relative has what follows, in characters."""
    patterns = _patterns()
    if not _speaks_of_relatives(cell):
        return []
    return [match.span() for match in patterns.inside.finditer(cell)]


def turns(cell: str) -> list[tuple[Span, Assertion]]:
    """Where a cell that begins with a relative comes to the next one, or to the patient.

    "Mother asthma, brother gout, self migraine": what follows is "family", or "present".
    """
    patterns = _patterns()
    if not _speaks_of_relatives(cell) or not patterns.relative.match(cell):
        return []
    found: list[tuple[Span, Assertion]] = []
    for match in patterns.turn.finditer(cell):
        found.append((match.span(), "present" if match["self"] else "family"))
    return found


def alone(cell: str) -> bool:
    """Whether a cell says who somebody is, and nothing else: "Relationship: mother".

    A short form may be one of something else.
    """
    patterns = _patterns()
    if cell.isupper() and len(cell) <= _SHORT:
        return False
    return _speaks_of_relatives(cell) and bool(patterns.all_of_them.match(cell))


@lru_cache(_REMEMBERED)
def _speaks_of_relatives(cell: str) -> bool:
    """Whether a cell has one of the words without which it does not speak of relatives."""
    return not telling_words().isdisjoint(_WORD.findall(cell.lower()))


def telling_words() -> frozenset[str]:
    """The words without one of which no cell speaks of relatives."""
    return _patterns().words


def _left(rest: str, *, is_weak: bool) -> OfRelative | None:
    """What is left of a cell, if that may be a name."""
    rest = rest.strip(" \n:;,.–-")
    return OfRelative(rest, is_weak) if any(map(str.isalpha, rest)) else None
