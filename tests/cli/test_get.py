"""linker get, and names of dictionaries in other commands."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linker.io import dictionaries as known

from .conftest import Result


@pytest.fixture
def site(web: Any, sample: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server that has the sample dictionary as MEDIC."""
    web.pages["/medic"] = sample.read_bytes()
    entry = replace(known.KNOWN["medic"], address=f"{web.address}/medic")
    monkeypatch.setattr(known, "KNOWN", known.KNOWN | {"medic": entry})
    return web


def test_get_says_the_terms_and_what_changed(
    site: Any, sample: Path, tmp_path: Path, run: Callable[..., Result]
) -> None:
    result = run("get", "medic", "-o", tmp_path / "copy.tsv")
    assert result.out == f"{tmp_path / 'copy.tsv'}\n"
    assert (tmp_path / "copy.tsv").read_bytes() == sample.read_bytes()
    assert f"; terms: {known.KNOWN['medic'].terms}; fetching it" in result.err
    path = tmp_path / "cache" / "dictionaries" / "medic" / "current" / "CTD_diseases.tsv.gz"
    again = run("get", "medic")
    assert (again.out, "medic: has not changed since" in again.err) == (f"{path}\n", True)
    site.pages["/medic"] = b"# Report created: Thu Apr 30 12:42:36 EDT 2026\n" + sample.read_bytes()
    assert "medic: has changed; it was release not stated, of" in run("get", "medic").err
    assert run("get").out.splitlines()[1].split()[:4] == ["medic", "2", "MB", "current"]


def test_train_fetches_the_dictionary_that_is_named(
    site: Any, tmp_path: Path, run: Callable[..., Result]
) -> None:
    for _ in range(2):
        result = run("train", "--dict", "medic", "--encoder", "tfidf", "-o", tmp_path / "model")
        assert "dictionary: CTD_diseases.tsv.gz (medic): 346 concepts" in result.err
    assert [answer[1] for answer in site.seen] == [200]
    assert run("dictionary", "search", "medic", "D006073").out.startswith("MESH:D006073\tGout")


def test_without_a_network_the_address_and_a_remedy_are_said(
    site: Any, run: Callable[..., Result]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/medic"
        known.KNOWN["medic"] = replace(known.KNOWN["medic"], address=address)
        result = run("train", "--dict", "medic")
    path = known.folder("medic") / "current" / "CTD_diseases.tsv.gz"
    assert (result.code, result.err.startswith(f"linker: {address}: ")) == (1, True)
    assert f"save medic as {path}" in result.err


def test_a_dictionary_of_two_files_is_a_folder(
    site: Any, tmp_path: Path, run: Callable[..., Result]
) -> None:
    """Both files are told, and the folder is printed; -o, which writes one file, is refused."""
    record = "<{0}Record><{0}UI>{1}</{0}UI><{0}Name><String>gout</String></{0}Name>{2}</{0}Record>"
    trees = "<TreeNumberList><TreeNumber>C05</TreeNumber></TreeNumberList>"
    site.pages["/desc"] = (
        f"<DescriptorRecordSet>{record.format('Descriptor', 'D1', trees)}</DescriptorRecordSet>".encode()
    )
    site.pages["/supp"] = b"<SupplementalRecordSet/>"
    at = {"address": f"{site.address}/desc", "beside": {"supp.gz": f"{site.address}/supp"}}
    known.KNOWN["mesh"] = replace(known.KNOWN["mesh"], **at)
    folder = tmp_path / "cache" / "dictionaries" / "mesh" / "current"
    result = run("get", "mesh")
    assert result.out == f"{folder}\n"
    assert result.err.count("mesh: release not stated") == 2
    assert sorted(path.name for path in folder.glob("*.gz")) == ["desc.gz", "supp.gz"]
    refused = run("get", "mesh", "-o", tmp_path / "copy")
    assert refused.code == 1
    assert "is a folder of several files" in refused.err
    assert not (tmp_path / "copy").exists()
