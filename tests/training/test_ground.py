"""Conceptual grounding on a small dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linker import Dictionary  # noqa: E402
from linker.dictionary import classes  # noqa: E402
from linker.dictionary.classes import Classes  # noqa: E402
from linker.encoders import trainable  # noqa: E402
from linker.encoders.base import EncoderContext, Recipe  # noqa: E402
from linker.encoders.dan import DanEncoder, DanOptions, project  # noqa: E402
from linker.encoders.trainable import TrainableDan  # noqa: E402
from linker.encoders.words import WordVectors  # noqa: E402
from linker.linking.options import GroundOptions, LinkerOptions  # noqa: E402
from linker.text.normalize import normalize  # noqa: E402
from linker.training import ground  # noqa: E402
from linker.training.ground import Grounding  # noqa: E402


def chosen(epochs: int = 6, **recipe: Any) -> LinkerOptions:
    """All triplets, unless a test says otherwise."""
    recipe = {"loss": "triplet", "triplets": 0, "batch_size": 4} | recipe
    return LinkerOptions(ground=GroundOptions(epochs=epochs), recipe=Recipe(**recipe))


ALL = chosen()
LINES = [
    "D1||breast cancer|breast tumor|mammary cancer",
    "D2||heart attack|heart failure",
    "D3||skin",
    "D4||fever of heart|skin fever|fever|mammary fever",
]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def encoder(tmp_path: Path) -> TrainableDan:
    (tmp_path / "d.txt").write_text("\n".join(LINES) + "\n")
    table = Dictionary.read(tmp_path / "d.txt", format="biosyn").table(normalize)
    vocabulary = sorted({word for text in table.texts for word in text.split()})
    words = WordVectors(
        vocabulary, np.random.default_rng(0).normal(size=(len(vocabulary), 4)).astype(np.float32)
    )
    made = TrainableDan(DanEncoder.create(EncoderContext(DanOptions(hidden=8), table, words, 0)))
    made.names = classes.of_concepts(table)
    return made


@pytest.fixture(autouse=True)
def _whole_prototypes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prototypes are means of all names of a class, by all units, unless a test says otherwise."""
    monkeypatch.setattr(ground, "_SHARE_OF_NAMES", 1)
    monkeypatch.setattr(ground, "_HELD_OUT", 0)
    rules = ground._Rules(temperature=0.2)
    monkeypatch.setattr(ground, "_RULES", dict.fromkeys(("contrast", "triplet", "logistic"), rules))
    monkeypatch.setattr(trainable, "_DROPOUT", 0)


def grounding(
    encoder: TrainableDan,
    options: LinkerOptions = ALL,
    names: Classes | None = None,
    **others: object,
) -> Grounding:
    return Grounding(encoder, names or encoder.names, options, encoder.encode, **others)


def cosine_distance(a: np.ndarray, b: np.ndarray) -> float:
    return 1 - float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_loss_is_that_of_the_formulas(encoder: TrainableDan) -> None:
    """Eq. 3-5, each triplet and each concept on its own."""
    made = grounding(encoder)
    names = made.names
    u = {
        text: vector / np.linalg.norm(vector)
        for text, vector in zip(names.texts, encoder.linking.words.means(names.texts), strict=True)
    }
    seen = alone = 0
    for batch in made.batches(1):
        texts = batch.names
        f = dict(zip(texts, encoder.encode(texts), strict=True))
        loss = batch.loss(torch.from_numpy(np.stack([f[text] for text in texts])))
        count = int(loss["synonym_loss"][1])
        label = dict(zip(names.texts, names.labels, strict=True))
        syn, proto = [], []
        for anchor, positive, negative in zip(
            *(texts[i * count : (i + 1) * count] for i in range(3)), strict=True
        ):
            assert label[anchor] == label[positive] != label[negative]
            syn.append(
                max(
                    cosine_distance(f[anchor], f[positive])
                    - cosine_distance(f[anchor], f[negative])
                    + 0.1,
                    0,
                )
            )
            members = [text for text in names.texts if label[text] == label[anchor]]
            target = project(
                np.mean([u[text] for text in members], axis=0)[None],
                encoder.linking.concept_projection,
            )[0]
            proto.append(cosine_distance(np.mean(encoder.encode(members), axis=0), target))
        if "skin" in texts[3 * count :]:
            target = project(u["skin"][None], encoder.linking.concept_projection)[0]
            proto.append(cosine_distance(f["skin"], target))
            alone += 1
        assert loss["loss"][0].item() == pytest.approx(np.mean(syn) + np.mean(proto), abs=1e-4)
        assert loss["synonym_loss"][0] == pytest.approx(np.mean(syn), abs=1e-4)
        seen += count
    assert seen == 3 * 2 + 2 * 1 + 4 * 3  # ordered pairs of synonyms
    assert alone == 1  # the concept without one has its prototype once


