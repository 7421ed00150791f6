"""A linker with a dense encoder: training, saving, loading and linking on the sample dictionary with a tiny BERT."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from safetensors.torch import load_file, save_file  # noqa: E402

from linker import (  # noqa: E402
    Dictionary,
    Linker,
    LinkerError,
    LinkerOptions,
    Mention,
)
from linker.evaluation import protocols  # noqa: E402
from linker.io import files, persistence  # noqa: E402
from linker.linking.options import changed, preset  # noqa: E402
from linker.records import Candidate, GoldGroup  # noqa: E402
from linker.training import pipeline  # noqa: E402
from linker.training.plan import RunSettings  # noqa: E402

QUERIES = [
    "breast cancers",
    "tumour",
    "haemophilia",
    "a cup of tea",
    "AIDS",
    "",
    "Louis Bar",
    "breast and ovarian cancer",
    "cancer",
]
TRAINING = {
    "epochs": 2,
    "learning_rate": 1e-3,
    "device": "cpu",
    "precision": "fp32",
    "top_k": 8,
    "dictionary_queries": 16,
}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def options(tiny_bert: Path) -> LinkerOptions:
    return changed(
        LinkerOptions(),
        {"transformer": {"model": str(tiny_bert)}, "training": TRAINING, "align": {"epochs": 0}},
    )


@pytest.fixture(scope="module")
def few(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    """The first 20 concepts of the sample, without their hierarchy."""
    lines = [
        line for line in sample.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ][:20]
    rows = [line.split("\t") for line in lines]
    path = tmp_path_factory.mktemp("few") / "few.tsv"
    path.write_text(
        "\n".join(["id\tname\tsynonyms", *(f"{row[1]}\t{row[0]}\t{row[7]}" for row in rows)])
        + "\n",
        encoding="utf-8",
    )
    return Dictionary.read(path)


@pytest.fixture(scope="module")
def own() -> list[Mention]:
    """Mentions of some of these concepts."""
    pairs = [
        ("chondrodystrophy", "D000130"),
        ("renal failure, sudden", "D058186"),
        ("glandular cancer", "D000230"),
        ("ADRENAL weakness", "D000309"),
    ]
    return [annotated(text, f"MESH:{identifier}") for text, identifier in pairs]


def annotated(text: str, *ids: str) -> Mention:
    return Mention(text, gold=tuple(GoldGroup((identifier,)) for identifier in ids))


def train(
    dictionary: Dictionary, options: LinkerOptions, mentions: Sequence[Mention] = (), **others: Any
) -> Linker:
    return pipeline.train(
        dictionary, encoder="transformer", mentions=mentions, options=options, **others
    )


def weights(linker: Linker) -> dict[str, list[Any]]:
    generator: Any = linker.generator
    state = generator.encoder.model.state_dict()
    return {f"model.{name}": state[name].tolist() for name in sorted(state)} | {
        "λ": [generator.sparse_weight],
        "vectors": generator.vectors.tolist(),
        "bias": generator.bias.tolist(),
    }


def resign(folder: Path) -> None:
    """Make the manifest of a changed folder true."""
    sums = {
        f.relative_to(folder).as_posix(): files.sha256(f)
        for f in folder.rglob("*")
        if f.is_file() and f.name != "manifest.json"
    }
    persistence.save_json(folder / "manifest.json", {"sha256": sums})


def accuracy(linker: Linker, mentions: Sequence[Mention]) -> dict[str, float]:
    ranks = [outcome.rank for outcome in protocols.strict(linker, mentions, 20)]
    return {f"dev_acc{k}": float(np.mean([0 < rank <= k for rank in ranks])) for k in (1, 5)}


def found(
    linker: Linker, queries: Sequence[str] = QUERIES, batch_size: int = 1024
) -> list[list[Candidate]]:
    return [
        [c for part in p.parts for c in part.candidates]
        for p in linker.link(queries, k=4, batch_size=batch_size, threshold=0)
    ]


@pytest.fixture(scope="module")
def model(dictionary: Dictionary, mentions: list[Mention], options: LinkerOptions) -> Linker:
    """Trained on two mentions of three, judged by the third."""
    whole = changed(options, {"align": {"epochs": 1}})
    training = [mention for i, mention in enumerate(mentions) if i % 3]
    return train(dictionary, whole, training, dev=mentions[::3])


@pytest.fixture(scope="module")
def saved(model: Linker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder, written under umask 022."""
    folder = tmp_path_factory.mktemp("dense") / "model"
    mask = os.umask(0o022)
    try:
        model.save(folder)
    finally:
        os.umask(mask)
    return folder


