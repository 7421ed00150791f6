"""Tables with a header, read and written."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker.errors import InputError
from linker.io import table
from linker.io.parsing import make_concept
from linker.records import Concept, Name

from .conftest import refused

SHEEP = Concept(
    "X:1",
    'Sheep "fever"',
    (Name('Sheep "fever"', "X:1", "preferred"), Name("a|b", "X:1"), Name("tab\there", "X:1")),
    ("X:2", "X:3"),
    ("X:11",),
    "One line,\nand C:\\new.",
    ("slim|a", "b"),
    "X",
    "merged",
    ("X:2",),
    ("MESH:D900001",),
)


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def written(*concepts: Concept) -> str:
    file = io.StringIO()
    table.write(concepts, file)
    return file.getvalue()


def names(concept: Concept) -> list[tuple[str, str, str]]:
    assert {name.concept_id for name in concept.names} == {concept.id}
    return [(name.text, name.kind, name.language) for name in concept.names]


def test_names_that_end_in_the_tag_of_a_language(tmp_path: Path) -> None:
    text = 'id\tname\tsynonyms\nX:1\t"gout"@en\tgoutte@fr|podagra|IGH@|"Gicht "@de-AT|p@xx\n'
    (concept,) = table.read(saved(tmp_path / "t.tsv", text))
    assert concept.name == "gout"
    assert names(concept) == [
        ("gout", "preferred", "en"),
        ("goutte", "exact", "fr"),
        ("podagra", "exact", ""),
        ("IGH@", "exact", ""),
        ("Gicht", "exact", "de-AT"),
        ("p@xx", "exact", ""),  # no language has this code
    ]


ONE_ID = """id\tname\tparents\talt_ids
MONDO:0001\tgout\t\thttp://purl.obolibrary.org/obo/MONDO_0009
MONDO_0001\tpodagra\t\t
<http://purl.obolibrary.org/obo/MONDO_0001>\tgouty arthritis\t\t
MONDO:0002\tsaturnine gout\tMONDO_0001\tmondo:0007
http://www.orpha.net/ORDO/Orphanet_558\tMarfan syndrome\t\tOMIMPS:154700
ORPHA:99\tother\tOrphanet_558|http://purl.obolibrary.org/obo/MONDO_0001\t
XY:1\tsheep fever\t\t
XY_1\tovine fever\t\t
XY:2\tlamb fever\txy_1\t
"""


def test_an_id_is_one_however_it_is_spelled(tmp_path: Path) -> None:
    read = {concept.id: concept for concept in table.read(saved(tmp_path / "t.tsv", ONE_ID))}
    assert {i: [name.text for name in concept.names] for i, concept in read.items()} == {
        "MONDO:0001": ["gout", "podagra", "gouty arthritis"],
        "MONDO:0002": ["saturnine gout"],
        "ORPHA:558": ["Marfan syndrome"],  # with the prefix that other ids of the file have
        "ORPHA:99": ["other"],
        "XY:1": ["sheep fever", "ovine fever"],
        "XY:2": ["lamb fever"],
    }
    assert read["MONDO:0001"].alt_ids == ("MONDO:0009",)
    assert read["MONDO:0002"].alt_ids == ("MONDO:0007",)
    assert read["MONDO:0002"].parents == ("MONDO:0001",)
    assert read["ORPHA:558"].alt_ids == ("OMIM:PS154700",)
    assert read["ORPHA:99"].parents == ("ORPHA:558", "MONDO:0001")
    assert read["XY:2"].parents == ("XY:1",)


def test_prefixes_that_nobody_knows_differ_by_case(tmp_path: Path) -> None:
    text = "id\tname\tparents\nXY:1\talpha\t\nxy:1\tbeta\tXY:1\n"
    alpha, beta = table.read(saved(tmp_path / "t.tsv", text))
    assert (alpha.id, alpha.name) == ("XY:1", "alpha")
    assert (beta.id, beta.name, beta.parents) == ("xy:1", "beta", ("XY:1",))


def test_a_table_of_others(tmp_path: Path) -> None:
    text = (
        "Name,ID,colour,Synonyms,Parents\n"
        "Sheep fever,MESH:D900001,red,ovine fever | SF||,MeSH:D900002\n\nGoat fever,X:3,,,\n"
    )
    sheep, goat = table.read(saved(tmp_path / "t.csv", text))
    assert names(sheep) == [
        ("Sheep fever", "preferred", ""), ("ovine fever", "exact", ""), ("SF", "exact", ""),
    ]  # fmt: skip
    assert (sheep.id, sheep.parents, sheep.namespace) == (
        "MESH:D900001", ("MESH:D900002",), "MESH",
    )  # fmt: skip
    assert goat == Concept("X:3", "Goat fever", goat.names, namespace="X")


def test_the_written_form() -> None:
    header, row = (line.split("\t") for line in written(SHEEP).splitlines())
    assert header == list(table.COLUMNS)
    assert row[:3] == ["X:1", '"Sheep ""fever"""', r"a\|b|tab\there"]
    assert "|".join(row[8:]) == (
        r"X:2|X:3|X:11|One line,\nand C:\\new.|slim\|a|b|merged|X:2|MESH:D900001"
    )


