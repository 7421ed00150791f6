"""MeSH in NLM's XML: descriptors, supplementary concept records, and hostile files."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Name
from linker.errors import InputError
from linker.io import dictionaries, mesh
from linker.records import Concept

from .conftest import refused

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE {0}RecordSet SYSTEM "https://www.nlm.nih.gov/databases/dtd/nlm{1}recordset_20260101.dtd">\n<{0}RecordSet LanguageCode = "eng">\n'


def term(text: str, tag: str = "NON", permuted: str = "N") -> str:
    return f"""<Term ConceptPreferredTermYN="N" IsPermutedTermYN="{permuted}" LexicalTag="{tag}" RecordPreferredTermYN="N">
      <TermUI>T1</TermUI><String>{text}</String><TermNote>not a name</TermNote>
      <SortVersion>FEVER SHEEP</SortVersion><EntryVersion>FEVER OVINE</EntryVersion><ThesaurusIDlist><ThesaurusID>NLM (2026)</ThesaurusID></ThesaurusIDlist></Term>"""


def concept(ui: str, *terms: str, own: str = "Y", relations: str = "", note: str = "") -> str:
    scope = f"<ScopeNote>{note}\n    </ScopeNote>" if note else ""
    return f"""<Concept PreferredConceptYN="{own}"><ConceptUI>{ui}</ConceptUI><ConceptName><String>unused</String></ConceptName>{scope}
    <ConceptRelationList>{relations}</ConceptRelationList><TermList>{"".join(terms)}</TermList></Concept>"""


def relation(name: str, first: str, second: str) -> str:
    return f'<ConceptRelation RelationName="{name}"><Concept1UI>{first}</Concept1UI><Concept2UI>{second}</Concept2UI></ConceptRelation>'


def descriptor(ui: str, name: str, trees: str = "", concepts: str = "") -> str:
    numbers = "".join(f"<TreeNumber>{number}</TreeNumber>" for number in trees.split())
    return f"""<DescriptorRecord DescriptorClass = "1">
  <DescriptorUI>{ui}</DescriptorUI>
  <DescriptorName>
   <String>{name}</String>
  </DescriptorName>
  <SeeRelatedList><SeeRelatedDescriptor><DescriptorReferredTo><DescriptorUI>D900009</DescriptorUI><DescriptorName><String>See</String></DescriptorName></DescriptorReferredTo></SeeRelatedDescriptor></SeeRelatedList>
  <TreeNumberList>{numbers}</TreeNumberList>
  <ConceptList>{concepts or concept("M1", term(name))}</ConceptList>
</DescriptorRecord>
"""


def supplementary(ui: str, name: str, kind: str, headings: str, note: str = "") -> str:
    mapped = "".join(
        f"<HeadingMappedTo><DescriptorReferredTo><DescriptorUI>{heading}</DescriptorUI><DescriptorName><String>H</String></DescriptorName></DescriptorReferredTo></HeadingMappedTo>"
        for heading in headings.split()
    )
    return f"""<SupplementalRecord SCRClass = "{kind}">
  <SupplementalRecordUI>{ui}</SupplementalRecordUI>
  <SupplementalRecordName><String>{name}</String></SupplementalRecordName>
  <Note>{note}</Note>
  <HeadingMappedToList>{mapped}</HeadingMappedToList>
  <ConceptList>{concept("M9", term(name))}</ConceptList>
