"""What the table of sub-words that comes with linker loses, beside whole words and other tables.

python benchmarks/accuracy/static_table.py            all; the first time MiniLM encodes the words
python benchmarks/accuracy/static_table.py --table    runs nothing, puts together what is kept

Writes results/static_table.json; the runs are kept in results/runs/static-table.jsonl.gz. Static
vectors with characters (λ = 0.5) on the development mentions of NCBI Disease and BC5CDR, strict,
with the MEDIC of 2017 alone; MiniLM's vectors of words are kept in benchmarks/work. The rows of the
package model2vec are made where it is installed with its extra `distill`.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import hits, results, runs
from benchmarks.lib.data import TITLES, documents, locate, medic
from benchmarks.lib.linkers import MAPPINGS, ONTOLOGIES, by_score
from linker import Dictionary, Linker
from linker.candidates.hybrid import HybridGenerator, encode_names
from linker.encoders import static
from linker.encoders.base import EncoderContext
from linker.encoders.static import (
    CONTINUED,
    Floats,
    StaticEncoder,
    StaticOptions,
    WordPieces,
    words,
)
from linker.encoders.words import unit
from linker.evaluation import protocols
from linker.readers import sssom

SHIPPED, PACKAGE = "sub-words, as shipped", "model2vec, the package"
WEIGHT = 0.5  # λ
SIF = 1e-4  # a of a / (a + p), as in model2vec
FITTED, PLAIN = (128, 0.5), (4096, 1.0)  # components kept, and shrinkage
DIMS = (64, 128, 192, 256, 384)


class FloatPieces(WordPieces):
    """A table of sub-words whose vectors are not rounded to 8 bits, and maybe of whole words.

    Args:
        pieces: the sub-words.
        vectors: float32 or float16 (pieces, dim).
        whole: words with a vector of their own.
        targets: the vectors of these words.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        vectors: NDArray[Any],
        whole: Sequence[str] = (),
        targets: NDArray[Any] | None = None,
    ) -> None:
        self._floats = vectors if targets is None else np.concatenate([vectors, targets])
        every, ones = [*pieces, *whole], np.ones(len(self._floats), np.float32)
        super().__init__(every, np.zeros(self._floats.shape, np.int8), ones)
        self._row = {piece: row for row, piece in enumerate(pieces)}
        self._whole = {word: row for row, word in enumerate(whole, len(pieces))}

    def floats(self, rows: NDArray[np.int64] | slice = slice(None)) -> Floats:
        return np.asarray(self._floats[rows], np.float32)

    def cut(self, word: str) -> list[int]:
        return [self._whole[word]] if word in self._whole else super().cut(word)


class Fitted(StaticEncoder):
    """A table as it is fitted to the names of a dictionary, in 32 bits."""

    def __init__(self, table: WordPieces, names: Any, dim: int, shrinkage: float) -> None:
        self.table, self._floats = table, static._fit(table, names, dim, shrinkage)

    @property
    def dim(self) -> int:
        return int(self._floats.shape[1])

    def encode(self, names: Sequence[str]) -> Floats:
        return unit(self.table.sums(names) @ self._floats)


@cache
def shipped() -> WordPieces:
    """The table that comes with linker."""
    return WordPieces.shipped()


@cache
def by_characters() -> Linker:
    """The linker by characters, whose names are those of MEDIC, without a ranker."""
    return by_score(medic("2017"), "tfidf")


@cache
def encoded() -> Mapping[str, Any]:
    """What MiniLM makes of single sub-words and of words; kept for the next call."""
    path = results.WORK / "minilm-words.npz"
    if not path.exists():
        from linker.encoders import transformer as pretrained
        from scripts.make_wordpieces import vectors_of_words

        folder, _ = pretrained.find("")
        transformer, tokenizer = pretrained.load(folder, "all-MiniLM-L6-v2")
        encode = partial(vectors_of_words, transformer, tokenizer)
        vocabulary = tokenizer.get_vocab()
        ids = [vocabulary[piece] for piece in shipped().pieces]
        texts = sorted({*beginning(), *shipped_words(), *dictionary_words()})
        targets = encode(tokenizer(texts, add_special_tokens=False)["input_ids"])
        path.parent.mkdir(exist_ok=True)
        arrays = {"own": encode([[i] for i in ids]), "words": np.array(texts), "targets": targets}
        np.savez(path, **arrays, ids=ids)
    arrays = dict(np.load(path))
    return arrays | {"row": {word: row for row, word in enumerate(arrays["words"].tolist())}}