texts = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
    .map(str.strip)
    .filter(bool)
)
ids = st.from_regex(r"X:[a-z|\\]{1,4}", fullmatch=True)
kinds = st.sampled_from(list(table.KINDS.values()))


@st.composite
def concepts(draw: st.DrawFn) -> Concept:
    identifier, name = draw(ids), draw(texts)
    order = list(table.KINDS.values())  # as `write` groups them
    synonyms = draw(st.dictionaries(texts, kinds)).items()
    synonyms = sorted(synonyms, key=lambda item: order.index(item[1]))
    lists = [tuple(draw(st.lists(ids, max_size=3))) for _ in range(4)]
    return make_concept(
        identifier,
        name,
        dict(synonyms),
        parents=lists[0],
        alt_ids=lists[1],
        definition=draw(texts | st.just("")),
        types=tuple(draw(st.lists(texts, max_size=3))),
        status=draw(st.sampled_from(["current", "obsolete", "merged"])),
        replaced_by=lists[2],
        xrefs=lists[3],
    )


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(concepts(), max_size=3, unique_by=lambda concept: concept.id))
def test_whatever_is_written_is_read_back(tmp_path: Path, some: list[Concept]) -> None:
    assert list(table.read(saved(tmp_path / "t.tsv", written(*some)))) == some


@pytest.mark.parametrize(
    "line",
    [
        "X:1\ta\tb\tcurrent\tc",
        "\ta\t\t",
        "None\ta\t\t",
        "X:1\t \tb\t",
        "X:1\t" + "a" * 5001 + "\t\t",
        "X:1\ta\t\tdead",
    ],
)
def test_bad_rows_stop_or_are_skipped(tmp_path: Path, line: str) -> None:
    path = saved(tmp_path / "bad.tsv", f"id\tname\tsynonyms\tstatus\n{line}\nX:2\tgood\t\t\n")
    assert [c.id for c in refused(table.read, path, 2)] == ["X:2"]


DESCRIPTIONS = """\
id,name,kind,language,parent,definition
X:2,ovine fever,synonym,en,X:1,
X:3,goat fever,,en,X:1,a fever
X:2,Sheep fever,preferred term,en,X:1,hot sheep
X:1,animal disease,preferred,en,,
X:2,fièvre du mouton,Preferred,fr,X:3,very hot sheep
X:2,SF,acronym,,,
X:2,ovine fever,narrow synonym,en,X:1,
X:1,disease of animals,broad,en,,
"""


def test_a_row_for_each_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = saved(tmp_path / "t.csv", DESCRIPTIONS)
    found = goat, sheep, animal = tuple(table.read(path))
    assert [(c.id, c.parents, c.definition) for c in found] == [
        ("X:3", ("X:1",), "a fever"), ("X:2", ("X:1", "X:3"), "hot sheep"), ("X:1", (), ""),
    ]  # fmt: skip
    assert names(goat) == [("goat fever", "preferred", "en")]
    assert names(sheep) == [
        ("Sheep fever", "preferred", "en"),  # the first that is called so
        ("ovine fever", "exact", "en"),  # the first row that has it counts
        ("fièvre du mouton", "exact", "fr"),
        ("SF", "abbreviation", ""),
    ]
    assert names(animal) == [
        ("animal disease", "preferred", "en"), ("disease of animals", "broad", "en"),
    ]  # fmt: skip
    assert [c.line for c in found] == [3, 2, 5]
    assert "5 of the rows repeat an id" in caplog.text


def test_bare_ids_stay_as_they_are_or_get_a_prefix(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = (
        "id,name,parents,alt_ids,xrefs\n127009,fever,A17.0+,,208900\nA17.0+,cough,,D001260,\n"
        "MeSH:D1,flu,,,\n"
    )
    path = saved(tmp_path / "t.csv", text)
    fever, cough, flu = table.read(path)
    assert (fever.id, fever.namespace, fever.parents) == ("127009", "", ("A17.0+",))
    assert (cough.id, cough.alt_ids, flu.id) == ("A17.0+", ("D001260",), "MESH:D1")
    assert "such as 127009" in caplog.text
    fever, cough, flu = table.read(path, prefix="SCTID:")
    assert (fever.id, fever.namespace) == ("SCTID:127009", "SCTID")
    assert fever.parents == ("SCTID:A17.0+",)
    assert fever.xrefs == ("208900",)  # of another vocabulary
    assert (cough.id, cough.alt_ids, flu.id) == ("SCTID:A17.0+", ("SCTID:D001260",), "MESH:D1")
    with pytest.raises(InputError):
        list(table.read(saved(tmp_path / "t.csv", "id,name\n-1,x\n"), prefix="SCTID"))
