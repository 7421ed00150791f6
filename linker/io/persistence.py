"""Saved folders of arrays and JSON: checked against a manifest, memory-mapped, without pickles."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from linker.errors import LinkerError, shorten
from linker.io import files, replacing
from linker.io.strings import Strings as Strings
from linker.io.strings import StringsBuilder as StringsBuilder
from linker.io.strings import check_lists as check_lists
from linker.version import VERSION

FORMAT_VERSIONS = {"model": 2}  # of other kinds: 1
CONFIG, MANIFEST = "config.json", "manifest.json"
TRAIN_AGAIN = "train it again (linker train --dict FILE -o DIR)"

_ATTEMPTS = 1000  # to read a folder while other processes replace it
_CHANGED = "the folder was changed, train or save it again"
_DAMAGED = "the file was changed or damaged, train or save it again"

_FIELDS = ("st_size", "st_ino", "st_mtime_ns", "st_ctime_ns")  # change with a file's content

_Value = TypeVar("_Value")


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to `<name>.npy`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)


def to_fp16(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round numbers to the 11 bits of half precision; they stay float32.

    Returns:
        The rounded numbers, or the same ones where one of them is too large for half precision.
    """
    with np.errstate(over="ignore"):
        half = np.asarray(values, np.float16)
    return np.asarray(half, np.float32) if np.isfinite(half).all() else values