def beginning() -> set[str]:
    """The sub-words that are words."""
    return {piece for piece in shipped().pieces if not piece.startswith(CONTINUED) and piece[1:]}


def dictionary_words() -> set[str]:
    """The words of MEDIC's names that have sub-words."""
    return _cut(by_characters().generator.table.texts)


def shipped_words() -> set[str]:
    """The words that the shipped table was made of."""
    texts = {text for path in ONTOLOGIES for text in Dictionary.read(locate(path)).names}
    for path in MAPPINGS:
        for mapping in sssom.read(locate(path)):
            texts |= {mapping.subject_label, mapping.object_label}
    return _cut(texts)


def _cut(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in words(text) if shipped().cut(word)}


@cache
def composed(of_dictionary: bool) -> tuple[Floats, Floats]:
    """Vectors of sub-words in full width, made of words of the dictionary or of those shipped.

    Returns:
        (pieces, 384), and the mean of the words.
    """
    from scripts.make_wordpieces import _PRIOR, _composed

    own = encoded()["own"]
    texts = sorted(beginning() | (dictionary_words() if of_dictionary else shipped_words()))
    targets = encoded()["targets"][[encoded()["row"][word] for word in texts]]
    mean = targets.mean(axis=0)
    vectors = _composed(shipped(), texts, targets - mean, _PRIOR * (own - mean))
    return np.asarray(vectors, np.float32), mean


def axes(vectors: Floats, dim: int) -> Floats:
    """The directions with the largest variance around 0, (dim of the vectors, dim)."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)  # the largest variance last
    return np.asarray(directions[:, : -dim - 1 : -1], np.float32)


def table_of(dim: int = 256, kind: str = "int8", *, of_dictionary: bool = False) -> WordPieces:
    """A table made of words, with so many components of 8, 16 or 32 bits."""
    vectors, _ = composed(of_dictionary)
    vectors = vectors @ axes(vectors, dim)
    if kind == "int8":
        return WordPieces.of(shipped().pieces, vectors)
    return FloatPieces(shipped().pieces, vectors.astype(kind))


def whole_words(dim: int) -> WordPieces:
    """Whole words of the dictionary, and sub-words for others, with so many components."""
    vectors, mean = composed(True)
    whole, kept = sorted(dictionary_words()), axes(vectors, dim)
    targets = encoded()["targets"][[encoded()["row"][word] for word in whole]] - mean
    return FloatPieces(shipped().pieces, vectors @ kept, whole, targets @ kept)


def centred() -> Floats:
    """What MiniLM makes of single sub-words, less its mean."""
    own: Floats = encoded()["own"]
    return own - own.mean(axis=0)


def model2vec() -> WordPieces:
    """The recipe of model2vec: PCA, then weights by the rank of a sub-word, as if by Zipf's law.

    The ids of a vocabulary of BERT rise as the sub-words become rare.
    """
    vectors = centred() @ axes(centred(), 256)
    shares = 1 / (2 + np.argsort(np.argsort(encoded()["ids"])))
    weights = SIF / (SIF + shares / shares.sum())
    return FloatPieces(shipped().pieces, vectors * weights[:, None].astype(np.float32))


@cache
def distilled() -> WordPieces:
    """The sub-words' vectors that the package model2vec makes of MiniLM by its own defaults."""
    from model2vec.distill import distill

    from linker.encoders import transformer as pretrained

    model = distill(str(pretrained.find("")[0]))
    row = {token: row for row, token in enumerate(model.tokens)}
    pieces = [piece for piece in shipped().pieces if piece in row]
    return FloatPieces(pieces, np.asarray(model.embedding)[[row[piece] for piece in pieces]])


