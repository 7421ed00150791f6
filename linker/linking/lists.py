"""From the readings of mentions to described lists of candidates, a batch at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker.candidates.base import Generator
from linker.candidates.concepts import Candidates, ends, looked_up, ranges
from linker.linking.requests import Answer
from linker.ranker.matches import COLUMNS, PLACE, TEXT_COLUMNS, Matches, largest
from linker.ranker.ranker import Lists, Rows
from linker.text.readings import Wording

DEPTH = 10  # candidates of each text that the ranker sees


@dataclass(frozen=True, slots=True)
class Batch:
    """The lists of some mentions, and the candidates that their rows are."""

    lists: Lists
    found: Candidates  # a row for each row of the lists


def batch_of(answers: Sequence[Answer], generator: Generator, matches: Matches | None) -> Batch:
    """Find the candidates of all readings of some mentions, and describe them.

    Args:
        answers: the mentions, with their readings.
        generator: finds candidates.
        matches: describes them; None: nothing does, without a ranker.
    """
    layout = _Layout.of(answers)
    forms = list(dict.fromkeys(form for form, _ in layout.texts))
    number = {form: place for place, form in enumerate(forms)}
    candidates = generator.candidates(forms, DEPTH)
    if len(forms) < len(layout.texts):  # some are written in several ways
        candidates = candidates.take(np.array([number[form] for form, _ in layout.texts], np.int64))
    counts = np.diff(candidates.indptr)[layout.text]
    taken = ranges(candidates.indptr[layout.text], counts)
    width = len(COLUMNS) if matches else 0
    values, behind = (np.zeros((len(taken), width), np.float32) for _ in range(2))
    without = np.array([answer.without for answer in answers], np.float32)
    lists = Lists(layout.readings, layout.lookups, ends(counts), values, behind, without)
    batch = Batch(lists, candidates.take(layout.text))
    if matches:
        of_texts, weight = matches.describe(layout.texts, candidates)
        values[:, :TEXT_COLUMNS] = of_texts[taken]
        of_texts -= largest(of_texts, candidates.indptr)[candidates.queries]
        behind[:, :TEXT_COLUMNS] = of_texts[taken]
        _describe_readings(lists, layout, weight[layout.text])
        _describe_documents(batch, layout.text, [answer.number for answer in answers])
    return batch


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which texts are looked up for the readings of some mentions.

    Attributes:
        readings: (mentions + 1,) where the readings of each mention begin.
        lookups: (readings + 1,) where the texts of each reading begin.
        ways: the readings.
        texts: the distinct texts, in normal form and as they are written.
        text: (lookups,) the number of each text that is looked up.
    """

    readings: Rows
    lookups: Rows
    ways: Sequence[Wording]
    texts: Sequence[tuple[str, str]]
    text: Rows

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> _Layout:
        """Collect the texts."""
        ways = [way for answer in answers for way in answer.readings]
        number: dict[tuple[str, str], int] = {}
        text = [
            number.setdefault(pair, len(number))
            for way in ways
            for pair in zip(way.forms, way.texts, strict=True)
        ]
        return cls(
            ends(np.array([len(answer.readings) for answer in answers], np.int64)),
            ends(np.array([len(way.texts) for way in ways], np.int64)),
            ways,
            list(number),
            np.array(text, np.int64),
        )


def _describe_readings(lists: Lists, layout: _Layout, weight: NDArray[np.float64]) -> None:
    """Fill the columns that tell how a mention is read.

    Args:
        lists: to fill.
        layout: of them.
        weight: (lookups,) of the words of each text that is looked up.
    """
    ways, parts = layout.ways, np.diff(lists.lookups)
    weights = np.add.reduceat(weight, lists.lookups[:-1])
    fullest = np.maximum.reduceat(weights, lists.readings[:-1])
    kinds = np.array([way.kind for way in ways])
    columns = {
        "usual": np.isin(np.arange(len(ways)), lists.readings[:-1]),
        "expanded": kinds == "expanded",
        "shortened": kinds == "shortened",
        "split": kinds == "split",
        "parts": parts,
        "dropped": np.repeat(fullest, np.diff(lists.readings)) - weights,
    }
    reading = np.repeat(np.repeat(np.arange(len(ways)), parts), np.diff(lists.rows))
    for name, of_readings in columns.items():
        lists.values[:, PLACE[name]] = of_readings[reading]


def _describe_documents(batch: Batch, text: Rows, documents: Sequence[int]) -> None:
    """Count, for each candidate, other mentions of its document for which it comes first.

    Mentions that are spelt alike count once, and do not count for each other.

    Args:
        batch: to fill.
        text: (lookups,) the number of each text that is looked up.
        documents: the number of the document of each mention; -1: it has none.
    """
    document = np.array(documents, np.int64)
    if not (document >= 0).any():
        return
    lists, found = batch.lists, batch.found
    readings, lookups, rows = lists.readings, lists.lookups, lists.rows
    of_lookup = np.repeat(np.repeat(document, np.diff(readings)), np.diff(lookups))
    usual = ranges(lookups[readings[:-1]], np.diff(lookups)[readings[:-1]])
    usual = usual[(of_lookup[usual] >= 0) & (np.diff(rows)[usual] > 0)]
    size, wide = np.int64(found.concepts.max(initial=0)) + 1, np.int64(text.max(initial=0)) + 1
    first = of_lookup[usual] * size + found.concepts[rows[usual]]
    spelt = np.unique(first * wide + text[usual])
    concepts, counts = np.unique(spelt // wide, return_counts=True)
    row_lookup = np.repeat(np.arange(len(text)), np.diff(rows))
    is_in = of_lookup[row_lookup] >= 0
    wanted = of_lookup[row_lookup[is_in]] * size + found.concepts[is_in]
    times = looked_up(concepts, counts, wanted)
    own = wanted * wide + text[row_lookup[is_in]]
    times -= looked_up(spelt, np.ones(len(spelt), np.int64), own)
    lists.values[is_in, PLACE["agreement"]] = np.log1p(times)
