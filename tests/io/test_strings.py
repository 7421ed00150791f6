"""Which texts are tables of several columns, and what is shown of them."""

from __future__ import annotations

import pytest

from linker.io import rows as tables

TABLES = {
    "t.csv": [
        "id,diagnosis,ward\n1,breast cancer,3\n2,gout,4",
        "Nr;Diagnose;Station\n1;Mamma-Ca;3",
        'id,diagnosis\n1,"cancer, breast"\n2,"a ""b"" c"',
        "patient,finding\nJane,gout\nJohn,asthma",
        "id,diagnosis",
        "id,diagnosis,note\n1,gout\n2,asthma,severe",
        "1,breast cancer\n2,gout",
        "Report of 2020\n\nid,diagnosis\n1,gout",
        "# made by hand, in 2020\nid,diagnosis\n1,gout",
    ],
    "t.tsv": [
        "id\tdiagnosis\n1\tgout",
        "id\tdiagnosis",
        "name\tICD10\ngout\tM10.9",
        "patient\tICD10\tnote\n1\tM10.9\tgout",
        "term1\tterm2\ngout\tgouty",
        "V1\tV2\n1\tgout",
        "id\tdiagnosis\nr1\tP1\tgout\nr2\tP2\tasthma",
    ],
    "t.csv.gz": ["patient,finding\nJane,gout"],
    "-": [
        "id,diagnosis,ward\n1,breast cancer,3\n2,gout,4",
        "diagnosis,ward\ngout,three",
        "id\tdiagnosis\n1\tgout",
        "mention\tid\ngout\tD006073",
    ],
}
LISTS = {
    "t.txt": [
        "",
        "breast cancer",
        "breast cancer\ngout",
        "Neoplasms, Breast",
        "Neoplasms, Breast\nCarcinoma, Lung\nGout, Acute",
        "46,XY DSD\n46,XX DSD",
        "Fructose-1,6-bisphosphatase deficiency\nalpha-1,4-glucosidase deficiency",
        "carcinoma; breast\ngout; acute",
        "gout,33\nasthma,120",
        "gout\tD006073\nasthma\tMESH:D001249|OMIM:208550\nfoo\t-1",
        "gout\tD006073\nasthma\tD001249\tseen twice",
        "gout\tMESH:D006073, MESH:D001249\nasthma\tJ45",
        "gout\tex:cancer\nasthma\tMeSH: D001249",
        'a "b, c\nd, e',
        "patient,finding\nA12,gout",
        "gout\tleft\nasthma",
    ],
    "t.csv": [
        "diagnosis\ngout",
        "Neoplasms, Breast\nCarcinoma, Lung",
        "cancer, breast\ngout\nasthma",
        "gout\nNeoplasms, Breast\nCarcinoma, Lung",
        "# made by hand\ngout",
    ],
    "t.tsv": ["gout", "disease\ngout", "gout\nasthma\tJ45"],
    "-": ["Neoplasms, Breast\nCarcinoma, Lung", "gout\tD006073\nfoo\t-1"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in TABLES.items() for t in ts])
def test_tables_are_told_from_lists(name: str, text: str) -> None:
    assert tables.table_in(name, text.split("\n")) is not None


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in LISTS.items() for t in ts])
def test_lists_are_told_from_tables(name: str, text: str) -> None:
    assert tables.table_in(name, text.split("\n")) is None


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("id,diagnosis,ward\n1,gout,3", "diagnosis"),
        ("id,mention,disease\n1,gout,asthma", "mention"),
        ("id,finding\n1,gout", "finding"),
        ("finding,ward\ngout,three", None),
    ],
)
def test_the_likely_column_is_suggested(text: str, suggested: str | None) -> None:
    needed = tables.table_in("t.csv", text.split("\n"))
    assert needed is not None
    assert needed.suggested == suggested
    first, second = (line.split(",") for line in text.split("\n"))
    assert needed.columns == [
        {"name": a, "samples": [b]} for a, b in zip(first, second, strict=True)
    ]
