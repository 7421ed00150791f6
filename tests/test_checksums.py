"""Checksums of large files, and when one may be remembered."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from linker import files, persistence

DATA = b"0123456789"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the cache; a file of ten bytes is large, and none is too young."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(persistence, "LARGE", len(DATA))
    monkeypatch.setattr(persistence, "_SETTLED", -1)
    return tmp_path / "cache" / "linker" / "verified.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "large").write_bytes(DATA)
    return tmp_path / "large"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read for their checksums."""
    paths: list[Path] = []
    sha256 = files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: paths.append(path) or sha256(path))
    return paths


def check(path: Path, data: bytes = DATA, trust: bool = True) -> bool:
    return persistence.has_checksum(path, hashlib.sha256(data).hexdigest(), trust=trust)


def remembered(cache: Path) -> list[str]:
    return [Path(name).name for name in json.loads(cache.read_text())["files"]]


def test_a_large_file_is_read_once_but_for_who_does_not_trust(
    cache: Path, path: Path, read: list[Path]
) -> None:
    assert check(path)
    assert check(path)
    assert read == [path]
    assert check(path, trust=False)
    assert read == [path, path]
    assert list(json.loads(cache.read_text())["files"]) == [str(path)]


def test_small_and_wrong_and_new_files_are_not_remembered(
    cache: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not check(path, b"others")
    path.write_bytes(DATA[1:])
    assert check(path, DATA[1:])
    path.write_bytes(DATA)
    monkeypatch.setattr(persistence, "_SETTLED", 10**12)
    assert check(path)
    assert not cache.exists()


def test_a_file_that_turns_out_to_be_damaged_is_forgotten(
    cache: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage that changes neither size nor times, such as that of a disk."""
    state = persistence.state(path)
    monkeypatch.setattr(persistence, "state", lambda _: state)
    path.with_name("other").write_bytes(DATA)
    assert check(path)
    assert check(path.with_name("other"))
    path.write_bytes(DATA[::-1])
    assert check(path)  # nobody looked
    assert not check(path, trust=False)
    assert not check(path)
    assert remembered(cache) == ["other"]


@pytest.mark.parametrize("folder", ["", "./cache"])
def test_a_cache_folder_that_is_not_absolute_counts_for_nothing(
    cache: Path, path: Path, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    assert check(path)
    assert not (tmp_path / "cache").exists()
    assert (tmp_path / "home" / ".cache" / "linker" / "verified.json").exists()


@pytest.mark.parametrize("is_new_file", [False, True])
def test_a_changed_file_of_the_same_size_and_time_is_read_again(
    cache: Path, path: Path, is_new_file: bool
) -> None:
    assert check(path)
    status = path.stat()
    changed = path.with_name("new") if is_new_file else path
    changed.write_bytes(DATA[::-1])
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns))
    changed.replace(path)
    assert not check(path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": []}', "[" * 100_000])
def test_a_damaged_cache_is_made_anew(cache: Path, path: Path, content: str) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text(content)
    assert check(path)
    assert remembered(cache) == ["large"]


def test_where_nothing_can_be_remembered_all_is_checked(
    cache: Path, path: Path, read: list[Path]
) -> None:
    cache.parent.parent.write_text("a file where the folder should be")
    assert check(path)
    assert check(path)
    assert read == [path, path]


def test_the_oldest_entries_are_forgotten(
    cache: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistence, "_MOST", 2)
    for name in ("a", "b", "c"):
        path.with_name(name).write_bytes(DATA)
        assert check(path.with_name(name))
    assert remembered(cache) == ["b", "c"]
