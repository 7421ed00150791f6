"""Grounding of a name encoder: names of a class come together, anchored to pretrained vectors.

`Recipe` says which classes and which of the losses count; f is the encoder, u_n the pretrained
vector of a name, u_c the mean of those of its class. Adam trains, as in the papers; validation
chooses the best epoch: by the mAP of held-out names, or with few shots by the loss on others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from linker.dictionary.classes import Classes, Rows, retrieval
from linker.encoders.base import Recipe
from linker.encoders.trainable import GroundedEncoder
from linker.encoders.words import unit
from linker.evaluation import metrics
from linker.linking.options import LinkerOptions
from linker.search.index import QUERIES, Floats, VectorIndex, ranks
from linker.training import losses, sampling
from linker.training.loop import Batch, Losses, Phase
from linker.training.sampling import Stream, rng

if TYPE_CHECKING:
    from linker.training.encoder import ModelInTraining

# by which the cosine distance of a negative must exceed that of a positive, as in the papers
_MARGIN = 0.1
_SHARE_OF_NAMES = 0.5  # of a class, which its prototype is the mean of in a step, as in the papers

_HELD_OUT = 1000  # names to validate on, at most, of as many classes where there are
# nearest names of other classes, among which a negative is sampled; 1,000 of large classes
_NEGATIVES = {"concepts": 200, "level": 200, "parts": 1000}


@dataclass(frozen=True, slots=True)
class _Rules:
    """What goes with a loss of synonyms; the defaults are those of the papers."""

    learning_rate: float = 1e-3
    # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    warmup: float = 0.0
    temperature: float = 1.0  # dot products, of contrast cosines, are divided by it
    prototype_weight: float = 1.0  # of L_proto
    prototype_names: int = 0  # of a class in a step, at most; 0: no limit


_RULES = {
    # its L_syn is larger
    "contrast": _Rules(3e-3, 0.05, 0.05, prototype_weight=5.0, prototype_names=4),
    "triplet": _Rules(),
    "logistic": _Rules(),
}

Encode = Callable[[Sequence[str]], Floats]
"""Encodes n names with the weights of the moment: float32 (n, dim)."""


def prepare(model: ModelInTraining) -> Phase | None:
    """Sample pairs or triplets of names of a class, with names of other classes as negatives."""
    options, encoder = model.options, model.encoder
    if not isinstance(encoder, GroundedEncoder):
        return None
    if not (options.ground.epochs and [*encoder.parameters()]):
        return None
    names, validation = sampling.select_classes(options, model.data.table, model.data.dictionary)
    grounding = Grounding(encoder, names, options, model.encode, validation)
    return grounding.phase(model)


@dataclass(frozen=True, slots=True)
class _Sample:
    """The names of a batch, as rows of names where nothing else is said."""

    synonyms: Sequence[Rows]  # anchors, positives and, of triplets, negatives
    members: Rows  # names whose mean is a prototype
    anchored: Rows  # names that are anchored to a vector each
    concepts: Rows  # labels of the classes in the batch
    owner: Rows  # the class of each anchor, then those without an anchor: places in `concepts`
    member_of: Rows  # the class of each member, a place in `concepts`
    shifts: Rows  # for each loss of pairs, how far behind a name its wrong partner stands

    @property
    def rows(self) -> list[Rows]:
        """All names, in the order in which they are encoded."""
        return [*self.synonyms, self.members, self.anchored]


class Grounding:
    """The batches of the phase, and the validation of its epochs.

    Args:
        encoder: gives the pretrained vectors that names and prototypes are anchored to.
        names: all there are; those that are held out are not trained on.
        options: of the phase, and the seed of all samples.
        encode: encodes names with the weights of the moment.
        validation: names to validate with, instead of held-out ones; labels are those of `names`.

    Raises:
        LinkerError: there are no names of a class to bring together, and no other loss counts.
    """

    def __init__(
        self,
        encoder: GroundedEncoder,
        names: Classes,
        options: LinkerOptions,
        encode: Encode,
        validation: Classes | None = None,
    ) -> None:
        self.recipe: Recipe = options.recipe
        self.rules, self.epochs = _RULES[self.recipe.loss], options.ground.epochs
        self.seed, self._encode, self._encoder = options.training.seed, encode, encoder
        if validation is None:
            out = sampling.held_out(names, _HELD_OUT, self.seed)
            validation = names[np.flatnonzero(out)]
            names = names[np.flatnonzero(~out)] if out.any() else names
        self.names, self.validation = names, validation
        count = self._pairs_of_an_epoch()
        sizes = self.names.sizes
        self.lone = np.flatnonzero(sizes == 1 if count else sizes > 0)  # classes without pairs
        anchors = self.recipe.anchors.split()
        self._prototypes = "prototype" in anchors
        self._anchors = [anchor for anchor in anchors if anchor != "prototype"]  # of names
        self.steps = -(-(count or len(self.lone)) // self.recipe.batch_size)
        self._targets = encoder.prototypes(self.names, True)  # CCA(u_c)
        self._means = encoder.prototypes(self.names, False) if self._anchors else self._targets
        needs_starts = {"context", "between"} & {*self._anchors}
        self._starts = encoder.pretrained(self.names.texts) if needs_starts else None  # u_n
        self._validating: Grounding | None = None
        if self.recipe.classes == "parts" and len(self.validation):
            names = self.validation.relabelled(np.arange(len(self.validation)))
            none = names[np.empty(0, np.int64)]
            self._validating = Grounding(encoder, names, options, encode, none)

    def _pairs_of_an_epoch(self) -> int:
        """How many pairs or triplets an epoch has; 0 where one class leaves no negatives."""
        if self.names.count < 2:
            return 0
        others = self.names.sizes[self.names.labels] - 1
        if self.recipe.triplets:
            return int(np.where(others > 0, self.recipe.triplets, 0).sum())
        return int(others.sum())

    def phase(self, module: nn.Module) -> Phase:
        """The phase that trains the encoder, which is a part of a module."""
        rules, validates = self.rules, len(self.validation) > 0
        monitor = "loss" if self.recipe.classes == "parts" else "map"
        weights = [*self._encoder.parameters()]
        return Phase(
            "ground",
            module,
            [{"params": weights, "lr": rules.learning_rate, "weight_decay": 0.0}],
            self.batches,
            self.validate,
            self.epochs,
            self.steps,
            "adam",
            rules.warmup,
            self.recipe.clip,
            best_by=f"dev_{monitor}" if validates else "",
            minimize=monitor == "loss",
            patience=self.recipe.patience if validates else 0,
            seed=self.seed,
        )

    def batches(self, epoch: int) -> list[Batch]:
        """Make the batches of an epoch (from 1), with negatives by the weights of the moment."""
        size, pairs = self.recipe.batch_size, self._synonyms(epoch)
        random = rng(self.seed, Stream.PROTOTYPES, epoch)
        lone = random.permutation(self.lone)
        return [
            self._batch(
                [rows[i * size : (i + 1) * size] for rows in pairs], lone[i :: self.steps], random
            )
            for i in range(self.steps)
        ]

    def _synonyms(self, epoch: int) -> list[Rows]:
        """Sample anchors, positives and, of triplets, negatives, in the order of training."""
        recipe = self.recipe
        if recipe.loss == "triplet":
            random = rng(self.seed, Stream.TRIPLETS, epoch)
            return [*sampling.triplets(self.names, recipe.triplets, self.nearest(), random)]
        random = rng(self.seed, Stream.GROUND_PAIRS, epoch)
        pairs = sampling.positives(self.names, recipe.triplets, random)
        if recipe.loss == "logistic":
            order = random.permutation(len(pairs[0]))
        else:
            anchors, place = np.unique(pairs[0], return_inverse=True)
            vectors = unit(self._encode([self.names.texts[row] for row in anchors]))
            order = sampling.similar_together(vectors[place], recipe.batch_size, random)
        return [rows[order] for rows in pairs]

    def nearest(self) -> sampling.Nearest:
        """Return a function that finds the nearest names of other classes, with their cosines.

        A name itself fills up a list where there are too few.
        """
        vectors = unit(self._encode(self.names.texts))
        count = min(_NEGATIVES[self.recipe.classes], len(self.names))
        index = VectorIndex(vectors)

        def near(rows: Rows) -> tuple[Rows, Floats]:
            nearest = np.repeat(rows[:, None], count, axis=1)
            cosines = np.full((len(rows), count), -1, np.float32)
            for i in range(0, len(rows), QUERIES):
                part = rows[i : i + QUERIES]
                hits = index.search_batch(vectors[part], count, adjust=partial(leave_out, part))
                query, nth = hits.queries, np.arange(len(hits.rows)) - hits.indptr[hits.queries]
                nearest[i + query, nth], cosines[i + query, nth] = hits.rows, hits.scores
            return nearest, cosines

        def leave_out(rows: Rows, block: slice, scores: Floats) -> None:
            others = np.arange(block.start, block.stop)
            others = np.broadcast_to(others, (len(rows), len(scores)))
            scores[self.names.alike(rows, others).T] = -np.inf

        return near

    def _batch(self, synonyms: Sequence[Rows], lone: Rows, random: np.random.Generator) -> Batch:
        names = self.names
        labels = np.concatenate([names.labels[synonyms[0]], lone])
        concepts, owner = np.unique(labels, return_inverse=True)
        members = member_of = anchored = shifts = owner[:0]
        if self._prototypes:
            members, member_of = self._prototype_names(concepts, random)
        if self._anchors:
            of_lone = [random.choice(rows) for rows in names.of(lone)]
            anchored = np.concatenate([synonyms[0], of_lone]).astype(np.int64)
        if self.recipe.loss == "logistic":
            sizes = [len(synonyms[0]), *[len(anchored)] * 3]
            shifts = random.integers(1, [max(2, size) for size in sizes])
        sample = _Sample(synonyms, members, anchored, concepts, owner, member_of, shifts)
        rows = np.concatenate(sample.rows)
        return Batch([names.texts[row] for row in rows], partial(self._loss, sample))

    def _prototype_names(self, concepts: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
        """Sample names of each concept; the names, and the place of the concept of each."""
        samples = [concepts[:0]]
        for rows in self.names.of(concepts):
            shuffled = random.permutation(rows)
            kept = max(1, round(len(rows) * _SHARE_OF_NAMES))
            samples.append(shuffled[: min(kept, self.rules.prototype_names or kept)])
        sizes = np.array([len(sample) for sample in samples[1:]], np.int64)
        return np.concatenate(samples), np.repeat(np.arange(len(concepts)), sizes)

    def _loss(self, sample: _Sample, vectors: Tensor) -> Losses:
        device, sizes = vectors.device, [len(rows) for rows in sample.rows]
        *synonyms, members, anchored = torch.split(vectors, sizes)
        terms: dict[str, tuple[float, Tensor, int]] = {}  # weight, mean, of how many
        if count := len(sample.synonyms[0]):
            mean = self._synonym_loss(sample.synonyms, synonyms, sample.shifts[:1])
            terms["synonym_loss"] = 1.0, mean, count
        if self._prototypes and (count := len(sample.owner)):
            targets = torch.from_numpy(self._targets[sample.concepts]).to(device)
            member_of = torch.from_numpy(sample.member_of).to(device)
            each = losses.prototype(members, member_of, targets)
            # of each triplet's concept, as 2021a, eq. 5 sums both losses, and of those alone
            mean = each[torch.from_numpy(sample.owner).to(device)].mean()
            terms["prototype_loss"] = self.rules.prototype_weight, mean, count
        if count := len(sample.anchored):
            for i, anchor in enumerate(self._anchors, 1):
                targets = torch.from_numpy(self._fixed(anchor, sample.anchored)).to(device)
                if self.recipe.loss == "logistic":
                    rows, shift = sample.anchored, int(sample.shifts[i])
                    mean = self._pair_loss(anchored, targets, rows, rows, shift)
                else:
                    mean = losses.cosine_distance(anchored, targets).mean()
                terms[f"{anchor}_loss"] = 1.0, mean, count
        value = sum((weight * mean for weight, mean, _ in terms.values()), vectors.sum() * 0)
        means = {name: (float(mean.detach()), float(n)) for name, (_, mean, n) in terms.items()}
        return {"loss": (value, float(len(sample.owner))), **means}

    def _synonym_loss(self, rows: Sequence[Rows], vectors: Sequence[Tensor], shift: Rows) -> Tensor:
        """L_syn: triplets, InfoNCE, or pairs told from pairs with names of other classes."""
        loss, names = self.recipe.loss, self.names
        if loss == "triplet":
            return losses.triplet(vectors[0], vectors[1], vectors[2], _MARGIN).mean()
        anchor, positive = rows
        if loss == "logistic":
            return self._pair_loss(vectors[0], vectors[1], anchor, positive, int(shift[0]))
        same = names.alike(anchor, np.broadcast_to(positive, (len(anchor), len(anchor))))
        for a, b in ((anchor, anchor), (positive, positive)):  # a text twice in a batch is one
            same |= names.spelling[a, None] == names.spelling[b]
        mask = torch.from_numpy(same).to(vectors[0].device)
        return losses.info_nce(vectors[0], vectors[1], mask, self.rules.temperature)

    def _fixed(self, anchor: str, rows: Rows) -> Floats:
        """The vector that an anchor holds each name to, (n, dim)."""
        means = self._means[self.names.labels[rows]]
        if anchor == "concept" or self._starts is None:
            return means
        starts = self._starts[rows]
        return starts if anchor == "context" else unit(unit(means) + unit(starts))

    def _pair_loss(
        self, left: Tensor, right: Tensor, left_rows: Rows, right_rows: Rows, shift: int
    ) -> Tensor:
        """The logistic loss of pairs, each with a wrong partner of the batch, of another class."""
        wrong = np.roll(right_rows, shift)
        is_wrong = ~self.names.alike(left_rows, wrong[:, None])[:, 0]
        dots = [
            (left * others).sum(-1) / self.rules.temperature
            for others in (right, torch.roll(right, shift, 0))
        ]
        return losses.logistic(dots[0], dots[1], torch.from_numpy(is_wrong).to(left.device)).mean()

    def validate(self, epoch: int) -> Mapping[str, float]:
        """Measure the validation names: their loss, or the mAP of finding names of their class."""
        if not len(self.validation):
            return {}
        if self._validating is not None:
            values, weights = zip(
                *(
                    batch.loss(torch.from_numpy(self._encode(batch.names)))["loss"]
                    for batch in self._validating.batches(0)
                ),
                strict=True,
            )
            return {"dev_loss": float(np.average([*map(float, values)], weights=weights))}
        queries, names, right = retrieval(self.validation, self.names)
        places = ranks(unit(self._encode(queries)), unit(self._encode(names)), right)
        precisions = metrics.average_precisions([rows for rows in places if len(rows)])
        return {"dev_map": float(np.mean(precisions))}
