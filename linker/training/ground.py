"""Grounding of a name encoder: names of a class drawn together, and held to pretrained vectors (the losses: `GroundOptions`)."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from linker import metrics
from linker.candidates.base import Floats
from linker.candidates.dense import QUERIES, best, ranks
from linker.dictionary import Dictionary, NameTable, classes
from linker.dictionary.classes import Classes, Rows
from linker.encoders.grounded import GroundedEncoder
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.options import GroundOptions
from linker.training import losses, sampling
from linker.training.loop import Batch, Epoch, Loss, Plan, Step, run

logger = logging.getLogger(__name__)

_POOL, _PROTOTYPE, _PAIRS = (
    7,
    8,
    9,
)  # keep the random draws of an epoch apart from each other and from those of training

Encode = Callable[[Sequence[str]], Floats]
"""Names to float32 (n, dim)."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The names of a batch, all but `concepts` and `owner` rows of names."""

    synonyms: Sequence[Rows]  # anchors, positives and, of triplets, negatives
    concepts: Rows  # of the batch
    owner: Rows  # which of them each anchor belongs to, and then those that have no anchor
    chosen: Rows  # names of the prototypes
    own: Rows  # which of the concepts each belongs to
    held: Rows  # names that are held to a vector each
    shifts: Rows  # for each loss of pairs how far behind a name its wrong partner stands

    @property
    def rows(self) -> Rows:
        """All of them, in the order in which they are encoded."""
        return np.concatenate([*self.synonyms, self.chosen, self.held])

    def cut(self, vectors: Tensor) -> tuple[Sequence[Tensor], Tensor, Tensor]:
        """The vectors of `rows` as those of `synonyms`, `chosen` and `held`."""
        parts = torch.split(vectors, [*map(len, self.synonyms), len(self.chosen), len(self.held)])
        return parts[:-2], parts[-2], parts[-1]


