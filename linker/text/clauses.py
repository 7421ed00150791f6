"""What a cell says between its names: "diabetes with no retinopathy" denies the second one.

A cue inside a cell governs what follows up to the next separator or connective, or to the end of
its bracket. Such a clause is cut out, and what is left is read as a cell of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linker.records import Assertion, Span
from linker.text import assertion
from linker.text.assertion import InnerCue
from linker.text.composites import IsName

_BOUND = re.compile(
    r"(?P<opens>[(\[{])|(?P<closes>[)\]}])|(?P<separates>\s*[,;|\n]|\s+[-–—]+>?\s|\.\s+(?=[^\W\d_]))"
    r"|(?<!\S)(?P<word>[^\s()\[\]{},;|]+)"
)
_LIST_GOES_ON = re.compile(r"\s*(?:,[^,;|()\n]+?)*?,?\s+(?:or|nor|oder|ou|o)\s", re.IGNORECASE)
_CIRCUMSTANCE = re.compile(
    r"(?:on|at|in|during|today|currently|now|yet|so far|this)\b", re.IGNORECASE
)
_SEPARATES = re.compile(r"\s*[,;|\n(\[{]\s*|\s+[-–—]+>?\s+")
_EDGE = " \t\n.,:;/&+*([{–—-\"'“”‘’«»"  # beside a clause
_NO_CONTENT = re.compile(r"[(\[{][\s,;:.–—-]*[)\]}]")
_BEFORE_CLOSING = re.compile(r"[\s,;:]+(?=[)\]}])|\s+(?=,)")
_STARTS_ANEW = re.compile(r"[)\]}\s]*[,;|\n&+]|\s*[-–—]+>?\s")
_DENIAL = "\0"
_WAYS = ((True, False), (False, False), (True, True), (False, True))  # to read cues, see `_renamed`
_LISTED = re.compile(r",|\s*[+&]\s*|\s+(?:and|plus|und|et|y)\s", re.IGNORECASE)
_OR = re.compile(r"\bor\s*$", re.IGNORECASE)
_LONGEST_NAME = 200  # characters in front of the word by which it denies
_MOST_DENIALS = 3  # in a name
_MOST_COMMAS = 3  # in a name in front of the word by which it denies
_NEXT = 5  # cues that may end the scope of one
_MOST_BOUNDS = 4  # where the scope of a cue may end, of a name that has separators in it
_BRACKETS = {"(": ")", "[": "]", "{": "}"}

DENYING = ("without", "with no", "no", "not", "absent")
"""The words by which names deny."""

# of words between a name and a cue that say nothing: "diabetes, but there is no retinopathy"
_LINKING = frozenset(
    (
        *("and", "with", "but", "or", "nor", "plus", "also", "who", "which", "that", "there"),
        *("is", "was", "are", "were", "be", "been", "being", "am", "has", "have", "had", "do"),
        *("does", "did", "can", "could", "will", "would", "should", "may", "might", "must"),
        *("still", "currently", "now", "though", "although", "however", "yet", "i", "he"),
        *("she", "it", "they", "we", "you", "his", "her", "their", "my", "the", "a", "an"),
        *("this", "patient", "pt", "und", "mit", "aber", "ist", "et", "avec", "mais", "y", "e"),
        *("con", "pero", "hat", "hatte", "tiene", "n'a"),
    )
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a cell that a cue governs."""

    start: int  # of the cue, in characters of the cell
    text: str  # without the cue; empty: it says nothing of what follows
    assertion: Assertion


@dataclass(frozen=True, slots=True)
class Cut:
    """A cell whose clauses are cut out.

    Attributes:
        rests: what is left, at each place between two separators a clause was in.
        clauses: in the order of the cell.
    """

    rests: list[str]
    clauses: list[Clause]


