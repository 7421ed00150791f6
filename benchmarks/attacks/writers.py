"""Predictions and concepts full of what is hard to write: what was written is read again, by others' readers and by linker's."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from linker import outputs
from linker.outputs import joined_ids
from linker.readers import jsonl, mentions, table
from linker.types import Candidate, Concept, Document, Mention, Name, Part, Passage, Prediction

from .core import Attack, Failed, not_refused

_PIECES = (
    "cancer", "breast", "β-", "ß", "é", "e\u0301", "😀", "中", "ﬁ", "a", "1", "-1", "=1+1", "@x",
    "NULL", "None", " ", " ", " ", "\t", "\n", "\r", "\r\n", "\x0b", "\x0c", "\x00", "\x01",
    "\x1a", "\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff",
    "\ufdd0", "\U0010ffff", "\u202e", "\u200b", "\xad", '"', '""', "'", "`", ",", ";", ":", "|",
    "||", "\\", "\\n", "\\t", "\\|", "/", "<", ">", "&", "&amp;", "]]>", "<!--", "{", "}", "#",
    "!",
)  # fmt: skip
# what a writer may put a blank for
_BROKEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
Linked = Sequence[tuple[Document | None, list[Prediction]]]


def text(rng: random.Random, most: int = 12) -> str:
    """A text that is not blank."""
    made = "".join(rng.choices(_PIECES, k=rng.randint(0, most)))
    return made if made.strip() and _blank(made).strip() else made + "x"


def _blank(text: str) -> str:
    """A text as it may be read again: what cannot stand there is a blank."""
    return _BROKEN.sub(" ", text)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _candidate(rng: random.Random) -> Candidate:
    score, dense = rng.choice((0.5, -1.0, 0.0, 1e-9)), rng.choice((None, 0.1))
    return Candidate(f"MESH:D{rng.randrange(9)}", text(rng), text(rng), score, 0.5, dense)


def _prediction(rng: random.Random, mention: Mention) -> Prediction:
    parts = []
    for _ in range(rng.choice((1, 1, 2))):
        candidates = tuple(_candidate(rng) for _ in range(rng.randrange(3)))
        expanded = rng.choice((None, text(rng)))
        parts.append(Part(text(rng), expanded, mention.spans, candidates, nil=not candidates))
    return Prediction(mention, tuple(parts))


def _loose(rng: random.Random) -> Linked:
    owners = (None, None, text(rng))
    found = [
        Mention(text(rng), document_id=rng.choice(owners), spans=rng.choice(((), ((0, 4), (6, 9)))))
        for _ in range(rng.randint(1, 4))
    ]
    return [(None, [_prediction(rng, mention)]) for mention in found]


def _document(rng: random.Random, number: int) -> tuple[Document, list[Prediction]]:
    """A document with mentions, as BioC can hold it."""
    passages, offset = [], 0
    for kind in ("title", "abstract")[: rng.choice((1, 2, 2))]:
        passages.append(Passage(text(rng, 30), offset, {"type": kind}))
        offset += len(passages[-1].text) + 1
    whole = Document("", tuple(passages)).text
    identifier = f"{number}{rng.choice(('', '', text(rng, 3)))}"
    found = []
    for _ in range(rng.randrange(3)):
        start = rng.randrange(len(whole))
        end = rng.randint(start + 1, min(len(whole), start + 12))
        if _blank(whole[start:end]).strip():
            kind = rng.choice(("Disease", text(rng, 3)))
            spans = ((start, end),)
            found.append(Mention(whole[start:end], spans, type=kind, document_id=identifier))
    document = Document(identifier, tuple(passages), tuple(found))
    return document, [_prediction(rng, mention) for mention in found]


def _several(rng: random.Random) -> list[tuple[Document, list[Prediction]]]:
    return [_document(rng, number) for number in range(rng.randint(1, 3))]


def _written(form: str, linked: Linked, path: Path) -> str:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        outputs.write(form, linked, file, outputs.Layout(documents=True))
    return path.read_bytes().decode()


def _check(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise Failed(f"{what}: found {found!r}"[:500] + f", expected {expected!r}"[:500])


def _tsv(rng: random.Random, folder: Path) -> None:
    """Rows and cells come back by csv.excel_tab, and the mentions by our reader; tabs and line breaks inside cells are blanks."""
    linked = _loose(rng) if rng.random() < 0.5 else _several(rng)
    written = _written("tsv", linked, folder / "a.tsv")
    header, *rows = csv.reader(io.StringIO(written, newline=""), csv.excel_tab)
    expected = [
        (document, prediction, row)
        for document, found in linked
        for prediction in found
        for row in _rows(prediction)
    ]
    _check("tsv by csv.excel_tab, number of rows", len(rows), len(expected))
    for cells, (document, prediction, row) in zip(rows, expected, strict=True):
        _check("tsv by csv.excel_tab, number of cells", len(cells), len(header))
        named = dict(zip(header, map(_blank, cells), strict=True))
        owner = document.id if document else prediction.mention.document_id
        found = [named[name] for name in ("mention", "part", "name", "matched_name")]
        found.append(named.get("document_id", ""))
        _check("tsv by csv.excel_tab, cells", found, [*map(_blank, (*row, owner or ""))])
    if rows:
        with not_refused("tsv by our reader, refused"):
            every = mentions.flatten(mentions.read(folder / "a.tsv", "tsv"))
            read = [_blank(mention.text).strip() for mention, _ in every]
        texts = [_blank(prediction.mention.text).strip() for _, prediction, _ in expected]
        _check("tsv by our reader", read, texts)


def _rows(prediction: Prediction) -> Iterator[tuple[str, str, str, str]]:
    for part in prediction.parts:
        for candidate in part.candidates or [None]:
            names = (candidate.name, candidate.matched_name) if candidate else ("", "")
            yield prediction.mention.text, part.text, *names


def _jsonl(rng: random.Random, folder: Path) -> None:
    """Every line is the prediction as it was, by json and by our reader of predictions; mentions come back by that of mentions."""
    linked = _loose(rng)
    written = _written("jsonl", linked, folder / "a.jsonl")
    expected = [prediction.to_dict() for _, found in linked for prediction in found]
    _check("jsonl by json", [json.loads(line) for line in written.split("\n")[:-1]], expected)
    with not_refused("jsonl by our readers, refused"):
        read = [one.to_dict() for one in jsonl.read_predictions(folder / "a.jsonl")]
        texts = [mention.text for mention, _ in mentions.flatten(mentions.read(folder / "a.jsonl"))]
    _check("jsonl by our reader of predictions", read, expected)
    _check("jsonl by our reader of mentions", texts, [one["mention"].strip() for one in expected])


def _documents(name: str, rng: random.Random, folder: Path) -> None:
    """Documents, texts, mentions and their ids come back by our reader."""
    linked, key = _several(rng), "identifier" if name == "bioc" else "pubtator:id"
    _written(name, linked, folder / "a.txt")
    with not_refused(f"{name}, refused"):
        every = mentions.read(folder / "a.txt", name)
        read = [item for item in every if isinstance(item, Document)]
    ids = [[_letters(one.id) for one in some] for some in (read, [one for one, _ in linked])]
    _check(f"{name}, documents", *ids)
    for one, (document, predictions) in zip(read, linked, strict=True):
        _check(f"{name}, text", _blank(one.text), _blank(document.text))
        found = sorted((mention.spans, mention.metadata[key]) for mention in one.mentions)
        made = sorted((made.mention.spans, joined_ids(made)) for made in predictions)
        _check(f"{name}, mentions", found, made)


def _table(rng: random.Random, folder: Path) -> None:
    """Concepts come back by our reader."""
    concepts = []
    for number in range(rng.randint(1, 3)):
        names = list(dict.fromkeys(_name(rng) for _ in range(rng.randint(1, 3))))
        kinds: list[Any] = ["preferred", *["exact"] * (len(names) - 1)]
        made = tuple(map(Name, names, [f"X:{number}"] * len(names), kinds))
        about = {"definition": _name(rng), "namespace": "X"}
        concepts.append(Concept(f"X:{number}", names[0], made, **about))
    with open(folder / "a.tsv", "w", encoding="utf-8", newline="\n") as file:
        table.write(concepts, file)
    with not_refused("table, refused"):
        _check("table", _shown(table.read(folder / "a.tsv")), _shown(concepts))


def _name(rng: random.Random) -> str:
    """A text as a dictionary can hold it: no reader lets a NUL through."""
    return text(rng).replace("\0", "").strip() or "x"


def _shown(concepts: Iterable[Concept]) -> list[tuple[str, Sequence[str], str]]:
    return [
        (one.id, [_blank(name.text).strip() for name in one.names], _blank(one.definition).strip())
        for one in concepts
    ]


_CHECKS = (_tsv, _tsv, _jsonl, partial(_documents, "pubtator"), partial(_documents, "bioc"), _table)


def prepared(_: Path) -> Iterator[Attack]:
    """Hostile predictions and concepts, one format after the other."""

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        _CHECKS[case % len(_CHECKS)](rng, folder)

    yield attack
