"""The code blocks of README.md and docs/ run on the bundled sample and print what they show.

A page's blocks run in order, in a folder that holds `dictionaries/`, and a model of the sample
dictionary unless the page begins by training one. A `text` block directly behind a block is its output, and a block of Python that begins
with `# name.py` is written to that file. `<!-- not run: why -->` before a block excepts it; the
options of its commands are checked all the same.
"""

from __future__ import annotations

import configparser
import contextlib
import importlib
import io
import itertools
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from linker import Dictionary
from linker.cli import cli
from linker.encoders import registry
from linker.training.pipeline import train

Give = Callable[[str], None]
ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    "README.md",
    "dictionaries/README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>.+?) -->\n\n?)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"(.*\| )?linker(\.cli)? [a-z]")
PIPE = re.compile(r"(?:(?P<before>.*) \| )?(?P<command>linker [^|<>]*)(?P<behind>[|>].*)?")
NEEDED = {  # packages that a page needs beside the bare installation, by what it says of them
    "docs/integrations.md": {"mcp": "mcp", "spacy": "spacy"},
    "docs/label-studio.md": {"fastapi": "serve"},
    "docs/plugins.md": {"torch": "dense"},
    "docs/python.md": {
        "torch": "dense",
        "pandas": "pandas",
        "polars": "polars",
        "pyarrow": "pyarrow",
        "duckdb": "duckdb",
    },
    "docs/vocabularies.md": {"rdflib": "skos"},
}
NOT_RUN = 24  # blocks that are excepted, in all pages


