"""What a text says of a disease that it names: is it there, denied, suspected, past, a relative's?

After ConText (Harkema et al. 2009): a cue has a class and stands before or behind the name; in
running text it reaches to the end of the sentence, or to a word that ends its scope ("but").
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Literal, NamedTuple

from linker.types import Assertion, Span

Side = Literal["before", "behind"]

_STRENGTH: dict[Assertion, int] = {  # of two cues the stronger one counts
    name: place
    for place, name in enumerate(("present", "historical", "possible", "absent", "family"))
}
_REACH = 10  # words between a cue and a name of running text
_REACH_BEHIND = 5
_SENTENCE = re.compile(r"[.!?]\s+(?=[A-Z\"(])|;\s|[\n\t]")

_RELATIVES = (
    *("mother", "father", "brother", "sister", "sibling", "siblings", "parent", "parents", "son"),
    *("daughter", "aunt", "uncle", "cousin", "grandmother", "grandfather", "mum", "mom", "dad"),
    *("relative", "relatives"),
)
_OF_RELATIVES = ("with", "had", "has", "diagnosed with", "died of", "died from")
_WRITTEN_OUT = 4  # letters of a cue of another language than the text's that is looked for


class _Row(NamedTuple):
    """A cue, as cues.tsv has it, which says what the columns mean."""

    language: str
    assertion: Assertion
    side: Literal["before", "behind", "end"]
    where: Literal["text", "cell", "name"]
    phrase: str


@lru_cache(maxsize=1)
def _rows() -> list[_Row]:
    """All cues."""
    text = (resources.files("linker.text") / "cues.tsv").read_text("utf-8")
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    rows = [_Row(*line) for line in lines[1:]]  # type: ignore[arg-type]
    for relative in _RELATIVES:
        cues = [("cell", f"{side} {relative}") for side in ("maternal", "paternal", "his", "her")]
        cues += [("cell", relative), *(("text", f"{relative} {verb}") for verb in _OF_RELATIVES)]
        cues += [
            ("cell", f"{side} {relative} {verb}")
            for side in ("maternal", "paternal", "his", "her")
            for verb in _OF_RELATIVES
        ]
        rows += [_Row("en", "family", "before", where, phrase) for where, phrase in cues]  # type: ignore[arg-type]
    return rows


@dataclass(frozen=True)
class _Table:
    """The cues of some languages.

    Attributes:
        cell, text: the class of each phrase, by its side, in cells and in running text.
        weak: phrases of cells that count only where the rest is a name.
        ends: what ends a scope.
    """

    cell: dict[Side, dict[str, Assertion]]
    text: dict[Side, dict[str, Assertion]]
    weak: frozenset[tuple[Side, str]]
    ends: Sequence[str]

    @cached_property
    def at_start(self) -> re.Pattern[str]:
        """Finds the longest cue that a cell begins with."""
        return re.compile(rf"\s*({_either(self.cell['before'])})[\s:;,.–-]*", re.IGNORECASE)

    @cached_property
    def at_end(self) -> re.Pattern[str]:
        """Finds a cue that a cell ends with."""
        cue = _either(self.cell["behind"])
        return re.compile(rf"[\s:;,(\[=–-]{{0,6}}({cue})[\s)\].!]{{0,4}}$", re.IGNORECASE)

    @cached_property
    def in_text(self) -> re.Pattern[str]:
        """Finds cues of either side, and what ends their scope."""
        phrases = {*self.text["before"], *self.text["behind"], *self.ends}
        return re.compile(_either(phrases), re.IGNORECASE)


@lru_cache
def _table(codes: tuple[str, ...]) -> _Table:
    """The cues of languages, with those of English.

    In cells those of all others are known, too, if they are written out and the rest is a name.
    """
    cell: dict[Side, dict[str, Assertion]] = {"before": {}, "behind": {}}
    text: dict[Side, dict[str, Assertion]] = {"before": {}, "behind": {}}
    weak, ends = set[tuple[Side, str]](), list[str]()
    for row in sorted(_rows(), key=lambda row: row.language not in (*codes, "en")):
        is_other = row.language not in (*codes, "en")
        if row.side == "end":
            ends += [] if is_other else [row.phrase]
            continue
        if (is_other and len(row.phrase) < _WRITTEN_OUT) or row.phrase in cell[row.side]:
            continue
        cell[row.side][row.phrase] = row.assertion
        if is_other or row.where == "name":
            weak.add((row.side, row.phrase))
        if row.where == "text" and not is_other:
            text[row.side][row.phrase] = row.assertion
    return _Table(cell, text, frozenset(weak), ends)


def _either(phrases: Iterable[str]) -> str:
    """A pattern of phrases, the longest first, that are no parts of words."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "|".join(
        (r"(?<![\w-])" if phrase[0].isalnum() else "")
        + re.escape(phrase).replace(r"\ ", r"\s+")
        + (r"(?![\w'-])" if phrase[-1].isalnum() else "")
        for phrase in ordered
    )


