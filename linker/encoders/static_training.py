"""Static vectors by torch: gradients weigh and project them; tables are made of transformers.

Linking needs no torch. The vector that a transformer makes of a word alone is the target of a
table. The sub-words of a vocabulary get the vectors whose sums over the sub-words of each word come
nearest to the targets, by ridge regression. Sums of what the transformer makes of single sub-words
are much worse: "##emia" alone means nothing to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import identity
from scipy.sparse.linalg import splu
from torch import Tensor, nn
from torch.nn import functional

from linker.dictionary.classes import Floats
from linker.encoders.static import CONTINUED, StaticEncoder, WordPieces, words
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder, pick_device
from linker.errors import LinkerError

DIM = 256  # components that are kept, those with the largest variance
_ALPHABET = re.compile(r"[a-z0-9]+|[α-ω]")  # of the sub-words that are kept
_PRIOR = 0.5  # sub-words start from this share of the transformer's vector of them
_RIDGE = 3.0  # weight of the squared distance from there, in words
_AT_ONCE = 256  # words in a batch


class TrainableStatic(TrainableEncoder):
    """Static vectors that gradients train: a weight for each sub-word, and a projection of all.

    `f(n) = unit(Σ exp(a_w) t_w P)` over the sub-words w of n. At the start each a_w is 0 and P the
    identity, so that names have the same vectors as by the encoder that it starts from. Both go
    into the table when the training is over. The vectors t_w themselves are not trained: those of
    sub-words that the dictionary does not have would stay behind, and the others fit its names
    too closely.

    Args:
        encoder: fitted to the dictionary.
    """

    step = 2048  # names at once, also on a CPU

    def __init__(self, encoder: StaticEncoder) -> None:
        super().__init__()
        self.linking, self.options = encoder, encoder.options
        self.table = nn.Buffer(torch.from_numpy(encoder.table.floats()))
        self.log_weights = nn.Parameter(torch.zeros(len(self.table), 1))
        self.projection = nn.Parameter(torch.eye(self.dim))

    @property
    def dim(self) -> int:
        return self.linking.dim

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        counts, used = self.linking.table.counts(names)
        return [rows.tolist() for rows in np.split(used[counts.indices], counts.indptr[1:-1])]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        ends = np.cumsum([len(rows) for rows in tokens])
        rows = np.fromiter(chain.from_iterable(tokens), np.int64)
        arrays = {"rows": rows, "offsets": np.append(0, ends[:-1])}
        return {name: torch.from_numpy(values) for name, values in arrays.items()}

    def forward(self, batch: Batch) -> Tensor:
        rows, offsets = batch["rows"], batch["offsets"]
        # unlike that of log_weights[rows], the gradient of embedding() adds in a fixed order
        weights = functional.embedding(rows, self.log_weights).exp().squeeze(-1)
        sums = functional.embedding_bag(
            rows, self.table, offsets, mode="sum", per_sample_weights=weights
        )
        return functional.normalize(sums @ self.projection, dim=-1)

    def finished(self) -> StaticEncoder:
        vectors = (self.table * self.log_weights.exp() @ self.projection).detach().cpu().numpy()
        return StaticEncoder(WordPieces.of(self.linking.table.pieces, vectors), self.options)

    def save(self, folder: Path) -> None:
        self.finished().save(folder)

    @classmethod
    def load(cls, folder: Path) -> TrainableStatic:
        return cls(StaticEncoder.load(folder))


def is_kept(piece: str) -> bool:
    """Whether a sub-word has letters that the table knows: Latin ones, digits, one Greek letter."""
    return bool(_ALPHABET.fullmatch(piece.removeprefix(CONTINUED)))


def make_table(model: str, texts: Iterable[str], dim: int = DIM) -> tuple[str, WordPieces]:
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
    from linker.encoders import pretrained  # importing transformers takes seconds

    folder, label = pretrained.find(model)
    transformer, tokenizer = pretrained.load(folder, label or model)
    vocabulary = {piece: row for piece, row in tokenizer.get_vocab().items() if is_kept(piece)}
    if not any(piece.startswith(CONTINUED) for piece in vocabulary):
        raise LinkerError(
            f"{label or model}: its vocabulary has no WordPieces (##...); "
            "static vectors are made of a transformer such as BERT; take another one"
        )
    pieces = sorted(vocabulary)
    encode = partial(vectors_of_words, transformer, tokenizer)
    own = encode([[vocabulary[piece]] for piece in pieces])
    table = WordPieces.of(pieces, own)
    distinct = {word for text in texts for word in words(text) if table.cut(word)}
    distinct |= {piece for piece in pieces if not piece.startswith(CONTINUED) and len(piece) > 1}
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


def vectors_of_words(transformer: Any, tokenizer: Any, ids: Sequence[Sequence[int]]) -> Floats:
    """The vectors that a transformer makes of words, each alone: the means of its tokens' vectors.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        ids: of the tokens of each word.

    Returns:
        float32 (words, dim).
    """
    device = pick_device("auto")
    model = transformer.to(device).eval()
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    vectors = []
    with torch.inference_mode():
        for i in range(0, len(ids), _AT_ONCE):
            rows = [{"input_ids": [first, *word, last]} for word in ids[i : i + _AT_ONCE]]
            batch = tokenizer.pad(rows, return_tensors="pt").to(device)
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None].to(hidden.dtype)
            vectors.append(((hidden * mask).sum(1) / mask.sum(1)).cpu().numpy())
    return np.concatenate(vectors)