class Grounding:
    """The batches of the phase, and what judges its epochs.

    Args:
        names: all there are; those that are held out are not trained on.
        encode: encodes names with the weights of now.
        share: of a batch, what this process trains on.
        judged: names to judge by, instead of some that are held out; their labels are those of `names`.

    Raises:
        LinkerError: there are no names of a class to draw together, and no other loss has a weight.
    """

    def __init__(
        self,
        encoder: GroundedEncoder,
        names: Classes,
        options: GroundOptions,
        seed: int,
        encode: Encode,
        share: slice = slice(None),
        judged: Classes | None = None,
    ) -> None:
        if judged is None and options.monitor == "loss":
            raise LinkerError(
                "ground.monitor=loss needs other names of each class; set ground.shots, or ground.monitor=map"
            )
        out = (
            classes.held_out(names, options.held_out, seed)
            if judged is None
            else np.zeros(len(names), bool)
        )
        self.names = names[np.flatnonzero(~out)] if out.any() else names
        self.judged = names[np.flatnonzero(out)] if judged is None else judged
        self.options, self.seed, self._encode, self._share = options, seed, encode, share
        pairs = self.names.sizes[self.names.labels] - 1
        count = int((np.where(pairs > 0, options.triplets, 0) if options.triplets else pairs).sum())
        if self.names.count < 2:
            count = 0  # no negatives
        sizes = self.names.sizes
        self.alone = np.flatnonzero(
            sizes == 1 if count else sizes > 0
        )  # classes without triplets; the other losses know them
        self._holds = bool(
            options.context_weight or options.concept_weight or options.between_weight
        )
        if not (count or options.prototype_weight or self._holds):
            raise LinkerError(
                "there are no synonyms to draw together (all concepts have one name, or there is one); "
                "set ground.prototype_weight or ground.epochs=0"
            )
        self.steps = -(-(count or len(self.alone)) // options.batch_size)
        self._targets = encoder.prototypes(self.names, options.target == "projected")  # CCA(u_c)
        self._means = encoder.prototypes(self.names, False) if self._holds else self._targets  # u_c
        self._starts = (
            encoder.pretrained(self.names.texts)
            if options.context_weight or options.between_weight
            else None
        )  # u_n
        self._dim = encoder.dim
        self._judging: Grounding | None = None
        if options.monitor == "loss" and len(self.judged):
            judging = self.judged.relabelled(np.arange(len(self.judged)))
            self._judging = Grounding(
                encoder,
                judging,
                dataclasses.replace(options, monitor="map"),
                seed,
                encode,
                judged=judging[np.empty(0, np.int64)],
            )

    def plan(self) -> Plan:
        """How the phase runs: Adam as in the papers; the best epoch by the names that are judged by, where there are any."""
        options, judging = self.options, len(self.judged) > 0
        patience = options.patience if judging else 0
        best_by = f"dev_{options.monitor}" if judging else None
        return Plan(
            options.epochs,
            self.steps,
            "adam",
            options.warmup,
            options.clip,
            best_by=best_by,
            least=options.monitor == "loss",
            patience=patience,
            seed=self.seed,
        )

    def batches(self, epoch: int) -> list[Batch]:
        """The batches of an epoch, with negatives by the weights of now."""
        size = self.options.batch_size
        drawn, random = self._drawn(epoch), np.random.default_rng((self.seed, epoch, _PROTOTYPE))
        alone = random.permutation(self.alone)
        return [
            self._batch(
                [rows[i * size : (i + 1) * size] for rows in drawn], alone[i :: self.steps], random
            )
            for i in range(self.steps)
        ]

    def _drawn(self, epoch: int) -> list[Rows]:
        """Anchors, positives and, of triplets, negatives, in the order in which they are trained on."""
        options = self.options
        if options.loss == "triplet":
            wu = options.weighting == "wu"
            found = sampling.triplets(
                self.names, options.triplets, self.nearest(epoch), wu, self._dim, self.seed, epoch
            )
            return [found.anchor, found.positive, found.negative]
        random = np.random.default_rng((self.seed, epoch, _PAIRS))
        pairs = sampling.positives(self.names, options.triplets, random)
        if options.loss == "logistic":
            order = random.permutation(len(pairs[0]))
        else:
            anchors, which = np.unique(pairs[0], return_inverse=True)
            vectors = unit(self._encode([self.names.texts[row] for row in anchors]))
            order = sampling.similar_together(
                vectors[which], max(2, options.batch_size // 4), random
            )  # hard negatives, and easy ones too
        return [rows[order] for rows in pairs]

    def nearest(self, epoch: int) -> Callable[[Rows], tuple[Rows, Floats]]:
        """What finds the names of other classes in this epoch's pool that are nearest to some names by now: rows and cosines, each (n, k).

        Of a pool of a share of the names the nearest in the same share are taken, so that they are a sample of the nearest of all. Where
        there are fewer than k, a name itself fills up.
        """
        options, total = self.options, len(self.names)
        vectors = unit(self._encode(self.names.texts))
        size = min(options.pool or total, total)
        pool = np.sort(
            np.random.default_rng((self.seed, epoch, _POOL)).choice(total, size, replace=False)
        )
        count = min(max(1, round(options.negatives * size / total)), size)

        def near(rows: Rows) -> tuple[Rows, Floats]:
            found, cosines = (
                np.repeat(rows[:, None], count, axis=1),
                np.full((len(rows), count), -1, np.float32),
            )
            for i in range(0, len(rows), QUERIES):
                own = rows[i : i + QUERIES]
                query, places, values = best(partial(score, own), len(own), size, count)
                nth = np.arange(len(query)) - np.searchsorted(query, query)
                found[i + query, nth], cosines[i + query, nth] = pool[places], values
            return found, cosines

        def score(rows: Rows, some: slice) -> Floats:
            scores: Floats = vectors[pool[some]] @ vectors[rows].T
            scores[
                self.names.alike(rows, np.broadcast_to(pool[some], (len(rows), len(scores)))).T
            ] = -np.inf
            return scores

        return near

    def _batch(self, synonyms: Sequence[Rows], alone: Rows, random: np.random.Generator) -> Batch:
        synonyms, alone, names = (
            [rows[self._share] for rows in synonyms],
            alone[self._share],
            self.names,
        )
        concepts, owner = np.unique(
            np.concatenate([names.labels[synonyms[0]], alone]), return_inverse=True
        )
        chosen, own = (
            self._prototype_names(concepts, random)
            if self.options.prototype_weight
            else (owner[:0], owner[:0])
        )
        held, shifts = owner[:0], owner[:0]
        if self._holds:
            held = np.concatenate(
                [synonyms[0], *([random.choice(rows)] for rows in names.of(alone))]
            ).astype(np.int64)
        if self.options.loss == "logistic":
            sizes = [len(synonyms[0]), *[len(held)] * 3]
            shifts = random.integers(1, [max(2, size) for size in sizes])
        drawn = _Drawn(synonyms, concepts, owner, chosen, own, held, shifts)
        return Batch([names.texts[row] for row in drawn.rows], partial(self._loss, drawn))

    def _prototype_names(self, concepts: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
        """Some names of each concept, and which of the concepts each belongs to."""
        found = [concepts[:0]]
        for rows in self.names.of(concepts):
            own = random.permutation(rows)
            keep = max(1, round(len(own) * (1 - self.options.synonym_dropout)))
            found.append(own[: min(keep, self.options.prototype_names or keep)])
        return np.concatenate(found), np.repeat(
            np.arange(len(concepts)), np.array([len(own) for own in found[1:]], np.int64)
        )

    def _loss(self, drawn: _Drawn, vectors: Tensor) -> Loss:
        options, (synonyms, chosen, held) = self.options, drawn.cut(vectors)
        terms: dict[str, tuple[float, Tensor, int]] = {}  # weight, mean, of how many
        if count := len(drawn.synonyms[0]):
            terms["synonym_loss"] = (
                options.triplet_weight,
                self._synonym_loss(drawn.synonyms, synonyms, drawn.shifts[:1]),
                count,
            )
        if options.prototype_weight and len(drawn.owner):
            targets = torch.from_numpy(self._targets[drawn.concepts]).to(vectors.device)
            each = losses.prototype(chosen, torch.from_numpy(drawn.own).to(vectors.device), targets)
            owners = torch.from_numpy(drawn.owner).to(vectors.device)
            # of each triplet's concept, as 2021a, eq. 5 sums both losses, and of those alone
            terms["prototype_loss"] = (
                options.prototype_weight,
                each[owners].mean(),
                len(drawn.owner),
            )
        if len(drawn.held):
            for i, (name, weight, fixed) in enumerate(self._held_to(drawn.held), 1):
                terms[name] = (
                    weight,
                    self._held_loss(drawn, held, torch.from_numpy(fixed).to(vectors.device), i),
                    len(drawn.held),
                )
        value = sum((weight * mean for weight, mean, _ in terms.values()), vectors.sum() * 0)
        numbers = {
            name: (float(mean.detach()), float(count)) for name, (_, mean, count) in terms.items()
        }
        return Loss(value, float(len(drawn.owner)), numbers)

    def _synonym_loss(self, rows: Sequence[Rows], vectors: Sequence[Tensor], shift: Rows) -> Tensor:
        """L_syn: of triplets, InfoNCE or pairs, where positives are to be told from positives of other classes."""
        options, names = self.options, self.names
        if options.loss == "triplet":
            return losses.triplet(vectors[0], vectors[1], vectors[2], options.margin).mean()
        anchor, positive = rows
        if options.loss == "logistic":
            return self._pairs(vectors[0], vectors[1], anchor, positive, int(shift[0]))
        every = np.broadcast_to(positive, (len(anchor), len(anchor)))
        same = names.alike(anchor, every)
        for a, b in (
            (anchor, anchor),
            (positive, positive),
        ):  # a text twice in a batch is one thing
            same |= names.spelling[a, None] == names.spelling[b]
        return losses.info_nce(
            vectors[0],
            vectors[1],
            torch.from_numpy(same).to(vectors[0].device),
            options.temperature,
        )

    def _held_to(self, rows: Rows) -> list[tuple[str, float, Floats]]:
        """The losses that hold names to a vector each: name, weight, and the vectors, (n, dim)."""
        options, means = self.options, self._means[self.names.labels[rows]]
        starts = means if self._starts is None else self._starts[rows]  # not looked at without
        made = (
            ("context_loss", options.context_weight, starts),
            ("concept_loss", options.concept_weight, means),
            ("between_loss", options.between_weight, unit(unit(means) + unit(starts))),
        )
        return [term for term in made if term[1]]

    def _held_loss(self, drawn: _Drawn, vectors: Tensor, targets: Tensor, which: int) -> Tensor:
        if self.options.loss == "logistic":
            return self._pairs(vectors, targets, drawn.held, drawn.held, int(drawn.shifts[which]))
        return losses.cosine_distance(vectors, targets).mean()

    def _pairs(
        self, left: Tensor, right: Tensor, left_rows: Rows, right_rows: Rows, shift: int
    ) -> Tensor:
        """The logistic loss of pairs, each with a wrong partner from the same batch; one of the same class is none."""
        wrong = np.roll(right_rows, shift)
        has_wrong = torch.from_numpy(~self.names.alike(left_rows, wrong[:, None])[:, 0]).to(
            left.device
        )
        dots = [
            (left * others).sum(-1) / self.options.temperature
            for others in (right, torch.roll(right, shift, 0))
        ]
        return losses.logistic(dots[0], dots[1], has_wrong).mean()

    def judge(self, epoch: int) -> Mapping[str, float]:
        """How well the names that are judged by fare: their loss, or the mAP with which they find names of their class among the others."""
        if not len(self.judged):
            return {}
        if self._judging is not None:
            made = [
                batch.loss(torch.from_numpy(self._encode(batch.names)))
                for batch in self._judging.batches(0)
            ]
            return {
                "dev_loss": float(
                    np.average(
                        [float(loss.value) for loss in made], weights=[loss.weight for loss in made]
                    )
                )
            }
        asked, names, right = classes.retrieval(self.judged, self.names)
        found = ranks(unit(self._encode(asked)), unit(self._encode(names)), right)
        return {
            "dev_map": float(
                np.mean(metrics.average_precisions([places for places in found if len(places)]))
            )
        }


def drawn(
    options: GroundOptions, table: NameTable, dictionary: Dictionary, seed: int
) -> tuple[Classes, Classes | None]:
    """The names that the phase trains on, and those that it judges by; None: some of the former.

    Raises:
        LinkerError: there is no such root, or the hierarchy has too few classes, or too few of two names where shots are drawn.
    """
    ids, hierarchy, root = dictionary.ids, dictionary.hierarchy, None
    if options.root:
        rows = dictionary.rows(options.root)
        if len(rows) != 1:
            raise LinkerError(
                f"ground.root is {options.root!r}, which is no concept of the dictionary; give the id of one, e.g. {ids[0]}"
            )
        root = rows[0]
    if options.classes != "concepts":
        if not hierarchy.edges:
            raise LinkerError(
                f"the dictionary has no hierarchy, which ground.classes={options.classes} groups names by; "
                "give one with parents, borrow that of another file (--hierarchy), or choose --encoder dan"
            )
        if root is None and len(hierarchy.roots) > 1:
            some = ", ".join(ids[row] for row in hierarchy.roots[:5])
            many = "the hierarchy has %d roots, which count as level 1, or as the parts: %s; ground.root names one to stand below"
            logger.warning(many, len(hierarchy.roots), some)
    if options.classes == "concepts":
        names = classes.of_concepts(table, ids)
    elif options.classes == "level":
        names = classes.of_level(table, hierarchy, options.level, root, ids)
    else:
        names = classes.of_parts(table, hierarchy, options.parts, root, ids)
    logger.info(
        "%d names of %d classes, the largest %s",
        len(names),
        names.count,
        ", ".join(_largest(names)),
    )
    if not options.shots:
        return names, None
    if len(lone := np.flatnonzero(names.sizes < 2)):
        some = ", ".join(names.ids[i] for i in lone[:5])
        if names.count - len(lone) < 2:
            raise LinkerError(
                f"{names.count - len(lone)} of {names.count} classes have two names or more, one to train on and one to judge by "
                f"(not {some}); expected: two classes; take another ground.root, or a dictionary with more of a hierarchy (--hierarchy)"
            )
        logger.warning(
            "%d of %d classes have one name, and are left out: %s", len(lone), names.count, some
        )
        names = names.relabelled(np.flatnonzero(names.sizes[names.labels] > 1))
    if few := [
        f"{names.ids[i]} ({count})"
        for i, count in enumerate(names.sizes.tolist())
        if count < 2 * options.shots
    ]:
        text = (
            "%d of %d classes have fewer than %d names to draw from, half of them is trained on: %s"
        )
        logger.warning(text, len(few), names.count, 2 * options.shots, ", ".join(few[:5]))
    return classes.shots(names, options.shots, seed)


def _largest(names: Classes) -> list[str]:
    return [
        f"{names.ids[i]} ({names.sizes[i]})" for i in np.argsort(-names.sizes, kind="stable")[:5]
    ]


def train(
    encoder: GroundedEncoder,
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
    accelerator, groups = (
        Accelerator(cpu=encoder.device.type == "cpu"),
        encoder.groups(options.learning_rate, options.weight_decay),
    )
    for event in run(
        encoder,
        groups,
        grounding.batches,
        grounding.plan(),
        accelerator,
        after_epoch=grounding.judge,
    ):
        on_event(event)
