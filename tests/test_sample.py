"""The bundled sample: well formed, as our readers see it, and true to the real MEDIC where that is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.io import mentions
from linker.io.table import medic
from linker.records import Concept
from linker.text import spelling

Concepts = dict[str, Concept]


@pytest.fixture(scope="module")
def concepts(sample: Path) -> Concepts:
    return {concept.id: concept for concept in medic.read(sample)}


@pytest.fixture(scope="module")
def real(data: Path) -> Concepts:
    file = data / "medic" / "CTD_diseases_2017-06-06.tsv.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return {concept.id: concept for concept in medic.read(file)}


def ancestors(identifier: str, concepts: Concepts) -> set[str]:
    found, waiting = set(), list(concepts[identifier].parents)
    while waiting:
        if (parent := waiting.pop()) not in found:
            found.add(parent)
            waiting += concepts[parent].parents
    return found


def test_all_concepts_are_below_the_one_root_and_some_names_are_ambiguous(
    concepts: Concepts,
) -> None:
    for identifier in concepts.keys() - {"MESH:C"}:
        above = ancestors(identifier, concepts)
        assert "MESH:C" in above
        assert identifier not in above
    names = [name.text for concept in concepts.values() for name in concept.names]
    assert [names.count(name) for name in ("AD", "MS", "HD", "FAP", "WS")] == [3, 2, 2, 2, 3]


@pytest.mark.parametrize(
    ("name", "count", "composites", "old"),
    [
        ("sample_mentions.tsv", 62, 2, ["OMIM:261600", "OMIM:310200"]),
        ("sample_documents.pubtator.txt", 27, 2, []),
    ],
)
def test_the_annotated_ids_are_in_the_sample(
    sample: Path, name: str, count: int, composites: int, old: list[str]
) -> None:
    dictionary = Dictionary.read(sample)
    gold = [m.gold or () for m, _ in mentions.flatten(mentions.read(sample.with_name(name)))]
    ids = [identifier for groups in gold for group in groups for identifier in group.ids]
    assert all(dictionary.resolve(identifier) for identifier in ids)
    current = set(dictionary.ids)
    assert [identifier for identifier in ids if identifier not in current] == old
    assert (len(gold), sum(len(groups) > 1 for groups in gold)) == (count, composites)


@pytest.mark.data
def test_ids_names_alternative_ids_and_ancestors_agree_with_medic(
    concepts: Concepts, real: Concepts
) -> None:
    for identifier, concept in concepts.items():
        assert concept.name == real[identifier].name
        assert set(concept.alt_ids) <= set(real[identifier].alt_ids), identifier
        assert set(concept.parents) <= ancestors(identifier, real), identifier


@pytest.mark.data
def test_no_definition_is_that_of_medic(concepts: Concepts, real: Concepts) -> None:
    written = {i: concept.definition for i, concept in concepts.items() if concept.definition}
    assert len(written) == 5
    assert all(text not in real[i].definition for i, text in written.items())


def test_the_spelling_list_corrects_to_words_that_it_does_not_correct_again(sample: Path) -> None:
    pairs = spelling.read(path := sample.with_name("british_american.txt"))
    assert len(pairs) == len(path.read_text(encoding="utf-8").splitlines()) > 100
    assert not pairs.keys() & set(pairs.values())
    assert spelling.correct("oesophageal tumours", pairs) == "esophageal tumors"
