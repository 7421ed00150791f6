"""Mentions as JSON lines."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import InputError, OnError
from linker.outputs import writing
from linker.readers import jsonl
from linker.types import (
    Candidate,
    Document,
    GoldGroup,
    Mention,
    Part,
    Passage,
    Prediction,
    Selection,
)

from .conftest import refused


def read(folder: Path, text: str, **options: OnError) -> list[Mention]:
    path = folder / "x.jsonl"
    path.write_bytes(text.encode())
    return list(jsonl.read(path, **options))


TWO = (GoldGroup(("D001943",)), GoldGroup(("D010051",)))
ALL = GoldGroup(("A:1", "A:2"), "all_of")


@pytest.mark.parametrize(
    ("record", "mention"),
    [
        ({"mention": " gout "}, Mention("gout")),
        (
            {"mention": "x", "under": "D009369", "not_under": ["A:1", " A:2 "], "types": None},
            Mention("x", within=Selection(("D009369",), ("A:1", "A:2"))),
        ),
        (
            {"mention": "x", "under": [], "types": "Skin, and others", "namespaces": ["A"]},
            Mention("x", within=Selection(types=("Skin, and others",), namespaces=("A",))),
        ),
        ({"mention": "gout", "gold": None}, Mention("gout")),
        ({"mention": "gout", "gold": "-1"}, Mention("gout", gold=())),
        ({"mention": "gout", "ids": []}, Mention("gout", gold=())),
        ({"mention": "x", "gold": "D001943|D010051"}, Mention("x", gold=TWO)),
        ({"mention": "x", "id": "D001943,D010051"}, Mention("x", gold=TWO)),
        ({"mention": "x", "ids": ["D001943", "D010051"]}, Mention("x", gold=TWO)),
        ({"mention": "x", "ids": ["A:1+A:2"]}, Mention("x", gold=(ALL,))),
        # a whole pair in JSON
        ({"mention": "\U0001d4b3", "document_id": "\U0001d4b3"}, Mention("𝒳", document_id="𝒳")),
        (
            {"mention": "x", "document_id": 7, "spans": [[0, 4], [9, 12]], "type": "T", "y": [1]},
            Mention("x", ((0, 4), (9, 12)), None, "T", "7"),
        ),
    ],
)
def test_records(tmp_path: Path, record: dict[str, object], mention: Mention) -> None:
    assert read(tmp_path, json.dumps(record) + "\r\n") == [mention]


def test_our_own_output(tmp_path: Path) -> None:
    part = Part("gout", candidates=(Candidate("MESH:D006073", "Gout", "gout", 1.0),))
    mention, file = Mention("gout", ((2, 6),), TWO, document_id="d"), io.StringIO()
    writing.write("jsonl", [(None, [Prediction(mention, (part,))])], file)
    assert read(tmp_path, file.getvalue()) == [Mention("gout", ((2, 6),), document_id="d")]


def test_documents(tmp_path: Path) -> None:
    lines = [
        '{"id": 7, "abstract": "Gout.", "title": "On 🦶"}',
        '{"pmid": "8", "text": "A-T", "title": null}',
        '{"text": ""}',
        '{"mention": "gout", "text": "It is gout."}',
    ]
    title, abstract = (
        Passage("On 🦶", 0, {"type": "title"}),
        Passage("Gout.", 5, {"type": "abstract"}),
    )
    assert read(tmp_path, "\n".join(lines)) == [
        Document("7", (title, abstract)),
        Document("8", (Passage("A-T", 0, {"type": "text"}),)),
        Document("3", ()),
        Mention("gout"),
    ]


BAD = {
    '{"text": 7}': "'text' is not a text",
    '{"id": ["a"], "text": "x"}': "the id of the document is neither a text nor a number",
    '{"mention": "go': 'the line is not JSON (Unterminated string starting at: line 1 column 13 (char 12)): \'{"mention": "go\'; expected',
    "": "the line is not JSON (Expecting value",
    "[" * 100_000: "the line is not JSON (",
    "[1]": "the line is not a JSON object: '[1]'",
    '{"name": "gout"}': "the object has no text under 'mention'",
    '{"mention": 7}': "the object has no text under 'mention'",
    '{"mention": ""}': "the mention is empty",
    '{"mention": "x", "gold": 7}': "the ids are neither a text nor a list of texts",
    '{"mention": "x", "ids": [7]}': "the ids are neither a text nor a list of texts",
    '{"mention": "x", "spans": [4]}': "'spans' is not a list of [start, end] in whole numbers",
    '{"mention": "x", "spans": [[4, 4]]}': "a span does not end behind its start",
    '{"mention": "x", "type": 3}': "'type' and 'document_id' must be texts",
    **{
        f'{{"mention": "x", "{key}": {value}}}': f"'{key}' is neither a text nor a list of texts"
        for key, value in (
            ("under", "7"),
            ("under", '{"id": "A:1"}'),
            ("not_under", '["A:1", 2]'),
            ("types", '""'),
            ("namespaces", '[" "]'),
            ("namespaces", "false"),
        )
    },
    '{"mention": "x", "schema": 2}': "schema 2 is not known; this version reads schema 1",
    **{
        f'{{"mention": "x", "{key}": "\\ud800"}}': "the line is not JSON (it holds half a surrogate pair, which is no Unicode text)"
        for key in ("mention", "document_id", "type", "gold", "id", "other")
    },
    '{"mention": "x", "ids": ["\\udfff"]}': "the line is not JSON (it holds half a surrogate pair",
    **{
        f'{{"mention": "x", "spans": [[0, {end}]]}}': "'spans' is not a list of [start, end] in whole numbers"
        for end in ("Infinity", "NaN", "4.0", "true", '"4"', "null")
    },
    '{"mention": "x", "spans": [[0, '
    + "9" * 5000
    + "]]}": "the line is not JSON (Exceeds the limit",
    '{"mention": "' + "a" * 200_000 + '"}': "the mention has 200,000 characters",
}


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_bad_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{line}\n{{"mention": "gout"}}\n')
    assert refused(jsonl.read, path, f", line 1: {BAD[line]}") == [Mention("gout")]


VALUE = st.none() | st.booleans() | st.integers() | st.floats() | st.text("aD1|+, ", max_size=5)
JSON = VALUE | st.lists(VALUE | st.lists(VALUE, max_size=3), max_size=3)
KEYS = st.sampled_from(["mention", "gold", "id", "ids", "spans", "type", "document_id", "schema"])


@given(st.dictionaries(KEYS, JSON))
def test_any_object_is_read_or_refused_with_its_line(
    tmp_path_factory: pytest.TempPathFactory, record: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("jsonl")
    errors: list[InputError] = []
    mentions = read(folder, json.dumps(record), on_error=errors.append)
    assert len(mentions) + len(errors) == 1
    assert all(error.line == 1 for error in errors)
