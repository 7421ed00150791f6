"""Exact top-k of the sparse score, blockwise: no matrix of queries by names is ever held."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sparse_dot_topn import sp_matmul_topn

from linker import persistence
from linker.candidates.base import Generator, Hits, Integers
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import SparseEncoder
from linker.errors import LinkerError


class SparseGenerator(Generator):
    """Ranks names by the dot product of sparse vectors.

    Args:
        postings: csr_matrix (terms, names): for each term the names that hold it.
        threads: CPU threads; 0 takes all that the process may use.
    """

    def __init__(
        self, table: NameTable, id_rank: Integers, kind_rank: Integers, encoder: SparseEncoder, postings: csr_matrix, threads: int = 0
    ) -> None:
        super().__init__(table, id_rank, kind_rank)
        self._encoder, self._postings = encoder, postings
        self._threads = threads or _usable_cores()

    @classmethod
    def index(cls, table: NameTable, dictionary: Dictionary, encoder: SparseEncoder) -> SparseGenerator:
        """Encode the names of a dictionary with a fitted encoder."""
        return cls(table, dictionary.id_rank, dictionary.kind_rank, encoder, csr_matrix(encoder.encode(list(table.texts)).T))

    def score(self, queries: Sequence[str], k: int) -> Hits:
        found = sp_matmul_topn(self._encoder.encode(queries), self._postings, k, n_threads=self._threads)
        return Hits(found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data)

    def save(self, folder: Path) -> None:
        """Write the names, their vectors and the encoder into a folder that is being saved."""
        matrix = self._postings
        persistence.save_arrays(folder / "names", self.table.arrays())
        arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
        persistence.save_arrays(folder / "postings", arrays)
        self._encoder.save(folder / "sparse")

    @classmethod
    def load(cls, folder: Path, dictionary: Dictionary, encoder: type[SparseEncoder]) -> SparseGenerator:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        try:  # compiled code trusts what is checked here
            table = NameTable.from_arrays(persistence.load_arrays(folder / "names"))
            table.check(len(dictionary), len(dictionary.names))
            sparse = encoder.load(folder / "sparse")
            arrays = persistence.load_arrays(folder / "postings")
            shape = (sparse.encode([""]).shape[1], len(table))
            postings = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape, dtype=np.float32, copy=False)
            postings.check_format(full_check=True)
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise LinkerError(f"{folder}: the names and their vectors do not fit together ({error}); train again") from None
        return cls(table, dictionary.id_rank, dictionary.kind_rank, sparse, postings)


def _usable_cores() -> int:
    """The cores that this process may run on; all of them where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