def cut(
    cell: str, codes: tuple[str, ...], is_name: IsName, is_named: IsName, is_whole: IsName
) -> Cut | None:
    """Cut the clauses out of a cell; None where it has none behind a name.

    A clause of denial needs a name in front of it or in it, one of another class in front of it, or
    both where its cue counts only beside a name.

    Args:
        cell: a text of which strong separators divide nothing.
        codes: of the languages whose cues are looked for.
        is_name: tells the names of the dictionary.
        is_named: tells whether a text is a name in another spelling, or ends with a name.
        is_whole: tells whether a text with a denial is a name, grades and sides aside.
    """
    cues = assertion.cues_inside(cell, codes)
    if name := denying_name(cell, codes, is_whole):
        return Cut([name], [])
    spans: list[Span] = []
    clauses: list[Clause] = []
    last = 0  # where the cue before ends
    for place, cue in enumerate(cues):
        if spans and cue.start < spans[-1][1]:
            continue
        head = _head(cell[last : cue.start])
        is_next = bool(spans) and not cell[spans[-1][1] : cue.start].strip(_EDGE)
        last = cue.end
        if not head and not is_next:
            continue
        cell = _opened(cell, cue)
        end = _end(cell, cue, cues[place + 1 : place + _NEXT], is_name, is_named, codes)
        rest = _rest(cell, cue, end, is_name)
        if cue.is_denial and (word := _word_of_name(cell[: cue.start], head, rest, is_whole)):
            if cell[cue.start : cue.end].lower() == word:
                continue
            text = _with_word(cell, cue, end, word)
            return cut(text, codes, is_name, is_named, is_whole) or Cut([text], [])
        behind = assertion.behind_at(cell, cue.start, end, codes)
        circumstance = cell[behind:end].strip(_EDGE)
        if behind > cue.end and (not circumstance or _CIRCUMSTANCE.match(circumstance)):
            if circumstance:  # "asthma not seen on CT" denies the asthma
                spans.append((behind, end))
                clauses.append(Clause(behind, "", cue.assertion))
            continue
        is_idle = cue.assertion == "present"  # "not controlled"
        if not is_idle and not any(map(str.isalpha, rest)):
            continue
        if _governs(cue, head, rest, is_next, is_named):
            spans.append((cue.start, end))
            clauses.append(Clause(cue.start, rest, cue.assertion))
    return Cut(without(cell, spans), clauses) if clauses else None


def _rest(cell: str, cue: InnerCue, end: int, is_name: IsName) -> str:
    """What a cue governs; the last words of it are a name's own in "no acute leukemia"."""
    rest = cell[cue.end : end].strip(_EDGE)
    words = cell[cue.start : cue.end].split()
    longer = (" ".join((*words[place:], rest)) for place in range(1, len(words)))
    return next(filter(is_name, longer), rest)


def _opened(cell: str, cue: InnerCue) -> str:
    """A cell with commas for the bracket around a cue that something stands before in there.

    What else it holds is a name of its own then: "diabetes (neuropathy; no retinopathy)".
    """
    depth = 0
    for place in range(cue.start - 1, -1, -1):
        depth += (cell[place] in ")]}") - (cell[place] in _BRACKETS)
        if depth < 0:
            closing = cell.find(_BRACKETS[cell[place]], cue.end)
            if not cell[place + 1 : cue.start].strip(_EDGE):
                break
            cell = cell[:place] + "," + cell[place + 1 :]
            return cell if closing < 0 else cell[:closing] + "," + cell[closing + 1 :]
    return cell


def denying_name(cell: str, codes: tuple[str, ...], is_whole: IsName) -> str:
    """A cell with the word of a name for its cues of denial, if all of it is that name; or empty.

    "Cystic leukoencephalopathy (no megalencephaly)" is one "without megalencephaly". The arguments
    are those of `cut`.
    """
    cues = assertion.cues_inside(cell, codes)
    inner = [
        cue for cue in cues if _has_letters(cell[: cue.start]) and _has_letters(cell[cue.end :])
    ]
    denials = [cue for cue in inner if cue.is_denial]  # not the one of "uterus: no"
    if not 0 < len(denials) <= _MOST_DENIALS or any(
        _OR.search(cell[: cue.start]) for cue in denials
    ):
        return ""
    texts = [_renamed(cell, denials, is_linked, is_first) for is_linked, is_first in _WAYS]
    for text in dict.fromkeys(texts):
        for word in DENYING:
            name = text.replace(_DENIAL, word)
            if is_whole(name):
                return name
    return ""


