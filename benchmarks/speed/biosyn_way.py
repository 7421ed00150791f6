"""BioSyn's published algorithm (Sung et al. 2020) in our own words, as a yardstick of speed.

What it computes, in the order it does; dense_speed.py measures it. Every name is padded to 25
tokens, in fp32; names are encoded in the order they come; a mention is linked alone, by its scores
with all names; in training every name of every list is cut into tokens and encoded again each time.
Only the vectors of the first token count.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
LEARNING_RATE, WEIGHT_LEARNING_RATE, DECAY = (
    1e-5,
    0.01,
    0.01,
)  # of the encoder and of λ; decay of the encoder's weights


class PaddedEncoder:
    """A transformer whose names all take MAX_LENGTH tokens."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)

    def tokenize(self, names: Sequence[str]) -> dict[str, Tensor]:
        """Names as tensors (len(names), MAX_LENGTH)."""
        tokens = self._tokenizer(
            list(names),
            padding="max_length",
            max_length=MAX_LENGTH,
            truncation=True,
            return_tensors="pt",
        )
        return dict(tokens)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """The vector of each name's first token, (names, dim)."""
        first: Tensor = self.model(**batch).last_hidden_state[:, 0]
        return first

    def encode(self, names: Sequence[str], batch_size: int = ENCODED) -> NDArray[np.float32]:
        """Vectors (len(names), dim) without gradients."""
        self.model.eval()
        with torch.no_grad():
            parts = [
                self.forward(self.tokenize(names[i : i + batch_size])).numpy()
                for i in range(0, len(names), batch_size)
            ]
        return np.concatenate(parts)


class Linking:
    """Links one mention at a time: z = dense + λ sparse with all names, then the TOP best.

    Args:
        fitted: the names that the sparse weights are fitted on.
        names: the names to link to, with their `vectors` (names, dim).
        weight: λ.
        full: whether sparse vectors are a full matrix, as published; else only their non-zeros,
            which is far quicker.
    """

    def __init__(
        self,
        encoder: PaddedEncoder,
        fitted: Sequence[str],
        names: Sequence[str],
        vectors: NDArray[np.float32],
        weight: float,
        *,
        full: bool,
    ) -> None:
        self._encoder, self._vectors, self._weight, self._full = encoder, vectors, weight, full
        self._sparse = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), dtype=np.float32).fit(
            fitted
        )
        weights = self._sparse.transform(names)
        self._terms = weights.toarray() if full else weights.T.tocsr()

    def top(self, name: str) -> tuple[list[int], list[float]]:
        """The rows and scores of the TOP best names of a mention, best first."""
        dense = np.matmul(self._encoder.encode([name]), self._vectors.T)[0]
        scores = dense + self._weight * self._sparse_scores(name)
        best = np.argpartition(scores, -TOP)[-TOP:]
        best = best[np.argsort(-scores[best])]
        return best.tolist(), scores[best].tolist()

    def _sparse_scores(self, name: str) -> Any:
        terms = self._sparse.transform([name])
        return (
            np.matmul(terms.toarray(), self._terms.T)[0]
            if self._full
            else (terms @ self._terms).toarray()[0]
        )


@dataclass(frozen=True, slots=True)
class Query:
    """A mention in training, with its list: names, their sparse scores, and which are right."""

    mention: str
    names: Sequence[str]
    sparse: Sequence[float]
    right: Sequence[bool]


def made_up_queries(count: int, names: Sequence[str], seed: int) -> list[Query]:
    """Mentions and lists sampled at random from names.

    To the clock one is as good as another, since all have MAX_LENGTH tokens.
    """
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

    def step(self, queries: Sequence[Query]) -> float:
        """Encode the mentions and each of their lists, and learn from them; the loss."""
        self._encoder.model.train()
        self._optimizer.zero_grad()
        loss = self._loss(queries)
        loss.backward()
        self._optimizer.step()
        return loss.item()

    def _loss(self, queries: Sequence[Query]) -> Tensor:
        tokens = [
            (self._encoder.tokenize([q.mention]), self._encoder.tokenize(q.names)) for q in queries
        ]
        mentions, names = (
            self._encoder.forward(_joined([pair[side] for pair in tokens])) for side in (0, 1)
        )
        dense = torch.bmm(names.view(len(queries), -1, names.shape[-1]), mentions[:, :, None])[
            :, :, 0
        ]
        scores = dense + self._weight * torch.tensor([q.sparse for q in queries])
        right = torch.tensor([q.right for q in queries])
        return -(scores.softmax(1) * right).sum(1).clamp(1e-9, 1).log().mean()


def _joined(batches: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {key: torch.cat([batch[key] for batch in batches]) for key in batches[0]}
