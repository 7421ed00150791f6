"""BioC XML and JSON: structure, ids, damaged and hostile files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from linker.errors import InputError, Skip
from linker.readers import bioc
from linker.types import Document, GoldGroup, Relation

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
        ("T3", ((26, 30),), "1.0"),
        ("T4", ((46, 60),), "1.1"),
    ]
    assert first.mentions[1].metadata == {"type": "Disease", "MESH": "D001943", "note": "split", "bioc:in": "0"}
    assert first.relations == (
        Relation("CID", (("Disease", "T2"),), "R2", {"type": "CID", "bioc:in": ""}),
        Relation("pair", (("left", "T3"), ("right", "T4")), "R1", {"type": "pair", "bioc:in": "1.1"}),
    )
    told = {"bioc:source": "hand & written", "bioc:date": "2026-01-02", "bioc:key": "mini.key", "bioc:infon:license": "CC0"}
    assert first.metadata == {"journal": "None"} | told
    assert (second.text, second.mentions, second.metadata) == ("Nothing here.", (), told)


def test_gold_from_the_infons_in_order() -> None:
    first, _ = bioc.read(DATA / "mini.bioc.xml")
    assert [m.gold for m in first.mentions] == [
        (GoldGroup(("MESH:D006073",)),),  # concept_id
        (GoldGroup(("MESH:D001943",)),),  # MESH
        (GoldGroup(("MESH:D010051",)),),  # identifier
        (),  # -1
        None,
    ]


def test_json() -> None:
    (document,) = bioc.read(DATA / "mini.bioc.json")
    assert document.text == "Gout in a “naïve” man"
    assert document.metadata == {"year": "2026", "tags": '["a", "b"]', "none": "", "bioc:source": "hand"}
    (mention,) = document.mentions
    assert (mention.text, mention.annotation_id) == ("Gout", "7")
    assert mention.gold == (GoldGroup(("MESH:D006073",)), GoldGroup(("MESH:D015210",)))


@pytest.mark.parametrize("name", ["mini.bioc.xml", "mini.bioc.json"])
def test_gzip_bom_and_crlf(tmp_path: Path, name: str) -> None:
    content = b"\xef\xbb\xbf" + (DATA / name).read_bytes().replace(b"\n", b"\r\n")
    assert read(tmp_path, gzip.compress(content, mtime=0)) == list(bioc.read(DATA / name))


def test_many_documents_over_several_blocks(tmp_path: Path) -> None:
    text = "x" * 9_000
    body = [f"<id>{i}</id><passage><offset>0</offset><text>{text}</text></passage>" for i in range(50)]
    assert [d.id for d in read(tmp_path, collection(*body))] == [str(i) for i in range(50)]


def test_annotation_without_text_takes_it_from_the_document(tmp_path: Path) -> None:
    annotation = '<annotation id="1"><location offset="0" length="4"/></annotation>'
    (document,) = read(tmp_path, collection(f"<id>1</id>{PASSAGE.format(annotation)}"))
    assert document.mentions[0].text == "Gout"


def test_span_that_does_not_match(tmp_path: Path) -> None:
    wrong, right = ANNOTATION.format(1, 4, "Gout"), ANNOTATION.format(0, 4, "Gout")
    content = collection(f"<id>9</id>{PASSAGE.format(wrong + right)}")
    with pytest.raises(
        InputError, match=r"line 2: the text of document 9 at 1-5 is 'out ', not the mention: 'Gout'; expected offsets in char"
    ):
        read(tmp_path, content)
    skip = Skip()
    (document,) = read(tmp_path, content, on_error=skip)
    assert (skip.count, len(document.mentions)) == (1, 1)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<passage><offset>0</offset></passage>", "document without id is not BioC (it has no id)"),
        ("<id>2</id><passage><text>A</text></passage>", "document 2 is not BioC (int() argument"),
        ("<id>2</id><passage><offset>x</offset></passage>", "document 2 is not BioC (invalid literal"),
        ("<id>2</id><annotation><text>A</text></annotation>", "document 2 is not BioC ('id' is missing)"),
    ],
)
def test_document_that_is_not_bioc(tmp_path: Path, body: str, reason: str) -> None:
    content = collection("<id>1</id>", body, "<id>3</id>")
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert f", line 3: {reason}" in str(caught.value)
    assert "; expected BioC: a document with an id" in str(caught.value)
    assert [d.id for d in read(tmp_path, content, on_error=Skip())] == ["1", "3"]


def test_external_entities_are_not_resolved(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    head = f'<!DOCTYPE collection [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
    with pytest.raises(InputError, match=r"document 1 is not BioC .*Entity 'x' not defined"):
        read(tmp_path, head + collection("<id>1</id><passage><offset>0</offset><text>&x;</text></passage>"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (collection("<id>1</id>")[:-8], "line 3: the XML is broken .*; expected BioC XML or JSON; fetch or write the file again"),
        ("<html>\n<document/></html>", "line 1: the XML is no BioC: its element <html> stands where <collection> should"),
        ("<document/>", "its element <document> stands where"),
        ("<html/>", "its element <html> stands where"),
        ("plain text", "line 1: the XML is broken"),
        (b"\x7fELF\x00\x00", "the XML is broken"),
        (collection("<id>naïve</id>").encode("latin-1"), "line 2: the XML is broken "),
        (
            gzip.compress(collection("<id>1</id>" * 99).encode(), mtime=0)[:-9],
            r"x.xml: the gzip data is broken \(.*\); fetch the file again",
        ),
        ('{"documents": [\n{"id": "1"', "line 2: the JSON is broken"),
        ('{"documents": ["naïve"]}'.encode("latin-1"), "the JSON is broken .*codec can't decode byte 0xef"),
        ('{"document": []}', "the JSON is no BioC: it has no list of documents"),
        ('{"documents": [7]}', "document 1 is not BioC"),
        ('{"documents": [{"id": "1"}]}', "document 1 is not BioC .'infons' is missing"),
    ],
)
def test_damaged_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, content)


def test_declared_encodings_are_honoured(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>' + collection("<id>naïve</id>")
    assert read(tmp_path, text.encode("latin-1"))[0].id == "naïve"


def test_half_a_surrogate_pair(tmp_path: Path) -> None:
    passage = {"offset": 0, "infons": {}, "text": "\ud800", "sentences": [], "annotations": [], "relations": []}
    document = {"id": "1", "infons": {}, "passages": [passage], "relations": []}
    with pytest.raises(InputError, match=r"document 1 is not BioC .its text holds half a surrogate pair"):
        read(tmp_path, json.dumps({"documents": [document]}))


@pytest.mark.data
def test_abbreviation_corpus(data: Path) -> None:
    documents = list(bioc.read(data / "abbreviations" / "Ab3P_bioc_gold.xml.gz"))
    assert (len(documents), sum(len(d.relations) for d in documents), sum(len(d.mentions) for d in documents)) == (1250, 1223, 2446)
