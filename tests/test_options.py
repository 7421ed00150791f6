"""Options by name, as texts and as values, and back from a saved model."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from linker import registry
from linker.encoders.tfidf import TfidfOptions
from linker.errors import LinkerError
from linker.options import (
    PRESETS,
    LinkerOptions,
    TextOptions,
    as_saved,
    changed,
    for_encoder,
    preset,
    preset_encoder,
    presets,
    reads,
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
    message = "there is no preset 'x'; choose one of: default, paper-biosyn"
    with pytest.raises(LinkerError, match=message):
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


GROUPS = (
    "normalize, text, sparse, encoder, words, align, ground, training, index, "
    "or the name of an encoder"
)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dense": {"x": 1}}, "there is no option group 'dense'; choose one of: " + GROUPS),
        ({"sparse": 3}, "there is no option group 'sparse'; choose one of: " + GROUPS),
        ({"sparse": {"x": 1}}, "there is no option sparse.x; sparse has: analyzer, ngram_min, ngr"),
        (
            {"align": {"temperature": 0.1}},
            "there is no option align.temperature; align has: epochs",
        ),
        ({"sparse": {"ngram_min": 3}}, "sparse.ngram_min 3 and ngram_max 2: 1 <= ngram_min <="),
    ],
)
def test_wrong_options_say_what_is_right(
    values: dict[str, dict[str, object]], message: str
) -> None:
    with pytest.raises(LinkerError, match=f"^{re.escape(message)}"):
        changed(PLAIN, values)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("sparse.analyzer", "word", "'char' or 'char_wb'"),
        ("training.loss", "cosine", "'listwise' or 'marginal'"),
        *(("sparse.sublinear", value, "true or false") for value in ("maybe", "", 0.5, None)),
        *(
            ("sparse.ngram_max", value, "a whole number")
            for value in ("3e0", True, "", "two", 2.5, math.inf, None, [2])
        ),
        ("sparse.ngram_min", 0, "greater than or equal to 1"),
        ("sparse.ngram_max", 100_000_000, "less than or equal to 30"),
        ("sparse.ngram_max", "9" * 4000, "less than or equal to 30"),
        ("ground.level", 10**9, "less than or equal to 100"),
        ("training.dense_ratio", -1, "greater than or equal to 0"),
        ("training.dense_ratio", "nan", "less than or equal to 1"),
        ("training.dense_ratio", "x", "a number"),
        ("training.learning_rate", 0, "greater than 0"),
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


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(LinkerError, match=r"^sparse.ngram_max is '0x10{70}.*: a whole number$"):
        changed(PLAIN, {"sparse": {"ngram_max": 16**5000}})


# --------------------------------------------------------------------------------------------------- the options of an encoder


@pytest.fixture
def torch() -> None:
    """Skip where dense encoders cannot be imported."""
    for package in ("torch", "transformers"):
        pytest.importorskip(package)


def test_defaults_of_an_encoder(torch: None) -> None:
    dan = preset("default", "dan")
    assert (dan.align.epochs, dan.words.min_count) == (0, 1)
    assert dan.encoder == registry.load("dan").Options()
    assert preset("paper-dan", "dan") == preset("paper-dan")
    assert preset("default", "bne-words").encoder.characters is False
    transformer = registry.load("transformer").Options()
    assert preset("default", "transformer") == LinkerOptions(encoder=transformer)


def test_presets_know_their_encoder(torch: None) -> None:
    biosyn = registry.load("transformer").Options(pooling="cls", normalize=False)
    assert preset("paper-biosyn").encoder == biosyn
    assert preset("paper-biosyn", "tfidf").encoder is None
    assert preset("paper-biosyn", "dan").encoder == registry.load("dan").Options()
    own = ("dan", "dan-higher", "fewshot", "bne", "bne-words")
    ours = {"default": "", **{f"paper-{name}": name for name in own}}
    ours |= {"paper-biosyn": "transformer", "paper-bcnh": "transformer"}
    assert ours.items() <= presets().items()
    assert {name: preset_encoder(name) for name in presets()} == presets()
    with pytest.raises(LinkerError, match=r"^the preset paper-dan is for the encoder dan, not tr"):
        preset("paper-dan", "transformer")


@pytest.mark.parametrize("group", ["dan", "dan-higher", "encoder"])
def test_every_name_of_an_encoder_and_the_word_encoder_mean_its_options(
    torch: None, group: str
) -> None:
    for name in ("dan", "dan-higher"):
        options = changed(preset("default", name), {group: {"hidden": "7"}}, name)
        assert options.encoder == registry.load("dan").Options(hidden=7)


def test_options_of_other_encoders_are_passed_over(torch: None) -> None:
    tables = {"bne": {"hidden": 7}, "tfidf": {"x": 1}, "dan": {"hidden": 8}}
    for name in ("dan", ""):
        options = changed(preset("default", "dan"), tables, name)
        assert options.encoder == registry.load("dan").Options(hidden=8)
    del tables["tfidf"]
    assert changed(LinkerOptions(), tables, "tfidf") == LinkerOptions()


def test_the_first_group_of_an_encoder_chooses_it(torch: None) -> None:
    assert changed(LinkerOptions(), {"dan": {"hidden": 8}}).encoder.hidden == 8
    bne = preset("default", "bne")
    too_large = "^bne.hidden is 2001; expected: 1 to 2000, or bne.characters=false$"
    for options, values, message in (
        (LinkerOptions(), {"tfidf": {"x": 1}}, "^the encoder tfidf has no options of its own$"),
        (LinkerOptions(), {"encoder": {"x": 1}}, "^the options encoder are of no encoder yet; "),
        (bne, {"encoder": {"hidden": 2001}}, too_large),
        (bne, {"bne": {"depth": 1}}, "^there is no option bne.depth; bne has: characters, "),
    ):
        with pytest.raises(LinkerError, match=message):
            changed(options, values)


def test_an_encoder_refuses_the_options_of_another(torch: None) -> None:
    dan = preset("default", "dan")
    kinds = {name: registry.load(name) for name in ("tfidf", "dan", "bne")}
    assert for_encoder(dan, kinds["dan"]) is dan
    assert for_encoder(dan, kinds["tfidf"]).encoder is None
    assert for_encoder(LinkerOptions(), kinds["bne"]).encoder == kinds["bne"].Options()
    message = r"^the options of the encoder are DanOptions, and BneEncoder has BneOptions; "
    with pytest.raises(LinkerError, match=message):
        for_encoder(dan, kinds["bne"])


@pytest.mark.parametrize(
    ("encoder", "unread"),
    [
        ("tfidf", {"encoder", "dan", "transformer", "words", "align", "ground", "training"}),
        ("transformer", {"dan", "dan-higher", "bne", "words", "ground"}),
        ("dan-higher", {"transformer", "fewshot", "bne-words"}),
        ("bne", {"transformer", "dan"}),
    ],
)
def test_which_options_are_read(torch: None, encoder: str, unread: set[str]) -> None:
    options = preset("default", encoder)
    groups = {"normalize", "sparse", "encoder", "words", "align", "ground", "training", "none"}
    groups |= {*registry.ENCODERS} - {"tfidf"}
    assert {group for group in unread if reads(group, encoder, options)} == set()
    own = {
        name for name in groups if registry.options_group(name) == registry.options_group(encoder)
    }
    rest = {"normalize", "sparse", "none"} | own
    assert {group for group in rest if not reads(group, encoder, options)} == set()


def test_a_field_that_is_not_there_is_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError, match=r"^sparse.depth is 3; expected: no option of this name"):
        TfidfOptions(depth=3)  # type: ignore[call-arg]


# ------------------------------------------------------------------------------------------------------ every numeric option


@pytest.fixture(scope="module")
def attack() -> Any:
    """The module of the attacks on options."""
    spec = importlib.util.spec_from_file_location(
        "attack_options", Path(__file__).parents[1] / "benchmarks" / "attacks" / "options.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_number_has_a_range_and_a_value_in_it(attack: Any) -> None:
    ranges = attack.numeric()
    assert {"sparse.ngram_max", "words.dim", "training.seed"} <= set(ranges)
    for name, encoder in presets().items():
        options = preset(name, encoder)
        for option, limits in ranges.items():
            group, _, field = option.partition(".")
            if group in registry.ENCODERS:
                if group != registry.options_group(encoder):
                    continue
                group = "encoder"
            value = getattr(getattr(options, group), field)
            assert limits.get("ge", limits.get("gt")) <= value <= limits["le"], option
            assert value > limits.get("gt", -math.inf), option


def test_what_nobody_means_is_refused_everywhere_by_the_name_of_the_option(attack: Any) -> None:
    refused = {case: attack.read(*case) for case in attack.cases()}
    for (option, value), said in refused.items():
        # by --set, TOML and JSON alike
        assert len({bool(refusal) for refusal in said}) == 1, (option, value, said)
        assert all(option in refusal for refusal in said if refusal), (option, value, said)
    never = ("nan", "inf", "-inf", "1e400", "100000000000000000000", "many")
    assert [case for case, said in refused.items() if case[1] in never and not all(said)] == []


COSTLY = "sparse.ngram_max ground.level training.top_k"


@pytest.mark.parametrize("option", COSTLY.split())
def test_the_upper_end_of_a_range_trains_a_tiny_dictionary(attack: Any, option: str) -> None:
    """Those whose cost grew with the number; `benchmarks/attacks/options.py` tries all."""
    for package in ("torch", "transformers", "gensim"):
        pytest.importorskip(package)
    encoder = "tfidf" if option.startswith("sparse") else "dan"
    assert attack.trained(option, str(attack.numeric()[option]["le"]), encoder) is None


def test_a_model_keeps_the_options_of_its_encoder_by_its_name() -> None:
    options = preset("default", "dan-higher")
    saved = as_saved(options, "dan-higher")
    assert saved["dan"] == dataclasses.asdict(options.encoder)
    assert "encoder" not in saved
    assert restored(saved, "dan-higher") == options
    assert as_saved(LinkerOptions(), "tfidf").keys() == saved.keys() - {"dan"}
