"""Training on an encoder that is small enough to compute its losses a second, slow way."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from linker import Dictionary  # noqa: E402
from linker.candidates.base import Floats  # noqa: E402
from linker.candidates.hybrid import HybridGenerator  # noqa: E402
from linker.candidates.sparse import SparseGenerator  # noqa: E402
from linker.encoders.base import Encoder  # noqa: E402
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions  # noqa: E402
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.options import AlignOptions  # noqa: E402
from linker.ranker.lists import ListMaker, Lists, Query  # noqa: E402
from linker.ranker.model import ListwiseRanker  # noqa: E402
from linker.ranker.options import TrainingOptions  # noqa: E402
from linker.training import train  # noqa: E402
from linker.training.checkpoints import Interrupted  # noqa: E402
from linker.training.loop import Step  # noqa: E402
from linker.training.train import Material, Record, Run, fit  # noqa: E402

HALF = 2**-12  # the most that half precision moves a number below 1
HEADER = "id\tname\tsynonyms\tparents"
SMALL = """
D:0\tdisease\tillness\t
D:1\ttumor\tmass|growth\tD:0
D:2\tlymphoma\tlymphoid mass|growth\tD:1
D:3\tburkitt\tburkitt tumor|jaw lymphoma\tD:2|D:4
D:4\tviral disease\tviral infection\tD:0
D:5\tfever\tpyrexia\tD:0
D:6\thay fever\tpollen allergy\tD:7
D:7\tallergy\thypersensitivity|atopy\tD:0
"""
PARENTS = {
    "D:1": {"D:0"},
    "D:2": {"D:1"},
    "D:3": {"D:2", "D:4"},
    "D:4": {"D:0"},
    "D:5": {"D:0"},
    "D:6": {"D:7"},
    "D:7": {"D:0"},
}
ROOT = "D:0"
MENTIONS = [
    ("burkitts", "D:3"),
    ("lymph tumor", "D:2"),
    ("a fever", "D:5"),
    ("hay allergy", "D:6"),
    ("viral illness", "D:4"),
    ("mass", "D:1"),
]


class Letters(TrainableEncoder):
    """A name is the mean of its letters' vectors, through a layer; from the `breaks`-th time with gradients on it is not a number."""

    def __init__(
        self, *, normalize: bool = True, dropout: float = 0.0, breaks: int = 10**6
    ) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(4)
            self.letters, self.out = nn.Embedding(128, 8), nn.Linear(8, 6)
        self.factor = nn.Parameter(torch.tensor(1.0))  # weights may be scalars
        self.dropout, self.normalize, self.left = nn.Dropout(dropout), normalize, breaks

    @property
    def dim(self) -> int:
        return 6

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [[ord(letter) % 128 for letter in name] or [0] for name in names]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        width = max(map(len, tokens))
        return {"letters": torch.tensor([[*ids, *[-1] * (width - len(ids))] for ids in tokens])}

    def forward(self, batch: Batch) -> Tensor:
        there = (batch["letters"] >= 0).unsqueeze(-1)
        vectors = self.letters(batch["letters"].clamp(min=0)) * there
        vectors = self.out(self.dropout(vectors.sum(1) / there.sum(1))) * self.factor
        return functional.normalize(vectors, dim=-1) if self.normalize else vectors

    def embed(self, names: Sequence[str]) -> Tensor:
        self.left -= 1
        return super().embed(names) * (1 if self.left >= 0 else math.nan)

    def save(self, folder: Path) -> None: ...

    @classmethod
    def load(cls, folder: Path) -> Letters:
        return cls()


class Plain(Encoder):
    """An encoder without weights: the counts of a few letters."""

    def __init__(self, length: float = 1.0) -> None:
        self.length = length

    @property
    def dim(self) -> int:
        return 3

    def encode(
        self, names: Sequence[str], *, batch_size: int = 256, progress: bool = False
    ) -> Floats:
        counts = np.array(
            [[1 + name.count(letter) for letter in "aeo"] for name in names], np.float32
        )
        return self.length * counts / np.linalg.norm(counts, axis=1, keepdims=True)

    def save(self, folder: Path) -> None: ...

    @classmethod
    def load(cls, folder: Path) -> Plain:
        return cls()


pytestmark = pytest.mark.usefixtures("one_thread", "no_accelerator_state")


def read(text: str, folder: Path) -> Dictionary:
    path = folder / "small.tsv"
    path.write_text(f"{HEADER}\n{text.strip(chr(10))}\n", encoding="utf-8")
    return Dictionary.read(path, format="table")


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    return read(SMALL, tmp_path_factory.mktemp("train"))


