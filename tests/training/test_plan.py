"""Which encoder a request means, why, and what is refused."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from linker import registry
from linker.errors import UsageError
from linker.training.plan import make

needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "accelerate", "gensim")),
    reason="needs torch",
)


def asked(**request: Any) -> tuple[str, str]:
    """The encoder of a request, and why it is taken."""
    plan = make(**request)
    return plan.encoder, plan.reason


def test_who_says_nothing_gets_static_vectors() -> None:
    best = "static", "needs no download and no torch"
    assert asked() == best
    assert registry.BEST == "static"
    assert asked(changes=["training.seed=3"]) == best
    assert asked(changes=["sparse.ngram_max=3", "text.composites=false"]) == best
    assert asked(changes=["static.dim=64"]) == best
    assert asked(has_mentions=True, has_dev=True, refit=True) == best
    plan = make()
    assert plan.device == ""
    assert not plan.is_trained
    assert not plan.is_sparse


@needs_torch
def test_words_mean_dan() -> None:
    words = "dan", "it is made of word vectors"
    assert asked(has_words=True) == words
    plan = make(has_words=True)
    assert plan.is_trained
    assert plan.device


@needs_torch
def test_a_preset_names_its_encoder() -> None:
    for words in (False, True):
        assert asked(preset_name="paper-bne", has_words=words) == ("bne", "of the preset paper-bne")
    with pytest.raises(UsageError, match="--preset none: there is no preset 'none'"):
        asked(preset_name="none")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"changes": ["training.epochs=3"]}, "training.epochs=3: only an encoder with weights"),
        ({"resume": True}, "--resume: only an encoder with weights is trained, not static"),
        ({"encoder": "tfidf", "changes": ["training.device=cpu"]}, "tfidf makes nothing of the opti"),
        ({"encoder": "static", "has_words": True}, "--words is for encoders that are made of words"),
        ({"encoder": "tfidf", "model_name": "x"}, "--model-name is for --encoder transformer, not"),
        ({"changes": ["dan.hidden=3"]}, "the encoder static makes nothing of the options dan"),
        ({"changes": ["align.epochs=3"]}, "static makes nothing of the options align"),
        ({"preset_name": "paper-dan", "encoder": "static"}, "--preset paper-dan is for --encoder dan"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(**request_)
