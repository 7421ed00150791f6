"""What the confidence is fitted to, from training to the model folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary, Linker
from linker.confidence.calibration import CAUTIOUS
from linker.confidence.features import NAMES
from linker.errors import LinkerError
from linker.readers.mentions import read as read_mentions
from linker.training import calibrating
from linker.training.settings import RunSettings
from linker.types import Document, GoldGroup, Mention, Passage

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def dictionary(sample: Path) -> Dictionary:
    return Dictionary.read(sample)


@pytest.fixture(scope="module")
def by_names(dictionary: Dictionary) -> Linker:
    return Linker.train(dictionary)


def annotated(dictionary: Dictionary, count: int, wrong: int = 10) -> list[Mention]:
    """Preferred names as mentions; the last ones are annotated with another concept."""
    rows = list(range(count))
    ids = [dictionary.ids[row if row < count - wrong else row - 7] for row in rows]
    return [
        Mention(dictionary.preferred_name(row), gold=(GoldGroup((identifier,)),))
        for row, identifier in zip(rows, ids, strict=True)
    ]


def trained(
    dictionary: Dictionary, mentions: list[Mention], dev: list[Mention]
) -> tuple[Linker, list[str]]:
    said: list[str] = []
    settings = RunSettings(say=said.append)
    linker = Linker.train(dictionary, mentions=mentions, dev=dev, settings=settings)
    return linker, [line for line in said if line.startswith("confidence: ")]


# ---------------------------------------------------------------------------------------------------------------- the source


def test_names_are_taken_where_there_are_no_mentions(by_names: Linker) -> None:
    assert by_names.calibration
    assert by_names.calibration.provenance["fitted_to"] == "names held out of the dictionary"
    assert (by_names.calibration.threshold, by_names.calibration.handicaps) == (0, CAUTIOUS)


def test_annotated_mentions_are_taken_in_folds(dictionary: Dictionary) -> None:
    linker, said = trained(dictionary, annotated(dictionary, 100), [])
    assert linker.calibration
    assert linker.calibration.provenance["fitted_to"] == "annotated mentions, in 5 folds"
    assert linker.calibration.provenance["mentions"] == 100
    assert linker.calibration.handicaps == CAUTIOUS  # there are no composites
    assert said == [
        "confidence: fitted to 100 annotated mentions, in 5 folds; everything is answered by "
        "default, since no threshold has more right"
    ]


def test_development_mentions_come_first(dictionary: Dictionary) -> None:
    linker, _ = trained(dictionary, annotated(dictionary, 100), annotated(dictionary, 60))
    assert linker.calibration
    assert linker.calibration.provenance["fitted_to"] == "development mentions"
    assert linker.calibration.provenance["mentions"] == 60


@pytest.mark.parametrize(
    ("count", "wrong", "message"),
    [(1, 0, "1 of them; needed: 50"), (60, 0, "60 right and 0 wrong"), (60, 60, "0 right and 60")],
)
def test_too_few_development_mentions_are_said(
    dictionary: Dictionary, count: int, wrong: int, message: str
) -> None:
    dev = annotated(dictionary, count, wrong)
    if wrong == count:
        dev = [Mention(m.text, gold=(GoldGroup((dictionary.ids[-1],)),)) for m in dev]
    linker, said = trained(dictionary, [], dev)
    assert said[0].startswith("confidence: not fitted to development mentions (")
    assert message in said[0]
    assert said[1].startswith("confidence: fitted to ")
    assert linker.calibration
    assert "names held out" in linker.calibration.provenance["fitted_to"]


def test_a_few_names_are_too_few(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("id\tname\nA:1\tColitis\nA:2\tAsthma\n")
    linker, said = trained(Dictionary.read(tmp_path / "d.tsv"), [], [])
    assert said == [
        "confidence: none, since there was too little to fit it to; answers have a score only"
    ]
    (prediction,) = linker.link(["colitis"])
    assert prediction.parts[0].confidence is None
    assert prediction.parts[0].best
    list(linker.link(["colitis"], threshold=0))
    with pytest.raises(LinkerError, match="the model gives no confidence"):
        list(linker.link(["colitis"], threshold=0.5))


# ------------------------------------------------------------------------------------------------------------- the questions


def test_folds_are_answered_without_their_own_mentions(dictionary: Dictionary) -> None:
    """A mention that no name is like is known from its fold alone, so that nothing is exact."""
    gold = (GoldGroup((dictionary.ids[0],)),)
    mentions = [
        Mention(f"colitis {dictionary.preferred_name(i)} anemia", gold=gold) for i in range(20)
    ]
    linker = Linker.train(dictionary, mentions=mentions)
    known = calibrating.examples(linker, mentions)
    assert all(example.right == [True] for example in known)
    exact = NAMES.index("exact")
    apart = calibrating.folds(linker, dictionary, mentions, 0)
    assert len(apart) == 20
    assert not any(e.readings[0].values[0][exact] for e in apart if e.readings)
    assert all(e.readings[0].values[0][exact] for e in known)


def test_documents_stay_whole_in_folds(dictionary: Dictionary) -> None:
    gold = (GoldGroup((dictionary.ids[0],)),)
    documents = [
        Document(
            f"d{i}",
            (Passage("a text"),),
            (
                Mention(f"colitis anemia {i}", ((0, 1),), gold),
                Mention(f"colitis anemia {i}", ((2, 6),), gold),
            ),
        )
        for i in range(10)
    ]
    linker = Linker.train(dictionary, mentions=documents)
    for example in calibrating.folds(linker, dictionary, documents, 0):
        assert not example.readings[0].values[0][NAMES.index("exact")]


def test_held_out_names_are_not_found_by_themselves(
    dictionary: Dictionary, by_names: Linker
) -> None:
    examples = calibrating.held_out(by_names, dictionary, 0)
    assert len(examples) > 300
    without = [example for example in examples if not example.has_concept]
    assert 0.01 < len(without) / len(examples) < 0.1
    assert not any(any(example.right) for example in without)
    share = np.mean([bool(e.right and e.right[0]) for e in examples if e.has_concept])
    assert 0.5 < share < 0.95
    assert calibrating.held_out(by_names, dictionary, 0)[5].scores == examples[5].scores


def test_a_mention_that_is_not_annotated_is_no_question(by_names: Linker) -> None:
    assert calibrating.examples(by_names, [Mention("colitis")]) == []
    (nil,) = calibrating.examples(by_names, [Mention("colitis", gold=())])
    assert not nil.has_concept
    assert not any(nil.right)


# ----------------------------------------------------------------------------------------------------------- what users see


def test_the_folder_keeps_the_confidence_and_says_what_of(by_names: Linker, tmp_path: Path) -> None:
    by_names.save(tmp_path / "model")
    record = json.loads((tmp_path / "model" / "confidence.json").read_text())
    assert record["provenance"]["fitted_to"] == "names held out of the dictionary"
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"fitted to {record['provenance']['mentions']:,} names held out" in card
    loaded = Linker.load(tmp_path / "model")
    texts = ["breast cancer", "Hepatitis B/C", "zzzz"]
    assert list(loaded.link(texts)) == list(by_names.link(texts))


def test_confidences_are_probabilities_and_fall(by_names: Linker) -> None:
    mentions = read_mentions(ROOT / "dictionaries" / "sample_mentions.tsv")
    for prediction in by_names.link(mentions, k=7, threshold=0):
        for part in prediction.parts:
            confidences = [candidate.confidence or 0.0 for candidate in part.candidates]
            assert all(0 <= value <= 1 for value in confidences)
            assert sum(confidences) <= 1 + 1e-5
            assert confidences == sorted(confidences, reverse=True)
            assert part.confidence == confidences[0]


def test_confidences_do_not_depend_on_k(by_names: Linker) -> None:
    few, many = (next(by_names.link(["anaemia"], k=k)).parts[0].candidates for k in (2, 30))
    assert few == many[:2]


def test_a_threshold_rejects_and_hides_nothing(by_names: Linker) -> None:
    (answered,) = by_names.link(["hereditary glorp"], threshold=0)
    best = answered.parts[0].best
    assert best
    assert best.confidence is not None
    (none,) = by_names.link(["hereditary glorp"], threshold=min(1.0, best.confidence + 0.01))
    assert none.parts[0].nil
    assert none.parts[0].candidates == ()
    assert none.parts[0].rejected == best
    assert none.parts[0].confidence == best.confidence
    (kept,) = by_names.link(["hereditary glorp"], threshold=best.confidence)
    assert kept.parts[0].best == best


def test_the_runner_up_is_kept(by_names: Linker) -> None:
    (prediction,) = by_names.link(["breast and ovarian cancer"], threshold=0)
    assert (prediction.reading, len(prediction.parts)) == ("split", 2)
    (rival,) = prediction.rivals
    assert (rival.kind, len(rival.parts), len(rival.parts[0].candidates)) == ("whole", 1, 1)
    assert rival.confidence == rival.parts[0].confidence
    (plain,) = by_names.link(["breast cancer"])
    assert (plain.reading, plain.rivals) == ("whole", ())
