"""Mutated files of each format that linker reads, and what decompresses to far more than it is."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from linker import Dictionary, LinkerError, outputs
from linker.cli import settings
from linker.dictionary import inspection
from linker.errors import InputError, OnError, Skip, stop
from linker.evaluation import predictions
from linker.readers import jsonl, mentions, table
from linker.text import spelling
from linker.training.pipeline import train
from linker.types import Candidate, Document, Mention, Part, Prediction

from . import inputs
from .core import Attack, Failed
from .inputs import mutated, packed

Read = Callable[[Path, OnError, random.Random], int | None]
"""Reads a file, does with it what a command would, and returns its records where each line is one, or is skipped."""

BOMB = 1_200_000_000  # bytes
_BY_LINE = ("txt", "tsv", "jsonl", "concept")  # formats of a record a line
_MEMBER = 10_000_000  # bytes of a gzip member
_OTHER_ENCODINGS = (
    b"\xff\xfe", b"\xfe\xff", b"%PDF", b"PK\x03\x04", b"\x1f\x8b",
)  # starts of what is no text, and stops the reading  # fmt: skip


class Target(NamedTuple):
    """A format: its files by name (the first is what is named to linker; "." for their folder), and how it is read."""

    files: dict[str, bytes]
    read: Read
    named: str = ""


def encoded() -> io.TextIOWrapper:
    """A file in memory that takes what an output file takes."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")


def _mentions(format: str) -> Read:
    def read(path: Path, on_error: OnError, rng: random.Random) -> int | None:
        lines = 0
        chosen = format if rng.random() < 0.9 else None
        for item in mentions.read(path, chosen, on_error=on_error):
            document = item if isinstance(item, Document) else None
            found = document.mentions if document else (item,)
            lines += len(found)
            linked = [(document, [_predicted(mention) for mention in found])]
            whole = ("bioc", "pubtator") if document and document.passages else ()
            for form in ("tsv", "jsonl", *whole):
                with contextlib.suppress(LinkerError), encoded() as file:
                    outputs.write(form, linked, file)
        return lines if chosen in _BY_LINE else None

    return read


def _predicted(mention: Mention) -> Prediction:
    candidate = Candidate("MESH:D001943", "Breast Neoplasms", "breast cancer", 0.9, 0.9)
    candidates = (candidate,) * (len(mention.text) % 2)
    part = Part(mention.text, None, mention.spans, candidates, nil=not candidates)
    return Prediction(mention, (part,))


def _dictionary(format: str) -> Read:
    def read(path: Path, on_error: OnError, rng: random.Random) -> None:
        found = Dictionary.read(
            path, format=format if rng.random() < 0.9 else None, on_error=on_error
        )
        with encoded() as file:
            table.write(map(found.concept, range(len(found))), file)
        inspection.stats(found)
        if rng.random() < 0.1:
            list(train(found, encoder="tfidf").link(["breast cancer", "x"]))

    return read


def _predictions(protocol: str) -> Read:
    def read(path: Path, on_error: OnError, rng: random.Random) -> int | None:
        if isinstance(on_error, Skip) and protocol == "strict":
            return sum(1 for _ in jsonl.read(path, on_error=on_error))
        gold = path.with_name("gold.tsv")
        gold.write_bytes(inputs.TSV_PLAIN)
        annotated = [mention for mention, _ in mentions.flatten(mentions.read(gold))]
        list(predictions.outcomes(path, annotated, protocol, None))
        return None

    return read


def _spelling(path: Path, on_error: OnError, rng: random.Random) -> None:
    spelling.correct("a tumour of haemo philia", spelling.read(path, on_error))


def _config(path: Path, on_error: OnError, rng: random.Random) -> None:
    settings.read("default", settings.values_of([str(path)]))


def _words(path: Path, on_error: OnError, rng: random.Random) -> None:
    from linker.encoders.words import WordVectors

    WordVectors.read(path).means(["breast cancer", "feverish"])


def _texts(path: Path, on_error: OnError, rng: random.Random) -> None:
    from linker.encoders.words import read_texts

    list(read_texts([path]))


RRF = {"MRCONSO.RRF": inputs.MRCONSO, "MRREL.RRF": inputs.MRREL, "MRSTY.RRF": inputs.MRSTY}
TARGETS = {
    "txt": Target({"a.txt": inputs.TXT}, _mentions("txt")),
    "tsv": Target({"a.tsv": inputs.TSV}, _mentions("tsv")),
    "tsv without header": Target({"a.tsv": inputs.TSV_PLAIN}, _mentions("tsv")),
    "csv": Target({"a.csv": inputs.CSV}, _mentions("tsv")),
    "jsonl": Target({"a.jsonl": inputs.JSONL}, _mentions("jsonl")),
    "pubtator": Target({"a.txt": inputs.PUBTATOR}, _mentions("pubtator")),
    "bioc xml": Target({"a.xml": inputs.BIOC_XML}, _mentions("bioc")),
    "bioc json": Target({"a.json": inputs.BIOC_JSON}, _mentions("bioc")),
    "concept": Target({"a.concept": inputs.CONCEPT}, _mentions("concept")),
    "predictions": Target({"a.jsonl": inputs.PREDICTIONS}, _predictions("strict")),
    "predictions of BioSyn": Target({"a.json": inputs.BIOSYN}, _predictions("biosyn")),
    "table": Target({"a.tsv": inputs.TABLE}, _dictionary("table")),
    "table csv": Target({"a.csv": inputs.TABLE_CSV}, _dictionary("table")),
    "medic": Target({"a.tsv": inputs.MEDIC}, _dictionary("medic")),
    "medic csv": Target({"a.csv": inputs.MEDIC_CSV}, _dictionary("medic")),
    "obo": Target({"a.obo": inputs.OBO}, _dictionary("obo")),
    "id||name": Target({"a.txt": inputs.NAMES}, _dictionary("biosyn")),
    "rrf": Target(RRF, _dictionary("rrf"), named="."),
    "spelling list": Target({"a.txt": inputs.SPELLING}, _spelling),
    "toml": Target({"a.toml": inputs.TOML}, _config),
    "text": Target({"a.txt": inputs.TEXT}, _texts),
    "word2vec text": Target({"a.txt": inputs.WORD2VEC_TEXT}, _words),
}


