"""A dictionary asked by people and programs: concepts by ids and names, its names in running text.

Here is also the one rule for short forms, which leave open what they stand for.
"""

from __future__ import annotations

import dataclasses
import math
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE, TRAINING
from linker.dictionary.dictionary import Dictionary
from linker.dictionary.names import NameTable
from linker.errors import LinkerError
from linker.ids import of_prefix
from linker.records import Concept, Prediction, Reference
from linker.text import abbreviations, languages
from linker.text.find import LONGEST_SHORT, Finder, Match, TokenizedText, is_short_form
from linker.text.letters import STOP
from linker.text.mentions import TextOptions
from linker.text.normalize import normalize

Doubt = Literal[
    "other case",
    "short form",
    "annotated short form",
    "unexplained short form",
    "listed short form",
    "several meanings",
    "other word",
    "other thing",
]
"""Why it is open what a text means: it is a name of the concept in other case only ("all"); a short
form without a document, annotated with the concept or not; one that its document leaves open; one
that a list of short forms explains; or a name that people use for several concepts. Or its words
look like those of the concept, and are others ("enema", "edema"); or it names an organism or a
measurement."""
_STATUS = {ALTERNATIVE: "current", OBSOLETE: "obsolete", MERGED: "merged"}
_WAYS = 3  # from a root to a concept that are shown
_CHILDREN = 500  # that are shown
_MATCHES = 2_000  # names that fit the text of a search, at most
_POOR = 0.15  # how well a name must fit, as a share of the best
_CONFIDENCE = 0.6  # what the confidence of a linker counts beside how well a name fits
_GUESS = 0.05  # the confidence that a concept needs of which no name fits
_BELOW = 0.03  # what the number of concepts below one counts, by its logarithm
_CLASS_WORD = 0.02  # share of the dictionary's forms: a word in more of them names no disease
_LONG_ENOUGH = 4  # letters of a short form that is believed where nothing else speaks for it
_AROUND = string.punctuation + string.whitespace
_TELLING = 4  # letters of a word beside a short form that says what it stands for; "of" does not
_BEGINNING = 4  # letters that a word and a short form do not share
_REMEMBERED = 30_000  # words whose letters are kept


def reference(dictionary: Dictionary, row: int) -> dict[str, str]:
    """The id and the name of a concept."""
    return {"id": dictionary.ids[row], "name": dictionary.preferred_name(row)}


def described(dictionary: Dictionary, asked: str) -> dict[str, Any] | None:
    """A concept, its names, its place in the hierarchy and its other ids, for JSON.

    Of a name that another vocabulary lent, `source` is the file that lent it. `also` are all other
    ids that are known, with their public pages; `xrefs` and `alt_ids` those of its own file.

    Args:
        dictionary: which has the concept.
        asked: its id, or an old or alternative one; one that no concept has taken the place of has
            an id and a status alone.

    Returns:
        The record; None for an unknown id.

    Raises:
        LinkerError: the id stands for several concepts.
    """
    if (identifier := dictionary.identify(asked)) is None:
        return None
    rows, hierarchy = dictionary.rows(identifier), dictionary.hierarchy
    if len(rows) > 1:
        several = ", ".join(dictionary.ids[row] for row in rows)
        raise LinkerError(f"the id stands for several concepts ({several}); ask for one of them")
    concept = dictionary.concept(rows[0]) if rows else Concept(identifier, "")
    parents, children = (
        step(rows)[0].tolist() if rows else [] for step in (hierarchy.parents, hierarchy.children)
    )
    ways = ((*hierarchy.way_up(parent)[::-1], *rows) for parent in parents[:_WAYS])
    is_current = bool(rows) and identifier == concept.id
    return {
        "id": concept.id,
        "name": concept.name,
        "names": _names(dictionary, rows[0]) if rows else [],
        "definition": concept.definition,
        "parents": [reference(dictionary, row) for row in parents],
        "children": [reference(dictionary, row) for row in children[:_CHILDREN]],
        "path": [[reference(dictionary, row) for row in way] for way in ways],
        "types": list(concept.types),
        "xrefs": list(concept.xrefs),
        "alt_ids": list(concept.alt_ids),
        "also": [_other_id(other) for other in dictionary.references(rows[0])] if rows else [],
        "url": _public_page(concept.id),
        "asked": asked,
        "status": "current" if is_current else _status(dictionary, identifier),
    }


def _names(dictionary: Dictionary, row: int) -> list[dict[str, Any]]:
    """The names of a concept, the preferred one first."""
    names = sorted(dictionary.name_rows(row).tolist(), key=lambda n: n != dictionary.preferred[row])
    return [
        {"text": n.text, "kind": n.kind, "source": n.source, "lent": bool(dictionary.lender(name))}
        for name, n in zip(names, map(dictionary.name, names), strict=True)
    ]


def _other_id(reference: Reference) -> dict[str, str | None]:
    """An id of another vocabulary, who says it, and the public page that it has."""
    return dataclasses.asdict(reference) | {"url": _public_page(reference.id)}


