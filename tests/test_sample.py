"""The bundled sample: well formed by itself, and true to the real MEDIC where that is at hand."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from linker.text import spelling

COLUMNS = [
    "DiseaseName",
    "DiseaseID",
    "AltDiseaseIDs",
    "Definition",
    "ParentIDs",
    "TreeNumbers",
    "ParentTreeNumbers",
    "Synonyms",
    "SlimMappings",
]
Row = dict[str, str]


def parse(text: str) -> list[Row]:
    return [
        dict(zip(COLUMNS, line.split("\t"), strict=True))
        for line in text.splitlines()
        if not line.startswith("#")
    ]


def items(cell: str) -> list[str]:
    return [item for item in cell.split("|") if item]


@pytest.fixture(scope="module")
def rows(sample: Path) -> list[Row]:
    return parse(sample.read_text("utf-8"))


@pytest.fixture(scope="module")
def ids(rows: list[Row]) -> set[str]:
    return {i for row in rows for i in (row["DiseaseID"], *items(row["AltDiseaseIDs"]))}


@pytest.fixture(scope="module")
def medic(data: Path) -> dict[str, Row]:
    file = data / "medic" / "CTD_diseases_2017-06-06.tsv.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return {
        row["DiseaseID"]: row for row in parse(gzip.decompress(file.read_bytes()).decode("utf-8"))
    }


def ancestors(concept: str, table: dict[str, Row]) -> set[str]:
    found, waiting = set(), items(table[concept]["ParentIDs"])
    while waiting:
        parent = waiting.pop()
        if parent not in found:
            found.add(parent)
            waiting += items(table[parent]["ParentIDs"])
    return found


def test_the_header_names_the_columns_and_says_what_the_file_is(sample: Path) -> None:
    header = [line for line in sample.read_text("utf-8").splitlines() if line.startswith("#")]
    assert header[-3:] == ["# Fields:", "# " + "\t".join(COLUMNS), "#"]
    assert "no substitute for MEDIC" in " ".join(header)


def test_there_are_some_three_hundred_rows_with_unique_ids_and_names(rows: list[Row]) -> None:
    assert 300 <= len(rows) <= 360
    assert (
        len({row["DiseaseID"] for row in rows})
        == len({row["DiseaseName"].lower() for row in rows})
        == len(rows)
    )
    assert all(row["DiseaseName"] == row["DiseaseName"].strip() for row in rows)


def test_every_parent_is_a_row_and_all_rows_reach_the_one_root(rows: list[Row]) -> None:
    table = {row["DiseaseID"]: row for row in rows}
    assert [i for i, row in table.items() if not row["ParentIDs"]] == ["MESH:C"]
    assert all(
        "MESH:C" in ancestors(i, table) and i not in ancestors(i, table)
        for i in table
        if i != "MESH:C"
    )


def test_each_row_has_up_to_eight_different_synonyms(rows: list[Row]) -> None:
    for row in rows:
        names = [row["DiseaseName"].lower(), *(name.lower() for name in items(row["Synonyms"]))]
        assert len(set(names)) == len(names) <= 9, row
        assert len(names) > 1 or row["DiseaseID"] == "MESH:C", row


def test_some_names_and_alternative_ids_stand_under_several_concepts(rows: list[Row]) -> None:
    names = Counter(name for row in rows for name in items(row["Synonyms"]))
    assert {name: names[name] for name in ("AD", "MS", "HD", "FAP", "WS")} == {
        "AD": 3,
        "MS": 2,
        "HD": 2,
        "FAP": 2,
        "WS": 3,
    }
    assert max(Counter(i for row in rows for i in items(row["AltDiseaseIDs"])).values()) > 1


def test_the_forty_mentions_are_there_one_a_line(sample: Path) -> None:
    mentions = (sample.parent / "sample_mentions.txt").read_text("utf-8").splitlines()
    assert len(set(mentions)) == 40
    assert {"breast and ovarian cancer", "hepatitis B/C", "Louis-Bar syndrome"} <= set(mentions)


def test_the_ids_of_the_annotated_mentions_are_in_the_sample(
    sample: Path, rows: list[Row], ids: set[str]
) -> None:
    lines = [
        line.split("\t")
        for line in (sample.parent / "sample_mentions.tsv").read_text("utf-8").splitlines()
    ]
    assert {len(line) for line in lines} == {2}
    assert 55 <= len({mention for mention, _ in lines}) == len(lines)
    assert {i for _, gold in lines for i in items(gold)} <= ids
    assert ["breast and ovarian cancer", "MESH:D001943|MESH:D010051"] in lines
    primary = {row["DiseaseID"] for row in rows}
    assert [i for _, gold in lines for i in items(gold) if i not in primary] == [
        "OMIM:261600",
        "OMIM:310200",
    ]


def test_the_offsets_and_ids_of_the_documents_hold(sample: Path, ids: set[str]) -> None:
    blocks = (
        (sample.parent / "sample_documents.pubtator.txt").read_text("utf-8").strip().split("\n\n")
    )
    assert len(blocks) == 3
    nested = composites = 0
    for block in blocks:
        title, abstract, *annotations = block.split("\n")
        document, text = title.split("|")[0], title.split("|t|")[1] + " " + abstract.split("|a|")[1]
        spans = []
        for annotation in annotations:
            pmid, start, end, mention, kind, gold = annotation.split("\t")
            assert (pmid, text[int(start) : int(end)], kind) == (document, mention, "Disease")
            assert {f"MESH:{i}" for i in items(gold)} <= ids
            composites += "|" in gold
            spans.append((int(start), int(end)))
        nested += sum(a != b and a[0] <= b[0] and b[1] <= a[1] for a in spans for b in spans)
    assert (nested, composites) == (1, 2)


@pytest.mark.data
def test_ids_names_alternative_ids_and_ancestors_agree_with_medic(
    rows: list[Row], medic: dict[str, Row]
) -> None:
    for row in rows:
        real = medic[row["DiseaseID"]]
        assert row["DiseaseName"] == real["DiseaseName"]
        assert set(items(row["AltDiseaseIDs"])) <= set(items(real["AltDiseaseIDs"])), row
        assert set(items(row["ParentIDs"])) <= ancestors(row["DiseaseID"], medic), row


@pytest.mark.data
def test_no_definition_is_that_of_medic(rows: list[Row], medic: dict[str, Row]) -> None:
    written = {row["DiseaseID"]: row["Definition"] for row in rows if row["Definition"]}
    assert len(written) == 5
    assert all(text not in medic[i]["Definition"] for i, text in written.items())


def test_the_spelling_list_corrects_to_words_that_it_does_not_correct_again(sample: Path) -> None:
    pairs = spelling.read(sample.with_name("british_american.txt"))
    assert (
        len(pairs)
        == len(sample.with_name("british_american.txt").read_text(encoding="utf-8").splitlines())
        > 100
    )
    assert not pairs.keys() & set(pairs.values())
    assert spelling.correct("oesophageal tumours", pairs) == "esophageal tumors"