def _renamed(cell: str, denials: Sequence[InnerCue], is_linked: bool, is_first: bool) -> str:
    """A cell with `_DENIAL` for cues of denial, and without separators around them.

    Args:
        cell: the text.
        denials: the cues.
        is_linked: whether linking words in front of a cue are kept: "and no fever".
        is_first: whether only the first word of a cue is replaced: "no" of "no sign of".
    """
    for cue in reversed(denials):
        before = cell[: cue.start].rstrip(_EDGE)
        if not is_linked:
            before = _without_links(before)
        words = cell[cue.start : cue.end].split()[1:] if is_first else []
        cell = " ".join([before, _DENIAL, *words, cell[cue.end :].lstrip(_EDGE)])
    return cell


def _word_of_name(before: str, head: str, rest: str, is_whole: IsName) -> str:
    """The word by which a name denies a text of another one: "without", if it has "aura".

    Args:
        before: all in front of the cue, a comma of which the name may have: "cysts, renal".
        head: what it names last.
        rest: what the cue governs.
        is_whole: as of `cut`.
    """
    if not head or not rest:
        return ""
    heads = [head, _LISTED.split(head)[-1]]
    if len(before) <= _LONGEST_NAME:
        before = before.rstrip(_EDGE)
        starts = [0, *(match.end() for match in _SEPARATES.finditer(before))]
        heads += [before[start:] for start in reversed(starts[-_MOST_COMMAS - 1 : -1])]
    pairs = [(text, rest) for text in heads]
    if listed := _LISTED.search(rest):
        pairs.append((head, rest[: listed.start()]))
    for text, denied in dict.fromkeys(pairs):
        word = next((word for word in DENYING if is_whole(f"{text} {word} {denied}")), "")
        if word:
            return word
    return ""


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _with_word(cell: str, cue: InnerCue, end: int, word: str) -> str:
    """A cell with another word for a cue of denial, and without the bracket that this begins."""
    before = cell[: cue.start].rstrip(_EDGE)
    after = cell[end:]
    if cell[: cue.start].rstrip()[-1:] in _BRACKETS:
        after = after.lstrip()[1:]
    gap = " " if after[:1].isalnum() else ""  # in front of "and"
    return f"{before} {word} {cell[cue.end : end].strip(_EDGE)}{gap}{after}"


def is_empty(cell: str, codes: tuple[str, ...]) -> bool:
    """Whether a cell holds cues alone: "no, not"."""
    cues = [cue for cue in assertion.cues_inside(cell, codes) if not cue.is_foreign]
    rests = without(cell, [(cue.start, cue.end) for cue in cues])
    is_short_form = len(cues) == 1 and not cues[0].is_denial  # "AHF"
    return bool(cues) and not is_short_form and not any(map(str.isalpha, "".join(rests)))


def _governs(cue: InnerCue, head: str, rest: str, is_next: bool, is_named: IsName) -> bool:
    """Whether a cue between two texts makes a clause of the second one."""
    is_behind_name = is_next or is_named(head)
    if cue.is_denial and (cue.is_foreign or not cue.is_weak):
        return is_behind_name or is_named(rest)
    return is_behind_name and (cue.is_denial or not cue.is_weak or is_named(rest))


def _head(text: str) -> str:
    """What a text names last, between separators and without linking words; may be empty."""
    for segment in reversed(_SEPARATES.split(text)):
        words = segment.strip(_EDGE + ")]}").split()
        while words and words[-1].lower().strip(",.:") in _LINKING:
            words.pop()
        while words and words[0].lower().strip(",.:") in _LINKING:
            words.pop(0)
        if any(map(str.isalpha, "".join(words))):
            return " ".join(words)
    return ""


