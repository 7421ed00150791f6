"""Recognising formats, and reading any of them."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linker.errors import InputError, Skip
from linker.io import mentions
from linker.io.formats import MENTIONS
from linker.records import GoldGroup, Mention

DATA = Path(__file__).parent.parent / "data"

HEADS = {
    "gout\nbreast and ovarian cancer, type 1|2\n": "txt",
    "": "txt",
    "gout\tD006073\n": "tsv",
    "gout\nscurvy\tD012614\n": "tsv",
    '{"mention": "gout \\"documents\\": x"}\n': "jsonl",
    '{"mention": "go': "jsonl",
    '{"mention": "gout", "passages": ["3"], "meta": {"passages": 3}}\n': "jsonl",
    '{"_id": "1|None", "id": "1", "passages": [{"infons": {}, "offset": 0}]}\n': "bioc",
    '{\n "source": "", "documents": []}': "bioc",
    '{"documents":[]}': "bioc",
    '\ufeff\n<?xml version="1.0"?>\n<collection/>': "bioc",
    "<collection/>": "bioc",
    "1||0|4||Disease||gout||D006073\n": "concept",
    "D006073||gout\n": "txt",
    "\n\n1|t|Gout\n1|a|It hurts\n1\t0\t4\tGout\tDisease\tD006073\n": "pubtator",
    "PMC12|a|It hurts\n": "pubtator",
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("content", HEADS)
def test_detect(tmp_path: Path, content: str, pack: type[bytes]) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(pack(content.encode()))
    assert mentions.detect(path) == HEADS[content]


def test_detect_folders_and_standard_input(tmp_path: Path) -> None:
    assert mentions.detect("-") == "txt"
    with pytest.raises(InputError):
        mentions.detect(tmp_path)
    (tmp_path / "1.concept").write_text("1||0|4||Disease||gout||D006073\n")
    assert mentions.detect(tmp_path) == "concept"


def texts(path: Path, *format: str, **options: Any) -> list[str]:
    return [m.text for m, _ in mentions.flatten(mentions.read(path, *format, **options))]


def test_types_of_mentions(tmp_path: Path) -> None:
    """ "Disease" includes its subtypes; loose mentions may have no type."""
    path = DATA / "mini.pubtator.txt"
    diseases = "Ataxia, breast and ovarian cancer, ovarian cancer, tremor, fatigue, Gout, scurvy"
    assert texts(path, type="Disease") == diseases.split(", ")
    assert texts(path, type="Chemical") == ["lithium"]
    path = tmp_path / "x.jsonl"
    types = {"a": "", "b": "gene", "c": "MODIFIER"}
    path.write_text("".join(f'{{"mention": "{m}", "type": "{t}"}}\n' for m, t in types.items()))
    assert texts(path, type="Disease") == ["a", "c"]


@pytest.mark.parametrize("name", [None, *sorted(set(MENTIONS) - {"concept"})])
def test_empty_file(tmp_path: Path, name: str | None) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / "x"
    path.write_bytes(b"")
    with pytest.raises(InputError):
        list(mentions.read(path, name))


def test_a_blank_line_is_an_empty_mention_so_that_output_keeps_step_with_input(
    tmp_path: Path,
) -> None:
    (tmp_path / "x").write_text("\ufeffgout\r\n  \n  scurvy \n", "utf-8")
    assert list(mentions.read(tmp_path / "x")) == [Mention("gout"), Mention(""), Mention("scurvy")]
    (tmp_path / "x").write_text("ab" * 501 + "\n")
    with pytest.raises(InputError):
        list(mentions.read(tmp_path / "x"))


BAD_LINES = {
    "txt": [b"gout", None, b"scurvy"],
    "tsv": [b"gout\tD006073", None, b"scurvy\tD012614"],
    "jsonl": [b'{"mention": "gout"}', None, b'{"mention": "scurvy"}'],
    "concept": [b"1||0|4||Disease||gout||D006073", None, b"1||9|15||Disease||scurvy||D012614"],
    "pubtator": [
        b"1|t|gout and scurvy",
        b"1\t0\t4\tgout\tDisease\tD006073",
        None,
        b"1\t9\t15\tscurvy\tDisease\tD012614",
    ],
}


@pytest.mark.parametrize("bad", [b"a\x00b", b"na\xefve", b"x" * 1_100_000])
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_line_that_is_no_text_is_a_bad_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bad: bytes
) -> None:
    monkeypatch.setattr("linker.io.files.LONG_LINE", 1_000_000)
    path = tmp_path / "x"
    path.write_bytes(b"\n".join(line or bad for line in BAD_LINES[name]) + b"\n")
    with pytest.raises(InputError):
        list(mentions.read(path, name))
    skip = Skip()
    assert texts(path, name, on_error=skip) == ["gout", "scurvy"]
    assert skip.count == 1


def test_standard_input_streams() -> None:
    script = "import sys; from linker.io import mentions\nfor m in mentions.read('-'): print(m.text, flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"gout\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"gout\n"  # before the input ends
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("gout\tC81,3|7\n", "7"),
        ('{"mention": "gout", "gold": "C81,3|7"}\n', "7"),
        ("1||0|4||Disease||gout||C81,3|208900\n", "OMIM:208900"),
        ("1|t|Gout\n1\t0\t4\tGout\tDisease\tC81,3|208900\n", "OMIM:208900"),
        (
            "<collection><source/><date/><key/><document><id>1</id><passage><offset>0</offset>"
            '<text>Gout</text><annotation id="1"><infon key="identifier">C81,3|7</infon>'
            '<location offset="0" length="4"/><text>Gout</text></annotation></passage></document>'
            "</collection>",
            "7",
        ),
    ],
)
def test_an_id_that_a_dictionary_has_is_not_split(tmp_path: Path, text: str, unknown: str) -> None:
    (tmp_path / "f").write_text(text)
    items = mentions.read(tmp_path / "f", identify={"C81,3": "X:C81,3"}.get)
    ((mention, _),) = mentions.flatten(items)
    assert mention.gold == (GoldGroup(("X:C81,3",)), GoldGroup((unknown,)))


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("second", encoding="utf-8")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"first"))
    (tmp_path / "notes.md").write_text("no text of ours", encoding="utf-8")
    assert [(d.id, d.text) for d in mentions.read_texts(tmp_path)] == [
        ("a", "first"),
        ("b", "second"),
    ]


def test_bad_texts_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"gout \xff")
    (tmp_path / "b.txt").write_bytes(b"gout \x00")
    (tmp_path / "c.txt").write_bytes(b"gout")
    with pytest.raises(InputError):
        list(mentions.read_texts(tmp_path))
    skip = Skip()
    assert [document.id for document in mentions.read_texts(tmp_path, on_error=skip)] == ["c"]
    assert skip.files == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
