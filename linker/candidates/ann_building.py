"""Making the approximate index of a model folder: whether, with how many lists, how good."""

from __future__ import annotations

import dataclasses
import logging
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from linker import files, persistence
from linker.candidates.ann import (
    ROW,
    IndexRecord,
    IvfIndex,
    K,
    load_faiss,
    new_index,
    room,
    save_record,
)
from linker.candidates.index import ExactIndex, Floats, VectorIndex, recall
from linker.candidates.options import LARGE, IndexOptions
from linker.errors import LinkerError

_FEWEST = 16  # names, by which codes of 4 bits can be learnt
_QUERIES = 500  # by which the recall is measured
_SEED = 1
_SAMPLE = 40  # names for each list, by which its centroid is found
_CODEBOOK = 65_536  # names, at least, by which codes are learnt
_ROUNDS = 8  # of k-means
_ADDED = 65_536  # names that are added together, 32 MB with 128 components
_PARTS = 96  # of a vector, at most

logger = logging.getLogger(__name__)


def is_wanted(options: IndexOptions, names: int) -> bool:
    """Whether an approximate index is to be made for so many names."""
    return options.kind == "ivf" or (options.kind == "auto" and names >= LARGE)


def write(
    folder: Path,
    vectors: Path,
    options: IndexOptions,
    queries: Callable[[], Floats],
    before: VectorIndex,
) -> None:
    """Write the index of saved vectors.

    Args:
        folder: to write to, which is not there yet.
        vectors: the npy file of the vectors.
        options: of the index.
        queries: makes the vectors by which the recall is measured.
        before: the index that the model has; one of these vectors with these options is kept.

    Raises:
        LinkerError: an index is asked for, and its recall is below the one asked for, or there is
            not one name for each list.
    """
    checksum = files.sha256(vectors)
    if isinstance(before, IvfIndex):
        record = before.record
        if record.vectors == checksum and record.options == dataclasses.asdict(options):
            return before.save(folder)
    arrays = persistence.load_arrays(vectors.parent)
    try:
        build(folder, np.asarray(arrays[vectors.stem]), options, queries(), checksum)
    except LinkerError as error:
        if options.kind == "ivf":
            raise
        logger.warning("%s: each mention is compared with all names", error)
        shutil.rmtree(folder, ignore_errors=True)


def build(
    folder: Path, vectors: NDArray[Any], options: IndexOptions, queries: Floats, checksum: str
) -> IvfIndex:
    """Write an index of vectors, and measure its recall.

    Args:
        folder: to write to, which is not there yet.
        vectors: of the names, (names, dim), best memory-mapped: blocks of them are read.
        options: of the index.
        queries: by which the recall is measured.
        checksum: SHA-256 of the file of the vectors.

    Raises:
        LinkerError: the recall is below the one asked for, or there are too few names.
    """
    lists = options.lists or lists_for(len(vectors))
    if len(vectors) < _FEWEST:
        raise LinkerError(
            f"there are {len(vectors):,} names, too few for index.kind=ivf ({_FEWEST}); "
            "take index.kind=exact"
        )
    if lists > len(vectors):
        raise LinkerError(
            f"index.lists is {lists:,}; expected: at most {len(vectors):,}, the number of names"
        )
    folder.mkdir(parents=True)
    _write_lists(folder, vectors, lists)
    record = IndexRecord(checksum, lists, lists, 0.0, len(queries), dataclasses.asdict(options))
    index = IvfIndex(vectors, persistence.load_arrays(folder), record, folder / "lists.npy")
    index.record = _measured(index, queries, options)
    if index.record.recall < options.recall:
        raise LinkerError(
            f"the index finds {index.record.recall:.4f} of the {K} best names, and index.recall "
            f"is {options.recall}; let it read more lists (index.probes), "
            "ask for less (index.recall), or take index.kind=exact"
        )
    save_record(folder, index.record)
    return index