def stronger(first: Assertion, second: Assertion) -> Assertion:
    """The one of two that counts where both are said: "no history of" is absent."""
    return max(first, second, key=_STRENGTH.__getitem__)


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue at an end of a cell."""

    assertion: Assertion
    rest: str  # the cell without it
    is_weak: bool  # whether it counts only where the rest is a name


_TURNED: dict[Assertion, Assertion] = {  # what "not" in front of a cue makes of it
    "present": "present",
    "absent": "possible",
    "possible": "absent",
    "historical": "present",
    "family": "present",
}
_NOT = re.compile(
    r"(.*?\S)\s+(?:(?:is|was|are|were|has|have|had|been)\s+)*(?:not|never)\s*",
    re.IGNORECASE | re.DOTALL,
)
_SET_APART = re.compile(r"[:(=–-]\s*$")


def cue_of(
    cell: str, codes: tuple[str, ...], is_name: Callable[[str], bool], *, behind: bool = True
) -> Cue | None:
    """The cue that a cell begins or ends with; None where there is none, or nothing else.

    It is the longest one, or one that is a beginning of it and leaves a name: "no acute leukemia".

    Args:
        cell: without white space around it.
        codes: of the languages whose cues are looked for, beside those of English.
        is_name: tells the names of the dictionary.
        behind: whether one at the end is looked for.
    """
    table = _table(codes)
    if (match := table.at_start.match(cell)) and any(map(str.isalnum, cell[match.end() :])):
        phrase, rest = " ".join(match[1].lower().split()), cell[match.end() :]
        words = match[1].split()
        for count in range(1, len(words)):
            begun = " ".join(words[:count]).lower()
            longer = cell[match.start(1) :].split(maxsplit=count)[-1]
            if begun in table.cell["before"] and is_name(longer):
                phrase, rest = begun, longer
                break
        is_weak = ("before", phrase) in table.weak
        return Cue(table.cell["before"][phrase], rest.strip(), is_weak)
    match = table.at_end.search(cell) if behind else None
    if match is None or not any(map(str.isalnum, cell[: match.start()])):
        return None
    phrase, rest = " ".join(match[1].lower().split()), cell[: match.start()]
    said = table.cell["behind"][phrase]
    is_apart = bool(_SET_APART.search(cell[: match.start(1)]))
    if denied := _NOT.fullmatch(rest):
        rest, said = denied[1], _TURNED[said]
    return Cue(said, rest.strip(), ("behind", phrase) in table.weak and not is_apart)


def heading(cell: str, codes: tuple[str, ...]) -> Assertion | None:
    """What a cell says of those behind it that is a cue and a colon: "FH:", "Denies:"."""
    match = _table(codes).at_start.match(cell)
    is_alone = match is not None and match.end() == len(cell) and ":" in cell
    return _table(codes).cell["before"][" ".join(match[1].lower().split())] if is_alone else None  # type: ignore[index]


def in_text(text: str, spans: Sequence[Span], codes: tuple[str, ...]) -> list[Assertion]:
    """What running text says of the diseases that it names.

    Args:
        text: the text.
        spans: of the names, in any order.
        codes: as for `cue_of`.
    """
    table, starts = _table(codes), [0, *(m.end() for m in _SENTENCE.finditer(text)), len(text)]
    result: dict[Span, Assertion] = {}
    waiting = sorted(set(spans))
    for start, end in itertools.pairwise(starts):
        own = [span for span in waiting if start <= span[0] < end]
        if own:
            result |= _in_sentence(text, start, max(end, own[-1][1]), own, table)
    return [result.get(span, "present") for span in spans]


def _in_sentence(
    text: str, start: int, end: int, spans: Sequence[Span], table: _Table
) -> dict[Span, Assertion]:
    """What a sentence says of the names in it."""
    cues = [
        (match.start(), match.end(), " ".join(match[0].lower().split()))
        for match in table.in_text.finditer(text, start, end)
    ]
    result = {}
    for first, last in spans:
        said: Assertion = "present"
        for begins, stops, phrase in cues:
            if stops <= first and phrase in table.text["before"]:
                between, reach = (stops, first), _REACH
                assertion = table.text["before"][phrase]
            elif begins >= last and phrase in table.text["behind"]:
                between, reach = (last, begins), _REACH_BEHIND
                assertion = table.text["behind"][phrase]
            else:
                continue
            is_cut = any(
                b >= between[0] and s <= between[1] and p in table.ends for b, s, p in cues
            )
            if not is_cut and len(text[slice(*between)].split()) <= reach:
                said = stronger(said, assertion)
        result[first, last] = said
    return result