# ------------------------------------------------------------------------------------------------------ training and linking


def test_what_was_annotated_often_is_likelier(
    few: Dictionary, own: list[Mention], options: LinkerOptions
) -> None:
    """A name has 0.1 / 20 · log(1 + annotations of its concept); AD names two concepts of the sample, FAP too."""
    often = [
        annotated("addisons", "MESH:D000224"),
        *[annotated("alzheimers", "MESH:D000544")] * 3,
        annotated("polyp", "MESH:D011125"),
    ]
    both = annotated("two", "MESH:D000224", "MESH:D000544")  # of several concepts: is not counted
    linker = train(few, changed(options, {"training": {"epochs": 0}}), [*often, both])
    bias = dict(zip(linker.generator.table.texts, weights(linker)["bias"], strict=True))
    assert bias["addisons"] == bias["addison disease"] == pytest.approx(0.005 * np.log(1 + 1))
    # the more frequent one of AD's two
    assert bias["alzheimers"] == bias["ad"] == pytest.approx(0.005 * np.log(1 + 3))
    assert bias["fap"] == pytest.approx(0.005 * np.log(1 + 1))
    assert {bias[name] for name in ("anemia", "amyloidosis", "als")} == {0}
    # names are kept in half precision
    assert found(linker, ["ad"])[0][0].score == pytest.approx(1 + 0.005 * np.log(4), abs=2e-4)


@pytest.fixture(scope="module")
def whole(options: LinkerOptions) -> LinkerOptions:
    return changed(options, {"align": {"epochs": 1}})


@pytest.fixture(scope="module")
def extended(few: Dictionary, own: list[Mention], whole: LinkerOptions) -> Linker:
    """Trained on mentions, which become names, in both phases."""
    return train(few, whole, own)


@pytest.mark.parametrize(
    ("history", "best", "last"),
    [
        ([], 0, 0),
        ([("align", 1, None), ("align", 2, None)], 0, 0),
        ([("align", 1, None), ("rank", 1, None), ("rank", 2, None)], 2, 2),
        ([("rank", 1, 0.5), ("rank", 2, 0.7), ("rank", 3, 0.7), ("rank", 4, 0.1)], 2, 4),
        ([("rank", 1, 0.5), ("rank", 2, 0.4), ("refit", 1, None)], 1, 1),
        ([("rank", 1, 0.1), ("rank", 2, 0.4), ("refit", 1, None), ("refit", 2, None)], 2, 2),
    ],
)
def test_the_best_epoch(
    model: Linker, history: Sequence[tuple[str, int, float | None]], best: int, last: int
) -> None:
    records = [
        {"phase": phase, "epoch": epoch} | ({} if acc is None else {"dev_acc1": acc})
        for phase, epoch, acc in history
    ]
    for published, expected in ((False, best), (True, last)):
        recipe = dataclasses.replace(model.options.recipe, published=published)
        options = dataclasses.replace(model.options, recipe=recipe)
        told = dataclasses.replace(model, history=records, options=options)
        assert told.best_epoch == expected


@pytest.mark.parametrize("paper", ["paper-biosyn", "paper-bcnh"])
def test_paper_presets(sample: Path, mentions: list[Mention], tiny_bert: Path, paper: str) -> None:
    values = {
        "transformer": {"model": str(tiny_bert)},
        "training": {"epochs": 1, "device": "cpu", "learning_rate": 1e-4},
    }
    linker = train(
        Dictionary.read(sample), changed(preset(paper, "transformer"), values), mentions[:8]
    )
    told = {"phase", "epoch", "loss", "gold_share", "sparse_weight"}
    assert linker.history[0].keys() - {"norm_loss", "list_loss"} == told
    assert ("norm_loss" in linker.history[0]) == (paper == "paper-bcnh")
    assert linker.best_epoch == 1


# ------------------------------------------------------------------------------------------------------------- bad material


# --------------------------------------------------------------------------------------------------------------- interrupted


class Stop(Exception):
    """What an interruption is here."""


def stopping(work: RunSettings, event: int) -> RunSettings:
    """RunSettings that stops when the event of this number (from 1) is told."""
    events: list[object] = []

    def on_event(told: object) -> None:
        events.append(told)
        if len(events) == event:
            raise Stop

    return dataclasses.replace(work, on_event=on_event)


