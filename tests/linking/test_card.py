"""The model card, and whether the names of a vocabulary may be passed on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from linker import Dictionary, Linker, LinkerError
from linker.linking import folder
from linker.records import Source

DOID = Source("doid.obo", "obo", "DOID", "2025-01-01", "ab" * 32, 3)
HP = Source("hp.obo", "obo, names only", "HP", "", "cd" * 32, 2)
UMLS = Source("META", "rrf", "UMLS", "2025AA", "ef" * 32, 9)
OURS = Source("ours.tsv", "table", "OURS", "", "01" * 32, 1)


def with_sources(linker: Linker, *sources: Source, language: str = "") -> Linker:
    """The linker with a dictionary that says to be of other sources."""
    old = linker.dictionary
    dictionary = Dictionary(old.columns, [language, *old.labels[1:]], sources)
    return replace(linker, dictionary=dictionary)


@pytest.mark.parametrize(
    ("sources", "language", "licence", "languages"),
    [
        ((DOID,), "ENG", "cc0-1.0", ["eng"]),
        ((DOID, HP), "", "other", None),
        ((DOID, OURS), "no: [code", None, None),
    ],
)
def test_what_the_hub_reads(
    tfidf: Linker, sources: Any, language: str, licence: str | None, languages: list[str] | None
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    text = folder.card(with_sources(tfidf, *sources, language=language), "ann/sample")
    data = hub.ModelCard(text).data
    assert (data.library_name, data.license, data.language) == ("linker", licence, languages)
    assert data.tags == ["entity-linking", "concept-normalization"]


def test_names_that_may_not_be_passed_on(tfidf: Linker) -> None:
    folder.check_licences((DOID, HP, OURS))
    linker = with_sources(tfidf, DOID, replace(UMLS, format="table"))
    with pytest.raises(LinkerError, match="META"):
        folder.check_licences(linker.dictionary.sources)
    for prefix in ("SNOMEDCT_US", "SNOMED", "SNOMED_CT", "OMOP", "MEDDRA", "ICD10"):
        with pytest.raises(LinkerError):
            folder.check_licences([replace(OURS, namespace=prefix)])
    folder.check_licences([replace(OURS, namespace="ICD10CM")])
