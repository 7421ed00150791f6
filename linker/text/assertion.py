"""What a text says of a disease that it names: is it there, denied, suspected, past, a relative's?

After ConText (Harkema et al. 2009): a cue has a class and stands before or behind the name; in
running text it reaches to the end of the sentence, or to a word that ends its scope ("but").
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import cast

from linker.records import Assertion, Span
from linker.text import relatives
from linker.text.normalize import rows_of

_STRENGTH: dict[Assertion, int] = {  # of two cues the stronger one counts
    "present": 0,
    "historical": 1,
    "possible": 2,
    "absent": 3,
    "family": 4,
}
_REACH = 10  # words between a cue and a name of running text
_REACH_BEHIND = 5
_MARKS = ".,:;!)]([=–−-"  # beside the words of a cue
_SENTENCE = re.compile(r"[.!?]\s+(?=[A-Z\"(])|;\s|[\n\t]")

_PLAIN_WORD = re.compile(r"[^\W\d_]+")
_OF_RELATIVE = "mother with"  # the cue that all relatives with a verb are in running text
_WRITTEN_OUT = 3  # letters of a cue of another language than the text's that is looked for


def _rows() -> list[list[str]]:
    """All cues: language, class, side, where, phrase; cues.tsv says what they mean."""
    return rows_of("cues.tsv")[1:]


@dataclass(frozen=True)
class _Table:
    """The cues of some languages.

    Attributes:
        cell, text: the class of each phrase, by its side, in cells and in running text.
        weak: phrases of cells that count only where the rest is a name.
        foreign: those of them that are of none of the languages.
        normal: phrases of cells that say that a thing is as it should be.
        lacking: phrases of denial that say of a function that it is not there.
        things: phrases of cells that do not count where the rest ends with a name.
        tests: phrases of cells that may be the result of a test of a disease beside them.
        labels: words of labels, and what they say of the names behind.
        leads: words that may stand in front of a cue, and say nothing, by the side of the cue.
        ends: what ends a scope.
        connectives: what ends a scope inside a cell, beside `ends`.
    """

    cell: dict[str, dict[str, Assertion]]
    text: dict[str, dict[str, Assertion]]
    weak: set[tuple[str, str]] = field(default_factory=set)
    foreign: set[tuple[str, str]] = field(default_factory=set)
    ends: list[str] = field(default_factory=list)
    connectives: set[str] = field(default_factory=set)
    tests: set[str] = field(default_factory=set)
    normal: set[tuple[str, str]] = field(default_factory=set)
    lacking: set[tuple[str, str]] = field(default_factory=set)
    things: set[tuple[str, str]] = field(default_factory=set)
    labels: dict[str, Assertion] = field(default_factory=dict)
    leads: dict[str, set[str]] = field(default_factory=lambda: {"before": set(), "behind": set()})

    @cached_property
    def first_words(self) -> frozenset[str]:
        """The first words of the cues that cells begin with."""
        before = frozenset(phrase.split()[0].rstrip(_MARKS) for phrase in self.cell["before"])
        return before | self.leads["before"]

    @cached_property
    def denials(self) -> frozenset[str]:
        """The words that deny what follows them: "no"."""
        before = self.cell["before"].items()
        return frozenset(
            phrase for phrase, said in before if said == "absent" and " " not in phrase
        )

    @cached_property
    def last_words(self) -> frozenset[str]:
        """The last words of the cues that cells end with."""
        return frozenset(map(_last_word, self.cell["behind"]))

    @cached_property
    def phrases_by_word(self) -> dict[str, list[tuple[str, ...]]]:
        """The words of each cue of cells, by the longest of them."""
        phrases: dict[str, list[tuple[str, ...]]] = {}
        for phrase in (*self.cell["before"], *self.cell["behind"]):
            words = tuple(_PLAIN_WORD.findall(phrase))
            if words:
                phrases.setdefault(max(sorted(words), key=len), []).append(words)
        return phrases

    @cached_property
    def in_text(self) -> re.Pattern[str]:
        """Finds cues of either side, and what ends their scope."""
        phrases = {*self.text["before"], *self.text["behind"], *self.ends}
        pattern = rf"(?P<relative>{relatives.in_text()})|{_either(phrases)}"
        return re.compile(pattern, re.IGNORECASE)


@lru_cache
def _table(codes: tuple[str, ...]) -> _Table:
    """The cues of languages, with those of English.

    In cells those of all others are known, too, if they are written out and the rest is a name.
    """
    table = _Table({"before": {}, "behind": {}}, {"before": {}, "behind": {}})
    for language, said, side, where, phrase in sorted(
        _rows(), key=lambda row: row[0] not in (*codes, "en")
    ):
        is_other = language not in (*codes, "en")
        if side == "end" and where == "cell":
            table.connectives.add(phrase)
        elif side == "end":
            table.ends.extend([] if is_other else [phrase])
        elif side == "label":
            table.labels[phrase] = cast(Assertion, said)
        elif side == "lead":
            table.leads[where].update([] if is_other else [phrase])
        elif is_other and (where == "own" or len(phrase) < _WRITTEN_OUT):
            continue
        elif phrase not in table.cell[side]:
            is_normal = said == "normal"
            if is_normal:
                table.normal.add((side, phrase))
            if said == "lacking":
                table.lacking.add((side, phrase))
            if said in ("normal", "lacking"):
                said = "absent"
            table.cell[side][phrase] = cast(Assertion, said)
            if is_other:
                table.foreign.add((side, phrase))
            if where == "thing":
                table.things.add((side, phrase))
            elif where == "name" or (is_other and not is_normal):
                table.weak.add((side, phrase))
            elif where == "test":
                table.tests.add(phrase)
            elif where == "text":
                table.text[side][phrase] = cast(Assertion, said)
    return table


def _either(phrases: Iterable[str]) -> str:
    """A pattern of phrases, the longest first, that are no parts of words."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "|".join(
        (r"(?<![\w-])" if phrase[0].isalnum() else "")
        + re.escape(phrase).replace(r"\ ", r"\s+")
        + (r"(?![\w'-])" if phrase[-1].isalnum() else "")
        for phrase in ordered
    )


