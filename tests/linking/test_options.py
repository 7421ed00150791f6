"""Options by name, as texts and as values, and back from a saved model."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Callable
from functools import cache
from typing import get_type_hints

import click
import pytest

from linker.cli import options as cli_options
from linker.encoders import registry
from linker.encoders.tfidf import TfidfOptions
from linker.errors import LinkerError
from linker.linking.options import (
    PRESETS,
    LinkerOptions,
    TextOptions,
    as_saved,
    changed,
    preset,
    presets,
    restored,
)
from linker.text.normalize import NormalizeOptions

# whatever the defaults are
PLAIN = LinkerOptions(sparse=TfidfOptions("char", 1, 2, sublinear=False))


def test_presets() -> None:
    assert preset("default") == LinkerOptions()
    biosyn = preset("paper-biosyn", "tfidf")
    assert biosyn.sparse == TfidfOptions("char", 1, 2, sublinear=False)
    assert biosyn.text.biosyn
    assert biosyn.normalize == NormalizeOptions(punctuation="ascii", greek=False, accents=False)
    with pytest.raises(LinkerError):
        preset("x")


def test_texts_are_read_as_the_type_of_the_field() -> None:
    sparse = {"ngram_max": "3", "analyzer": "CHAR_WB", "sublinear": "true"}
    text = {"composites": False, "abbreviations": "False"}
    new = changed(PLAIN, {"sparse": sparse, "text": text})
    assert new.sparse == TfidfOptions("char_wb", 1, 3, sublinear=True)
    assert new.text == TextOptions(composites=False, abbreviations=False)
    assert new.normalize == LinkerOptions().normalize
    both = changed(PLAIN, {"sparse": {"ngram_min": 4, "ngram_max": 5}})  # checked together
    assert both.sparse == TfidfOptions("char", 4, 5, sublinear=False)


@pytest.mark.parametrize(
    "options",
    [
        *(preset(name, "tfidf") for name in PRESETS),
        LinkerOptions(sparse=TfidfOptions("char_wb", 3, 6, sublinear=True)),
    ],
)
def test_saved_options_come_back(options: LinkerOptions) -> None:
    assert restored(json.loads(json.dumps(as_saved(options, "tfidf"))), "tfidf") == options


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"dense": {"x": 1}}, "'dense'"),
        ({"sparse": 3}, "'sparse'"),
        ({"sparse": {"x": 1}}, "sparse.x"),
        ({"sparse": {"ngram_min": 3}}, "sparse.ngram_min 3"),
    ],
)
def test_wrong_options_are_named(values: dict[str, dict[str, object]], named: str) -> None:
    with pytest.raises(LinkerError, match=named):
        changed(PLAIN, values)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("sparse.analyzer", "word", "'char' or 'char_wb'"),
        ("training.loss", "cosine", "'listwise' or 'marginal'"),
        *(("sparse.sublinear", value, "true or false") for value in ("maybe", "", 0.5, None)),
        *(("sparse.ngram_max", v, "a whole number") for v in (True, "", 2.5, None)),
        ("sparse.ngram_max", "9" * 4000, "less than or equal to 30"),
        ("training.dense_ratio", "x", "a number"),
    ],
)
def test_a_wrong_value_is_named_with_its_option_and_what_is_expected(
    option: str, value: object, expected: str
) -> None:
    group, _, field = option.partition(".")
    with pytest.raises(LinkerError) as caught:
        changed(PLAIN, {group: {field: value}})
    said, _, wanted = str(caught.value).partition("; expected: ")
    assert said.startswith(f"{option} is '{str(value)[:70]}")
    assert wanted == expected
    assert len(said) < 120


def test_the_options_of_two_encoders_are_kept_apart_and_saved() -> None:
    pytest.importorskip("torch")
    start = preset("default", "static,transformer")
    values = {"static": {"dim": 64}, "transformer": {"max_length": 9}}
    options = changed(start, values, "static,transformer")
    assert (options.encoder.dim, options.second.max_length) == (64, 9)
    saved = as_saved(options, "static,transformer")
    assert saved["static"]["dim"], saved["transformer"]["max_length"] == (64, 9)
    assert restored(json.loads(json.dumps(saved)), "static,transformer") == options
    assert preset("default", "static").second is None


# ------------------------------------------------------------------------------ every numeric option


VALUES = ("0", "-1", "nan", "inf", "-inf", "1000000000", "100000000000000000000", "1e400", "many")
NEVER = {"nan", "inf", "-inf", "1e400", "100000000000000000000", "many"}
COMPANIONS = {  # what makes an option count
    "bne.hidden": "bne.characters=false",
    "sparse.ngram_max": "sparse.ngram_min=1",
    "sparse.ngram_min": "sparse.ngram_max=3",
}


@cache
def numeric() -> dict[str, dict[str, float]]:
    """All options that are numbers, as "group.field", with the ends of their ranges."""
    records = get_type_hints(LinkerOptions)
    del records["encoder"], records["second"], records["recipe"]
    for encoder in registry.ENCODERS:
        with contextlib.suppress(LinkerError):  # what it needs is not installed
            if kind := getattr(registry.load(encoder), "Options", None):
                records[registry.options_group(encoder)] = kind
    found = {}
    for group, kind in records.items():
        hints = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            if get_type_hints(kind)[field.name] in (int, float):
                about = getattr(hints[field.name], "__metadata__", ())
                parts = [part for info in about for part in info.metadata]
                found[f"{group}.{field.name}"] = {
                    end: value
                    for end in ("ge", "gt", "le")
                    for part in parts
                    if (value := getattr(part, end, None)) is not None
                }
    return found


def refusals(option: str, value: str) -> list[str]:
    """What --set and a saved model (JSON) say of a value; empty where they take it."""
    group, _, field = option.partition(".")
    encoder = group if group in registry.ENCODERS else "transformer"
    companions = [COMPANIONS[option]] if option in COMPANIONS else []
    of_json = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "many": '"many"'}
    start = cli_options.training_options("default", cli_options.values_of(companions), encoder)
    saved = json.loads(f'{{"{group}": {{"{field}": {of_json.get(value, value)}}}}}')
    typed = cli_options.values_of([*companions, f"{option}={value}"])
    return [
        refusal(lambda: cli_options.training_options("default", typed, encoder)),
        refusal(lambda: changed(start, saved)),
    ]


def refusal(get: Callable[[], object]) -> str:
    try:
        get()
    except (LinkerError, click.UsageError) as error:
        return str(error)
    return ""


def test_every_number_has_a_range_and_a_value_in_it() -> None:
    assert {"sparse.ngram_max", "words.dim", "training.seed"} <= set(numeric())
    for name, encoder in presets().items():
        options = preset(name, encoder)
        for option, limits in numeric().items():
            group, _, field = option.partition(".")
            if group in registry.ENCODERS:
                if group != registry.options_group(encoder):
                    continue
                group = "encoder"
            value = getattr(getattr(options, group), field)
            assert limits.get("ge", limits.get("gt", 0)) <= value <= limits["le"], option
            assert value > limits.get("gt", -math.inf), option


@pytest.mark.parametrize("option", numeric())
def test_what_nobody_means_is_refused_everywhere_by_the_name_of_the_option(
    option: str,
) -> None:
    for value in VALUES:
        said = refusals(option, value)
        assert len({bool(one) for one in said}) == 1, (value, said)  # in all places alike
        assert all(option in one for one in said if one), (value, said)
        assert all(said) or value not in NEVER, value
