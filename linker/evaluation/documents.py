"""Protocol `document`: mentions found in the texts of documents, against the annotated ones."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from linker import files, matching
from linker.errors import LinkerError
from linker.linking.documents import Annotator
from linker.linking.linker import Linker
from linker.matching import Resolve
from linker.outputs.tsv import row_writer
from linker.types import Document, Mention, Prediction

MEASURES = {
    "span": "mentions with exactly the annotated spans",
    "span_concept": "such mentions whose concepts are right by the protocol strict",
    "concept": "concepts of documents, each counted once a document",
}
_SAMPLES = 2000  # of documents, for the intervals
_LEVEL = 0.95

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """The result for one document."""

    id: str
    counts: Counts  # (measures, 3): right, predicted and annotated

    @classmethod
    def of(
        cls, document: Document, predictions: Sequence[Prediction], resolve: Resolve
    ) -> DocumentOutcome:
        """Compare what was predicted for a document with its annotated mentions.

        Args:
            document: with its annotated mentions.
            predictions: of the mentions that were found.
            resolve: maps an annotated id to current ids.
        """
        gold = {mention.spans: mention for mention in document.mentions if mention.spans}
        predicted = {prediction.mention.spans: prediction for prediction in predictions}
        both = gold.keys() & predicted.keys()
        linked = [spans for spans in both if _is_right(predicted[spans], gold[spans], resolve)]
        needed = list(_concepts(gold.values(), resolve))
        answers = {
            part.best.concept_id
            for prediction in predictions
            for part in prediction.parts
            if part.best
        }
        named = [concept for concept in needed if not concept.isdisjoint(answers)]
        counts = [
            (len(both), len(predicted), len(gold)),
            (len(linked), len(predicted), len(gold)),
            (len(named), len(named) + len(answers - frozenset().union(*needed)), len(needed)),
        ]
        return cls(document.id, np.array(counts))


def _is_right(prediction: Prediction, mention: Mention, resolve: Resolve) -> bool:
    """Whether a mention has the right concepts; one that is not annotated has none to be right."""
    if mention.gold is None:
        return False
    ids = [[c.concept_id for c in part.returned] for part in prediction.parts]
    return matching.strict_rank(ids, mention.gold, resolve) == 1


def _concepts(mentions: Iterable[Mention], resolve: Resolve) -> Iterator[frozenset[str]]:
    """The concepts that mentions are annotated with, each as the ids that are right for it."""
    groups = {group for mention in mentions for group in mention.gold or ()}
    ids = {identifier for group in groups for identifier in group.ids}
    yield from {resolve(identifier) for identifier in ids}


def evaluate(
    linker: Linker, items: Iterable[Mention | Document], threshold: float | None = None
) -> list[DocumentOutcome]:
    """Annotate documents without looking at their mentions, and compare.

    Args:
        linker: the model.
        items: documents with annotated mentions.
        threshold: see `Annotator.annotate`.

    Raises:
        LinkerError: there are none, or one has no text, or a mention has no document.
    """
    documents = list(_documents(items))
    bare = (dataclasses.replace(document, mentions=()) for document in documents)
    annotated = Annotator(linker).annotate(bare, k=1, threshold=threshold)
    resolve = linker.dictionary.resolve
    return [
        DocumentOutcome.of(document, predictions, resolve)
        for document, (_, predictions) in zip(documents, annotated, strict=True)
    ]


def _documents(items: Iterable[Mention | Document]) -> Iterator[Document]:
    """The items, which are documents with texts and some annotated mentions."""
    annotated = 0
    for item in items:
        if not isinstance(item, Document) or (item.mentions and not item.passages):
            raise LinkerError(
                "the protocol document needs texts with their annotated mentions; "
                "give PubTator or BioC"
            )
        annotated += len(item.mentions)
        yield item
    if not annotated:
        raise LinkerError("the documents have no annotated mentions to compare with")


def summary(results: Sequence[DocumentOutcome], seed: int = 0) -> dict[str, Any]:
    """Precision, recall and F1 of each measure, with 95% bootstrap intervals over documents.

    Args:
        results: of the documents, at least one.
        seed: of the samples.
    """
    counts = np.stack([result.counts for result in results])
    record: dict[str, Any] = {"n": len(results)}
    generator = np.random.default_rng(seed)
    chosen = generator.integers(len(results), size=(_SAMPLES, len(results)))
    times = np.stack([np.bincount(sample, minlength=len(results)) for sample in chosen])
    for at, measure in enumerate(MEASURES):
        of_one = counts[:, at]
        right, predicted, annotated = of_one.sum(0).tolist()
        bounds = np.quantile(_f1(*(times @ of_one).T), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        record[measure] = {
            "right": right,
            "predicted": predicted,
            "annotated": annotated,
            "precision": round(right / max(1, predicted), 5),
            "recall": round(right / max(1, annotated), 5),
            "f1": round(2 * right / max(1, predicted + annotated), 5),
            "f1_interval": [round(float(bound), 5) for bound in bounds],
        }
    return record


def _f1(right: Counts, predicted: Counts, annotated: Counts) -> NDArray[np.float64]:
    values: NDArray[np.float64] = 2 * right / np.maximum(1, predicted + annotated)
    return values


def table(record: Mapping[str, Any]) -> str:
    """A summary as aligned text."""
    rows = []
    for measure in MEASURES:
        of_one = record[measure]
        low, high = of_one["f1_interval"]
        shares = (f"{of_one[name]:.4f}" for name in ("precision", "recall", "f1"))
        interval = f"{low:.3f}-{high:.3f}"
        name = measure.replace("_", " + ")
        rows.append([name, str(of_one["annotated"]), str(of_one["predicted"]), *shares, interval])
    head = ["", "annotated", "predicted", "precision", "recall", "F1", "95% interval"]
    return tabulate([head, *rows], tablefmt="plain", disable_numparse=True)


def write(folder: Path, record: Mapping[str, Any], results: Sequence[DocumentOutcome]) -> None:
    """Write metrics.json, and documents.tsv with the counts of each document, into a folder."""
    with files.write_aside(folder / "metrics.json") as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    with files.write_aside(folder / "documents.tsv") as file:
        write_row = row_writer(file)
        counted = ("right", "predicted", "annotated")
        write_row(["document_id", *(f"{m}_{c}" for m in MEASURES for c in counted)])
        for result in results:
            write_row([result.id, *map(str, result.counts.ravel().tolist())])
