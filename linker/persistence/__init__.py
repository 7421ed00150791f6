"""Saved folders of arrays and JSON: checked against a manifest, memory-mapped, without pickles.

The checksums of large files are remembered, so that one that stays the same is read only once: that
a file of this path, size, inode and times had this checksum. It stands in the user's cache folder;
where that cannot be read or written, all files are checked every time.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from linker import files
from linker.errors import LinkerError, shorten
from linker.files import replacing
from linker.persistence.columns import Strings as Strings
from linker.persistence.columns import StringsBuilder as StringsBuilder
from linker.persistence.columns import check_lists as check_lists
from linker.version import VERSION

FORMAT_VERSIONS = {"model": 2}  # of other kinds: 1
CONFIG, MANIFEST = "config.json", "manifest.json"
TRAIN_AGAIN = "train it again (linker train --dict FILE -o DIR)"

_ATTEMPTS = 1000  # to read a folder while other processes replace it
_CHANGED = "the folder was changed, train or save it again"

LARGE = 16 << 20  # bytes; smaller files are checked every time
_SETTLED = 2_000_000_000  # ns; of a file that was changed just now a later change may not be seen
_MOST = 1000  # files that are remembered
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
    return {path.stem: _load_array(path) for path in sorted(folder.glob("*.npy"))}


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
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LinkerError(
            f"{path}: there is no such file; the folder is incomplete, train or save it again"
        ) from None
    except (ValueError, RecursionError) as error:
        raise LinkerError(f"{path}: not JSON ({error}); {_CHANGED}") from None


def checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the manifest of a folder lists.

    Raises:
        LinkerError: there is no manifest, or none that linker wrote.
    """
    manifest = load_json(folder / MANIFEST)
    sums = manifest.get("sha256") if isinstance(manifest, dict) else None
    if not isinstance(sums, dict):
        raise LinkerError(f"{folder / MANIFEST}: holds no checksums; train or save it again")
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
    try:
        known = {MANIFEST, *checksums(folder)}
    except (LinkerError, OSError):
        known = set()
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


def load(
    path: files.Pathlike,
    kind: str,
    read: Callable[[Path, dict[str, Any]], _Value],
    *,
    trust: bool = True,
) -> _Value:
    """Check a saved folder against its manifest and version, and read it.

    All files belong to one save: where another process has replaced the folder meanwhile, the new
    one is read.

    Args:
        path: the folder.
        kind: what it must hold ("model", "dictionary").
        read: makes the value out of the folder and its `config.json`.
        trust: whether a large file need not be read again, if it was checked before.

    Raises:
        LinkerError: the folder is absent, of another kind or version, a file of it is missing,
            changed, or not in the manifest, or `read` fails.
    """
    folder = Path(path)
    for _ in range(_ATTEMPTS):
        replacing.restore(folder.resolve())
        before = state(folder)
        try:
            value = read(folder, _checked(folder, kind, trust))
        except Exception as error:
            if state(folder) != before:  # files that are being removed may raise anything
                continue
            if isinstance(error, LinkerError | MemoryError):
                raise
            if isinstance(error, OSError):
                reason = f"{error.filename}: cannot be read: {error.strerror}"
                raise LinkerError(reason) from error
            raise LinkerError(
                f"{folder}: is damaged, or a {kind} of another release "
                f"({type(error).__name__}: {error}); {_again(kind)}"
            ) from error
        if state(folder) == before:
            return value
    raise LinkerError(
        f"{folder}: was replaced {_ATTEMPTS:,} times while it was read; stop what writes it"
    )


def verify(path: files.Pathlike, kind: str) -> tuple[int, int]:
    """Check every file of a saved folder against its manifest, also files checked before.

    Args:
        path: the folder.
        kind: what it must hold ("model", "dictionary").

    Returns:
        The number of files that were checked, and of their bytes.

    Raises:
        LinkerError: as for `load`.
    """

    def count(folder: Path, _: object) -> tuple[int, int]:
        sizes = [(folder / name).stat().st_size for name in checksums(folder)]
        return len(sizes), sum(sizes)

    return load(path, kind, count, trust=False)


