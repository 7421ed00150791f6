"""linker train with a dense encoder: flags, what is refused before the work, checkpoints, interruptions, --resume and --refit."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from linker import Linker
from linker.cli import cli
from linker.cli.train import TrainingReporter
from linker.errors import LinkerError
from linker.records import Activity

from .conftest import contents, rows, typed

torch = pytest.importorskip("torch")
huggingface_hub = pytest.importorskip("huggingface_hub")
pytest.importorskip("transformers")

Run = Callable[..., Any]

NAMES = """\
id\tname\tsynonyms\tparents
D1\tneoplasms\ttumor|cancer\t
D2\tbreast neoplasms\tbreast cancer|mammary tumor\tD1
D3\tmale breast cancer\tcancer of the male breast\tD2
D4\tovarian neoplasms\tovarian cancer|cancer of ovary\tD1
D5\tfever\tpyrexia|high temperature\t
D6\tyellow fever\tblack vomit fever\tD5
D7\tasthma\tbronchial asthma\t
D8\tarthritis\tjoint inflammation\t
"""
TRAIN = "male mammary cancer\tD3\nbreast tumour\tD2\nmammary cancer\tD2\novary cancer\tD4\nfevers\tD5\nasthmatic\tD7\n"
DEV = "breast malignancy\tD2\nhot fever\tD5\nnothing known\t-1\nbreast and ovarian cancer\tD2|D4\n"
QUICK = typed(
    "--device cpu --set training.batch_size=4 --set training.top_k=6 "
    "--set training.learning_rate=0.001 --set align.epochs=1"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dictionary, mentions for training and for development."""
    folder = tmp_path_factory.mktemp("dense")
    for name, content in (("names.tsv", NAMES), ("train.tsv", TRAIN), ("dev.tsv", DEV)):
        (folder / name).write_text(content)
    return folder


@pytest.fixture(scope="module")
def files(folder: Path) -> tuple[object, ...]:
    return "--dict", folder / "names.tsv", "--mentions", folder / "train.tsv"


@pytest.fixture(scope="module")
def common(files: tuple[object, ...], tiny_bert: Path) -> tuple[object, ...]:
    """What most trainings here are told."""
    return *files, "--model-name", tiny_bert, *QUICK


