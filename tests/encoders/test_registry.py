"""Plug-ins by name."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from linker.encoders import registry
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError


def plug_in(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    own = "linker.encoders"
    points = [importlib.metadata.EntryPoint(name, value, own) for name, value in values.items()]
    found = {own: points}
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found.get(group, []))


def test_third_parties_add_encoders_but_replace_none(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, mine="collections:OrderedDict", tfidf="collections:OrderedDict")
    from collections import OrderedDict

    assert registry.load("mine") is OrderedDict
    assert registry.load("tfidf") is TfidfEncoder


PACKAGES = {  # what the modules of another package hold
    "wrong": "",
    "breaks": "1 / 0",
    "asking": "import no_such_package.part",
}


@pytest.mark.parametrize(
    "value", ["wrong:No", "absent.part:No", "wrong.part:No", "breaks:No", "asking:No"]
)
def test_a_broken_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in PACKAGES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    plug_in(monkeypatch, bad=value)
    with pytest.raises(LinkerError, match=f"^encoder 'bad': {value} cannot be imported"):
        registry.load("bad")
