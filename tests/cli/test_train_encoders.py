"""linker train with each encoder and preset that there is, talking, silent, and with a bar."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("gensim")
pytest.importorskip("transformers")

from linker.cli import common
from linker.encoders import registry
from linker.linking.options import presets

from .test_train_dense import NAMES, TRAIN

Run = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("one_thread")

# as small as it goes; an encoder passes over the options of others
TINY = """
[transformer]
model = "{model}"
[words]
dim = 4
min_count = 1
epochs = 1
buckets = 0
[dan]
cca = false
hidden = 4
[fewshot]
base = "words"
hidden = 4
[bne]
hidden = 4
[align]
epochs = 1
[ground]
epochs = 1
level = 1
parts = 2
shots = 2
[training]
epochs = 1
dictionary_queries = 4
device = "cpu"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A dictionary with one root, mentions, and the options of a training of a moment."""
    folder = tmp_path_factory.mktemp("every")
    header, *rows = NAMES.splitlines()
    rows = [row + "D0" if row.endswith("\t") else row for row in rows]
    (folder / "names.tsv").write_text("\n".join([header, "D0\tdisease\tillness\t", *rows, ""]))
    (folder / "train.tsv").write_text(TRAIN)
    (folder / "tiny.toml").write_text(TINY.format(model=tiny_bert))
    return folder


@pytest.mark.parametrize(
    "chosen",
    [("--encoder", name) for name in registry.encoders()]
    + [("--preset", name) for name in presets()],
    ids=lambda chosen: chosen[1],
)
def test_training_is_silent_talks_and_shows_a_bar(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, chosen: tuple[str, str]
) -> None:
    given = ("--dict", folder / "names.tsv", "--mentions", folder / "train.tsv")
    command = ("train", *given, *chosen, "--set", folder / "tiny.toml", "-o", folder / "model")
    assert run(*command, "-q") == (0, "", "")
    verbose = run(*command, "-v")
    assert (verbose.code, verbose.out) == (0, "")
    monkeypatch.setattr(common, "has_bars", lambda: True)
    shown = run(*command)
    assert (shown.code, shown.out) == (0, "")
    assert f"model: {folder / 'model'}" in shown.err
