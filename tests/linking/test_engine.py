"""From probabilities to predictions: the order, the reading, no answer, limits, batches."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary, Document, Linker, LinkerError, Mention
from linker.dictionary.lending import ConsideredName, Lending
from linker.io import mentions as readers
from linker.linking.lists import PLACE, MatchLists, Probabilities, softmax
from linker.linking.ranker import Ranker
from linker.linking.ranking import DEPTH, DescribedBatch, Ranking, by_probability
from linker.records import GoldGroup, Name, Passage, Prediction
from linker.search.concepts import Candidates
from linker.training.pipeline import train

Text = list[tuple[int, float]]  # the candidates of a text: each concept with its share
Reading = tuple[float, list[Text]]  # its probability, and the texts that are looked up


def ranking_of(*mentions: list[Reading]) -> Ranking:
    """What `by_probability` makes of mentions whose readings and candidates have these probabilities."""
    readings = [reading for mention in mentions for reading in mention]
    texts = [text for _, texts in readings for text in texts]
    concepts = np.array([concept for text in texts for concept, _ in text], np.int32)
    ends = [
        np.array([0, *itertools.accumulate(sizes)], np.int64)
        for sizes in (
            [len(mention) for mention in mentions],
            [len(texts) for _, texts in readings],
            [len(text) for text in texts],
        )
    ]
    nothing = np.zeros((len(concepts), 0), np.float32)
    zeros = np.zeros(len(concepts), np.float32)
    without = np.zeros(len(mentions), np.float32)
    columns = (concepts, concepts, concepts, zeros, None, None, concepts, zeros)
    probabilities = Probabilities(
        np.array([share for text in texts for _, share in text], np.float64),
        np.array([probability for probability, _ in readings], np.float64),
        zeros.astype(np.float64),
        *(np.array([1 - sum(p for p, _ in mention) for mention in mentions]) / 2 for _ in range(2)),
    )
    lists = MatchLists(*ends, nothing, without)
    return by_probability(DescribedBatch(lists, Candidates(ends[2], *columns)), probabilities)


def in_order(ranking: Ranking, text: int) -> list[tuple[int, float]]:
    """The concepts of a text, the best first, each with its confidence."""
    return [
        (int(ranking.batch.found.concepts[row]), pytest.approx(ranking.confidence[row]))
        for row in ranking.rows(text).tolist()
    ]


# ---------------------------------------------------------------------------- order and reading


eighths = st.integers(0, 8).map(lambda n: n / 8)
texts = st.lists(st.tuples(st.integers(0, 4), eighths), max_size=4, unique_by=lambda one: one[0])
some_readings = st.lists(
    st.tuples(eighths, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=3
)


@given(st.lists(some_readings, min_size=1, max_size=3))
def test_by_probability_against_a_slow_twin(mentions: list[list[Reading]]) -> None:
    ranking, text, reading = ranking_of(*mentions), 0, 0
    for mention, best in zip(mentions, ranking.best.tolist(), strict=True):
        of_concept: dict[int, float] = {}
        for probability, parts in mention:
            for concept, share in parts[0] if len(parts) == 1 else ():
                of_concept[concept] = of_concept.get(concept, 0) + probability * share
        products = []
        for probability, parts in mention:
            product = 1.0
            for candidates in parts:
                confidences = {
                    concept: of_concept[concept]
                    if len(parts) == 1
                    else probability ** (1 / len(parts)) * share
                    for concept, share in candidates
                }
                expected = sorted(confidences, key=lambda concept: -confidences[concept])
                assert in_order(ranking, text) == [(c, confidences[c]) for c in expected]
                product *= max(confidences.values(), default=0.0)
                text += 1
            products.append(product)
        first = reading
        reading += len(mention)
        assert ranking.readings[first:reading] == pytest.approx(products)
        assert products[best - first] == pytest.approx(max(products))


# ---------------------------------------------------------------------------- answers

ROWS = (
    "id\tname\tsynonyms",
    "D:1\tIchthyosis Bullosa\tIBS",
    "D:2\tLymphoid Leukemia\tALL",
    "D:3\tMyocardial Infarction\theart attack|acute MI",
    "D:4\tHypertension\tHTN",
)


class Fixed:
    """A ranker that gives the first candidate of each text the same probability."""

    described = "made by hand"

    def __init__(self, first: float, none: float, missed: float) -> None:
        self.first, self.slots = first, (none, missed)

    def probabilities(self, lists: MatchLists) -> Probabilities:
        with np.errstate(divide="ignore"):
            odds = np.where(lists.values[:, PLACE["place"]] == 0, self.first, 0)
            slots = np.tile(np.log(self.slots), (len(lists.nil_evidence), 1))
            scores = np.stack([np.log(odds), np.full(len(odds), -np.inf)], axis=1)
            return softmax(scores, slots, lists)


def fixed(first: float, none: float, missed: float) -> Ranker:
    return cast(Ranker, Fixed(first, none, missed))


SURE = fixed(0.97, 0.02, 0.01)


def document(text: str, *names: str, gold: str = "") -> Document:
    """A document with the last occurrence of each name as a mention."""
    spans = [(text.rindex(name), text.rindex(name) + len(name)) for name in names]
    of_all = (GoldGroup((gold,)),) if gold else None
    mentions = (Mention(n, (s,), gold=of_all) for n, s in zip(names, spans, strict=True))
    return Document("1", (Passage(text),), tuple(mentions))


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("limits") / "dictionary.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    known = document("Myocardial infarction (MI) is not rare; MI", "MI", gold="D:3")
    return train(Dictionary.read(path), encoder="tfidf", mentions=[known])


@pytest.fixture(scope="module")
def linker(toy: Linker) -> Linker:
    """The same with a ranker that is always sure."""
    return toy.with_ranker(SURE)


@pytest.mark.parametrize(
    ("first", "none", "missed", "threshold", "is_answered"),
    [
        (0.15, 0.62, 0.23, None, False),  # "no concept" is four times as probable
        (0.15, 0.58, 0.27, None, True),
        (0.15, 0.62, 0.23, 0, True),  # everything is answered
        (0.2, 0.29, 0.51, None, True),  # it has a concept, probably, and this one is the best
        (0.04, 0.0, 0.96, None, False),  # below the floor
        (0.06, 0.0, 0.94, None, True),
        (0.6, 0.3, 0.1, 0.59, True),
        (0.6, 0.3, 0.1, 0.61, False),
        (0.1, 0.7, 0.2, 0.09, True),  # a threshold says by itself what is answered
    ],
)
def test_what_has_no_answer(
    toy: Linker,
    first: float,
    none: float,
    missed: float,
    threshold: float | None,
    is_answered: bool,
) -> None:
    linker = toy.with_ranker(fixed(first, none, missed))
    (prediction,) = linker.link(["heart attack"], threshold=threshold)
    (part,) = prediction.parts
    assert part.nil is not is_answered
    best = part.best if is_answered else part.rejected
    assert best is not None
    assert (best.concept_id, best.confidence) == ("D:3", pytest.approx(first))
    assert (part.rejected is None) is is_answered
    assert bool(part.returned) is is_answered
    # an explanation says what a question without a threshold gets
    assert linker.explain("heart attack").parts[0].rejected is (none > 4 * first or first < 0.05)


def test_a_name_of_several_concepts_is_one_of_them(tmp_path: Path) -> None:
    path = tmp_path / "diseases.tsv"
    path.write_text(
        "id\tname\tsynonyms\n"
        "D:1\tAcrocephalosyndactyly\tPfeiffer syndrome\n"
        "D:2\tCraniosynostosis\tPfeiffer syndrome\n"
        "D:3\tInfectious mononucleosis\tPfeiffer disease\n",
        encoding="utf-8",
    )
    linker = train(Dictionary.read(path), encoder="tfidf").with_ranker(fixed(0.1, 0.6, 0.3))
    tied, plain = linker.link(["Pfeiffer syndrome", "Pfeiffer disease"], k=3)
    # 0.1 and nothing, and half each of nine tenths of the 0.9 that "none" and "missed" have
    assert [(c.concept_id, c.confidence) for c in tied.parts[0].candidates[:2]] == [
        ("D:1", pytest.approx(0.505)),
        ("D:2", pytest.approx(0.405)),
    ]
    assert not tied.parts[0].nil
    assert plain.parts[0].nil  # of one concept "none" may be more probable


def test_each_name_of_a_list_is_answered_as_it_is_alone(toy: Linker) -> None:
    toy = toy.with_ranker(Ranker.shipped())
    names = ["heart attack", "blood count"]
    together = toy.link("; ".join(names)).parts
    alone = [toy.link(name).parts[0] for name in names]
    assert [part.nil for part in together] == [part.nil for part in alone] == [False, True]
    for part, own in zip(together, alone, strict=True):
        assert [c.concept_id for c in part.candidates] == [c.concept_id for c in own.candidates]
        given = [c.confidence for c in part.candidates]
        assert given == pytest.approx([c.confidence for c in own.candidates], abs=1e-6)
    explained = toy.explain("; ".join(names)).parts
    assert [part.rejected for part in explained] == [False, True]


def test_what_is_denied_counts_if_it_names_a_concept(toy: Linker) -> None:
    toy = toy.with_ranker(Ranker.shipped())
    cells = ["heart attack no blood count", "heart attack with no hypertension", "unknown, no tea"]
    first, both, nothing = toy.link(cells)
    (alone,) = toy.link("heart attack").parts
    (part,) = first.parts
    assert (first.mention.text, first.reading) == (cells[0], "whole")
    assert (part.text, part.assertion, part.nil) == ("heart attack", "present", False)
    assert part.confidence == pytest.approx(alone.confidence, abs=1e-6)
    assert (both.reading, both.to_dict()["assertion"]) == ("split", "mixed")
    found = [(part.best and part.best.concept_id, part.assertion) for part in both.parts]
    assert found == [("D:3", "present"), ("D:4", "absent")]
    assert [part.nil for part in nothing.parts] == [True]
    explained = toy.explain(cells[0]).parts
    assert [part.lookup["text"] for part in explained] == ["heart attack"]


@pytest.mark.parametrize(
    ("mention", "concept", "confidence"),
    [
        ("IBS", "D:1", 0.4),
        (" ibs.", "D:1", 0.4),
        ("ALL", "D:2", 0.4),
        ("all", "D:2", 0.4),
        ("MI", "D:3", 0.75),  # annotated
        ("mi", "D:3", 0.4),
        ("HTN", "D:4", 0.75),  # the list of linker agrees
        ("heart attack", "D:3", 0.97),
        ("HEART ATTACK", "D:3", 0.97),
    ],
)
def test_lone_short_forms(linker: Linker, mention: str, concept: str, confidence: float) -> None:
    (prediction,) = linker.link([mention])
    best = prediction.parts[0].best
    assert best is not None
    assert (best.concept_id, best.confidence) == (concept, confidence)


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    """Names that ordinary words and substances look like, and a ranker that is always sure."""
    path = tmp_path_factory.mktemp("alike") / "dictionary.tsv"
    rows = [
        "D:1\tEdema\toedema",
        "D:2\tCitrullinemia\tincreased citrulline",
        "D:3\tSchistosomiasis mansoni\tSchistosoma mansoni infection",
        "D:4\tPropionic acidemia\t",
        "D:5\tCobalamin deficiency\t",
        "D:6\tHypertriglyceridemia\televated triglyceride level",
        "D:7\tLymphoid Leukemia\tALL",
    ]
    path.write_text("id\tname\tsynonyms\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return train(Dictionary.read(path), encoder="tfidf").with_ranker(SURE)


@pytest.mark.parametrize(
    ("mention", "concept", "is_limited"),
    [
        ("enema", "D:1", True),
        ("edemas", "D:1", False),
        ("edmea", "D:1", False),  # a typing error
        ("citrulline", "D:2", True),
        ("citrulline level", "D:2", True),
        ("citrullinaemia", "D:2", False),
        ("Schistosoma mansoni", "D:3", True),
        ("schistosomiasis due to Schistosoma mansoni", "D:3", False),
        ("propionic acid", "D:4", True),
        ("cobalamin", "D:5", True),
        ("cobalamin deficient", "D:5", False),
        ("elevated triglyceride levels", "D:6", False),
        ("elevated triglyceride level", "D:6", False),
        ("and all", "D:7", True),
    ],
)
def test_words_that_look_like_those_of_a_name(
    alike: Linker, mention: str, concept: str, is_limited: bool
) -> None:
    (prediction,) = alike.link([mention])
    best = prediction.parts[0].best
    assert best is not None
    assert best.concept_id == concept
    assert best.confidence is not None
    if is_limited:
        assert best.confidence == 0.4
    else:
        assert best.confidence >= 0.97


@pytest.mark.parametrize(("is_lent", "confidence"), [(True, 0.4), (False, 0.97)])
def test_an_organism_is_a_name_only_where_the_dictionary_says_so(
    tmp_path: Path, is_lent: bool, confidence: float
) -> None:
    path = tmp_path / "dictionary.tsv"
    of_dictionary = "" if is_lent else "Schistosoma haematobium"
    rows = ["id\tname\tsynonyms", f"D:1\tUrinary bilharziasis\t{of_dictionary}", "D:2\tGout\t"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    dictionary = Dictionary.read(path)
    if is_lent:
        name = Name("Schistosoma haematobium", "Y:1")
        lending = Lending([ConsideredName(name, "other", ("D:1",), "lent")])
        dictionary = dictionary.with_lent_names(lending)
    linker = train(dictionary, encoder="tfidf").with_ranker(SURE)
    (part,) = linker.link(["Schistosoma haematobium"])[0].parts
    assert part.best is not None
    assert (part.best.concept_id, part.best.confidence) == ("D:1", confidence)


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
    prediction = linker.link(document(text, *mentions))[0]
    # several readings with the same concept are surer together
    assert prediction.parts[0].confidence == pytest.approx(confidence, abs=0.02)
    assert (prediction.parts[0].confidence == confidence) is (confidence < 0.9) or len(mentions) > 1


# ---------------------------------------------------------------------------- the sample


@pytest.fixture(scope="module")
def items(sample: Path) -> list[Document | Mention]:
    documents = readers.read(sample.with_name("sample_documents.pubtator.txt"))
    texts = ("breast and ovarian cancer", "AS", "atxia", "…", "familial leukemia", "AS")
    return [*map(Mention, texts), *documents, Mention("breast and ovarian cancer")]


def told(predictions: list[Prediction]) -> list[Any]:
    """What predictions hold, with numbers that may differ a little."""
    return [
        (
            prediction.reading,
            [
                [
                    (c.concept_id, c.matched_name, pytest.approx(c.confidence, abs=1e-4))
                    for c in part.candidates
                ]
                for part in prediction.parts
            ],
            [
                (rival.kind, pytest.approx(rival.confidence, abs=1e-4))
                for rival in prediction.rivals
            ],
        )
        for prediction in predictions
    ]


@pytest.mark.parametrize("has_ranker", [True, False])
def test_items_are_answered_alike_alone_and_together(
    static: Linker, items: list[Document | Mention], has_ranker: bool
) -> None:
    linker = static if has_ranker else static.with_ranker(None)
    together = list(linker.link(items, threshold=0))
    alone = [p for item in items for p in linker.link([item], threshold=0)]
    assert told(together) == told(alone)
    assert told(together) == told(list(linker.link(items, threshold=0, batch_size=1)))


def test_behind_what_the_ranker_sees_are_others_by_score(static: Linker) -> None:
    (few,) = static.link(["cancer of the breast"], k=DEPTH, threshold=0)
    (many,) = static.link(["cancer of the breast"], k=3 * DEPTH, threshold=0)
    candidates = many.parts[0].candidates
    assert len(candidates) == 3 * DEPTH
    assert candidates[:DEPTH] == few.parts[0].candidates
    form = static.normalize("cancer of the breast")
    (by_score,) = static.generator.rank([form], 3 * DEPTH, "concepts")
    ids = [static.dictionary.ids[row] for row in by_score.concepts]
    assert ids[DEPTH:] == [c.concept_id for c in candidates[DEPTH:]]
    assert {c.confidence for c in candidates[DEPTH:]} == {0.0}
    least = sorted(c.score for c in candidates)[2]
    (some,) = static.link(["cancer of the breast"], k=3 * DEPTH, threshold=0, min_score=least)
    assert some.parts[0].candidates == tuple(c for c in candidates if c.score >= least)
    (nothing,) = static.link(["cancer of the breast"], threshold=0, min_score=9)
    assert (nothing.parts[0].nil, nothing.parts[0].rejected) == (True, candidates[0])


@pytest.mark.parametrize("text", ["breast and ovarian cancer", "familial leukemia", "leukemia"])
def test_the_rival_is_the_second_best_reading(static: Linker, text: str) -> None:
    prediction = static.link(text, threshold=0)
    readings = [r for r in static.explain(text).readings if not r.won]
    assert len(prediction.rivals) == min(1, len(readings))
    for rival in prediction.rivals:
        best = max(readings, key=lambda reading: reading.confidence or 0.0)
        assert rival.kind == best.kind
        assert [part.text for part in rival.parts] == [lookup.text for lookup in best.lookups]
        assert [len(part.candidates) for part in rival.parts] == [1] * len(best.lookups)
        assert rival.confidence == pytest.approx(best.confidence, abs=1e-5)


def test_without_a_ranker_scores_decide(static: Linker, items: list[Document | Mention]) -> None:
    linker = static.with_ranker(None)
    for prediction in linker.link(items):
        assert prediction.rivals == ()
        for part in prediction.parts:
            scores = [candidate.score for candidate in part.candidates]
            assert scores == sorted(scores, reverse=True)
            assert part.confidence is None
            assert part.nil is not bool(scores)
    assert linker.link("breast and ovarian cancer").reading == "split"  # the most usual one
    with pytest.raises(LinkerError):
        list(linker.link(["x"], threshold=0.5))


def test_names_stand_in_the_order_of_their_concepts(static: Linker) -> None:
    """Of concepts: first one name of each, each with its most probable one; or but the first."""
    texts = ["leukaemias", "anemia of fanconi", "…"]
    assert [len(static.explain(text).readings) for text in texts] == [1, 1, 1]
    unranked = static.with_ranker(None).rank_names(texts, 100)
    expected = static.generator.rank([static.normalize(text) for text in texts], 100, "names")
    table, ids = static.generator.table, static.dictionary.ids
    for text, names, plain, generated in zip(
        texts, static.rank_names(texts, 100), unranked, expected, strict=True
    ):
        assert [of.names.tolist() for of in plain] == [generated.names.tolist()] * 2
        by_score = generated.names.tolist()
        (prediction,) = static.link([text], k=DEPTH + 6, threshold=0)  # with ancestors
        order = [candidate.concept_id for candidate in prediction.parts[0].candidates]
        shown: dict[str, int] = {}  # the best name of each concept
        for name in by_score:
            own = [ids[row] for row in table.concepts_of(name).tolist()]
            shown.setdefault(min(own, key=lambda i: order.index(i) if i in order else 99), name)
        best = sorted(shown, key=lambda i: order.index(i) if i in order else 99)
        wanted = [shown[identifier] for identifier in best]
        others = [name for name in by_score if name not in wanted]
        assert names.by_concept.names.tolist() == wanted + others
        behind = [name for name in by_score if name not in wanted[:1]]
        assert names.by_score.names.tolist() == wanted[:1] + behind


@pytest.mark.parametrize("cell", ["n/a", "2014", "- - -", "…"])
@pytest.mark.parametrize("threshold", [None, 0, 0.5])
def test_where_nothing_was_entered_nothing_is_answered(
    toy: Linker, linker: Linker, cell: str, threshold: float | None
) -> None:
    (part,) = linker.link(cell, threshold=threshold).parts
    assert part.nil
    assert all(candidate.confidence == 0 for candidate in part.candidates)
    assert toy.with_ranker(None).link(cell).parts[0].nil  # which needs no ranker
    assert not linker.link(["heart attack"], threshold=threshold)[0].parts[0].nil


def test_a_qualified_name_is_as_sure_with_any_marks_and_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "findings.tsv"
    path.write_text(
        "id\tname\nD:1\tSinusitis, acute\nD:2\tSinusitis\nD:3\tAcute\nD:4\tFever\n",
        encoding="utf-8",
    )
    linker = train(Dictionary.read(path), encoder="tfidf")
    cells = ["Sinusitis, acute", "acute sinusitis", "sinusitis (acute)", "acute - sinusitis"]
    found = [linker.link(cell).parts for cell in cells]
    assert [[part.best and part.best.concept_id for part in parts] for parts in found] == [
        ["D:1"]
    ] * len(cells)
    assert len({part.confidence for parts in found for part in parts}) == 1
    # alone a modifier may be meant, beside a name it is not
    assert linker.link("Acute").parts[0].returned[0].concept_id == "D:3"
    beside = linker.link("fever, acute").parts
    assert [part.best and part.best.concept_id for part in beside] == ["D:4"]


def test_what_a_text_denies_or_lacks_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "diseases.tsv"
    path.write_text(
        "id\tname\tsynonyms\n"
        "D:1\tNephropathy, Diabetic\tdiabetic nephropathy\n"
        "D:2\tNephropathy\tkidney disease\n"
        "D:3\tStructural myopathy\tCFTD\n"
        "D:4\tCystic fibrosis\tCFTR-related cystic fibrosis\n",
        encoding="utf-8",
    )
    linker = train(Dictionary.read(path), encoder="tfidf")
    texts = ("non-diabetic nephropathy", "CFTR variant", "diabetic nephropathy")
    found = [
        {candidate.concept_id for part in prediction.parts for candidate in part.candidates}
        for prediction in linker.link(texts, k=4)
    ]
    assert "D:1" not in found[0]
    assert "D:2" in found[0]
    assert found[1] <= {"D:4"}
    assert "D:1" in found[2]