def test_resuming_with_something_else_is_refused(
    dictionary: Dictionary,
    few: Dictionary,
    own: list[Mention],
    options: LinkerOptions,
    tmp_path: Path,
    tiny_bert: Path,
) -> None:
    work = RunSettings(tmp_path / "c")
    with pytest.raises(Stop):
        train(few, options, own, settings=stopping(work, 2))
    work = dataclasses.replace(work, resume=True)
    for group, field, value in [
        ("training", "top_k", 10),
        ("sparse", "ngram_max", 4),
        ("transformer", "pooling", "cls"),
        ("text", "composites", False),
    ]:
        with pytest.raises(LinkerError, match=rf"another training, .*{group}\.{field}"):
            train(few, changed(options, {group: {field: value}}), own, settings=work)
    with pytest.raises(LinkerError, match=r"another training, .*\bnames"):
        train(dictionary, options, own, settings=work)
    with pytest.raises(LinkerError, match=r"another training, .*\bmentions"):
        train(few, options, own[1:], settings=work)
    with pytest.raises(LinkerError, match=r"another training, with another indexed"):
        train(few, options, [*own, own[0]], settings=work)  # counts twice


# --------------------------------------------------------------------------------------------------------- the model's folder


def test_the_folder_holds_no_code_no_paths_and_can_be_read(saved: Path, tiny_bert: Path) -> None:
    paths = [path for path in saved.rglob("*") if path.is_file()]
    suffixes = {".safetensors", ".md", ".json", ".npy", ".jsonl", ".png", ".txt"}
    assert {path.suffix for path in paths} <= suffixes
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [saved, *saved.rglob("*")]}
    assert modes == {(False, 0o644), (True, 0o755)}
    for path in paths:
        for told in (str(tiny_bert), str(tiny_bert.parent.name), str(saved.parent)):
            assert told.encode() not in path.read_bytes(), path
    config = json.loads((saved / "config.json").read_text())
    assert config["options"]["transformer"]["model"] == "tiny-bert"
    lines = [json.loads(line) for line in (saved / "training.jsonl").read_text().splitlines()]
    assert lines == Linker.load(saved).history


def json_file(name: str, **changes: Any) -> Callable[[Path], None]:
    """Change entries of a JSON file; None removes one."""

    def damage(folder: Path) -> None:
        entries: Mapping[str, Any] = json.loads((folder / name).read_text()) | changes
        (folder / name).write_text(
            json.dumps({key: value for key, value in entries.items() if value is not None})
        )

    return damage


def vectors(
    change: Callable[[np.ndarray], np.ndarray], array: str = "vectors"
) -> Callable[[Path], None]:
    path = Path("dense_names", f"{array}.npy")
    return lambda folder: np.save(folder / path, change(np.load(folder / path)))


def weights_file(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Change all weights of the encoder."""

    def damage(folder: Path) -> None:
        path = folder / "dense" / "model" / "model.safetensors"
        changed_ = {name: change(tensor) for name, tensor in load_file(path).items()}
        save_file(changed_, path, {"format": "pt"})

    return damage


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


NO_FIT = "is damaged, or a model of another release"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (vectors(lambda v: v[:-1]), NO_FIT),
        (vectors(lambda v: v + np.float32("inf"), "bias"), NO_FIT),
        (json_file("hybrid.json", sparse_weight=float("nan")), NO_FIT),
        (removed("hybrid.json"), r"hybrid\.json: there is no such file"),
        (
            weights_file(lambda w: w.repeat(*[2] * w.ndim)),
            "is no encoder that transformers can load",
        ),
        (weights_file(lambda w: w * float("nan")), "its vectors are not finite; its weights are"),
        (removed("dense/model/model.safetensors"), "has no weights in safetensors"),
        (json_file("dense/options.json", pooling="max"), "pooling"),
        (
            json_file("config.json", encoder="word2vec"),
            r"^\S*model: there is no encoder 'word2vec'",
        ),
        (json_file("config.json", encoder="tfidf"), None),  # then it is a sparse model
        (lambda folder: (folder / "training.jsonl").write_text("{"), NO_FIT),
    ],
)
def test_damaged_folders_with_a_true_manifest_are_refused(
    saved: Path, tmp_path: Path, damage: Callable[[Path], None], message: str | None
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    damage(folder)
    resign(folder)
    if message is None:
        assert found(Linker.load(folder), ["AIDS"])[0][0].dense_score is None
        return
    with pytest.raises(LinkerError, match=message):
        Linker.load(folder)


def test_vectors_that_are_not_finite_are_refused_by_linking(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    vectors(lambda v: v * np.float32("nan"))(folder)
    resign(folder)
    linker = Linker.load(folder)
    with pytest.raises(LinkerError, match="the vectors of the names are not finite; the model is"):
        list(linker.link(["AIDS"]))
