"""Why mentions have no sure answer, and what would help."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from linker.io.outputs import UNSURE, is_sure, outcome
from linker.linking.linker import Linker
from linker.records import Candidate, Part, Prediction
from linker.text.find import is_short_form

KINDS = {
    "named elsewhere": "another vocabulary has this name: add its names",
    "short form": "decide once what it means here, or give a list of short forms",
    "several concepts have the name": "decide once; a text or a type would tell them apart",
    "no name like it": "choose its concept, or decide that it names none; or add a vocabulary",
    "a broader and a narrower concept": "decide once which of them is meant",
    "sibling concepts": "decide once which of them is meant; more words would tell them apart",
    "more words than a name has": "accept it as broader than the mention, or as exactly it",
    "no candidate is meant": "decide that there is no concept; or add a vocabulary that has it",
    "not sure": "decide once; annotated mentions of the kind would help",
}
"""The kinds in the order in which they are looked for, each with what would help."""
_COMMANDS = {
    "named elsewhere": "train --lend",
    "short form": "link --short-forms",
    "several concepts have the name": "link --types",
    "no name like it": "train --lend",
    "no candidate is meant": "train --lend",
    "not sure": "train --mentions",
}
"""The options of linker that do so."""
EXAMPLES = 10  # of each kind
_RIVAL = 0.25  # the least share of the first candidate's confidence that a second one has


@dataclass(frozen=True, slots=True)
class Failure:
    """A mention without a sure answer."""

    text: str
    rows: int  # that have it
    kind: str  # of `KINDS`
    nearest: Candidate | None  # what it might be

    def __str__(self) -> str:
        named = f" (nearest: {self.nearest.concept_id} {self.nearest.name})" if self.nearest else ""
        return f"{self.text}{named}, {_rows(self.rows)}"


def failures(
    predictions: Iterable[Prediction],
    rows: Mapping[str, int],
    linker: Linker,
    elsewhere: Container[str] = (),
) -> list[Failure]:
    """The mentions without a sure answer, those of most rows first.

    Those that are blank, or say that nothing was entered, fail not.

    Args:
        predictions: one of each distinct mention, with several candidates.
        rows: how many rows have each.
        linker: that gave them.
        elsewhere: normalised names of other vocabularies.
    """
    found = []
    for prediction in predictions:
        kind = outcome(prediction).kind
        parts = [part for part in prediction.parts if not is_sure(part)]
        is_decided = prediction.state in ("accepted", "no concept")
        text = prediction.mention.text
        is_failed = kind in ("unsure", "no concept") and not is_decided
        if is_failed and parts and not linker.engine.is_empty(text):
            why = kind_of(parts[0], linker, elsewhere)
            nearest = next(iter(parts[0].candidates), parts[0].rejected)
            found.append(Failure(text, rows[text], why, nearest))
    return sorted(found, key=lambda failure: -failure.rows)


def kind_of(part: Part, linker: Linker, elsewhere: Container[str] = ()) -> str:
    """Why a part has no sure answer: one of `KINDS`."""
    form = linker.normalize(part.text)
    candidates = part.candidates or tuple(filter(None, [part.rejected]))
    if form in elsewhere and form not in linker.generator.table:
        return "named elsewhere"
    if is_short_form(part.text):
        return "short form"
    if sum(linker.normalize(c.matched_name) == form for c in candidates) > 1:
        return "several concepts have the name"
    words = set(form.split())
    first = [set(linker.normalize(c.matched_name).split()) for c in candidates[:1]]
    if not first or words.isdisjoint(first[0]):
        return "no name like it"
    if relation := _relation(candidates, linker):
        return relation
    if first[0] < words:
        return "more words than a name has"
    is_none = part.nil and sum(c.confidence or 0.0 for c in candidates) < UNSURE
    return "no candidate is meant" if is_none else "not sure"


def _relation(candidates: tuple[Candidate, ...], linker: Linker) -> str:
    """How the first two candidates are related, where the second may well be meant; empty: not."""
    if len(candidates) < 2 or not candidates[0].confidence:
        return ""
    if (candidates[1].confidence or 0.0) < _RIVAL * candidates[0].confidence:
        return ""
    one, other = (linker.dictionary.rows(c.concept_id)[0] for c in candidates[:2])
    above = linker.dictionary.hierarchy.ancestors([one, other])
    if one in above[1] or other in above[0]:
        return "a broader and a narrower concept"
    first, second = map(set, linker.dictionary.hierarchy.parents([one, other]))
    return "sibling concepts" if first & second else ""


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def settled(found: list[Failure]) -> tuple[int, int]:
    """How many decisions settle half of the rows that failed or more, and how many rows."""
    total = sum(failure.rows for failure in found)
    for count, rows in enumerate(accumulate(failure.rows for failure in found), 1):
        if 2 * rows >= total:
            return count, rows
    return 0, 0


def report(found: list[Failure], rows: int, distinct: int) -> Iterator[str]:
    """The lines of a report in Markdown.

    Args:
        found: the failures.
        rows, distinct: how many mentions there are.
    """
    failed = sum(failure.rows for failure in found)
    share = f"{len(found):,} of {distinct:,} distinct mentions"
    yield f"{failed:,} of {_rows(rows)} ({share}) have no sure answer."
    if not found:
        return
    count, settles = settled(found)
    yield f"Deciding the {count:,} most frequent settles {_rows(settles)}, half of these.\n"
    of_kind = defaultdict[str, list[Failure]](list)
    for failure in found:
        of_kind[failure.kind].append(failure)
    counts = Counter({kind: sum(f.rows for f in of_one) for kind, of_one in of_kind.items()})
    for kind, of_rows in counts.most_common():
        yield f"## {kind}: {_rows(of_rows)}, {len(of_kind[kind]):,} distinct\n"
        command = f" ({_COMMANDS[kind]})" if kind in _COMMANDS else ""
        yield f"What would help: {KINDS[kind]}{command}.\n"
        yield from (f"- {failure}" for failure in of_kind[kind][:EXAMPLES])
        yield ""
