"""OBO Graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linker.errors import InputError
from linker.io import dictionaries
from linker.io.obo import graphs as obographs
from linker.records import Concept, Name

from .conftest import refused

PURL, OBO_IN_OWL = (
    "http://purl.obolibrary.org/obo/",
    "http://www.geneontology.org/formats/oboInOwl#",
)
FEVER: dict[str, Any] = {
    "id": f"{PURL}X_0000002",
    "lbl": "sheep fever",
    "type": "CLASS",
    "meta": {
        "definition": {"val": 'A "hot" sheep.', "xrefs": ["PMID:1"]},
        "synonyms": [
            {"pred": "hasExactSynonym", "val": "ovine fever"},
            {"pred": f"{OBO_IN_OWL}hasRelatedSynonym", "val": "hot sheep", "xrefs": []},
            {"pred": "hasExactSynonym", "val": "SF", "synonymType": f"{PURL}OMO_0003000"},
        ],
        "xrefs": [{"val": "MeSH:D900001"}, {"val": f"{PURL}UMLS_CUI_C0900001"}],
        "subsets": [f"{PURL}x#slim_a"],
        "basicPropertyValues": [
            {"pred": f"{OBO_IN_OWL}hasAlternativeId", "val": "X:0000012"},
            {"pred": f"{OBO_IN_OWL}created_by", "val": "somebody"},
            {"pred": "http://www.w3.org/2004/02/skos/core#exactMatch", "val": "DOID:7"},
        ],
    },
}
OLD = {
    "id": f"{PURL}X_0000004",
    "lbl": "obsolete fever",
    "type": "CLASS",
    "meta": {
        "deprecated": True,
        "basicPropertyValues": [{"pred": f"{PURL}IAO_0100001", "val": f"{PURL}X_0000002"}],
    },
}
GRAPH: dict[str, Any] = {
    "id": f"{PURL}x.json",
    "meta": {"version": f"{PURL}x/2001-01-01/x.json"},
    "nodes": [
        {"id": f"{PURL}X_0000001", "lbl": "disease", "type": "CLASS", "meta": None},
        FEVER,
        OLD,
        {"id": f"{PURL}RO_0000052", "lbl": "is about", "type": "PROPERTY"},
        {"id": f"{PURL}X_0000005"},
    ],
    "edges": [
        {"sub": f"{PURL}X_0000002", "pred": "is_a", "obj": f"{PURL}X_0000001"},
        {"sub": f"{PURL}X_0000002", "pred": f"{PURL}RO_0000052", "obj": f"{PURL}X_0000004"},
    ],
}


def saved(path: Path, *graphs: dict[str, Any], indent: int | None = 2) -> Path:
    path.write_text(json.dumps({"graphs": graphs}, indent=indent), encoding="utf-8")
    return path


def test_a_concept_whole(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.json", GRAPH)
    assert dictionaries.detect(path) == "obographs"
    assert obographs.release(path) == f"{PURL}x/2001-01-01/x.json"
    identifier = "X:0000002"
    assert list(obographs.read(path))[1] == Concept(
        identifier,
        "sheep fever",
        (
            Name("sheep fever", identifier, "preferred"),
            Name("ovine fever", identifier, "exact"),
            Name("hot sheep", identifier, "related"),
            Name("SF", identifier, "abbreviation"),
        ),
        parents=("X:0000001",),
        alt_ids=("X:0000012",),
        definition='A "hot" sheep.',
        types=("slim_a",),
        namespace="X",
        xrefs=("MESH:D900001", "UMLS:C0900001", "DOID:7"),
    )


@pytest.mark.parametrize(
    "node", [{**FEVER, "id": 7}, {"lbl": "a"}, {**FEVER, "meta": {"synonyms": [7]}}, "a"]
)
def test_bad_nodes_stop_or_are_skipped(tmp_path: Path, node: Any) -> None:
    path = saved(tmp_path / "x.json", {**GRAPH, "nodes": [*GRAPH["nodes"], node]})
    assert len(refused(obographs.read, path, None)) == 4


@pytest.mark.parametrize(
    "text",
    [
        '{"graphs": [\n{"nodes": }]}',
        '{"graphs": ' + "[" * 100_000,
        '{"graphs": [{"edges": [{"sub": 1}]}]}',
        '{"a": 1}',
        "[]",
    ],
)
def test_what_is_no_graph(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        list(obographs.read(path))
    assert caught.value.line == (2 if "\n" in text else None)