</SupplementalRecord>
"""


def write(path: Path, kind: str, *records: str) -> Path:
    name = {"Descriptor": "descriptor", "Supplemental": "supplemental"}[kind]
    text = HEAD.format(kind, name) + "".join(records) + f"</{kind}RecordSet>\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


FEVER = concept(
    "M1",
    term("Sheep Fever"),
    term("Fevers, Sheep", permuted="Y"),
    term("SF", "ACR"),
    term("SF syndrome", "ACX"),
    note="A fever, of SHEEP &amp; lambs.",
    relations=relation("NRW", "M1", "M2")
    + relation("BRD", "M1", "M3")
    + relation("REL", "M1", "M4"),
) + "".join(
    concept(ui, term(name), own="N", relations=relations, note="of another concept")
    for ui, name, relations in (
        ("M2", "Lamb fever", relation("NRW", "M1", "M2")),
        ("M3", "Ovine sickness", ""),
        ("M4", "Ram fever", relation("REL", "M1", "M4")),
        ("M5", "Ewe fever", relation("NRW", "M5", "M1")),
    )
)
DESCRIPTORS = (
    descriptor("D900001", "Sheep Fever", "C22.100.200 C04.300 G07.100", FEVER),
    descriptor("D900002", "Sheep Diseases", "C22.100"),  # below which the one before stands
    descriptor("D900003", "Animal Diseases", "C22"),
    descriptor("D900004", "Neoplasms", "C04"),
    descriptor("D900005", "Mental Disorders", "F03"),
    descriptor("D900006", "Behavior", "F01"),
    descriptor("D900007", "Processes", "G07"),
    descriptor("D900008", "Wool", "D01"),
    descriptor("D900009", "Ewe"),  # a check tag has no place
)  # fmt: skip
RECORDS = (
    supplementary("C900001", "Ram fever type 1", "3", "*D900001 D900007", "A rare\n  fever."),
    supplementary("C900002", "woolite", "1", "*D900008 D900004"),
    supplementary("C900003", "Odd ways", "3", "D900007"),
    supplementary("C900004", "fleecin", "1", "D900004"),  # a substance below a disease alone
)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path / "desc2026.gz", "Descriptor", *DESCRIPTORS),
        write(tmp_path / "supp2026.xml", "Supplemental", *RECORDS),
    ]


def test_a_descriptor_whole(files: list[Path]) -> None:
    first = next(mesh.read(files[0]))
    own = partial(Name, concept_id="MESH:D900001")
    assert first == Concept(
        "MESH:D900001",
        "Sheep Fever",
        (
            own("Sheep Fever", kind="preferred"),
            own("Fevers, Sheep"),
            own("SF", kind="abbreviation"),
            own("SF syndrome"),
            own("Lamb fever", kind="narrow"),
            own("Ovine sickness", kind="broad"),
            own("Ram fever", kind="related"),
            own("Ewe fever", kind="broad"),
        ),
        parents=("MESH:D900002", "MESH:D900004"),
        definition="A fever, of SHEEP & lambs.",
        types=("C04", "C22"),
        namespace="MESH",
    )
    assert first.line == 4
    assert dictionaries.detect(files[0]) == dictionaries.detect(files[1]) == "mesh"
    assert [mesh.release(file) for file in files] == ["2026", "2026"]


def test_diseases_are_read_and_supplementary_ones_mapped_to_them(files: list[Path]) -> None:
    dictionary = Dictionary.read(*map(str, files))
    assert {dictionary.ids[row]: dictionary.concept(row).parents for row in range(6)} == {
        "MESH:D900001": ("MESH:D900002", "MESH:D900004"),
        "MESH:D900002": ("MESH:D900003",),
        "MESH:D900003": (),
        "MESH:D900004": (),
        "MESH:D900005": (),
        "MESH:C900001": ("MESH:D900001",),
    }
    assert len(dictionary) == 6
    rare = dictionary.concept(dictionary.rows("MESH:C900001")[0])
    assert (rare.name, rare.definition, rare.types) == (
        "Ram fever type 1",
        "A rare\n  fever.",
        ("C04", "C22"),
    )
    assert [source.concepts for source in dictionary.sources] == [5, 1]


@pytest.mark.parametrize(
    ("under", "ids"),
    [
        (["C22.100"], "C900001 D900001 D900002"),
        (["MESH:D900002", "f01"], None),
        (["d900002"], None),
        (["D900002", "F01"], "C900001 D900001 D900002 D900006"),
        (["C0"], None),  # no tree number, though one begins so
        (["D"], "C900002 D900008"),
        (["G07"], "D900001 D900007"),  # a disease is not read for a heading of processes
        (["all"], "C900001 C900002 C900003 C900004 "
                  "D900001 D900002 D900003 D900004 D900005 D900006 D900007 D900008 D900009"),
    ],
)  # fmt: skip
def test_another_part(files: list[Path], under: list[str], ids: str | None) -> None:
    if ids is None:
        with pytest.raises(InputError):
            Dictionary.read(*files, under=under)
    else:
        dictionary = Dictionary.read(*files, under=under)
        assert [*dictionary.ids] == [f"MESH:{ui}" for ui in ids.split()]


def test_a_record_without_id_or_name(tmp_path: Path) -> None:
    for bad in (descriptor("", "Nothing", "C01"), descriptor("D900000", "", "C01", "<Concept/>")):
        path = write(tmp_path / "d.xml", "Descriptor", DESCRIPTORS[3], bad, DESCRIPTORS[4])
        line = path.read_text()[: path.read_text().index(bad)].count("\n") + 1
        kept = refused(mesh.read, path, line)
        assert [concept.id for concept in kept] == ["MESH:D900004", "MESH:D900005"]


HOSTILE = {
    "internal": '<!ENTITY x "fever">',
    "external": '<!ENTITY x SYSTEM "{0}/secret">',
    "fetched": '<!ENTITY x SYSTEM "{1}/x">',
    "parameter": '<!ENTITY % p SYSTEM "{1}/p"> %p;<!ENTITY x "y">',
    "laughs": '<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghx", strict=True)),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_is_resolved_or_fetched(web: Any, tmp_path: Path, kind: str) -> None:
    (tmp_path / "secret").write_text("the secret")
    subset = HOSTILE[kind].replace("{0}", tmp_path.as_uri()).replace("{1}", web.address)
    text = f'<!DOCTYPE DescriptorRecordSet SYSTEM "{web.address}/x.dtd" [{subset}]>\n<DescriptorRecordSet>'
    path = tmp_path / "d.xml"
    path.write_text(text + descriptor("D900001", "Sheep &x;", "C01") + "</DescriptorRecordSet>")
    with pytest.raises(InputError):
        list(mesh.read(path))
    assert web.seen == []
