"""An approximate index for the vectors of many names, by faiss.

Similar names share a list, and a search reads the lists whose centroids are nearest to the query.
In the lists a vector is a code of a few bytes (product quantisation), which only proposes names:
these are scored again with their vectors. A model folder holds the index as npy and JSON, of which
faiss objects are made anew; the lists stay memory-mapped.
"""

from __future__ import annotations

import dataclasses
import importlib
import logging
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from linker.errors import LinkerError
from linker.io import files, persistence
from linker.search.index import LARGE, Floats, Hits, IndexOptions, VectorIndex, is_finite

K = 20  # the recall is that of so many best names
_FEW = 200_000  # a search among so many names, or fewer, scores all of them
_BLOCK = 32  # codes that faiss interleaves
_ROW = 8  # bytes of the row of a name in a list
_RECORD, _LISTS = "index.json", "lists.npy"
_FEWEST = 16  # names, by which codes of 4 bits can be learnt
_QUERIES = 500  # by which the recall is measured
_SEED = 1
_SAMPLE = 40  # names for each list, by which its centroid is found
_CODEBOOK = 65_536  # names, at least, by which codes are learnt
_ROUNDS = 8  # of k-means
_ADDED = 65_536  # names that are added together, 32 MB with 128 components
_PARTS = 96  # of a vector, at most
_EQUAL = 1e-5  # scores that differ by less are equal

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """What the JSON file of an index holds."""

    vectors: str  # SHA-256 of the file of the vectors that were indexed
    lists: int
    probes: int  # lists that a search reads
    recall: float  # share of the K best names by exact search that it finds
    queries: int  # by which the recall was measured
    options: Mapping[str, Any]  # the index options that asked for it

    @classmethod
    def load(cls, folder: Path) -> IndexRecord | None:
        """Read the JSON file of an index; None where there is no index."""
        path = folder / _RECORD
        return cls(**persistence.load_json(path)) if path.exists() else None

    @property
    def summary(self) -> str:
        """A line for a user."""
        return (
            f"index: ivf, {self.lists:,} lists of which a search reads {self.probes:,}; "
            f"recall@{K} against exact search {self.recall:.4f}, of {self.queries:,} changed names"
        )


