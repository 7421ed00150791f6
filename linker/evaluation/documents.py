"""Protocol `document`: mentions found in the texts of documents, against the annotated ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.errors import LinkerError
from linker.evaluation import metrics
from linker.evaluation.protocols import outcome_of
from linker.evaluation.report import aligned
from linker.evaluation.run import Row
from linker.io.outputs import decimals
from linker.linking.documents import Annotator
from linker.linking.linker import Linker
from linker.matching import Resolve
from linker.records import Document, Mention, Prediction

MEASURES = {
    "span": "mentions with exactly the annotated spans",
    "span_concept": "such mentions whose concepts are right by the protocol strict",
    "concept": "concepts of documents, each counted once a document",
}
_COUNTED = ("right", "predicted", "annotated")
_SAMPLES = 2000  # of documents, for the intervals


def counts(
    document: Document, predictions: Sequence[Prediction], resolve: Resolve
) -> NDArray[np.int64]:
    """Compare what was predicted for a document with its annotated mentions.

    Args:
        document: with its annotated mentions.
        predictions: of the mentions that were found.
        resolve: maps an annotated id to current ids.

    Returns:
        (measures, 3): of each of `MEASURES` how many are right, predicted and annotated.
    """
    gold = {mention.spans: mention for mention in document.mentions if mention.spans}
    predicted = {prediction.mention.spans: prediction for prediction in predictions}
    both = [(predicted[spans], gold[spans]) for spans in gold.keys() & predicted.keys()]
    linked = [
        mention
        for prediction, mention in both
        # one that is not annotated with concepts has none to be right
        if mention.gold is not None and outcome_of(prediction, mention, "strict", resolve).rank == 1
    ]
    ids = {i for mention in gold.values() for group in mention.gold or () for i in group.ids}
    needed = {resolve(identifier) for identifier in ids}  # concepts, as the ids that are right
    best = [part.best for prediction in predictions for part in prediction.parts]
    answers = {candidate.concept_id for candidate in best if candidate}
    named = [concept for concept in needed if not concept.isdisjoint(answers)]
    wrong = answers - frozenset().union(*needed)
    spans = (len(both), len(predicted), len(gold))
    concepts = (len(named), len(named) + len(wrong), len(needed))
    return np.array([spans, (len(linked), *spans[1:]), concepts])


def evaluate(
    linker: Linker, items: Sequence[Mention | Document], threshold: float | None = None
) -> tuple[dict[str, Any], list[Row]]:
    """Annotate documents without looking at their mentions, and compare.

    Args:
        linker: the model.
        items: documents with annotated mentions.
        threshold: see `Annotator.annotate`.

    Returns:
        The figures, and for each document a row of its id and its counts.

    Raises:
        LinkerError: there are none, or one has no text, or a mention has no document.
    """
    documents = [item for item in items if isinstance(item, Document)]
    has_texts = len(documents) == len(items) and all(
        d.passages or not d.mentions for d in documents
    )
    if not has_texts or not any(document.mentions for document in documents):
        raise LinkerError(
            "the protocol document needs texts with their annotated mentions; give PubTator or BioC"
        )
    bare = (dataclasses.replace(document, mentions=()) for document in documents)
    annotated = Annotator(linker).annotate(bare, k=1, threshold=threshold)
    resolve = linker.dictionary.resolve
    of_documents = [
        counts(document, predictions, resolve)
        for document, (_, predictions) in zip(documents, annotated, strict=True)
    ]
    columns = [f"{measure}_{kind}" for measure in MEASURES for kind in _COUNTED]
    rows: list[Row] = [
        {"document_id": document.id} | dict(zip(columns, map(str, of_one.flat), strict=True))
        for document, of_one in zip(documents, of_documents, strict=True)
    ]
    return summary(of_documents), rows


def summary(of_documents: Sequence[NDArray[np.int64]]) -> dict[str, Any]:
    """Precision, recall and F1 of each measure, with 95% bootstrap intervals over documents.

    Args:
        of_documents: the `counts` of the documents, at least one.
    """
    counted = np.stack(of_documents)
    record: dict[str, Any] = {"n": len(counted)}
    times = metrics.resampled(np.random.default_rng(0), len(counted), _SAMPLES)
    for column, measure in enumerate(MEASURES):
        right, predicted, annotated = sums = counted[:, column].sum(0).tolist()
        samples = times @ counted[:, column]
        f1 = 2 * samples[:, 0] / np.maximum(1, samples[:, 1] + samples[:, 2])
        record[measure] = {
            **dict(zip(_COUNTED, sums, strict=True)),
            "precision": round(right / max(1, predicted), 5),
            "recall": round(right / max(1, annotated), 5),
            "f1": round(2 * right / max(1, predicted + annotated), 5),
            "f1_interval": [round(bound, 5) for bound in metrics.interval(f1)],
        }
    return record


def table(record: Mapping[str, Any]) -> str:
    """A summary as aligned text."""
    rows = [["", "annotated", "predicted", "precision", "recall", "F1", "95% interval"]]
    for measure in MEASURES:
        of_one = record[measure]
        numbers = [str(of_one[name]) for name in ("annotated", "predicted")]
        shares = [decimals(of_one[name]) for name in ("precision", "recall", "f1")]
        interval = "{:.3f}-{:.3f}".format(*of_one["f1_interval"])
        rows.append([measure.replace("_", " + "), *numbers, *shares, interval])
    return aligned(rows)