def material(
    dictionary: Dictionary, mentions: Sequence[tuple[str, str]] | None = MENTIONS
) -> Material:
    """What is trained on; with mentions, these are indexed too."""
    table = dictionary.table(str)
    encoder = TfidfEncoder(TfidfOptions("char", 1, 2))
    encoder.fit([text for text in table.texts if text])
    sparse = SparseGenerator.index(table, dictionary, encoder)
    if mentions is None:
        return Material(None, dictionary, sparse, sparse)
    extended = dictionary.add((text, [identifier]) for text, identifier in mentions)
    indexed = SparseGenerator.index(extended.table(str), extended, encoder)
    return Material(
        [Query(text, frozenset({identifier})) for text, identifier in mentions],
        dictionary,
        sparse,
        indexed,
    )


BASE = {
    "epochs": 2,
    "batch_size": 4,
    "top_k": 6,
    "learning_rate": 0.01,
    "warmup": 0.0,
    "device": "cpu",
    "precision": "fp32",
}


def a_run(
    *, align: int = 0, checkpoints: Path | None = None, resume: bool = False, **options: Any
) -> Run:
    aligning = AlignOptions(epochs=align, batch_size=6, learning_rate=0.01)
    return Run(TrainingOptions(**BASE | options), aligning, checkpoints, resume)


def told(how: Run, on_event: Callable[[Step | Record], None]) -> Run:
    return dataclasses.replace(how, on_event=on_event)


Outcome = tuple[dict[str, Any], float, list[list[float]], list[Record]]


def outcome(generator: HybridGenerator, history: list[Record]) -> Outcome:
    """All that a training ends with."""
    assert isinstance(generator.encoder, Letters)
    weights = {name: tensor.tolist() for name, tensor in generator.encoder.state_dict().items()}
    return weights, generator.sparse_weight, generator.vectors.tolist(), history


def trained(what: Material, how: Run, **encoder: Any) -> Outcome:
    return outcome(*fit(Letters(**encoder), what, how))


# ------------------------------------------------------------------------------------------------------------- the score


def test_scores_by_hand() -> None:
    ranker = ListwiseRanker(Letters(), scale=2.0, sparse_weight=0.5)
    mentions = torch.tensor([[1.0, 2.0], [0.0, -1.0]])
    candidates = torch.tensor([[[3.0, 4.0], [1.0, 0.0]], [[5.0, 6.0], [0.0, 2.0]]])
    sparse = torch.tensor([[0.25, 0.0], [1.0, 0.5]])
    expected = [
        [2 * (1 * 3 + 2 * 4) + 0.5 * 0.25, 2 * 1 + 0],
        [2 * -6 + 0.5 * 1, 2 * -2 + 0.5 * 0.5],
    ]
    assert ranker.scores(mentions, candidates, sparse).tolist() == expected
    ranker.scores(mentions, candidates, sparse).sum().backward()
    assert ranker.sparse_weight.grad == 0.25 + 0 + 1 + 0.5


# ------------------------------------------------------------------------------------------------------ the loss of a batch


def slow_list(
    text: str, what: Material, vectors: Mapping[str, Floats], options: TrainingOptions
) -> list[tuple[str, float]]:
    """The candidates of a query with their sparse scores: the best sparse ones, then the best dense ones that are new."""
    names = list(what.table.texts)
    rows = what.sparse.encoder.encode([text, *names]).toarray()
    sparse = {name: float(rows[0] @ row) for name, row in zip(names, rows[1:], strict=True)}
    by_sparse = sorted((name for name in names if sparse[name] > 0), key=lambda name: -sparse[name])
    by_dense = sorted(names, key=lambda name: -float(vectors[text] @ vectors[name]))
    half = options.top_k - int(options.top_k * options.dense_ratio)
    chosen = list(dict.fromkeys([*by_sparse[:half], *by_dense]))[: options.top_k]
    return [(name, sparse[name]) for name in chosen]


