"""A dictionary of eight concepts, small encoders to compute with, and a training of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from linker import Dictionary  # noqa: E402
from linker.encoders import registry  # noqa: E402
from linker.encoders.base import Encoder, Recipe  # noqa: E402
from linker.encoders.tfidf import TfidfOptions  # noqa: E402
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder  # noqa: E402
from linker.linking.options import AlignOptions, LinkerOptions, TrainingOptions  # noqa: E402
from linker.records import GoldGroup, Mention  # noqa: E402
from linker.search.hybrid import HybridGenerator  # noqa: E402
from linker.training import encoder as aligning  # noqa: E402
from linker.training import listwise, pipeline  # noqa: E402
from linker.training.data import TrainingData  # noqa: E402
from linker.training.encoder import Validate  # noqa: E402
from linker.training.plan import Record, RunSettings, TrainingPlan  # noqa: E402

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
    """A name is the mean of its letters' vectors, through a layer."""

    align_rate = 0.01

    def __init__(self, *, normalize: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(4)
            self.letters, self.out = nn.Embedding(128, 8), nn.Linear(8, 6)
        self.factor = nn.Parameter(torch.tensor(1.0))  # weights may be scalars
        self.dropout, self.normalize = nn.Dropout(dropout), normalize

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

    def save(self, folder: Path) -> None: ...

    @classmethod
    def load(cls, folder: Path) -> Letters:
        return cls()


def read(text: str, folder: Path) -> Dictionary:
    path = folder / "small.tsv"
    path.write_text(f"{HEADER}\n{text.strip(chr(10))}\n", encoding="utf-8")
    return Dictionary.read(path, format="table")


BASE: dict[str, Any] = {
    "epochs": 2,
    "batch_size": 4,
    "top_k": 6,
    "learning_rate": 0.01,
    "device": "cpu",
    "precision": "fp32",
}
RECIPE = "sparse_weight", "published"  # what trainings here change of it
ALIGN_BATCH = 6
SPARSE = TfidfOptions("char", 1, 2)


def data_of(
    dictionary: Dictionary,
    mentions: Sequence[tuple[str, str]] | None = MENTIONS,
) -> TrainingData:
    """What is trained on; with mentions, these are indexed too."""
    annotated = [Mention(text, gold=(GoldGroup((concept,)),)) for text, concept in mentions or ()]
    plan = TrainingPlan("tfidf", LinkerOptions(sparse=SPARSE))
    return TrainingData.of(plan, dictionary, annotated)


@dataclass(frozen=True)
class Setup:
    """The options of a training, and how it runs."""

    options: LinkerOptions
    settings: RunSettings
    rules: listwise.Rules

    def to(self, **settings: Any) -> Setup:
        """The same, but that it runs in another way."""
        return replace(self, settings=replace(self.settings, **settings))


def a_setup(
    *,
    align: int = 0,
    checkpoints: Path | None = None,
    resume: bool = False,
    **options: Any,
) -> Setup:
    """A training of so many epochs of alignment, and then of lists, with these options."""

    def of(kind: Any, **values: Any) -> Any:
        return kind(**{name: v for name, v in values.items() if name in kind.__dataclass_fields__})

    return Setup(
        LinkerOptions(
            sparse=SPARSE,
            align=AlignOptions(epochs=align),
            training=of(TrainingOptions, **BASE | options),
            recipe=Recipe(**{name: options[name] for name in RECIPE if name in options}),
        ),
        RunSettings(checkpoints, resume),
        of(listwise.Rules, **{"warmup": 0.0} | options),
    )


def fit(
    encoder: Encoder, data: TrainingData, setup: Setup, validate: Validate | None = None
) -> tuple[HybridGenerator, list[Record]]:
    """Train this very encoder, as if a plug-in had created it; what it ranks, and the record of each epoch."""
    kind = type("Kind", (type(encoder),), {"create": classmethod(lambda cls, *_: encoder)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "load", lambda name: kind)
        patch.setattr(listwise, "_OURS", setup.rules)
        patch.setattr(aligning, "_ALIGN_BATCH", ALIGN_BATCH)
        patch.setattr(Recipe, "frequency_weight", 0.0)
        plan = TrainingPlan("small", setup.options)
        generator, history = pipeline.with_encoder(plan, data, setup.settings, validate)
    assert generator.encoder is encoder
    return generator, history


Outcome = tuple[dict[str, Any], float, list[list[float]], list[Record]]


def outcome(generator: HybridGenerator, history: list[Record]) -> Outcome:
    """All that a training ends with."""
    assert isinstance(generator.encoder, Letters)
    weights = {name: tensor.tolist() for name, tensor in generator.encoder.state_dict().items()}
    return weights, generator.sparse_weight, generator.vectors.tolist(), history


def trained(data: TrainingData, setup: Setup, **encoder: Any) -> Outcome:
    return outcome(*fit(Letters(**encoder), data, setup))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