@pytest.fixture(scope="module")
def left_alone(
    common: tuple[object, ...], folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The model of a training that nothing interrupted."""
    model = tmp_path_factory.mktemp("alone") / "model"
    result = CliRunner().invoke(
        cli,
        ["train", *map(str, common), "--set", "training.epochs=8", "-o", str(model)],
        catch_exceptions=False,
    )
    assert result.exit_code == 0
    return model


def config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text("utf-8"))


def records(folder: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, (folder / "training.jsonl").read_text("utf-8").splitlines()))


# ----------------------------------------------------------------------------------------------------------- the options


# ----------------------------------------------------------------------------- what is refused before anything is read


# ---------------------------------------------------------------------------------------------------------- a training


def test_names_alone_are_enough_and_the_model_links(
    run: Run, folder: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    queries = ("--set", "training.epochs=2", "--set", "training.dictionary_queries=6")
    arguments = ("--dict", folder / "names.tsv", "--model-name", tiny_bert, *QUICK, *queries)
    result = run("train", *arguments, "-o", tmp_path / "model")
    assert (result.code, result.out) == (0, "")
    assert re.findall(r"^(\w+, epoch \d): loss \d\.\d{4}", result.err, re.MULTILINE) == [
        *("align, epoch 1", "rank, epoch 1", "rank, epoch 2")
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]  # the checkpoints are gone
    (tmp_path / "m.txt").write_text("Pyrexia\nmale breast cancer\n")
    linked = rows(run("link", tmp_path / "m.txt", "--model", tmp_path / "model", "-k", "1").out)
    assert [(row["concept_id"], row["matched_name"]) for row in linked] == [
        ("D5", "pyrexia"),
        ("D3", "male breast cancer"),
    ]


def test_development_mentions_choose_the_epoch_that_refit_repeats(
    train: Run,
    common: tuple[object, ...],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, marks = importlib.import_module("linker.training.pipeline"), iter([0.1, 0.9, 0.5])
    accuracies = module._accuracies

    def marked(dev: Any, linker: Any) -> Any:
        return {**accuracies(dev, linker), "dev_acc1": next(marks)}

    monkeypatch.setattr(module, "_accuracies", marked)
    result = train(*common, "--set", "training.epochs=3", "--dev", folder / "dev.tsv", "--refit")
    assert result.code == 0
    assert "development mentions, protocol strict, with the weights of epoch 2:" in result.err
    found = records(tmp_path / "model")
    phases = [("align", 1), ("rank", 1), ("rank", 2), ("rank", 3), ("refit", 1), ("refit", 2)]
    assert [(record["phase"], record["epoch"]) for record in found] == phases
    assert ["dev_acc1" in record for record in found] == [False, True, True, True, False, False]
    model = Linker.load(tmp_path / "model")
    assert model.options.training.epochs == 2
    assert {"breast malignancy", "hot fever"} < model.seen.mentions  # their names are indexed too
    weight = json.loads((tmp_path / "model" / "hybrid.json").read_text())["sparse_weight"]
    # scores of unit vectors are cosines, in training 20 times that
    assert weight == found[-1]["sparse_weight"] / 20


# ------------------------------------------------------------------------------------------------------- interruptions


def test_checkpoints_that_are_left_are_neither_overwritten_nor_taken_for_another_training(
    run: Run,
    common: tuple[object, ...],
    left_alone: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(self: Linker, folder: object) -> None:
        raise LinkerError("the disk is full")

    arguments = (*common, "--set", "training.epochs=8", "-o", tmp_path / "model")
    left = tmp_path / "model.training"
    with monkeypatch.context() as patch:
        patch.setattr(Linker, "save", full)
        assert run("train", *arguments).err.endswith("linker: the disk is full\n")
    before = contents(left)
    assert {path.partition("/")[0] for path in before} == {"align", "rank"}
    assert run("train", *arguments).code == 1
    other = run("train", *arguments, "--resume", "--set", "training.seed=3")
    assert (other.code, "training.seed" in other.err) == (1, True)
    assert contents(left) == before
    result = run("train", *arguments, "--resume")
    assert result.code == 0
    assert contents(tmp_path / "model") == contents(left_alone)
    assert not left.exists()


def stopped(arguments: Iterable[object], folder: Path, number: signal.Signals) -> tuple[int, str]:
    """Start a training as a process of its own, stop it behind its first epoch; its exit code and what it said since."""
    command = [sys.executable, "-m", "linker.cli", "train", *map(str, arguments)]
    # another number might round otherwise
    environment = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if line.startswith("rank, epoch 1:"):
                break
        child.send_signal(number)
        said = child.stderr.read()
    return child.returncode, said


GO_ON = r"go on with --resume\n"


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (signal.SIGKILL, -signal.SIGKILL, r""),
        (signal.SIGINT, 130, rf".*model\.training holds .*; {GO_ON}\s*linker: interrupted\n"),
    ],
    ids=["SIGKILL", "SIGINT"],
)
def test_a_stopped_training_goes_on_to_the_same_model(
    run: Run,
    common: tuple[object, ...],
    left_alone: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    code: int,
    message: str,
) -> None:
    arguments = (*common, "--set", "training.epochs=8", "-o", tmp_path / "model")
    found, said = stopped(arguments, tmp_path, number)
    assert found == code, said
    assert re.fullmatch(rf"(rank, epoch \d: .*\n)*{message}", said)
    assert [path.name for path in tmp_path.iterdir()] == ["model.training"]  # no model yet
    epochs = len(config(tmp_path / "model.training" / "rank" / "checkpoint")["history"])
    assert 1 <= epochs < 8
    made: list[str] = []

    def report(_: Any, activity: Activity) -> None:
        made.extend([activity.at.partition(",")[0]] * (activity.what == "rank"))

    monkeypatch.setattr(TrainingReporter, "on_activity", report)
    assert run("train", *arguments, "--resume").code == 0
    # what was done is not done again; 6 mentions, 4 at once
    every = [f"epoch {epoch} of 8" for epoch in range(epochs + 1, 9) for _ in range(2)]
    assert [at for at in made if at] == every
    assert contents(tmp_path / "model") == contents(left_alone)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
