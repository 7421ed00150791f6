"""BioC XML and JSON: structure, ids, damaged and hostile files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from linker.errors import InputError, Skip
from linker.io import bioc, mentions
from linker.records import Document, GoldGroup, Relation, Selection

from .conftest import refused

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
    kept = {"type": "Disease", "MESH": "D001943", "note": "split", "bioc:in": "0"}
    assert first.mentions[1].metadata == kept
    assert first.relations == (
        Relation("CID", (("Disease", "T2"),), "R2", {"type": "CID", "bioc:in": ""}),
        Relation(
            "pair", (("left", "T3"), ("right", "T4")), "R1", {"type": "pair", "bioc:in": "1.1"}
        ),
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


def test_a_broken_line_of_an_export_is_skipped(tmp_path: Path) -> None:
    path = exported(tmp_path / "x.json", "lines")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-9], lines[1]]))
    assert [d.id for d in refused(bioc.read, path, 2)] == [
        "900001",
        "900002",
    ]


@pytest.mark.parametrize("name", ["mini.bioc.xml", "mini.bioc.json"])
def test_gzip_bom_and_crlf(tmp_path: Path, name: str) -> None:
    content = b"\xef\xbb\xbf" + (DATA / name).read_bytes().replace(b"\n", b"\r\n")
    assert read(tmp_path, gzip.compress(content, mtime=0)) == list(bioc.read(DATA / name))


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


NUMBERED = "in passage 1, counted from its start, sentence"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<passage><offset>0</offset></passage>", "document without id is not BioC (it has no id)"),
        ("<id>2</id><passage><text>A</text></passage>", "document 2 is not BioC (int() argument"),
        ("<id>2</id><passage><offset>x</offset></passage>", "2 is not BioC (invalid literal"),
        ("<id>2</id><annotation><text>A</text></annotation>", "2 is not BioC ('id' is missing)"),
        *(
            (f"<id>2</id>{body}", f"document 2 is not BioC ({reason}")
            for body, reason in (
                (
                    passages((0, "abc"), (10**19, "abc")),
                    "passage 2 begins at character 10000000000000000000; expected 0 to 1000006",
                ),
                (passages((-1, "abc")), "passage 1 begins at character -1; expected 0 to 1000003"),
                (
                    passages((0, "abc"), (9, "abc"), (4, "abc")),
                    "passage 3 begins at character 4, not behind the one before it at 9",
                ),
                (
                    passages((0, "abc"), (0, "abc")),
                    "passage 2 begins at character 0, not behind the one before it at 0",
                ),
                (sentences(0), f"{NUMBERED} 1 begins at character -100; expected 0 to"),
                (sentences(100, 10**12), f"{NUMBERED} 2 begins at character 999999999900; expect"),
                (sentences(104, 100), f"{NUMBERED} 2 begins at character 0, not behind the one"),
                (passages(("1" * 5000, "abc")), "Exceeds the limit"),
            )
        ),
    ],
)
def test_documents_that_are_not_bioc(tmp_path: Path, body: str, reason: str) -> None:
    path = tmp_path / "x"
    path.write_text(collection("<id>1</id>", body, "<id>3</id>"))
    assert [d.id for d in refused(bioc.read, path, 3)] == ["1", "3"]
    with pytest.raises(InputError) as caught:
        list(bioc.read(path))
    assert "; expected BioC: a document with an id" in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ([(0, ""), (0, "abc")], "abc"),  # a title that is empty
        ([(0, "abc"), (0, "")], "abc"),
        ([(5, "abc")], "     abc"),
        ([(0, "abc"), (900_000, "d")], "abc" + " " * 899_997 + "d"),  # chapters that were left out
        ([(0, "abcd"), (2, "CDE")], "abCDE"),  # texts that overlap in part
    ],
)
def test_offsets_that_documents_have(
    tmp_path: Path, texts: list[tuple[object, str]], text: str
) -> None:
    (document,) = read(tmp_path, collection(f"<id>1</id>{passages(*texts)}"))
    assert document.text == text


def as_json(offset: str = "0", start: str = "0", length: str = "4", name: str = '"Gout"') -> str:
    annotation = f'{{"id": "7", "infons": {{}}, "text": {name}, "locations": [{{"offset": {start}, "length": {length}}}]}}'
    passage = f'{{"offset": {offset}, "infons": {{}}, "text": "Gout", "sentences": [], "annotations": [{annotation}], "relations": []}}'
    return f'{{"documents": [{{"id": "1", "infons": {{}}, "passages": [{passage}], "relations": []}}]}}'


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": "-1"},
        {"offset": "9" * 400},
        {"start": "1000005"},
        {"name": "[1]"},
        {"name": "true"},
    ],
)
def test_offsets_and_texts_of_json(tmp_path: Path, changes: dict[str, str]) -> None:
    with pytest.raises(InputError):
        read(tmp_path, as_json(**changes))


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