def _status(dictionary: Dictionary, identifier: str) -> str:
    """What became of an old or alternative id."""
    number = list(dictionary.old_ids).index(identifier)
    return _STATUS[int(dictionary.columns.old_status[number])]


def _public_page(identifier: str) -> str | None:
    """The public page of a concept, or of a reference, which may be one; None for none known."""
    if identifier.startswith(("https://", "http://")):
        return identifier
    prefix, _, local = identifier.partition(":")
    page = of_prefix(prefix).page
    return page.format(quote(local, safe=""), curie=quote(identifier, safe=":")) or None


class Hit(NamedTuple):
    """A concept that a search found."""

    row: int
    matched_name: str  # as written, or the id
    score: float  # how well the name fits, 0 to 1; 1 for an id


def search(
    dictionary: Dictionary,
    table: NameTable,
    form: Callable[[str], str],
    text: str,
    linked: Iterable[Prediction] = (),
) -> Iterator[Hit]:
    """Find concepts by an id, also an old one, or by their names, of which words may be only begun.

    Words may have errors, and stand in another order; see `words`. Of names that fit equally, those
    of concepts with more others below them come first.

    Args:
        dictionary: which has the concepts.
        table: its distinct names in normal form.
        form: gives the normal form of a text.
        text: what is looked for.
        linked: what a linker predicts for the text; its candidates are found, too, and their
            confidences count.

    Yields:
        Each concept once, the best first: those with the id, then those with a name that fits.
    """
    found = set[int]()
    for row in dictionary.rows(text):
        found.add(row)
        yield Hit(row, text.strip(), 1.0)
    hits = {hit.row: hit for hit in _fitting(dictionary, table, form(text))}
    ranks = {row: hit.score for row, hit in hits.items()}
    for candidate in (c for p in linked for part in p.parts for c in part.candidates):
        confidence = candidate.confidence or 0.0
        for row in dictionary.rows(candidate.concept_id):
            if row in hits or confidence >= _GUESS:
                hits.setdefault(row, Hit(row, candidate.matched_name, round(confidence, 4)))
                ranks[row] = ranks.get(row, 0.0) + _CONFIDENCE * confidence
    rows = [*hits]
    for row, below in zip(rows, dictionary.hierarchy.children(rows), strict=True):
        ranks[row] += _BELOW * math.log1p(len(below))
    yield from (hits[row] for row in sorted(rows, key=lambda r: -ranks[r]) if row not in found)


