"""The formats of files by name. A new one is a module that reads or writes it, and a row here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files with mentions or predictions."""

    reader: str = ""  # module:function that yields documents or mentions; empty: it is not read
    writer: str = ""  # module of `linker.outputs`; empty: it is not written
    media_type: str = ""  # of what the service answers; empty: it does not answer so
    suffix: str = ""  # of files; empty: the name
    is_text: bool = True  # and a single file
    has_also: bool = True  # whether there is a place for the ids of other vocabularies


FORMATS = {
    "txt": FileFormat("linker.readers.text:read_mentions"),
    "tsv": FileFormat("linker.readers.tsv:read", "linker.outputs.tsv", "text/tab-separated-values"),
    "jsonl": FileFormat(
        "linker.readers.jsonl:read", "linker.outputs.jsonl", "application/x-ndjson"
    ),
    "pubtator": FileFormat(
        "linker.readers.pubtator:read", "linker.outputs.pubtator", "text/plain", has_also=False
    ),
    "bioc": FileFormat(
        "linker.readers.bioc:read", "linker.outputs.bioc", "application/xml", has_also=False
    ),
    "concept": FileFormat("linker.readers.biosyn:read_mentions", is_text=False),
    "parquet": FileFormat("linker.readers.jsonl:read_parquet", "linker.outputs.tsv", is_text=False),
    "sssom": FileFormat(
        "", "linker.outputs.sssom", "text/tab-separated-values", suffix=".sssom.tsv", has_also=False
    ),
    "conceptmap": FileFormat(
        "",
        "linker.outputs.conceptmap",
        "application/fhir+json",
        suffix=".conceptmap.json",
        has_also=False,
    ),
    "source_to_concept_map": FileFormat(
        "", "linker.outputs.source_to_concept_map", "text/csv", suffix=".source_to_concept_map.csv"
    ),
}
MENTIONS = tuple(name for name, form in FORMATS.items() if form.reader)
"""Formats of mentions."""
PREDICTIONS = tuple(name for name, form in FORMATS.items() if form.writer and form.is_text)
"""Formats of predictions that are texts."""

DICTIONARIES = {
    name: f"linker.readers.{name}"
    for name in (
        *("medic", "obo", "rrf", "athena", "rf2", "mesh"),
        *("obographs", "fhir", "skos", "owl", "biosyn", "icd10cm", "table"),
    )
}
"""The module of each format of dictionaries, in the order in which they are recognised."""