def softmax(values: Sequence[float]) -> list[float]:
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def slow_loss(what: Material, encoder: Letters, options: TrainingOptions, scale: float) -> float:
    """The loss of all queries as one batch, from the formulas of the papers, one number at a time."""
    names = list(what.table.texts)
    queries = what.queries or ()
    texts = [*names, *(query.text for query in queries)]
    vectors = {
        text: row.astype(np.float64) for text, row in zip(texts, encoder.encode(texts), strict=True)
    }
    of = {
        name: {f"D:{c}" for c in what.table.concepts[slice(*what.table.indptr[i : i + 2])]}
        for i, name in enumerate(names)
    }
    lists, norms = [], []
    for query in queries:
        right = query.right
        above = {parent for identifier in right for parent in PARENTS.get(identifier, set())} - {
            ROOT
        }
        found = slow_list(query.text, what, vectors, options)
        y = [2 if of[name] & right else 1 if of[name] & above else 0 for name, _ in found]
        z = [
            scale * float(vectors[query.text] @ vectors[name]) + options.sparse_weight * sparse
            for name, sparse in found
        ]
        p = softmax(z)
        if options.loss == "listwise" and (any(y) or options.keep_unjudged):
            target = softmax([grade / options.relevance_temperature for grade in y])
            lists.append(-sum(t * math.log(q) for t, q in zip(target, p, strict=True)))
        if options.loss == "marginal" and 2 in y:
            lists.append(-math.log(sum(q for q, grade in zip(p, y, strict=True) if grade == 2)))
        own = float(np.linalg.norm(vectors[query.text]))
        lengths = [
            float(np.linalg.norm(vectors[name]))
            for name in names
            if of[name] & above and not of[name] & right
        ]
        if lengths:
            norms.append(mean([(own - length) / (own + length) for length in lengths]))
    return mean(lists) + (options.norm_weight * mean(norms) if options.hypernym_norm else 0)


@pytest.mark.parametrize(
    ("options", "normalize"),
    [
        ({}, True),
        ({"score_scale": 3.0, "sparse_weight": 0.4, "relevance_temperature": 0.5}, True),
        ({"loss": "marginal", "sparse_weight": -0.3, "score_scale": 2.0}, False),
        ({"dense_ratio": 0.7, "top_k": 3, "keep_unjudged": True}, False),
        ({"dense_ratio": 0.7, "top_k": 3}, False),
        ({"loss": "marginal", "dense_ratio": 1.0, "top_k": 3}, True),
        (
            {"hypernym_norm": True, "norm_weight": 0.5, "max_hypernyms": 20, "sparse_weight": 1.0},
            False,
        ),
        (
            {
                "hypernym_norm": True,
                "norm_weight": 2.0,
                "max_hypernyms": 20,
                "loss": "marginal",
                "top_k": 2,
            },
            False,
        ),
        ({"top_k": 30}, True),  # more than there are names
    ],
)
def test_the_loss_of_a_batch_is_that_of_the_formulas(
    dictionary: Dictionary, options: dict[str, Any], normalize: bool
) -> None:
    what, encoder = material(dictionary), Letters(normalize=normalize)
    how = a_run(epochs=1, batch_size=10, **options)
    expected = slow_loss(
        what, encoder, how.training, how.training.score_scale or (20.0 if normalize else 1.0)
    )
    steps: list[Any] = []
    fit(encoder, what, told(how, steps.append))
    assert steps[0] == Step(1, 1, 1, pytest.approx(expected, rel=1e-5))
    assert steps[1]["loss"] == pytest.approx(expected, rel=1e-5)


def test_some_lists_of_the_formulas_hold_nothing_right(dictionary: Dictionary) -> None:
    """Otherwise the test above would not see whether they count."""
    options = {"epochs": 1, "top_k": 3, "dense_ratio": 0.7, "batch_size": 10}
    losses = [
        trained(material(dictionary), a_run(keep_unjudged=keep, **options), normalize=False)[3]
        for keep in (False, True)
    ]
    assert losses[0][0]["loss"] != losses[1][0]["loss"]
    assert losses[0][0]["gold_share"] == losses[1][0]["gold_share"] < 1


def slow_alignment(
    encoder: Letters, dictionary: Dictionary, pairs: Sequence[tuple[str, str]], temperature: float
) -> float:
    means: dict[str, set[int]] = {}  # names that share a concept are no negatives
    for concept in range(len(dictionary)):
        for row in dictionary.name_rows(concept):
            means.setdefault(dictionary.names[row], set()).add(concept)
    vectors = {
        text: row.astype(np.float64)
        for text, row in zip(dictionary.names, encoder.encode(dictionary.names), strict=True)
    }

    def cosine(a: str, b: str) -> float:
        return (
            float(vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b]))
            / temperature
        )

    both = []
    for left, right in pairs:
        own = math.exp(cosine(left, right))
        both.append(
            -math.log(
                own
                / (
                    own
                    + sum(math.exp(cosine(left, b)) for _, b in pairs if not means[left] & means[b])
                )
            )
        )
        both.append(
            -math.log(
                own
                / (
                    own
                    + sum(
                        math.exp(cosine(a, right)) for a, _ in pairs if not means[a] & means[right]
                    )
                )
            )
        )
    return mean(both)


