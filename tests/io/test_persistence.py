"""Folders of arrays: what is saved comes back, and what was changed, cut or smuggled in is refused by name."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.errors import LinkerError
from linker.io import files, persistence
from linker.io.persistence import Strings

TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    | st.sampled_from(["", "é", "𝒳", "\U0010ffff", "\x00"])
)


def save(path: Path, kind: str = "model") -> Path:
    with persistence.saving(path, kind, {"encoder": "tfidf"}, lambda *_: None) as folder:
        persistence.save_arrays(
            folder, {"whole": np.arange(3, dtype=np.int32), "empty": np.empty((0, 3), np.float32)}
        )
        persistence.save_arrays(folder / "deep", {"half": np.array([[0.5, 2.0], [1.5, 3.0]]).T})
        persistence.save_json(folder / "seen.json", ["β", 1])
    return path


def sign(folder: Path, **extra: str) -> None:
    """Write a manifest that is true to the folder, as a forger would."""
    sums = {
        f.relative_to(folder).as_posix(): files.sha256(f)
        for f in folder.rglob("*")
        if f.is_file() and f.name != "manifest.json"
    }
    persistence.save_json(folder / "manifest.json", {"sha256": sums | extra})


def check(folder: Path, kind: str = "model") -> dict[str, Any]:
    """The configuration of a folder that is as it was saved."""
    return persistence.load(folder, kind, lambda _, config: config)


def refusal(folder: Path, kind: str = "model") -> str:
    with pytest.raises(LinkerError) as caught:
        check(folder, kind)
    return str(caught.value)


@given(st.data(), TEXTS)
@settings(max_examples=100)
def test_strings_hold_any_text(data: st.DataObject, texts: list[str]) -> None:
    column = Strings.of(texts)
    column.check()
    assert len(column) == len(texts)
    assert list(column) == texts
    assert [column[-i] for i in range(1, len(texts) + 1)] == texts[::-1]
    assert column[1:3] == texts[1:3]
    assert column[::-2] == texts[::-2]
    assert list(Strings.from_arrays(column.arrays("x"), "x")) == texts
    assert [*pickle.loads(pickle.dumps(column))] == texts  # as it goes to another process
    assert list(column.extended(texts)) == [*texts, *texts]
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1))) if texts else []
    assert list(column.take(np.array(rows, np.int64))) == [texts[row] for row in rows]


@pytest.mark.parametrize(
    ("data", "offsets", "problem"),
    [
        ([97], [0, 2], "overlap or leave gaps"),
        ([97, 98], [0, 2, 1, 2], "overlap or leave gaps"),
        ([97], [1, 1], "overlap or leave gaps"),
        ([195, 169], [0, 1, 2], "inside a character"),
        ([195], [0, 1], "can't decode|unexpected end"),
        ([97], [], "no bytes or no offsets"),
    ],
)
def test_offsets_that_cut_no_texts_are_refused(
    data: list[int], offsets: list[int], problem: str
) -> None:
    with pytest.raises(ValueError):
        Strings(np.array(data, np.uint8), np.array(offsets, np.int64)).check()


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    config = check(folder)
    version = {"format_version": 2, "code_version": persistence.VERSION}
    assert config == version | {"kind": "model", "encoder": "tfidf"}
    arrays = persistence.load_arrays(folder)
    assert sorted(arrays) == ["empty", "whole"]
    assert arrays["whole"].tolist() == [0, 1, 2]
    assert isinstance(arrays["whole"].base, np.memmap)
    assert arrays["empty"].shape == (0, 3)
    assert arrays["empty"].dtype == np.float32
    assert persistence.load_arrays(folder / "deep")["half"].tolist() == [[0.5, 1.5], [2.0, 3.0]]
    assert persistence.load_json(folder / "seen.json") == ["β", 1]
    arrays["whole"][0] = 9  # which leaves the file as it is
    assert persistence.load_arrays(folder)["whole"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "name", ["whole.npy", "empty.npy", "deep/half.npy", "seen.json", "config.json", "manifest.json"]
)
def test_a_changed_byte_is_found(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "m")
    data = (folder / name).read_bytes()
    for at in range(0, len(data), 8):
        (folder / name).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert name in refusal(folder)
    (folder / name).write_bytes(data)
    check(folder)


@pytest.mark.parametrize("name", ["extra.npy", "deep/tokenizer_config.json", "vocab.txt"])
def test_a_file_that_nobody_signed_is_refused(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "m")
    (folder / name).write_text("{}")
    assert str(folder / name) in refusal(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_or_link_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    os.mkfifo(folder / "pipe")
    assert "pipe: is not in manifest.json" in refusal(folder)
    sign(folder, pipe="0" * 64)
    assert "pipe: named in manifest.json" in refusal(folder)
    (folder / "pipe").unlink()
    (folder / "link").symlink_to(folder / "deep")
    assert "link: is not in manifest.json" in refusal(folder)
    for name in ("config.json", "manifest.json"):  # nobody waits for what a pipe may give
        other = save(tmp_path / name)
        (other / name).unlink()
        os.mkfifo(other / name)
        assert str(other) in refusal(other)


def test_hidden_arrays_are_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    (tmp_path / ".b.npy").write_text("of somebody else")
    assert persistence.load_arrays(tmp_path).keys() == {"a"}


@pytest.mark.parametrize("name", ["README.md", "deep/.DS_Store", ".git/config"])
def test_what_hubs_and_desktops_put_beside_a_model_is_passed_over(
    tmp_path: Path, name: str
) -> None:
    folder = save(tmp_path / "m")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("{}")
    assert check(folder)["encoder"] == "tfidf"


@pytest.mark.parametrize(
    ("file", "value"),
    [
        *(
            ("config.json", {"format_version": version, "kind": "model"})
            for version in (0, 1, 3, "2", None)
        ),
        ("config.json", []),
        ("manifest.json", []),
        ("manifest.json", {"sha256": []}),
    ],
)
def test_configurations_and_manifests_of_others(tmp_path: Path, file: str, value: object) -> None:
    folder = save(tmp_path / "m")
    persistence.save_json(folder / file, value)
    assert str(folder / file) in refusal(folder)


def test_the_manifest_names_no_file_outside_the_folder(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    outside = tmp_path / "secret"
    outside.write_text("x")
    for name in (str(outside), "../secret"):
        sign(folder, **{name: files.sha256(outside)})
        assert "secret: named in manifest.json" in refusal(folder)


def _pickled(path: Path) -> None:
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)


def _zip(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, x=np.arange(2))


def _cut(path: Path) -> None:
    np.save(path, np.arange(100))
    path.write_bytes(path.read_bytes()[:-8])


def _bytes(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def _headed(header: bytes) -> Callable[[Path], None]:
    return _bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(24))


_HEADERS = [
    b"{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999,), }\n",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }\n",
    b"{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (3,), }\n",
    b"(" * 5000,
    b"[" * 20_000,
]


@pytest.mark.parametrize(
    "forge", [_pickled, _zip, _cut, _bytes(pickle.dumps([1])), _bytes(b""), *map(_headed, _HEADERS)]
)
def test_what_is_no_plain_array_is_refused_though_signed(tmp_path: Path, forge) -> None:  # type: ignore[no-untyped-def]
    folder = save(tmp_path / "m")
    forge(folder / "whole.npy")
    sign(folder)
    check(folder)
    with pytest.raises(LinkerError):
        persistence.load_arrays(folder)


def contents(folder: Path) -> dict[str, bytes | None]:
    """What is in a folder, by name: bytes of files, None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("error", [ValueError("no shape"), LinkerError("{}: no shape")])
