"""What other vocabularies lend: which concepts are the same, names, and parents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary import inspection, lending
from linker.dictionary.lending import Joins, Lending
from linker.records import Concept, IdMapping, Name
from linker.text.normalize import normalize

OURS = (
    "id\tname\tsynonyms\talt_ids\nM:1\tfever\theat|Hot-head\t\n"
    "M:2\tcough\t\tD:8\nM:3\tflu\t\tD:8\nM:4\tsneezing\t\t\n"
)
DISEASES = """format-version: 1.2
data-version: 7

[Term]
id: D:1
name: pyrexia
synonym: "HOT head" EXACT []
synonym: "ague" EXACT []
synonym: "summer fever" NARROW []
synonym: "tussis" EXACT []
xref: M:1

[Term]
id: D:2
name: tussis
synonym: "coughing" EXACT []
xref: M:2

[Term]
id: D:8
name: catarrh

[Term]
id: D:9
name: hiccup
xref: EFO:1

[Term]
id: D:10
name: obsolete sneeze
is_obsolete: true
xref: M:4
"""
MAPPINGS = (
    "subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\n"
    "O:1\tpyrexia\tskos:exactMatch\tM:1\tfever\n"
    "O:4\tsternutation\tskos:exactMatch\tM:4\t\n"
    "O:4\tsternutation\tskos:exactMatch\tN:4\tsneezing fit\n"
    "O:5\tobsolete yawn\tskos:exactMatch\tM:4\t\n"
    "O:6\tyawn\tskos:broadMatch\tM:4\t\n"
    "O:7\tunknown\tskos:exactMatch\tN:7\t\n"
)


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def ours(tmp_path: Path) -> Dictionary:
    return Dictionary.read(saved(tmp_path / "ours.tsv", OURS))


@pytest.fixture
def diseases(tmp_path: Path) -> Path:
    return saved(tmp_path / "d.obo", DISEASES)


@pytest.fixture
def mappings(tmp_path: Path) -> Path:
    return saved(tmp_path / "m.sssom.tsv", MAPPINGS)


def outcomes(account: Lending) -> dict[tuple[str, str], str]:
    return {(n.name.concept_id, n.name.text): n.outcome for n in account.names}


def lend(
    ours: Dictionary, *paths: Path, form: Callable[[str], str] = normalize
) -> tuple[Dictionary, Lending]:
    lenders = [lending.read(path) for path in paths]
    account = lending.consider(ours.columns, lenders, form)
    return ours.with_lent_names(account), account


def lent(dictionary: Dictionary) -> list[tuple[str, str, str, str]]:
    names = [dictionary.name(int(row)) for row in dictionary.lent_rows]
    return [(name.concept_id, name.text, name.kind, name.source) for name in names]


def test_what_becomes_of_each_name(ours: Dictionary, diseases: Path) -> None:
    borrower, account = lend(ours, diseases)
    assert outcomes(account) == {
        ("D:1", "pyrexia"): "lent",
        ("D:1", "HOT head"): "known already",
        ("D:1", "ague"): "lent",
        ("D:1", "summer fever"): "kind not lent",
        ("D:1", "tussis"): "comes to several concepts",
        ("D:2", "tussis"): "comes to several concepts",
        ("D:2", "coughing"): "lent",
        ("D:8", "catarrh"): "concept joins several",
        ("D:9", "hiccup"): "concept joins none",
        ("D:10", "obsolete sneeze"): "concept is obsolete",
    }
    assert lent(borrower) == [
        ("M:1", "pyrexia", "exact", "d.obo"),
        ("M:1", "ague", "exact", "d.obo"),
        ("M:2", "coughing", "exact", "d.obo"),
    ]
    (report,) = account.lenders
    assert (report.joined, report.ambiguous, report.not_joined) == (2, 1, 1)
    assert sum(report.names.values()) == len(account.names)
    source = borrower.sources[-1]
    assert (source.file, source.format, source.release) == ("d.obo", "obo, names only", "7")
    assert source.concepts == 2  # concepts that lend
    assert not len(ours.lent_rows)  # untouched


@pytest.mark.parametrize(
    ("preferred", "exact", "narrow", "is_another"),
    [
        ("cough", "", "", True),
        ("cough", "heat", "", True),  # as many names are of the one as of the other
        ("cough", "heat|hot head", "", False),
        ("cough", "", "heat|hot head", True),  # narrow names say nothing
        ("pyrexia", "cough|flu", "", False),  # nor do exact ones alone, which are often broad
        ("heat", "cough|flu", "", False),
        ("ague", "", "", False),  # both have this name
    ],
)
def test_a_concept_that_is_another_by_name_lends_nothing(
    tmp_path: Path, preferred: str, exact: str, narrow: str, is_another: bool
) -> None:
    """It refers to fever, and has one name that the dictionary lacks."""
    rows = "M:1\tfever\theat|hot head|ague\nM:2\tcough\tague\nM:3\tflu\t\n"
    ours = Dictionary.read(saved(tmp_path / "ours.tsv", "id\tname\tsynonyms\n" + rows))
    row = f"D:1\t{preferred}\ttussive|{exact}\t{narrow}\tM:1\n"
    theirs = saved(tmp_path / "d.tsv", "id\tname\tsynonyms\tnarrow\txrefs\n" + row)
    account = lending.consider(ours.columns, [lending.read(theirs)])
    outcome = "names are of another concept" if is_another else "lent"
    assert outcomes(account)["D:1", "tussive"] == outcome
    (report,) = account.lenders
    assert (report.joined, report.contradicted) == (1, int(is_another))


def test_labels_are_names_over_two_steps(ours: Dictionary, mappings: Path, diseases: Path) -> None:
    borrower, account = lend(ours, mappings)
    assert lent(borrower) == [
        ("M:4", "sneezing fit", "exact", "m.sssom.tsv"),
        ("M:1", "pyrexia", "exact", "m.sssom.tsv"),
        ("M:4", "sternutation", "exact", "m.sssom.tsv"),
    ]
    assert outcomes(account)["O:5", "obsolete yawn"] == "concept is obsolete"
    assert outcomes(account)["O:7", "unknown"] == "concept joins none"
    (report,) = account.lenders
    assert report.unused_mappings == 1
    assert (report.joined, report.not_joined) == (5, 2)  # M:1 and M:4 too; O:7 and N:7
    both = outcomes(lend(ours, mappings, diseases)[1])  # the first to have a name lends it
    assert (both["O:1", "pyrexia"], both["D:1", "pyrexia"]) == ("lent", "lent already")


def test_lent_names_are_kept(ours: Dictionary, diseases: Path, tmp_path: Path) -> None:
    borrower = ours.lend(diseases)
    borrower.save(tmp_path / "saved")
    again = Dictionary.load(tmp_path / "saved")
    assert lent(again) == lent(borrower)
    row = list(again.names).index("ague")
    assert again.name(row) == Name("ague", "M:1", "exact", source="d.obo")
    assert (again.lender(row), again.lender(0)) == ("d.obo", "")
    assert [name[1] for name in lent(again.without(again.lent_rows[:1]))] == ["ague", "coughing"]
    added = again.add([("the ague", ["M:1"]), ("ague", ["M:1"])])
    assert lent(added) == lent(borrower)
    assert not len(added.lent_rows[added.lent_rows >= len(again.names)])
    assert inspection.stats(again)["lent_names"] == {"d.obo": 3}


REFERENCES = (
    "subject_id\tpredicate_id\tobject_id\tsubject_label\tobject_label\n"
    "O:1\tskos:exactMatch\tM:1\tpyrexia\tfever\n"
    "O:2\tskos:broadMatch\tM:1\t\t\n"  # M:1 is broader than O:2
    "M:2\tskos:narrowMatch\tO:3\t\t\n"
    "M:2\trdfs:subClassOf\tO:4\t\t\n"
    "O:5\trdfs:subClassOf\tM:2\t\t\n"  # of which nobody says what O:5 is to M:2
    "O:6\tskos:exactMatch\tD:8\t\t\n"  # an alternative id of M:2: no chains
    "O:7\tskos:exactMatch\tM:2\tobsolete cough\t\n"
)


def test_what_files_say_of_other_ids_is_kept(
    ours: Dictionary, diseases: Path, tmp_path: Path
) -> None:
    borrower = ours.lend(saved(tmp_path / "r.sssom.tsv", REFERENCES), diseases)
    borrower.save(tmp_path / "saved")
    again = Dictionary.load(tmp_path / "saved").add([("ague", ["M:1"])])

    def also(row: int) -> list[tuple[str, str, str]]:
        found = again.also(row, ["o", "D"])  # in any case
        return [(other.id, other.predicate, other.source) for other in found]

    assert also(0) == [
        ("O:1", "skos:exactMatch", "r.sssom.tsv"),
        ("O:2", "skos:narrowMatch", "r.sssom.tsv"),
        ("D:1", "oboInOwl:hasDbXref", "d.obo"),
    ]
    assert also(1) == [
        ("O:3", "skos:narrowMatch", "r.sssom.tsv"),
        ("O:4", "rdfs:subClassOf", "r.sssom.tsv"),
        ("D:2", "oboInOwl:hasDbXref", "d.obo"),
        ("D:8", "oboInOwl:hasAlternativeId", "ours.tsv"),
    ]
    assert also(3) == []  # the D:10 that refers to M:4 is obsolete
    assert [other.id for other in ours.also(1, ["O", "D", "M"])] == ["D:8"]
    twice = ours.lend(diseases).lend(saved(tmp_path / "r.sssom.tsv", REFERENCES))
    assert [other.id for other in twice.also(0, ["O", "D"])] == ["D:1", "O:1", "O:2"]


# which concepts are the same


def maps(subject: str, target: str, predicate: str = "skos:exactMatch") -> IdMapping:
    return IdMapping(subject, "", predicate, target, "")


@pytest.fixture
def medic_like(tmp_path: Path) -> Dictionary:
    """Row 0: MESH:D900001, row 1: MESH:D900002, row 2: OMIM:900003."""
    (tmp_path / "m.tsv").write_text(
        "id\tname\talt_ids\txrefs\n"
        "MESH:D900001\tfever\tDOID:11|DOID:12\tUMLS_CUI:C0000001\n"
        "MESH:D900002\tcough\tDOID:12\t\n"
        "MIM:900003\tflu\t\tORPHA:3\n"
    )
    return Dictionary.read(tmp_path / "m.tsv")


@pytest.mark.parametrize(
    ("concept", "rows"),
    [
        (Concept("MSH:D900001", "x"), (0,)),
        (Concept("DOID:11", "x"), (0,)),  # an alternative id of ours
        (Concept("DOID:12", "x"), (0, 1)),
        (Concept("DOID:12", "x", xrefs=("MESH:D900002",)), (1,)),  # which is stronger
        (Concept("X:1", "x", alt_ids=("MESH:D900002",)), (1,)),
        (Concept("X:1", "x", xrefs=("MIM:900003", "EFO:1")), (2,)),
        (Concept("X:1", "x", xrefs=("MESH:D900001", "DOID:12")), (0, 1)),
        (Concept("UMLS:C0000001", "x"), (0,)),  # which ours refers to
        (Concept("X:1", "x", xrefs=("Orphanet:3",)), (2,)),  # both refer to it: two steps
        (Concept("X:1", "x", xrefs=("EFO:1",)), ()),
        (Concept("900003", "x"), ()),  # a bare id is of no known vocabulary
    ],
)
def test_concepts_join_by_ids_and_references(
    medic_like: Dictionary, concept: Concept, rows: tuple[int, ...]
) -> None:
    assert Joins(medic_like.columns, []).rows(concept) == rows


def test_the_fewest_steps_decide_equal_ones_both_and_cycles_end(medic_like: Dictionary) -> None:
    near, far = maps("X:1", "MESH:D900001"), [maps("X:1", "Y:1"), maps("Y:1", "MESH:D900002")]
    for mappings, rows in (
        ([*far, near], (0,)),
        (far, (1,)),
        ([near, maps("MIM:900003", "X:1")], (0, 2)),
        ([maps("X:1", "X:2", "owl:equivalentClass"), maps("X:2", "X:1"), maps("X:2", "X:2")], ()),
    ):
        assert Joins(medic_like.columns, mappings).rows(Concept("X:1", "x")) == rows


# parents


def table(path: Path, text: str) -> Path:
    lines = [line + "\t" * (4 - line.count("\t")) for line in text.splitlines()]
    path.write_text("\n".join(["id\tname\tsynonyms\tparents\talt_ids", *lines]) + "\n")
    return path


def read(tmp_path: Path, text: str) -> Dictionary:
    return Dictionary.read(table(tmp_path / "small.tsv", text))


def parents(dictionary: Dictionary) -> dict[str, list[str]]:
    return {i: list(dictionary.concept(row).parents) for row, i in enumerate(dictionary.ids)}


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (  # over unknown parents, in a cycle
            "A:1\ttop\nA:2\tside\nA:9\tleaf\n",
            "A:1\ttop\nA:2\tside\nU:1\tu\t\tA:1|U:2\nU:2\tv\t\tA:2|U:1\nA:9\tleaf\t\tU:1\n",
            {"A:1": [], "A:2": [], "A:9": ["A:1", "A:2"]},
        ),
        (  # only as far as it must
            "A:1\ttop\nA:2\tmiddle\nA:3\tleaf\n",
            "A:1\ttop\nA:2\tmiddle\t\tA:1\nA:3\tleaf\t\tA:2\n",
            {"A:1": [], "A:2": ["A:1"], "A:3": ["A:2"]},
        ),
        (  # over the concept itself under another id
            "A:1\ttop\nA:2\tmerged\t\t\tA:3\n",
            "A:1\ttop\nA:2\tspecial\t\tA:3\nA:3\tgeneral\t\tA:1\n",
            {"A:1": [], "A:2": ["A:1"]},
        ),
        (  # concepts that the lender does not know keep their parents
            "A:1\ta\nA:2\tb\t\tB:1\nB:1\tc\nB:2\td\t\tB:1\n",
            "A:1\ta\nA:2\tb\t\tA:1\n",
            {"A:1": [], "A:2": ["A:1"], "B:1": [], "B:2": ["B:1"]},
        ),
    ],
)
def test_the_way_to_a_parent_that_is_known(
    tmp_path: Path, ours: str, theirs: str, expected: dict[str, list[str]]
) -> None:
    lent = read(tmp_path, ours).with_parents(read(tmp_path, theirs))
    assert parents(lent) == expected


LITERALS = """subject_label\tpredicate_id\tobject_id\tsubject_type
febrile state\tskos:exactMatch\tM:1\trdfs literal
hot head\tskos:closeMatch\tM:1\trdfs literal
achoo\tskos:exactMatch\tN:4\trdfs literal
Fever\tskos:exactMatch\tM:4\trdfs literal
nowhere\tskos:exactMatch\tN:9\trdfs literal
"""


def test_texts_of_mappings_are_lent(ours: Dictionary, mappings: Path, tmp_path: Path) -> None:
    literals = saved(tmp_path / "l.sssom.tsv", LITERALS)
    dictionary, account = lend(ours, literals, mappings)
    assert [name[:3] for name in lent(dictionary) if name[3] == "l.sssom.tsv"] == [
        ("M:1", "febrile state", "exact"),
        ("M:4", "achoo", "exact"),  # over a mapping of the other file
    ]
    assert outcomes(account)["M:4", "Fever"] == "known already"
    assert outcomes(account)["N:9", "nowhere"] == "concept joins none"
    assert account.lenders[0].unused_mappings == 1
    assert not any(reference.id == "" for of in account.references.values() for reference in of)
