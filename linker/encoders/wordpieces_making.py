"""Making a table of sub-words out of a transformer: what it makes of words, as sums of sub-words.

The vector that a transformer makes of a word alone is the target. The sub-words of a vocabulary
get the vectors whose sums over the sub-words of each word come nearest to the targets, by ridge
regression. Sums of what the transformer makes of single sub-words are much worse: "##emia" alone
means nothing to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import identity
from scipy.sparse.linalg import splu

from linker.encoders import pretrained
from linker.encoders.trainable import pick_device
from linker.encoders.wordpieces import WordPieces, is_kept, words
from linker.errors import LinkerError

DIM = 256  # components that are kept, those with the largest variance
_PRIOR = 0.5  # sub-words start from this share of the transformer's vector of them
_RIDGE = 3.0  # weight of the squared distance from there, in words
_AT_ONCE = 256  # words in a batch

Floats = NDArray[np.float32]


def make(model: str, texts: Iterable[str], dim: int = DIM) -> tuple[str, WordPieces]:
    """Make a table of the sub-words of a transformer.

    Args:
        model: a folder or an id on the hub; empty: all-MiniLM-L6-v2 of its package.
        texts: names whose words are brought to sub-words, beside the words of the vocabulary.
        dim: components to keep, at most.

    Returns:
        The name of the model, which holds no path, and the table.

    Raises:
        LinkerError: there is no such model, or its vocabulary has no WordPieces.
    """
    folder, label = pretrained.find(model)
    transformer, tokenizer = pretrained.load(folder, label or model)
    vocabulary = {piece: row for piece, row in tokenizer.get_vocab().items() if is_kept(piece)}
    if not any(piece.startswith("##") for piece in vocabulary):
        raise LinkerError(
            f"{label or model}: its vocabulary has no WordPieces (##...); "
            "static vectors are made of a transformer such as BERT; take another one"
        )
    pieces = sorted(vocabulary)
    encode = _Words(transformer, tokenizer)
    own = encode([[vocabulary[piece]] for piece in pieces])
    table = WordPieces.of(pieces, own)
    distinct = {word for text in texts for word in words(text) if table.cut(word)}
    distinct |= {piece for piece in pieces if not piece.startswith("##") and len(piece) > 1}
    targets_of = sorted(distinct, key=lambda word: (len(word), word))
    with pretrained.naming(label or model, "does not encode text"):
        targets = encode(tokenizer(targets_of, add_special_tokens=False)["input_ids"])
    mean = targets.mean(axis=0)
    vectors = _composed(table, targets_of, targets - mean, _PRIOR * (own - mean))
    _, axes = np.linalg.eigh(vectors.T @ vectors)  # the largest component last
    return label, WordPieces.of(pieces, vectors @ axes[:, : -dim - 1 : -1])


def _composed(table: WordPieces, words: Sequence[str], targets: Floats, prior: Floats) -> Floats:
    """The vectors of sub-words whose sums come nearest to those of words.

    They minimize |C X - T|² + r |X - P|², C the counts of sub-words in words.

    Args:
        table: cuts words.
        words: (w,) that have sub-words.
        targets: T (w, dim).
        prior: P (pieces, dim), which sub-words of no word keep.
    """
    counts, used = table.counts(words)
    gram = (counts.T @ counts + _RIDGE * identity(len(used))).tocsc()
    missing = targets - counts @ prior[used]
    vectors = prior.copy()
    vectors[used] += splu(gram).solve((counts.T @ missing).astype(np.float64))
    return vectors


class _Words:
    """The vectors that a transformer makes of words, each alone: the means of its tokens' vectors.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
    """

    def __init__(self, transformer: Any, tokenizer: Any) -> None:
        self._device = pick_device("auto")
        self._model, self._tokenizer = transformer.to(self._device).eval(), tokenizer

    def __call__(self, ids: Sequence[Sequence[int]]) -> Floats:
        """Encode words, given by the ids of their tokens; float32 (words, dim)."""
        with torch.inference_mode():
            return np.concatenate(list(self._batches(ids)))

    def _batches(self, ids: Sequence[Sequence[int]]) -> Iterator[Floats]:
        first, last = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        for i in range(0, len(ids), _AT_ONCE):
            rows = [{"input_ids": [first, *word, last]} for word in ids[i : i + _AT_ONCE]]
            batch = self._tokenizer.pad(rows, return_tensors="pt").to(self._device)
            hidden = self._model(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None].to(hidden.dtype)
            yield ((hidden * mask).sum(1) / mask.sum(1)).cpu().numpy()
