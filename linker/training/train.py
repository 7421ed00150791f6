"""Training of a dense encoder for the hybrid score: self-alignment on synonyms, then the list-wise phase (BioSyn, BCNH)."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from scipy.sparse import csr_matrix
from torch import Tensor

from linker import persistence
from linker.candidates.base import Floats
from linker.candidates.dense import top_k
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import Encoder
from linker.encoders.grounded import GroundedEncoder
from linker.encoders.trainable import (
    Precision,
    TrainableEncoder,
    checksum,
    pick_device,
    resolve_precision,
)
from linker.errors import LinkerError, shown
from linker.options import AlignOptions, GroundOptions
from linker.ranker.lists import ListMaker, Lists, Query, dictionary_queries, with_synonyms
from linker.ranker.model import PROBE, ListwiseRanker, is_unit, scale_of, spread
from linker.ranker.options import RerankOptions, TrainingOptions
from linker.training import losses, sampling
from linker.training.checkpoints import Checkpoints
from linker.training.ground import Grounding, drawn
from linker.training.loop import Batch, Epoch, Loss, Plan, Step, run
from linker.types import Activity

logger = logging.getLogger(__name__)

_UNSEEN = (
    "mentions",
    "development",
    "indexed",
    "sparse.",
    "text.",
)  # parts of the fingerprint that self-alignment does not depend on

_ALIGNED = tuple(
    f"training.{name}" for name in ("seed", "device", "precision", "weight_decay")
)  # and those that it does depend on

Record = Mapping[str, Any]
"""One line of `training.jsonl`: the phase, the epoch, and what was measured."""

Validate = Callable[[HybridGenerator], Mapping[str, float]]
"""What development data says of the generator as it is after an epoch; `dev_acc1` decides which epoch is kept."""


@dataclass(frozen=True, slots=True)
class Material:
    """What is trained on, and what is indexed in the end.

    `queries` are annotated mentions; None draws names of the dictionary instead. `table` and `sparse` hold the names that lists are
    made of; `indexed` holds them as its first, and behind them the mentions that the model adds to its dictionary.
    """

    queries: Sequence[Query] | None
    dictionary: Dictionary
    sparse: SparseGenerator
    indexed: SparseGenerator
    frequency: Floats | None = (
        None  # (indexed names,) log(1 + how often a name's concept is annotated); training would see its own answer
    )

    @property
    def table(self) -> NameTable:
        """The names that lists are made of."""
        return self.sparse.table


@dataclass(frozen=True, slots=True)
class Run:
    """How and where a training runs."""

    training: TrainingOptions
    align: AlignOptions
    checkpoints: Path | None = None  # folder for checkpoints, one folder in it for each phase
    resume: bool = False  # go on from them, where there are any
    phase: str = "rank"  # name of the list-wise phase
    fingerprint: Mapping[str, object] = field(
        default_factory=dict
    )  # what is trained on, by checksum
    on_event: Callable[[Step | Record], None] = lambda event: (
        None
    )  # is told each step and each epoch
    on_activity: Callable[[Activity], None] = lambda part: (
        None
    )  # is told each phase as it begins, and how far the encoding of names is
    progress: bool = False  # show a bar while the names of the dictionary are encoded
    rerank: RerankOptions = field(default_factory=RerankOptions)
    ground: GroundOptions = field(default_factory=GroundOptions)


def fit(
    encoder: Encoder, material: Material, how: Run, validate: Validate | None = None
) -> tuple[HybridGenerator, list[Record]]:
    """Train an encoder and λ, and index the names with them.

    Args:
        encoder: is trained if it is a `TrainableEncoder`, and taken as it is otherwise.
        validate: judges each epoch of the list-wise phase.

    Returns:
        The generator, and a record of each epoch.
    """
    training = how.training
    if not material.dictionary.hierarchy.edges and (
        training.hypernym_norm or training.loss == "listwise"
    ):
        off = "the norm loss is switched off, and " * training.hypernym_norm
        logger.warning("the dictionary has no hierarchy: %sno candidate counts as hypernym", off)
        how = dataclasses.replace(how, training=dataclasses.replace(training, hypernym_norm=False))
    if not isinstance(encoder, TrainableEncoder):
        logger.warning("the encoder has no weights to train; it is used as it is")
        scale = scale_of(encoder, training)
        return HybridGenerator.index(
            material.indexed,
            encoder,
            training.sparse_weight / scale,
            _bias(material, training, scale),
        ), []
    encoder.to(pick_device(training.device))
    how = dataclasses.replace(
        how,
        training=dataclasses.replace(
            how.training, precision=resolve_precision(encoder.device, training.precision)
        ),
    )
    encoder.precision = how.training.precision
    trainer = _Trainer(encoder, material, how, validate)
    trainer.align()
    trainer.ground()
    trainer.rank()
    return trainer.generator("fp32"), trainer.history


class _Trainer:
    """The phases of a training, and what they share."""

    def __init__(
        self, encoder: TrainableEncoder, material: Material, how: Run, validate: Validate | None
    ) -> None:
        self.material, self.how, self.validate = material, how, validate
        if how.training.hypernym_norm and is_unit(encoder):
            group = getattr(encoder.options, "group", "encoder")
            remedy = f"set {group}.normalize=false" if encoder.options else "take another encoder"
            raise LinkerError(
                f"the norm loss needs vectors of any length, these are unit vectors; {remedy}"
            )
        self.accelerator = Accelerator(cpu=encoder.device.type == "cpu")
        if (
            self.accelerator.device.type != encoder.device.type
        ):  # accelerate settles it once for a process
            raise LinkerError(
                f"this process has trained on the {self.accelerator.device.type} before; train on another device in a new one"
            )
        encoder.to(self.accelerator.device)
        self.ranker = ListwiseRanker(
            encoder, scale_of(encoder, how.training), how.training.sparse_weight
        )
        self.history: list[Record] = []
        self._vectors: tuple[tuple[str, Precision], Floats] | None = (
            None  # of the indexed names, and which weights made them
        )
        if how.checkpoints and not how.resume and self.accelerator.is_main_process:
            for phase in (
                "align",
                "ground",
                how.phase,
                f"{how.phase}-rerank",
            ):  # a later --resume must not find those of an earlier training
                Checkpoints(how.checkpoints / phase, {}).clear()

    def generator(self, precision: Precision) -> HybridGenerator:
        """Index the names with the weights of now; scores are divided by the scale, so that those of unit vectors are about a cosine."""
        self.ranker.encoder.precision = precision
        scale = self.ranker.scale
        weight, bias = (
            float(self.ranker.sparse_weight.detach()) / scale,
            _bias(self.material, self.how.training, scale),
        )
        return HybridGenerator(
            self.material.indexed, self.ranker.encoder, self._indexed(), weight, bias
        )

    def align(self) -> None:
        """Draw the synonyms of the dictionary together: InfoNCE on pairs, the others of a batch being the negatives (after SapBERT)."""
        options, seed = self.how.align, self.how.training.seed
        count = len(sampling.synonym_pairs(self.material.table, seed, 1))
        if not (options.epochs and count and [*self.ranker.encoder.parameters()]):
            return
        plan = Plan(
            options.epochs,
            -(-count // options.batch_size),
            warmup=options.warmup,
            clip=1.0,
            seed=seed,
        )
        self._run(
            "align", self._groups(options.learning_rate)[:1], self._pair_batches, plan, self._check
        )

    def ground(self) -> None:
        """Draw the names of a concept together, away from others and to the concept's prototype (see `ranker.ground`)."""
        options, encoder = self.how.ground, self.ranker.encoder
        if not (
            options.epochs and isinstance(encoder, GroundedEncoder) and [*encoder.parameters()]
        ):
            return
        seed = self.how.training.seed
        names, judged = drawn(options, self.material.table, self.material.dictionary, seed)
        grounding = Grounding(encoder, names, options, seed, self._encode, self._share, judged)
        if len(grounding.alone):
            alone, count = len(grounding.alone), grounding.names.count
            logger.info(
                "%d of %d classes have one name or no other class beside them: no other name to draw to",
                alone,
                count,
            )
        judge = lambda epoch: {**self._check(epoch), **grounding.judge(epoch)}  # noqa: E731
        self._run(
            "ground",
            encoder.groups(options.learning_rate, options.weight_decay),
            grounding.batches,
            grounding.plan(),
            judge,
        )

    def rank(self) -> None:
        """Rank synonyms before hypernyms before the rest, in lists that are made anew every epoch."""
        options = self.how.training
        with (
            torch.no_grad()
        ):  # the checkpoint of an earlier phase may be of a training with another one
            self.ranker.sparse_weight.fill_(options.sparse_weight)
        if not options.epochs or (self.material.queries is None and not options.dictionary_queries):
            return
        if (
            self.material.queries is None
            and self.history
            and not len(with_synonyms(self.material.table))
        ):
            logger.warning(
                "no concept has two names, and there are no annotated mentions: the list-wise phase is left out"
            )
            return
        count = len(self._queries(1))
        plan = Plan(
            options.epochs,
            -(-count // options.batch_size),
            options.optimizer,
            options.warmup,
            options.clip,
            best_by="dev_acc1" if self.validate and options.keep_best else None,
            patience=options.patience if self.validate else 0,
            seed=options.seed,
        )
        self._run(
            self.how.phase,
            self._groups(options.learning_rate),
            self._list_batches(),
            plan,
            self._judge,
        )

    def _run(
        self,
        phase: str,
        groups: list[dict[str, Any]],
        make_batches: Callable[[int], list[Batch]],
        plan: Plan,
        after_epoch: Callable[[int], Mapping[str, float]],
    ) -> None:
        checkpoints = self._checkpoints(phase)
        self.how.on_activity(Activity(phase, epochs=plan.epochs))
        for event in run(
            self.ranker,
            groups,
            make_batches,
            plan,
            self.accelerator,
            after_epoch=after_epoch,
            checkpoints=checkpoints,
        ):
            if isinstance(event, Epoch):
                self.history.append({"phase": phase, **event.record})
            self.how.on_event(self.history[-1] if isinstance(event, Epoch) else event)

    def _checkpoints(self, phase: str) -> Checkpoints | None:
        how = self.how
        if how.checkpoints is None:
            return None
        grounds = isinstance(self.ranker.encoder, GroundedEncoder) and phase != "align"
        fingerprint, training = (
            {**how.fingerprint, **flat(how, "align", *["ground"] * grounds)},
            flat(how, "training"),
        )
        if phase in ("align", "ground"):
            fingerprint = {
                name: value for name, value in fingerprint.items() if not name.startswith(_UNSEEN)
            }
            training = {name: training[name] for name in _ALIGNED}
        fingerprint |= training
        checkpoints = Checkpoints(how.checkpoints / phase, fingerprint)
        return dataclasses.replace(checkpoints, resume=how.resume and checkpoints.exists)

    def _groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """The encoder's parameters, then λ, which has a learning rate of its own and does not decay."""
        options = self.how.training
        weights = [
            parameter for parameter in self.ranker.encoder.parameters() if parameter.requires_grad
        ]
        return [
            {"params": weights, "lr": learning_rate, "weight_decay": options.weight_decay},
            {
                "params": [self.ranker.sparse_weight],
                "lr": options.sparse_learning_rate,
                "weight_decay": 0.0,
            },
        ]

    @property
    def _share(self) -> slice:
        """This process's share of a batch."""
        return slice(self.accelerator.process_index, None, self.accelerator.num_processes)

    def _encode(self, names: Sequence[str], progress: bool = False) -> Floats:
        """Encode names, each process a share of them; float32 (len(names), dim).

        Raises:
            LinkerError: the vectors are not finite.
        """

        def tell(done: int, count: int) -> None:
            at = f"{done:,} of {count:,}"
            self.how.on_activity(Activity("encoding names", done / count, at))

        shares = gather_object(
            [self.ranker.encoder.encode(names[self._share], progress=progress or tell)]
        )
        vectors = np.empty((len(names), self.ranker.encoder.dim), np.float32)
        for i, share in enumerate(shares):
            vectors[i :: len(shares)] = share
        if not np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all():
            kept = (
                f"; the last good checkpoint is kept in {self.how.checkpoints}"
                if self.how.checkpoints
                else ""
            )
            raise LinkerError(
                f"the encoder makes vectors that are not finite; training stopped{kept}; try a lower learning rate"
            )
        return vectors

    def _indexed(self) -> Floats:
        """The vectors of the indexed names in half precision, which halves the model; encoded anew only where the weights have changed."""
        made_by = checksum(self.ranker.encoder), self.ranker.encoder.precision
        if self._vectors is None or self._vectors[0] != made_by:
            self._vectors = None  # before the new ones take their memory
            bar = self.how.progress and self.accelerator.is_main_process
            self._vectors = (
                made_by,
                persistence.halved(self._encode(list(self.material.indexed.table.texts), bar)),
            )
        return self._vectors[1]

    def _check(self, epoch: int) -> Mapping[str, float]:
        """Refuse weights that the last step of an epoch broke, before they are kept."""
        self._encode(PROBE)
        return {}

    # Self-alignment

    def _pair_batches(self, epoch: int) -> list[Batch]:
        options, seed = self.how.align, self.how.training.seed
        pairs = sampling.synonym_pairs(self.material.table, seed, epoch)
        texts = self.material.table.texts
        vectors = (
            self._encode([texts[row] for row in pairs.left]) if options.hard_negatives else None
        )
        order = sampling.order(pairs, vectors, options.batch_size, seed, epoch)
        cut = (
            pairs[order[i : i + options.batch_size][self._share]]
            for i in range(0, len(order), options.batch_size)
        )
        member = _membership(self.material.table)
        return [
            Batch(
                [texts[row] for row in (*part.left, *part.right)],
                partial(
                    _alignment,
                    (member[part.left] @ member[part.right].T).toarray() > 0,
                    options.temperature,
                ),
            )
            for part in cut
        ]

    # The list-wise phase

    def _queries(self, epoch: int) -> Sequence[Query]:
        if self.material.queries is not None:
            return self.material.queries
        options = self.how.training
        return dictionary_queries(
            self.material.table,
            self.material.dictionary,
            options.dictionary_queries,
            options.seed,
            epoch,
        )

    def _maker(self, queries: Sequence[Query]) -> ListMaker:
        material = self.material
        return ListMaker(
            queries,
            material.dictionary,
            material.sparse,
            self.how.training,
            exclude_own=material.queries is None,
        )

    def _list_batches(self) -> Callable[[int], list[Batch]]:
        """What makes the batches of an epoch; the sparse rankings of mentions are computed once."""
        annotated = (
            self._maker(self.material.queries) if self.material.queries is not None else None
        )
        return lambda epoch: self._batches_of(annotated or self._maker(self._queries(epoch)), epoch)

    def _batches_of(self, maker: ListMaker, epoch: int) -> list[Batch]:
        options, texts = self.how.training, self.material.table.texts
        names = self._indexed()[: len(texts)]
        found, _ = top_k(
            self._encode([query.text for query in maker.queries]), names, maker.dense_wanted + 1
        )
        found[
            np.diff(self.material.table.indptr)[found] == 0
        ] = -1  # the empty name, which stands for no concept
        lists = maker.make(found)
        if not lists.with_gold.any():
            raise LinkerError(
                f"none of the {len(lists.rows):,} candidate lists holds a right name; raise top_k, or check the ids of the mentions"
            )
        above = (
            maker.hypernym_names(epoch)
            if options.hypernym_norm
            else np.empty((len(maker.queries), 0), np.int32)
        )
        order = np.random.default_rng((options.seed, epoch)).permutation(len(maker.queries))
        batches = []
        for i in range(0, len(order), options.batch_size):
            rows = order[i : i + options.batch_size][self._share]
            queries = [maker.queries[row].text for row in rows]
            others = [
                texts[row] for row in (*lists.rows[rows].ravel(), *above[rows].ravel()) if row >= 0
            ]
            batches.append(
                Batch([*queries, *others], partial(self._list_loss, _cut(lists, rows), above[rows]))
            )
        return batches

    def _list_loss(self, lists: Lists, above: np.ndarray, vectors: Tensor) -> Loss:
        options = self.how.training
        device = vectors.device
        mask, sparse = (
            torch.from_numpy(lists.mask).to(device),
            torch.from_numpy(lists.sparse).to(device),
        )
        relevance = torch.from_numpy(lists.relevance).to(device)
        hypernyms = torch.from_numpy(above >= 0).to(device)
        mentions, candidates = vectors[: len(mask)], spread(vectors[len(mask) :], mask, hypernyms)
        scores = self.ranker.scores(mentions, candidates[0], sparse)
        if options.loss == "listwise":
            each, judged = (
                losses.listwise(scores, relevance, mask, options.relevance_temperature),
                lists.judged,
            )
            judged = np.ones_like(judged) if options.keep_unjudged else judged
        else:
            each, judged = losses.marginal(scores, relevance, mask), lists.with_gold
        value = losses.mean_of_lists(each, torch.from_numpy(judged).to(device))
        numbers = {"gold_share": (lists.gold_share, float(len(mask)))}
        if options.hypernym_norm:
            numbers["list_loss"] = (float(value.detach()), float(judged.sum()))
            norm = losses.hypernym_norm(mentions, candidates[1], hypernyms)
            numbers["norm_loss"] = (float(norm.detach()), float(hypernyms.any(-1).sum()))
            value = value + options.norm_weight * norm
        return Loss(value, float(judged.sum()), numbers)

    def _judge(self, epoch: int) -> Mapping[str, float]:
        metrics = {**self._check(epoch), "sparse_weight": float(self.ranker.sparse_weight.detach())}
        return (
            metrics
            if self.validate is None
            else metrics | dict(self.validate(self.generator(self.how.training.precision)))
        )


def _bias(material: Material, options: TrainingOptions, scale: float) -> Floats | None:
    """What is added to the score of each name when linking."""
    return (
        None
        if material.frequency is None
        else np.float32(options.frequency_weight / scale) * material.frequency
    )


def _membership(table: NameTable) -> csr_matrix:
    """Which concepts a name stands for: (names, concepts), 1 or 0."""
    shape = len(table), int(table.concepts.max(initial=0)) + 1
    return csr_matrix(
        (np.ones(len(table.concepts), np.int32), table.concepts, table.indptr), shape=shape
    )


def _alignment(same: np.ndarray, temperature: float, vectors: Tensor) -> Loss:
    """The loss of pairs; `same` (pairs, pairs) says which left and right names share a concept, and so are no negatives."""
    left, right = vectors[: len(same)], vectors[len(same) :]
    return Loss(
        losses.info_nce(left, right, torch.from_numpy(same).to(vectors.device), temperature),
        len(same),
    )


def _cut(lists: Lists, rows: Any) -> Lists:
    return Lists(lists.rows[rows], lists.sparse[rows], lists.relevance[rows], lists.mask[rows])


def flat(options: object, *groups: str) -> dict[str, object]:
    """The options of some groups, those that there are, as `group.field`; texts, which may be paths, as files can hold them."""
    records = {
        group: record for group in groups if (record := getattr(options, group, None)) is not None
    }
    fields = (
        (f"{getattr(record, 'group', group)}.{name}", value)
        for group, record in records.items()
        for name, value in dataclasses.asdict(record).items()
    )
    return {name: shown(value) if isinstance(value, str) else value for name, value in fields}
