"""Fetching files into a cache, from a server on loopback."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from linker.errors import LinkerError
from linker.io import fetching
from linker.io.files import Pathlike, open_binary

TEXT = b"".join(b"%06d\n" % number for number in range(50_000))  # 350,000 bytes


def release(path: Pathlike) -> str:
    with open_binary(path) as file:
        text = file.read()
    if not text.startswith(b"0"):
        raise LinkerError("it does not begin with 0")
    return text[-7:].decode().strip()


@dataclass(frozen=True)
class Wanted:
    address: str
    path: Path
    release: Callable[[Pathlike], str] = release
    packed: bool = False
    remedy: str = "give its path"
    title: str = "told"


def fetch(wanted: Wanted) -> tuple[fetching.Fetched | None, fetching.Fetched]:
    return fetching.fetch(**vars(wanted))


@pytest.fixture
def wanted(web: Any, tmp_path: Path) -> Wanted:
    web.pages["/numbers"] = TEXT
    return Wanted(f"{web.address}/numbers", tmp_path / "cache" / "numbers" / "numbers.txt")


def test_a_file_is_fetched_once_and_its_record_stands_beside_it(web: Any, wanted: Wanted) -> None:
    before, now = fetch(wanted)
    assert before is None
    assert wanted.path.read_bytes() == TEXT
    assert (now.sha256, now.size) == (hashlib.sha256(TEXT).hexdigest(), 350_000)
    assert (now.release, now.address, now.etag[0]) == ("049999", wanted.address, '"')
    assert fetching.record(wanted.path) == now
    assert fetch(wanted) == (now, now)
    assert [answer[1:] for answer in web.seen] == [(200, 350_000), (304, 0)]
    assert sorted(path.name for path in wanted.path.parent.iterdir()) == [
        "numbers.txt",
        "numbers.txt.json",
    ]


def test_a_download_that_breaks_off_leaves_nothing_and_is_fetched_anew(
    web: Any, wanted: Wanted
) -> None:
    web.breaks_after = 100_000
    with pytest.raises(LinkerError):
        fetch(wanted)
    assert [*wanted.path.parent.iterdir()] == []
    web.breaks_after = None
    fetch(wanted)
    assert wanted.path.read_bytes() == TEXT
    assert [answer[1] for answer in web.seen] == [200, 200]


@pytest.mark.parametrize(
    ("page", "kind"),
    [(b"", ""), (b"<html>", "text/html; charset=utf-8"), (b"<html>", "text/plain")],
)
def test_what_is_not_the_file_is_refused_and_the_old_one_stays(
    web: Any, wanted: Wanted, page: bytes, kind: str
) -> None:
    _, now = fetch(wanted)
    web.pages["/numbers"], web.kind = page, kind
    with pytest.raises(LinkerError):
        fetch(wanted)
    assert fetching.record(wanted.path) == now
    assert fetching.is_intact(wanted.path, now)


def test_a_file_is_taken_out_of_a_zip_archive(web: Any, wanted: Wanted) -> None:
    packed = replace(wanted, packed=True)
    with pytest.raises(LinkerError):
        fetch(packed)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("read me.txt", "hello")
        file.writestr("a folder/numbers.txt", TEXT)
    web.pages["/numbers"] = archive.getvalue()
    assert fetch(packed)[1].size == 350_000
    assert wanted.path.read_bytes() == TEXT
