"""The list-wise phase: synonyms rank before hypernyms before other names (BioSyn, BCNH).

Each query has a list of candidates, half of them the best by characters and the rest the best by
the encoder. The lists are made anew every epoch, and λ is trained with the encoder.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from linker.dictionary import Dictionary, NameTable
from linker.errors import LinkerError
from linker.linking.options import TrainingOptions
from linker.matching import SYNONYM, relevance
from linker.search.index import Floats, Integers, VectorIndex
from linker.search.sparse import SparseGenerator
from linker.training import losses
from linker.training.data import TrainingQuery, ids_of, name_of_each
from linker.training.loop import Batch, Losses, Phase
from linker.training.sampling import Stream, rng

if TYPE_CHECKING:
    from linker.training.encoder import ModelInTraining

logger = logging.getLogger(__name__)

# hypernym names that are sampled for the norm loss of a mention (k2), as in BCNH
_MAX_HYPERNYMS = 10


@dataclass(frozen=True, slots=True)
class Rules:
    """How the phase trains. The defaults are ours, chosen on development data."""

    relevance_temperature: float = 0.3  # the target is softmax(relevance / this)
    # lists without any relevant candidate stay in the loss, as in the published code
    keep_unjudged: bool = False
    # adam: weight decay is part of the gradient, as in the papers
    optimizer: Literal["adamw", "adam"] = "adamw"
    # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    warmup: float = 0.1
    clip: float = 1.0  # largest norm of the gradient; 0: no clipping
    keep_best: bool = True  # the epoch with the best development Acc@1
    patience: int = 2  # epochs without a better development Acc@1 before training stops; 0: never


_OURS = Rules()
_PUBLISHED = Rules(1.0, True, "adam", 0.0, 0.0, False, 0)  # BioSyn and BCNH


def prepare(model: ModelInTraining) -> Phase | None:
    """Make candidate lists of the annotated mentions, or of names of the dictionary."""
    options, recipe, data = model.options.training, model.options.recipe, model.data
    with torch.no_grad():  # a checkpoint of an earlier phase may hold another λ
        model.sparse_weight.fill_(recipe.sparse_weight)
    if not options.epochs or (data.queries is None and not options.dictionary_queries):
        return None
    if not len(_queries(model, 1)):
        logger.warning("no concept has two names, and no mention is annotated: no lists to learn")
        return None
    rules = _PUBLISHED if recipe.published else _OURS
    validates = model.validate is not None
    return Phase(
        "refit" if model.settings.refit else "rank",
        model,
        model.parameter_groups(options.learning_rate),
        _list_batches(model, rules),
        partial(_validate, model),
        options.epochs,
        steps=-(-len(_queries(model, 1)) // options.batch_size),
        optimizer=rules.optimizer,
        warmup=rules.warmup,
        clip=rules.clip,
        best_by="dev_acc1" if validates and rules.keep_best else "",
        patience=rules.patience if validates else 0,
        seed=options.seed,
    )


def _validate(model: ModelInTraining, epoch: int) -> Mapping[str, float]:
    metrics = {"sparse_weight": float(model.sparse_weight.detach())}
    if model.validate is not None:
        metrics |= model.validate(model.generator(model.options.training.precision))
    return metrics


def _queries(model: ModelInTraining, epoch: int) -> Sequence[TrainingQuery]:
    """The annotated mentions, or a sample of the names of the dictionary."""
    data, count = model.data, model.options.training.dictionary_queries
    if data.queries is not None:
        return data.queries
    return dictionary_queries(data.table, data.dictionary, count, model.seed, epoch)


def _list_batches(model: ModelInTraining, rules: Rules) -> Callable[[int], list[Batch]]:
    """Return the function that makes the batches of an epoch; sparse candidates are ranked once."""
    data, options = model.data, model.options.training

    def maker(queries: Sequence[TrainingQuery]) -> ListMaker:
        own = data.queries is None
        return ListMaker(queries, data.dictionary, data.names, options, exclude_own=own)

    annotated = None if data.queries is None else maker(data.queries)
    return lambda epoch: _batches(model, rules, annotated or maker(_queries(model, epoch)), epoch)


def _batches(model: ModelInTraining, rules: Rules, maker: ListMaker, epoch: int) -> list[Batch]:
    options, table = model.options.training, model.data.table
    lists = maker.make(_dense_candidates(model, maker))
    if not lists.with_gold.any():
        raise LinkerError(
            f"none of the {len(lists.rows):,} candidate lists holds a right name; "
            "raise top_k, or check the ids of the mentions"
        )
    hypernyms = np.empty((len(maker.queries), 0), np.int32)
    if options.hypernym_norm:
        hypernyms = maker.hypernym_names(rng(model.seed, Stream.HYPERNYMS, epoch))
    order = rng(model.seed, Stream.LIST_ORDER, epoch).permutation(len(maker.queries))
    batches = []
    for start in range(0, len(order), options.batch_size):
        rows = order[start : start + options.batch_size]
        queries = [maker.queries[row].text for row in rows]
        names = (*lists.rows[rows].ravel(), *hypernyms[rows].ravel())
        texts = [table.texts[row] for row in names if row >= 0]
        loss = partial(_loss, model, rules, lists[rows], hypernyms[rows] >= 0)
        batches.append(Batch([*queries, *texts], loss))
    return batches


def _dense_candidates(model: ModelInTraining, maker: ListMaker) -> np.ndarray:
    """The rows of the names that the encoder ranks highest for each query; -1: none."""
    table = model.data.table
    names = model.indexed_vectors()[: len(table)]
    queries, k = model.encode([query.text for query in maker.queries]), maker.width + 2
    rows = VectorIndex(names).search(queries, k).first(k).rows.reshape(-1, min(k, len(names)))
    rows[np.diff(table.indptr)[rows] == 0] = -1  # the empty name, which stands for no concept
    return rows


def _loss(
    model: ModelInTraining,
    rules: Rules,
    lists: CandidateLists,
    has_hypernym: np.ndarray,
    vectors: Tensor,
) -> Losses:
    """Compute the loss of candidate lists, and the norm loss if `hypernym_norm` is set.

    Args:
        model: scores the lists.
        rules: which lists count, and how.
        lists: B of them, of K places.
        has_hypernym: (B, H) bool, where there is a hypernym name.
        vectors: of the queries, then of the candidates and the hypernyms that there are.
    """
    options = model.options.training
    mask, sparse, relevance, above = (
        torch.from_numpy(values).to(vectors.device)
        for values in (lists.rows >= 0, lists.sparse, lists.relevance, has_hypernym)
    )
    mentions = vectors[: len(mask)]
    candidates, hypernyms = spread(vectors[len(mask) :], mask, above)
    dense = model.scale * torch.einsum("bd,bkd->bk", mentions, candidates)
    scores = dense + model.sparse_weight * sparse
    if options.loss == "listwise":
        each = losses.listwise(scores, relevance, mask, rules.relevance_temperature)
        counted = np.ones(len(mask), bool) if rules.keep_unjudged else lists.has_relevant
    else:
        each, counted = losses.marginal(scores, relevance, mask), lists.with_gold
    value = losses.mean_of_lists(each, torch.from_numpy(counted).to(vectors.device))
    weight = float(counted.sum())
    numbers = {"gold_share": (float(lists.with_gold.mean()), float(len(mask)))}
    if options.hypernym_norm:
        numbers["list_loss"] = (float(value.detach()), weight)
        norm = losses.hypernym_norm(mentions, hypernyms, above)
        numbers["norm_loss"] = (float(norm.detach()), float(above.any(-1).sum()))
        value = value + norm
    return {"loss": (value, weight), **numbers}


def spread(vectors: Tensor, *masks: Tensor) -> list[Tensor]:
    """Put a sequence of vectors into the places where masks are True, and zeros elsewhere.

    Args:
        vectors: (n, d), for the places of the first mask in row order, then of the next one.
        masks: bool (B, K), each with its own K.

    Returns:
        (B, K, d) for each mask.
    """
    padded, start = [], 0
    for mask in masks:
        places = mask.nonzero(as_tuple=True)
        count = len(places[0])
        empty = vectors.new_zeros(*mask.shape, vectors.shape[-1])
        padded.append(empty.index_put(places, vectors[start : start + count]))
        start += count
    return padded


def dictionary_queries(
    table: NameTable, dictionary: Dictionary, count: int, seed: int, epoch: int
) -> list[TrainingQuery]:
    """Sample queries from the names whose concept has another name.

    Args:
        table: the normalized names of the dictionary.
        dictionary: gives the ids of concepts.
        count: how many queries, all different; fewer where there are not as many names.
        seed: of the training.
        epoch: from 1.
    """
    has_several = np.bincount(table.concepts) >= 2
    rows = np.unique(name_of_each(table)[has_several[table.concepts]])
    sample = rng(seed, Stream.DICTIONARY_QUERIES, epoch).permutation(rows)[:count]
    ids = ids_of(table, dictionary)
    return [TrainingQuery(table.texts[row], frozenset(ids(row))) for row in sample.tolist()]


@dataclass(frozen=True, slots=True)
class CandidateLists:
    """The candidates of n queries, at most K each; shorter lists end in masked places."""

    rows: Integers  # (n, K) rows of the name table; -1 where masked
    sparse: Floats  # (n, K) sparse scores; 0 where masked
    relevance: NDArray[np.int8]  # (n, K) 2 synonym, 1 hypernym, 0 neither, or masked

    def __getitem__(self, rows: NDArray[np.int64]) -> CandidateLists:
        """Select lists, in the order of `rows`."""
        return CandidateLists(self.rows[rows], self.sparse[rows], self.relevance[rows])

    @property
    def has_relevant(self) -> NDArray[np.bool_]:
        """Whether each list holds a synonym or a hypernym, (n,)."""
        return np.asarray((self.relevance > 0).any(axis=1))

    @property
    def with_gold(self) -> NDArray[np.bool_]:
        """Whether each list holds a synonym, (n,)."""
        return np.asarray((self.relevance == SYNONYM).any(axis=1))


Hypernyms = tuple[frozenset[str], Integers]
"""The ids of the concepts above the right ones of a query, and rows of their names.

