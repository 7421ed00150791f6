"""Names that people use, from a cell or a text to the answer."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest

from linker import Annotator, Dictionary, Document, Linker, Mention
from linker.io.outputs import UNSURE
from linker.jobs.linking import lends
from linker.linking.ranker import Ranker
from linker.records import Candidate, Passage, Selection
from linker.text import short_forms
from linker.text.everyday import SOURCE
from linker.text.short_forms import ShortForms
from linker.training.pipeline import train

ROWS = [
    "id\tname\tsynonyms",
    "D:1\tAmblyopia\t",
    "D:2\tCommon Cold\tcoryza",
    "D:3\tPulmonary Disease, Chronic Obstructive\tCOLD|chronic obstructive pulmonary disease",
    "D:4\tExophthalmos\t",
    "D:5\tPleural Effusion\t",
    "D:6\tPulmonary Edema\t",
    "D:7\tFatigue\t",
    "D:8\tNausea\t",
    "D:9\tHypertension\t",
    "D:10\tDiarrhea\t",
    "D:11\tGastroenteritis\tfood poisoning",
    "D:12\tLung Neoplasms\tlung cancer|cancer of lung",
    "D:13\tFoodborne Diseases\t",
    "D:14\tHyponatremia\t",
    "D:15\tSpinal Fractures\t",
    "D:16\tDepression\t",
    "D:17\tInsomnia\t",
]


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("everyday") / "dictionary.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return train(Dictionary.read(path), encoder="tfidf").with_ranker(Ranker.shipped())


@pytest.fixture(scope="module")
def without(linker: Linker) -> Linker:
    """The same model without names that people use."""
    text = dataclasses.replace(linker.options.text, everyday=False)
    options = dataclasses.replace(linker.options, text=text)
    return dataclasses.replace(linker, options=options)


def best(linker: Linker, text: str) -> Candidate:
    found = linker.link(text).parts[0].best
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "concept", "name"),
    [
        ("lazy eye", "D:1", "lazy eye"),
        ("2. Lazy-eyes (2014)", "D:1", "lazy eyes"),
        ("pop eyes", "D:4", "pop eyes"),
        ("no energy", "D:7", "no energy"),  # which denies nothing
        ("the runs", "D:10", "the runs"),
        ("severe pop eyes", "D:4", "pop eyes"),
        ("unable to sleep", "D:17", "can't sleep"),
        ("not able to sleep", "D:17", "can't sleep"),
    ],
)
def test_an_everyday_name_is_sure(linker: Linker, text: str, concept: str, name: str) -> None:
    found = best(linker, text)
    assert (found.concept_id, found.matched_name, found.source) == (concept, name, SOURCE)
    assert found.confidence is not None
    assert found.confidence >= UNSURE
    assert linker.link(text).assertion == "present"


def test_cues_and_lists_hold_for_everyday_names(linker: Linker) -> None:
    assert linker.link("no lazy eye").assertion == "absent"
    parts = linker.link("lazy eye, coryza, pop eyes").parts
    assert [part.best and part.best.concept_id for part in parts] == ["D:1", "D:2", "D:4"]


def test_what_the_dictionary_says_wins(linker: Linker) -> None:
    """The table has "food poisoning" for Foodborne Diseases, and this dictionary for another one."""
    assert best(linker, "food poisoning").concept_id == "D:11"
    assert best(linker, "food poisoning").source == ""
    assert best(linker, "COLD").concept_id == "D:3"
    assert best(linker, "COLD").source == ""
    assert best(linker, "cold").concept_id == "D:2"  # no short form in other case
    assert best(linker, "cold").source == SOURCE


def test_several_meanings_are_all_there_and_none_is_sure(linker: Linker) -> None:
    candidates = linker.link("water on the lung", k=3).parts[0].candidates
    assert {c.concept_id for c in candidates[:2]} == {"D:5", "D:6"}
    assert {c.source for c in candidates[:2]} == {SOURCE}
    confidences = [c.confidence or 0.0 for c in candidates]
    assert confidences == sorted(confidences, reverse=True)
    assert confidences[0] < 0.8
    assert len(linker.link("water on the lung", k=1).parts[0].candidates) == 1
    explained = linker.explain("water on the lung")
    assert explained.parts[0].doubt == "several meanings"


@pytest.mark.parametrize(("text", "concept"), [("HTN", "D:9"), ("N&V", "D:8"), ("h/o HTN", "D:9")])
def test_short_forms_are_never_sure(linker: Linker, text: str, concept: str) -> None:
    found = best(linker, text)
    assert found.concept_id == concept
    assert found.confidence is not None
    assert found.confidence <= 0.75


def test_short_forms_are_of_all_languages_and_names_are_english(linker: Linker) -> None:
    text = dataclasses.replace(linker.options.text, language="de")
    german = dataclasses.replace(linker, options=dataclasses.replace(linker.options, text=text))
    assert best(german, "HTN").concept_id == "D:9"
    assert best(german, "HTN").confidence == best(linker, "HTN").confidence
    assert best(german, "COPD").concept_id == "D:3"
    assert not lends(german)
    assert lends(linker)
    assert german.link("the runs").parts[0].best is None


def test_shortened_words_may_be_sure(linker: Linker) -> None:
    found = best(linker, "ca lung")
    assert found.concept_id == "D:12"
    assert found.confidence is not None
    assert found.confidence >= 0.8


def test_the_option_switches_it_off(without: Linker) -> None:
    assert len(without.everyday) == 0
    for text in ("lazy eye", "cold", "HTN", "N&V"):
        prediction = without.link(text)
        assert {c.source for part in prediction.parts for c in part.candidates} <= {""}
        assert "expanded" not in prediction.reading
    assert best(without, "COLD").concept_id == "D:3"
    theirs = without.short_forms.beside(ShortForms({}, {"htn": "hypertension"}))
    assert best(dataclasses.replace(without, short_forms=theirs), "HTN").concept_id == "D:9"


def test_a_list_of_the_user_wins(linker: Linker) -> None:
    theirs = short_forms.shipped().beside(ShortForms({}, {"cold": "exophthalmos"}))
    found = best(dataclasses.replace(linker, short_forms=theirs), "cold")
    assert (found.concept_id, found.source) == ("D:4", "")


def test_running_text_has_names_of_several_words_alone(linker: Linker) -> None:
    text = "Lazy eyes and pop eyes with a cold, the runs and HTN."
    spans = {"Lazy eyes": (0, 9), "cold": (28, 32)}
    document = Document("1", (Passage(text, 0),))
    marked = dataclasses.replace(
        document, mentions=tuple(Mention(text[a:b], ((a, b),)) for a, b in spans.values())
    )
    lazy, cold = linker.link(marked)
    assert lazy.parts[0].best is not None
    assert (lazy.parts[0].best.concept_id, lazy.parts[0].best.source) == ("D:1", SOURCE)
    assert {c.source for c in cold.parts[0].candidates} == {""}
    ((_, found),) = Annotator(linker).annotate([document])
    assert [p.mention.text for p in found] == ["Lazy eyes"]  # "pop eyes" are slang
    assert found[0].parts[0].best is not None
    assert found[0].parts[0].best.concept_id == "D:1"


@pytest.mark.parametrize(
    "text",
    [
        "She was put on a low salt diet with low-sodium bread.",
        "The broken back door was mended.",
        "A black dog bit him, and the food was bad food.",
    ],
)
def test_words_that_mean_a_disease_in_a_cell_alone_are_not_found(linker: Linker, text: str) -> None:
    ((_, found),) = Annotator(linker).annotate([Document("1", (Passage(text, 0),))])
    assert [(p.mention.text, p.parts[0].best) for p in found] == []
    assert best(linker, "low salt").concept_id == "D:14"
    assert best(linker, "broken back").concept_id == "D:15"


def test_an_explanation_shows_the_source(linker: Linker) -> None:
    explanation = linker.explain("lazy eye")
    matched = explanation.parts[0].candidates[0].matched
    assert (matched.text, matched.source, matched.lent) == ("lazy eye", SOURCE, True)
    assert SOURCE in str(explanation)
    assert not linker.explain("coryza").parts[0].candidates[0].matched.lent


def test_one_answer_however_it_is_asked(linker: Linker) -> None:
    texts = ["lazy eye", "water on the lung", "cold", "HTN", "coryza"]
    alone = [linker.link(text).to_dict() for text in texts]
    assert [p.to_dict() for p in linker.link(texts)] == alone
    assert pickle.loads(pickle.dumps(linker)).link("lazy eye").to_dict() == alone[0]
    part = linker.restricted(None)
    assert part.link("lazy eye").to_dict() == alone[0]


def test_a_part_of_the_dictionary_keeps_what_is_its_own(linker: Linker) -> None:
    within = Selection(namespaces=("D",))
    assert best(linker.restricted(within), "lazy eye").source == SOURCE


def test_a_model_without_the_option_loads(linker: Linker, tmp_path: Path) -> None:
    linker.save(tmp_path / "model")
    again = Linker.load(tmp_path / "model")
    assert again.options.text.everyday
    assert best(again, "lazy eye").source == SOURCE