def _with_gensim(folder: Path) -> dict[str, Target]:
    """The formats that gensim reads; none where it is not installed."""
    try:
        from gensim.models import FastText
        from gensim.models.fasttext import save_facebook_model
    except ImportError:
        return {}
    sentences = [line.split() for line in inputs.TEXT.decode().splitlines()]
    sizes = {"vector_size": 4, "min_count": 1, "min_n": 3, "max_n": 3, "bucket": 50}
    made = FastText(sentences, **sizes, epochs=1, workers=1, seed=0)
    save_facebook_model(made, str(folder / "a.bin"))
    return {
        "fasttext": Target({"a.bin": (folder / "a.bin").read_bytes()}, _words),
        "word2vec binary": Target({"a.bin": inputs.WORD2VEC_BINARY}, _words),
    }


def prepared(folder: Path) -> Iterator[Attack]:
    """Mutated files, one format after the other; every second is read with --on-error skip."""
    folder.mkdir()
    targets = list((TARGETS | _with_gensim(folder)).items())

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        name, target = targets[case % len(targets)]
        files = dict(target.files)
        file = rng.choice(list(files))
        plain = mutated(rng, files[file])
        files[file], whole = packed(rng, plain)
        for other, data in files.items():
            (folder / other).write_bytes(data)
        on_error, is_by_line = Skip() if rng.random() < 0.5 else stop, name in _BY_LINE
        try:
            records = target.read(folder / (target.named or file), on_error, rng)
        except InputError as error:
            is_record = is_by_line and (error.line or 0) > 1 and error.path.endswith(file)
            if isinstance(on_error, Skip) and whole and is_record:
                what = f"a bad record stopped the reading with skip ({name}): {error}"
                raise Failed(what) from error
            raise
        is_text = whole and not plain.startswith(_OTHER_ENCODINGS)
        if isinstance(on_error, Skip) and records is not None and is_text:
            _check_none_lost(name, plain, records, on_error.count)

    yield attack


def _check_none_lost(name: str, data: bytes, records: int, skipped: int) -> None:
    """Check that each line is a record or was skipped, but for a header."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data not in (b"", b"\xef\xbb\xbf"))
    is_named = b"mention" in data.partition(b"\n")[0].lower()
    may_have_header = is_named and name in ("tsv", "csv", "tsv without header")
    if lines - records - skipped not in ((0, 1) if may_have_header else (0,)):
        counts = f"{lines} lines, {records} records, {skipped} skipped"
        raise Failed(f"lines were lost ({name}): {counts}")


_BIOC = b"<collection><document><id>1</id><passage>"
_BIOC_END = b"</passage></document></collection>"
BOMBS = {  # a format, and what stands before, in and behind the endless text
    "jsonl": (b'{"mention": "', b"a", b'"}\n'),
    "txt": (b"cancer\n", b"a", b"\n"),
    "tsv": (b"cancer\t", b"D1|", b"\n"),
    "pubtator": (b"1|t|", b"a ", b"\n"),
    "bioc xml": (_BIOC + b"<offset>0</offset><text>", b"a", b"</text>" + _BIOC_END),
    "bioc json": (b'{"documents": [{"id": "', b"a", b'"}]}'),
    "concept": (b"1||0|1||Disease||", b"a", b"||D1\n"),
    "predictions": (b'{"schema": 1, "mention": "', b"a", b'"}\n'),
    "predictions of BioSyn": (b'{"queries": "', b"a", b'"}'),
    "table": (b"id\tname\nX:1\t", b"a", b"\n"),
    "medic": (inputs.MEDIC, b"a", b"\n"),
    "obo": (inputs.OBO + b"\n[Term]\nid: X:9\nname: ", b"a", b"\n"),
    "id||name": (b"X:1||", b"a", b"\n"),
    "spelling list": (b"a||", b"a", b"\n"),
    "toml": (b"[sparse]\na = '", b"a", b"'\n"),
    "text": (b"", b"a ", b"\n"),
    "word2vec text": (b"1 4\na", b" 0", b"\n"),
}


def bombs(folder: Path) -> Iterator[Attack]:
    """A megabyte of gzip that holds one line of more than a gigabyte, format by format, with and without skipping."""

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        name = list(BOMBS)[case // 2 % len(BOMBS)]
        target = TARGETS[name]
        start, endless, end = BOMBS[name]
        path = folder / f"{next(iter(target.files))}.gz"
        member = gzip.compress(endless * (_MEMBER // len(endless)))
        with open(path, "wb") as file:
            file.write(gzip.compress(start))
            for _ in range(BOMB // _MEMBER):
                file.write(member)
            file.write(gzip.compress(end))
        try:
            target.read(path, Skip() if case % 2 else stop, rng)
        except MemoryError as error:
            raise Failed(f"out of memory over a line that is too long ({name})") from error

    yield attack
