"""Saved folders that somebody damaged and signed again, so that every checksum is right."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linker import Dictionary, Linker, files, persistence
from linker.options import changed, preset

from . import seeds
from .core import Attack, Failed
from .mutate import NESTED, NUMBERS, mutated, other
from .mutate import changed as changed_json

_MARKER = "code-was-run"
_QUICK = {  # a training of a dan or a transformer that takes a second
    "words": {"dim": 8, "min_count": 1, "epochs": 1, "buckets": 50},
    "dan": {"hidden": 8},
    "ground": {"epochs": 1, "held_out": 2, "batch_size": 8},
    "align": {"epochs": 0},
    "training": {
        "epochs": 1,
        "dictionary_queries": 4,
        "device": "cpu",
        "top_k": 4,
        "precision": "fp32",
    },
}

Use = Callable[[Path], object]
"""Loads a folder and uses what it holds."""


class _Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


def _link(folder: Path) -> None:
    linker = Linker.load(folder)
    for prediction in linker.link(["breast cancer", "ataxia of sheep"], k=3):
        for part in prediction.parts:
            for candidate in part.candidates:
                (
                    candidate.concept_id.encode(),
                    candidate.name.encode(),
                    candidate.matched_name.encode(),
                )


def _browse(folder: Path) -> None:
    found = Dictionary.load(folder)
    for row in range(len(found)):
        found.concept(row)
    found.resolve("MESH:D001943")


def _words(folder: Path) -> None:
    from linker.encoders.words import WordVectors

    WordVectors.read(folder).means(["breast cancer", "feverish"])


@contextlib.contextmanager
def sparse(shared: Path) -> Iterator[Attack]:
    """Damaged sparse models, dictionaries and word vectors."""
    folders: list[tuple[Path, Use]] = [(shared / "model", _link), (shared / "dictionary", _browse)]
    dictionary = _dictionary(shared)
    Linker.train(dictionary, corrections={"tumour": "tumor"}).save(shared / "model")
    dictionary.save(shared / "dictionary")
    with contextlib.suppress(ImportError):
        from linker.encoders.words import Subwords, WordVectors

        cut = Subwords(3, 3, 1000)
        buckets = np.unique(np.array(cut.hashes("feverish"), np.int64))
        vectors = np.random.default_rng(0).normal(size=(2 + len(buckets), 4)).astype(np.float32)
        WordVectors(["breast", "cancer"], vectors, cut, buckets).save(shared / "words")
        folders.append((shared / "words", _words))
    yield _attack([folders[0], *folders])


@contextlib.contextmanager
def dense(shared: Path) -> Iterator[Attack]:
    """Damaged models with a dan, and with a transformer."""
    import torch

    torch.set_num_threads(1)
    dictionary = _dictionary(shared)
    folders: list[tuple[Path, Use]] = []
    for encoder in ("dan", "transformer"):
        options = changed(
            preset("default", encoder),
            _QUICK | {"transformer": {"model": str(_bert(shared / "bert"))}},
        )
        Linker.train(dictionary, encoder=encoder, options=options).save(shared / encoder)
        folders.append((shared / encoder, _link))
    yield _attack(folders)


def _dictionary(shared: Path) -> Dictionary:
    shared.mkdir()
    (shared / "dict.tsv").write_bytes(seeds.TABLE)
    return Dictionary.read(shared / "dict.tsv")


def _bert(folder: Path) -> Path:
    """A BERT of random weights whose words are letters."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    vocabulary = {
        token: row
        for row, token in enumerate(
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 123))]
        )
    }
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "max_position_embeddings": 32,
    }
    transformers.BertModel(
        transformers.BertConfig(vocab_size=len(vocabulary), **sizes)
    ).save_pretrained(folder)
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=32).save_pretrained(folder)
    return folder


def _attack(folders: list[tuple[Path, Use]]) -> Attack:
    def attack(rng: random.Random, case: int, folder: Path) -> None:
        source, use = folders[case % len(folders)]
        model = folder / "model"
        shutil.copytree(source, model, copy_function=os.link)
        for _ in range(rng.choice((1, 1, 1, 2))):
            rng.choice(_DAMAGES)(rng, model, folder / _MARKER)
        if rng.random() < 0.95:
            sign(model, listed_only=rng.random() < 0.1)
        try:
            use(model)
        finally:
            if (folder / _MARKER).exists():
                raise Failed("code was run: ")

    return attack


def sign(model: Path, *, listed_only: bool = False) -> None:
    """Put the checksums of the files that are there into the manifest; `listed_only`: only of those that it names already."""
    path = model / persistence.MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        named = manifest["sha256"]
        found = [file for file in model.rglob("*") if file.is_file() and file != path]
        sums = {file.relative_to(model).as_posix(): files.sha256(file) for file in found}
        manifest["sha256"] = {name: sums[name] for name in sums if name in named or not listed_only}
        _write(path, json.dumps(manifest).encode())
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return  # the manifest itself was damaged