class IvfIndex(VectorIndex):
    """Finds names in the lists nearest to a query.

    Args:
        vectors: of the names.
        arrays: centroids (lists, dim), codebooks (parts of a vector, 16, dim of a part), sizes
            (lists,), and the bytes of the lists: of each the codes, then the rows as int64, both
            with room for whole blocks of codes.
        record: what is known of it.
        path: of the file of the lists, which faiss maps into memory for itself.

    Raises:
        ValueError: the arrays do not fit together.
        LinkerError: faiss cannot map files here.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        arrays: Mapping[str, NDArray[Any]],
        record: IndexRecord,
        path: Path,
    ) -> None:
        super().__init__(vectors)
        _check(self.vectors, arrays, record)
        self.record, self.arrays, self._path = record, dict(arrays), path
        self._faiss = _restored(arrays, path)

    def __reduce__(self) -> tuple[Any, ...]:  # objects of faiss do not go to other processes
        return IvfIndex, (self.vectors, self.arrays, self.record, self._path)

    def search(self, queries: Floats, k: int, among: NDArray[np.int64] | None = None) -> Hits:
        if among is not None and len(among) <= _FEW:
            return super().search(queries, k, among)
        proposed = min(2 * k + 160, len(self))  # by their codes
        queries = np.ascontiguousarray(queries, np.float32)
        _, rows = self._faiss.search(queries, proposed, params=self._parameters(among))
        rows.sort(axis=1)
        query, place = np.nonzero(rows >= 0)
        rows = rows[query, place]
        if rows.max(initial=0) >= len(self):
            raise LinkerError("the index names rows that are not there; make the index again")
        products = self.products(queries, query, rows)
        return Hits.best_with_ties(len(queries), k, query, rows, products)[0]

    def _parameters(self, among: NDArray[np.int64] | None) -> Any:
        """The lists to read, the more the fewer names may be found, and which names those are."""
        faiss, probes = _faiss(), self.record.probes
        if among is None:
            return faiss.SearchParametersIVF(nprobe=probes)
        is_among = np.zeros(len(self), bool)
        is_among[among] = True
        selector = faiss.IDSelectorBitmap(np.packbits(is_among, bitorder="little"))
        probes = min(self.record.lists, math.ceil(probes * len(self) / len(among)))
        return faiss.SearchParametersIVF(nprobe=probes, sel=selector)

    def save(self, folder: Path) -> None:
        """Write the arrays and the record."""
        persistence.save_arrays(folder, self.arrays)
        persistence.save_json(folder / _RECORD, dataclasses.asdict(self.record))

    @classmethod
    def load(cls, folder: Path, vectors: NDArray[Any], checksum: str) -> IvfIndex:
        """Read what `save` wrote; the lists stay memory-mapped.

        Args:
            folder: of the index.
            vectors: of the names.
            checksum: SHA-256 of the file of the vectors.

        Raises:
            ValueError: the index is of other vectors; a damaged one raises other errors, too.
        """
        record = IndexRecord(**persistence.load_json(folder / _RECORD))
        if record.vectors != checksum:
            raise ValueError("the index is of other names or of another encoder")
        return cls(vectors, persistence.load_arrays(folder), record, folder / _LISTS)


def _faiss() -> Any:
    """Import faiss where it is needed, which takes a quarter of a second; its types are wrong."""
    return importlib.import_module("faiss")


def _new(lists: int, dim: int, parts: int) -> Any:
    """An index of faiss that knows nothing yet; of each part of a vector 4 bits are kept."""
    faiss = _faiss()
    quantizer, metric = faiss.IndexFlatIP(dim), faiss.METRIC_INNER_PRODUCT
    index = faiss.IndexIVFPQFastScan(quantizer, dim, lists, parts, 4, metric, _BLOCK)
    index.by_residual = True
    return index


def _room(sizes: Any) -> Any:
    """How many codes lists have room for, given how many they hold: blocks are whole."""
    return -(-sizes // _BLOCK) * _BLOCK


def _check(vectors: NDArray[Any], arrays: Mapping[str, NDArray[Any]], record: IndexRecord) -> None:
    """Raise ValueError where the arrays do not fit together; compiled code trusts them.

    Rows in lists are checked when a search finds them.
    """
    dim, parts, sizes = vectors.shape[1], len(arrays["codebooks"]), arrays["sizes"]
    length = int(_room(sizes).sum()) * ((parts + 1) // 2 + _ROW)
    expected = {
        "centroids": (np.float32, (record.lists, dim)),
        "codebooks": (np.float32, (parts, 16, dim // max(1, parts))),
        "sizes": (np.int64, (record.lists,)),
        "lists": (np.uint8, (length,)),
    }
    fits = [arrays[n].dtype == kind and arrays[n].shape == s for n, (kind, s) in expected.items()]
    if (
        not all(fits)
        or not parts
        or dim % parts
        or not (is_finite(arrays["centroids"]) and is_finite(arrays["codebooks"]))
        or not 0 <= sizes.min(initial=0) <= sizes.max(initial=0) <= len(vectors) == sizes.sum()
        or not 0 <= record.probes <= record.lists
    ):
        raise ValueError("the arrays of the index do not fit together, or the names")


def _restored(arrays: Mapping[str, NDArray[Any]], path: Path) -> Any:
    """The index of faiss that arrays, which were checked, stand for; its lists stay in a file."""
    faiss, centroids, codebooks = _faiss(), arrays["centroids"], arrays["codebooks"]
    if not hasattr(faiss, "OnDiskInvertedLists"):
        raise LinkerError("faiss maps no files on Windows; take index.kind=exact")
    index = _new(len(centroids), centroids.shape[1], len(codebooks))
    index.quantizer.add(np.ascontiguousarray(centroids))
    faiss.copy_array_to_vector(np.ravel(codebooks), index.pq.centroids)
    sizes = arrays["sizes"].tolist()
    index.is_trained, index.ntotal = True, sum(sizes)
    lists = _mapped(path, sizes, index.code_size, arrays["lists"].nbytes)
    lists.this.disown()  # the index frees them
    index.replace_invlists(lists, True)
    return index


def _mapped(path: Path, sizes: Sequence[int], code_size: int, length: int) -> Any:
    """The lists in an npy file, whose array is so many bytes long; a search reads what it needs."""
    faiss = _faiss()
    lists = faiss.OnDiskInvertedLists()
    lists.nlist, lists.code_size = len(sizes), code_size
    lists.filename, lists.read_only, lists.prefetch_nthread = str(path), True, 0
    lists.totsize = path.stat().st_size
    start = lists.totsize - length  # behind the header
    for size in sizes:
        one = faiss.OnDiskOneList()
        one.size, one.capacity, one.offset = size, _room(size), start
        lists.lists.push_back(one)
        start += _room(size) * (code_size + _ROW)
    lists.do_mmap()
    return lists


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
    if len(vectors) < _FEWEST:
        raise LinkerError(
            f"there are {len(vectors):,} names, too few for index.kind=ivf ({_FEWEST}); "
            "take index.kind=exact"
        )
    lists = lists_for(len(vectors))
    folder.mkdir(parents=True)
    _write_lists(folder, vectors, lists)
    record = IndexRecord(checksum, lists, lists, 0.0, len(queries), dataclasses.asdict(options))
    index = IvfIndex(vectors, persistence.load_arrays(folder), record, folder / _LISTS)
    _measure(index, queries, options.recall)
    if index.record.recall < options.recall:
        raise LinkerError(
            f"the index finds {index.record.recall:.4f} of the {K} best names, and index.recall "
            f"is {options.recall}; ask for less (index.recall), or take index.kind=exact"
        )
    persistence.save_json(folder / _RECORD, dataclasses.asdict(index.record))
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


def recall(hits: Hits, exact: Hits) -> float:
    """The share of the best names, by exact search, that were found.

    Of names with equal scores any will do.
    """
    worst = np.full(len(exact.indptr) - 1, np.inf, np.float32)
    np.minimum.at(worst, exact.queries, exact.scores)
    is_right = hits.scores >= worst[hits.queries] - _EQUAL
    return float(is_right.sum() / max(1, len(exact.rows)))


def _measure(index: IvfIndex, queries: Floats, wanted: float) -> None:
    """Let an index read as few lists as have the recall that is wanted, and note it.

    The number is doubled until the aim is reached, and then looked for between the last two.
    """
    exact = VectorIndex(index.vectors).search(queries, K).first(K)

    def measured(probes: int) -> IndexRecord:
        index.record = dataclasses.replace(index.record, probes=probes)
        share = recall(index.search(queries, K).first(K), exact)
        return dataclasses.replace(index.record, recall=round(share, 4))

    low, best = 0, measured(1)
    while best.recall < wanted and best.probes < best.lists:
        low, best = best.probes, measured(min(best.lists, 2 * best.probes))
    while best.probes - low > max(1, best.probes // 8):
        middle = measured((low + best.probes) // 2)
        if middle.recall >= wanted:
            best = middle
        else:
            low = middle.probes
    index.record = best


def _write_lists(folder: Path, vectors: NDArray[Any], lists: int) -> None:
    """Find centroids and codes by a sample of the vectors, and write the lists of all names."""
    dim = vectors.shape[1]
    parts = max(parts for parts in range(1, min(dim, _PARTS) + 1) if dim % parts == 0)
    index = _new(lists, dim, parts)
    index.cp.seed, index.pq.cp.seed = _SEED, _SEED
    index.cp.niter, index.cp.spherical = _ROUNDS, True
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1  # else it warns
    size = min(len(vectors), max(_SAMPLE * lists, _CODEBOOK))
    sample = np.random.default_rng(_SEED).choice(len(vectors), size, replace=False)
    index.train(persistence.from_storage(vectors[np.sort(sample)]))
    for start in range(0, len(vectors), _ADDED):
        index.add(persistence.from_storage(vectors[start : start + _ADDED]))
    sizes = np.array([index.invlists.list_size(i) for i in range(lists)], np.int64)
    codebooks = _faiss().vector_to_array(index.pq.centroids)
    arrays = {
        "centroids": index.quantizer.reconstruct_n(0, lists),
        "codebooks": codebooks.reshape(index.pq.M, index.pq.ksub, index.pq.dsub),
        "sizes": sizes,
    }
    persistence.save_arrays(folder, arrays)
    view, length = _faiss().rev_swig_ptr, int(_room(sizes).sum()) * (index.code_size + _ROW)
    with open(folder / _LISTS, "wb") as file:  # a memory map would crash where no space is left
        header = {"descr": "|u1", "fortran_order": False, "shape": (length,)}
        npy.write_array_header_1_0(file, header)
        for number, size in enumerate(sizes.tolist()):
            rows = np.zeros(_room(size), np.int64)
            if size:
                codes = view(index.invlists.get_codes(number), _room(size) * index.code_size)
                file.write(codes.tobytes())
                rows[:size] = view(index.invlists.get_ids(number), size)
            file.write(rows.tobytes())
