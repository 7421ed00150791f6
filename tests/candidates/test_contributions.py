"""What n-grams and words give to scores, against products by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary, Linker
from linker.candidates.hybrid import Contributions, HybridGenerator

TEXT = "atxia telangiectasia"


@pytest.fixture(scope="module")
def hybrid(sample: Path) -> HybridGenerator:
    generator = Linker.train(Dictionary.read(sample), encoder="static").generator
    assert isinstance(generator, HybridGenerator)
    return generator


@pytest.fixture(scope="module")
def row(hybrid: HybridGenerator) -> int:
    return list(hybrid.table.texts).index("ataxia telangiectasia")


def weights(hybrid: HybridGenerator, text: str) -> dict[str, float]:
    encoder = hybrid.sparse.encoder
    vector = encoder.encode([text])
    return dict(zip(encoder.terms(vector.indices), vector.data.tolist(), strict=True))


def test_ngrams_are_the_products_of_the_weights(hybrid: HybridGenerator, row: int) -> None:
    ours, theirs = weights(hybrid, TEXT), weights(hybrid, "ataxia telangiectasia")
    shares = Contributions(hybrid, TEXT).ngrams(row)
    expected = {text: ours[text] * theirs[text] for text in ours.keys() & theirs.keys()}
    assert {share.text: share.value for share in shares} == pytest.approx(expected, abs=1e-5)
    values = [share.value for share in shares]
    assert values == sorted(values, reverse=True)
    assert Contributions(hybrid.sparse, TEXT).ngrams(row) == shares


def test_unmatched_ngrams_are_those_that_only_the_name_has(
    hybrid: HybridGenerator, row: int
) -> None:
    theirs = weights(hybrid, "ataxia telangiectasia")
    shares = Contributions(hybrid, TEXT).unmatched(row)
    expected = {text: theirs[text] ** 2 for text in ("ata", "tax", "axi")}
    assert {share.text: share.value for share in shares} == pytest.approx(expected, abs=1e-5)


def test_words_are_left_out_one_by_one(hybrid: HybridGenerator, row: int) -> None:
    name = hybrid.vectors[row].astype(np.float32)
    whole, first, second = (
        float(vector @ name) for vector in hybrid.encoder.encode([TEXT, "atxia", "telangiectasia"])
    )
    shares = Contributions(hybrid, TEXT).words(row)
    assert {share.text: share.value for share in shares} == pytest.approx(
        {"atxia": whole - second, "telangiectasia": whole - first}, abs=1e-4
    )
    (only,) = Contributions(hybrid, "atxia").words(row)
    assert (only.text, only.value) == ("atxia", pytest.approx(first, abs=1e-4))


@pytest.mark.parametrize("text", ["", "word " * 41])
def test_without_words_or_with_very_many_there_are_none(
    hybrid: HybridGenerator, row: int, text: str
) -> None:
    assert Contributions(hybrid, text).words(row) == []
    assert Contributions(hybrid.sparse, "two words").words(row) == []


def test_within_a_part_of_the_dictionary_the_rows_are_those_of_the_part(
    hybrid: HybridGenerator, row: int
) -> None:
    concepts = np.zeros(int(hybrid.table.concepts.max()) + 1, bool)
    concepts[hybrid.table.concepts_of(row)] = True
    part = hybrid.among(concepts)
    place = list(part.table.texts).index("ataxia telangiectasia")
    ours, theirs = Contributions(part, TEXT), Contributions(hybrid, TEXT)
    assert place != row
    assert ours.words(place) == theirs.words(row)
    assert ours.ngrams(place) == theirs.ngrams(row)
