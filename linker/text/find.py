"""Names of a dictionary in running text, with their places."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

import numpy as np
from ahocorasick_rs import AhoCorasick
from ahocorasick_rs import MatchKind as Kind

from linker.records import Document, Span
from linker.text.abbreviations import Definition
from linker.text.british import american
from linker.text.letters import is_balanced
from linker.text.normalize import BROKEN, normalize

# letters and digits, with accents that are characters of their own
_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*")
_SHORT = re.compile(r"[^\W_]*[A-Z][^\W_]*[A-Z0-9][^\W_]*|[A-Z]+[^\W_]*[0-9][^\W_]*")
_JOINING = frozenset((" ", "-", "", ", ", "/", "'", "’", "\n"))  # the frequent signs inside names
_END = re.compile(r"[.!?;:]\s|[;:!?\t]|\n\s*\n|.{6}", re.DOTALL)  # signs that no name holds
_STEMS = {  # ending of a word -> what of it singular and plural share
    "itides": "itis",
    "ies": "y",
    "sses": "ss",
    "xes": "x",
    "ches": "ch",
    "shes": "sh",
    "ses": "s",
    "sis": "s",
    "se": "s",
    "mata": "ma",
    "ss": "ss",
    "us": "us",
    "is": "is",
    "s": "",
}
_BREAK = "\n"  # before a word that begins a name or stands in none
LONGEST_SHORT = 10  # characters of a short form
_CONJUNCTIONS = frozenset(("and", "or"))
_WIDEST = 3  # words of its own that a coordinated name has
_MEMBERS = 6  # coordinated names before the last one


@lru_cache(maxsize=1 << 18)
def fold(word: str) -> str:
    """The form of a word by which names are found: singular, American, in lower case.

    The form of a short form keeps its last letter, unless that is a plural s behind capitals.

    >>> fold("Tumours"), fold("metastases"), fold("AIDS"), fold("HNPCCs")
    ('tumor', 'metastas', 'aids', 'hnpcc')
    """
    form = normalize(word).replace(" ", "") or word
    if is_short_form(word):
        return form[:-1] if word[-1] == "s" and word[:-1].isupper() else form
    return american(_singular(form))


def _singular(word: str) -> str:
    """The stem that singular and plural share."""
    if len(word) < 4:
        return word
    for ending, stem in _STEMS.items():
        if word.endswith(ending) and (ending != "ies" or len(word) > 4):  # "dies": die
            return word.removesuffix(ending) + stem
    return word


def is_short_form(text: str) -> bool:
    """Whether a text is written like a short form: one short word with capitals or digits inside.

    >>> [is_short_form(text) for text in ("ALL", "HbS", "Cap", "BREAST CANCER", "p53")]
    [True, True, False, False, False]
    """
    return len(text) <= LONGEST_SHORT and _SHORT.fullmatch(text.replace("-", "")) is not None


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """The words of a text, as forms, with their places."""

    forms: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    joined: Sequence[int]  # 1 where a word may stand in one name with the word before it, else 0
    text: str

    @classmethod
    def of(cls, text: str, is_word: Callable[[str], bool] | None = None) -> TokenizedText:
        """Cut a text into words.

        Args:
            text: the text.
            is_word: tells the forms of words that names have. Two pieces with a hyphen and a line
                end between them ("leuk-" and "aemia") are such a word, if together they have its
                form. None: they never are.
        """
        forms: list[str] = []
        starts, ends, joined = array("q"), array("q"), bytearray()
        end = 0
        for match in _WORD.finditer(text):
            start = match.start()
            gap = text[end:start]
            if is_word and "\n" in gap and forms and BROKEN.fullmatch(gap):
                whole = fold(text[starts[-1] : end] + match[0])
                if is_word(whole):
                    forms[-1], ends[-1] = whole, (end := match.end())
                    continue
            joined.append(gap in _JOINING or not _END.search(gap))
            end = match.end()
            forms.append(fold(match[0]))
            starts.append(start)
            ends.append(end)
        return cls(forms, starts, ends, joined, text)

    def match(self, first: int, last: int, kind: MatchKind, form: str = "") -> Match:
        """The match at the words from `first` to the one before `last`."""
        form = form or " ".join(self.forms[first:last])
        return Match(self.starts[first], self.ends[last - 1], form, kind, first, last)

    def written(self, first: int = 0, last: int | None = None) -> Iterator[str]:
        """The words from `first` to the one before `last`, as they are written."""
        places = zip(self.starts[first:last], self.ends[first:last], strict=True)
        return (self.text[start:end] for start, end in places)

    def before_conjunction(self, word: int, *, listed: bool) -> int:
        """The number of words up to an "and", "or" or slash before a word; 0 where there is none.

        Args:
            word: the number of the word behind it.
            listed: whether a comma is enough.
        """
        if not word or not self.joined[word]:
            return 0
        sign = self.text[self.ends[word - 1] : self.starts[word]].strip()
        if sign in ("/", "&") or (listed and sign == ","):
            return word
        if sign or self.forms[word - 1] not in _CONJUNCTIONS or not self.joined[word - 1]:
            return 0
        is_either = word > 1 and self.forms[word - 2] in _CONJUNCTIONS  # "and/or"
        return word - 2 if is_either and self.joined[word - 1] else word - 1


def running_text(document: Document) -> str:
    """The text of a document, with a tab before each passage that does not touch the last one.

    A tab stands in no name, so that none goes from the title to the abstract.
    """
    text, pieces, done, reach = document.text, [], 0, 0
    for passage in sorted(document.passages, key=lambda passage: passage.offset):
        if passage.offset > reach:
            pieces += [text[done : passage.offset - 1], "\t"]
            done = passage.offset
        reach = max(reach, passage.offset + len(passage.text))
    return "".join([*pieces, text[done:]])


def key(name: str) -> str:
    """The form of a name by which it is found: its folded words."""
    return " ".join(fold(match[0]) for match in _WORD.finditer(name))


MatchKind = Literal["name", "coordinated", "long", "short"]
"""What stands in the text: a name; names that share words ("breast and ovarian cancer"); a long
form that the document gives for a short form, and that ends with a name; a short form of a name."""


@dataclass(frozen=True, slots=True)
class Match:
    """A name in a text."""

    start: int  # in characters of the text
    end: int
    key: str  # the form of the text, or for a short form that of its long form
    kind: MatchKind
    first: int  # number of its first word
    last: int  # number of the word behind its last one


class Gazetteer:
    """Finds all names in one pass through a text (Aho and Corasick 1975).

    Args:
        names: distinct names, with single spaces between their words.
        overlapping: whether all names are found; else from left to right the longest at each place.
    """

    def __init__(self, names: Iterable[str], *, overlapping: bool = False) -> None:
        self.names = [name for name in names if name]
        self._overlapping = overlapping
        kind = Kind.Standard if overlapping else Kind.LeftmostLongest
        # a space before and behind each word, so that a name matches whole words only; neighbours
        # do not share a space, so that one name may follow another
        fenced = [f" {name.replace(' ', '  ')} " for name in self.names]
        self._search = AhoCorasick(fenced, matchkind=kind)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy builds its own automaton
        return partial(Gazetteer, overlapping=self._overlapping), (self.names,)

    def find(
        self, words: Sequence[str], joined: Sequence[int] | None = None
    ) -> list[tuple[int, int, str]]:
        """Find names in a text.

        Args:
            words: the words of the text.
            joined: for each word whether a name may hold it and the word before it; None: all may.

        Returns:
            For each name its first word, the word behind its last one, and the name itself, in the
            order of their ends.
        """
        breaks = [0] * len(words) if joined is None else [int(not is_one) for is_one in joined]
        lengths = np.fromiter(map(len, words), np.int64, len(words)) + 2
        starts = np.cumsum(lengths + breaks) - lengths  # of the words in the fenced text
        text = "".join(f"{_BREAK * n} {word} " for word, n in zip(words, breaks, strict=True))
        matches = self._search.find_matches_as_indexes(text, overlapping=self._overlapping)
        if not matches:
            return []
        names, *places = zip(*matches, strict=True)
        first, last = (np.searchsorted(starts, place).tolist() for place in places)
        return [
            (start, end, self.names[name])
            for start, end, name in zip(first, last, names, strict=True)
        ]


class Finder:
    """Finds the names of a dictionary, wherever they stand as whole words.

    Case, hyphens, singular and plural, and British and American spelling make no difference.

    Args:
        names: as written, each with its row.
        others: further names that are found where none of these has their form.
    """

    def __init__(
        self, names: Iterable[tuple[str, int]], others: Iterable[tuple[str, int]] = ()
    ) -> None:
        self.rows: dict[str, list[int]] = {}  # form -> rows of its names
        self.others: dict[str, str] = {}  # form -> what it is as written, of the others
        for name, row in names:
            self.rows.setdefault(key(name), []).append(row)
        for name, row in others:
            form = key(name)
            if form not in self.rows:
                self.others[form] = name
                self.rows[form] = [row]
        self.rows.pop("", None)
        self._search = Gazetteer(self.rows, overlapping=True)

    def is_word(self, form: str) -> bool:
        """Whether a form is that of a word that names have."""
        return form in self._words

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word for form in self.rows for word in form.split())

    def find(self, words: TokenizedText, definitions: Iterable[Definition] = ()) -> list[Match]:
        """All names in a text, also those inside others, in the order of the text.

        Args:
            words: the text.
            definitions: the short forms that it defines. They are found too where a name ends with
                the long form, and so is the long form.
        """
        matches: dict[Span, Match] = {}
        for first, last, form in self._search.find(words.forms, words.joined):
            start = self._coordinated(words, first, last)
            if start < first:
                match = words.match(start, last, "coordinated")
                matches.setdefault((match.start, match.end), match)
            match = words.match(first, last, "name", form)
            if is_balanced(words.text[match.start : match.end]):
                matches[match.start, match.end] = match
        for match in _defined(words, definitions, {end for _, end in matches}):
            if match.kind == "short" or (match.start, match.end) not in matches:
                matches[match.start, match.end] = match
        return sorted(matches.values(), key=lambda match: (match.start, -match.end))

    def _coordinated(self, words: TokenizedText, first: int, last: int) -> int:
        """The first word of names that share their last words with the name at some words.

        Without such names, it is the first word of the name itself.
        """
        for own in range(last - 1, first, -1):
            shared, start = words.forms[own:last], first
            for _ in range(_MEMBERS):
                end = words.before_conjunction(start, listed=start < first)
                member = next(
                    (
                        at
                        for at in range(end - 1, max(-1, end - 1 - _WIDEST), -1)
                        if all(words.joined[at + 1 : end])
                        and " ".join([*words.forms[at:end], *shared]) in self.rows
                    ),
                    start,
                )
                if member == start:
                    break
                start = member
            if start < first:
                return start
        return first


def _defined(
    words: TokenizedText, definitions: Iterable[Definition], ends: AbstractSet[int]
) -> Iterator[Match]:
    """The long forms that end where a name ends, and each place of their short forms.

    Args:
        words: the text.
        definitions: the short forms that it defines.
        ends: where names end.
    """
    forms: dict[tuple[str, ...], str] = {}  # words of a short form -> form of the long form
    for definition in definitions:
        start, end = definition.long_span
        if end in ends:
            first, last = bisect_left(words.starts, start), bisect_left(words.starts, end)
            if first < last:
                yield words.match(first, last, "long")
                form = " ".join(words.forms[first:last])
                forms.setdefault(tuple(_WORD.findall(definition.short)), form)
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for short in sorted(filter(None, forms), key=len, reverse=True):
        by_first.setdefault(short[0], []).append(short)
        if len(short) == 1:
            by_first.setdefault(short[0] + "s", []).append(short)
    for at, word in enumerate(words.written() if by_first else ()):
        for short in by_first.get(word, ()):
            last = at + len(short)
            if len(short) == 1 or tuple(words.written(at, last))[1:] == short[1:]:
                yield words.match(at, last, "short", forms[short])
                break


Overlaps = Literal["longest", "all"]
"""Of spans that overlap, the longest is kept, of equals the first; or all are kept."""


def overlap(first: Span, second: Span) -> bool:
    """Whether two spans share a character."""
    return first[0] < second[1] and second[0] < first[1]


def longest(spans: Iterable[Span]) -> list[Span]:
    """The longest of spans that overlap, in the order of the text.

    Args:
        spans: in any order; none is empty.
    """
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0] - span[1], span)):
        at = bisect_left(chosen, span)
        if not any(overlap(span, other) for other in chosen[max(0, at - 1) : at + 1]):
            chosen.insert(at, span)
    return chosen
