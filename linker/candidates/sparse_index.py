"""Search for the names whose sparse vectors have the largest dot products with those of queries.

`ExactPostings` multiplies each query with every name that shares a term with it. `WordLists`, for
large dictionaries, finds names by their words, and then multiplies these alone.
"""

from __future__ import annotations

import dataclasses
import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sparse_dot_topn import sp_matmul_topn, zip_sp_matmul_topn

from linker import persistence
from linker.candidates.index import Floats, Hits, is_finite, recall
from linker.encoders.base import SparseEncoder
from linker.errors import LinkerError

_PAIRS = 100_000  # pairs of names whose vectors are in memory at once, 60 MB with trigrams
_NAMES = 100_000  # names that are encoded, or searched exactly to measure the recall, at once
_SAMPLE = 200  # names that are changed a little, as queries that the recall is measured by
_BEST = 20  # names of each of them that should be found
_SETTINGS = (  # words, the share of all names in the blocks that are read, names scored exactly
    (100, 0.005, 400),
    (200, 0.01, 400),
    (300, 0.02, 400),
    (500, 0.04, 800),
    (500, 0.1, 800),
    (1000, 0.3, 1000),
)
_FEWEST = 1000  # entries of lists that are read, if there are as many
_FIRST = 512  # entries in the first block of a list; each further block doubles them
_PART = 1_000_000  # names whose scores are summed up together: more would not fit into caches
_OF_PART = 100  # names that each part proposes, at least

Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]
"""The word, the name and the impact of each entry of the lists."""


