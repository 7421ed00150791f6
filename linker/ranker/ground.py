"""Conceptual grounding of a name encoder: synonyms drawn together, and prototypes of concepts (Fivez et al. 2021a, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from linker import metrics
from linker.candidates.base import Floats
from linker.candidates.dense import ranks, top_k
from linker.encoders.dan import DanEncoder
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.training import losses, sampling
from linker.training.loop import Batch, Epoch, Loss, Plan, Step, run
from linker.training.options import GroundOptions
from linker.training.sampling import Classes, Rows

_POOL, _PROTOTYPE, _PAIRS = 7, 8, 9  # keep the random draws of an epoch apart from each other and from those of training.sampling

Encode = Callable[[Sequence[str]], Floats]
"""Names to float32 (n, dim)."""


class Grounding:
    """The batches of the phase, and what judges its epochs.

    Args:
        names: all there are; those that are held out are not trained on.
        encode: encodes names with the weights of now.
        share: of a batch, what this process trains on.
        judged: names to judge by, instead of some that are held out; their labels are those of `names`.

    Raises:
        LinkerError: there are no synonyms to draw together, and prototypes have no weight.
    """

    def __init__(
        self,
        encoder: DanEncoder,
        names: Classes,
        options: GroundOptions,
        seed: int,
        encode: Encode,
        share: slice = slice(None),
        judged: Classes | None = None,
    ) -> None:
        out = sampling.held_out(names, options.held_out, seed) if judged is None else np.zeros(len(names), bool)
        self.names = names[np.flatnonzero(~out)] if out.any() else names
        self.judged = names[np.flatnonzero(out)] if judged is None else judged
        self.options, self.seed, self._encode, self._share = options, seed, encode, share
        pairs = self.names.sizes[self.names.labels] - 1
        count = int((np.where(pairs > 0, options.triplets, 0) if options.triplets else pairs).sum())
        if self.names.count < 2:
            count = 0  # no negatives
        sizes = self.names.sizes
        self.alone = np.flatnonzero(sizes == 1 if count else sizes > 0)  # concepts without triplets, which have a prototype all the same
        if not (count or options.prototype_weight):
            raise LinkerError(
                "there are no synonyms to draw together (all concepts have one name, or there is one); "
                "set ground.prototype_weight or ground.epochs=0"
            )
        self.steps = -(-(count or len(self.alone)) // options.batch_size)
        self._targets = encoder.prototypes(self.names.texts, self.names.labels, options.target == "projected")
        self._dim = encoder.dim

    def plan(self) -> Plan:
        """How the phase runs: Adam as in the paper; the best epoch by the held-out names, where there are any."""
        options, judging = self.options, len(self.judged) > 0
        patience = options.patience if judging else 0
        best_by = "dev_map" if judging else None
        return Plan(options.epochs, self.steps, "adam", options.warmup, best_by=best_by, patience=patience, seed=self.seed)

    def groups(self, encoder: DanEncoder) -> list[dict[str, Any]]:
        """What is trained: all of the encoder's parameters, without decay."""
        return [{"params": [*encoder.parameters()], "lr": self.options.learning_rate, "weight_decay": 0.0}]

    def batches(self, epoch: int) -> list[Batch]:
        """The batches of an epoch, with negatives by the weights of now."""
        size = self.options.batch_size
        drawn, random = self._drawn(epoch), np.random.default_rng((self.seed, epoch, _PROTOTYPE))
        alone = random.permutation(self.alone)
        return [self._batch([rows[i * size : (i + 1) * size] for rows in drawn], alone[i :: self.steps], random) for i in range(self.steps)]

    def _drawn(self, epoch: int) -> list[Rows]:
        """Anchors, positives and, of triplets, negatives, in the order in which they are trained on."""
        options = self.options
        if options.loss == "triplet":
            wu = options.weighting == "wu"
            found = sampling.triplets(self.names, options.triplets, self.nearest(epoch), wu, self._dim, self.seed, epoch)
            return [found.anchor, found.positive, found.negative]
        random = np.random.default_rng((self.seed, epoch, _PAIRS))
        pairs = sampling.positives(self.names, options.triplets, random)
        anchors, which = np.unique(pairs[0], return_inverse=True)
        vectors = unit(self._encode([self.names.texts[row] for row in anchors]))
        order = sampling.similar_together(vectors[which], max(2, options.batch_size // 4), random)  # hard negatives, and easy ones too
        return [rows[order] for rows in pairs]

    def nearest(self, epoch: int) -> Callable[[Rows], tuple[Rows, Floats]]:
        """What finds the names of this epoch's pool that are nearest to some names by now: rows and cosines, each (n, k).

        Of a pool of a share of the names the nearest in the same share are taken, so that they are a sample of the nearest of all.
        """
        options, total = self.options, len(self.names)
        vectors = unit(self._encode(self.names.texts))
        size = min(options.pool or total, total)
        pool = np.sort(np.random.default_rng((self.seed, epoch, _POOL)).choice(total, size, replace=False))
        count = max(1, round(options.negatives * size / total))

        def near(rows: Rows) -> tuple[Rows, Floats]:
            found, cosines = top_k(vectors[rows], vectors[pool], count)
            return pool[found], cosines

        return near

    def _batch(self, drawn: Sequence[Rows], alone: Rows, random: np.random.Generator) -> Batch:
        drawn = [rows[self._share] for rows in drawn]
        concepts, owner = np.unique(np.concatenate([self.names.labels[drawn[0]], alone[self._share]]), return_inverse=True)
        chosen, own = self._prototype_names(concepts, random) if self.options.prototype_weight else (owner[:0], owner[:0])
        texts = [self.names.texts[row] for row in np.concatenate([*drawn, chosen])]
        return Batch(texts, partial(self._loss, drawn, own, concepts, owner))

    def _prototype_names(self, concepts: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
        """Some names of each concept, and which of the concepts each belongs to."""
        found = [concepts[:0]]
        for rows in self.names.of(concepts):
            own = random.permutation(rows)
            keep = max(1, round(len(own) * (1 - self.options.synonym_dropout)))
            found.append(own[: min(keep, self.options.prototype_names or keep)])
        return np.concatenate(found), np.repeat(np.arange(len(concepts)), np.array([len(own) for own in found[1:]], np.int64))

    def _loss(self, drawn: Sequence[Rows], own: Rows, concepts: Rows, owner: Rows, vectors: Tensor) -> Loss:
        options, device, count = self.options, vectors.device, len(drawn[0])
        parts = [vectors[i * count : (i + 1) * count] for i in range(len(drawn))]
        value, numbers = vectors.sum() * 0, dict[str, tuple[float, float]]()
        if count:
            syn = self._synonym_loss(drawn, parts)
            value, numbers["synonym_loss"] = options.triplet_weight * syn, (float(syn.detach()), float(count))
        if options.prototype_weight and len(owner):
            targets = torch.from_numpy(self._targets[concepts]).to(device)
            each = losses.prototype(vectors[len(drawn) * count :], torch.from_numpy(own).to(device), targets)
            owners = torch.from_numpy(owner).to(device)
            proto = each[owners].mean()  # of each triplet's concept, as eq. 5 sums both losses, and of those alone
            value = value + options.prototype_weight * proto
            numbers["prototype_loss"] = (float(proto.detach()), float(len(owner)))
        return Loss(value, float(len(owner)), numbers)

    def _synonym_loss(self, drawn: Sequence[Rows], vectors: Sequence[Tensor]) -> Tensor:
        """L_syn: of triplets (eq. 3), or InfoNCE, where each positive is to be told from the positives of other concepts."""
        if len(drawn) == 3:
            return losses.triplet(vectors[0], vectors[1], vectors[2], self.options.margin).mean()
        (anchor, positive), names = drawn, self.names
        same = names.labels[anchor, None] == names.labels[positive]
        for a, b in ((anchor, positive), (anchor, anchor), (positive, positive)):  # a name of two classes is no rival of itself
            same |= names.spelling[a, None] == names.spelling[b]
        return losses.info_nce(vectors[0], vectors[1], torch.from_numpy(same).to(vectors[0].device), self.options.temperature)

    def judge(self, epoch: int) -> Mapping[str, float]:
        """The mean average precision with which the held-out names find the names of their concept among those that are trained on."""
        if not len(self.judged):
            return {}
        queries, names = unit(self._encode(self.judged.texts)), unit(self._encode(self.names.texts))
        found = ranks(queries, names, self.names.of(self.judged.labels))
        return {"dev_map": float(np.mean(metrics.average_precisions([places for places in found if len(places)])))}


def train(
    encoder: DanEncoder,
    names: Classes,
    options: GroundOptions,
    seed: int = 0,
    judged: Classes | None = None,
    on_event: Callable[[Step | Epoch], None] = lambda event: None,
) -> None:
    """Ground an encoder on names alone, without a linker around it.

    Args:
        judged: names that decide which epoch is kept, and when training stops; held out of `names` where None.
        on_event: is told each step and each epoch.
    """
    grounding = Grounding(encoder, names, options, seed, encoder.encode, judged=judged)
    accelerator = Accelerator(cpu=encoder.device.type == "cpu")
    for event in run(encoder, grounding.groups(encoder), grounding.batches, grounding.plan(), accelerator, after_epoch=grounding.judge):
        on_event(event)