def test_held_out_names_are_judged_and_not_trained_on(
    encoder: TrainableDan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ground, "_HELD_OUT", 5)
    made = grounding(encoder)
    assert len(made.validation) == 1  # half of the two concepts with three names
    assert not {*made.validation.texts} & {
        name for batch in made.batches(1) for name in batch.names
    }
    assert made.phase(encoder).best_by == "dev_map"
    scores = encoder.encode(made.names.texts) @ encoder.encode(made.validation.texts)[0]
    order = np.argsort(-scores, kind="stable")
    ranks = [
        place
        for place, row in enumerate(order, 1)
        if made.names.labels[row] == made.validation.labels[0]
    ]
    expected = np.mean([i / rank for i, rank in enumerate(ranks, 1)])
    assert made.validate(1)["dev_map"] == pytest.approx(expected)


def test_names_are_held_to_the_vectors_they_started_from(encoder: TrainableDan) -> None:
    """L_cont of Fivez et al. 2021b (eq. 3), L_def of BNE as a cosine distance, and L_ground of 2021b and c (eq. 5), name by name."""
    made = grounding(encoder, chosen(anchors="context concept between", triplets=1))
    names, label = made.names, dict(zip(made.names.texts, made.names.labels, strict=True))
    u = {
        text: vector / np.linalg.norm(vector)
        for text, vector in zip(names.texts, encoder.linking.words.means(names.texts), strict=True)
    }
    seen = []
    for batch in made.batches(1):
        loss = batch.loss(torch.from_numpy(encoder.encode(batch.names)))
        held = batch.names[3 * int(loss["synonym_loss"][1]) :]
        f = dict(zip(held, encoder.encode(held), strict=True))
        means = {
            text: np.mean(
                [u[other] for other in names.texts if label[other] == label[text]], axis=0
            )
            for text in held
        }
        between = {text: u[text] + means[text] / np.linalg.norm(means[text]) for text in held}
        expected = {
            "context_loss": np.mean([cosine_distance(f[text], u[text]) for text in held]),
            "concept_loss": np.mean([cosine_distance(f[text], means[text]) for text in held]),
            "between_loss": np.mean([cosine_distance(f[text], between[text]) for text in held]),
        }
        assert {name: loss[name][0] for name in expected} == pytest.approx(expected, abs=1e-5)
        each = [loss["synonym_loss"][0], *expected.values()]
        assert loss["loss"][0].item() == pytest.approx(sum(each), abs=1e-4)
        seen += held
    # each name once, that of a concept without synonyms too
    assert sorted(seen) == sorted(names.texts)


def test_the_pairs_of_bne(encoder: TrainableDan) -> None:
    """Logistic losses of dot products (BNE, section 3.2): each pair beside one with a partner of the same batch."""
    made = grounding(encoder, chosen(loss="logistic", anchors="context concept", batch_size=7))
    names = made.names
    vectors, u = encoder.encode(names.texts), encoder.pretrained(names.texts)
    g = encoder.prototypes(names, False)[names.labels]
    logistic = lambda x: float(np.log1p(np.exp(-x)))  # noqa: E731

    def expected(
        left: np.ndarray, right: np.ndarray, rows: np.ndarray, others: np.ndarray, shift: int
    ) -> float:
        each = []
        for i in range(len(rows)):
            wrong = (i - shift) % len(rows)
            value = logistic(5 * float(left[i] @ right[i]))
            if names.labels[rows[i]] != names.labels[others[wrong]]:
                value += logistic(-5 * float(left[i] @ right[wrong]))
            each.append(value)
        return float(np.mean(each))

    wrong = 0
    for batch in made.batches(1):
        (sample,) = batch.loss.args
        (anchor, positive), held, shifts = sample.synonyms, sample.anchored, sample.shifts.tolist()
        loss = batch.loss(torch.from_numpy(encoder.encode(batch.names)))
        assert {name: number for name, (number, _) in [*loss.items()][1:]} == pytest.approx(
            {
                "synonym_loss": expected(
                    vectors[anchor], vectors[positive], anchor, positive, shifts[0]
                ),
                "context_loss": expected(vectors[held], u[held], held, held, shifts[1]),
                "concept_loss": expected(vectors[held], g[held], held, held, shifts[2]),
            },
            abs=1e-4,
        )
        assert 0 < shifts[0] < max(2, len(anchor))
        assert all(0 < shift < max(2, len(held)) for shift in shifts[1:])
        wrong += int((names.labels[anchor] != names.labels[np.roll(positive, shifts[0])]).sum())
    assert wrong > 5
