"""A linker with the encoder dan: training from the dictionary alone and with mentions, saving, loading, resuming."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gensim")

from linker import Dictionary, Linker, LinkerError, LinkerOptions, Mention
from linker.encoders.words import WordVectors
from linker.linking.options import changed, preset
from linker.records import GoldGroup
from linker.training.pipeline import train
from linker.training.plan import RunSettings

QUICK: dict[str, Any] = {
    "words": {"dim": 16, "min_count": 1, "epochs": 2, "buckets": 500},
    "dan": {"hidden": 32},
    "fewshot": {"hidden": 32},
    "bne": {"hidden": 8},
    "ground": {"epochs": 2, "level": 1, "parts": 5, "shots": 0},
    "training": {"epochs": 2, "dictionary_queries": 40, "device": "cpu", "top_k": 8},
}
FEW: dict[str, Any] = {**QUICK, "ground": {**QUICK["ground"], "shots": 4}}
ENCODERS = ["dan", "dan-higher", "fewshot", "bne", "bne-words"]
QUERIES = ["louis-bar syndrome", "breast cancers", "xqzw", ""]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def options() -> LinkerOptions:
    return changed(preset("default", "dan"), QUICK)


def other_recipe(options: LinkerOptions, **fields: Any) -> LinkerOptions:
    return dataclasses.replace(options, recipe=dataclasses.replace(options.recipe, **fields))


@pytest.fixture(scope="module")
def model(dictionary: Dictionary, options: LinkerOptions) -> Linker:
    return train(dictionary, encoder="dan", options=options)


def answers(model: Linker) -> list[tuple[str, float]]:
    return [
        (c.concept_id, c.score)
        for p in model.link(QUERIES, k=3)
        for part in p.parts
        for c in part.candidates
    ]


def test_a_dictionary_without_synonyms(
    tmp_path: Path, options: LinkerOptions, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "d.tsv").write_text(
        "id\tname\nX:1\tone disease\nX:2\ttwo disease\nX:3\tthree illness\n"
    )
    model = train(Dictionary.read(tmp_path / "d.tsv"), encoder="dan", options=options)
    assert {record["phase"] for record in model.history} == {"ground"}
    assert "no concept has two names" in caplog.text
    assert answers(model)[0][0] in {"X:1", "X:2", "X:3"}


def test_more_mentions_go_on_from_the_same_grounding(
    dictionary: Dictionary, options: LinkerOptions, tmp_path: Path
) -> None:
    """As --refit does, where the mentions bring words that the model keeps."""
    names = [f"rare{i}" for i in range(30_000)]
    words = WordVectors(
        [*names, "cancer", "breast", "fever", "syndrome"],
        np.random.default_rng(0).normal(size=(30_004, 4)).astype(np.float32),
    )
    few = changed(options, {"training": {"epochs": 0}})
    mentions = [Mention("rare29999 cancer", gold=(GoldGroup(("MESH:D001943",)),))]
    first = train(
        dictionary, encoder="dan", options=few, words=words, settings=RunSettings(tmp_path)
    )
    again = train(
        dictionary,
        encoder="dan",
        options=few,
        words=words,
        mentions=mentions,
        settings=RunSettings(tmp_path, resume=True),
    )
    assert again.history == first.history
    assert "rare29999" in again.generator.encoder.words.row  # type: ignore[attr-defined]
    assert "rare29999" not in first.generator.encoder.words.row  # type: ignore[attr-defined]


def test_an_interrupted_training_goes_on(
    dictionary: Dictionary, options: LinkerOptions, model: Linker, tmp_path: Path
) -> None:
    class Stop(Exception):
        pass

    def stop(event: object) -> None:
        if isinstance(event, dict) and event["phase"] == "ground":
            raise Stop

    with pytest.raises(Stop):
        train(
            dictionary,
            encoder="dan",
            options=options,
            settings=RunSettings(tmp_path, on_event=stop),
        )
    again = train(
        dictionary, encoder="dan", options=options, settings=RunSettings(tmp_path, resume=True)
    )
    assert answers(again) == answers(model)
    words = WordVectors(["cancer"], np.ones((1, 16), np.float32))
    with pytest.raises(LinkerError, match="words"):
        train(
            dictionary,
            encoder="dan",
            options=changed(options, {"dan": {"cca": False}}),
            settings=RunSettings(tmp_path, resume=True),
            words=words,
        )


def test_nothing_to_ground_on(options: LinkerOptions, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("D1||breast cancer\nD2||skin cancer\n")
    few = Dictionary.read(tmp_path / "d.txt", format="biosyn")
    with pytest.raises(LinkerError, match=r"words\.tokens=concepts finds names in texts"):
        train(few, encoder="dan", options=changed(options, {"words": {"tokens": "concepts"}}))


def test_development_mentions_choose_the_epoch_and_belong_to_the_checkpoints(
    dictionary: Dictionary, options: LinkerOptions, tmp_path: Path
) -> None:
    def gold(text: str, concept: str) -> Mention:
        return Mention(text, gold=(GoldGroup((concept,)),))

    dev = [gold("breast cancer", "MESH:D001943"), gold("nothing alike", "MESH:D001943")]

    class Stop(Exception):
        pass

    def stop(event: object) -> None:
        if isinstance(event, dict) and event["phase"] == "rank":
            assert event["dev_acc1"] == 0.5
            raise Stop

    with pytest.raises(Stop):
        train(
            dictionary,
            encoder="dan",
            dev=dev,
            options=options,
            settings=RunSettings(tmp_path, on_event=stop),
        )
    resumed = RunSettings(tmp_path, resume=True)
    with pytest.raises(LinkerError, match="another development"):
        train(dictionary, encoder="dan", dev=dev[:1], options=options, settings=resumed)
    model = train(dictionary, encoder="dan", dev=dev, options=options, settings=resumed)
    assert model.best_epoch >= 1


# ---------------------------------------------------------------------------- others of its kind


@pytest.mark.parametrize("name", ENCODERS)
def test_it_is_trained_with_mentions_saved_and_loaded(
    name: str, dictionary: Dictionary, mentions: list[Mention], tmp_path: Path
) -> None:
    values = FEW if name == "fewshot" else QUICK
    options = changed(preset("default", name), values)
    model = train(dictionary, encoder=name, options=options, mentions=mentions)
    assert [(record["phase"], record["epoch"]) for record in model.history] == [
        ("ground", 1),
        ("ground", 2),
        ("rank", 1),
        ("rank", 2),
    ]
    expected = {
        "dan": {"synonym_loss", "prototype_loss", "dev_map"},
        "dan-higher": {"synonym_loss", "context_loss", "between_loss", "dev_map"},
        "fewshot": {"synonym_loss", "between_loss", "dev_loss"},
    }.get(name, {"synonym_loss", "context_loss", "concept_loss", "dev_map"})
    assert model.history[0].keys() >= expected
    right = [
        p.parts[0].best.concept_id in {i for g in p.mention.gold for i in g.ids}
        for p in model.link(mentions)
        if p.mention.gold
    ]
    assert np.mean(right) > 0.9
    model.save(tmp_path / "m")
    loaded = Linker.load(tmp_path / "m")
    assert [p.parts for p in loaded.link(mentions)] == [p.parts for p in model.link(mentions)]
    assert loaded.options == model.options
    suffixes = {path.suffix for path in (tmp_path / "m").rglob("*") if path.is_file()}
    assert suffixes <= {".npy", ".json", ".safetensors", ".jsonl", ".png", ".md"}


@pytest.mark.parametrize("name", ["dan-higher", "fewshot"])
def test_without_mentions_no_lists_undo_large_classes(name: str, dictionary: Dictionary) -> None:
    options = changed(
        preset("default", name),
        {group: values for group, values in FEW.items() if group != "training"},
    )
    model = train(
        dictionary, encoder=name, options=changed(options, {"training": {"device": "cpu"}})
    )
    assert {record["phase"] for record in model.history} == {"ground"}
    # λ as it starts, by the scale of the dense score
    assert model.generator.sparse_weight == pytest.approx(8 / 20)


@pytest.mark.parametrize(
    "paper", ["paper-dan-higher", "paper-fewshot", "paper-bne", "paper-bne-words"]
)
def test_the_papers_settings_train(paper: str, dictionary: Dictionary) -> None:
    options = changed(
        preset(paper),
        {**QUICK, "ground": {"epochs": 1, "level": 1, "parts": 5}, "training": {"device": "cpu"}},
    )
    model = train(dictionary, encoder=paper.removeprefix("paper-"), options=options)
    assert [record["phase"] for record in model.history] == ["ground"]
    best = model.link("louis-bar syndrome", threshold=0).parts[0].best
    assert best is not None
    assert np.isfinite(best.score)
