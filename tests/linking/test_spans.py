"""The probability that a name found in a text is a mention there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from linker import Dictionary
from linker.dictionary.lookup import DictionaryNames
from linker.linking import spans
from linker.linking.spans import FEATURES, TABLES, Logistic, SpanModel
from linker.records import Document, GoldGroup, Mention, Passage
from linker.text.mentions import TextOptions

ROWS = ("id\tname\tsynonyms", "D:1\tcold\t", "D:2\tfever\tpyrexia", "D:3\thay fever\t")
COLD, FEVER = (GoldGroup(("D:1",)),), (GoldGroup(("D:2",)),)


def document(number: int, text: str, *marked: str, type: str = "Disease") -> Document:
    """A document whose first occurrences of some words are mentions."""
    mentions = [
        Mention(word, ((at, at + len(word)),), COLD, type)
        for word in marked
        for at in [text.index(word)]
    ]
    return Document(str(number), (Passage(text),), tuple(mentions))


DOCUMENTS = [
    *(document(n, f"They had fever, and a cold day {n}.", "fever") for n in range(8)),
    *(document(n, f"The weather is cold here {n}.") for n in range(8, 12)),
    *(document(n, f"Of hay fever and malaise {n}.", "hay fever", "malaise") for n in range(12, 14)),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> DictionaryNames:
    path = tmp_path_factory.mktemp("spans") / "dictionary.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    annotated = [("malaise", ["D:2"]), ("swelling", ["D:2"])]
    return DictionaryNames(Dictionary.read(path).add(annotated), TextOptions())


@pytest.fixture(scope="module")
def model(names: DictionaryNames) -> SpanModel:
    model = spans.fit(names, DOCUMENTS)
    assert model is not None
    return model


def probabilities(model: SpanModel, names: DictionaryNames, text: str) -> dict[str, float]:
    findings = names.find(text)
    values = model.probabilities(findings, names).tolist()
    return {findings.written(m): value for m, value in zip(findings.matches, values, strict=True)}


def test_annotated_names_are_probable_not_others(model: SpanModel, names: DictionaryNames) -> None:
    told = probabilities(model, names, "A high fever on a cold morning.")
    assert told["fever"] > model.threshold > told["cold"]


def test_a_document_says_nothing_of_itself(names: DictionaryNames) -> None:
    """What is learnt from has the features that it would have in a text that is not annotated."""
    seen: list[np.ndarray] = []

    def fit(features: object, values: np.ndarray, *_: object, **__: object) -> None:
        seen.append(values)
        raise ValueError("that is all")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans.Logistic, "fit", fit)
        with pytest.raises(ValueError, match="that is all"):
            spans.fit(names, DOCUMENTS)
    rest: spans.Counts = {table: {} for table in TABLES}
    for example in spans._examples(names, DOCUMENTS[1:]):
        spans._count(rest, example)
    first = spans.features(names.find(DOCUMENTS[0].text), names, rest)
    np.testing.assert_allclose(seen[0][: len(first)], first)


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [Mention("fever", gold=FEVER)],
        [document(1, "no names")],
        [document(n, "fever", "fever") for n in range(9)],  # nothing but mentions
        [document(n, "fever") for n in range(9)],  # no mention
        [Document("1", (), (Mention("fever", ((0, 5),), FEVER),))],  # no text
    ],
)
def test_documents_teach_not(names: DictionaryNames, documents: list[Document | Mention]) -> None:
    assert spans.fit(names, documents) is None


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 2},
        {"threshold": float("nan")},
        {"counts": {}},
        *(
            {"logistic": change}
            for change in ({"features": ["a"]}, {"weights": [1.0]}, {"knots": []})
        ),
        {"counts": {table: {"a": [1, 2]} for table in spans.TABLES}},
        {"counts": {table: {"a": [1, -1]} for table in spans.TABLES}},
    ],
)
def test_what_is_no_model(model: SpanModel, change: dict[str, Any]) -> None:
    record = model.to_json()
    record |= change | {"logistic": record["logistic"] | change.get("logistic", {})}
    with pytest.raises((LookupError, TypeError, ValueError)):
        SpanModel.from_json(record)


def test_features_of_nested_matches(names: DictionaryNames) -> None:
    findings = names.find("hay-fever (pyrexia)")
    counts: spans.Counts = {table: {} for table in TABLES}
    counts["form"]["hay fever"] = [1, 1]
    rows = spans.features(findings, names, counts)
    told = [dict(zip(FEATURES, row, strict=True)) for row in rows.tolist()]
    assert [findings.written(match) for match in findings.matches] == [
        "hay-fever",
        "fever",
        "pyrexia",
    ]
    hay, fever, pyrexia = told
    assert hay["form"] == pytest.approx(math.log(1.5 / 0.5))
    assert (hay["is_outside"], hay["outside"], hay["is_inside"]) == (1, 0, 0)
    assert (fever["is_inside"], fever["inside"]) == (1, pytest.approx(math.log(3)))
    assert (fever["hyphen_before"], pyrexia["hyphen_before"]) == (1, 0)
    assert (hay["times"], hay["words"], pyrexia["is_inside"]) == (math.log(2), 2, 0)
    assert pyrexia["characters"] == pytest.approx(math.log(7))


# -------------------------------------------------------------------------------- the regression


def test_a_probability_by_hand() -> None:
    """-1 + 2 · 0.5 + 3 · max(0, 0.5 - 0.25) - 4 · 2 = -7.25."""
    model = Logistic(("a", "b"), ((0.25,), ()), np.array([2.0, 3.0, -4.0]), -1.0)
    probabilities = model.probabilities(np.array([[0.5, 2.0], [0.0, 0.0]]))
    assert probabilities == pytest.approx([1 / (1 + math.exp(7.25)), 1 / (1 + math.e)])


@pytest.fixture(scope="module")
def fitted() -> tuple[Logistic, Any, Any]:
    """Answers that are right where `a` is far from 0, on either side; `b` says nothing."""
    random = np.random.default_rng(0)
    values = random.normal(size=(3000, 2))
    right = random.random(3000) < 1 / (1 + np.exp(2 - 3 * np.abs(values[:, 0])))
    return Logistic.fit(("a", "b"), values, right), values, right


def test_a_curve_that_bends_is_learnt(fitted: tuple[Logistic, Any, Any]) -> None:
    model, _, _ = fitted
    left, middle, right = model.probabilities(np.array([[-1.5, 0.0], [0.0, 0.0], [1.5, 0.0]]))
    assert middle < 0.3
    assert left == pytest.approx(1 / (1 + math.exp(-2.5)), abs=0.1)
    assert right == pytest.approx(left, abs=0.1)


@pytest.mark.parametrize("penalty", [0.003, 1.0])
def test_the_weights_are_those_of_scikit_learn(penalty: float) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(1)
    values = random.normal(size=(400, 3))
    right = random.random(400) < 1 / (1 + np.exp(1 - values @ [2.0, -1.0, 0.0]))
    theirs = linear.LogisticRegression(C=penalty, max_iter=1000, tol=1e-8).fit(values, right)
    expected = [*theirs.coef_[0], *theirs.intercept_]
    assert spans._weights(values, right, penalty) == pytest.approx(expected, abs=1e-3)