@pytest.mark.parametrize("hard", [True, False])
def test_the_loss_of_self_alignment_is_that_of_the_formula(
    dictionary: Dictionary, hard: bool
) -> None:
    what, encoder = material(dictionary, None), Letters(normalize=False)
    drawn = train.sampling.synonym_pairs(what.table, 0, 1)
    texts = what.table.texts
    pairs = [(texts[a], texts[b]) for a, b in zip(drawn.left, drawn.right, strict=True)]
    expected = slow_alignment(encoder, dictionary, pairs, 0.2)
    steps: list[Any] = []
    how = Run(
        TrainingOptions(**BASE | {"epochs": 0}),
        AlignOptions(1, 100, 0.01, temperature=0.2, hard_negatives=hard),
        on_event=steps.append,
    )
    _, history = fit(encoder, what, how)
    assert steps[0] == Step(1, 1, 1, pytest.approx(expected, rel=1e-5))
    assert [(record["phase"], record["epoch"]) for record in history] == [("align", 1)]


# ---------------------------------------------------------------------------------------------------------- what moves how


def test_lambda_has_a_learning_rate_of_its_own(dictionary: Dictionary) -> None:
    """A first step of Adam moves each weight by its learning rate."""
    before = Letters().state_dict()
    options = {
        "epochs": 1,
        "batch_size": 10,
        "sparse_learning_rate": 0.25,
        "learning_rate": 0.001,
        "weight_decay": 0.0,
        "clip": 0.0,
    }
    weights, moved, _, _ = trained(material(dictionary), a_run(**options))
    assert moved == pytest.approx(
        0.25 / 20, rel=1e-3
    )  # upwards: names that share letters are right more often
    assert max(
        float((torch.tensor(weights[name]) - before[name]).abs().max()) for name in before
    ) == pytest.approx(0.001, rel=1e-2)


def test_lambda_stays_where_it_starts_without_a_learning_rate(dictionary: Dictionary) -> None:
    assert (
        trained(material(dictionary), a_run(sparse_learning_rate=0.0, sparse_weight=1.5))[1]
        == 1.5 / 20
    )


def test_lambda_does_not_decay(tmp_path: Path) -> None:
    what = material(
        read("D:0\tfever\t\t", tmp_path), [("a fever", "D:0")]
    )  # a list of one has no gradient
    weights, sparse_weight, _, _ = trained(
        what, a_run(sparse_learning_rate=0.25, sparse_weight=1.5, weight_decay=0.5)
    )
    assert sparse_weight == 1.5 / 20
    assert weights["factor"] == pytest.approx(
        (1 - 0.01 * 0.5) ** 2
    )  # as all else does, once for each step


def test_self_alignment_leaves_lambda_alone_and_draws_synonyms_together(
    dictionary: Dictionary,
) -> None:
    what, encoder = material(dictionary, None), Letters()
    pairs = train.sampling.synonym_pairs(what.table, 0, 1)
    texts = list(what.table.texts)

    def cosines() -> float:
        vectors = encoder.encode(texts)
        return float((vectors[pairs.left] * vectors[pairs.right]).sum(1).mean())

    before = cosines()
    generator, history = fit(encoder, what, a_run(align=8, epochs=0, sparse_weight=0.25))
    assert generator.sparse_weight == 0.25 / 20
    assert cosines() > before + 0.1
    assert history[-1]["loss"] < history[0]["loss"]


@pytest.mark.parametrize("loss", ["listwise", "marginal"])
def test_training_ranks_what_it_was_trained_on(dictionary: Dictionary, loss: str) -> None:
    mentions = [("qqq", "D:5"), ("zzz", "D:4"), ("kkk", "D:7")]
    what = material(dictionary, mentions)
    what = dataclasses.replace(
        what, indexed=what.sparse
    )  # mentions that are names are found without training

    def first(generator: HybridGenerator) -> list[str]:
        return [
            f"D:{ranked.concepts[0]}"
            for ranked in generator.concepts([text for text, _ in mentions], 1)
        ]

    options = {
        "loss": loss,
        "epochs": 12,
        "learning_rate": 0.03,
        "top_k": 20,
        "relevance_temperature": 0.2,
    }
    generator, history = fit(Letters(), what, a_run(**options))
    assert (
        first(generator) == ["D:5", "D:4", "D:7"] != first(fit(Letters(), what, a_run(epochs=0))[0])
    )
    assert history[-1]["loss"] < history[0]["loss"]


