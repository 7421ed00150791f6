"""BioC XML and JSON: structure, ids, damaged and hostile files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import bioc as library
import pytest

from linker.errors import InputError, Skip
from linker.io import bioc, mentions
from linker.records import (
    Candidate,
    Document,
    GoldGroup,
    Mention,
    Part,
    Passage,
    Prediction,
    Relation,
    Selection,
)

from .conftest import refused, written

DATA = Path(__file__).parent.parent / "data"
PASSAGE = "<passage><offset>0</offset><text>Gout hurts</text>{}</passage>"
ANNOTATION = '<annotation id="1"><location offset="{}" length="{}"/><text>{}</text></annotation>'


def read(folder: Path, content: str | bytes, **options: Skip) -> list[Document]:
    path = folder / "x.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(bioc.read(path, **options))


def collection(*documents: str) -> str:
    body = "".join(f"<document>{document}</document>\n" for document in documents)
    return f"<collection><source/><date/><key/>\n{body}</collection>"


def test_structure_and_offsets() -> None:
    first, second = bioc.read(DATA / "mini.bioc.xml")
    assert [p.offset for p in first.passages] == [0, 26]
    assert first.text == "Breast and ovarian cancer Gout hurts. So does β-thalassaemia."
    assert [(m.annotation_id, m.spans, m.metadata["bioc:in"]) for m in first.mentions] == [
        ("D1", (), ""),
        ("T1", ((0, 6), (19, 25)), "0"),
        ("T2", ((11, 25),), "0"),
        ("T3", ((26, 30),), "1"),
        ("T4", ((46, 60),), "1"),
    ]
    kept = {"type": "Disease", "MESH": "D001943", "note": "split", "bioc:in": "0"}
    assert first.mentions[1].metadata == kept
    assert first.relations == (
        Relation("CID", (("Disease", "T2"),), "R2", {"type": "CID", "bioc:in": ""}),
        Relation("pair", (("left", "T3"), ("right", "T4")), "R1", {"type": "pair", "bioc:in": "1"}),
    )
    told = {"bioc:source": "hand & written", "bioc:date": "2026-01-02"}
    told |= {"bioc:key": "mini.key", "bioc:infon:license": "CC0"}
    assert first.metadata == {"journal": "None"} | told
    assert (second.text, second.mentions, second.metadata) == ("Nothing here.", (), told)


def test_gold_from_the_infons_in_order() -> None:
    first, _ = bioc.read(DATA / "mini.bioc.xml")
    assert [m.gold for m in first.mentions] == [
        (GoldGroup(("D006073",)),),  # concept_id
        (GoldGroup(("MESH:D001943",)),),  # MESH
        (GoldGroup(("MESH:D010051",)),),  # identifier
        (),  # -1
        None,
    ]


def test_selections_from_the_infons(tmp_path: Path) -> None:
    annotation = ANNOTATION.format(0, 4, "Gout").replace(
        "><location", '><infon key="linker:not_under">C</infon><location'
    )
    infons = "".join(
        f'<infon key="linker:{name}">{text}</infon>'
        for name, text in (("under", "A, B"), ("types", "T047"))
    )
    body = f"<id>1</id>{infons}{PASSAGE.format(annotation)}"
    (document,) = read(tmp_path, collection(body))
    assert document.within == Selection(under=("A", "B"), types=("T047",))
    assert document.metadata["linker:under"] == "A, B"  # is written back
    assert [mention.within for mention in document.mentions] == [Selection(not_under=("C",))]
    blank = body.replace("A, B", "A, ")
    with pytest.raises(InputError):
        read(tmp_path, collection(blank))
    assert [d.within for d in bioc.read(DATA / "mini.bioc.xml")] == [None, None]


def test_json() -> None:
    (document,) = bioc.read(DATA / "mini.bioc.json")
    assert document.text == "Gout in a “naïve” man"
    kept = {"year": "2026", "tags": '["a", "b"]', "none": "", "bioc:source": "hand"}
    assert document.metadata == kept
    (mention,) = document.mentions
    assert (mention.text, mention.annotation_id) == ("Gout", "7")
    assert mention.gold == (GoldGroup(("D006073",)), GoldGroup(("D015210",)))


def exported(path: Path, form: str) -> Path:
    """The export of PubTator in one of the forms that it has."""
    objects = json.loads((DATA / "pubtator3.json").read_text())["PubTator3"]
    lines = (json.dumps(value, ensure_ascii=False) for value in objects)
    batches = (json.dumps({"PubTator3": [value]}) for value in objects)
    texts = {
        "whole": (DATA / "pubtator3.json").read_text(),
        "indented": json.dumps({"PubTator3": objects}, indent=1),
        "lines": "\n".join(lines) + "\n\n",
        "batches": "\n".join(batches),
    }
    path.write_text(texts[form])
    return path


@pytest.mark.parametrize("form", ["whole", "indented", "lines", "batches"])
def test_an_export_of_pubtator(tmp_path: Path, form: str) -> None:
    path = exported(tmp_path / "x.json", form)
    assert mentions.detect(path) == "bioc"
    first, second = bioc.read(path)
    assert [(m.text, m.spans, m.gold) for m in first.mentions] == [
        ("SARS‐CoV‐2 pneumonia", ((0, 20),), (GoldGroup(("MESH:D000086382",)),)),
        ("gout", ((25, 29),), (GoldGroup(("MESH:D006073",)),)),
        ("TNF-α", ((31, 36),), (GoldGroup(("7124",)),)),
        ("ache", ((51, 55),), ()),
        ("patients", ((59, 67),), ()),
    ]
    assert [m.type for m in first.mentions] == ["Disease", "Disease", "Gene", "Disease", "Species"]
    assert [relation.arguments for relation in first.relations] == [(("1,0", "0"),), ()]
    assert first.passages[1].offset == 31
    assert (second.id, second.text) == ("900002", "Breast cancer.")
    assert [mention.text for mention in second.mentions] == ["Breast cancer"]


def test_span_that_does_not_match(tmp_path: Path) -> None:
    wrong, right = ANNOTATION.format(1, 4, "Gout"), ANNOTATION.format(0, 4, "Gout")
    (tmp_path / "x").write_text(collection(f"<id>9</id>{PASSAGE.format(wrong + right)}"))
    (document,) = refused(bioc.read, tmp_path / "x", 2)
    assert len(document.mentions) == 1


def passages(*texts: tuple[object, str], inside: str = "") -> str:
    return "".join(
        f"<passage><offset>{offset}</offset><text>{text}</text>{inside}</passage>"
        for offset, text in texts
    )


def sentences(*offsets: int) -> str:
    inner = "".join(
        f"<sentence><offset>{offset}</offset><text>abc</text></sentence>" for offset in offsets
    )
    return f"<passage><offset>100</offset>{inner}</passage>"


@pytest.mark.parametrize(
    "body",
    [
        "<passage><offset>0</offset></passage>",
        "<id>2</id><passage><text>A</text></passage>",
        "<id>2</id><passage><offset>x</offset></passage>",
        "<id>2</id><annotation><text>A</text></annotation>",
        *(
            f"<id>2</id>{body}"
            for body in (
                passages((0, "abc"), (10**19, "abc")),
                passages((-1, "abc")),
                passages((0, "abc"), (9, "abc"), (4, "abc")),
                passages((0, "abc"), (0, "abc")),
                sentences(0),
                sentences(100, 10**12),
                passages(("1" * 5000, "abc")),
            )
        ),
    ],
)
def test_documents_that_are_not_bioc(tmp_path: Path, body: str) -> None:
    path = tmp_path / "x"
    path.write_text(collection("<id>1</id>", body, "<id>3</id>"))
    assert [d.id for d in refused(bioc.read, path, 3)] == ["1", "3"]


def test_a_document_and_a_json_file_have_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linker.io.files.LONG_LINE", 1_000_000)
    monkeypatch.setattr("linker.io.files.WHOLE", 8_000_000)
    passage = (0, "x" * 900_000)
    document = f"<id>1</id>{passages(passage)}"
    assert len(read(tmp_path, collection(document, document))) == 2
    longer = collection(f"<id>1</id>{passages(passage, (900_001, 'x' * 300_000))}")
    with pytest.raises(InputError):
        read(tmp_path, longer)
    assert read(tmp_path, '{"documents": []' + " " * 7_900_000 + "}") == []
    with pytest.raises(InputError):
        read(tmp_path, gzip.compress(b'{"documents": []' + b" " * 8_000_000 + b"}"))


def test_external_entities_are_not_resolved(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    head = f'<!DOCTYPE collection [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
    body = collection(f"<id>1</id>{passages((0, '&x;'))}")
    with pytest.raises(InputError):
        read(tmp_path, head + body)


def read_back(folder: Path, text: str) -> list[Document]:
    path = folder / "back.xml"
    path.write_text(text, encoding="utf-8")
    return list(bioc.read(path))


def unchanged(documents: list[Document]) -> str:
    return written("bioc", *((document, ()) for document in documents))


def part(identifier: str, score: float, source: str = "") -> Part:
    return Part("x", candidates=(Candidate(identifier, "x", "x", score, source=source),))


@pytest.mark.parametrize("name", ["mini.bioc.xml", "mini.bioc.json"])
def test_unchanged_documents_come_back(tmp_path: Path, name: str) -> None:
    documents = list(bioc.read(DATA / name))
    assert read_back(tmp_path, unchanged(documents)) == documents


def test_predictions_are_infons_that_the_library_reads() -> None:
    first, _ = bioc.read(DATA / "mini.bioc.xml")
    _, breast, ovarian, gout, thalassaemia = first.mentions
    predictions = [
        Prediction(breast, (part("MESH:D001943", 0.93, source="d.obo"), Part("x"))),
        Prediction(ovarian, (Part("x"),)),
        Prediction(gout, (part("MESH:D006073", 1),)),
        Prediction(thalassaemia, (part("MESH:D017086", 0.5), part("MESH:D000740", 0.25))),
    ]
    collection = library.loads(written("bioc", (first, predictions)))
    fields = [collection.source, collection.date, collection.key, collection.infons]
    assert fields == ["hand & written", "2026-01-02", "mini.key", {"license": "CC0"}]
    (document,) = collection.documents
    title, abstract = document.passages
    annotations = [*title.annotations, *abstract.annotations]
    kept = {"type": "Disease", "MESH": "D001943", "note": "split"}
    guess, both = {"confidence": "-", "state": "model"}, {"confidence": "-|-", "state": "model"}
    assert [annotation.infons for annotation in annotations] == [
        kept | {"identifier": "MESH:D001943|-1", "score": "0.9300|-", "source": "d.obo|-"} | both,
        {"type": "Disease", "identifier": "-1"} | guess,
        {"type": "Disease", "identifier": "MESH:D006073", "score": "1.0000"} | guess,
        {"type": "Disease", "identifier": "MESH:D017086|MESH:D000740", "score": "0.5000|0.2500"}
        | both,
    ]
    assert [(loc.offset, loc.length) for loc in title.annotations[0].locations] == [(0, 6), (19, 6)]
    assert document.annotations[0].infons == {"type": "Topic", "concept_id": "D006073"}
    assert (abstract.offset, abstract.text) == (26, "Gout hurts. So does β-thalassaemia.")
    assert [node.refid for node in abstract.relations[0].nodes] == ["T3", "T4"]
    assert document.relations[0].id == "R2"


def test_characters_that_xml_cannot_hold(tmp_path: Path) -> None:
    mention = Mention("b\x01<", ((2, 5),), type="x\x00")
    kept = {"bioc:key": "<\x03>", "bioc:infon:'\"": "\x04"}
    document = Document("1&", (Passage("a\x02b\x01<", 0),), (mention,), metadata=kept)
    (back,) = read_back(tmp_path, unchanged([document]))
    (again,) = back.mentions
    assert [back.id, back.text, again.text, again.type] == ["1&", "a b <", "b <", "x "]
    assert back.metadata == {"bioc:key": "< >", "bioc:infon:'\"": " "}
