"""Self-alignment, against its formula worked out pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("torch")

from linker import Dictionary
from linker.training import align

from . import small
from .small import Letters, a_setup, data_of, fit, mean

pytestmark = pytest.mark.usefixtures("one_thread")


def slow_alignment(
    encoder: Letters, dictionary: Dictionary, pairs: Sequence[tuple[str, str]], temperature: float
) -> float:
    means: dict[str, set[int]] = {}  # names that share a concept are no negatives
    for concept in range(len(dictionary)):
        for row in dictionary.name_rows(concept):
            means.setdefault(dictionary.names[row], set()).add(concept)
    vectors = {
        text: row.astype(np.float64)
        for text, row in zip(dictionary.names, encoder.encode(dictionary.names), strict=True)
    }

    def cosine(a: str, b: str) -> float:
        return (
            float(vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b]))
            / temperature
        )

    both = []
    for left, right in pairs:
        for anchor, partner, others in (
            (left, right, [b for _, b in pairs]),
            (right, left, [a for a, _ in pairs]),
        ):
            own = math.exp(cosine(anchor, partner))
            rest = [math.exp(cosine(anchor, o)) for o in others if not means[anchor] & means[o]]
            both.append(-math.log(own / (own + sum(rest))))
    return mean(both)


@pytest.mark.parametrize("hard", [True, False])
def test_the_loss_of_alignment_is_that_of_the_formula(
    dictionary: Dictionary, hard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, encoder = data_of(dictionary, None), Letters(normalize=False)
    drawn = align.synonym_pairs(data.table, 0, 1)
    texts = data.table.texts
    pairs = [(texts[a], texts[b]) for a, b in drawn]
    expected = slow_alignment(encoder, dictionary, pairs, 0.2)
    monkeypatch.setattr(Letters, "hard_negatives", hard)
    monkeypatch.setattr(Letters, "align_temperature", 0.2)
    monkeypatch.setattr(small, "ALIGN_BATCH", 100)
    setup = a_setup(align=1, epochs=0)
    _, history = fit(encoder, data, setup)
    assert history[0]["loss"] == pytest.approx(expected, rel=1e-5)
    assert [(record["phase"], record["epoch"]) for record in history] == [("align", 1)]


def test_alignment_leaves_lambda_alone_and_draws_synonyms_together(dictionary: Dictionary) -> None:
    data, encoder = data_of(dictionary, None), Letters()
    pairs = align.synonym_pairs(data.table, 0, 1)
    texts = list(data.table.texts)

    def cosines() -> float:
        vectors = encoder.encode(texts)
        return float((vectors[pairs[:, 0]] * vectors[pairs[:, 1]]).sum(1).mean())

    before = cosines()
    generator, history = fit(encoder, data, a_setup(align=8, epochs=0, sparse_weight=0.25))
    assert generator.sparse_weight == 0.25 / 20
    assert cosines() > before + 0.1
    assert history[-1]["loss"] < history[0]["loss"]