def to_storage(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as they are saved: float16 where no number changes by it, else unchanged."""
    with np.errstate(over="ignore"):
        half = np.asarray(values, np.float16)
    return half if np.array_equal(half, values) else values


def from_storage(values: NDArray[Any]) -> NDArray[Any]:
    """Undo `to_storage`: float16 becomes float32, other types stay."""
    return np.asarray(values, np.float32) if values.dtype == np.float16 else values


def load_arrays(folder: Path) -> dict[str, NDArray[Any]]:
    """Memory-map every `.npy` file of a folder.

    The maps are copy-on-write, since compiled code requires writable arrays.
    """
    return {path.stem: _load_array(path) for path in sorted(folder.glob("[!.]*.npy"))}


def _load_array(path: Path) -> NDArray[Any]:
    try:
        values = np.lib.format.open_memmap(path, mode="c")
        if values.dtype.kind not in "biufSU":
            raise ValueError(f"it holds {values.dtype}")
    except Exception as error:  # numpy raises what Python's parser meets in a header
        reason = str(error).partition("\n")[0]
        raise LinkerError(f"{path}: is no array of plain values ({reason}); {_CHANGED}") from None
    return np.asarray(values)  # a plain array, of which slices take a tenth of the time


def save_json(path: Path, value: object) -> None:
    """Write JSON with a final newline."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load_json(path: Path) -> Any:
    """Read JSON written by `save_json`."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no plain file")  # a pipe would be waited for
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        is_absent = isinstance(error, FileNotFoundError)
        problem = "there is no such file" if is_absent else f"cannot be read as JSON ({error})"
        raise LinkerError(f"{path}: {problem}; {_CHANGED}") from None


def checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the manifest of a folder lists.

    Raises:
        LinkerError: there is no manifest, or none that linker wrote.
    """
    manifest = load_json(folder / MANIFEST)
    sums = manifest.get("sha256") if isinstance(manifest, dict) else None
    if not isinstance(sums, dict):
        raise LinkerError(f"{folder / MANIFEST}: holds no checksums; {_CHANGED}")
    return sums


def _names(folder: Path) -> list[str]:
    """The relative paths of what is in a folder and its subfolders, but for these themselves."""
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def check_replaceable(path: files.Pathlike) -> None:
    """Refuse to overwrite a file, or a folder with files that linker did not write.

    Raises:
        LinkerError: the path is a file, or a folder with a file that its manifest does not name.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise LinkerError(f"{folder}: is a file; name a folder with -o")
    known = set[str]()
    with contextlib.suppress(LinkerError):
        known = {MANIFEST, *checksums(folder)}
    if foreign := [name for name in _names(folder) if name not in known]:
        raise LinkerError(
            f"{folder}: holds {foreign[0]}, which linker did not write there; "
            "move it, or name another folder with -o"
        )


@contextlib.contextmanager
def saving(
    path: files.Pathlike,
    kind: str,
    config: Mapping[str, object],
    read: Callable[[Path, dict[str, Any]], object],
) -> Iterator[Path]:
    """Yield a temporary folder to fill; then complete it, read it, and move it to `path`.

    `config.json` and the manifest are added at the end.

    Args:
        path: the folder to make, or to replace when it holds a manifest.
        kind: what the folder holds ("model", "dictionary").
        config: further entries of `config.json`.
        read: as for `load`; what it cannot read does not take the place of `path`.

    Raises:
        LinkerError: `path` cannot be replaced or written, or what was written cannot be read.
    """
    check_replaceable(path)
    with files.write_folder(path) as folder:
        yield folder
        version = {"format_version": FORMAT_VERSIONS.get(kind, 1), "kind": kind}
        record = {**version, "code_version": VERSION, **config}
        save_json(folder / CONFIG, record)
        sums = {name: files.sha256(folder / name) for name in _names(folder)}
        save_json(folder / MANIFEST, {"sha256": sums})
        try:
            read(folder, load_json(folder / CONFIG))
        except Exception as error:  # whatever it is, nobody else could read the folder either
            reason = str(error).replace(str(folder), str(path)) or type(error).__name__
            raise LinkerError(
                f"{path}: is as it was before, since the {kind} that was to take its place cannot "
                f"be loaded ({reason}); save it again, and report it if that does not help"
            ) from error


def load(path: files.Pathlike, kind: str, read: Callable[[Path, dict[str, Any]], _Value]) -> _Value:
    """Check a saved folder against its manifest and version, and read it.

    All files belong to one save: where another process has replaced the folder meanwhile, the new
    one is read.

    Args:
        path: the folder.
        kind: what it must hold ("model", "dictionary").
        read: makes the value out of the folder and its `config.json`.

    Raises:
        LinkerError: the folder is absent, of another kind or version, a file of it is missing,
            changed, or not in the manifest, or `read` fails.
    """
    folder = Path(path)
    for _ in range(_ATTEMPTS):
        replacing.restore(folder.resolve())
        before = state(folder)
        try:
            value = read(folder, _checked(folder, kind))
        except Exception as error:
            replacing.restore(folder.resolve())  # or wait for who replaces it
            if state(folder) != before:  # files that are being removed may raise anything
                continue
            if isinstance(error, LinkerError | MemoryError):
                raise
            raise LinkerError(
                f"{folder}: is damaged, or a {kind} of another release "
                f"({type(error).__name__}: {error}); {_again(kind)}"
            ) from error
        if state(folder) == before:
            return value
    raise LinkerError(f"{folder}: is replaced again and again; stop what writes it")


def verify(path: files.Pathlike, kind: str) -> tuple[int, int]:
    """Check a saved folder, and return the number of its files, and of their bytes.

    Raises:
        LinkerError: as for `load`.
    """

    def count(folder: Path, _: object) -> tuple[int, int]:
        sizes = [(folder / name).stat().st_size for name in checksums(folder)]
        return len(sizes), sum(sizes)

    return load(path, kind, count)


def _again(kind: str) -> str:
    return TRAIN_AGAIN if kind == "model" else "save it again"


def _checked(folder: Path, kind: str) -> dict[str, Any]:
    """Check the version, kind and files of a folder, and return its configuration."""
    if not (folder / CONFIG).is_file():
        way = "train one (linker train --dict FILE -o DIR) or name one with --model"
        way = way if kind == "model" else "save one first"
        raise LinkerError(f"{folder}: there is no {kind} here (no {CONFIG}); {way}")
    config = load_json(folder / CONFIG)
    config = config if isinstance(config, dict) else {}
    expected = {"kind": kind, "format_version": FORMAT_VERSIONS.get(kind, 1)}
    for key, value in expected.items():
        if config.get(key) != value:
            raise LinkerError(
                f"{folder / CONFIG}: its {key} is {shorten(repr(config.get(key)))}, this release "
                f"({VERSION}) reads {value!r} here; {_again(kind)}"
            )
    _check_files(folder)
    return cast(dict[str, Any], config)


def _check_files(folder: Path) -> None:
    """Refuse files that the manifest does not list, and listed ones that are missing or changed.

    Descriptions (.md) and hidden files need not be listed: linker reads neither, people edit the
    ones, and desktops and version control leave the others behind.
    """
    sums, names = checksums(folder), _names(folder)
    hidden = (name for name in names if any(part.startswith(".") for part in name.split("/")))
    free = {MANIFEST, *hidden}
    for name in (name for name in dict.fromkeys((*names, *sums)) if not name.endswith(".md")):
        if name not in sums and name not in free:
            problem = f"is not in {MANIFEST}; move the file away if it is yours"
        elif name not in names or not (folder / name).is_file():
            problem = f"named in {MANIFEST} but missing; {_CHANGED}"
        elif name in sums and files.sha256(folder / name) != sums[name]:
            problem = f"differs from its checksum in {MANIFEST}; {_DAMAGED}"
        else:
            continue
        raise LinkerError(f"{folder / name}: {problem}")


def state(path: Path) -> dict[str, int] | None:
    """Numbers that change when a file or folder is changed or replaced; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return {field: getattr(status, field) for field in _FIELDS}
