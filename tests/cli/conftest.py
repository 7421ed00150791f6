"""Running the command line in this process, and as a process of its own where signals, pipes or limits take part."""

from __future__ import annotations

import csv
import io
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from linker import cli

HEADER = "# DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\tSlimMappings\n"


def typed(text: str) -> list[str]:
    """Arguments as they are typed, with blanks between them."""
    return text.split()


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder and what they hold."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """Run a command in this process; its exit code and what it wrote. No message may hold a traceback."""

    monkeypatch.delenv("LINKER_MODEL", raising=False)

    def call(*args: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["linker", *map(str, args)])
        root, handler = logging.getLogger(), logging.StreamHandler()
        handler.setFormatter(cli.messages.TextFormatter())
        root.addHandler(handler)
        root.setLevel(logging.WARNING)
        capsys.readouterr()
        try:
            code = cli.run()
        finally:
            root.removeHandler(handler)
            root.setLevel(logging.WARNING)
            logging.getLogger("linker").setLevel(logging.NOTSET)
        written = capsys.readouterr()
        assert "--debug" in args or "Traceback" not in written.err
        assert "a bug in linker" not in written.err
        return Result(code, written.out, written.err)

    return call


@pytest.fixture
def train(run: Callable[..., Result], sample: Path, tmp_path: Path) -> Callable[..., Result]:
    """Train into `tmp_path`/model: on the sample dictionary, unless --dict names another one."""

    def call(*options: object) -> Result:
        dictionary = () if "--dict" in options else ("--dict", sample)
        return run("train", *dictionary, *options, "-o", tmp_path / "model")

    return call


@pytest.fixture
def link(run: Callable[..., Result], trained: Path) -> Callable[..., Result]:
    """Link by a model of the sample dictionary."""
    return lambda *options: run("link", "--model", trained, *options)


@pytest.fixture
def annotate(run: Callable[..., Result], trained: Path) -> Callable[..., Result]:
    """Annotate by a model of the sample dictionary."""
    return lambda *options: run("annotate", "--model", trained, *options)


@pytest.fixture
def process() -> Callable[..., Result]:
    """Run a command as a process of its own."""

    def call(*args: object, **settings: Any) -> Result:
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60, **settings}
        done = subprocess.run(
            [sys.executable, "-m", "linker.cli", *map(str, args)], check=False, **settings
        )
        result = Result(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())
        assert "Traceback" not in result.err
        assert "Exception ignored" not in result.err
        return result

    return call


@pytest.fixture(scope="session")
def trained(sample_model: Path) -> Path:
    """A model of the sample dictionary; not to be changed."""
    return sample_model


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A model of the sample dictionary that may be changed."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a table between tabs, by its header."""
    return list(csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"))


def write(path: Path, lines: Iterable[str]) -> Path:
    """Write a dictionary out of rows of id, name and synonyms."""
    path.write_text("id\tname\tsynonyms\n" + "\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def medic(tmp_path: Path) -> Callable[..., Path]:
    """Write a dictionary in MEDIC's format out of (name, id, parents, synonyms) rows."""

    def write(*rows: tuple[str, str, str, str], file: str = "medic.tsv") -> Path:
        lines = (
            f"{name}\t{identifier}\t\t\t{parents}\t\t\t{synonyms}\t\n"
            for name, identifier, parents, synonyms in rows
        )
        path = tmp_path / file
        path.write_text(HEADER + "".join(lines), encoding="utf-8")
        return path

    return write