@dataclass(frozen=True, slots=True)
class Block:
    """A code block of a page."""

    language: str
    text: str
    not_run: str  # why it is not run; empty: it is
    output: str  # what it prints; empty: the page does not show it

    @property
    def runs(self) -> bool:
        """Whether the test runs it."""
        return not self.not_run and (self.language == "python" or bool(self.commands))

    @property
    def commands(self) -> list[str]:
        """Its lines that run linker."""
        return [line for line in self.text.splitlines() if COMMAND.match(line)]


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    source = (ROOT / page).read_text(encoding="utf-8")
    matches = list(BLOCK.finditer(source))
    outputs = {
        first.start(): second["text"]
        for first, second in pairwise(matches)
        if second["language"] == "text" and not source[first.end() : second.start()].strip()
    }
    return [
        Block(b["language"], b["text"], b["reason"] or "", outputs.get(b.start(), ""))
        for b in matches
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A model of the bundled sample dictionary."""
    folder = tmp_path_factory.mktemp("pages") / "linker-model"
    train(Dictionary.read(sample)).save(folder)
    return folder


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.runs for block in blocks(page))]
)
def test_blocks_run_and_print_what_the_page_shows(
    page: str,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    standard_input: Give,
) -> None:
    for package in NEEDED.get(page, {}):
        pytest.importorskip(package)
    if page == "docs/plugins.md":
        monkeypatch.setattr(registry, "ENCODERS", dict(registry.ENCODERS))
    if page == "docs/integrations.md":
        importlib.import_module("linker.integrations.spacy")  # as the entry point does
    shutil.copytree(ROOT / "dictionaries", tmp_path / "dictionaries")
    if not trains_first(page):
        shutil.copytree(model, tmp_path / "linker-model")
    monkeypatch.delenv("LINKER_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.runs:
            if block.language == "python":
                printed = run_python(block.text, names)
            else:
                printed = "".join(run_command(line, standard_input) for line in block.commands)
            if block.output:
                assert agree(words(printed), words(block.output)), f"{page}\n{printed}"


def trains_first(page: str) -> bool:
    """Whether the first command of a page trains a model, so that readers have no other one."""
    commands = [line for block in blocks(page) if block.runs for line in block.commands]
    return bool(commands) and commands[0].startswith("linker train ")


def run_python(code: str, names: dict[str, object]) -> str:
    """Run a block of Python among the names of the blocks before it; what it prints."""
    if file := re.match(r"# (\w+\.py)\n", code):
        Path(file[1]).write_text(code, encoding="utf-8")
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), names)
    return printed.getvalue()


def run_command(line: str, give: Give) -> str:
    """Run a command in this process, and by the shell what stands before and behind it; its standard output."""
    parts = PIPE.fullmatch(line)
    assert parts, line
    give(run_shell(parts["before"]) if parts["before"] else "")
    arguments = shlex.split(parts["command"], comments=True)[1:]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if parts["behind"]:
        return run_shell(f"cat {parts['behind']}", result.stdout)
    return result.stdout


def run_shell(line: str, given: str = "") -> str:
    """Run a line of the shell on a text; its standard output."""
    done = subprocess.run(
        ["bash", "-c", line], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def agree(printed: list[list[str]], shown: list[list[str]]) -> bool:
    """Whether a page shows what is printed; confidences may differ between releases of packages."""
    if [len(line) for line in printed] != [len(line) for line in shown]:
        return False
    pairs = zip(itertools.chain(*printed), itertools.chain(*shown), strict=True)
    return all(one == other or is_near(one, other) for one, other in pairs)


def is_near(one: str, other: str) -> bool:
    """Whether two words are decimal numbers, alone or in JSON, that differ by 0.05 at most."""
    number = re.compile(r"\d+\.\d+")
    if number.sub("", one) != number.sub("", other):
        return False
    pairs = zip(number.findall(one), number.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= 0.05 for a, b in pairs)


def words(text: str) -> list[list[str]]:
    """The lines of a text, split at blanks and tabs: pages align columns by blanks."""
    return [line.split() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", NEEDED)
def test_a_page_says_what_it_needs(page: str) -> None:
    source = (ROOT / page).read_text(encoding="utf-8")
    for name in NEEDED[page].values():
        assert re.search(rf"extra\s`?{name}\b|pip install -c constraints.txt .*\b{name}\b", source)


def excepted() -> list[tuple[str, Block]]:
    """The blocks that are not run, with their pages."""
    return [(page, block) for page in PAGES for block in blocks(page) if block.not_run]


@pytest.mark.parametrize(
    "line", sorted({line for _, block in excepted() for line in block.commands})
)
def test_commands_that_are_not_run_are_understood(line: str) -> None:
    arguments = shlex.split(line[line.index("linker") :], comments=True)[1:]
    command: click.Command | None = cli
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), arguments.pop(0))
    assert command
    # with the flags of help that the group has: a command keeps those of its first context
    command.make_context("linker", arguments, **cli.context_settings)


def containers(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The containers of a Deployment or CronJob; of others none."""
    spec = manifest["spec"].get("jobTemplate", manifest)["spec"]
    return spec["template"]["spec"]["containers"] if "template" in spec else []


def test_manifests_of_the_page_on_production_are_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    yaml = pytest.importorskip("yaml")
    page = blocks("docs/production.md")
    texts = [block.text for block in page if block.language == "yaml"]
    manifests = [manifest for text in texts for manifest in yaml.safe_load_all(text)]
    assert {"Deployment", "Service", "CronJob"} == {manifest["kind"] for manifest in manifests}
    started = [container for manifest in manifests for container in containers(manifest)]
    assert [container["args"][0] for container in started] == ["serve", "link"]
    for container in started:
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        command = cli.get_command(click.Context(cli), container["args"][0])
        assert command
        known = {f"LINKER_SERVE_{option.name}".upper() for option in command.params}
        assert {*variables} - known <= {"LINKER_MODEL", "OMP_NUM_THREADS", "FORWARDED_ALLOW_IPS"}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        context = command.make_context("linker", container["args"][1:])
        assert context.params["model"] == "/models/medic"
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        paths = [v for v in (*container["args"], *variables.values()) if re.match("/[^/]+/", v)]
        assert all(any(path.startswith(f"{mount}/") for mount in mounts) for path in paths)


def test_blocks_that_are_not_run_are_counted() -> None:
    assert len(excepted()) == NOT_RUN, [(page, block.not_run) for page, block in excepted()]


def test_scripts_that_the_pages_name_exist() -> None:
    source = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    scripts = set(re.findall(r"(?:benchmarks|scripts)/[\w/]*\w(?:\.py\b|(?=[\s`]))", source))
    assert scripts
    assert not [script for script in scripts if not (ROOT / script).exists()]


def test_layers_of_the_architecture_page_are_those_that_are_checked() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    layers = settings["importlinter:contract:layers"]["layers"].replace("linker.", "").split()
    if "search" not in layers:
        pytest.skip("the page has the layout that the tree is moved to")
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, section = page.split("## The rooms, in the order of imports")
    (shown,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    assert shown.split() == layers
