"""Sparse search in large dictionaries: by inverted lists of words, then by exact products."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sparse_dot_topn import sp_matmul_topn, zip_sp_matmul_topn

from linker import persistence
from linker.candidates.index import Hits, best
from linker.candidates.postings import (
    SparseIndex,
    encoded,
    load_matrix,
    pair_products,
    save_matrix,
)
from linker.encoders.base import SparseEncoder
from linker.errors import LinkerError

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
_EQUAL = 1e-5  # scores that differ by less are equal


Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]
"""The word, the name and the impact of each entry of the lists."""


@dataclass(frozen=True, slots=True)
class WordSearch:
    """How lists of words are searched, and what share of the best names this finds."""

    words: int  # of the dictionary, those most like a query, whose lists are considered
    postings: int  # entries of the blocks that are read, at most, but for the first block
    candidates: int  # names that then get their exact score, at least
    recall: float = 0.0  # of the 20 best names, measured on a sample


class WordLists(SparseIndex):
    """Finds names by words that are like a query, and multiplies these names exactly.

    The vector of a name n is nearly the sum of those of its words, n ≈ Σ_w (v_w · n) v_w; so
    q · n ≈ Σ_w (q · v_w) (v_w · n). The list of a word holds impacts v_w · n, the largest first, in
    blocks. A query reads the blocks with the largest bounds, q · v_w times the largest impact
    of the block, of the words most like it. With words a name stands in 3 lists, with character
    n-grams in 20.

    Args:
        vectors: csr_matrix (names, terms).
        words: csr_matrix (terms, words), of the words of all names, each of length 1.
        lists: the blocks, part after part of the names, csr_matrix (parts · blocks, `_PART`).
        starts: the first block of each word, and the number of blocks, (words + 1,).
        bounds: the largest impact of each block, (blocks,).
        how: how they are searched.
    """

    exact = False

    def __init__(
        self,
        vectors: csr_matrix,
        words: csr_matrix,
        lists: csr_matrix,
        starts: NDArray[np.int64],
        bounds: NDArray[np.float32],
        how: WordSearch,
    ) -> None:
        self._vectors, self._words, self._lists, self.how = vectors, words, lists, how
        self._starts, self._bounds = starts, bounds
        starts_of_parts = range(0, lists.shape[0], max(1, len(bounds)))
        self._parts = [_rows(lists, row, row + len(bounds)) for row in starts_of_parts]
        self._sizes = sum(np.diff(part.indptr) for part in self._parts)

    @property
    def vectors(self) -> csr_matrix:
        return self._vectors

    @classmethod
    def build(
        cls,
        vectors: csr_matrix,
        texts: Sequence[str],
        encoder: SparseEncoder,
        aim: float,
        threads: int,
    ) -> WordLists:
        """Make the lists, and choose how they are searched, by the recall on a sample of names.

        Args:
            vectors: of the names, (names, terms).
            texts: the names, in normal form.
            encoder: it made the vectors.
            aim: the share of the best names that must be found.
            threads: of the CPU.

        Raises:
            LinkerError: even the widest search finds too few of the best names.
        """
        words, names, word = _words_of(texts)
        of_words = encoded(encoder, words)
        impacts = pair_products(of_words, word, vectors, names)
        made = cls._of(vectors, csr_matrix(of_words.T), (word, names, impacts), WordSearch(0, 0, 0))
        queries = encoder.encode(list(_changed(texts)))
        exact = _scanned(vectors, queries)
        for count, share, candidates in _SETTINGS:
            made.how = WordSearch(count, max(_FEWEST, int(share * len(texts))), candidates)
            recall = _recall(made.search(queries, _BEST, threads), exact)
            made.how = dataclasses.replace(made.how, recall=round(recall, 4))
            if recall >= aim:
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

    def search(self, queries: csr_matrix, k: int, threads: int) -> Hits:
        count = max(self.how.candidates, 2 * k)
        words = sp_matmul_topn(queries, self._words, self.how.words, n_threads=threads)
        blocks, of_part = self._read(words), max(_OF_PART, k, 2 * count // len(self._parts))
        candidates = zip_sp_matmul_topn(
            count,
            [sp_matmul_topn(blocks, part, of_part, n_threads=threads) for part in self._parts],
        )
        query = np.repeat(np.arange(queries.shape[0]), np.diff(candidates.indptr))
        rows = candidates.indices.astype(np.int32)
        scores = self.products(queries, query, rows)
        order = np.lexsort((rows, -scores, query))
        order = order[np.arange(len(order)) - candidates.indptr[query] < k]
        query, rows, scores = query[order], rows[order], scores[order]
        indptr = np.searchsorted(query, np.arange(queries.shape[0] + 1))
        return Hits(indptr, rows, scores, sparse=scores)

    def _read(self, words: csr_matrix) -> csr_matrix:
        """The blocks that are read for each query: those with the largest bounds, one at least.

        Args:
            words: those most like each query, csr_matrix (queries, words).

        Returns:
            csr_matrix (queries, blocks), with the similarity of the word of each block.
        """
        counts = np.diff(self._starts)[words.indices]
        query = np.repeat(np.repeat(np.arange(words.shape[0]), np.diff(words.indptr)), counts)
        first = np.repeat(self._starts[words.indices] - (np.cumsum(counts) - counts), counts)
        block, similarity = first + np.arange(len(first)), np.repeat(words.data, counts)
        order = np.lexsort((-similarity * self._bounds[block], query))
        block, similarity = block[order], similarity[order]
        ends, begins = np.cumsum(self._sizes[block]), np.searchsorted(query, query)
        before = np.concatenate([[0], ends])[begins]
        is_read = (ends - before <= self.how.postings) | (begins == np.arange(len(query)))
        indptr = np.searchsorted(query[is_read], np.arange(words.shape[0] + 1))
        shape = words.shape[0], len(self._bounds)
        return csr_matrix((similarity[is_read], block[is_read], indptr), shape=shape)

    def among(self, rows: NDArray[np.int64]) -> WordLists:
        """The index of some of the names."""
        place = np.full(self._vectors.shape[0], -1, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        entries = self._lists.tocoo()
        part, block = np.divmod(entries.row.astype(np.int64), len(self._bounds))
        name = place[part * _PART + entries.col]
        word = np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))[block]
        kept = name >= 0
        of_rows = word[kept], name[kept], entries.data[kept]
        return WordLists._of(self._vectors[rows], self._words, of_rows, self.how)

    def save(self, folder: Path) -> None:
        save_matrix(folder / "vectors", self._vectors)
        save_matrix(folder / "words", self._words)
        save_matrix(folder / "lists", self._lists)
        persistence.save_arrays(folder / "blocks", {"starts": self._starts, "bounds": self._bounds})
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
            load_matrix(folder / "vectors", (names, terms)),
            load_matrix(folder / "words", (terms, len(starts) - 1)),
            load_matrix(folder / "lists", (-(-names // _PART) * len(bounds), _PART)),
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


def _scanned(vectors: csr_matrix, queries: csr_matrix) -> list[NDArray[np.float32]]:
    """The scores of the best names of each query, by all products; no zeros."""
    weights = queries.T.toarray(order="C")
    query, _, scores = best(
        lambda names: vectors[names] @ weights, queries.shape[0], vectors.shape[0], _BEST
    )
    ends = np.searchsorted(query, np.arange(1, queries.shape[0]))
    return [of_query[of_query > 0] for of_query in np.split(scores, ends)]


def _recall(hits: Hits, exact: Sequence[NDArray[np.float32]]) -> float:
    """The share of the best names that were found; of names with equal scores any will do."""
    found = 0
    for scores, own in zip(exact, np.split(hits.scores, hits.indptr[1:-1]), strict=True):
        found += int((own >= scores.min(initial=1) - _EQUAL).sum()) if len(scores) else 0
    return found / max(1, sum(map(len, exact)))
