"""Options by name, as texts and as values, and back from a saved model."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from linker.encoders.tfidf import TfidfOptions
from linker.errors import LinkerError
from linker.options import PRESETS, LinkerOptions, TextOptions, changed, preset
from linker.text.normalize import NormalizeOptions

PLAIN = LinkerOptions(sparse=TfidfOptions("char", 1, 2, sublinear=False))  # whatever the defaults are


def test_presets() -> None:
    assert preset("default") == LinkerOptions()
    biosyn = preset("paper-biosyn")
    assert biosyn.sparse == TfidfOptions("char", 1, 2, sublinear=False)
    assert biosyn.text.training_composites == "join"
    assert biosyn.normalize == NormalizeOptions(punctuation="ascii", greek=False, dashes=False, ligatures=False, accents=False)
    with pytest.raises(LinkerError, match="there is no preset 'x'; choose one of: default, paper-biosyn"):
        preset("x")


def test_texts_are_read_as_the_type_of_the_field() -> None:
    new = changed(
        PLAIN,
        {"sparse": {"ngram_max": "3", "analyzer": "CHAR_WB", "sublinear": "true"}, "text": {"composites": False, "abbreviations": "False"}},
    )
    assert new.sparse == TfidfOptions("char_wb", 1, 3, sublinear=True)
    assert new.text == TextOptions(composites=False, abbreviations=False)
    assert new.normalize == LinkerOptions().normalize


def test_options_of_a_group_are_checked_together() -> None:
    assert changed(PLAIN, {"sparse": {"ngram_min": 4, "ngram_max": 5}}).sparse == TfidfOptions("char", 4, 5, sublinear=False)


@pytest.mark.parametrize("options", [*PRESETS.values(), LinkerOptions(sparse=TfidfOptions("char_wb", 3, 6, sublinear=True))])
def test_saved_options_come_back(options: LinkerOptions) -> None:
    assert changed(LinkerOptions(), json.loads(json.dumps(dataclasses.asdict(options)))) == options


GROUPS = "normalize, text, sparse, transformer, words, dan, fewshot, bne, align, ground, training, rerank"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dense": {"x": 1}}, "there is no option group 'dense'; choose one of: " + GROUPS),
        (
            {"__class__": {"x": 1}},
            "there is no option group '__class__'; choose one of: " + GROUPS,
        ),
        ({"sparse": 3}, "there is no option group 'sparse'; choose one of: " + GROUPS),
        ({"sparse": {"x": 1}}, "there is no option sparse.x; sparse has: analyzer, ngram_min, ngram_max, sublinear"),
        ({"sparse": {"analyzer": "word"}}, "sparse.analyzer is 'word'; choose one of: char, char_wb"),
        ({"sparse": {"sublinear": "maybe"}}, "sparse.sublinear is 'maybe'; choose one of: true, false"),
        ({"sparse": {"ngram_max": "two"}}, "sparse.ngram_max is 'two'; expected: a whole number"),
        ({"sparse": {"ngram_max": 2.5}}, "sparse.ngram_max is 2.5; expected: a whole number"),
        ({"sparse": {"ngram_max": float("inf")}}, "sparse.ngram_max is inf; expected: a whole number"),
        ({"sparse": {"ngram_max": None}}, "sparse.ngram_max is None; expected: a whole number"),
        ({"sparse": {"ngram_max": [2]}}, "sparse.ngram_max is [2]; expected: a whole number"),
        ({"ground": {"loss": "cosine"}}, "ground.loss is 'cosine'; choose one of: contrast, triplet, logistic"),
        ({"ground": {"batch_size": 1}}, "ground.batch_size is 1; expected: 2 or more"),
        ({"sparse": {"ngram_min": 0}}, "sparse.ngram_min is 0; expected: 1 or more"),
        ({"sparse": {"ngram_min": 3}}, "sparse.ngram_min 3 and ngram_max 2: 1 <= ngram_min <= ngram_max is wanted"),
    ],
)
def test_wrong_options_say_what_is_right(values: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(LinkerError, match=f"^{re.escape(message)}$"):
        changed(PLAIN, values)


def test_defaults_of_an_encoder() -> None:
    assert preset("default") == preset("default", "transformer") == LinkerOptions()
    dan = preset("default", "dan")
    assert (dan.align.epochs, dan.words.min_count) == (0, 1)
    assert preset("paper-dan", "dan") == preset("paper-dan")
