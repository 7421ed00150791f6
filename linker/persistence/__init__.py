"""Saved folders of arrays and JSON: checked against a manifest, memory-mapped, without pickles."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from linker import files
from linker.errors import LinkerError, shorten
from linker.files import replacing, verified
from linker.persistence.columns import Strings as Strings
from linker.persistence.columns import StringsBuilder as StringsBuilder
from linker.persistence.columns import check_lists as check_lists
from linker.version import VERSION

FORMAT_VERSION = 1
CONFIG, MANIFEST = "config.json", "manifest.json"

_ATTEMPTS = 1000  # to read a folder while other processes replace it
_HEADER = re.compile(  # of .npy files
    rb"\{'descr': '([<>|][a-zA-Z]\d+)', 'fortran_order': (?:False|True), "
    rb"'shape': \(([\d, ]*)\), \} *\n"
)
_HEADER_LIMIT = 10_000  # bytes; the same as in numpy
_CHANGED = "the folder was changed, train or save it again"

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
    """Memory-map every `.npy` file of a folder, and read those that are empty.

    The maps are copy-on-write, since compiled code requires writable arrays.
    """
    return {path.stem: _load_array(path) for path in sorted(folder.glob("*.npy"))}


def _load_array(path: Path) -> NDArray[Any]:
    try:
        with open(path, "rb") as file:
            width = 2 if npy.read_magic(file) == (1, 0) else 4
            header = _HEADER.fullmatch(
                file.read(min(_HEADER_LIMIT, int.from_bytes(file.read(width), "little")))
            )
            size = path.stat().st_size - file.tell()
        if header is None:
            raise ValueError("its header is not as numpy writes it")
        shape = tuple(map(int, header[2].replace(b",", b" ").split()))
        if np.dtype(header[1].decode()).itemsize * math.prod(shape) != size:
            raise ValueError(f"{size:,} bytes are not what its header says")
        mapped = np.load(path, mmap_mode="c" if size else None, allow_pickle=False)
        return np.asarray(mapped)  # a plain array, of which slices take a tenth of the time
    except (ValueError, TypeError) as error:
        raise LinkerError(f"{path}: is no array of plain values ({error}); {_CHANGED}") from None


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


def check_replaceable(path: files.Pathlike) -> None:
    """Refuse to overwrite a file, or a folder with files that linker did not write.

    Raises:
        LinkerError: the path is a file, or a folder with a file that its manifest does not name.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise LinkerError(f"{folder}: is a file; name a folder with -o")
    known = _own_files(folder)
    names = (
        f.relative_to(folder).as_posix()
        for f in folder.rglob("*")
        if f.is_symlink() or not f.is_dir()
    )
    if foreign := next((name for name in names if name not in known), None):
        raise LinkerError(
            f"{folder}: holds {foreign}, which linker did not write there; "
            "move it, or name another folder with -o"
        )


def _own_files(folder: Path) -> set[str]:
    """The manifest of a folder and the files that it lists; an empty set without a manifest."""
    try:
        sums = json.loads((folder / MANIFEST).read_bytes())["sha256"]
    except (OSError, ValueError, LookupError, TypeError):
        return set()
    return {MANIFEST, *sums} if isinstance(sums, dict) else set()


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
        save_json(
            folder / CONFIG,
            {"format_version": FORMAT_VERSION, "kind": kind, "code_version": VERSION, **config},
        )
        sums = {
            f.relative_to(folder).as_posix(): files.sha256(f)
            for f in sorted(folder.rglob("*"))
            if f.is_file()
        }
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

    All files belong to one save, even while other processes replace the folder.

    Args:
        path: the folder.
        kind: what it must hold ("model", "dictionary").
        read: makes the value out of the folder and its `config.json`; the path that it is given
            is valid during the call only.
        trust: whether a large file need not be read again, if it was checked before.

    Raises:
        LinkerError: the folder is absent, of another kind or version, or a file of it is missing,
            changed, or not in the manifest.
    """
    folder = Path(path)

    def check_and_read(folder: Path) -> _Value:
        return read(folder, _checked(folder, kind, trust))

    for _ in range(_ATTEMPTS):
        replacing.restore(folder.resolve())
        if result := _attempt(folder, check_and_read):
            return result[0]
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

    def count(folder: Path, config: Mapping[str, Any]) -> tuple[int, int]:
        names = _own_files(folder) - {MANIFEST}
        return len(names), sum((folder / name).stat().st_size for name in names)

    return load(path, kind, count, trust=False)


def _attempt(path: Path, read: Callable[[Path], _Value]) -> tuple[_Value] | None:
    """Read a folder; return the value in a tuple, or None if the folder was replaced meanwhile."""
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(replacing.pinned(path))
        except OSError:  # it is missing, which `_checked` reports, or was for a moment
            folder = path
        before = replacing.state(folder)
        try:
            value = read(folder)
        except Exception as error:  # reading files that are being removed may raise anything
            if replacing.state(path) != before:
                return None
            if not isinstance(error, LinkerError | OSError):
                raise
            text = (
                f"{error.filename}: cannot be read: {error.strerror}"
                if isinstance(error, OSError)
                else str(error)
            )
            raise LinkerError(text.replace(str(folder), str(path))) from error
        is_valid = replacing.state(path) == before or (folder != path and _is_complete(folder))
        return (value,) if is_valid else None


def _is_complete(folder: Path) -> bool:
    """Whether every file of the manifest is still there."""
    names = _own_files(folder)
    return bool(names) and all((folder / name).is_file() for name in names)


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
    if version != FORMAT_VERSION:
        remedy = "train it again, or use the release of linker that wrote it"
        shown = shorten(repr(version))
        raise LinkerError(
            f"{folder / CONFIG}: format_version is {shown}, "
            f"this release ({VERSION}) reads {FORMAT_VERSION}; {remedy}"
        )
    if config.get("kind") != kind:
        raise LinkerError(
            f"{folder}: this folder holds a {shorten(repr(config.get('kind')))}, "
            f"a {kind} was expected"
        )
    _check(folder, trust)
    return cast(dict[str, Any], config)


def _check(folder: Path, trust: bool) -> None:
    manifest = load_json(folder / MANIFEST)
    sums = manifest.get("sha256") if isinstance(manifest, dict) else None
    if not isinstance(sums, dict):
        raise LinkerError(f"{folder / MANIFEST}: holds no checksums; train or save it again")
    for name in sorted(_unlisted(folder, {MANIFEST, *sums})):
        raise LinkerError(
            f"{folder / name}: is not in {MANIFEST}; "
            "move the file away if it is yours, else train or save the folder again"
        )
    for name, expected in sums.items():
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts or not path.is_file():
            raise LinkerError(
                f"{path}: named in {MANIFEST} but missing; "
                "the folder is incomplete, train or save it again"
            )
        if not verified.has_checksum(path, expected, trust=trust):
            raise LinkerError(
                f"{path}: differs from its checksum in {MANIFEST}; "
                "the file was changed or damaged, train or save it again"
            )


def _unlisted(folder: Path, listed: set[str]) -> Iterator[str]:
    """The files that are not listed, except descriptions (.md) and hidden files.

    linker reads neither; desktops and version control leave hidden files behind.
    """
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        is_read = path.suffix != ".md" and not any(part.startswith(".") for part in name.parts)
        if name.as_posix() not in listed and is_read and (path.is_symlink() or not path.is_dir()):
            yield name.as_posix()
