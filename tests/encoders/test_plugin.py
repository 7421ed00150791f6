"""An encoder of another package: installed, trained with an option of its own, saved, and loaded."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

for package in ("torch",):
    pytest.importorskip(package)
if importlib.util.find_spec("pip") is None:
    pytest.skip("pip is not installed", allow_module_level=True)

WHEEL = {  # what a package of one module is, beside the module
    "METADATA": "Metadata-Version: 2.1\nName: toy-encoder\nVersion: 1\n",
    "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "entry_points.txt": "[linker.encoders]\ntoy = toy:ToyEncoder\n",
    "RECORD": "",
}
MODULE = '''
"""A toy: how often each letter stands in a name."""

import dataclasses
import json
from dataclasses import dataclass

import numpy as np

from linker.encoders.base import Encoder, Preset


@dataclass(frozen=True)
class ToyOptions:
    scale: float = 1.0  # what counts are multiplied by


class ToyEncoder(Encoder):
    """Dense: counts of letters."""

    Options = ToyOptions
    presets = {
        "toy": Preset("Dense: counts of letters, times ten.", {"encoder": {"scale": 10}}),
        "paper-toy": Preset("The toy of the paper.", {"encoder": {"scale": 3}}),
    }

    def __init__(self, options):
        self.options = options

    @classmethod
    def create(cls, context):
        assert len(context.table) and context.words is None and context.seed == 5
        return cls(context.options)

    @property
    def dim(self):
        return 26

    def encode(self, names, *, batch_size=256, progress=False):
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = [[name.count(letter) for letter in letters] for name in names]
        return self.options.scale * np.array(counts, np.float32).reshape(-1, 26)

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "toy.json").write_text(json.dumps(dataclasses.asdict(self.options)))

    @classmethod
    def load(cls, folder):
        return cls(ToyOptions(**json.loads((folder / "toy.json").read_text())))
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the package into."""
    wheel = tmp_path_factory.mktemp("wheels") / "toy_encoder-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("toy.py", MODULE)
        for name, text in WHEEL.items():
            file.writestr(f"toy_encoder-1.dist-info/{name}", text)
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet"]
    subprocess.run([*command, "--target", target, wheel], check=True, capture_output=True)
    return target


def linker(installed: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command of linker in a process of its own, which finds the package."""
    return subprocess.run(
        [sys.executable, "-m", "linker.cli", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_encoder_of_another_package(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("id\tname\nD1\tbreast cancer\nD2\tskin tumor\n")
    (tmp_path / "options.toml").write_text("[toy]\nscale = 7\n[dan]\nhidden = 8\n")
    train = ("train", "--dict", tmp_path / "d.tsv", "--encoder", "toy", "--set", "training.seed=5")
    output = ("-o", tmp_path / "model")
    trained = linker(
        installed, *train, "--set", tmp_path / "options.toml", "--set", "toy.scale=2", *output
    )
    assert trained.returncode == 0, trained.stderr
    assert '"scale": 2.0' in (tmp_path / "model" / "config.json").read_text()
    mentions = tmp_path / "mentions.txt"
    mentions.write_text("tumor skin\n")
    linked = linker(installed, "link", mentions, "--model", tmp_path / "model")
    assert linked.returncode == 0, linked.stderr
    assert "D2" in linked.stdout
    assert "D1" not in linked.stdout.partition("\n")[0]
