"""The formats of files by name. A new one is a module that reads or writes it, and a row here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files.

    The module of dictionaries has `recognises(path, first lines)` and `read(path, *, on_error, …)`,
    and may have `release(path)` and `OPTIONS` of `read`; that of predictions is a
    `linker.io.outputs.Writer`.
    """

    dictionary: str = ""  # module that reads dictionaries; empty: they are not read
    reader: str = ""  # module:function that yields documents or mentions; empty: not read
    writer: str = ""  # module that writes predictions; empty: they are not written
    sign: str = ""  # how a file with mentions begins, as a regular expression
    media_type: str = ""  # of what the service answers; empty: it does not answer so
    suffix: str = ""  # of files; empty: the name
    is_text: bool = True  # and a single file
    has_also: bool = True  # whether there is a place for the ids of other vocabularies
    has_sets: bool = False  # and for sets of answers


def _of(name: str, reader: str = "read", writes: bool = True) -> dict[str, Any]:
    """Where a module of this name reads mentions and writes predictions."""
    module = f"linker.io.{name}"
    return {"reader": f"{module}:{reader}" * bool(reader), "writer": module * writes}


_BIOC = (
    r'<\?xml|<!DOCTYPE|<collection|\{(?:(?s:.)*?[{,\s])?"(?:(?:documents|PubTator3)"\s*:'
    r'|passages"\s*:\s*\[\s*(?:\]|\{\s*"(?:infons|offset|text|sentences|annotations|relations)"))'
)
# a csv with this column, or a tab in one of the first lines
_TSV = (
    r'(?i:"?mention"?[,;]|[^\n]*[,;]"?mention"?[ \r]*[,;\n])'
    r"|(?:.*\n){0,20}?.*\t"
)
# in the order in which they are recognised
FORMATS = {
    "parquet": FileFormat(
        **(_of("jsonl", "read_parquet") | {"writer": "linker.io.tsv"}),
        sign=r"PAR1[\x00-\x08\x0e-\x1f]",
        has_sets=True,
        is_text=False,
    ),
    "bioc": FileFormat(**_of("bioc"), sign=_BIOC, media_type="application/xml", has_also=False),
    "jsonl": FileFormat(
        **_of("jsonl"), sign=r"\{", media_type="application/x-ndjson", has_sets=True
    ),
    "concept": FileFormat(
        **_of("biosyn", "read_mentions", False), sign=r"[^|\n]*\|\|\d+\|\d+\|\|", is_text=False
    ),
    "pubtator": FileFormat(
        **_of("pubtator"), sign=r"[^|\t\n]+\|[ta]\|", media_type="text/plain", has_also=False
    ),
    "tsv": FileFormat(
        **_of("tsv"), sign=_TSV, media_type="text/tab-separated-values", has_sets=True
    ),
    "txt": FileFormat(**_of("mentions", "read_list", False)),
    "text": FileFormat(**_of("aligned", ""), media_type="text/plain", has_also=False),
    "sssom": FileFormat(
        **_of("sssom", ""),
        media_type="text/tab-separated-values",
        suffix=".sssom.tsv",
        has_also=False,
    ),
    "conceptmap": FileFormat(
        **_of("fhir", ""),
        media_type="application/fhir+json",
        suffix=".conceptmap.json",
        has_also=False,
    ),
    "source_to_concept_map": FileFormat(
        **_of("terms", ""), media_type="text/csv", suffix=".source_to_concept_map.csv"
    ),
    **{
        name: FileFormat(dictionary=f"linker.io.{module}")
        for name, module in {
            **{"medic": "table:medic", "obo": "obo", "rrf": "tabs:rrf"},
            **{"athena": "tabs:athena", "rf2": "tabs:rf2", "mesh": "mesh"},
            **{"obographs": "obo:graphs", "fhir": "fhir", "skos": "rdf:skos", "owl": "rdf:owl"},
            **{"biosyn": "biosyn", "icd10cm": "table:icd10cm", "table": "table"},
        }.items()
    },
}
MENTIONS = ("txt", "tsv", "jsonl", "pubtator", "bioc", "concept", "parquet")
"""Formats of mentions, the best known first."""
PREDICTIONS = tuple(
    name
    for name in dict.fromkeys((*MENTIONS, *FORMATS))
    if FORMATS[name].writer and FORMATS[name].is_text
)
"""Formats of predictions that are texts."""
DICTIONARIES = tuple(name for name, form in FORMATS.items() if form.dictionary)
"""Formats of dictionaries, in the order in which they are recognised."""