def _fitting(dictionary: Dictionary, table: NameTable, wanted: str) -> list[Hit]:
    """Concepts with a name that fits a normalised text, each once, the best first."""
    fits = table.words.fits(wanted)
    rows = np.flatnonzero(fits > max(0.0, _POOR * fits.max(initial=0)))
    order = np.argsort(-fits[rows], kind="stable")[:_MATCHES]
    hits: dict[int, Hit] = {}
    for name in rows[order].tolist():
        score = round(float(fits[name]), 4)
        for at in range(*table.indptr[name : name + 2].tolist()):
            row = int(table.concepts[at])
            if row not in hits:
                hits[row] = Hit(row, dictionary.names[int(table.entries[at])], score)
    return [*hits.values()]


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
        None where it is no short form, alone or beside words that say nothing of the concept.
    """
    words = text.strip(_AROUND).split()
    words = [word for word in words if word not in STOP] or words  # "and all"
    if len(words) > 1:
        return _doubt_beside(dictionary, words, concept)
    text = words[0] if words else ""
    if len(letters := _letters(text)) > LONGEST_SHORT:
        return None
    forms = {letters, f"{letters}s", letters.removesuffix("s")}
    names = dictionary.names
    texts = ((row, names[row]) for row in dictionary.name_rows(concept).tolist())
    rows = [row for row, name in texts if len(name.split()) == 1 and _letters(name) in forms]
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


def _doubt_beside(dictionary: Dictionary, words: Sequence[str], concept: int) -> Doubt | None:
    """As `doubt`, of a short form with other words beside it: "IBS severe".

    Where one of these is a word of the concept's names ("HIV infection"), nothing is open.
    """
    short = [word for word in words if is_short_form(word.strip(_AROUND))]
    if not short:
        return None
    names = [dictionary.names[row] for row in dictionary.name_rows(concept).tolist()]
    known = {_letters(word) for name in names for word in name.split()}
    others = {_letters(word) for word in words if word not in short}
    if any(word in known and (word.isdigit() or len(word) >= _TELLING) for word in others):
        return None
    doubts = [doubt(dictionary, word, concept) for word in short if _letters(word) in known]
    return next(filter(None, doubts), None)


@lru_cache(_REMEMBERED)
def _letters(text: str) -> str:
    """The letters and digits of a text, by which texts that differ in case are equal."""
    return "".join(filter(str.isalnum, text)).casefold()


@dataclass(frozen=True, slots=True)
class Facts:
    """What a dictionary says of a form."""

    normal: frozenset[str] = frozenset()  # the normal forms of its names
    spellings: frozenset[str] = frozenset()  # its names, as written
    is_short: bool = False  # whether there are names, and all are short forms
    # without annotated mentions that became names:
    written: frozenset[str] = frozenset()  # its names, as written
    concepts: frozenset[int] = frozenset()  # the rows of their concepts

    def is_recased(self, text: str) -> bool:
        """Whether a text of this form is a name only in other case, as "all" is one by "ALL"."""
        return self.is_short and text not in self.spellings


@dataclass(frozen=True, slots=True)
class Findings:
    """A text with the names found in it."""

    words: TokenizedText
    matches: Sequence[Match]
    others: frozenset[str]  # short forms that the text defines as something that is no name

    def written(self, match: Match) -> str:
        """A match as it is written."""
        return self.words.text[match.start : match.end]


class DictionaryNames:
    """Finds the names of a dictionary in texts, and tells what the dictionary says of them.

    Args:
        dictionary: the dictionary, with annotated mentions as names of kind `training`.
        options: whether short forms that a text defines are looked for.
        concepts: the rows of the concepts whose names are found; None: all.
        everyday: names that people use, each with the row of the name that it stands for.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        options: TextOptions,
        concepts: NDArray[np.int32] | None = None,
        everyday: Iterable[tuple[str, int]] = (),
    ) -> None:
        self._dictionary, self._options = dictionary, options
        rows = np.arange(len(dictionary.names))
        if concepts is not None:
            rows = np.flatnonzero(np.isin(dictionary.name_concept, concepts))
        own = ((dictionary.names[row], row) for row in rows.tolist())
        self._finder = Finder(own, everyday)
        self._facts: dict[str, Facts] = {}

    def find(self, text: str) -> Findings:
        """Find all names in a text."""
        definitions = []
        if self._options.abbreviations:
            definitions = abbreviations.find(
                text,
                permuted=not self._options.biosyn,
                languages=languages.named(self._options.language),
            )
        words = TokenizedText.of(text, self._finder.is_word)
        matches = self._finder.find(words, definitions)
        defined = {text[match.start : match.end] for match in matches if match.kind == "short"}
        others = frozenset(definition.short for definition in definitions) - defined
        return Findings(words, matches, others)

    def facts(self, key: str) -> Facts:
        """What the dictionary says of a form."""
        if key not in self._facts:
            dictionary = self._dictionary
            rows = self._finder.rows.get(key, [])
            dictionary_rows = [row for row in rows if dictionary.name_kind[row] != TRAINING]
            self._facts[key] = Facts(
                frozenset(normalize(dictionary.names[row]) for row in rows),
                frozenset(dictionary.names[row] for row in rows),
                bool(rows) and all(is_short_name(dictionary, row) for row in rows),
                frozenset(dictionary.names[row] for row in dictionary_rows),
                frozenset(int(dictionary.name_concept[row]) for row in dictionary_rows),
            )
        return self._facts[key]

    def spelled(self, findings: Findings, match: Match) -> str:
        """The name of the dictionary that a match is, in the spelling of the dictionary.

        It is empty where the match has the normal form of a name, or is no name as it stands there.
        A name that people use is in the spelling of their list.
        """
        if match.kind == "name" and match.key in self._finder.others:
            return self._finder.others[match.key]
        facts = self.facts(match.key)
        if match.kind != "name" or normalize(findings.written(match)) in facts.normal:
            return ""
        return min(facts.written, default="")

    @cached_property
    def _class_words(self) -> frozenset[str]:
        """Words such as "disease" and "syndrome", which so many names hold that they are none."""
        times = Counter(word for form in self._finder.rows for word in {*form.split()})
        most = max(1.0, _CLASS_WORD * len(self._finder.rows))
        return frozenset(word for word, count in times.items() if count > most)

    def plausible(self, findings: Findings) -> list[bool]:
        """Which matches are taken for mentions where no annotated documents tell.

        These are not: a class word ("disease"); a short form that the document defines as something
        else; a word that is a name only in other case ("all"); a short form of the dictionary with
        digits, which often is a gene; one of few letters, unless the document has a longer name of
        its concept.
        """
        others: dict[str, frozenset[int]] = {}
        for match in findings.matches:
            if not is_short_form(findings.written(match)):
                others[match.key] = self.facts(match.key).concepts
        there = frozenset[int]().union(*others.values())
        return [self._is_plausible(findings, match, there) for match in findings.matches]

    def _is_plausible(self, findings: Findings, match: Match, there: frozenset[int]) -> bool:
        """Whether a match is plausible, given the concepts that are named in full."""
        if match.kind != "name":
            return True
        written, facts = findings.written(match), self.facts(match.key)
        if match.key in self._class_words or written in findings.others:
            return False
        if facts.is_recased(written):
            return False
        if not is_short_form(written):
            return True
        is_agreed = not facts.concepts.isdisjoint(there)
        return written.isalpha() and (is_agreed or len(written) >= _LONG_ENOUGH)
