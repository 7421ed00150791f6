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
from sparse_dot_topn import sp_matmul_topn

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
_SETTINGS = (  # words, and the share of all names in their lists, at most; tried in this order
    (100, 0.01),
    (100, 0.02),
    (200, 0.03),
    (300, 0.05),
    (500, 0.1),
    (1000, 0.3),
)
_FEWEST = 1000  # entries of lists that are read, if there are as many
_CANDIDATES = 400
_EQUAL = 1e-5  # scores that differ by less are equal


@dataclass(frozen=True, slots=True)
class WordSearch:
    """How lists of words are searched, and what share of the best names this finds."""

    words: int  # of the dictionary, those most like a query, whose lists are read
    postings: int  # entries of these lists, at most
    candidates: int  # names that then get their exact score, at least
    recall: float = 0.0  # of the 20 best names, measured on a sample


class WordLists(SparseIndex):
    """Finds names by words that are like a query, and multiplies these names exactly.

    The vector of a name n is nearly the sum of those of its words, n ≈ Σ_w (v_w · n) v_w, so that
    q · n ≈ Σ_w (q · v_w) (v_w · n). The list of a word holds v_w · n for each name with this word.
    Only the lists of the words most like the query are read. With words a name stands in 3 lists,
    with character n-grams in 20.

    Args:
        vectors: csr_matrix (names, terms).
        words: csr_matrix (terms, words), of the words of all names, each of length 1.
        lists: csr_matrix (words, names), for each word the names that have it, with v_w · n.
        how: how they are searched.
    """

    exact = False

    def __init__(
        self, vectors: csr_matrix, words: csr_matrix, lists: csr_matrix, how: WordSearch
    ) -> None:
        self._vectors, self._words, self._lists, self.how = vectors, words, lists, how
        self._lengths = np.diff(lists.indptr)

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
        words, names, places = _words_of(texts)
        of_words = encoded(encoder, words)
        impacts = pair_products(of_words, places, vectors, names)
        lists = csr_matrix((impacts, (places, names)), shape=(len(words), len(texts)))
        made = cls(vectors, csr_matrix(of_words.T), lists, WordSearch(0, 0, 0))
        queries = encoder.encode(list(_changed(texts)))
        exact = _scanned(vectors, queries)
        for count, share in _SETTINGS:
            how = WordSearch(count, max(_FEWEST, int(share * len(texts))), _CANDIDATES)
            made = cls(vectors, made._words, lists, how)
            recall = _recall(made.search(queries, _BEST, threads), exact)
            made.how = dataclasses.replace(how, recall=round(recall, 4))
            if recall >= aim:
                return made
        raise LinkerError(
            f"search by words finds {made.how.recall:.1%} of the best names, and index.recall "
            f"is {aim}; ask for less (index.recall), or take index.kind=exact"
        )

    def search(self, queries: csr_matrix, k: int, threads: int) -> Hits:
        words = self._read(
            sp_matmul_topn(queries, self._words, self.how.words, n_threads=threads, sort=True)
        )
        count = max(self.how.candidates, 2 * k)
        candidates = sp_matmul_topn(words, self._lists, count, n_threads=threads)
        query = np.repeat(np.arange(queries.shape[0]), np.diff(candidates.indptr))
        rows = candidates.indices.astype(np.int32)
        scores = self.products(queries, query, rows)
        order = np.lexsort((rows, -scores, query))
        order = order[np.arange(len(order)) - candidates.indptr[query] < k]
        query, rows, scores = query[order], rows[order], scores[order]
        indptr = np.searchsorted(query, np.arange(queries.shape[0] + 1))
        return Hits(indptr, rows, scores, sparse=scores)

    def _read(self, words: csr_matrix) -> csr_matrix:
        """The words whose lists are read: the best one of each query, and those behind it that fit.

        Very frequent words are passed over.

        Args:
            words: those most like each query, best first, csr_matrix (queries, words).
        """
        counts = np.diff(words.indptr)
        lengths = self._lengths[words.indices]
        fits = lengths <= self.how.postings
        ends = np.cumsum(lengths * fits)
        before = np.concatenate([[0], ends])[words.indptr[:-1]]
        is_read = fits & (ends - np.repeat(before, counts) <= self.how.postings)
        is_read[words.indptr[:-1][counts > 0]] = True
        kept = np.concatenate([[0], np.cumsum(is_read)])[words.indptr]
        return csr_matrix((words.data[is_read], words.indices[is_read], kept), shape=words.shape)

    def among(self, rows: NDArray[np.int64]) -> WordLists:
        """The index of some of the names."""
        return WordLists(self._vectors[rows], self._words, self._lists[:, rows], self.how)

    def save(self, folder: Path) -> None:
        save_matrix(folder / "vectors", self._vectors)
        save_matrix(folder / "words", self._words)
        save_matrix(folder / "lists", self._lists)
        persistence.save_json(folder / "word_lists.json", dataclasses.asdict(self.how))

    @classmethod
    def load(cls, folder: Path, terms: int, names: int) -> WordLists:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        how = WordSearch(**persistence.load_json(folder / "word_lists.json"))
        counts = how.words, how.postings, how.candidates
        if not all(isinstance(count, int) and count > 0 for count in counts):
            raise ValueError("word_lists.json holds no numbers of words and names")
        words = len(np.load(folder / "lists" / "indptr.npy", mmap_mode="r")) - 1
        return cls(
            load_matrix(folder / "vectors", (names, terms)),
            load_matrix(folder / "words", (terms, words)),
            load_matrix(folder / "lists", (words, names)),
            how,
        )


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
