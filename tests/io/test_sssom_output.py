"""Mappings in SSSOM's tab-separated format."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary
from linker.errors import InputError, Skip
from linker.io import files, sssom
from linker.io.outputs import ObjectSource
from linker.records import (
    Broader,
    Candidate,
    Decision,
    Document,
    IdMapping,
    Mention,
    Part,
    Prediction,
)
from linker.version import NAME, VERSION

from . import conftest

SPECIFICATION = Path(__file__).parents[3] / "shared" / "specs" / "sssom"
SCHEMA = Path(os.environ.get("LINKER_SPECS", SPECIFICATION)) / "sssom_schema.schema.json"
EXTRACT = Path(__file__).parents[1] / "data" / "sssom" / "schema.json"
NUMBERS, LISTS = {"confidence"}, {"author_label"}
MEDIC = ObjectSource("CTD_diseases.tsv.gz", "Tue Jun 06 2017", ("MESH", "OMIM"))
GOUT = Candidate("MESH:D006073", "Gout", "gout", 0.98, dense_score=0.9, confidence=0.98765)
BREAST = Candidate("MESH:D001943", "Breast Neoplasms", "breast cancer", 1.0)


def written(*predictions: Prediction, vocabulary: ObjectSource | None = MEDIC) -> str:
    decisions = any(prediction.decisions for prediction in predictions)
    return conftest.written(
        "sssom", (None, predictions), decisions=decisions, vocabulary=vocabulary
    )


def curated(*rows: Decision) -> str:
    file = io.StringIO()
    names = defaultdict(str, {"MESH:D006073": "Gout"})
    sssom.write_curated(rows, file, name=names.__getitem__, vocabulary=MEDIC)
    return file.getvalue()


def table(text: str) -> list[dict[str, str]]:
    """The rows of a file, whose comments are left out."""
    lines = io.StringIO(text[re.match(r"(?:#.*\n)*", text).end() :], newline="")  # type: ignore[union-attr]
    return list(csv.DictReader(lines, delimiter="\t", strict=True))


def test_what_is_denied_is_no_mapping() -> None:
    tea = Part("tea", candidates=(BREAST,))
    gout = Part("gout", candidates=(GOUT,), assertion="absent")
    none = Part("x", nil=True, assertion="family")
    assert [row["object_id"] for row in table(written(one(tea, gout, none)))] == ["MESH:D001943"]
    said = (
        Decision("no gout", "MESH:D006073", reviewer="ann"),
        Decision("no gout", "MESH:D1", accepted=False, reviewer="ann"),
    )
    accepted = Prediction(Mention("no gout"), (gout,), state="accepted", decisions=said)
    rows = [(r["predicate_modifier"], r["object_id"]) for r in table(written(accepted))]
    assert rows == [("Not", "MESH:D1")]


def test_a_broader_concept_stands_before_the_exact_one() -> None:
    """An import takes the last of several rows, so that the exact one wins."""
    broader = Broader("MESH:D009369", "Neoplasms", 0.875)
    unsure = Part("x", candidates=(replace(BREAST, confidence=0.25),), broader=broader)
    none = replace(unsure, candidates=(), nil=True)
    rows = table(written(one(unsure), one(none), one(none, none)))
    assert [(r["predicate_id"], r["object_id"], r["confidence"]) for r in rows] == [
        ("skos:broadMatch", "MESH:D009369", "0.875"),
        ("skos:exactMatch", "MESH:D001943", "0.25"),
        ("skos:broadMatch", "MESH:D009369", "0.875"),
        *[("skos:relatedMatch", "sssom:NoTermFound", "")] * 2,  # of parts there is no place for it
    ]
    assert {r["object_label"] for r in rows} == {"Neoplasms", "Breast Neoplasms", ""}


def one(*parts: Part, mention: Mention | str = "gout") -> Prediction:
    mention = Mention(mention) if isinstance(mention, str) else mention
    return Prediction(mention, parts)


TEA = Candidate("MESH:D1", "Tea", "tea", 0.1, confidence=0.25)
OTHER = Candidate("x y|z", "Other", "?", 0.5, source="decision")
EVERYTHING = (
    one(Part("gout", candidates=(GOUT, BREAST))),
    one(
        Part("breast cancer", candidates=(BREAST,)),
        Part("x cancer", nil=True),
        mention="breast and x cancer",
    ),
    one(Part("NA", nil=True, rejected=TEA), mention="#1 \"gout'\t"),
    one(
        Part("gout", candidates=(OTHER,)),
        mention=Mention("gouts", ((0, 5), (8, 9)), document_id="7"),
    ),
)
CURATED = (
    Decision("gout", "MESH:D006073", reviewer="Ann|B\\C", time="2026-11-23T10:00:00Z"),
    Decision("tea", "MESH:D006073", accepted=False, scope="7", release="2017"),
    Decision("a and b", "MESH:D1|OMIM:1"),
    Decision("nothing", ""),
)


def test_the_whole_file() -> None:
    text = written(EVERYTHING[0], EVERYTHING[2])
    assert text == (
        "#curie_map:\n"
        "#  MESH: http://id.nlm.nih.gov/mesh/\n"
        "#  OMIM: https://omim.org/entry/\n"
        "#  local: http://local.invalid/\n"
        f"#mapping_set_id: {re.search('https://w3id.org/sssom/mappings/[0-9a-f-]{36}', text)[0]}\n"  # type: ignore[index]
        "#license: https://w3id.org/sssom/license/unspecified\n"
        "#object_source: local:CTD_diseases.tsv.gz\n"
        '#object_source_version: "Tue Jun 06 2017"\n'
        "subject_label\tpredicate_id\tobject_id\tobject_label\tmapping_justification\tsubject_type\t"
        "mapping_tool\tmapping_tool_version\tconfidence\tcomment\n"
        "gout\tskos:exactMatch\tMESH:D006073\tGout\tsemapv:LexicalMatching\trdfs literal\t"
        f"concept-linker\t{VERSION}\t0.988\t\n"
        '"#1 ""gout\' "\tskos:exactMatch\tsssom:NoTermFound\t\t'
        "semapv:LexicalSimilarityThresholdMatching\trdfs literal\t"
        f"concept-linker\t{VERSION}\t0.75\tread as NA\n"
    )
    assert written(EVERYTHING[0], EVERYTHING[2]) == text


def test_only_what_people_decided_is_manual() -> None:
    """A rejection is `Not` on its concept; who is not sure of another claims no missing term."""
    nil = Part("gout", nil=True, rejected=GOUT)
    wrong = Decision("Gout", "MESH:D006073", accepted=False, reviewer="ann", time="2026-11-23T10")
    document = Mention("gout", ((3, 7),), document_id="7")
    cases = [
        Prediction(document, (nil,), state="open", decisions=(wrong,)),
        replace(
            one(Part("tea", nil=True), mention="tea"),
            state="no concept",
            decisions=(Decision("tea", "", scope="9"),),
        ),
        replace(one(Part("gout", candidates=(BREAST,))), state="rejected", decisions=(wrong,)),
        one(nil),
    ]
    rows = table(written(*cases))
    columns = ("object_id", "predicate_modifier", "mapping_justification", "author_label")
    by_hand, similar = "semapv:ManualMappingCuration", "semapv:LexicalSimilarityThresholdMatching"
    equal = "semapv:LexicalMatching"
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("MESH:D006073", "Not", by_hand, "ann"),
        ("sssom:NoTermFound", "", by_hand, ""),
        ("MESH:D006073", "Not", by_hand, "ann"),
        ("MESH:D001943", "", similar, ""),
        ("sssom:NoTermFound", "", equal, ""),
    ]
    comments = ["state open; written gout; in 7 at 3-7", "state no concept; document 9"]
    comments += ["state rejected; written gout", "", ""]
    assert [row["comment"] for row in rows] == comments
    assert [bool(row["mapping_tool"]) for row in rows] == [False, False, False, True, True]
    assert [row["confidence"] for row in rows] == ["", "", "", "", "0.012"]
    prediction = one(Part("gout"), mention=Mention("gout", ((0, 4),)))
    text = conftest.written("sssom", (Document("8"), [prediction]))
    assert table(text)[0]["comment"] == "document 8, characters 0-4"


@pytest.mark.parametrize(
    ("identifier", "declared", "curie"),
    [
        ("MESH:D1", ("MESH",), "MESH:D1"),
        ("MESH:D1", (), "local:MESH%3AD1"),
        ("NO:1 2", ("NO",), "NO:1%202"),
        ("D1", ("MESH",), "local:D1"),
        ("http://a.org/1", ("http",), "local:http%3A%2F%2Fa.org%2F1"),
        ("a b:1", ("a b",), "local:a%20b%3A1"),
    ],
)
def test_ids_are_curies_with_declared_prefixes(
    identifier: str, declared: tuple[str, ...], curie: str
) -> None:
    part = Part("x", candidates=(Candidate(identifier, "X", "x", 1.0),))
    text = written(one(part), vocabulary=ObjectSource(prefixes=declared))
    assert table(text)[0]["object_id"] == curie
    assert f"  {curie.split(':')[0]}: http" in text.replace('"', "")
    assert "# NO:" not in text  # YAML would read it as false
    assert "object_source" not in text


def test_rejected_and_accepted_decisions() -> None:
    rows = table(curated(*CURATED))
    assert [(row["subject_label"], row["object_id"]) for row in rows] == [
        ("gout", "MESH:D006073"),
        ("tea", "MESH:D006073"),
        ("a and b", "MESH:D1"),
        ("a and b", "OMIM:1"),
        ("nothing", "sssom:NoTermFound"),
    ]
    assert [row["predicate_modifier"] for row in rows] == ["", "Not", "", "", ""]
    assert {row["mapping_justification"] for row in rows} == {"semapv:ManualMappingCuration"}
    assert rows[0]["author_label"] == "Ann\\|B\\\\C"
    assert [rows[0]["mapping_date"], rows[1]["mapping_date"]] == ["2026-11-23", ""]
    assert [rows[1]["comment"], rows[1]["object_source_version"]] == ["document 7", "2017"]
    assert [row["object_label"] for row in rows] == ["Gout", "Gout", "", "", ""]
    assert "local:CTD_diseases.tsv.gz" in curated(*CURATED)


def metadata(text: str) -> dict[str, Any]:
    """The YAML of the comments, which is read by hand: scalars, and one map."""
    result: dict[str, Any] = {}
    for line in re.match(r"(?:#.*\n)*", text)[0].splitlines():  # type: ignore[index]
        key, _, value = line[1:].strip().partition(": ")
        holder = result["curie_map"] if line.startswith("#  ") else result
        holder[key.rstrip(":")] = json.loads(value) if value.startswith('"') else value or {}
    return result


@pytest.mark.parametrize("path", [EXTRACT, SCHEMA], ids=["extract", "whole"])
@pytest.mark.parametrize("text", [written(*EVERYTHING), curated(*CURATED)])
def test_the_schema_of_sssom(text: str, path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    if not path.is_file():
        pytest.skip(f"the schema of SSSOM is not at {path}; set LINKER_SPECS to its folder")
    schema = {**json.loads(path.read_text()), "$ref": "#/$defs/MappingSet"}
    whole = as_json(text)
    used = {row["object_id"].partition(":")[0] for row in whole["mappings"]} | {"local"}
    assert used - set(whole["curie_map"]) <= {"sssom"}
    jsonschema.validate(whole, schema)
    for name, value in (("predicate_id", None), ("subject_type", "text"), ("confidence", 2)):
        broken = {**whole, "mappings": [{**whole["mappings"][0], name: value}]}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)


def as_json(text: str) -> dict[str, Any]:
    """A file in the form that the schema describes."""
    mappings = []
    for row in table(text):
        assert None not in row
        values: dict[str, Any] = {key: value for key, value in row.items() if value}
        values |= {key: float(values[key]) for key in NUMBERS & set(values)}
        values |= {key: [values[key]] for key in LISTS & set(values)}
        mappings.append(values)
    return {**metadata(text), "mappings": mappings}


@given(st.text(), st.text(), st.floats(0, 1))
def test_any_text_comes_back(mention: str, name: str, confidence: float) -> None:
    if not "".join([mention, name]).isprintable():
        return
    candidate = Candidate("MESH:D1", name, name, 1.0, confidence=confidence)
    (row,) = table(written(one(Part(mention, candidates=(candidate,)), mention=mention)))
    assert (row["subject_label"], row["object_label"]) == (mention, name)
    assert abs(float(row["confidence"]) - confidence) <= 0.0005


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


@pytest.mark.parametrize("header_of", ["", METADATA])
def test_a_file_with_metadata_or_without(tmp_path: Path, header_of: str) -> None:
    path = saved(tmp_path / "m.tsv", header_of + COLUMNS + ROW)
    (mapping,) = sssom.read(path)
    assert (mapping, mapping.line) == (FEVER, header_of.count("\n") + 2)
    assert sssom.recognises(path, files.head(path))
    assert sssom.release(path) == ("2026-08-04" if header_of else "")


def test_rows_that_map_nothing_are_passed_over(tmp_path: Path) -> None:
    header = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\tsubject_type\n"
    rows = (
        "X:1\tskos:exactMatch\tNot\tY:1\towl class\n"
        "X:2\tskos:exactMatch\t\tsssom:NoTermFound\t\n"
        "\tskos:exactMatch\tNot\tY:3\trdfs literal\n"
        "\tskos:exactMatch\t\tY:3\trdfs literal\n"  # without the text
        "\n"
        "X:4\tskos:closeMatch\t\tY:4\towl class\n"
    )
    (mapping,) = sssom.read(saved(tmp_path / "m.tsv", header + rows))
    assert (mapping.subject_id, mapping.predicate_id) == ("X:4", "skos:closeMatch")


LITERALS = """subject_label\tpredicate_id\tobject_id\tobject_label\tsubject_type\tobject_type\tsubject_id
hot head\tskos:exactMatch\tMESH:D900001\tfever\trdfs literal\towl class\t
hot, hot head\tskos:exactMatch\tMESH_D900001\tfever\trdfs literal\towl class\tX:1
fever\tskos:exactMatch\t\thot brow\towl class\trdfs literal\tMESH:D900001
a\tskos:exactMatch\t\tb\trdfs literal\trdfs literal\t
"""


def test_texts_without_an_id_are_mapped_to_ids(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = saved(tmp_path / "m.tsv", LITERALS)
    assert sssom.recognises(path, files.head(path))
    mappings = [*sssom.read(path)]
    assert [(m.subject_id, m.subject_label, m.object_id, m.object_label) for m in mappings] == [
        ("", "hot head", "MESH:D900001", "fever"),
        ("", "hot, hot head", "MESH:D900001", "fever"),
        ("MESH:D900001", "fever", "", "hot brow"),
    ]
    assert all(mapping.is_literal for mapping in mappings)
    assert len(caplog.messages) == 1  # of the last row
    without_subject_id = LITERALS.splitlines()[0].removesuffix("\tsubject_id") + "\n"
    assert sssom.recognises(path, [without_subject_id])


def test_texts_that_linker_mapped_are_no_names_unless_a_person_confirmed_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    columns = "subject_label\tpredicate_id\tobject_id\tsubject_type\tmapping_justification"
    by_hand, by_rule = "semapv:ManualMappingCuration", "semapv:LexicalMatching"
    rows = (
        f"guess\tskos:exactMatch\tX:1\trdfs literal\t{by_rule}\t{NAME}\t\n"
        f"bulk\tskos:exactMatch\tX:1\trdfs literal\t{by_rule}\t\taccepted in bulk\n"
        f"there\tskos:exactMatch\tX:1\trdfs literal\t{by_hand}\t\tdocument 8\n"
        f"by a person\tskos:exactMatch\tX:1\trdfs literal\t{by_hand}\t\t\n"
        f"by another tool\tskos:exactMatch\tX:1\trdfs literal\t{by_rule}\tother\t\n"
    )
    metadata = "#curie_map:\n#  local: http://local.invalid/\n"
    path = saved(tmp_path / "m.tsv", f"{metadata}{columns}\tmapping_tool\tcomment\n{rows}")
    labels = [mapping.subject_label for mapping in sssom.read(path)]
    assert labels == ["by a person", "by another tool"]
    assert len(caplog.messages) == 1


def test_files_of_others_are_read_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A hospital's own prefix may be local, a percent sign a part of an id."""
    columns = "subject_id\tsubject_label\tpredicate_id\tobject_id\tsubject_type\tcomment\n"
    rows = (
        "local:1\tgout\tskos:exactMatch\tZZ:9%2C1\towl class\t\n"
        "\tpodagra\tskos:exactMatch\tlocal:1\trdfs literal\tdocument type report\n"
    )
    mappings = [*sssom.read(saved(tmp_path / "m.tsv", METADATA + columns + rows))]
    assert [(m.subject_id, m.object_id) for m in mappings] == [
        ("local:1", "ZZ:9%2C1"),
        ("", "local:1"),
    ]
    assert not caplog.messages