def lists_for(names: int) -> int:
    """The number of lists: the power of two nearest to four times the square root of the names."""
    nearest = round(math.log2(4 * math.sqrt(max(1, names))))
    return int(min(2**nearest, 2 ** int(math.log2(max(1, names)))))


def changed_names(names: Sequence[str]) -> list[str]:
    """Sample names, in each of which a character is left out or doubled."""
    random = np.random.default_rng(_SEED)
    rows = random.choice(len(names), min(_QUERIES, len(names)), replace=False)
    changed = []
    for name in (names[row] for row in rows.tolist()):
        where, which = random.random(2).tolist()
        place = int(where * len(name))
        doubled = 2 * name[place : place + 1] if which < 1 / 2 else ""
        changed.append(name[:place] + doubled + name[place + 1 :])
    return changed


def _measured(index: IvfIndex, queries: Floats, options: IndexOptions) -> IndexRecord:
    """Measure the recall; where no number of lists is asked for, read as few as reach the aim.

    The number is doubled until the aim is reached, and then looked for between the last two.
    """
    exact, lists = ExactIndex(index.vectors).search(queries, K), index.record.lists

    def measured(probes: int) -> IndexRecord:
        index.record = dataclasses.replace(index.record, probes=probes)
        share = recall(index.search(queries, K), exact)
        return dataclasses.replace(index.record, recall=round(share, 4))

    if options.probes:
        return measured(min(options.probes, lists))
    low, best = 0, measured(1)
    while best.recall < options.recall and best.probes < lists:
        low, best = best.probes, measured(min(lists, 2 * best.probes))
    while best.probes - low > max(1, best.probes // 8):
        middle = measured((low + best.probes) // 2)
        if middle.recall >= options.recall:
            best = middle
        else:
            low = middle.probes
    return best


def _write_lists(folder: Path, vectors: NDArray[Any], lists: int) -> None:
    """Find centroids and codes by a sample of the vectors, and write the lists of all names."""
    index = new_index(lists, vectors.shape[1], _parts(vectors.shape[1]))
    index.cp.seed, index.pq.cp.seed = _SEED, _SEED
    index.cp.niter, index.cp.spherical = _ROUNDS, True
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1  # else it warns
    size = min(len(vectors), max(_SAMPLE * lists, _CODEBOOK))
    sample = np.random.default_rng(_SEED).choice(len(vectors), size, replace=False)
    index.train(persistence.from_storage(vectors[np.sort(sample)]))
    for start in range(0, len(vectors), _ADDED):
        index.add(persistence.from_storage(vectors[start : start + _ADDED]))
    sizes = np.array([index.invlists.list_size(i) for i in range(lists)], np.int64)
    codebooks = load_faiss().vector_to_array(index.pq.centroids)
    arrays = {
        "centroids": index.quantizer.reconstruct_n(0, lists),
        "codebooks": codebooks.reshape(index.pq.M, index.pq.ksub, index.pq.dsub),
        "sizes": sizes,
    }
    persistence.save_arrays(folder, arrays)
    _write_codes(folder / "lists.npy", index, sizes)


def _write_codes(path: Path, index: Any, sizes: NDArray[np.int64]) -> None:
    """Write the codes and the rows of each list, with room for whole blocks."""
    view, lists = load_faiss().rev_swig_ptr, index.invlists
    length = int(room(sizes).sum()) * (index.code_size + ROW)
    with open(path, "wb") as file:  # a memory map would crash where no space is left
        header = {"descr": "|u1", "fortran_order": False, "shape": (length,)}
        npy.write_array_header_1_0(file, header)
        for number, size in enumerate(sizes.tolist()):
            rows = np.zeros(room(size), np.int64)
            if size:
                file.write(view(lists.get_codes(number), room(size) * index.code_size).tobytes())
                rows[:size] = view(lists.get_ids(number), size)
            file.write(rows.tobytes())


def _parts(dim: int) -> int:
    """The parts of a vector that codes stand for: as many of one size as there may be."""
    return max(parts for parts in range(1, min(dim, _PARTS) + 1) if dim % parts == 0)