def test_what_cannot_be_read_again_takes_nobody_s_place(tmp_path: Path, error: Exception) -> None:
    folder = save(tmp_path / "m")
    before = contents(tmp_path)

    def read(path: Path, config: dict[str, Any]) -> None:
        assert persistence.load_arrays(path)["new"].tolist() == [0]
        assert config["size"] == 1
        raise type(error)(str(error).format(path))

    with (
        pytest.raises(LinkerError),
        persistence.saving(folder, "model", {"size": 1}, read) as aside,
    ):
        persistence.save_arrays(aside, {"new": np.arange(1)})
    assert contents(tmp_path) == before


def test_saving_again_replaces_all(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(folder)
    for path in (folder, tmp_path / "empty", tmp_path / "link", tmp_path / "nowhere"):
        persistence.check_replaceable(path)
    with persistence.saving(folder, "model", {}, lambda *_: None) as aside:
        persistence.save_arrays(aside, {"new": np.arange(1)})
    assert sorted(contents(folder)) == ["config.json", "manifest.json", "new.npy"]
    check(folder)


def foreign(path: Path) -> str:
    """Why a folder is not replaced; saving does not touch it."""
    before = contents(path)
    with pytest.raises(LinkerError) as caught:
        persistence.check_replaceable(path)
    with pytest.raises(LinkerError):
        save(path)
    assert contents(path) == before
    return str(caught.value)


def test_a_folder_that_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "an extension"}')
    assert "manifest.json" in foreign(tmp_path)
    assert "is a file" in foreign(tmp_path / "manifest.json")


@pytest.mark.parametrize("name", ["notes.txt", "deep/notes.txt", "own/.hidden", "link"])
def test_a_file_of_the_user_inside_our_folder_is_not_replaced(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "m")
    (folder / name).parent.mkdir(exist_ok=True)
    if name == "link":
        (folder / name).symlink_to(tmp_path)
    else:
        (folder / name).write_text("mine")
    assert f"{folder}: holds {name}" in foreign(folder)


@given(st.lists(st.floats(-70_000, 70_000, width=32)))
def test_numbers_in_half_precision(numbers: list[float]) -> None:
    values = np.array(numbers, np.float32)
    half = persistence.to_fp16(values)
    assert half.dtype == np.float32
    if (largest := np.abs(values).max(initial=0)) < 65_504:  # that of half precision
        assert np.abs(half - values).max(initial=0) <= max(2**-25, largest * 2**-11)
        assert persistence.to_storage(half).dtype == np.float16
    for kept in (half, values):
        assert persistence.from_storage(persistence.to_storage(kept)).tolist() == kept.tolist()


def number(path: Path, value: int) -> None:
    with persistence.saving(path, "model", {}, lambda *_: None) as folder:
        persistence.save_arrays(folder, {"whole": np.array([value])})
        persistence.save_arrays(folder / "deep", {"half": np.array([value])})


def halves(folder: Path, meanwhile: Callable[[], object]) -> tuple[int, int]:
    """Two arrays of a folder to which something happens after the first is read."""

    def read(folder: Path, _: object) -> tuple[int, int]:
        first = int(persistence.load_arrays(folder)["whole"][0])
        meanwhile()
        return first, int(persistence.load_arrays(folder / "deep")["half"][0])

    return persistence.load(folder, "model", read)


def test_what_is_replaced_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    number(folder, 1)
    values = iter([2, 3, 4])
    seen = halves(folder, lambda: [number(folder, v) for v in itertools.islice(values, 1)])
    assert seen == (4, 4)