def _again(kind: str) -> str:
    return TRAIN_AGAIN if kind == "model" else "save it again"


def _checked(folder: Path, kind: str, trust: bool) -> dict[str, Any]:
    """Check the version, kind and files of a folder, and return its configuration."""
    if not (folder / CONFIG).is_file():
        hint = (
            "train one (linker train --dict FILE -o DIR) or name one with --model"
            if kind == "model"
            else "save one first"
        )
        raise LinkerError(f"{folder}: there is no {kind} here (no {CONFIG}); {hint}")
    config = load_json(folder / CONFIG)
    version = config.get("format_version") if isinstance(config, dict) else None
    if isinstance(config, dict) and config.get("kind") != kind:
        raise LinkerError(
            f"{folder}: this folder holds a {shorten(repr(config.get('kind')))}, "
            f"a {kind} was expected"
        )
    if version != (expected := FORMAT_VERSIONS.get(kind, 1)):
        raise LinkerError(
            f"{folder / CONFIG}: format_version is {shorten(repr(version))}, "
            f"this release ({VERSION}) reads {expected}; "
            f"{_again(kind)}"
        )
    _check_files(folder, trust)
    return cast(dict[str, Any], config)


def _check_files(folder: Path, trust: bool) -> None:
    """Refuse files that the manifest does not list, and listed ones that are missing or changed.

    Descriptions (.md) and hidden files need not be listed: linker reads neither, people edit the
    ones, and desktops and version control leave the others behind.
    """
    sums, names = checksums(folder), _names(folder)
    for name in names:
        is_read = not name.endswith(".md") and not any(p.startswith(".") for p in name.split("/"))
        if is_read and name not in sums and name != MANIFEST:
            raise LinkerError(
                f"{folder / name}: is not in {MANIFEST}; "
                "move the file away if it is yours, else train or save the folder again"
            )
    for name, expected in sums.items():
        if trust and name.endswith(".md"):
            continue
        path = folder / name
        if name not in names or not path.is_file():  # one outside the folder is not among them
            raise LinkerError(
                f"{path}: named in {MANIFEST} but missing; "
                "the folder is incomplete, train or save it again"
            )
        if not has_checksum(path, expected, trust=trust):
            raise LinkerError(
                f"{path}: differs from its checksum in {MANIFEST}; "
                "the file was changed or damaged, train or save it again"
            )


def has_checksum(path: Path, expected: str, *, trust: bool) -> bool:
    """Whether a file has this SHA-256.

    Args:
        path: the file.
        expected: its SHA-256, in hexadecimal digits.
        trust: whether the checksum of a large file may be remembered instead of computed.
    """
    before = state(path)
    if before is None or before["st_size"] < LARGE:
        return files.sha256(path) == expected
    place = os.path.realpath(path)
    entry = {**before, "sha256": expected}
    if trust and _remembered().get(place) == entry:
        return True
    is_right = files.sha256(path) == expected
    age = time.time_ns() - max(before["st_mtime_ns"], before["st_ctime_ns"])
    is_kept = is_right and state(path) == before and age > _SETTLED
    entries = _remembered()
    was_known = entries.pop(place, None) is not None
    if is_kept:
        entries[place] = entry
    if is_kept or was_known:
        with contextlib.suppress(LinkerError, OSError), files.write_aside(_checksums()) as file:
            json.dump({"files": dict(list(entries.items())[-_MOST:])}, file, indent=1)
    return is_right


def state(path: Path) -> dict[str, int] | None:
    """Numbers that change when a file or folder is changed or replaced; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return {field: getattr(status, field) for field in _FIELDS}


def _checksums() -> Path:
    """Where checksums are remembered."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(folder):  # as the XDG specification has it
        folder = os.path.expanduser("~/.cache")
    return Path(folder) / "linker" / "verified.json"


def _remembered() -> dict[str, object]:
    """The entry of each file in the cache, by its path; none if the cache is damaged."""
    try:
        entries = json.loads(_checksums().read_bytes())["files"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}
