"""A main path of every command where no extra is installed, and what commands say that need one.

`scripts/test` runs this in an environment of its own, without extras; elsewhere only the lists are checked.
"""

from __future__ import annotations

import importlib.util
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import linker
from linker.cli import cli
from linker.errors import LinkerError
from linker.version import install_hint

ROOT = Path(__file__).resolve().parent.parent

RUN = """
get
model encoders
train --dict dictionaries/sample_medic.tsv --mentions dictionaries/sample_mentions.tsv
link dictionaries/sample_mentions.txt -k 3 -o linked.tsv
annotate dictionaries/sample_documents.pubtator.txt
explain "hepatitis B/C"
model encode dictionaries/sample_mentions.txt -o vectors.npy
model verify
model info
index --dict dictionaries/sample_medic.tsv -o renewed
evaluate dictionaries/sample_mentions.tsv -o evaluation
evaluate dictionaries/sample_mentions.tsv --against evaluation
review check pairs.tsv
dictionary stats dictionaries/sample_medic.tsv
dictionary convert dictionaries/sample_medic.tsv -o table.tsv
dictionary diff dictionaries/sample_medic.tsv table.tsv
dictionary lend dictionaries/sample_medic.tsv table.tsv
dictionary search linker-model "hepatic inj"
review import dictionaries/sample_mentions.tsv --reviewer Ada --decisions decisions.sqlite
review list --decisions decisions.sqlite
review export --decisions decisions.sqlite -o decisions.tsv
review learn --decisions decisions.sqlite
review update --decisions decisions.sqlite --dict dictionaries/sample_medic.tsv
review report dictionaries/sample_mentions.txt
review withdraw 1 --decisions decisions.sqlite
review import dictionaries/sample_mentions.txt --project sample
review projects
review export --project sample
"""
"""Commands that need no extra, one after another in a folder that holds `dictionaries/`."""

NEEDING = {
    "serve": "serve",
    "mcp": "mcp",
    "words convert vectors.txt -o words": "dense",
    "words train dictionaries/sample_mentions.txt -o words": "dense",
    "train --dict dictionaries/sample_medic.tsv --encoder dan": "dense",
    "train --dict dictionaries/sample_medic.tsv --encoder transformer": "dense",
    "link dictionaries/sample_mentions.txt --device cuda": "dense",
    "link dictionaries/sample_mentions.txt --model hf:user/name": "hub",
    "link dictionaries/ --engine ray -o linked": "ray",
    "link table.xlsx --column name -o linked.xlsx": "sheets",
    "link mentions.parquet": "ray",
    "dictionary stats animals.ttl": "skos",
    "dictionary stats animals.owl": "owl",
}
"""Commands, and the extra that each needs."""

FILES = {
    "pairs.tsv": "id\tlabel\nMESH:D001943\tbreast cancer\n",
    "vectors.txt": "2 3\ncancer 0.1 0.2 0.3\nbreast 0.3 0.2 0.1\n",
    "mentions.parquet": "PAR1\x15\x04",
    "table.xlsx": "PK\x03\x04",
    "animals.ttl": "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    '<http://example.org/1> a skos:Concept ; skos:prefLabel "goat"@en .\n',
    "animals.owl": '<?xml version="1.0"?>\n<rdf:RDF xmlns:owl="http://www.w3.org/2002/07/owl#" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><owl:Ontology/></rdf:RDF>\n',
}


def commands(command: click.Command, name: str = "") -> Iterator[str]:
    """The names of all commands, with those of their groups before them."""
    if not isinstance(command, click.Group):
        yield name.strip()
        return
    context = click.Context(command)
    for part in command.list_commands(context):
        found = command.get_command(context, part)
        assert found
        yield from commands(found, f"{name} {part}")


def test_every_command_has_a_main_path() -> None:
    paths = [*RUN.strip().splitlines(), *NEEDING]
    names = [*commands(cli)]
    assert len(names) > 25
    assert [name for name in names if not any(f"{p} ".startswith(f"{name} ") for p in paths)] == []


bare = pytest.mark.skipif(
    any(map(importlib.util.find_spec, ("torch", "fastapi", "openpyxl", "safetensors"))),
    reason="extras are installed; scripts/test makes an environment without",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the bundled dictionaries and some files of users."""
    shutil.copytree(ROOT / "dictionaries", tmp_path / "dictionaries")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINKER_MODEL", raising=False)
    return tmp_path


def run(line: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, shlex.split(line))


@bare
def test_main_paths_need_no_extra(folder: Path) -> None:
    assert not Path(linker.__file__).is_relative_to(ROOT / "linker")  # but what a wheel holds
    for line in RUN.strip().splitlines():
        result = run(line)
        assert result.exit_code == 0, f"linker {line}: {result.exception!r}\n{result.output}"


@bare
def test_what_needs_an_extra_says_how_to_install_it(folder: Path) -> None:
    run("train --dict dictionaries/sample_medic.tsv")
    for line, extra in NEEDING.items():
        error = run(line).exception
        assert isinstance(error, LinkerError), f"linker {line}: {error!r}"
        assert install_hint(extra) in str(error), line
        assert "-c " in str(error)
