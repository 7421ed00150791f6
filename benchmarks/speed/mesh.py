"""MeSH of full size: seconds and memory of reading it, and of training a model of it.

The files are generated, in a temporary folder, with as many records as NLM's of 2026 have about,
of the same classes; names are those of `benchmarks.lib.recombined`. A sixth of the descriptors are
diseases. NLM's own files were not at hand.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from html import escape
from pathlib import Path

from benchmarks.lib import recombined
from benchmarks.lib.measure import Figures, apart, peak, run_command
from linker import Dictionary

DESCRIPTORS, SUPPLEMENTARY = 30_000, 320_000
_TREES = "CABDEG"
_CATEGORIES = 26  # at the top of a tree
_CLASSES = "1" * 77 + "4" * 20 + "3" * 2 + "2"  # of a hundred supplementary records
_QUALIFIERS = "".join(
    "   <AllowableQualifier>\n    <QualifierReferredTo>\n"
    f"     <QualifierUI>Q{number:06}</QualifierUI>\n     <QualifierName>\n"
    f"      <String>qualifier {number}</String>\n     </QualifierName>\n"
    f"    </QualifierReferredTo>\n    <Abbreviation>{number}</Abbreviation>\n"
    "   </AllowableQualifier>\n"
    for number in range(20)
)
_NOTE = f"    <ScopeNote>{'A sentence that says what the concept is. ' * 8}\n    </ScopeNote>\n"


def mesh(given: argparse.Namespace) -> Figures:
    """Generated descriptors and supplementary records, packed by gzip as NLM offers them."""
    counts = (300, 3_200) if given.quick else (DESCRIPTORS, SUPPLEMENTARY)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}2026.gz") for name in ("desc", "supp")]
        sizes = generate(*paths, *counts)
        files = [*map(str, paths)]
        return {
            "records": dict(zip(("descriptors", "supplementary"), counts, strict=True)),
            "megabytes_unpacked": sizes,
            "diseases": apart(read, files, []),
            "everything": apart(read, files, ["all"]),
            "train_diseases": apart(train, files, f"{folder}/model"),
        }


def read(files: list[str], under: list[str]) -> Figures:
    """Read a part of the files in this process."""
    dictionary = Dictionary.read(*files, under=under)
    counts = {"concepts": len(dictionary), "names": len(dictionary.names)}
    return {**counts, "cpu_seconds": round(time.process_time()), "peak_mb": round(peak())}


def train(files: list[str], model: str) -> Figures:
    """Train a model of the diseases in this process."""
    options = [word for file in files for word in ("--dict", file)]
    figures = run_command("train", *options, "-o", model)
    return {"cpu_seconds": round(time.process_time()), "peak_mb": figures["peak_mb"]}


def generate(descriptors: Path, supplementary: Path, count: int, records: int) -> list[int]:
    """Write both files, packed; MB that they have unpacked."""
    names = (texts for _, texts in recombined.concepts(1 << 62))
    numbers: dict[tuple[str, int], str] = {}
    sizes = []
    for path, kind, made in (
        (descriptors, "Descriptor", (_descriptor(n, next(names), numbers) for n in range(count))),
        (supplementary, "Supplemental", (_record(n, next(names), count) for n in range(records))),
    ):
        dtd = f"https://www.nlm.nih.gov/databases/dtd/nlm{kind.lower()}recordset_20260101.dtd"
        head = f'<?xml version="1.0"?>\n<!DOCTYPE {kind}RecordSet SYSTEM "{dtd}">\n'
        size = 0
        with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
            write = partial(_written, file)
            size += write(f'{head}<{kind}RecordSet LanguageCode = "eng">\n')
            size += sum(map(write, made))
            size += write(f"</{kind}RecordSet>\n")
        sizes.append(round(size / 1e6))
    return sizes


def _written(file: object, text: str) -> int:
    file.write(text)  # type: ignore[attr-defined]
    return len(text)


def _tree_numbers(number: int, numbers: dict[tuple[str, int], str]) -> Iterator[str]:
    """The places of a descriptor: below one or two others of its tree."""
    place, which = divmod(number, len(_TREES))
    letter = _TREES[which]
    if place < _CATEGORIES:
        numbers[letter, place] = f"{letter}{place + 1:02}"
        yield numbers[letter, place]
        return
    for parent in sorted({(place - _CATEGORIES) // 5, (place - _CATEGORIES) // 50}):
        numbers[letter, place] = f"{numbers[letter, parent]}.{place % 1000:03}"
        yield numbers[letter, place]


def _descriptor(number: int, names: list[str], numbers: dict[tuple[str, int], str]) -> str:
    places = "".join(
        f"   <TreeNumber>{tree}</TreeNumber>\n" for tree in _tree_numbers(number, numbers)
    )
    return f"""<DescriptorRecord DescriptorClass = "1">
  <DescriptorUI>D{number:06}</DescriptorUI>
  <DescriptorName>
   <String>{escape(names[0])}</String>
  </DescriptorName>
  <AllowableQualifiersList>
{_QUALIFIERS}  </AllowableQualifiersList>
  <TreeNumberList>
{places}  </TreeNumberList>
  <ConceptList>
{_concepts(number, names, _NOTE)}  </ConceptList>
 </DescriptorRecord>
