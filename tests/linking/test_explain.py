"""Explanations, against scores, ranks and predictions that are made in slower or other ways."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary, Document, Linker, LinkerError, Mention, Prediction, Selection
from linker.dictionary.lending import ConsideredName, Lending
from linker.ids import parse_gold
from linker.io import mentions as readers
from linker.linking.explain import Explanation, Record
from linker.linking.lists import COLUMNS, INPUTS, behind
from linker.linking.ranker import unfitted
from linker.records import Name, Passage
from linker.search.hybrid import HybridGenerator
from linker.training.pipeline import train

CASES = (
    "Louis-Bar syndrome",
    "atxia telangiectasia",
    "breast and ovarian cancer",
    "AS",
    "leukemia",
)
APC = Document(
    "1",
    (
        Passage(
            "Familial adenomatous polyposis (FAP) was seen. "
            "Familial amyloid polyneuropathy (FAP) was not."
        ),
    ),
)


@pytest.fixture(scope="module")
def documents(sample: Path) -> list[Document | Mention]:
    return list(readers.read(sample.with_name("sample_documents.pubtator.txt")))


@pytest.fixture(scope="module")
def hybrid(dictionary: Dictionary, documents: list[Document | Mention]) -> Linker:
    return train(dictionary, encoder="static", mentions=documents)


@pytest.fixture(params=["tfidf", "hybrid"])
def linker(request: pytest.FixtureRequest) -> Linker:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def total(parts: Record) -> float:
    return (parts.dense or 0.0) + parts.sparse_weight * parts.sparse + parts.bonus


def asked_concept(explanation: Explanation) -> Record:
    """The one concept that was asked for."""
    (concept,) = explanation.question.concepts
    return concept


def asked_candidate(explanation: Explanation) -> Record:
    candidate = asked_concept(explanation).candidate
    assert candidate is not None
    return candidate


def best_scores(linker: Linker, text: str) -> dict[str, float]:
    """The score of each concept by its best name, of products of whole matrices."""
    generator, form = linker.generator, linker.normalize(text)
    first = generator.sparse if isinstance(generator, HybridGenerator) else generator
    scores = (first.encoder.encode([form]) @ first.by_name.T).toarray()[0]  # type: ignore[attr-defined]
    if isinstance(generator, HybridGenerator):
        dense = generator.vectors.astype(np.float32) @ generator.encoder.encode([form])[0]
        scores = dense + generator.sparse_weight * scores + generator.bias
    best: dict[str, float] = {}
    for row, score in enumerate(scores.tolist()):
        for concept in generator.table.concepts_of(row).tolist():
            identifier = linker.dictionary.ids[concept]
            best[identifier] = max(score, best.get(identifier, -np.inf))
    return best


@pytest.mark.parametrize("text", CASES)
def test_the_answer_is_that_of_link(linker: Linker, text: str) -> None:
    explanation = linker.explain(text, k=3)
    prediction: Prediction
    (prediction,) = linker.link([text], k=3, threshold=0)
    (won,) = (reading for reading in explanation.readings if reading.won)
    assert won.kind == prediction.reading
    assert len(explanation.parts) == len(prediction.parts)
    for part, expected in zip(explanation.parts, prediction.parts, strict=True):
        assert [
            (c.concept_id, c.name, c.matched.text, c.parts.score, c.confidence)
            for c in part.candidates
        ] == [
            (c.concept_id, c.name, c.matched_name, c.score, c.confidence)
            for c in expected.candidates
        ]


@pytest.mark.parametrize("text", CASES)
def test_the_parts_of_a_score_sum_to_it(linker: Linker, text: str) -> None:
    for part in linker.explain(text).parts:
        expected = best_scores(linker, part.lookup.text)
        for candidate in part.candidates:
            parts = candidate.parts
            assert parts.score == pytest.approx(expected[candidate.concept_id], abs=1e-5)
            assert total(parts) == pytest.approx(parts.score, abs=1e-5)
            assert (parts.dense is None) == (not isinstance(linker.generator, HybridGenerator))


@pytest.mark.parametrize("identifier", ["MESH:D001260", "MESH:D007938", "MESH:D000740"])
def test_a_rank_is_the_place_in_a_ranking_of_all(linker: Linker, identifier: str) -> None:
    text = "atxi telangiectasia leukemia"
    explanation = linker.explain(text, concept=identifier, k=1)
    candidate = asked_candidate(explanation)
    scores = best_scores(linker, explanation.parts[0].lookup.text)
    assert candidate.parts.score == pytest.approx(scores[identifier], abs=1e-5)
    (prediction,) = linker.link([text], k=len(linker.dictionary), threshold=0)
    ranking = [c.concept_id for c in prediction.parts[0].candidates]
    assert len(prediction.parts) == 1
    assert ranking.index(identifier) + 1 == candidate.rank
    plain = linker.with_ranker(None)
    candidate = asked_candidate(plain.explain(text, concept=identifier, k=1))
    scores = best_scores(linker, text)
    assert candidate.rank == 1 + sum(s > scores[identifier] + 1e-6 for s in scores.values())


def test_what_puts_the_first_before_another_one(linker: Linker) -> None:
    """The log odds that it loses where one column is that of the other, by whole lists."""
    text = "leukaemias"
    assert linker.ranker is not None
    ((_, batch),) = linker.lists([text])
    rows = {linker.dictionary.ids[c]: row for row, c in enumerate(batch.found.concepts.tolist())}
    first, *others = linker.explain(text).parts[0].candidates
    before = linker.ranker.scores_of(batch.lists.inputs)
    at = rows[first.concept_id]
    assert first.behind == []
    assert all(other.behind for other in others)
    for other in others:
        lost = {}
        for name in COLUMNS:
            inputs = batch.lists.inputs.copy()
            for place, read in enumerate(INPUTS):
                if read in (name, behind(name)):
                    inputs[at, place] = inputs[rows[other.concept_id], place]
            after = linker.ranker.scores_of(inputs)
            lost[name] = float(before[at] - after[at])
        largest = sorted((v for v in lost.values() if v >= 0.005), reverse=True)[:6]
        assert [effect.log_odds for effect in other.behind] == pytest.approx(largest, abs=1e-3)
        for effect in other.behind:
            assert effect.log_odds == pytest.approx(lost[effect.name], abs=1e-3)
            assert effect.says == COLUMNS[effect.name]


# ---------------------------------------------------------------------------------------------------------------- equal scores

TWO = "id\tname\tsynonyms\nX:1\talpha\t{}\nX:2\t{}\tdelta\n"


def annotated(*ids: str) -> list[Mention]:
    return [Mention("gamma", gold=parse_gold(identifier)) for identifier in ids]


@pytest.mark.parametrize(
    ("names", "mentions", "lent", "rule", "first"),
    [
        (("gamma one", "gamma two"), ["X:1", "X:2"], [], "id", "X:1"),
        (("gamma one", "gamma two"), ["X:2", "X:1"], [], "id", "X:1"),
        (("gamma one", "gamma two"), ["X:1", "X:2", "X:2"], [], "annotations", "X:2"),
        (("gamma", "gamma two"), ["X:2"], [], "annotations", "X:2"),
        (("gamma", "gamma"), [], [], "kind", "X:2"),
        (("gamma one", "gamma"), [], ["X:1"], "lent", "X:2"),
    ],
)
def test_equal_scores_name_the_rule_that_decided(
    tmp_path: Path,
    names: tuple[str, str],
    mentions: list[str],
    lent: list[str],
    rule: str,
    first: str,
) -> None:
    (tmp_path / "d.tsv").write_text(TWO.format(*names))
    names_lent = [ConsideredName(Name("gamma", "Y:1"), "other", (i,), "lent") for i in lent]
    two = Dictionary.read(tmp_path / "d.tsv").with_lent_names(Lending(names_lent))
    linker = train(two, mentions=annotated(*mentions), encoder="tfidf").with_ranker(None)
    best, other = linker.explain("gamma").parts[0].candidates
    assert best.parts.score == other.parts.score
    assert (best.concept_id, best.decided_by, other.decided_by) == (first, None, rule)
    asked = asked_candidate(linker.explain("gamma", concept=other.concept_id))
    assert asked.decided_by == rule
    alike = linker.with_ranker(unfitted())  # both are as probable
    best, other = alike.explain("gamma").parts[0].candidates
    assert (best.confidence, best.concept_id) == (other.confidence, first)
    assert (other.decided_by, other.behind) == (rule, [])


def statuses(explanation: Explanation) -> tuple[str, list[str]]:
    question = explanation.question
    return question.status, [concept.concept_id for concept in question.concepts]


def test_an_old_id_stands_for_the_current_ones(tmp_path: Path) -> None:
    path = tmp_path / "d.obo"
    path.write_text(
        "format-version: 1.2\n\n[Term]\nid: A:1\nname: heart disease\nalt_id: A:9\n\n"
        "[Term]\nid: A:2\nname: cardiac disease\nis_obsolete: true\nreplaced_by: A:1\n\n"
        "[Term]\nid: A:3\nname: old disease\nis_obsolete: true\n\n[Term]\nid: A:5\nname: …\n"
    )
    corrections = {"atxia": "ataxia"}
    linker = train(Dictionary.read(path), encoder="tfidf", corrections=corrections)
    assert statuses(linker.explain("heart", concept="A:1")) == ("current", ["A:1"])
    assert statuses(linker.explain("heart", concept="A:9")) == ("alternative", ["A:1"])
    status, ids = statuses(linker.explain("heart", concept="A:2"))
    assert (status, ids) in (("obsolete", ["A:1"]), ("merged", ["A:1"]))
    assert statuses(linker.explain("heart", concept="A:3")) == ("obsolete", [])
    for text, concept in (("heart", "A:4"), (" \t\n", None)):
        with pytest.raises(LinkerError):
            linker.explain(text, concept=concept)
    concept = asked_concept(linker.explain("heart", concept="A:5"))
    assert concept.excluded == ["nothing is left of its names in normal form"]
    lookup = linker.explain("Atxia").parts[0].lookup
    assert (lookup.normalized, lookup.misspelt) == ("ataxia", "atxia")


def test_a_filtered_concept_is_said_to_be_filtered(linker: Linker) -> None:
    within = Selection(under=("MESH:D001943",), namespaces=("MESH",))
    explanation = linker.explain("leukemia", concept="MESH:D007938", within=within)
    concept = asked_concept(explanation)
    assert concept.excluded == ["it is not under MESH:D001943"]
    assert concept.candidate is None
    restricted = linker.restricted(Selection(not_under=("MESH:D009369",)))
    concept = asked_concept(restricted.explain("leukemia", concept="D007938"))
    assert concept.excluded == ["it is under MESH:D009369"]


# ------------------------------------------------------------------------------------------- text


def test_the_text_says_what_the_record_holds(linker: Linker) -> None:
    for text, asked in (("FAP", None), ("breast and ovarian cancer", "MESH:D010051"), ("…", None)):
        explanation = linker.explain(text, concept=asked, document=APC if text == "FAP" else None)
        shown = str(explanation)
        for part in explanation.parts:
            for candidate in part.candidates:
                assert candidate.concept_id in shown
                assert candidate.matched.text in shown
                assert f"{candidate.parts.score:.4f}" in shown
                assert f"{candidate.confidence:.4f}" in shown
        assert ("Why not" in shown) is (asked is not None)
        assert explanation.provenance in shown


def test_of_a_cell_in_which_nothing_was_entered_no_order_is_explained(linker: Linker) -> None:
    explanation = linker.explain("n/a")
    (part,) = explanation.parts
    assert explanation.is_empty
    assert part.rejected
    assert {candidate.decided_by for candidate in part.candidates[1:]} == {"probability"}
    shown = str(explanation)
    assert "nothing was entered" in shown
    assert "ahead of" not in shown
    assert not linker.explain("gout").is_empty


def test_signs_that_cannot_be_printed_are_escapes(tfidf: Linker) -> None:
    explanation = tfidf.explain("<b>fever\x1b[31m\u202e\nAnswer: A:1", concept="MESH:D015783")
    shown = str(explanation)
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    assert shown.startswith("Mention: <b>fever\\x1b[31m\\u202e\\nAnswer: A:1\nAnswer: ")


def test_json_holds_the_record(linker: Linker) -> None:
    explanation = linker.explain("A-T", concept="MESH:D007938", k=2)
    line = explanation.to_json()
    record = json.loads(line)
    assert "\n" not in line
    assert record == json.loads(json.dumps(explanation.to_dict()))
    assert (record["schema"], record["text"]) == (1, str(explanation))
    assert explanation.parts[0] == record["parts"][0]
    assert "by_decision" not in record