Names of a right concept are not among these.
"""


class ListMaker:
    """Makes the candidate lists of the same queries for every epoch.

    The sparse candidates are ranked once, when it is created; the dense ones are given to `make`.

    Args:
        queries: what is trained on.
        dictionary: gives ids and the hierarchy.
        sparse: ranks and scores the names of the dictionary, without those of mentions.
        options: of them `top_k` and `dense_ratio` are used.
        exclude_own: whether to leave the name that equals a query out of its list, where queries
            are names of the dictionary.

    Attributes:
        width: the most candidates of a list; one more dense name, and its own, always fill it.
    """

    def __init__(
        self,
        queries: Sequence[TrainingQuery],
        dictionary: Dictionary,
        sparse: SparseGenerator,
        options: TrainingOptions,
        *,
        exclude_own: bool = False,
    ) -> None:
        self.queries, self._sparse = tuple(queries), sparse
        table = sparse.table
        self.width = options.top_k
        self._texts = [query.text for query in queries]
        row_of = dict.fromkeys(self._texts, -1)  # of the texts that are names
        if exclude_own:
            row_of |= {text: row for row, text in enumerate(table.texts) if text in row_of}
        self._excluded = [row_of[text] for text in self._texts]
        self._ids = ids_of(table, dictionary)
        self._hypernyms = hypernyms_of(queries, table, dictionary)
        # rounded as in the published code
        sparse_count = options.top_k - int(options.top_k * options.dense_ratio)
        rankings = sparse.rank(self._texts, sparse_count + exclude_own, "names")
        self._sparse_rows = [
            [row for row in ranked.names.tolist() if row != excluded][:sparse_count]
            for excluded, ranked in zip(self._excluded, rankings, strict=True)
        ]

    def make(self, dense_rows: Integers) -> CandidateLists:
        """Fill the lists: the best sparse names, then the best dense ones that are not among them.

        As in BioSyn (Sung et al. 2020).

        Args:
            dense_rows: (queries, m) rows of the name table, best first; -1 where there are no
                more. m is `width` + 1 or more, or the number of all names if that is smaller.
        """
        count, width = len(self.queries), self.width
        rows, grades = np.full((count, width), -1, np.int32), np.zeros((count, width), np.int8)
        for i, dense in enumerate(dense_rows.tolist()):
            names = dict.fromkeys((*self._sparse_rows[i], *dense))
            names.pop(self._excluded[i], None)
            names.pop(-1, None)
            candidates = list(names)[:width]
            rows[i, : len(candidates)] = candidates
            right, (above, _) = self.queries[i].right, self._hypernyms[i]
            grades[i, : len(candidates)] = [
                relevance(self._ids(row), right, above) for row in candidates
            ]
        return CandidateLists(rows, self._sparse.similarity(self._texts, rows), grades)

    def hypernym_names(self, random: np.random.Generator) -> Integers:
        """Sample names of each query's hypernyms, without replacement.

        Args:
            random: the source of all samples.

        Returns:
            (queries, hypernyms) rows of the name table; -1 where there are no more.
        """
        rows = np.full((len(self.queries), _MAX_HYPERNYMS), -1, np.int32)
        for i, (_, names_above) in enumerate(self._hypernyms):
            names = random.permutation(names_above)[: rows.shape[1]]
            rows[i, : len(names)] = names
        return rows


def hypernyms_of(
    queries: Sequence[TrainingQuery], table: NameTable, dictionary: Dictionary
) -> list[Hypernyms]:
    """Find the hypernyms of each query. Queries with the same right ids share an object.

    Args:
        queries: what is trained on.
        table: the normalized names of the dictionary.
        dictionary: gives ids and the hierarchy.
    """
    ids = ids_of(table, dictionary)
    order = np.argsort(table.concepts, kind="stable")
    names = name_of_each(table)[order].astype(np.int32)
    starts = np.searchsorted(table.concepts[order], np.arange(len(dictionary) + 1)).tolist()

    @cache
    def hypernyms(right: frozenset[str]) -> Hypernyms:
        concepts = {row for identifier in right for row in dictionary.rows(identifier)}
        parents = dictionary.hierarchy.parents(sorted(concepts))
        above = {row for rows in parents for row in rows.tolist()} - concepts
        above -= dictionary.hierarchy.top
        spans = [names[starts[concept] : starts[concept + 1]].tolist() for concept in above]
        rows = sorted({row for span in spans for row in span})
        wrong = [row for row in rows if relevance(ids(row), right) != SYNONYM]
        above_ids = frozenset(dictionary.ids[concept] for concept in above)
        return above_ids, np.array(wrong, np.int32)

    return [hypernyms(query.right) for query in queries]
