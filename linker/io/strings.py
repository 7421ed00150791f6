"""Columns of strings and of lists, as arrays that can be saved and memory-mapped."""

from __future__ import annotations

import codecs
import itertools
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 20  # bytes that are checked at once
_TEXTS = 10_000  # strings that are decoded at once


class Strings(Sequence[str]):
    """A column of strings that can be memory-mapped: UTF-8 bytes, and where each string starts.

    Args:
        data: uint8 (bytes,), the strings one behind another.
        offsets: int64 (strings + 1,); string i is `data[offsets[i]:offsets[i + 1]]`.
    """

    __slots__ = ("_bytes", "_starts", "data", "offsets")

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets
        self._bytes = data.data  # single values of views are read faster than those of arrays
        self._starts = offsets.data

    def __reduce__(self) -> tuple[Any, ...]:  # views do not go to other processes
        return Strings, (self.data, self.offsets)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Strings:
        """Pack texts into a column."""
        builder = StringsBuilder()
        for text in texts:
            builder.append(text)
        return builder.build()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            start, stop, step = row.indices(len(self))
            if step != 1:
                return [self[i] for i in range(start, stop, step)]
            offsets = self.offsets[start : max(start, stop) + 1].tolist()
            first, data = offsets[0], self.data[offsets[0] : offsets[-1]].tobytes()
            return [data[a - first : b - first].decode() for a, b in itertools.pairwise(offsets)]
        if row < 0:
            row += len(self)
        if row < 0:  # one that is too large raises IndexError below
            raise IndexError(row)
        return str(self._bytes[self._starts[row] : self._starts[row + 1]], "utf-8")

    def __iter__(self) -> Iterator[str]:
        starts = range(0, len(self), _TEXTS)
        return itertools.chain.from_iterable(self[i : i + _TEXTS] for i in starts)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many characters each string has, (strings,)."""
        is_first_byte = self.data & 0xC0 != 0x80
        characters = np.concatenate([[0], np.cumsum(is_first_byte, dtype=np.int64)])
        return np.diff(characters[self.offsets])

    def take(self, rows: NDArray[np.int64]) -> Strings:
        """The column of some of the strings; they are copied and not decoded."""
        data = self.data.data  # slices of it are no copies
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        joined = b"".join([data[start:end] for start, end in spans])
        offsets = np.concatenate([[0], np.cumsum(ends - starts, dtype=np.int64)])
        return Strings(np.frombuffer(joined, np.uint8), offsets)

    def extended(self, texts: Iterable[str]) -> Strings:
        """The column with more strings behind."""
        more = Strings.of(texts)
        data = np.concatenate([self.data, more.data])
        return Strings(data, np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]))

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays to save under `name`."""
        return {f"{name}.data": self.data, f"{name}.offsets": self.offsets}

    def check(self) -> None:
        """Raise ValueError where the offsets do not cut the bytes into texts."""
        data, offsets = self.data, self.offsets
        if data.ndim != 1 or data.dtype != np.uint8 or len(offsets) == 0:
            raise ValueError("a column of texts has no bytes or no offsets")
        check_lists(offsets, data, len(offsets) - 1, 256)
        if (data[offsets[:-1][offsets[:-1] < len(data)]] & 0xC0 == 0x80).any():
            raise ValueError("an offset is inside a character")
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(data), _BLOCK):
            decoder.decode(data[start : start + _BLOCK].tobytes())
        decoder.decode(b"", final=True)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Strings:
        """The column saved under `name`."""
        return cls(arrays[f"{name}.data"], arrays[f"{name}.offsets"])


def check_lists(indptr: NDArray[Any], values: NDArray[Any], count: int, limit: int) -> None:
    """Check lists that are stored one behind another: list i is `values[indptr[i]:indptr[i + 1]]`.

    Raises:
        ValueError: they are not `count` lists of whole numbers from 0 to below `limit`.
    """
    if any(column.ndim != 1 or column.dtype.kind not in "iu" for column in (indptr, values)):
        raise ValueError("a list of rows is no list of whole numbers")
    if (
        len(indptr) != count + 1
        or indptr[0] != 0
        or indptr[-1] != len(values)
        or (indptr[1:] < indptr[:-1]).any()  # a difference may overflow
    ):
        raise ValueError("lists of rows overlap or leave gaps")
    if len(values) and not (values.min() >= 0 and values.max() < limit):
        raise ValueError("a list names a row that is not there")


class StringsBuilder:
    """Collects strings in one buffer, which takes less memory than a list of strings."""

    def __init__(self) -> None:
        self._data, self._offsets = bytearray(), array("q", [0])

    def append(self, text: str) -> None:
        """Add one string."""
        self._data += text.encode("utf-8")
        self._offsets.append(len(self._data))

    def build(self) -> Strings:
        """The column."""
        return Strings(
            np.frombuffer(bytes(self._data), np.uint8), np.frombuffer(self._offsets, np.int64)
        )
