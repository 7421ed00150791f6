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
from typing import Any, NamedTuple

import numpy as np

from linker import Dictionary, Linker, files, persistence
from linker.options import changed, preset
from linker.training.pipeline import train

from . import inputs
from .core import Attack, Failed
from .inputs import NESTED, NUMBERS, mutated, other
from .inputs import changed as changed_json

_MARKER = "code-was-run"
_QUICK: dict[str, dict[str, Any]] = {  # a training of a dan or a transformer that takes a second
    "words": {"dim": 8, "min_count": 1, "epochs": 1, "buckets": 50},
    "dan": {"hidden": 8},
    "ground": {"epochs": 1},
    "align": {"epochs": 0},
    "training": {"epochs": 1, "dictionary_queries": 4, "device": "cpu", "top_k": 4},
}
_QUICK["training"]["precision"] = "fp32"

Use = Callable[[Path], object]
"""Loads a folder and uses what it holds."""


class _Evil(NamedTuple):
    """Makes a folder when it is unpickled."""

    path: str

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def _link(folder: Path) -> None:
    for prediction in Linker.load(folder).link(["breast cancer", "ataxia of sheep"], k=3):
        for candidate in (one for part in prediction.parts for one in part.candidates):
            f"{candidate.concept_id}{candidate.name}{candidate.matched_name}".encode()


def _browse(folder: Path) -> None:
    found = Dictionary.load(folder)
    for row in range(len(found)):
        found.concept(row)
    found.resolve("MESH:D001943")


def _words(folder: Path) -> None:
    from linker.encoders.words import WordVectors

    WordVectors.read(folder).means(["breast cancer", "feverish"])


def sparse(shared: Path) -> Iterator[Attack]:
    """Damaged sparse models, dictionaries and word vectors."""
    folders: list[tuple[Path, Use]] = [(shared / "model", _link), (shared / "dictionary", _browse)]
    dictionary = inputs.dictionary(shared)
    model = train(dictionary, encoder="tfidf", corrections={"tumour": "tumor"})
    model.save(shared / "model")
    dictionary.save(shared / "dictionary")
    with contextlib.suppress(ImportError):
        from linker.encoders.words import Subwords, WordVectors

        cut = Subwords(3, 3, 1000)
        buckets = np.unique(np.array(cut.hashes("feverish"), np.int64))
        vectors = np.random.default_rng(0).normal(size=(2 + len(buckets), 4)).astype(np.float32)
        WordVectors(["breast", "cancer"], vectors, cut, buckets).save(shared / "words")
        folders.append((shared / "words", _words))
    yield _attack([folders[0], *folders])


def dense(shared: Path) -> Iterator[Attack]:
    """Damaged models with a dan, and with a transformer."""
    import torch

    torch.set_num_threads(1)
    dictionary, folders = inputs.dictionary(shared), list[tuple[Path, Use]]()
    for encoder in ("dan", "transformer"):
        model = {"transformer": {"model": letters_transformer(shared / "bert", 32)}}
        options = changed(preset("default", encoder), _QUICK | model)
        train(dictionary, encoder=encoder, options=options).save(shared / encoder)
        folders.append((shared / encoder, _link))
    yield _attack(folders)


