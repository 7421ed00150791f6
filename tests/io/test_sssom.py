"""Mappings between vocabularies, in SSSOM's TSV format."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.errors import InputError, Skip
from linker.io import files, sssom
from linker.records import IdMapping

METADATA = (
    "# curie_map:\n#   MONDO: http://x/MONDO_\n# license: https://x/\n"
    '# mapping_set_version: "2026-08-04"\n'
)
COLUMNS = "subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\tcomment\n"
ROW = 'MONDO:1\tfever\tskos:exactMatch\tmesh:D900001\t"a ""hot"" head"\tx\n'
FEVER = IdMapping("MONDO:1", "fever", "skos:exactMatch", "MESH:D900001", 'a "hot" head')


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("metadata", ["", METADATA])
def test_a_file_with_metadata_or_without(tmp_path: Path, metadata: str) -> None:
    path = saved(tmp_path / "m.tsv", metadata + COLUMNS + ROW)
    (mapping,) = sssom.read(path)
    assert (mapping, mapping.line) == (FEVER, metadata.count("\n") + 2)
    assert sssom.recognises(path, files.head(path))
    assert sssom.release(path) == ("2026-08-04" if metadata else "")


def test_rows_that_map_nothing_are_passed_over(tmp_path: Path) -> None:
    header = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\tsubject_type\n"
    rows = (
        "X:1\tskos:exactMatch\tNot\tY:1\towl class\n"
        "X:2\tskos:exactMatch\t\tsssom:NoTermFound\t\n"
        "\tskos:exactMatch\t\tY:3\trdfs literal\n"
        "\n"
        "X:4\tskos:closeMatch\t\tY:4\towl class\n"
    )
    (mapping,) = sssom.read(saved(tmp_path / "m.tsv", header + rows))
    assert (mapping.subject_id, mapping.predicate_id) == ("X:4", "skos:closeMatch")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a\nid\tname\n",
        COLUMNS.replace("comment", "object_id"),
        COLUMNS + "X:1\tskos:exactMatch\n",
        COLUMNS + ROW.replace("skos:exactMatch", ""),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, text: str) -> None:
    path = saved(tmp_path / "m.tsv", text)
    with pytest.raises(InputError):
        list(sssom.read(path))
    if text.startswith(COLUMNS):  # a bad row can be skipped
        path.write_text(text + ROW)
        assert list(sssom.read(path, on_error=Skip())) == [FEVER]


def test_rows_without_an_id_map_nothing_and_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = ROW.replace("MONDO:1", "") + ROW + ROW.replace("D900001", "")
    path = saved(tmp_path / "m.tsv", COLUMNS + rows)
    assert list(sssom.read(path)) == [FEVER]
    (record,) = caplog.records
    assert "2 without an id, the first in line 2" in record.getMessage()


# what can stand inside a line


@pytest.mark.data
def test_a_real_file(data: Path) -> None:
    mappings = list(sssom.read(data / "mappings" / "mondo_exactmatch_mesh.sssom.tsv.gz"))
    assert len(mappings) == 8181
    assert mappings[0] == IdMapping(
        "MONDO:0000001", "disease", "skos:exactMatch", "MESH:D004194", ""
    )
