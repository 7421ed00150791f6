"""linker train: what it says, what it writes, what it takes and refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Linker

from .conftest import contents, rows, typed, write

Run = Callable[..., Any]
QUICK = ("--encoder", "tfidf")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Where `train` writes."""
    return tmp_path / "model"


def options_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))["options"]
    return found


def linked(run: Run, model: Path, *mentions: str) -> list[dict[str, str]]:
    """The first candidates, a row for each mention."""
    path = model.parent / "mentions.txt"
    path.write_text("".join(f"{mention}\n" for mention in mentions), "utf-8")
    result = run("link", path, "--model", model, "-k", "1")
    assert result.code == 0
    return rows(result.out)


# --------------------------------------------------------------------------- what is written


def test_train_then_link_with_nothing_else_typed(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("train", "--dict", sample)
    assert (result.code, result.out) == (0, "")
    assert re.fullmatch(
        r"dictionary: sample_medic.tsv \(medic\): (\d+) concepts\n"
        r"encoder: static\n"
        r"ranker: as it is shipped, fitted to mentions of 14 vocabularies \(diseases, .*\)\n"
        r"model: linker-model \(\1 concepts, 1,\d{3} distinct names\)\n",
        result.err,
    )
    assert Linker.load("linker-model").encoder == "static"
    Path("m.txt").write_text("breast cancer\n")
    assert "MESH:D001943" in run("link", "m.txt").out


def test_files_of_the_user_in_a_model_stop_before_any_work(
    train: Run, model: Path, tmp_path: Path
) -> None:
    assert train(*QUICK).code == 0
    (model / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    result = train("--dict", "nowhere")  # not even the dictionary is looked at
    assert (result.code, "holds notes.txt" in result.err) == (1, True)
    assert contents(tmp_path) == before


def test_the_same_seed_makes_the_same_model(train: Run, sample: Path, model: Path) -> None:
    def trained(seed: str) -> tuple[str, dict[str, bytes]]:
        result = train(
            "--mentions", sample.with_name("sample_mentions.tsv"), "--set", f"training.seed={seed}"
        )
        assert result.code == 0
        return result.err, contents(model)

    first, again, other = (trained(seed) for seed in "334")
    assert first == again
    assert first[1]["ranker/w.npy"] != other[1]["ranker/w.npy"]  # in folds, which the seed deals


# ------------------------------------------------------------------------- annotated mentions


def test_development_mentions_are_reported_and_refitted_on_request(
    train: Run, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "train.tsv").write_text("sugar trouble\tD003924\n")
    (tmp_path / "dev.tsv").write_text("sugar trouble\tD003924\nzzz\tD001249\n")
    options = (*QUICK, "--mentions", tmp_path / "train.tsv", "--dev", tmp_path / "dev.tsv")
    for refit, seen in (((), {"sugar trouble"}), (("--refit",), {"sugar trouble", "zzz"})):
        said = train(*options, *refit).err
        assert "development mentions, protocol strict:" in said
        assert re.search(r"^all +2 +0\.5000 ", said, re.MULTILINE)  # before the refit
        assert Linker.load(model).seen.mentions == seen


def test_the_reported_accuracy_is_that_of_an_evaluation(
    run: Run, train: Run, model: Path, tmp_path: Path
) -> None:
    names = typed("fever gout stroke asthma measles mumps rabies scurvy tetanus flu")
    path = write(tmp_path / "d.tsv", [f"X:{i}\t{name} disease\t" for i, name in enumerate(names)])
    for file, shift, count in (("train.tsv", 0, 60), ("dev.tsv", 1, 80)):
        lines = []
        for i in range(count):
            concept = f"X:{(i + shift * (i % 3 == 0)) % 10}" if i % 4 else "-1"
            lines.append(f"a {names[i % 10]} disease {i}\t{concept}\n")
        (tmp_path / file).write_text("".join(lines))
    dev = tmp_path / "dev.tsv"
    said = train("--dict", path, *QUICK, "--mentions", tmp_path / "train.tsv", "--dev", dev).err
    _, _, after = said.partition("development mentions, protocol strict:\n")
    table, _, _ = after.partition("\nmodel: ")
    figures, errors = table.split("\n\n")
    evaluated = run("evaluate", dev, "--model", model).out.split("\n\n")
    assert evaluated[:2] == [figures, errors]
    assert figures.splitlines()[1].split()[:2] == ["all", "80"]


# -------------------------------------------------------------------------------- the options


def test_options_come_from_the_preset_then_the_file_then_the_command_line(
    train: Run, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "o.toml").write_text(
        '[sparse]\nngram_max = 4\nanalyzer = "char_wb"\n\n[text]\ncomposites = false\n'
    )
    changes = ("--set", "sparse.ngram_max=3", "--set", "normalize.greek=true")
    options = ("--preset", "paper-biosyn", "--set", tmp_path / "o.toml", *changes)
    assert train(*QUICK, *options).code == 0
    found = options_of(model)
    assert (found["sparse"]["analyzer"], found["sparse"]["ngram_max"]) == ("char_wb", 3)
    assert (found["text"]["composites"], found["text"]["biosyn"]) == (False, True)
    assert (found["normalize"]["greek"], found["normalize"]["punctuation"]) == (True, "ascii")


# ----------------------------------------------------------------------------- the dictionary


def test_a_spelling_list_goes_into_the_model(
    run: Run, train: Run, model: Path, tmp_path: Path
) -> None:
    options = (*QUICK, "--spelling", tmp_path / "s.txt")
    (tmp_path / "s.txt").write_text("distrophy||dystrophy\n")
    assert train(*options).code == 0
    (row,) = linked(run, model, "Becker muscular distrophy")
    assert (row["concept_id"], row["score"]) == ("MESH:D020388", "1.0000")
    (tmp_path / "s.txt").write_text("distrophy\n")
    result = train(*options)
    assert (result.code, "s.txt, line 1" in result.err) == (1, True)


def test_a_dictionary_in_another_script(run: Run, train: Run, model: Path, tmp_path: Path) -> None:
    """No word has a vector: a warning says so, and characters link all the same."""
    letters = "абвгдежзклмнопрстуфх"
    codes = [left + right for left in letters for right in letters]
    names = [f"X:{i}\tболезнь {code}\t{code}{code} недуг" for i, code in enumerate(codes)]
    result = train("--dict", write(tmp_path / "d.tsv", names))
    assert result.code == 0
    assert re.search(r"(\d+) of \1 names have no word with a static vector", result.err)
    assert linked(run, model, f"болезнь {codes[7]}")[0]["concept_id"] == "X:7"


@pytest.mark.parametrize(
    ("count", "what"),
    [(0, "as it is shipped, "), (60, "fitted to 60 annotated mentions, in 5 folds")],
)
def test_ten_names_are_trained_linked_and_judged(
    run: Run, train: Run, model: Path, tmp_path: Path, count: int, what: str
) -> None:
    names = typed("fever gout stroke asthma measles mumps rabies scurvy tetanus flu")
    path = write(tmp_path / "d.tsv", [f"X:{place}\t{n}\t" for place, n in enumerate(names)])
    for name, size in (("some.tsv", count), ("judged.tsv", 20)):
        lines = (f"{names[i % 10]} {i}\tX:{i % 10}\n" for i in range(size))
        (tmp_path / name).write_text("".join(lines))
    trained = train("--dict", path, *(("--mentions", tmp_path / "some.tsv") if count else ()))
    assert trained.code == 0
    assert f"ranker: {what}" in trained.err
    assert linked(run, model, "rabies")[0]["concept_id"] == "X:6"
    judged = run("evaluate", tmp_path / "judged.tsv", "--model", model)
    assert judged.out.splitlines()[1].split()[:3] == ["all", "20", "1.0000"]