"""


def _record(number: int, names: list[str], descriptors: int) -> str:
    kind = _CLASSES[number % len(_CLASSES)]
    tree = _TREES.index({"3": "C", "4": "B"}.get(kind, "D"))
    below = len(_TREES) * (number % (descriptors // len(_TREES))) + tree
    return f"""<SupplementalRecord SCRClass = "{kind}">
  <SupplementalRecordUI>C{number:06}</SupplementalRecordUI>
  <SupplementalRecordName>
   <String>{escape(names[0])}</String>
  </SupplementalRecordName>
  <Note>structure in first source</Note>
  <HeadingMappedToList>
   <HeadingMappedTo>
    <DescriptorReferredTo>
     <DescriptorUI>*D{below:06}</DescriptorUI>
     <DescriptorName>
      <String>the heading</String>
     </DescriptorName>
    </DescriptorReferredTo>
   </HeadingMappedTo>
  </HeadingMappedToList>
  <ConceptList>
{_concepts(number, names)}  </ConceptList>
 </SupplementalRecord>
"""


def _concepts(number: int, names: list[str], note: str = "") -> str:
    """The record's own concept with half of the names, and a narrower one with the others."""
    own, other = f"M{number:07}", f"M{number:07}1"
    half = (len(names) + 1) // 2
    relations = f"""    <ConceptRelationList>
     <ConceptRelation RelationName="NRW">
      <Concept1UI>{own}</Concept1UI>
      <Concept2UI>{other}</Concept2UI>
     </ConceptRelation>
    </ConceptRelationList>
"""
    return "".join(
        f"""   <Concept PreferredConceptYN="{yes}">
    <ConceptUI>{identifier}</ConceptUI>
    <ConceptName>
     <String>{escape(texts[0])}</String>
    </ConceptName>
{note if yes == "Y" else ""}{relations}    <TermList>
{"".join(map(_term, texts))}    </TermList>
   </Concept>
"""
        for yes, identifier, texts in (("Y", own, names[:half]), ("N", other, names[half:]))
        if texts
    )


def _term(name: str) -> str:
    """A name, and its last word put before the others, as NLM permutes."""
    first, _, last = escape(name).rpartition(" ")
    texts = {escape(name): "N"} | ({f"{last}, {first}": "Y"} if first else {})
    return "".join(
        f"""     <Term ConceptPreferredTermYN="N" IsPermutedTermYN="{yes}" LexicalTag="NON" """
        f"""RecordPreferredTermYN="N">
      <TermUI>T000001</TermUI>
      <String>{text}</String>
      <ThesaurusIDlist>
       <ThesaurusID>NLM (2026)</ThesaurusID>
      </ThesaurusIDlist>
     </Term>
"""
        for text, yes in texts.items()
    )
