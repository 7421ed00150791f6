"""linker train: what it says, what it writes, what it takes and refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
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
        r"ranker: as it is shipped, fitted to the training and development mentions of NCBI "
        r"Disease and BC5CDR, and names of MEDIC\n"
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
    message = f"{model}: holds notes.txt, which linker did not write there; move it, or name another folder with -o"
    for dictionary in ((), ("--dict", "nowhere")):  # not even the dictionary is looked at
        assert train(*dictionary) == (1, "", f"linker: {message}\n")
    assert contents(tmp_path) == before
    (model / "notes.txt").unlink()
    assert train(*QUICK).code == 0


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


@pytest.mark.parametrize(
    ("first", "other", "letters"),
    [
        ("болезнь", "недуг", "абвгдежзклмнопрстуфх"),
        ("病", "症", "一丁丂七丄丅丆万丈三上下丌不与丏丐丑丒专"),
    ],
)
def test_a_dictionary_in_another_script(
    run: Run, train: Run, model: Path, tmp_path: Path, first: str, other: str, letters: str
) -> None:
    """No word has a vector: a warning says so, and characters link all the same."""
    codes = [left + right for left in letters for right in letters]
    names = [f"X:{i}\t{first} {code}\t{code}{code} {other}" for i, code in enumerate(codes)]
    result = train("--dict", write(tmp_path / "d.tsv", names))
    assert result.code == 0
    assert re.search(r"(\d+) of \1 names have no word with a static vector", result.err)
    assert linked(run, model, f"{first} {codes[7]}")[0]["concept_id"] == "X:7"


@pytest.mark.parametrize(
    ("count", "what"),
    [(0, "as it is shipped, "), (60, "fitted to 60 annotated mentions, in 5 folds")],
)
def test_ten_names_are_trained_linked_explained_and_judged(
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
    (tmp_path / "t.txt").write_text("rabies\n…\n")
    answers = rows(run("link", tmp_path / "t.txt", "--model", model).out)
    assert (answers[0]["mention"], answers[0]["concept_id"]) == ("rabies", "X:6")
    assert len(answers) == 5 + 1  # five candidates of the one, none of the other
    assert "X:6" in run("explain", "rabies", "--model", model).out
    judged = run("evaluate", tmp_path / "judged.tsv", "--model", model)
    assert judged.code == 0
    assert judged.out.splitlines()[1].split()[:3] == ["all", "20", "1.0000"]


# --------------------------------------------------------------------------- what is missing


WITHOUT = """\
import sys
class Missing:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
from linker.cli import main
sys.argv = ["linker", *sys.argv[1:]]
main()
"""


def test_the_default_needs_neither_torch_nor_transformers_nor_tokenizers(
    sample: Path, tmp_path: Path
) -> None:
    missing = typed("torch transformers tokenizers huggingface_hub safetensors")

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT.format(missing=missing), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    trained = call("train", "--dict", sample, "-o", tmp_path / "m")
    assert trained.returncode == 0, trained.stderr
    assert "encoder: static" in trained.stderr
    (tmp_path / "mentions.txt").write_text("kidney failure\n")
    result = call("link", "--model", tmp_path / "m", tmp_path / "mentions.txt")
    assert result.returncode == 0, result.stderr
    assert "MESH:" in result.stdout