def _end(
    cell: str,
    cue: InnerCue,
    later: Sequence[InnerCue],
    is_name: IsName,
    is_named: IsName,
    codes: tuple[str, ...],
) -> int:
    """Where the scope of a cue ends.

    Args:
        cell: the text.
        cue: in it.
        later: the cues behind it, of which one of denial ends its scope, too.
        is_name: tells a name that has separators in it.
        is_named: as of `cut`.
        codes: of the languages whose connectives are known.
    """
    limit = next((other.start for other in later if _ends(cell, cue, other, is_named)), len(cell))
    is_first = cell[: cue.start].rstrip()[-1:] in _BRACKETS
    bounds = list(itertools.islice(_bounds(cell, cue.end, limit, is_first, codes), _MOST_BOUNDS))
    is_apart = not cell[cue.end : bounds[0]].strip(_EDGE)  # "asthma no, gout"
    for bound in () if is_apart else reversed(bounds[1:]):
        if is_name(cell[cue.end : bound]):  # "hand, foot and mouth disease"
            return bound
    end = bounds[0]
    if more := _LIST_GOES_ON.match(cell, end, limit):  # "no nausea, vomiting or fever"
        end = next(_bounds(cell, more.end(), limit, is_first, codes))
    return end


def _ends(cell: str, cue: InnerCue, other: InnerCue, is_named: IsName) -> bool:
    """Whether a later cue ends the scope of one."""
    between = cell[cue.end : other.start].strip(_EDGE)
    if other.is_denial and not other.is_weak:
        return bool(between)
    return is_named(between)


def _bounds(
    cell: str, start: int, limit: int, is_first: bool, codes: tuple[str, ...]
) -> Iterator[int]:
    """Where what follows a cue may end: at separators and connectives outside of brackets.

    Args:
        cell: the text.
        start: where the cue ends.
        limit: where its scope ends at the latest.
        is_first: whether the cue begins a bracket, all of which it governs then.
        codes: of the languages whose connectives are known.
    """
    depth = 0
    for match in _BOUND.finditer(cell, start, limit):
        if match["opens"]:
            depth += 1
        elif match["closes"]:
            depth -= 1
            if depth < 0:
                yield match.start()
                return
        elif depth:
            continue
        elif match["separates"] or match["word"] in ("&", "+", "/"):
            if not is_first:
                yield match.start()
        elif assertion.ends_scope(match["word"], codes, in_list=is_first):
            yield match.start()
    yield limit


def without(cell: str, spans: Sequence[Span]) -> list[str]:
    """What is left of a cell without some spans, divided where a separator follows one."""
    rests: list[str] = []
    start = 0
    for begin, end in (*spans, (len(cell), len(cell))):
        text = cell[start:begin]
        is_anew = not rests or _STARTS_ANEW.match(text) or _is_and(text)
        if begin < len(cell):
            text = _without_links(text)
        if is_anew:
            rests.append(text)
        else:
            rests[-1] += " " + text
        start = end
    return [text for rest in rests if (text := _tidy(rest))]


def _is_and(text: str) -> bool:
    """Whether a text goes on with another name: "and gout"."""
    return text.split()[:1] in (["and"], ["plus"], ["und"], ["et"], ["y"])


def _without_links(text: str) -> str:
    """A text without the linking words and separators that it ends with; an open bracket stays."""
    while True:
        stripped = text.rstrip(' \t\n.,:;/&+–—-*"“‘«')
        before, _, word = stripped.rpartition(" ")
        if word.lower() not in _LINKING:
            return stripped
        text = before


def _tidy(text: str) -> str:
    """A text without brackets that hold nothing, separators at its ends, and a first "and"."""
    text = " ".join(_NO_CONTENT.sub(" ", text).split()).strip(" ,;:/&+|–—-")
    text = _BEFORE_CLOSING.sub("", text)
    for opening, closing in _BRACKETS.items():
        if text.count(opening) != text.count(closing):
            text = text.strip(opening + closing + " ")
    return text.split(None, 1)[-1] if _is_and(text) else text
