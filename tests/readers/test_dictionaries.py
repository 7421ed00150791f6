"""Recognising dictionary formats, and bad files in each of them."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from linker.errors import InputError, LinkerError, Skip
from linker.readers import dictionaries

MEDIC = "# Fields:\n# DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\tSlimMappings\n#\n"
GOOD = {
    "medic": MEDIC + "sheep fever\tMESH:D900001\t\t\t\t\t\t\t\n",
    "obo": "format-version: 1.2\n\n[Term]\nid: X:1\nname: sheep fever\n",
    "rrf": "C9000001|ENG|P|L1|PF|S1|Y|A1||||AAA|PT|1|sheep fever|0|N||\n",
    "biosyn": "D900001|900001||sheep fever|ovine fever\n",
    "table": "id\tname\nX:1\tsheep fever\n",
}
ISHMAEL = "Call me Ishmael.\nSome years ago, never mind how long precisely.\n"


@pytest.fixture(params=GOOD)
def format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a_file"


def message(path: Path, format: str) -> str:
    with pytest.raises(InputError) as caught:
        list(dictionaries.read(path, format))
    return str(caught.value)


def test_every_format_is_recognised_and_read(path: Path, format: str) -> None:
    path.write_text(GOOD[format])
    assert dictionaries.detect(path) == format
    assert [c.name for c in dictionaries.read(path, format)] == ["sheep fever"]
    assert dictionaries.release(path, format) == ""


MORE = {
    "medic": "goat fever\tMESH:D900002\t\t\t\t\t\t\t\n",
    "obo": "[Term]\nid: X:2\nname: goat fever\n",
    "rrf": "C9000002|ENG|P|L1|PF|S1|Y|A1||||AAA|PT|1|goat fever|0|N||\n",
    "biosyn": "D900002||goat fever\n",
    "table": "X:2\tgoat fever\n",
}


@pytest.mark.parametrize("bad", [b"a\x00b\n", b"na\xefve\n", b"a" * 100_001 + b"\n"])
def test_a_line_that_is_no_text_is_a_bad_record(path: Path, format: str, bad: bytes) -> None:
    above = b"[Term]\n" if format == "obo" else b""  # a term of its own, which goes with its line
    path.write_bytes(GOOD[format].encode() + above + bad + MORE[format].encode())
    assert dictionaries.detect(path) == format
    with pytest.raises(
        InputError,
        match=r": the file is binary|: byte 0xef is not UTF-8|: the line has more than 100,000 characters",
    ):
        list(dictionaries.read(path, format))
    skip = Skip()
    assert [c.name for c in dictionaries.read(path, format, on_error=skip)] == [
        "sheep fever",
        "goat fever",
    ]
    assert dictionaries.release(path, format) == ""
    assert skip.count == 1


def test_a_umls_folder_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "MRCONSO.RRF").write_text(GOOD["rrf"])
    assert dictionaries.detect(tmp_path) == "rrf"


def test_not_a_dictionary(path: Path, tmp_path: Path) -> None:
    path.write_text(ISHMAEL)
    with pytest.raises(InputError) as caught:
        dictionaries.detect(path)
    assert str(caught.value) == (
        f"{path}: is not a dictionary in a format that linker knows: 'Call me Ishmael.'; "
        "expected one of medic, obo, rrf, biosyn, table; name its format with --dict-format"
    )
    path.unlink()
    with pytest.raises(
        InputError, match="is not a dictionary in a format that linker knows; expected one of"
    ):
        dictionaries.detect(tmp_path)


def test_prose_in_the_name_of_each_format(path: Path, format: str) -> None:
    path.write_text(ISHMAEL)
    assert message(path, format).startswith(f"{path}, line 1: ")


def test_an_empty_file(path: Path, format: str) -> None:
    path.write_text("\n")
    with pytest.raises(
        InputError, match="the file is empty; expected a dictionary; check the path"
    ):
        dictionaries.detect(path)
    path.write_text("")
    expected = f"{path}: the file holds no concepts in the format {format}; check the path and --dict-format"
    assert message(path, format) == expected


def test_standard_input_is_refused() -> None:
    with pytest.raises(
        LinkerError, match="a dictionary cannot be read from standard input; name a file"
    ):
        dictionaries.detect("-")


def test_an_unknown_format(path: Path) -> None:
    for call in (
        lambda: list(dictionaries.read(path, "owl")),
        lambda: dictionaries.release(path, "owl"),
    ):
        with pytest.raises(
            LinkerError,
            match="there is no dictionary format 'owl'; choose one of medic, obo, rrf, biosyn, table",
        ):
            call()


def test_languages_and_sources_are_for_umls_only(path: Path) -> None:
    path.write_text(GOOD["table"])
    for options in ({"languages": ("FRE",)}, {"sources": ("MSH",)}):
        with pytest.raises(
            LinkerError,
            match="languages and sources can be chosen of UMLS files only, and this is table; leave them out",
        ):
            list(dictionaries.read(path, "table", **options))
    path.write_text(GOOD["rrf"])
    assert [c.name for c in dictionaries.read(path, "rrf", languages=["ENG"], sources=["AAA"])] == [
        "sheep fever"
    ]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_stream_gives_what_its_file_gives(path: Path, format: str, pack: type[bytes]) -> None:
    path.write_bytes(pack((GOOD[format] + MORE[format]).encode()))
    stream = io.BytesIO(path.read_bytes())
    assert dictionaries.detect(stream) == format
    assert dictionaries.release(stream, format) == dictionaries.release(path, format)
    assert stream.tell() == 0
    concepts = list(dictionaries.read(path, format))
    assert [concept.name for concept in concepts] == ["sheep fever", "goat fever"]
    assert list(dictionaries.read(stream, format)) == concepts


def test_parents_beside_an_open_file_are_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("MRSTY.RRF").write_text("C9000001|T047|||||\n")
    stream = io.BytesIO(GOOD["rrf"].encode())
    assert [concept.types for concept in dictionaries.read(stream, "rrf")] == [()]
    assert "upload: there is no MRSTY.RRF, so the concepts have no semantic types" in caplog.text