def test_the_generator_has_the_trained_weights_and_indexes_the_mentions_too(
    dictionary: Dictionary,
) -> None:
    what = material(dictionary)
    generator, history = fit(Letters(dropout=0.2), what, a_run())
    texts = list(what.indexed.table.texts)
    assert texts[-5:] == [
        "burkitts",
        "lymph tumor",
        "a fever",
        "hay allergy",
        "viral illness",
    ]  # "mass" is one of its names
    assert generator.table is what.indexed.table
    assert generator.encoder.encode(texts) == pytest.approx(generator.vectors, abs=HALF)
    assert (generator.vectors == generator.vectors.astype(np.float16)).all()
    assert not generator.encoder.training  # type: ignore[attr-defined]
    assert generator.sparse_weight == pytest.approx(history[-1]["sparse_weight"] / 20)


def test_bf16_is_for_training_and_what_is_kept_is_made_in_fp32(dictionary: Dictionary) -> None:
    what, encoder = material(dictionary), Letters()
    judged: list[Floats] = []

    def judge(generator: HybridGenerator) -> dict[str, float]:
        judged.append(generator.vectors)
        return {"dev_acc1": 0.0}

    generator, _ = fit(encoder, what, a_run(epochs=1, precision="bf16"), judge)
    exact = encoder.encode(list(what.indexed.table.texts))
    assert encoder.precision == "fp32"
    assert generator.vectors == pytest.approx(exact, abs=HALF)
    assert HALF < np.abs(judged[0] - exact).max() < 0.05


# ------------------------------------------------------------------------------------------------------------------- lists


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ListMaker, Lists]]:
    """The lists of each epoch."""
    seen = []
    make = ListMaker.make

    def spy(self: ListMaker, dense_rows: Any) -> Lists:
        seen.append((self, make(self, dense_rows)))
        return seen[-1][1]

    monkeypatch.setattr(ListMaker, "make", spy)
    return seen


def in_lists(
    what: Material, made: Sequence[tuple[ListMaker, Lists]]
) -> list[tuple[str, list[str]]]:
    texts = what.table.texts
    return [
        (query.text, [texts[row] for row in rows if row >= 0])
        for maker, lists in made
        for query, rows in zip(maker.queries, lists.rows.tolist(), strict=True)
    ]


def test_without_mentions_names_are_asked_and_are_never_in_their_own_lists(
    dictionary: Dictionary, made: list[tuple[ListMaker, Lists]]
) -> None:
    what = material(dictionary, None)
    _, history = fit(Letters(), what, a_run(epochs=3, dictionary_queries=7, top_k=5))
    assert [len(maker.queries) for maker, _ in made] == [7, 7, 7]
    assert (
        len({tuple(query.text for query in maker.queries) for maker, _ in made}) == 3
    )  # drawn anew
    for text, names in in_lists(what, made):
        assert text not in names
        assert len(set(names)) == 5
    assert all(0 < record["gold_share"] <= 1 for record in history)


def test_a_mention_that_is_a_name_may_find_itself(
    dictionary: Dictionary, made: list[tuple[ListMaker, Lists]]
) -> None:
    what = material(dictionary)
    fit(Letters(), what, a_run())
    lists = dict(in_lists(what, made))
    assert "mass" in lists["mass"]
    assert not {text for text, _ in MENTIONS} - {"mass"} & {
        name for names in lists.values() for name in names
    }  # the others are no names
    assert made[0][0] is made[1][0]  # so that sparse rankings are computed once


def test_dense_candidates_follow_the_weights(
    dictionary: Dictionary, made: list[tuple[ListMaker, Lists]]
) -> None:
    fit(Letters(), material(dictionary), a_run(learning_rate=0.1, dense_ratio=1.0))
    assert made[0][1].rows.tolist() != made[1][1].rows.tolist()


def test_the_empty_name_is_no_candidate(
    tmp_path: Path, made: list[tuple[ListMaker, Lists]]
) -> None:
    dictionary = read("D:0\tfever\tpyrexia|--\t\nD:1\tmass\tgrowth\t", tmp_path)
    table = dictionary.table(lambda text: text.strip("-"))
    assert "" in table.texts
    encoder = TfidfEncoder(TfidfOptions("char", 1, 2))
    encoder.fit([text for text in table.texts if text])
    sparse = SparseGenerator.index(table, dictionary, encoder)
    what = Material([Query("fevers", frozenset({"D:0"}))], dictionary, sparse, sparse)
    fit(Letters(), what, a_run(top_k=5, dense_ratio=1.0))
    assert [sorted(names) for _, names in in_lists(what, made)] == [
        ["fever", "growth", "mass", "pyrexia"]
    ] * 2


# ----------------------------------------------------------------------------------------------------------- what is refused


