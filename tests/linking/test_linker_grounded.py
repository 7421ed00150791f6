"""A linker with each of the encoders that are made of word vectors: trained with mentions, saved, loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("gensim")

from linker import Dictionary, Linker, Mention
from linker.options import changed, preset
from linker.readers import mentions as readers

QUICK = {
    "words": {"dim": 16, "min_count": 1, "epochs": 2, "buckets": 500},
    "dan": {"hidden": 32},
    "fewshot": {"hidden": 32},
    "bne": {"hidden": 8, "character_dim": 4},
    "ground": {"epochs": 2, "held_out": 20, "level": 1, "parts": 5, "shots": 0, "batch_size": 128},
    "training": {"epochs": 2, "dictionary_queries": 40, "device": "cpu", "top_k": 8},
}
FEW = {**QUICK, "ground": {**QUICK["ground"], "shots": 4}}
ENCODERS = ["dan-higher", "fewshot", "bne", "bne-words"]

pytestmark = pytest.mark.usefixtures("one_thread", "no_accelerator_state")


@pytest.mark.parametrize("name", ENCODERS)
def test_it_is_trained_with_mentions_saved_and_loaded(
    name: str, sample: Path, tmp_path: Path
) -> None:
    dictionary = Dictionary.read(sample)
    mentions = [
        item
        for item in readers.read(sample.with_name("sample_mentions.tsv"))
        if isinstance(item, Mention)
    ][:30]
    options = changed(preset("default", name), FEW if name == "fewshot" else QUICK)
    model = Linker.train(dictionary, encoder=name, options=options, mentions=mentions)
    assert [(record["phase"], record["epoch"]) for record in model.history] == [
        ("ground", 1),
        ("ground", 2),
        ("rank", 1),
        ("rank", 2),
    ]
    expected = {
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
def test_without_mentions_no_lists_undo_large_classes(name: str, sample: Path) -> None:
    options = changed(
        preset("default", name),
        {group: values for group, values in FEW.items() if group != "training"},
    )
    model = Linker.train(
        Dictionary.read(sample),
        encoder=name,
        options=changed(options, {"training": {"device": "cpu"}}),
    )
    assert {record["phase"] for record in model.history} == {"ground"}
    assert model.generator.sparse_weight == pytest.approx(
        8 / 20
    )  # λ as it starts, by the scale of the dense score


@pytest.mark.parametrize(
    "paper", ["paper-dan-higher", "paper-fewshot", "paper-bne", "paper-bne-words"]
)
def test_the_papers_settings_train(paper: str, sample: Path) -> None:
    options = changed(
        preset(paper),
        {**QUICK, "ground": {"epochs": 1, "level": 1, "parts": 5}, "training": {"device": "cpu"}},
    )
    model = Linker.train(
        Dictionary.read(sample), encoder=paper.removeprefix("paper-"), options=options
    )
    assert [record["phase"] for record in model.history] == ["ground"]
    best = next(iter(model.link(["louis-bar syndrome"]))).parts[0].best
    assert best is not None
    assert np.isfinite(best.score)
