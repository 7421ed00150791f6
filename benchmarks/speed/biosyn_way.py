"""BioSyn's published algorithm (Sung et al. 2020) in our own words, as a yardstick of speed.

What it computes, in the order it does; beside_biosyn.py measures it. Every name is padded to 25
tokens, in fp32; names are encoded in the order they come; a mention is linked alone, by its scores
with all names; in training every name of every list is cut into tokens and encoded again each time.
Only the vectors of the first token count.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

MAX_LENGTH = 25  # tokens, to which every name is padded
ENCODED = 1024  # names that are encoded together
TOP = 20  # names in a list, in linking and in training
MENTIONS = 16  # in a batch of training
LEARNING_RATE, WEIGHT_LEARNING_RATE, DECAY = 1e-5, 0.01, 0.01  # decay: of the encoder's weights


class PaddedEncoder:
    """A transformer whose names all take MAX_LENGTH tokens."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)

    def tokenize(self, names: Sequence[str]) -> dict[str, Tensor]:
        """Names as tensors (len(names), MAX_LENGTH)."""
        padding = {"padding": "max_length", "max_length": MAX_LENGTH, "truncation": True}
        return dict(self._tokenizer(list(names), **padding, return_tensors="pt"))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """The vector of each name's first token, (names, dim)."""
        first: Tensor = self.model(**batch).last_hidden_state[:, 0]
        return first

    def encode(self, names: Sequence[str], batch_size: int = ENCODED) -> NDArray[np.float32]:
        """Vectors (len(names), dim) without gradients."""
        self.model.eval()
        batches = (names[i : i + batch_size] for i in range(0, len(names), batch_size))
        with torch.no_grad():
            return np.concatenate([self.forward(self.tokenize(one)).numpy() for one in batches])


def best(scores: NDArray[Any]) -> tuple[list[int], list[float]]:
    """The TOP best rows, best first, and their scores."""
    top = np.argpartition(scores, -TOP)[-TOP:]
    top = top[np.argsort(-scores[top])]
    return top.tolist(), scores[top].tolist()


class Sparse:
    """Scores a mention by character n-grams with all names.

    Args:
        fitted: the names that the weights are fitted on.
        names: the names to link to.
        full: whether names are a full matrix, as published; else only their non-zeros, which is
            far quicker.
    """

    def __init__(self, fitted: Sequence[str], names: Sequence[str], *, full: bool) -> None:
        vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), dtype=np.float32)
        self._vectorizer, self._full = vectorizer.fit(fitted), full
        weights = self._vectorizer.transform(names)
        self._terms = weights.toarray() if full else weights.T.tocsr()

    def scores(self, name: str) -> Any:
        """The score of each name."""
        terms = self._vectorizer.transform([name])
        if self._full:
            return np.matmul(terms.toarray(), self._terms.T)[0]
        return (terms @ self._terms).toarray()[0]


class Query(NamedTuple):
    """A mention in training, with its list: names, their sparse scores, and which are right."""

    mention: str
    names: Sequence[str]
    sparse: Sequence[float]
    right: Sequence[bool]


def made_up_queries(count: int, names: Sequence[str], seed: int) -> list[Query]:
    """Mentions and lists sampled at random: to the clock all are alike, of MAX_LENGTH tokens."""
    draw = random.Random(seed)
    right = [True, *[False] * (TOP - 1)]
    return [
        Query(draw.choice(names), draw.sample(names, TOP), [draw.random() for _ in right], right)
        for _ in range(count)
    ]


class Training:
    """The marginal likelihood of the right names by Adam, one batch a step."""

    def __init__(self, encoder: PaddedEncoder) -> None:
        self._encoder, self._weight = encoder, torch.nn.Parameter(torch.zeros(1))
        groups = [
            {"params": encoder.model.parameters(), "lr": LEARNING_RATE, "weight_decay": DECAY},
            {"params": [self._weight], "lr": WEIGHT_LEARNING_RATE, "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.Adam(groups)

    def step(self, queries: Sequence[Query]) -> None:
        """Encode the mentions and each of their lists, and learn from them."""
        self._encoder.model.train()
        self._optimizer.zero_grad()
        mentions = self._encode([[query.mention] for query in queries])
        names = self._encode([query.names for query in queries])
        lists = names.view(len(queries), -1, names.shape[-1])
        dense = torch.bmm(lists, mentions[:, :, None])[:, :, 0]
        scores = dense + self._weight * torch.tensor([q.sparse for q in queries])
        right = torch.tensor([q.right for q in queries])
        loss = -(scores.softmax(1) * right).sum(1).clamp(1e-9, 1).log().mean()
        loss.backward()
        self._optimizer.step()

    def _encode(self, lists: Sequence[Sequence[str]]) -> Tensor:
        batches = [self._encoder.tokenize(names) for names in lists]
        joined = {key: torch.cat([batch[key] for batch in batches]) for key in batches[0]}
        return self._encoder.forward(joined)