def test_the_norm_loss_refuses_unit_vectors(dictionary: Dictionary) -> None:
    with pytest.raises(LinkerError, match="unit vectors; take another encoder"):
        fit(Letters(), material(dictionary), a_run(hypernym_norm=True))


def test_hypernyms_get_the_larger_norm(dictionary: Dictionary) -> None:
    options = {"hypernym_norm": True, "norm_weight": 5.0, "epochs": 8}
    _, history = fit(Letters(normalize=False), material(dictionary), a_run(**options))
    assert history[-1]["norm_loss"] < min(0, history[0]["norm_loss"])


def test_without_a_hierarchy_the_norm_loss_is_switched_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flat = read(
        "\n".join(line.rpartition("\t")[0] + "\t" for line in SMALL.strip("\n").splitlines()),
        tmp_path,
    )
    with caplog.at_level(logging.WARNING):
        with_norm = trained(material(flat), a_run(hypernym_norm=True), normalize=False)
    assert [record.message for record in caplog.records] == [
        "the dictionary has no hierarchy: the norm loss is switched off, and no candidate counts as hypernym"
    ]
    assert "norm_loss" not in with_norm[3][0]
    assert with_norm == trained(material(flat), a_run(), normalize=False)


@pytest.mark.parametrize(
    ("length", "scale", "expected"), [(1.0, 0.0, 20.0), (3.0, 0.0, 1.0), (1.0, 4.0, 4.0)]
)
def test_an_encoder_without_weights_is_used_as_it_is(
    dictionary: Dictionary,
    caplog: pytest.LogCaptureFixture,
    length: float,
    scale: float,
    expected: float,
) -> None:
    what, encoder = material(dictionary), Plain(length)
    with caplog.at_level(logging.WARNING):
        generator, history = fit(encoder, what, a_run(sparse_weight=0.5, score_scale=scale))
    assert [record.message for record in caplog.records] == [
        "the encoder has no weights to train; it is used as it is"
    ]
    assert history == []
    assert generator.sparse_weight == 0.5 / expected
    assert generator.vectors.tolist() == encoder.encode(list(what.indexed.table.texts)).tolist()


def test_lists_without_anything_right_are_refused(dictionary: Dictionary) -> None:
    far = [
        ("fever", "D:2"),
        ("pyrexia", "D:2"),
    ]  # of neither is a name of lymphomas or tumors among the two best
    with pytest.raises(
        LinkerError,
        match=r"none of the 2 candidate lists holds a right name; raise top_k, or check the ids",
    ):
        fit(Letters(), material(dictionary, far), a_run(top_k=2, dense_ratio=0.0))


def test_one_mention(dictionary: Dictionary) -> None:
    weights, _, _, history = trained(material(dictionary, MENTIONS[:1]), a_run(epochs=3))
    assert [record["epoch"] for record in history] == [1, 2, 3]
    assert history[2]["loss"] < history[0]["loss"]
    assert weights != trained(material(dictionary, MENTIONS[:1]), a_run(epochs=0))[0]


@pytest.mark.parametrize("mentions", [None, [("a fever", "D:0")]])
def test_one_concept(tmp_path: Path, mentions: list[tuple[str, str]] | None) -> None:
    one = read("D:0\tfever\tpyrexia|high temperature\t", tmp_path)
    generator, history = fit(Letters(), material(one, mentions), a_run(align=1))
    assert [(record["phase"], record["epoch"]) for record in history] == [
        ("align", 1),
        ("rank", 1),
        ("rank", 2),
    ]
    assert generator.concepts(["fewer"], 3)[0].concepts.tolist() == [0]


def test_one_concept_with_one_name(tmp_path: Path) -> None:
    one = read("D:0\tfever\t\t", tmp_path)
    with pytest.raises(LinkerError, match="no concept of the dictionary has two names to train on"):
        fit(Letters(), material(one, None), a_run(align=1))
    _, history = fit(Letters(), material(one, [("a fever", "D:0")]), a_run(align=1))
    assert [record["loss"] for record in history] == [
        0,
        0,
    ]  # one candidate is right for sure; there are no two names to align
    assert (
        fit(Letters(), material(one, None), a_run(align=1, epochs=0))[1] == []
    )  # nothing is to be trained


# ------------------------------------------------------------------------------------------------------------ which weights


@pytest.mark.parametrize("mentions", [MENTIONS, None], ids=["mentions", "dictionary"])
def test_the_seed_decides(dictionary: Dictionary, mentions: list[tuple[str, str]] | None) -> None:
    runs = [
        trained(material(dictionary, mentions), a_run(align=1, seed=seed), dropout=0.2)
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1]
    for part in range(4):
        assert runs[0][part] != runs[2][part]