def letters_transformer(folder: Path, longest: int) -> str:
    """A BERT of random weights whose tokens are letters."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    letters = [chr(code) for code in range(97, 123)]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    tokens += [f"##{letter}" for letter in letters]
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 64, "max_position_embeddings": longest}
    config = transformers.BertConfig(vocab_size=len(tokens), **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    vocabulary = {token: row for row, token in enumerate(tokens)}
    tokenizer = transformers.BertTokenizer(vocab=vocabulary, model_max_length=longest)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _attack(folders: list[tuple[Path, Use]]) -> Attack:
    def attack(rng: random.Random, case: int, folder: Path) -> None:
        source, use = folders[case % len(folders)]
        model = folder / "model"
        shutil.copytree(source, model, copy_function=os.link)
        for _ in range(rng.choice((1, 1, 1, 2))):
            rng.choice(_DAMAGES)(rng, model)
        if rng.random() < 0.95:
            _sign(model, listed_only=rng.random() < 0.1)
        try:
            use(model)
        finally:
            if (model.parent / _MARKER).exists():
                raise Failed("code was run: ")

    return attack


def _sign(model: Path, *, listed_only: bool) -> None:
    """Put the checksums of the files that are there, or were, into the manifest."""
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
    every = sorted(model.rglob(pattern))
    found = [file for file in every if file.is_file() and not file.is_symlink()]
    return rng.choice(found or [model / "config.json"])


def _array(rng: random.Random, model: Path) -> tuple[Path, Any]:
    """The file of an array, and the array; None where it cannot be read any more."""
    path = _file(rng, model, "*.npy")
    with contextlib.suppress(ValueError, OSError):
        return path, np.array(np.load(path))
    return path, None


def _bytes(rng: random.Random, model: Path) -> None:
    """Bytes of a file are others, fewer or more."""
    path = _file(rng, model)
    data = path.read_bytes()
    shorter, longer = data[: rng.randint(0, len(data))], data + rng.randbytes(4096)
    _write(path, rng.choice((mutated(rng, data), shorter, longer, data + b"x", b"")))


_SIZES = (0, 1, -1, 2**31, 2**40, 2**63 - 1, 2**64, 10**30)
_SHAPES = (
    "({n},)", "({n}, 1)", "(1, {n})", "()", "(1,) * 9", "[1]", "None", "-1", "(None,)", "(True,)",
    "(1.0,)", "((1,),)",
)  # fmt: skip
_TYPES = (
    "<i4", "<i8", ">i8", "<u1", "|u1", "<f2", "<f4", "<f8", "<c16", "|b1", "|S5", "<U5", "|O",
    "<M8[s]", "|V0", "|V8", "x", "", "i" * 999,
)  # fmt: skip
_TEXTS = (  # instead of the dictionary that the header of an array is
    "(" * 3_000, "[" * 9_000, "{" * 200, "-" * 9_000 + "1", "'''", "1" * 5_000, "\\", "é", "()",
    "{'descr': '<i4'", "__import__('os').mkdir('x')",
)  # fmt: skip
_VERSIONS = ((1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 0))


def _header(rng: random.Random, model: Path) -> None:
    """The header of an array says something else of the same bytes."""
    path, array = _array(rng, model)
    if array is None:
        return
    size = rng.choice((*_SIZES, len(array) + 1, len(array) - 1))
    odd: dict[str, tuple[str, ...]] = {"descr": tuple(map(repr, _TYPES))}
    odd["shape"] = tuple(shape.replace("{n}", str(size)) for shape in _SHAPES)
    odd["fortran_order"] = ("True", "None", "1", "'x'")
    header = {"descr": repr(array.dtype.str), "fortran_order": "False", "shape": repr(array.shape)}
    for key in rng.sample(sorted(odd), rng.choice((1, 1, 2))):
        header[key] = rng.choice(odd[key])
    text = "{" + ", ".join(f"'{key}': {value}" for key, value in header.items()) + "}"
    if rng.random() < 0.5:
        cut, more = text[: rng.randint(0, len(text))], text[:-1] + ", 'x': 1}"
        edited = (cut, text.replace("'", "", 1), text.replace(":", "", 1), more, "\0" + text)
        edited += (text.replace("}", f", {'lambda: 0'}: 1}}"), text + " " * 70_000, "\t" + text)
        text = rng.choice((*edited, *_TEXTS, "[1L]" + text, text + "\n#x\n  y"))
    version = rng.choice(_VERSIONS)
    coded = (text + "\n").encode("utf-8" if version[0] == 3 else "latin-1", "replace")
    length = rng.choice((len(coded),) * 6 + (0, 1, 65_535, len(coded) + 64))
    packed = struct.pack("<H" if version[0] == 1 else "<I", min(length, 65_535))
    _write(path, b"\x93NUMPY" + bytes(version) + packed + coded + array.tobytes())


def _values(rng: random.Random, model: Path) -> None:
    """An array is whole, and its values are wrong."""
    path, array = _array(rng, model)
    if array is None:
        return
    if array.size and array.dtype.kind in "iufb":
        flat = array.reshape(-1)
        values: tuple[Any, ...] = (np.nan, np.inf, -np.inf, -1, 0, 6e4)
        if array.dtype.kind != "f":
            limits = np.iinfo(np.uint8 if array.dtype.kind == "b" else array.dtype)
            values = (limits.min, limits.max, 0, 1, limits.max // 2)
        flat[rng.randrange(flat.size)] = rng.choice(values)
        double = np.concatenate([array, array])
        others = (array[:-1], double, array[:0], array.astype(np.float64), array[None])
        array = rng.choice((array, array, *others))
    with contextlib.suppress(ValueError):
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        _write(path, buffer.getvalue())


def _json(rng: random.Random, model: Path) -> None:
    """A value of a JSON file is another, or the file nests deeply."""
    path = _file(rng, model, rng.choice(("*.json", "config.json", "manifest.json", "seen.json")))
    if rng.random() < 0.1:
        _write(path, rng.choice(NESTED) * 100_000)
        return
    with contextlib.suppress(ValueError, RecursionError):
        value = changed_json(rng, json.loads(path.read_bytes()))
        _write(path, json.dumps(rng.choice((value, value, value, other(rng)))).encode())


def _number(rng: random.Random, model: Path) -> None:
    """An option of the model is beyond all measure."""
    path, numbers = model / "config.json", (float("inf"), -1, 0, float("nan"), 10**20)
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, OSError):
        config = json.loads(path.read_bytes())
        group = config["options"][rng.choice(sorted(config["options"]))]
        number = rng.choice(NUMBERS)
        group[rng.choice(sorted(group))] = rng.choice((*numbers, number))
        _write(path, json.dumps(config).encode())


def _pickle(rng: random.Random, model: Path) -> None:
    """A pickle that makes a folder stands where an array or weights stand, or beside them."""
    as_npy = io.BytesIO()
    np.save(as_npy, np.array([_Evil(str(model.parent / _MARKER))], dtype=object), allow_pickle=True)
    path = _file(rng, model, rng.choice(("*.npy", "*.safetensors", "*")))
    others = ("pytorch_model.bin", "adapter.pkl", "training_args.bin", "extra.npy")
    name = rng.choice((path.name, path.name, *others))
    _write(
        path.with_name(name),
        rng.choice((pickle.dumps(_Evil(str(model.parent / _MARKER))), as_npy.getvalue())),
    )
    if rng.random() < 0.3:
        for weights in model.rglob("*.safetensors"):
            weights.unlink()


def _code(rng: random.Random, model: Path) -> None:
    """Configurations of transformers name code of the folder."""
    code = f"import os\nos.mkdir({str(model.parent / _MARKER)!r})\nclass Evil: pass\n".encode()
    of_auto = {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}
    of_auto |= {"AutoTokenizer": ["evil.Evil", None]}
    for path in sorted(model.rglob("*config.json")):
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            config = json.loads(path.read_bytes())
            config |= {"auto_map": of_auto, "trust_remote_code": True}
            key = rng.choice(("model_type", "tokenizer_class", "architectures"))
            config[key] = rng.choice(("evil", ["Evil"], "Evil", None))
            _write(path, json.dumps(config).encode())
            _write(path.with_name("evil.py"), code)


def _extra(rng: random.Random, model: Path) -> None:
    """Something stands there that does not belong there: a link, a pipe, a folder, a file."""
    path = _file(rng, model)
    others = ("extra.npy", "extra.json", "training.jsonl", "tokenizer.json", "subwords.json")
    new = path.with_name(rng.choice((path.name, *others, "a" * 200)))
    shutil.rmtree(new, ignore_errors=True) if new.is_dir() else new.unlink(missing_ok=True)
    links = ("/etc/hostname", "/nowhere", ".", "..", new.name, "/dev/zero")
    how = rng.randrange(6)
    if how == 0:
        new.symlink_to(rng.choice(links))
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


_SUMS = ("../x", "/etc/hostname", "a\0b", "\ud800", "", ".", "a" * 5000)
_FOREIGN: tuple[Any, ...] = (
    *({}, [], None, {"sha256": []}, {"sha256": {}}, {"sha256": {"config.json": None}}),
    *({"format_version": 1}, {"format_version": 1, "kind": "words"}),
    *({"format_version": 2, "kind": None}, *({"sha256": {name: "0"}} for name in _SUMS)),
)


def _foreign(rng: random.Random, model: Path) -> None:
    """The manifest or the configuration is that of something else."""
    path = model / rng.choice(("manifest.json", "config.json"))
    _write(path, json.dumps(rng.choice(_FOREIGN)).encode())


_DAMAGES = (
    *(_bytes, _bytes, _header, _header, _header, _values, _values, _json, _json, _json, _number),
    *(_pickle, _code, _extra, _foreign),
)
