"""Recognising dictionary formats, and bad files in each of them."""

from __future__ import annotations

import gzip
import io
from functools import partial
from pathlib import Path

import pytest

from linker.errors import InputError
from linker.io import dictionaries

from .conftest import refused

MEDIC = "# Fields:\n# DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\tSlimMappings\n#\n"
GOOD = {
    "medic": MEDIC + "sheep fever\tMESH:D900001\t\t\t\t\t\t\t\n",
    "obo": "format-version: 1.2\n\n[Term]\nid: X:1\nname: sheep fever\n",
    "rrf": "C9000001|ENG|P|L1|PF|S1|Y|A1||||AAA|PT|1|sheep fever|0|N||\n",
    "biosyn": "D900001|900001||sheep fever|ovine fever\n",
    "icd10cm": f"00001 X01     1 {'sheep fever':60} sheep fever\n",
    "table": "id\tname\nX:1\tsheep fever\n",
}
ISHMAEL = "Call me Ishmael.\nSome years ago, never mind how long precisely.\n"


@pytest.fixture(params=GOOD)
def format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a_file"


MORE = {
    "medic": "goat fever\tMESH:D900002\t\t\t\t\t\t\t\n",
    "obo": "[Term]\nid: X:2\nname: goat fever\n",
    "rrf": "C9000002|ENG|P|L1|PF|S1|Y|A1||||AAA|PT|1|goat fever|0|N||\n",
    "biosyn": "D900002||goat fever\n",
    "icd10cm": f"00002 X02     1 {'goat fever':60} goat fever\n",
    "table": "X:2\tgoat fever\n",
}


@pytest.mark.parametrize("bad", [b"a\x00b\n", b"na\xefve\n", b"a" * 100_001 + b"\n"])
def test_a_line_that_is_no_text_is_a_bad_record(path: Path, format: str, bad: bytes) -> None:
    above = b"[Term]\n" if format == "obo" else b""  # a term of its own, which goes with its line
    path.write_bytes(GOOD[format].encode() + above + bad + MORE[format].encode())
    assert dictionaries.detect(path) == format
    line = (GOOD[format].encode() + above).count(b"\n") + 1
    kept = refused(partial(dictionaries.read, format=format), path, line)
    assert [c.name for c in kept] == ["sheep fever", "goat fever"]
    assert dictionaries.release(path, format) == ""


def test_not_a_dictionary(path: Path, tmp_path: Path) -> None:
    path.write_text(ISHMAEL)
    with pytest.raises(InputError):
        dictionaries.detect(path)
    path.unlink()
    with pytest.raises(InputError):
        dictionaries.detect(tmp_path)


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