def judged(
    accuracies: Sequence[float], kept: list[tuple[list[list[float]], float]]
) -> train.Validate:
    """Says what it is told of the epochs, and keeps the generators."""

    def judge(generator: HybridGenerator) -> Mapping[str, float]:
        kept.append((generator.vectors.tolist(), generator.sparse_weight))
        return {"dev_acc1": accuracies[len(kept) - 1], "dev_acc5": 1.0}

    return judge


@pytest.mark.parametrize(
    ("options", "epochs", "chosen"),
    [
        ({}, 4, 1),  # the first of two that are equally good
        ({"keep_best": False}, 4, 3),
        ({"patience": 1}, 3, 1),
        ({"patience": 2}, 4, 1),
    ],
)
def test_the_best_epoch_is_kept(
    dictionary: Dictionary, options: dict[str, Any], epochs: int, chosen: int
) -> None:
    kept: list[tuple[list[list[float]], float]] = []
    how = a_run(**{"epochs": 4, "patience": 0} | options)
    generator, history = fit(
        Letters(), material(dictionary), how, judged([0.2, 0.9, 0.5, 0.9], kept)
    )
    assert [(record["dev_acc1"], record["dev_acc5"]) for record in history] == [
        (accuracy, 1.0) for accuracy in [0.2, 0.9, 0.5, 0.9][:epochs]
    ]
    assert [record["sparse_weight"] / 20 for record in history] == [weight for _, weight in kept]
    assert len(history) == len(kept) == epochs
    assert (generator.vectors.tolist(), generator.sparse_weight) == kept[chosen]


# ----------------------------------------------------------------------------------------------- interrupted and gone on with


class Stop(Exception):
    """What an interruption is here."""


def interrupted(what: Material, how: Run, event: int, **encoder: Any) -> None:
    """Train until the event of this number (from 1) is told."""
    events: list[object] = []

    def on_event(told: object) -> None:
        events.append(told)
        if len(events) == event:
            raise Stop

    with pytest.raises(Stop):
        fit(Letters(**encoder), what, told(how, on_event))


@pytest.mark.parametrize(
    (
        "event",
        "left",
    ),  # of four epochs of two steps and a record each: the event that is the last, and the steps that are left then
    [(1, 8), (3, 6), (5, 6), (6, 4), (7, 4), (9, 2), (10, 2), (12, 0)],
)
def test_what_was_interrupted_ends_as_what_was_left_alone(
    dictionary: Dictionary, tmp_path: Path, event: int, left: int
) -> None:
    what, how = (
        material(dictionary),
        a_run(align=2, checkpoints=tmp_path / "c", clip=1.0, warmup=0.2),
    )
    whole = trained(what, dataclasses.replace(how, checkpoints=None), dropout=0.2)
    interrupted(what, how, event, dropout=0.2)
    seen: list[Any] = []
    again = trained(what, told(dataclasses.replace(how, resume=True), seen.append), dropout=0.2)
    assert again == whole
    assert [record["phase"] for record in seen if not isinstance(record, Step)] == [
        "align",
        "align",
        "rank",
        "rank",
    ]
    assert sum(isinstance(record, Step) for record in seen) == left


@pytest.mark.parametrize(("event", "left"), [(1, 7), (6, 4), (7, 3)])
def test_sigterm_ends_training_behind_the_step(
    dictionary: Dictionary, tmp_path: Path, event: int, left: int
) -> None:
    what, how = material(dictionary), a_run(align=2, checkpoints=tmp_path / "c", learning_rate=0.1)
    events: list[object] = []

    def on_event(told: object) -> None:
        events.append(told)
        if len(events) == event:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        fit(Letters(dropout=0.2), what, told(how, on_event))
    steps: list[Any] = []
    again = trained(what, told(dataclasses.replace(how, resume=True), steps.append), dropout=0.2)
    assert sum(isinstance(step, Step) for step in steps) == left
    assert again == trained(what, dataclasses.replace(how, checkpoints=None), dropout=0.2)


def test_two_interruptions_with_validation(dictionary: Dictionary, tmp_path: Path) -> None:
    def judge(generator: HybridGenerator) -> dict[str, float]:
        return {"dev_acc1": -generator.sparse_weight}

    what, how = material(dictionary), a_run(epochs=3, checkpoints=tmp_path / "c", patience=2)
    whole = outcome(*fit(Letters(), what, how, judge))
    for event in (4, 7):  # within the second epoch, and within the third
        events: list[object] = []

        def on_event(told: object, events: list[object] = events, event: int = event) -> None:
            events.append(told)
            if len(events) == event:
                raise Stop

        with pytest.raises(Stop):
            fit(Letters(), what, told(dataclasses.replace(how, resume=event == 7), on_event), judge)
    assert outcome(*fit(Letters(), what, dataclasses.replace(how, resume=True), judge)) == whole


