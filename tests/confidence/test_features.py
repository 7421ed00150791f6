"""What a linker knows of an answer, worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linker import Dictionary
from linker.candidates.base import Ranked
from linker.confidence.features import NAMES, RISING, Features
from linker.text.normalize import normalize
from linker.types import Lookup, Mention, ReadingKind

ROWS = (
    "id\tname\tsynonyms\nA:1\tBreast Cancer\tMammary carcinoma\nA:2\tCancer\tBreast cancer\n"
    "A:3\tColitis\t\n"
)


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    (tmp_path / "d.tsv").write_text(ROWS)
    return Dictionary.read(tmp_path / "d.tsv").add([("breast tumour", ["A:1"])] * 3, normalize)


def ranked(dictionary: Dictionary, *answers: tuple[str, str, float, float, float]) -> Ranked:
    """A ranking of (name, id, score, sparse, dense)."""
    texts = list(dictionary.table(normalize).texts)
    ids = list(dictionary.ids)
    entries = [
        next(
            row
            for row, text in enumerate(dictionary.names)
            if normalize(text) == name and ids[int(dictionary.name_concept[row])] == concept
        )
        for name, concept, *_ in answers
    ]
    columns = [np.array([answer[i] for answer in answers], np.float32) for i in (2, 3, 4)]
    return Ranked(
        np.array([texts.index(name) for name, *_ in answers], np.int32),
        np.array([ids.index(concept) for _, concept, *_ in answers], np.int32),
        np.array(entries, np.int32),
        *columns,
    )


def features(
    dictionary: Dictionary,
    lookup: Lookup,
    ranking: Ranked,
    kind: ReadingKind = "whole",
    **others: Any,
) -> dict[str, float]:
    maker = Features(dictionary, dictionary.table(normalize), {"nothing": 7})
    given = {"usual": True, "agrees": False} | others
    values = maker.of_answer(lookup, ranking, kind, given["usual"], given["agrees"])
    return dict(zip(NAMES, map(float, values), strict=True))


def test_an_ambiguous_exact_name(dictionary: Dictionary) -> None:
    ranking = ranked(
        dictionary,
        ("breast cancer", "A:1", 1.5, 1.0, 1.0),
        ("breast cancer", "A:2", 1.5, 1.0, 1.0),
        ("colitis", "A:3", 0.25, 0.5, 0.0),
    )
    lookup = Lookup(Mention("Breast Cancer"), "Breast Cancer", None, "breast cancer")
    expected = dict.fromkeys(NAMES, 0.0) | {
        **{"score": 1.5, "margin": 0.0, "sparse": 1.0, "dense": 1.0},
        **{"sparse_lead": 0.0, "dense_lead": 0.0, "exact": 1.0, "preferred": 1.0},
        **{"meanings": math.log(2), "letters": math.log(14), "words": 2.0},
        **{"of_mention": 1.0, "of_name": 1.0, "usual": 1.0},
    }
    assert features(dictionary, lookup, ranking) == pytest.approx(expected)


def test_characters_and_vectors_that_disagree(dictionary: Dictionary) -> None:
    ranking = ranked(
        dictionary,
        ("mammary carcinoma", "A:1", 0.9, 0.2, 0.8),
        ("cancer", "A:2", 0.85, 0.6, 0.55),
    )
    lookup = Lookup(
        Mention("MC"), "MC", "carcinoma of breast and skin", "carcinoma of breast and skin"
    )
    values = features(dictionary, lookup, ranking, "expanded", usual=False, agrees=True)
    assert values["margin"] == pytest.approx(0.05)
    assert values["sparse_lead"] == pytest.approx(-0.4)
    assert values["dense_lead"] == pytest.approx(0.25)
    assert values["of_mention"] == pytest.approx(1 / 5)
    assert values["of_name"] == pytest.approx(1 / 2)
    assert [values[name] for name in ("exact", "preferred", "usual")] == [0, 0, 0]
    assert [values[name] for name in ("expanded", "short_form", "coordinated", "agreement")] == [
        1
    ] * 4


def test_what_annotators_said(dictionary: Dictionary) -> None:
    ranking = ranked(dictionary, ("breast tumour", "A:1", 1.0, 1.0, 0.0))
    values = features(dictionary, Lookup.of("breast tumour"), ranking)
    assert values["training"] == 1
    assert values["annotated"] == pytest.approx(math.log(4))
    assert values["margin"] == 1  # there is no second concept
    nothing = features(dictionary, Lookup.of("nothing"), ranking)
    assert nothing["without_concept"] == pytest.approx(math.log(8))


def test_a_shortened_mention(dictionary: Dictionary) -> None:
    ranking = ranked(dictionary, ("colitis", "A:3", 1.0, 1.0, 0.0))
    lookup = Lookup(Mention("acute or chronic colitis"), "colitis", None, "colitis")
    values = features(dictionary, lookup, ranking, "shortened")
    assert (values["dropped"], values["coordinated"], values["exact"]) == (3, 1, 1)
    split = features(dictionary, lookup, ranking, "split")
    assert (split["dropped"], split["coordinated"]) == (0, 0)


def test_what_only_rises_is_a_feature() -> None:
    assert set(RISING) < set(NAMES)
    assert len(set(NAMES)) == len(NAMES)
