"""Mentions found in documents, against the annotated ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from linker import Linker, LinkerError
from linker.evaluation import documents
from linker.records import Candidate, Document, GoldGroup, Mention, Part, Passage, Prediction

RESOLVE = {"OLD:1": frozenset({"D:1", "D:9"})}


def resolve(identifier: str) -> frozenset[str]:
    return RESOLVE.get(identifier, frozenset({identifier}))


def gold(start: int, *ids: str, mark: bool = True) -> Mention:
    groups = tuple(GoldGroup((identifier,)) for identifier in ids)
    return Mention("xx", ((start, start + 2),), groups if mark else None)


def predicted(start: int, *ids: str) -> Prediction:
    parts = tuple(
        Part("xx", candidates=(Candidate(i, "", "", 1.0),)) if i else Part("xx", nil=True)
        for i in ids
    )
    return Prediction(Mention("xx", ((start, start + 2),)), parts)


BOTH = [predicted(0, "D:1"), predicted(5, "D:1")]


@pytest.mark.parametrize(
    ("mentions", "predictions", "spans", "linked", "concepts"),
    [
        ([], [], (0, 0, 0), (0, 0, 0), (0, 0, 0)),
        ([gold(0, "D:1")], [], (0, 0, 1), (0, 0, 1), (0, 0, 1)),
        ([], [predicted(0, "D:1")], (0, 1, 0), (0, 1, 0), (0, 1, 0)),
        ([gold(0, "D:1")], [predicted(0, "D:1")], (1, 1, 1), (1, 1, 1), (1, 1, 1)),
        ([gold(0, "D:1")], [predicted(0, "D:2")], (1, 1, 1), (0, 1, 1), (0, 1, 1)),
        # elsewhere, but a concept of the document
        ([gold(0, "D:1")], [predicted(5, "D:1")], (0, 1, 1), (0, 1, 1), (1, 1, 1)),
        # a concept counts once
        ([gold(0, "D:1"), gold(5, "D:1")], BOTH, (2, 2, 2), (2, 2, 2), (1, 1, 1)),
        # old ids: one or the other of the current ones is right, and both are one concept
        ([gold(0, "OLD:1")], [predicted(0, "D:9"), BOTH[1]], (1, 2, 1), (1, 2, 1), (1, 1, 1)),
        # a composite mention, of which one part is found
        ([gold(0, "D:1", "D:2")], [predicted(0, "D:1")], (1, 1, 1), (0, 1, 1), (1, 1, 2)),
        ([gold(0, "D:1", "D:2")], [predicted(0, "D:2", "D:1")], (1, 1, 1), (1, 1, 1), (2, 2, 2)),
        # without a concept
        ([gold(0)], [predicted(0, "")], (1, 1, 1), (1, 1, 1), (0, 0, 0)),
        ([gold(0)], [predicted(0, "D:1")], (1, 1, 1), (0, 1, 1), (0, 1, 0)),
        # nobody said of which concept
        ([gold(0, mark=False)], [predicted(0, "D:1")], (1, 1, 1), (0, 1, 1), (0, 1, 0)),
    ],
)
def test_counts(
    mentions: list[Mention],
    predictions: list[Prediction],
    spans: tuple[int, int, int],
    linked: tuple[int, int, int],
    concepts: tuple[int, int, int],
) -> None:
    counts = documents.counts(Document("1", (), tuple(mentions)), predictions, resolve)
    assert [tuple(row) for row in counts.tolist()] == [spans, linked, concepts]


def counted(right: int, predictions: int, annotated: int) -> NDArray[np.int64]:
    return np.array([[right, predictions, annotated]] * 3)


def test_summary() -> None:
    record = documents.summary([counted(3, 4, 6), counted(0, 0, 2), counted(2, 2, 2)])
    span = record["span"]
    assert (record["n"], span["right"], span["predicted"], span["annotated"]) == (3, 5, 6, 10)
    assert span["precision"] == round(5 / 6, 5)
    assert span["recall"] == 5 / 10
    assert span["f1"] == round(2 * 5 / (6 + 10), 5)
    assert record["concept"] == span
    low, high = span["f1_interval"]
    assert 0 <= low < span["f1"] < high <= 1
    # the documents are alike: no sample differs
    assert documents.summary([counted(1, 2, 2)] * 5)["span"]["f1_interval"] == [0.5, 0.5]
    nothing = documents.summary([counted(0, 0, 0)])["span"]
    assert (nothing["precision"], nothing["recall"], nothing["f1"]) == (0, 0, 0)


def test_a_model(tiny: Linker) -> None:
    text = "breast cancer and ovarian cancer"
    marked = (Mention("breast cancer", ((0, 13),), (GoldGroup(("D:3",)),)),)
    record, (row,) = documents.evaluate(tiny, [Document("1", (Passage(text),), marked)])
    kinds = ("right", "predicted", "annotated")
    assert row == {"document_id": "1"} | {
        f"{measure}_{kind}": count
        for measure in ("span", "span_concept", "concept")
        for kind, count in zip(kinds, "121", strict=True)
    }
    assert (record["n"], record["concept"]["precision"]) == (1, 0.5)
    assert documents.table(record).splitlines()[1].split()[:3] == ["span", "1", "2"]


@pytest.mark.parametrize("item", [Mention("abcd", gold=()), Document("1", (Passage("abcd"),))])
def test_what_cannot_be_compared(tiny: Linker, item: Document | Mention) -> None:
    with pytest.raises(LinkerError):
        documents.evaluate(tiny, [item])
