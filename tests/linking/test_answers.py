"""The limits of confidence where a short form stands without a text that explains it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from linker.confidence.calibration import Calibration

from linker import Dictionary, Document, Linker, Mention
from linker.outputs.explanation import limit
from linker.types import GoldGroup, Passage

ROWS = (
    "id\tname\tsynonyms",
    "D:1\tIchthyosis Bullosa\tIBS",
    "D:2\tLymphoid Leukemia\tALL",
    "D:3\tMyocardial Infarction\theart attack|acute MI",
)


class _Sure:
    """Gives every answer the same probability."""

    features = ()

    def probabilities(self, values: Any) -> Any:
        return np.full(len(values), 0.97)


def document(text: str, *names: str, gold: str = "") -> Document:
    """A document with the last occurrence of each name as a mention."""
    spans = [(text.rindex(name), text.rindex(name) + len(name)) for name in names]
    of_all = (GoldGroup((gold,)),) if gold else None
    mentions = (Mention(n, (s,), gold=of_all) for n, s in zip(names, spans, strict=True))
    return Document("1", (Passage(text),), tuple(mentions))


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("limits") / "dictionary.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    known = document("Myocardial infarction (MI) is not rare; MI", "MI", gold="D:3")
    trees: Any = _Sure()
    learnt = Linker.train(Dictionary.read(path), mentions=[known])
    return learnt.calibrated(Calibration(trees))


@pytest.mark.parametrize(
    ("mention", "concept", "confidence"),
    [
        ("IBS", "D:1", 0.4),
        (" ibs.", "D:1", 0.4),
        ("ALL", "D:2", 0.4),
        ("all", "D:2", 0.4),
        ("MI", "D:3", 0.75),  # annotated
        ("mi", "D:3", 0.4),
        ("heart attack", "D:3", 0.97),
        ("HEART ATTACK", "D:3", 0.97),
    ],
)
def test_without_a_text_no_short_form_is_sure(
    linker: Linker, mention: str, concept: str, confidence: float
) -> None:
    (prediction,) = linker.link([mention])
    best = prediction.parts[0].best
    assert best is not None
    assert (best.concept_id, best.confidence) == (concept, confidence)


@pytest.mark.parametrize(
    ("text", "mentions", "confidence"),
    [
        ("ichthyosis bullosa siemens (IBS): IBS", ["IBS"], 0.97),  # its long form is looked up
        ("IBS, which is ichthyosis bullosa", ["IBS", "ichthyosis bullosa"], 0.97),
        ("IBS was seen", ["IBS"], 0.75),
        ("IBS and ibs", ["IBS", "ibs"], 0.75),  # the other one explains nothing
        ("all were seen, with lymphoid leukemia", ["all", "lymphoid leukemia"], 0.4),
    ],
)
def test_a_text_explains_a_short_form(
    linker: Linker, text: str, mentions: list[str], confidence: float
) -> None:
    prediction = next(linker.link([document(text, *mentions)]))
    assert prediction.parts[0].confidence == confidence


def test_a_limit_below_the_threshold_gives_no_concept(linker: Linker) -> None:
    (prediction,) = linker.link(["IBS"], threshold=0.5)
    assert prediction.parts[0].nil
    assert prediction.parts[0].rejected


def test_the_explanation_says_that_there_is_a_limit(linker: Linker) -> None:
    (part,) = linker.explain("IBS").parts
    assert (part.candidates[0].confidence, part.alone) == (0.4, 0.97)
    assert limit(part) == (
        "the confidence is 0.4 at most, since IBS is a short form, "
        "and no text says what it stands for"
    )
    assert limit(linker.explain("heart attack").parts[0]) == ""