def _write(path: Path, data: bytes) -> None:
    """Write a file anew: its other links keep what they have."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def _file(rng: random.Random, model: Path, pattern: str = "*") -> Path:
    found = sorted(
        file for file in model.rglob(pattern) if file.is_file() and not file.is_symlink()
    )
    return rng.choice(found or [model / "config.json"])


def _bytes(rng: random.Random, model: Path, marker: Path) -> None:
    """Bytes of a file are others, fewer or more."""
    path = _file(rng, model)
    data = path.read_bytes()
    _write(
        path,
        rng.choice(
            (
                mutated(rng, data),
                data[: rng.randint(0, len(data))],
                data + rng.randbytes(rng.choice((1, 8, 4096))),
                b"",
            )
        ),
    )


def _header(rng: random.Random, model: Path, marker: Path) -> None:
    """The header of an array says something else of the same bytes."""
    path = _file(rng, model, "*.npy")
    try:
        array = np.load(path)
    except (ValueError, OSError):
        return
    size = rng.choice(
        (0, 1, -1, len(array) + 1, len(array) - 1, 2**31, 2**40, 2**63 - 1, 2**64, 10**30)
    )
    shapes = (
        repr((size,)),
        repr((size, 1)),
        repr((1, size)),
        "()",
        "(1,) * 9",
        "[1]",
        "None",
        "-1",
        "(None,)",
        "(True,)",
        "(1.0,)",
        "((1,),)",
    )
    types = (
        "<i4",
        "<i8",
        ">i8",
        "<u1",
        "|u1",
        "<f2",
        "<f4",
        "<f8",
        "<c16",
        "|b1",
        "|S5",
        "<U5",
        "|O",
        "<M8[s]",
        "|V0",
        "|V8",
        "x",
        "",
        "i" * 999,
    )
    header = {"descr": repr(array.dtype.str), "fortran_order": "False", "shape": repr(array.shape)}
    for _ in range(rng.choice((1, 1, 2))):
        key = rng.choice(("descr", "fortran_order", "shape"))
        header[key] = rng.choice(
            shapes
            if key == "shape"
            else tuple(map(repr, types))
            if key == "descr"
            else ("True", "None", "1", "'x'")
        )
    text = "{" + ", ".join(f"'{key}': {value}" for key, value in header.items()) + "}"
    if rng.random() < 0.5:
        text = rng.choice(
            (
                *(
                    text[: rng.randint(0, len(text))],
                    text.replace("'", "", 1),
                    text.replace(":", "", 1),
                    text[:-1] + ", 'x': 1}",
                    "\0" + text,
                ),
                *(
                    "(" * 3_000,
                    "[" * 9_000,
                    "{" * 200,
                    "-" * 9_000 + "1",
                    "'''",
                    "1" * 5_000,
                    "{'descr': '<i4'",
                    "[1L]" + text,
                    "\\",
                    "é",
                    "()",
                ),
                *(
                    text.replace("}", f", {'lambda: 0'}: 1}}"),
                    "__import__('os').mkdir('x')",
                    text + " " * 70_000,
                    "\t" + text,
                    text + "\n#x\n  y",
                ),
            )
        )
    version = rng.choice(((1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 0)))
    coded = (text + "\n").encode("utf-8" if version[0] == 3 else "latin-1", "replace")
    length = rng.choice((len(coded),) * 6 + (0, 1, 65_535, len(coded) + 64))
    packed = struct.pack("<H" if version[0] == 1 else "<I", min(length, 65_535))
    _write(path, b"\x93NUMPY" + bytes(version) + packed + coded + array.tobytes())


def _values(rng: random.Random, model: Path, marker: Path) -> None:
    """An array is whole, and its values are wrong."""
    path = _file(rng, model, "*.npy")
    try:
        array = np.array(np.load(path))
    except (ValueError, OSError):
        return
    if array.size and array.dtype.kind in "iufb":
        flat = array.reshape(-1)
        if array.dtype.kind == "f":
            flat[rng.randrange(flat.size)] = rng.choice((np.nan, np.inf, -np.inf, -1, 0, 6e4))
        else:
            limits = np.iinfo(np.uint8 if array.dtype.kind == "b" else array.dtype)
            flat[rng.randrange(flat.size)] = rng.choice(
                (limits.min, limits.max, 0, 1, limits.max // 2)
            )
        array = rng.choice(
            (
                array,
                array,
                array[:-1],
                np.concatenate([array, array]),
                array[:0],
                array.astype(np.float64),
                array[None],
            )
        )
    with contextlib.suppress(ValueError):
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        _write(path, buffer.getvalue())


def _json(rng: random.Random, model: Path, marker: Path) -> None:
    """A value of a JSON file is another, or the file nests deeply."""
    path = _file(rng, model, rng.choice(("*.json", "config.json", "manifest.json", "seen.json")))
    if rng.random() < 0.1:
        _write(path, rng.choice(NESTED) * 100_000)
        return
    with contextlib.suppress(ValueError, RecursionError):
        value = changed_json(rng, json.loads(path.read_bytes()))
        _write(path, json.dumps(rng.choice((value, value, value, other(rng)))).encode())


def _number(rng: random.Random, model: Path, marker: Path) -> None:
    """An option of the model is beyond all measure."""
    path = model / "config.json"
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, OSError):
        config = json.loads(path.read_bytes())
        group = config["options"][rng.choice(sorted(config["options"]))]
        group[rng.choice(sorted(group))] = rng.choice(
            (
                json.loads(rng.choice(("1e400", "-1", "0", "NaN", "1" + "0" * 20))),
                rng.choice(NUMBERS),
            )
        )
        _write(path, json.dumps(config).encode())


def _pickle(rng: random.Random, model: Path, marker: Path) -> None:
    """A pickle that makes a folder stands where an array or weights stand, or beside them."""
    evil = pickle.dumps(_Evil(marker))
    as_npy = io.BytesIO()
    np.save(as_npy, np.array([_Evil(marker)], dtype=object), allow_pickle=True)
    path = _file(rng, model, rng.choice(("*.npy", "*.safetensors", "*")))
    name = rng.choice(
        (path.name, path.name, "pytorch_model.bin", "adapter.pkl", "training_args.bin", "extra.npy")
    )
    _write(path.with_name(name), rng.choice((evil, as_npy.getvalue())))
    if rng.random() < 0.3:
        for weights in model.rglob("*.safetensors"):
            weights.unlink()


def _code(rng: random.Random, model: Path, marker: Path) -> None:
    """Configurations of transformers name code of the folder."""
    for path in sorted(model.rglob("*config.json")):
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            config = json.loads(path.read_bytes())
            names = ("AutoConfig", "AutoModel", "AutoTokenizer")
            config |= {
                "auto_map": dict.fromkeys(names, "evil.Evil")
                | {"AutoTokenizer": ["evil.Evil", None]},
                "trust_remote_code": True,
            }
            config[rng.choice(("model_type", "tokenizer_class", "architectures"))] = rng.choice(
                ("evil", ["Evil"], "Evil", None)
            )
            _write(path, json.dumps(config).encode())
            _write(
                path.with_name("evil.py"),
                f"import os\nos.mkdir({str(marker)!r})\nclass Evil: pass\n".encode(),
            )


def _extra(rng: random.Random, model: Path, marker: Path) -> None:
    """Something stands there that does not belong there: a link, a pipe, a folder, a file."""
    path = _file(rng, model)
    new = path.with_name(
        rng.choice(
            (
                path.name,
                "extra.npy",
                "extra.json",
                "training.jsonl",
                "tokenizer.json",
                "subwords.json",
                "a" * 200,
            )
        )
    )
    shutil.rmtree(new, ignore_errors=True) if new.is_dir() else new.unlink(missing_ok=True)
    how = rng.randrange(6)
    if how == 0:
        new.symlink_to(rng.choice(("/etc/hostname", "/nowhere", ".", "..", new.name, "/dev/zero")))
    elif how == 1:
        os.mkfifo(new)
    elif how == 2:
        new.mkdir()
    elif how == 3:
        new.write_bytes(json.dumps(other(rng)).encode())
    elif how == 4:
        np.save(new.with_suffix(".npy"), np.arange(3))
    elif path.exists():
        path.rename(new)


def _foreign(rng: random.Random, model: Path, marker: Path) -> None:
    """The manifest or the configuration is that of something else."""
    path = model / rng.choice(("manifest.json", "config.json"))
    values: tuple[Any, ...] = (
        {},
        [],
        None,
        {"sha256": []},
        {"sha256": {}},
        {"sha256": {"../x": "0"}},
        {"sha256": {"/etc/hostname": "0"}},
    )
    values += (
        {"sha256": {"config.json": None}},
        {"format_version": 2},
        {"format_version": 1, "kind": "words"},
        {"format_version": 1, "kind": None},
    )
    values += (
        {"sha256": {"a\0b": "0"}},
        {"sha256": {"\ud800": "0"}},
        {"sha256": {"": "0"}},
        {"sha256": {".": "0"}},
        {"sha256": {"a" * 5000: "0"}},
    )
    _write(path, json.dumps(rng.choice(values)).encode())


_DAMAGES = (
    _bytes,
    _bytes,
    _header,
    _header,
    _header,
    _values,
    _values,
    _json,
    _json,
    _json,
    _number,
    _pickle,
    _code,
    _extra,
    _foreign,
)
