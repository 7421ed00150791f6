"""Names of files that are no UTF-8, or hold blanks, quotes and line ends; and names that the locale does not know."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.io import table

Run = Callable[..., Any]

NAMES = [  # as the system has it, and as it is shown
    (b"a\xff.tsv", r"a\xff.tsv"),
    (b"a 'b' \"c\".tsv", "a 'b' \"c\".tsv"),
    (b"a\nb\x1b[1m.tsv", r"a\nb\x1b[1m.tsv"),
]
C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(params=NAMES, ids=["not UTF-8", "quotes", "control characters"])
def names(request: pytest.FixtureRequest) -> tuple[str, str]:
    name, shown = request.param
    return os.fsdecode(name), shown


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_every_command_takes_any_name(
    run: Run, sample: Path, tmp_path: Path, names: tuple[str, str]
) -> None:
    name, shown = names
    folder = tmp_path / name
    folder.mkdir()
    dictionary, mentions = (
        shutil.copy(sample.with_name(file), folder / (file + name))
        for file in (sample.name, "sample_mentions.tsv")
    )
    model, out, predictions, judged, converted = (
        folder / (what + name) for what in ("model", "out", "p", "judged", "c")
    )

    given = ("--dict", dictionary, "--mentions", mentions, "--dev", mentions)
    result = run("train", *given, "-o", model)
    assert result.code == 0
    assert f"dictionary: {sample.name}{shown} (medic): 346 concepts\n" in result.err
    sources = json.loads((model / "dictionary" / "sources.json").read_text("utf-8"))
    assert [source["file"] for source in sources] == [sample.name + shown]
    link = ("link", mentions, "--model", model)
    assert run(*link, "-o", out).code == 0
    assert out.read_text("utf-8") == run(*link).out
    assert run(*link, "--format", "jsonl", "-k", "20", "-o", predictions).code == 0
    evaluate = ("evaluate", mentions, "--model", model, "--predictions", predictions)
    assert run(*evaluate, "-o", judged).code == 0
    record = json.loads((judged / "metrics.json").read_text("utf-8"))
    assert record["mentions"] == f"{tmp_path}/{shown}/sample_mentions.tsv{shown}"
    assert record["predictions"] == f"{tmp_path}/{shown}/p{shown}"
    assert record["model"]["folder"] == f"{tmp_path}/{shown}/model{shown}"
    assert run("dictionary", "stats", dictionary).out.startswith(f"{sample.name}{shown}  medic")
    (source,) = json.loads(run("dictionary", "stats", model, "--format", "json").out)["sources"]
    assert source["file"] == sample.name + shown
    assert run("dictionary", "convert", dictionary, "-o", converted).code == 0
    assert len(list(table.read(converted))) == 346
    assert run("dictionary", "diff", dictionary, converted).code == 0


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8 in every locale")
def test_names_that_the_locale_does_not_know(process: Run, sample: Path, tmp_path: Path) -> None:
    given = {"env": os.environ | C, "cwd": tmp_path}
    shutil.copy(sample, tmp_path / "βλ.tsv")
    result = process("train", "--dict", "βλ.tsv", "--encoder", "tfidf", "-o", "μ", **given)
    assert result.code == 0
    assert result.err.startswith("dictionary: βλ.tsv (medic): 346 concepts\n")
    (source,) = json.loads((tmp_path / "μ/dictionary/sources.json").read_text("utf-8"))
    assert source["file"] == "βλ.tsv"
    message = "linker: α.tsv: there is no such file; check the path\n"
    assert process("link", "α.tsv", "--model", "μ", **given) == (1, "", message)