@pytest.mark.parametrize(
    ("event", "changes", "message"),
    [
        (8, {"learning_rate": 0.02}, r"training\.learning_rate \(then 0\.01, now 0\.02\)"),
        (8, {"seed": 1}, r"training\.seed \(then 0, now 1\)"),
        (8, {"align": 3}, r"align\.epochs \(then 2, now 3\)"),
        (4, {"seed": 1}, r"training\.seed \(then 0, now 1\)"),
        (4, {"precision": "bf16"}, r'training\.precision \(then "fp32", now "bf16"\)'),
        (4, {"align": 3}, r"align\.epochs \(then 2, now 3\), epochs \(then 2, now 3\)"),
    ],
)
def test_other_options_refuse_to_resume(
    dictionary: Dictionary, tmp_path: Path, event: int, changes: dict[str, Any], message: str
) -> None:
    what = material(dictionary)
    interrupted(what, a_run(align=2, checkpoints=tmp_path), event)
    with pytest.raises(LinkerError, match=message):
        fit(
            Letters(),
            what,
            a_run(**{"align": 2, "checkpoints": tmp_path, "resume": True} | changes),
        )


def test_what_alignment_does_not_see_may_change_after_it(
    dictionary: Dictionary, tmp_path: Path
) -> None:
    what = material(dictionary)
    interrupted(what, a_run(align=2, checkpoints=tmp_path), 5)
    again = trained(
        what, a_run(align=2, checkpoints=tmp_path, resume=True, top_k=4, learning_rate=0.02)
    )
    assert again == trained(what, a_run(align=2, top_k=4, learning_rate=0.02))


def test_another_phase_trains_anew_from_the_same_alignment(
    dictionary: Dictionary, tmp_path: Path
) -> None:
    what, other = material(dictionary), material(dictionary, MENTIONS[1:])
    how = a_run(align=2, checkpoints=tmp_path)
    fit(Letters(), what, how)
    steps: list[Any] = []
    refit = told(dataclasses.replace(how, resume=True, phase="refit"), steps.append)
    weights, sparse_weight, vectors, history = trained(other, refit)
    expected = trained(other, a_run(align=2))
    assert (weights, sparse_weight, vectors) == expected[:3]
    assert [record["phase"] for record in history] == ["align", "align", "refit", "refit"]
    assert sum(isinstance(step, Step) for step in steps) == 4  # none of them aligns


def test_training_from_the_start_forgets_all_checkpoints(
    dictionary: Dictionary, tmp_path: Path
) -> None:
    what = material(dictionary)
    fit(Letters(), what, a_run(align=2, checkpoints=tmp_path))
    how = a_run(align=2, checkpoints=tmp_path, top_k=4)
    interrupted(what, how, 2)
    assert trained(what, dataclasses.replace(how, resume=True)) == trained(
        what, a_run(align=2, top_k=4)
    )


# -------------------------------------------------------------------------------------------------------------- not a number


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_loss_that_is_no_number_stops_and_the_last_good_checkpoint_is_kept(
    dictionary: Dictionary, tmp_path: Path
) -> None:
    what, how = material(dictionary), a_run(checkpoints=tmp_path)
    with pytest.raises(
        LinkerError,
        match=r"epoch 2, step 1: the loss is nan .*; the last good checkpoint is kept in .*rank; try a lower",
    ):
        fit(Letters(breaks=2), what, how)  # two steps an epoch
    assert kept(tmp_path / "rank") == ["00001-00000000"]
    assert trained(what, dataclasses.replace(how, resume=True)) == trained(what, a_run())


@pytest.mark.parametrize("phase", ["align", "rank"])
def test_weights_that_a_last_step_broke_are_never_kept(
    dictionary: Dictionary, tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss of the step was a number still."""
    for options in ("linker.options", "linker.ranker.options"):
        monkeypatch.setattr(f"{options}.check", lambda *_: None)  # beyond its range one step does it
    training = TrainingOptions(
        **BASE | {"batch_size": 10, "learning_rate": 1e30 if phase == "rank" else 0.01}
    )
    align = AlignOptions(1 if phase == "align" else 0, 100, 1e30, warmup=0)
    with pytest.raises(LinkerError, match=r"not finite.*try a lower learning rate"):
        fit(Letters(normalize=False), material(dictionary), Run(training, align, tmp_path))
    assert kept(tmp_path / phase) == ["00000-00000000"]
