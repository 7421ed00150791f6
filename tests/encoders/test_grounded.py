"""What holds for every encoder that is made of word vectors; a new one needs a row in SMALL."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import load_file, save_file  # noqa: E402

from linker import registry  # noqa: E402
from linker.dictionary import Dictionary  # noqa: E402
from linker.encoders.grounded import GroundedEncoder  # noqa: E402
from linker.encoders.words import WordVectors  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.options import preset  # noqa: E402
from linker.text.normalize import normalize  # noqa: E402

SMALL: dict[str, Any] = {
    "dan": {"hidden": 5},
    "fewshot": {"hidden": 5},
    "bne": {"hidden": 4, "character_dim": 3},
}
ENCODERS = [name for name in registry.ENCODERS if issubclass(registry.load(name), GroundedEncoder)]
NAMES = [
    "breast cancer",
    "",
    "xyz",
    "the the the heart",
    "skin",
    "a " * 300,
    "ß" * 5000,
    "heart attack 😀",
]
LINES = [
    "D1||breast cancer|breast tumor|tumor of the breast",
    "D2||skin cancer|skin tumor",
    "D3||heart attack|pain of the heart",
]


@pytest.fixture
def words() -> WordVectors:
    vocabulary = sorted(
        {word for line in LINES for word in line.partition("||")[2].replace("|", " ").split()}
    )
    return WordVectors(
        vocabulary, np.random.default_rng(0).normal(size=(len(vocabulary), 3)).astype(np.float32)
    )


@pytest.fixture(params=ENCODERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(name: str, words: WordVectors | None, tmp_path: Path, seed: int = 0) -> GroundedEncoder:
    (tmp_path / "d.txt").write_text("\n".join(LINES) + "\n")
    table = Dictionary.read(tmp_path / "d.txt", format="biosyn").table(normalize)
    kind = registry.load(name)
    options = dataclasses.replace(getattr(preset("default", name), kind.group), **SMALL[kind.group])
    made: GroundedEncoder = kind.create(options, table, words, seed)
    return made


def test_alone_or_in_a_batch(name: str, words: WordVectors, tmp_path: Path) -> None:
    encoder = make(name, words, tmp_path).eval()
    together = encoder.encode(NAMES * 3)
    assert together.dtype == np.float32
    assert np.isfinite(together).all()
    np.testing.assert_allclose(
        together, np.concatenate([encoder.encode([text]) for text in NAMES * 3]), atol=1e-5
    )
    np.testing.assert_allclose(np.linalg.norm(together, axis=1)[0], 1, atol=1e-5)
    lengths = np.linalg.norm(encoder.encode(["xyz", "heart", "xyz heart"]), axis=1)
    np.testing.assert_allclose(
        lengths, [name == "bne", 1, 1], atol=1e-5
    )  # which reads the characters of unknown words
    assert encoder.pretrained(NAMES).shape == together[: len(NAMES)].shape


def test_a_gradient_for_any_name(name: str, words: WordVectors, tmp_path: Path) -> None:
    encoder = make(name, words, tmp_path)
    encoder.embed(NAMES).square().sum().add(encoder.embed(NAMES)[:, 0].sum()).backward()
    assert all(
        parameter.grad is not None and torch.isfinite(parameter.grad).all()
        for parameter in encoder.parameters()
    )
    groups = encoder.groups(0.1, 0.2)
    assert {parameter for group in groups for parameter in group["params"]} == {
        *encoder.parameters()
    }
    assert all(group["lr"] == 0.1 for group in groups)


def test_the_seed_decides(name: str, words: WordVectors, tmp_path: Path) -> None:
    one, same, other = (
        make(name, words, tmp_path, seed).eval().encode(["skin"]) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_saving_and_loading(name: str, words: WordVectors, tmp_path: Path) -> None:
    encoder = make(name, words, tmp_path).eval()
    encoder.save(tmp_path / "e")
    loaded = registry.load(name).load(tmp_path / "e")
    np.testing.assert_array_equal(loaded.encode(NAMES), encoder.encode(NAMES))
    assert loaded.options == encoder.options
    assert {path.suffix for path in (tmp_path / "e").rglob("*") if path.is_file()} == {
        ".npy",
        ".json",
        ".safetensors",
    }


@pytest.mark.parametrize("change", ["weights", "options", "nan", "missing"])
def test_a_folder_that_was_changed(
    name: str, words: WordVectors, tmp_path: Path, change: str
) -> None:
    folder = tmp_path / "e"
    make(name, words, tmp_path).save(folder)
    weights = folder / "weights.safetensors"
    if change == "weights":
        weights.write_bytes(b"no")
    elif change == "options":
        (folder / "options.json").write_text(json.dumps({"depth": 3}))
    elif change == "nan":
        save_file(
            {key: tensor * float("nan") for key, tensor in load_file(weights).items()}, weights
        )
    else:
        weights.unlink()
    with pytest.raises(LinkerError, match="train again"):
        registry.load(name).load(folder)


def test_without_word_vectors(name: str, tmp_path: Path) -> None:
    with pytest.raises(LinkerError, match="name some with --words"):
        make(name, None, tmp_path)
