"""Grounding of a name encoder: names of a class come together, anchored to pretrained vectors.

The losses are those of the DAN (Fivez et al. 2021a, eq. 3-5), the higher-level DAN (2021b,
eq. 2-6), the few-shot encoder (2021c, eq. 2-4) and BNE (Phan et al. 2019, eq. 3-6); f is the
encoder, u_n the pretrained vector of a name, u_c the mean of those of its class. `GroundRecipe`
says which of them count.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from linker import metrics
from linker.candidates.index import QUERIES, Floats, VectorIndex, ranks
from linker.dictionary.classes import Classes, Rows, retrieval
from linker.encoders.grounded import GroundedEncoder
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.options import GroundRecipe
from linker.training import losses, sampling
from linker.training.loop import Batch, Loss, Phase, Schedule, Step, run
from linker.training.sampling import Stream, rng
from linker.training.settings import Record

if TYPE_CHECKING:
    from linker.training.encoder import ModelInTraining

logger = logging.getLogger(__name__)

# by which the cosine distance of a negative must exceed that of a positive, as in the papers
_MARGIN = 0.1
_SHARE_OF_NAMES = 0.5  # of a class, which its prototype is the mean of in a step, as in the papers

Encode = Callable[[Sequence[str]], Floats]
"""Encodes n names with the weights of the moment: float32 (n, dim)."""


def prepare(model: ModelInTraining) -> Phase | None:
    """Sample pairs or triplets of names of a class, with names of other classes as negatives."""
    options, encoder = model.options.ground, model.encoder
    if not isinstance(encoder, GroundedEncoder):
        return None
    if not (options.epochs and [*encoder.parameters()]):
        return None
    names, validation = sampling.select_classes(
        options, model.data.table, model.data.dictionary, model.seed
    )
    grounding = Grounding(encoder, names, options, model.seed, model.encode, validation)
    if lone := len(grounding.lone):
        text = (
            "%d of %d classes have one name or no other class beside them: no other name to draw to"
        )
        logger.info(text, lone, grounding.names.count)
    return Phase(
        "ground",
        model,
        _trained(encoder, options),
        partial(grounding.batches, share=model.share),
        grounding.schedule(),
        lambda epoch: {**model.check(epoch), **grounding.validate(epoch)},
        model.names_fingerprint("align", "ground"),
    )


def train(
    encoder: GroundedEncoder,
    names: Classes,
    options: GroundRecipe,
    seed: int = 0,
    validation: Classes | None = None,
    on_event: Callable[[Step | Record], None] = lambda event: None,
) -> None:
    """Ground an encoder on names alone, without a linker around it.

    Args:
        encoder: is trained in place.
        names: what is trained on.
        options: of the phase.
        seed: of all samples.
        validation: names that choose the epoch that is kept, and end the training; some of `names`
            are held out for this where None.
        on_event: is called with each step, and with the record of each epoch.
    """
    grounding = Grounding(encoder, names, options, seed, encoder.encode, validation)
    accelerator = Accelerator(cpu=encoder.device.type == "cpu")
    groups = _trained(encoder, options)
    schedule, validate = grounding.schedule(), grounding.validate
    phase = Phase("ground", encoder, groups, grounding.batches, schedule, validate, {})
    for event in run(phase, accelerator):
        on_event(event)


def _trained(encoder: GroundedEncoder, options: GroundRecipe) -> list[dict[str, Any]]:
    """The parameters to train, as the groups of an optimizer."""
    rate = options.learning_rate
    return [{"params": [*encoder.parameters()], "lr": rate, "weight_decay": 0.0}]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The names of a batch, as rows of names where nothing else is said."""

    synonyms: Sequence[Rows]  # anchors, positives and, of triplets, negatives
    concepts: Rows  # labels of the classes in the batch
    owner: Rows  # the class of each anchor, then those without an anchor: places in `concepts`
    members: Rows  # names whose mean is a prototype
    member_of: Rows  # the class of each of them, a place in `concepts`
    anchored: Rows  # names that are anchored to a vector each
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
        options: of the phase.
        seed: of all samples.
        encode: encodes names with the weights of the moment.
        validation: names to validate with, instead of held-out ones; labels are those of `names`.

    Raises:
        LinkerError: there are no names of a class to bring together, and no other loss counts.
    """

    def __init__(
        self,
        encoder: GroundedEncoder,
        names: Classes,
        options: GroundRecipe,
        seed: int,
        encode: Encode,
        validation: Classes | None = None,
    ) -> None:
        self.options, self.seed, self._encode = options, seed, encode
        self.names, self.validation = self._split(names, validation)
        count = self._pairs_of_an_epoch()
        sizes = self.names.sizes
        self.lone = np.flatnonzero(sizes == 1 if count else sizes > 0)  # classes without pairs
        self._anchors = bool(
            options.context_weight or options.concept_weight or options.between_weight
        )
        if not (count or options.prototype_weight or self._anchors):
            raise LinkerError(
                "there are no synonyms to draw together (all concepts have one name, or there is "
                "one); set ground.epochs=0"
            )
        self.steps = -(-(count or len(self.lone)) // options.batch_size)
        self._targets = encoder.prototypes(self.names, True)  # CCA(u_c)
        self._means = encoder.prototypes(self.names, False) if self._anchors else self._targets
        needs_starts = options.context_weight or options.between_weight
        self._starts = encoder.pretrained(self.names.texts) if needs_starts else None  # u_n
        self._validating: Grounding | None = None
        if options.monitor == "loss" and len(self.validation):
            names = self.validation.relabelled(np.arange(len(self.validation)))
            by_map = dataclasses.replace(options, monitor="map")
            self._validating = Grounding(
                encoder, names, by_map, seed, encode, names[np.empty(0, np.int64)]
            )

    def _split(self, names: Classes, validation: Classes | None) -> tuple[Classes, Classes]:
        """Hold names out, unless others validate."""
        if validation is not None:
            return names, validation
        if self.options.monitor == "loss":
            raise LinkerError(
                "ground.shots is 0, and the loss of other names chooses the epoch; set it"
            )
        out = sampling.held_out(names, self.options.held_out, self.seed)
        kept = names[np.flatnonzero(~out)] if out.any() else names
        return kept, names[np.flatnonzero(out)]

    def _pairs_of_an_epoch(self) -> int:
        """How many pairs or triplets an epoch has; 0 where one class leaves no negatives."""
        if self.names.count < 2:
            return 0
        others = self.names.sizes[self.names.labels] - 1
        if self.options.triplets:
            return int(np.where(others > 0, self.options.triplets, 0).sum())
        return int(others.sum())

    def schedule(self) -> Schedule:
        """Schedule the phase: Adam as in the papers; validation chooses the best epoch."""
        options, validates = self.options, len(self.validation) > 0
        return Schedule(
            options.epochs,
            self.steps,
            "adam",
            options.warmup,
            options.clip,
            best_by=f"dev_{options.monitor}" if validates else None,
            minimize=options.monitor == "loss",
            patience=options.patience if validates else 0,
            seed=self.seed,
        )

    def batches(self, epoch: int, share: slice = slice(None)) -> list[Batch]:
        """Make the batches of an epoch, with negatives by the weights of the moment.

        Args:
            epoch: from 1.
            share: of each batch, what this process trains on.
        """
        size, pairs = self.options.batch_size, self._synonyms(epoch)
        random = rng(self.seed, Stream.PROTOTYPES, epoch)
        lone = random.permutation(self.lone)
        return [
            self._batch(
                [rows[i * size : (i + 1) * size][share] for rows in pairs],
                lone[i :: self.steps][share],
                random,
            )
            for i in range(self.steps)
        ]

    def _synonyms(self, epoch: int) -> list[Rows]:
        """Sample anchors, positives and, of triplets, negatives, in the order of training."""
        options = self.options
        if options.loss == "triplet":
            random = rng(self.seed, Stream.TRIPLETS, epoch)
            nearest = self.nearest(epoch)
            return [*sampling.triplets(self.names, options.triplets, nearest, random)]
        random = rng(self.seed, Stream.GROUND_PAIRS, epoch)
        pairs = sampling.positives(self.names, options.triplets, random)
        if options.loss == "logistic":
            order = random.permutation(len(pairs[0]))
        else:
            anchors, place = np.unique(pairs[0], return_inverse=True)
            vectors = unit(self._encode([self.names.texts[row] for row in anchors]))
            order = sampling.similar_together(vectors[place], options.batch_size, random)
        return [rows[order] for rows in pairs]

    def nearest(self, epoch: int) -> sampling.Nearest:
        """Return a function that finds the nearest names of other classes, with their cosines.

        They come from the epoch's pool, a share of all names; the nearest are taken in the same
        share, so that they are a sample of the nearest of all. A name itself fills up a list where
        there are too few.
        """
        options, total = self.options, len(self.names)
        vectors = unit(self._encode(self.names.texts))
        size = min(options.pool or total, total)
        random = rng(self.seed, Stream.NEGATIVES, epoch)
        pool = np.sort(random.choice(total, size, replace=False))
        count = min(max(1, round(options.negatives * size / total)), size)

        index = VectorIndex(vectors)

        def near(rows: Rows) -> tuple[Rows, Floats]:
            nearest = np.repeat(rows[:, None], count, axis=1)
            cosines = np.full((len(rows), count), -1, np.float32)
            for i in range(0, len(rows), QUERIES):
                part = rows[i : i + QUERIES]
                hits = index.search_batch(vectors[part], count, pool, partial(leave_out, part))
                query, nth = hits.queries, np.arange(len(hits.rows)) - hits.indptr[hits.queries]
                nearest[i + query, nth], cosines[i + query, nth] = hits.rows, hits.scores
            return nearest, cosines

        def leave_out(rows: Rows, block: slice, scores: Floats) -> None:
            others = np.broadcast_to(pool[block], (len(rows), len(scores)))
            scores[self.names.alike(rows, others).T] = -np.inf

        return near

    def _batch(self, synonyms: Sequence[Rows], lone: Rows, random: np.random.Generator) -> Batch:
        options, names = self.options, self.names
        labels = np.concatenate([names.labels[synonyms[0]], lone])
        concepts, owner = np.unique(labels, return_inverse=True)
        members = member_of = anchored = shifts = owner[:0]
        if options.prototype_weight:
            members, member_of = self._prototype_names(concepts, random)
        if self._anchors:
            of_lone = [random.choice(rows) for rows in names.of(lone)]
            anchored = np.concatenate([synonyms[0], of_lone]).astype(np.int64)
        if options.loss == "logistic":
            sizes = [len(synonyms[0]), *[len(anchored)] * 3]
            shifts = random.integers(1, [max(2, size) for size in sizes])
        sample = _Sample(synonyms, concepts, owner, members, member_of, anchored, shifts)
        rows = np.concatenate(sample.rows)
        return Batch([names.texts[row] for row in rows], partial(self._loss, sample))

    def _prototype_names(self, concepts: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
        """Sample names of each concept; the names, and the place of the concept of each."""
        samples = [concepts[:0]]
        for rows in self.names.of(concepts):
            shuffled = random.permutation(rows)
            kept = max(1, round(len(rows) * _SHARE_OF_NAMES))
            samples.append(shuffled[: min(kept, self.options.prototype_names or kept)])
        sizes = np.array([len(sample) for sample in samples[1:]], np.int64)
        return np.concatenate(samples), np.repeat(np.arange(len(concepts)), sizes)

    def _loss(self, sample: _Sample, vectors: Tensor) -> Loss:
        options, device = self.options, vectors.device
        sizes = [len(rows) for rows in sample.rows]
        *synonyms, members, anchored = torch.split(vectors, sizes)
        terms: dict[str, tuple[float, Tensor, int]] = {}  # weight, mean, of how many
        if count := len(sample.synonyms[0]):
            mean = self._synonym_loss(sample.synonyms, synonyms, sample.shifts[:1])
            terms["synonym_loss"] = 1.0, mean, count
        if options.prototype_weight and len(sample.owner):
            targets = torch.from_numpy(self._targets[sample.concepts]).to(device)
            member_of = torch.from_numpy(sample.member_of).to(device)
            each = losses.prototype(members, member_of, targets)
            # of each triplet's concept, as 2021a, eq. 5 sums both losses, and of those alone
            mean = each[torch.from_numpy(sample.owner).to(device)].mean()
            terms["prototype_loss"] = options.prototype_weight, mean, len(sample.owner)
        if count := len(sample.anchored):
            for i, (name, weight, fixed) in enumerate(self._anchors_of(sample.anchored), 1):
                targets = torch.from_numpy(fixed).to(device)
                if options.loss == "logistic":
                    rows, shift = sample.anchored, int(sample.shifts[i])
                    mean = self._pair_loss(anchored, targets, rows, rows, shift)
                else:
                    mean = losses.cosine_distance(anchored, targets).mean()
                terms[name] = weight, mean, count
        value = sum((weight * mean for weight, mean, _ in terms.values()), vectors.sum() * 0)
        numbers = {
            name: (float(mean.detach()), float(count)) for name, (_, mean, count) in terms.items()
        }
        return Loss(value, float(len(sample.owner)), numbers)

    def _synonym_loss(self, rows: Sequence[Rows], vectors: Sequence[Tensor], shift: Rows) -> Tensor:
        """L_syn: triplets, InfoNCE, or pairs told from pairs with names of other classes."""
        options, names = self.options, self.names
        if options.loss == "triplet":
            return losses.triplet(vectors[0], vectors[1], vectors[2], _MARGIN).mean()
        anchor, positive = rows
        if options.loss == "logistic":
            return self._pair_loss(vectors[0], vectors[1], anchor, positive, int(shift[0]))
        same = names.alike(anchor, np.broadcast_to(positive, (len(anchor), len(anchor))))
        for a, b in ((anchor, anchor), (positive, positive)):  # a text twice in a batch is one
            same |= names.spelling[a, None] == names.spelling[b]
        mask = torch.from_numpy(same).to(vectors[0].device)
        return losses.info_nce(vectors[0], vectors[1], mask, options.temperature)

    def _anchors_of(self, rows: Rows) -> list[tuple[str, float, Floats]]:
        """The losses that anchor names: name, weight, and a vector for each row (n, dim)."""
        options, means = self.options, self._means[self.names.labels[rows]]
        starts = means if self._starts is None else self._starts[rows]  # not used where None
        terms = (
            ("context_loss", options.context_weight, starts),
            ("concept_loss", options.concept_weight, means),
            ("between_loss", options.between_weight, unit(unit(means) + unit(starts))),
        )
        return [term for term in terms if term[1]]

    def _pair_loss(
        self, left: Tensor, right: Tensor, left_rows: Rows, right_rows: Rows, shift: int
    ) -> Tensor:
        """The logistic loss of pairs, each with a wrong partner of the batch, of another class."""
        wrong = np.roll(right_rows, shift)
        is_wrong = ~self.names.alike(left_rows, wrong[:, None])[:, 0]
        dots = [
            (left * others).sum(-1) / self.options.temperature
            for others in (right, torch.roll(right, shift, 0))
        ]
        return losses.logistic(dots[0], dots[1], torch.from_numpy(is_wrong).to(left.device)).mean()

    def validate(self, epoch: int) -> Mapping[str, float]:
        """Measure the validation names: their loss, or the mAP of finding names of their class."""
        if not len(self.validation):
            return {}
        if self._validating is not None:
            values = [
                batch.loss(torch.from_numpy(self._encode(batch.names)))
                for batch in self._validating.batches(0)
            ]
            weights = [loss.weight for loss in values]
            mean = np.average([float(loss.value) for loss in values], weights=weights)
            return {"dev_loss": float(mean)}
        queries, names, right = retrieval(self.validation, self.names)
        places = ranks(unit(self._encode(queries)), unit(self._encode(names)), right)
        precisions = metrics.average_precisions([rows for rows in places if len(rows)])
        return {"dev_map": float(np.mean(precisions))}