def weighted() -> WordPieces:
    """The shipped table, each sub-word weighted by its inverse frequency in the dictionary."""
    table, texts = shipped(), by_characters().generator.table.texts
    counts, used = table.counts(list(texts))
    names = np.zeros(len(table.pieces))
    names[used] = np.asarray((counts > 0).sum(axis=0)).ravel()
    idf = np.log((1 + len(texts)) / (1 + names)) + 1
    return FloatPieces(table.pieces, table.floats() * idf[:, None].astype(np.float32))


def single_pieces() -> WordPieces:
    return FloatPieces(shipped().pieces, centred())


ROWS: dict[str, tuple[Callable[[], WordPieces], tuple[int, float]]] = {
    SHIPPED: (shipped, FITTED),
    "sub-words, made of the dictionary's words": (partial(table_of, of_dictionary=True), FITTED),
    "whole words, table of 256 components": (partial(whole_words, 256), FITTED),
    "whole words, table of 384 components": (partial(whole_words, 384), FITTED),
    "whole words, not whitened, 384": (partial(whole_words, 384), PLAIN),
    "MiniLM's single sub-words": (single_pieces, FITTED),
    "MiniLM's single sub-words, not whitened, 384": (single_pieces, PLAIN),
    "model2vec's recipe": (model2vec, FITTED),
    "model2vec's recipe, not whitened, 256": (model2vec, PLAIN),
    PACKAGE: (distilled, FITTED),
    f"{PACKAGE}, not whitened, 256": (distilled, PLAIN),
    "weighted by idf": (weighted, FITTED),
}
for dim in DIMS:
    for kind in ("int8", "float16", "float32"):
        ROWS[f"table of {dim} components, {kind}"] = partial(table_of, dim, kind), FITTED
for dim in DIMS[:-1]:
    ROWS[f"{dim} components kept"] = shipped, (dim, FITTED[1])
for shrinkage in (0.2, 0.5, 0.8, 1):
    ROWS[f"shrinkage {shrinkage:g}"] = shipped, (FITTED[0], shrinkage)


def find(name: str) -> dict[str, Any]:
    """Which mentions are right first with a table."""
    linker, (make, options) = by_characters(), ROWS[name]
    first: Any = linker.generator
    names = medic("2017").table(linker.normalize)
    if name == SHIPPED:  # in 8 bits after it was fitted too
        encoder = StaticEncoder.create(EncoderContext(StaticOptions(), names, None, 0))
    else:
        encoder = Fitted(make(), names, *options)
    vectors = encode_names(encoder, list(first.table.texts))
    both = dataclasses.replace(linker, generator=HybridGenerator(first, encoder, vectors, WEIGHT))
    right = [
        hits.digits(o.rank == 1 for o in protocols.strict(both, documents(corpus, "devel"), 1))
        for corpus in TITLES
    ]
    return {"dim": encoder.dim, "right": right}


def row(name: str, figures: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Acc@1 on each corpus, on both together, and the difference to what is shipped."""
    both, of_base = (hits.read(*one["right"]) for one in (figures, base))
    cells = {"table": name, "dim": figures["dim"], "acc1": hits.means(figures["right"])}
    return cells | {"both": hits.interval(both), "over": hits.gain(both, of_base)}


if __name__ == "__main__":
    is_table = results.only_table(__doc__)
    makes = importlib.util.find_spec("model2vec") is not None or is_table
    names = {runs.slug(name): name for name in ROWS if makes or not name.startswith(PACKAGE)}
    wanted = {run: partial(find, name) for run, name in names.items()}
    kept = runs.made("static-table", wanted, is_table=is_table)
    base = kept[runs.slug(SHIPPED)]
    rows = [row(names[run], figures, base) for run, figures in kept.items()]
    results.save("static_table", {"rows": rows})
    print(*rows, sep="\n")