def _last_word(text: str) -> str:
    """The last word of a cell or a cue, without marks."""
    return re.split(r"[\s:;,=(\[–−-]", text.rstrip(_MARKS))[-1]


def stronger(first: Assertion, second: Assertion) -> Assertion:
    """The one of two that counts where both are said: "no history of" is absent."""
    return max(first, second, key=_STRENGTH.__getitem__)


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue at an end of a cell."""

    assertion: Assertion
    rest: str  # the cell without it
    is_weak: bool  # whether it counts only where the rest is a name
    is_normal: bool = False  # whether it says that the rest is as it should be
    is_result: bool = False  # whether it may be the result of a test: "negative"
    is_lacking: bool = False  # whether it says of a function that it is not there


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
_SHORT_NOT = re.compile(r"n't\b")  # "wasn't"
_MINUS = {ord("−"): "-", ord("–"): "-"}
_TOKEN = re.compile(r"[^\s:;,]+[:;,]?|[:;,]")
_BEHIND_PHRASE, _BEFORE_PHRASE = " \t.,!)]", "([:=–-,; "
_UP_TO_MARK = re.compile(r"[([,;:]|\s(?:with|without|due|after|in|on|for|of)\s")
_ABNORMAL = re.compile(
    r"\b(?:abnormal|low|high|raised|elevated|reduced|decreased|increased|impaired|poor|loss)\b"
)
_BEHIND_CUE = re.compile(r"^[ \n:;,.–-]*(?:(?:and/or|and|or)\s+)?", re.IGNORECASE)
_JOINED = re.compile(r"\w-([^\W\d_]+)\W*$")  # "seizure-free"
_SET_APART = ":([=–−-~"
_LONGEST = 8  # words of a cue
_TESTED = re.compile(  # the end of a text that a result behind it is rather of: "tumor HER2"
    r"[\s,(\[](?:[A-Z][A-Z0-9/+-]{1,9}|(?<=, )[\w-]+|(?i:rh|rhesus|gram|double|triple|smear|culture"
    r"|sputum|nod(?:e|es|al)|margins?|receptors?|antibod(?:y|ies)|antigen|factor|cytology|biopsy"
    r"|tests?|screen|swab|pcr|serology|markers?|mutation|stain(?:ing)?|coombs|group|symptoms?))$"
)


def cue_of(
    cell: str, codes: tuple[str, ...], is_name: Callable[[str], bool], *, behind: bool = True
) -> Cue | None:
    """The cue that a cell begins or ends with; None where there is none, or nothing else.

    It is the longest one, or a shorter one that leaves a name: "no acute leukemia".

    Args:
        cell: without white space around it.
        codes: of the languages whose cues are looked for, beside those of English.
        is_name: tells the names of the dictionary.
        behind: whether one at the end is looked for.
    """
    first = relatives.before(cell, codes)
    if first and not first.is_weak:
        return Cue("family", first.rest, False)
    last = relatives.behind(cell) if behind else None
    if last and not last.is_weak:
        return Cue("family", last.rest, False)
    if cue := _cue_of_phrase(cell, _table(codes), is_name, behind=behind):
        return cue
    of_relative = first or last
    return Cue("family", of_relative.rest, of_relative.is_weak) if of_relative else None


def _cue_of_phrase(
    cell: str, table: _Table, is_name: Callable[[str], bool], *, behind: bool
) -> Cue | None:
    """The longest phrase that a cell begins or ends with, or a shorter one that leaves a name."""
    words = cell.lower().split()
    if not words:
        return None
    is_behind = behind and _last_word(words[-1]) in table.last_words
    first = re.split(r"[:;,]", words[0])[0].rstrip(_MARKS)
    if table.first_words.isdisjoint((first, first.removesuffix("n't"))):
        return _cue_behind(cell, table, is_name) if is_behind else None
    ends = [match.end() for match in _TOKEN.finditer(cell)]
    cues: list[Cue] = []
    for end in ends[:_LONGEST]:
        phrase = _phrase(cell[:end], table.cell["before"], table.leads["before"])
        rest = _BEHIND_CUE.sub("", cell[end:], count=1)
        key = ("before", phrase)
        if phrase and not (
            key in table.normal and _is_diseased(rest, key in table.things, is_name)
        ):
            said = table.cell["before"][phrase]
            cues.append(
                Cue(
                    said,
                    rest,
                    is_weak=key in table.weak,
                    is_normal=key in table.normal,
                    is_lacking=key in table.lacking,
                )
            )
    if cues and any(map(str.isalnum, cues[-1].rest)):
        return next((cue for cue in cues if is_name(cue.rest)), cues[-1])
    return _cue_behind(cell, table, is_name) if is_behind else None


def _is_diseased(text: str, is_thing: bool, is_name: Callable[[str], bool]) -> bool:
    """Whether what is beside "normal" or "good" is no thing that may be so.

    Args:
        text: "pressure hydrocephalus", "low calcium".
        is_thing: whether it is no thing where all of it is a name: "good syndrome".
        is_name: tells the names of the dictionary.
    """
    if is_name(text):
        return is_thing
    words = _UP_TO_MARK.split(text, maxsplit=1)[0].split()
    is_end_name = any(is_name(" ".join(words[start:])) for start in range(1, len(words)))
    return is_end_name or bool(_ABNORMAL.search(text))


def _cue_behind(cell: str, table: _Table, is_name: Callable[[str], bool]) -> Cue | None:
    """The longest cue that a cell ends with."""
    starts = [match.start() for match in re.finditer(r"[^\s:;,([=]+|[([]", cell)]
    if joined := _JOINED.search(cell):
        starts.append(joined.start(1))
    for start in starts[-_LONGEST:]:
        rest = cell[:start].rstrip(_BEFORE_PHRASE)
        written = cell[start:].strip(_BEHIND_PHRASE).lstrip("([")
        phrase = _phrase(written, table.cell["behind"], table.leads["behind"])
        if not phrase or not any(map(str.isalnum, rest)):
            continue
        key = ("behind", phrase)
        if key in table.things and _is_diseased(rest, True, is_name):
            continue
        said = table.cell["behind"][phrase]
        mark = cell[len(rest) : start].strip()[-1:] or cell[start]
        is_joined = cell[len(rest) : start] == "-"
        if is_joined and said != "absent":
            continue  # "HIV-positive"
        is_apart = mark in _SET_APART and not is_joined
        is_weak = is_joined or (key in table.weak and not is_apart)
        if phrase in table.tests and not is_joined:
            is_weak = names_test(rest)
        is_normal = key in table.normal
        is_result = phrase.split()[-1] in table.tests  # "was negative", too
        if denied := _NOT.fullmatch(rest):
            rest = denied[1]
            said = "present" if is_normal else _TURNED[said]
        return Cue(said, rest.strip(), is_weak, is_normal, is_result, key in table.lacking)
    return None


def names_test(text: str) -> bool:
    """Whether a text ends with what is tested rather than with a disease: "tumor HER2"."""
    return _TESTED.search(text) is not None


def _phrase(text: str, phrases: Mapping[str, Assertion], leads: Collection[str] = ()) -> str:
    """A text as a phrase that is known; else empty.

    Args:
        text: the text, with or without marks behind it.
        phrases: that are known.
        leads: words that may stand in front of a phrase.
    """
    words = text.lower().translate(_MINUS).split()
    while words:
        phrase = " ".join(words)
        written_out = _SHORT_NOT.sub(" not", phrase)
        for variant in (phrase, phrase.rstrip(":;,.–-"), written_out):
            if variant in phrases:
                return variant
        if words[0] not in leads:
            return ""
        words = words[1:]
    return ""


def alone(cell: str, codes: tuple[str, ...]) -> Assertion | None:
    """What a cell says of the name before it that is a cue of such a name, and nothing else."""
    if relatives.alone(cell):
        return "family"
    table = _table(codes)
    return table.cell["behind"].get(_phrase(cell, table.cell["behind"], table.leads["behind"]))


def is_normal(cell: str, codes: tuple[str, ...]) -> bool:
    """Whether a cell says that the thing before it is as it should be, and nothing else."""
    table = _table(codes)
    phrase = _phrase(cell, table.cell["behind"], table.leads["behind"])
    return ("behind", phrase) in table.normal


def of_label(label: str, codes: tuple[str, ...]) -> Assertion:
    """What the text before a colon says of the names behind it: "Previous illnesses"."""
    labels = _table(codes).labels
    said: Assertion = "present"
    for word in label.lower().split():
        said = stronger(said, labels.get(word.strip(_MARKS), "present"))
    return said


def may_hold_cue(cell: str, codes: tuple[str, ...]) -> bool:
    """Whether a cell of letters has all words of a cue, or speaks of relatives."""
    words = frozenset(_PLAIN_WORD.findall(cell.lower()))
    if "n't" in cell or not words.isdisjoint(relatives.telling_words()):
        return True
    phrases = _table(codes).phrases_by_word
    cues: list[tuple[str, ...]] = []
    for word in words:
        cues += phrases.get(word, ())
    return any(words.issuperset(cue) for cue in cues)


def comes_to_patient(cell: str) -> bool:
    """Whether a cell that begins with a relative speaks of the patient, too."""
    return any(said == "present" for _, said in relatives.turns(cell))


def heading(cell: str, codes: tuple[str, ...]) -> Assertion | None:
    """What a cell says of those behind it that is a cue and a colon: "FH:", "Denies:"."""
    if relatives.alone(cell):
        return "family"
    if not cell.endswith(":"):
        return None
    if relatives.before(f"{cell} x", codes) == relatives.OfRelative("x", False):
        return "family"
    phrases = _table(codes).cell["before"]
    return phrases.get(_phrase(cell, phrases))


@dataclass(frozen=True, slots=True)
class InnerCue:
    """A cue inside a cell, of what follows it."""

    start: int  # in characters of the cell
    end: int
    assertion: Assertion  # "present": it hides a denial ("not only")
    is_denial: bool
    is_weak: bool  # whether it counts only between names
    is_foreign: bool  # whether it is a denial in none of the languages of the texts


_INNER_WORD = re.compile(r"[^\s()\[\]{},;:|]+")
_BEFORE_WORD = "-–—+&/.*\"'“‘«_>"  # signs that are typed before a word without a blank


@lru_cache(maxsize=256)
def cues_inside(cell: str, codes: tuple[str, ...]) -> tuple[InnerCue, ...]:
    """The cues of what follows them, anywhere in a cell: at each place the longest.

    Args:
        cell: a text of which strong separators divide nothing.
        codes: of the languages whose cues are looked for, beside those of English.
    """
    table = _table(codes)
    words = [
        (_word_start(match, table.first_words), match.end()) for match in _INNER_WORD.finditer(cell)
    ]
    of_relatives = relatives.inside(cell)
    cues = [InnerCue(*span, "family", False, False, False) for span in of_relatives]
    for (start, end), said in relatives.turns(cell):
        if all(end <= cue.start or start >= cue.end for cue in cues):
            cues.append(InnerCue(start, end, said, False, True, False))
    covered = 0
    for place, (start, _) in enumerate(words):
        first = cell[start : words[place][1]].lower().rstrip(_MARKS)
        covered = max([covered, *(end for begin, end in of_relatives if begin <= start)])
        if first[:1] == "?" and first[1:2].isalpha():
            cues.append(InnerCue(start, start + 1, "possible", False, True, False))
        if start < covered or first not in table.first_words:
            continue
        for end in (end for _, end in reversed(words[place : place + _LONGEST])):
            phrase = _phrase(cell[start:end], table.cell["before"])
            if phrase:
                covered = end
                cues.extend(_inner_cue(start, end, phrase, table))
                break
    return tuple(sorted(cues, key=lambda cue: cue.start))


def _word_start(word: re.Match[str], first_words: frozenset[str]) -> int:
    """Where a word starts: behind the signs and the slash in front of it if a cue does there."""
    text = word[0].lower()
    if text.rstrip(_MARKS) in first_words:
        return word.start()
    shorter = text.rpartition("/")[2].lstrip(_BEFORE_WORD)
    is_cue = shorter.rstrip(_MARKS) in first_words
    return word.end() - len(shorter) if is_cue else word.start()


def _inner_cue(start: int, end: int, phrase: str, table: _Table) -> Iterator[InnerCue]:
    """The cue that a phrase inside a cell is, if it denies, doubts or hides a denial."""
    said = table.cell["before"][phrase]
    is_hidden = said == "present" and phrase.split()[0] in table.denials  # "not only"
    is_denial = said == "absent" or is_hidden
    if said != "present" or is_hidden:
        key = ("before", phrase)
        is_foreign = is_denial and key in table.foreign
        yield InnerCue(start, end, said, is_denial, key in table.weak, is_foreign)


def behind_at(cell: str, start: int, end: int, codes: tuple[str, ...]) -> int:
    """Where the longest cue ends that stands behind a name and begins at a place; -1: none does."""
    phrases = _table(codes).cell["behind"]
    ends = [match.end() for match in _INNER_WORD.finditer(cell, start, end)]
    cues = (stop for stop in reversed(ends[:_LONGEST]) if _phrase(cell[start:stop], phrases))
    return next(cues, -1)


def ends_scope(word: str, codes: tuple[str, ...], *, in_list: bool) -> bool:
    """Whether a word of a cell ends the scope of the cue before it.

    Args:
        word: in any case.
        codes: of the languages.
        in_list: whether the cue governs a list, whose members "and" joins.
    """
    table = _table(codes)
    return word.lower() in table.ends or (not in_list and word.lower() in table.connectives)


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
        (
            match.start(),
            match.end(),
            _OF_RELATIVE if match["relative"] else " ".join(match[0].lower().split()),
        )
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
