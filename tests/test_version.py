"""The one function that tells users what to install."""

from __future__ import annotations

import configparser
import importlib.metadata
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from linker import version
from linker.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg")
GIT = {"vcs": "git", "commit_id": "5eed"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, linker among them, and no metadata but what a test writes."""
    (tmp_path / "linker").mkdir()
    monkeypatch.setattr(version, "__file__", str(tmp_path / "linker" / "version.py"))

    def entry_points(group: str) -> list[importlib.metadata.EntryPoint]:
        found = importlib.metadata.distributions(path=[str(tmp_path)])
        return [point for one in found for point in one.entry_points if point.group == group]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return tmp_path


def installed(site: Path, name: str, command: str, origin: Any = None) -> None:
    folder = site / f"{name.replace('-', '_')}-{VERSION}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n")
    (folder / "entry_points.txt").write_text(f"[console_scripts]\nlinker = {command}\n")
    if origin:
        (folder / "direct_url.json").write_text(json.dumps(origin))


def test_a_checkout_is_installed_as_it_is() -> None:
    command = ["pip", "install", "-c", f"{ROOT}/constraints.txt", "-e", f"{ROOT}[dense]"]
    assert shlex.split(version.install_hint("dense")) == command


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, "our-name[dense]"),
        ({"url": "file:///a/b%20c", "dir_info": {}}, "/a/b c[dense]"),
        ({"url": "https://x.org/y", "archive_info": {}}, "our-name[dense] @ https://x.org/y"),
        ({"url": "https://y", "vcs_info": GIT}, "our-name[dense] @ git+https://y@5eed"),
    ],
)
def test_what_is_installed_is_installed_from_where_it_came(
    site: Path, origin: Any, wanted: str
) -> None:
    installed(site, "linker", "link_files:main")  # the other project of that name
    installed(site, "our-name", "linker.cli:main", origin)
    assert shlex.split(version.install_hint("dense")) == ["pip", "install", wanted]


def test_without_metadata_the_name_is_that_of_setup_cfg(site: Path) -> None:
    assert version.install_hint("dense") == "pip install 'concept-linker[dense]'"
    assert CONFIG["metadata"]["name"] == version.NAME == "concept-linker"
    scripts = CONFIG["options.entry_points"]["console_scripts"].strip()
    assert scripts == f"linker = {version._COMMAND}"


def test_every_message_takes_its_hint_from_there() -> None:
    sources = {path: path.read_text("utf-8") for path in sorted((ROOT / "linker").rglob("*.py"))}
    assert [path.name for path, text in sources.items() if "pip install" in text] == [
        *("linker.py", "version.py")  # pandas is no extra
    ]
    named = [
        extra
        for text in sources.values()
        for extra in re.findall(r"(?:install_hint\(|needing\(.*, )['\"](\w+)['\"]\)", text)
    ]
    assert len(named) >= 9
    assert set(named) <= set(CONFIG["options.extras_require"])
