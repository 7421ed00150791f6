"""linker index: new releases, corrections and indexes of vectors, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Linker
from linker.linking import ranker as rankers
from linker.search import ann
from linker.search.ann import IvfIndex
from linker.training import pipeline

from .conftest import contents, write

Run = Callable[..., Any]

WORDS = enumerate(4 * ["renal", "hepatic", "cardiac", "nasal", "ocular"])
MANY = [f"X{n}\t{word} disease number {n}\t{word} illness {n}" for n, word in WORDS]
OLD = ["D1\tbreast cancer\tbreast tumor", "D2\tanemia\tlow blood count", "D3\tgout\tpodagra"]
NEW = [*OLD[:2], "D4\tfever of camels\tpodagra"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with static vectors; not to be changed."""
    folder = tmp_path_factory.mktemp("model")
    dictionary = Dictionary.read(write(folder / "d.tsv", [*OLD, *MANY]))
    pipeline.train(dictionary, encoder="static").save(folder / "model")
    return folder / "model"


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "model")
    return tmp_path / "model"


def first(folder: Path, mention: str) -> str:
    (prediction,) = Linker.load(folder).link([mention], threshold=0)
    return prediction.parts[0].candidates[0].concept_id


def test_a_new_release_in_place(run: Run, model: Path, tmp_path: Path) -> None:
    assert first(model, "podagra") == "D3"
    new = write(tmp_path / "new.tsv", [*NEW, *MANY])
    result = run("index", "--model", model, "--dict", new)
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        "dictionary: new.tsv (table): 23 concepts",
        "concepts: 1 added, 1 gone",
        "names: 1 added and encoded, 1 gone, 45 reused",
        "annotated mentions of before: 0 kept, 0 of concepts that are gone",
        f"model: {model} (23 concepts, 46 distinct names)",
    ]
    assert first(model, "podagra") == "D4"
    assert run("model", "verify", "--model", model).code == 0


def test_another_folder_is_written_with_o(run: Run, model: Path, tmp_path: Path) -> None:
    before = contents(model)
    new = write(tmp_path / "new.tsv", NEW)
    assert run("index", "--model", model, "--dict", new, "-o", tmp_path / "other").code == 0
    assert first(tmp_path / "other", "podagra") == "D4"
    assert before == contents(model)


def test_corrections(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text("mention\tid\nsore big toe\tD3\n")
    result = run("index", "--model", model, "--mentions", tmp_path / "m.tsv")
    assert result.code == 0
    assert "names: 1 added" in result.err
    assert first(model, "sore big toe") == "D3"
    assert "sore big toe" in Linker.load(model).seen.mentions


# ------------------------------------------------------------------------ the index of vectors


def test_an_index_is_made_and_removed(run: Run, model: Path) -> None:
    exact = [first(model, mention) for mention in ("podagras", "renal illnes 5")]
    result = run("index", "--model", model, "--set", "index.kind=ivf")
    record = json.loads((model / "index" / "index.json").read_text())
    assert record["recall"] >= 0.97
    assert result.err.splitlines() == [
        f"model: {model} (23 concepts, 46 distinct names)",
        f"index: ivf, 32 lists of which a search reads {record['probes']}; "
        f"recall@20 against exact search {record['recall']:.4f}, of 46 changed names",
    ]
    linker = Linker.load(model)
    assert linker.options.index.kind == "ivf"
    assert isinstance(linker.generator.dense, IvfIndex)  # type: ignore[attr-defined]
    assert [first(model, mention) for mention in ("podagras", "renal illnes 5")] == exact
    assert run("model", "verify", "--model", model).code == 0
    assert run("index", "--model", model, "--set", "index.kind=auto").code == 0
    assert not (model / "index").exists()


def test_a_low_recall_is_refused_and_the_model_stays(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ann, "recall", lambda *_: 0.5)
    before = contents(model.parent)
    result = run("index", "--model", model, "--set", "index.kind=ivf")
    assert (result.code, "index.recall is 0.97" in result.err) == (1, True)
    assert before == contents(model.parent)


def of_earlier_release(model: Path, monkeypatch: pytest.MonkeyPatch, **provenance: Any) -> None:
    """Save a model anew, with a ranker of other columns: they stand in another order."""
    linker = Linker.load(model)
    assert linker.ranker is not None
    older = dataclasses.replace(linker.ranker, provenance=provenance)
    with monkeypatch.context() as patched:
        patched.setattr(rankers, "INPUTS", rankers.INPUTS[::-1])
        linker.with_ranker(older).save(model)


def test_a_shipped_ranker_of_an_earlier_release_is_replaced(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Linker.load(model).link(["podagra"])
    of_earlier_release(model, monkeypatch, shipped=True)
    with pytest.raises(rankers.OlderRankerError) as refused:
        Linker.load(model)
    assert refused.value.is_shipped
    assert run("index", "--model", model).code == 0
    assert Linker.load(model).link(["podagra"]) == before


def test_a_ranker_that_learnt_mentions_is_not_replaced(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_earlier_release(model, monkeypatch, fitted_to="300 annotated mentions")
    result = run("index", "--model", model)
    assert result.code == 1
    assert "train again" in result.err


def test_there_is_nothing_to_do_for_a_ranker_that_learnt_mentions(run: Run, model: Path) -> None:
    linker = Linker.load(model)
    assert linker.ranker is not None
    learnt = dataclasses.replace(linker.ranker, provenance={"fitted_to": "300 mentions"})
    linker.with_ranker(learnt).save(model)
    assert run("index", "--model", model).code == 2