def test_ids_of_our_own_files_are_read_as_the_dictionary_has_them(tmp_path: Path) -> None:
    path = tmp_path / "m.tsv"
    path.write_text(curated(Decision("gout", "a b%1")), "utf-8")
    assert [mapping.object_id for mapping in sssom.read(path)] == ["a b%1"]


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


# what can stand inside a line


@pytest.mark.data
def test_a_real_file(data: Path) -> None:
    mappings = list(sssom.read(data / "mappings" / "mondo_exactmatch_mesh.sssom.tsv.gz"))
    assert len(mappings) == 8181
    assert mappings[0] == IdMapping(
        "MONDO:0000001", "disease", "skos:exactMatch", "MESH:D004194", ""
    )


def test_a_rejection_by_an_old_id_has_the_prefix_that_was_said(tmp_path: Path) -> None:
    rejected = Decision("gout", "Y:2", accepted=False, said="X:1")
    (row,) = table(curated(rejected))
    assert row["object_id"] == "X:1"
    (tmp_path / "d.tsv").write_text("id\tname\talt_ids\nY:2\tgout\tX:1\n", "utf-8")
    vocabulary = Dictionary.read(tmp_path / "d.tsv").vocabulary
    prediction = Prediction(
        Mention("gout"), (Part("gout", nil=True),), state="open", decisions=(rejected,)
    )
    text = conftest.written("sssom", (None, [prediction]), decisions=True, vocabulary=vocabulary)
    assert [row["object_id"] for row in table(text)] == ["X:1"]
    assert '#  X: "https://bioregistry.io/X:"\n' in text
