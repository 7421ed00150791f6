"""Mentions as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import InputError, OnError
from linker.io import jsonl
from linker.records import Document, GoldGroup, Mention, Passage, Selection

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


def test_a_null_is_an_empty_row(tmp_path: Path) -> None:
    lines = [
        '{"mention": "gout", "id": "D006073"}',
        '{"mention": null, "id": "D001249", "spans": [[0, 4]], "document_id": 7}',
        '{"mention": " "}',
    ]
    gout, null, blank = read(tmp_path, "\n".join(lines))
    assert isinstance(gout, Mention)
    assert gout.gold is not None
    assert null == Mention("", document_id="7")  # not annotated: nothing is learnt of it
    assert blank == Mention("")


BAD = [
    '{"text": 7}',
    '{"id": ["a"], "text": "x"}',
    '{"mention": "go',
    "",
    "[" * 100_000,
    "[1]",
    '{"name": "gout"}',
    '{"mention": 7}',
    '{"mention": "x", "gold": 7}',
    '{"mention": "x", "ids": [7]}',
    '{"mention": "x", "spans": [4]}',
    '{"mention": "x", "spans": [[4, 4]]}',
    '{"mention": "x", "type": 3}',
    '{"mention": "x", "under": 7}',
    '{"mention": "x", "under": {"id": "A:1"}}',
    '{"mention": "x", "not_under": ["A:1", 2]}',
    '{"mention": "x", "types": ""}',
    '{"mention": "x", "namespaces": [" "]}',
    '{"mention": "x", "schema": 2}',
    '{"mention": "x", "other": "\\ud800"}',
    *(
        f'{{"mention": "x", "spans": [[0, {end}]]}}'
        for end in ("Infinity", "NaN", "4.0", "true", '"4"', "null", "9" * 5000)
    ),
    '{"mention": "' + "a" * 200_000 + '"}',
]


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_bad_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{line}\n{{"mention": "gout"}}\n')
    assert refused(jsonl.read, path, 1) == [Mention("gout")]


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