@dataclass(eq=False)
class ExactPostings:
    """Multiplies each query with every name that shares a term with it.

    Args:
        postings: csr_matrix (terms, names): for each term the names that have it.
    """

    postings: csr_matrix

    @cached_property
    def vectors(self) -> csr_matrix:
        """The vectors of the names, csr_matrix (names, terms)."""
        return csr_matrix(self.postings.T)

    def search(self, queries: csr_matrix, k: int) -> Hits:
        """Find the k names with the largest dot products for each query, in any order.

        Args:
            queries: (queries, terms).
            k: fewer are found where fewer names share a term with the query.
        """
        found = sp_matmul_topn(queries, self.postings, k, n_threads=usable_cores())
        rows = found.indices.astype(np.int32)
        return Hits(found.indptr.astype(np.int64), rows, found.data, sparse=found.data)

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder that is being saved."""
        _save_matrix(folder / "postings", self.postings)

    @classmethod
    def load(cls, folder: Path, terms: int, names: int) -> ExactPostings:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        return cls(_load_matrix(folder / "postings", (terms, names)))


@dataclass(frozen=True, slots=True)
class WordSearch:
    """How lists of words are searched, and what share of the best names this finds."""

    words: int  # of the dictionary, those most like a query, whose lists are considered
    postings: int  # entries of the blocks that are read, at most, but for the first block
    candidates: int  # names that then get their exact score, at least
    recall: float = 0.0  # of the 20 best names, measured on a sample


@dataclass(eq=False)
class WordLists:
    """Finds names by words that are like a query, and multiplies these names exactly.

    The vector of a name n is nearly the sum of those of its words, n ≈ Σ_w (v_w · n) v_w; so
    q · n ≈ Σ_w (q · v_w) (v_w · n). The list of a word holds impacts v_w · n, the largest first, in
    blocks. A query reads the blocks with the largest bounds, q · v_w times the largest impact
    of the block, of the words most like it. With words a name stands in 3 lists, with character
    n-grams in 20.

    Args:
        vectors: of the names, csr_matrix (names, terms).
        words: csr_matrix (terms, words), of the words of all names, each of length 1.
        lists: the blocks, part after part of the names, csr_matrix (parts · blocks, `_PART`).
        starts: the first block of each word, and the number of blocks, (words + 1,).
        bounds: the largest impact of each block, (blocks,).
        how: how they are searched.
    """

    vectors: csr_matrix
    words: csr_matrix
    lists: csr_matrix
    starts: NDArray[np.int64]
    bounds: NDArray[np.float32]
    how: WordSearch

    @cached_property
    def _parts(self) -> list[csr_matrix]:
        """The blocks of each part of the names, (blocks, `_PART`)."""
        count = len(self.bounds)
        starts = range(0, self.lists.shape[0], max(1, count))
        return [_rows(self.lists, row, row + count) for row in starts]

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        """The entries of each block, (blocks,)."""
        of_parts = np.diff(self.lists.indptr).reshape(-1, len(self.bounds))
        return np.asarray(of_parts.sum(axis=0), np.int64)

    @classmethod
    def build(
        cls,
        vectors: csr_matrix,
        texts: Sequence[str],
        encoder: SparseEncoder,
        aim: float,
    ) -> WordLists:
        """Make the lists, and choose how they are searched, by the recall on a sample of names.

        Args:
            vectors: of the names, (names, terms).
            texts: the names, in normal form.
            encoder: it made the vectors.
            aim: the share of the best names that must be found.

        Raises:
            LinkerError: even the widest search finds too few of the best names.
        """
        words, names, word = _words_of(texts)
        of_words = encoded(encoder, words)
        impacts = pair_products(of_words, word, vectors, names)
        made = cls._of(vectors, csr_matrix(of_words.T), (word, names, impacts), WordSearch(0, 0, 0))
        queries = encoder.encode(list(_changed(texts)))
        exact = _exact_hits(vectors, queries)
        for count, share, candidates in _SETTINGS:
            made.how = WordSearch(count, max(_FEWEST, int(share * len(texts))), candidates)
            share = recall(made.search(queries, _BEST), exact)
            made.how = dataclasses.replace(made.how, recall=round(share, 4))
            if share >= aim:
                return made
        raise LinkerError(
            f"search by words finds {made.how.recall:.1%} of the best names, and index.recall "
            f"is {aim}; ask for less (index.recall), or take index.kind=exact"
        )

    @classmethod
    def _of(
        cls, vectors: csr_matrix, words: csr_matrix, entries: Entries, how: WordSearch
    ) -> WordLists:
        """Put entries into blocks."""
        word, name, impact = entries
        order = np.lexsort((-impact, word))
        word, name, impact = word[order], name[order], impact[order]
        lengths = np.bincount(word, minlength=words.shape[1])
        place = np.arange(len(word)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        level = _level(place)
        blocks = np.where(lengths > 0, _level(lengths - 1) + 1, 0)  # of each word
        starts = np.concatenate([[0], np.cumsum(blocks)])
        block, count = starts[word] + level, int(starts[-1])
        bounds = np.zeros(count, np.float32)
        np.maximum.at(bounds, block, impact)
        rows = (name // _PART).astype(np.int64) * count + block
        shape = -(-vectors.shape[0] // _PART) * count, _PART
        lists = csr_matrix((impact, (rows, name % _PART)), shape=shape)
        return cls(vectors, words, lists, starts, bounds, how)

    def search(self, queries: csr_matrix, k: int) -> Hits:
        """As `ExactPostings.search`, but some of the best names may be missed."""
        count, threads = max(self.how.candidates, 2 * k), usable_cores()
        words = sp_matmul_topn(queries, self.words, self.how.words, n_threads=threads)
        blocks, of_part = self._read(words), max(_OF_PART, k, 2 * count // len(self._parts))
        found = zip_sp_matmul_topn(
            count,
            [sp_matmul_topn(blocks, part, of_part, n_threads=threads) for part in self._parts],
        )
        found.sort_indices()
        query = np.repeat(np.arange(queries.shape[0]), np.diff(found.indptr))
        scores = pair_products(queries, query, self.vectors, found.indices)
        return Hits.best(queries.shape[0], k, query, found.indices, scores, sparse=scores)

    def _read(self, words: csr_matrix) -> csr_matrix:
        """The blocks that are read for each query: those with the largest bounds, one at least.

        Args:
            words: those most like each query, csr_matrix (queries, words).

        Returns:
            csr_matrix (queries, blocks), with the similarity of the word of each block.
        """
        counts = np.diff(self.starts)[words.indices]
        query = np.repeat(np.repeat(np.arange(words.shape[0]), np.diff(words.indptr)), counts)
        first = np.repeat(self.starts[words.indices] - (np.cumsum(counts) - counts), counts)
        block, similarity = first + np.arange(len(first)), np.repeat(words.data, counts)
        order = np.lexsort((-similarity * self.bounds[block], query))
        block, similarity = block[order], similarity[order]
        ends, begins = np.cumsum(self._sizes[block]), np.searchsorted(query, query)
        before = np.concatenate([[0], ends])[begins]
        is_read = (ends - before <= self.how.postings) | (begins == np.arange(len(query)))
        indptr = np.searchsorted(query[is_read], np.arange(words.shape[0] + 1))
        shape = words.shape[0], len(self.bounds)
        return csr_matrix((similarity[is_read], block[is_read], indptr), shape=shape)

    def among(self, rows: NDArray[np.int64]) -> WordLists:
        """The index of some of the names."""
        place = np.full(self.vectors.shape[0], -1, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        entries = self.lists.tocoo()
        part, block = np.divmod(entries.row.astype(np.int64), len(self.bounds))
        name = place[part * _PART + entries.col]
        word = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))[block]
        kept = name >= 0
        of_rows = word[kept], name[kept], entries.data[kept]
        return WordLists._of(self.vectors[rows], self.words, of_rows, self.how)

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder that is being saved."""
        _save_matrix(folder / "vectors", self.vectors)
        _save_matrix(folder / "words", self.words)
        _save_matrix(folder / "lists", self.lists)
        persistence.save_arrays(folder / "blocks", {"starts": self.starts, "bounds": self.bounds})
        persistence.save_json(folder / "word_lists.json", dataclasses.asdict(self.how))

    @classmethod
    def load(cls, folder: Path, terms: int, names: int) -> WordLists:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        how = WordSearch(**persistence.load_json(folder / "word_lists.json"))
        counts = how.words, how.postings, how.candidates
        if not all(isinstance(count, int) and count > 0 for count in counts):
            raise ValueError("word_lists.json holds no numbers of words and names")
        arrays = persistence.load_arrays(folder / "blocks")
        starts, bounds = arrays["starts"], arrays["bounds"]
        persistence.check_lists(starts, bounds.view(np.uint32), len(starts) - 1, 1 << 32)
        return cls(
            _load_matrix(folder / "vectors", (names, terms)),
            _load_matrix(folder / "words", (terms, len(starts) - 1)),
            _load_matrix(folder / "lists", (-(-names // _PART) * len(bounds), _PART)),
            starts,
            bounds,
            how,
        )


def _level(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the block that a place of a list is in, from 0."""
    return np.ceil(np.log2(np.maximum(places + 1, 1) / _FIRST)).clip(0).astype(np.int64)


def _rows(matrix: csr_matrix, start: int, stop: int) -> csr_matrix:
    """A range of the rows of a matrix, whose values are not copied."""
    indptr = matrix.indptr[start : stop + 1]
    kept = slice(int(indptr[0]), int(indptr[-1]))
    parts = matrix.data[kept], matrix.indices[kept], indptr - indptr[0]
    return csr_matrix(parts, shape=(stop - start, matrix.shape[1]), copy=False)


def _words_of(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """The distinct words of names; for each word of each name the rows of the two."""
    row_of: dict[str, int] = {}
    words, counts = array("i"), array("i")
    for text in texts:
        distinct = dict.fromkeys(text.split())
        words.extend(row_of.setdefault(word, len(row_of)) for word in distinct)
        counts.append(len(distinct))
    names = np.repeat(np.arange(len(counts), dtype=np.int32), np.frombuffer(counts, np.int32))
    return list(row_of), names, np.frombuffer(words, np.int32)


def _changed(texts: Sequence[str]) -> Iterator[str]:
    """A sample of the names, each with a character left out, and every other without a word."""
    rng = np.random.default_rng(0)
    for number, row in enumerate(rng.choice(len(texts), min(_SAMPLE, len(texts)), replace=False)):
        text = texts[int(row)]
        words = text.split()
        if number % 2 and len(words) > 1:
            del words[int(rng.integers(len(words)))]
            text = " ".join(words)
        place = int(rng.integers(max(1, len(text))))
        yield text[:place] + text[place + 1 :]


def _exact_hits(vectors: csr_matrix, queries: csr_matrix) -> Hits:
    """The best names of each query by exact search, without postings of all names."""
    blocks = (vectors[start : start + _NAMES] for start in range(0, vectors.shape[0], _NAMES))
    found = zip_sp_matmul_topn(
        _BEST, [sp_matmul_topn(queries, csr_matrix(block.T), _BEST) for block in blocks]
    )
    return Hits(found.indptr, found.indices, found.data)


def pair_products(
    left: csr_matrix,
    rows_of_left: NDArray[np.integer[Any]],
    right: csr_matrix,
    rows_of_right: NDArray[np.integer[Any]],
) -> Floats:
    """Multiply rows of two matrices, pair by pair, (pairs,)."""
    scores = np.zeros(len(rows_of_left), np.float32)
    for i in range(0, len(scores), _PAIRS):
        pairs = slice(i, i + _PAIRS)
        products = left[rows_of_left[pairs]].multiply(right[rows_of_right[pairs]])
        scores[pairs] = products.sum(axis=1).A1
    return scores


def encoded(encoder: SparseEncoder, names: Sequence[str]) -> csr_matrix:
    """Encode many names, some at a time; csr_matrix (names, terms)."""
    starts = range(0, max(1, len(names)), _NAMES)
    blocks = [encoder.encode(names[start : start + _NAMES]) for start in starts]
    return blocks[0] if len(blocks) == 1 else vstack(blocks, format="csr")


def _save_matrix(folder: Path, matrix: csr_matrix) -> None:
    """Write a matrix into a folder of its own."""
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    persistence.save_arrays(folder, arrays)


def _load_matrix(folder: Path, shape: tuple[int, int]) -> csr_matrix:
    """Read what `_save_matrix` wrote; the arrays stay memory-mapped.

    Raises:
        ValueError: they are no matrix of this shape; compiled code trusts what is checked here.
    """
    arrays = persistence.load_arrays(folder)
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    matrix = csr_matrix(parts, shape=shape, dtype=np.float32, copy=False)
    matrix.check_format(full_check=True)
    if not is_finite(matrix.data):
        raise ValueError("a weight is not finite")
    return matrix


def usable_cores() -> int:
    """The cores that this process may run on, at most as many as OMP_NUM_THREADS says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit) if limit.isdecimal() and int(limit) else cores or 1)
