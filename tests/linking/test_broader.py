"""Broader concepts: the narrowest that is probable enough, when one is given, and to whom."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Decision, Dictionary, Document, Linker, Mention
from linker.dictionary.hierarchy import Hierarchy, parent_lists
from linker.io import jsonl
from linker.linking import broader as module
from linker.linking.ancestors import Ancestors
from linker.linking.decided import Decided
from linker.linking.lists import PLACE, MatchLists, Probabilities, softmax
from linker.linking.ranker import Ranker
from linker.linking.ranking import DescribedBatch, by_probability
from linker.records import Broader, Part, Passage, Selection
from linker.search.concepts import Candidates
from linker.training.pipeline import train

KINDS = ("renal", "hepatic", "gastric", "cardiac", "pulmonary", "thyroid", "ovarian", "dermal")
"""Neoplasms of two grades of each organ, below one concept; beside them other diseases."""


def rows() -> list[str]:
    lines = ["id\tname\tparents", "D:0\tdisease\t", "D:1\tneoplasm\tD:0", "D:2\tinfection\tD:0"]
    for place, organ in enumerate(KINDS):
        lines.append(f"N:{place}\t{organ} neoplasm\tD:1")
        lines += [
            f"N:{place}{grade}\t{organ} neoplasm grade {grade}\tN:{place}" for grade in (1, 2)
        ]
        lines.append(f"I:{place}\t{organ} infection\tD:2")
    return [*lines, *(f"X:{n}\tsyndrome number {n}\tD:0" for n in range(120))]


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("broader") / "dictionary.tsv"
    path.write_text("\n".join(rows()) + "\n", encoding="utf-8")
    return Dictionary.read(path)


class Fixed:
    """A ranker that gives the first candidate, what stands above it, and slots the same shares.

    Args:
        exact: of the first candidate of the mention.
        broader: of all that stand above it together.
        none, missed: of the slots.
    """

    described = "made by hand"

    def __init__(self, exact: float, broader: float, none: float, missed: float) -> None:
        self.exact, self.broader, self.slots = exact, broader, (none, missed)

    def probabilities(self, lists: MatchLists) -> Probabilities:
        is_first = np.zeros(len(lists.values), bool)
        is_first[lists.starts[:-1][np.diff(lists.starts) > 0]] = True
        is_above = lists.values[:, PLACE["above_first"]] > 0
        scores = np.full((len(is_first), 2), -np.inf)
        scores[is_first, 0] = np.log(self.exact)
        of_mention = np.searchsorted(lists.starts, np.arange(len(is_above)), "right") - 1
        count = np.bincount(of_mention, is_above, len(lists.nil_evidence))[of_mention]
        scores[is_above, 1] = np.log(self.broader / count[is_above])
        slots = np.tile(np.log(self.slots), (len(lists.nil_evidence), 1))
        return softmax(scores, slots, lists)


def fixed(linker: Linker, *shares: float) -> Linker:
    return linker.with_ranker(cast(Ranker, Fixed(*shares)))


@pytest.fixture(scope="module")
def plain(dictionary: Dictionary) -> Linker:
    return train(dictionary, encoder="tfidf")


@pytest.fixture(scope="module")
def linker(plain: Linker) -> Linker:
    """Nearly sure that something above the first candidate, and nothing that is listed, is meant."""
    return fixed(plain, 0.01, 0.96, 0.02, 0.01)


# --------------------------------------------------------------------------------- narrowest


SIZE = 12
shares = st.floats(0, 1)
rows_of_texts = st.lists(
    st.lists(st.tuples(st.integers(0, SIZE - 1), shares, shares), max_size=5),
    min_size=1,
    max_size=4,
)
edges = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=20)


class Above:
    """The ancestors that `narrowest` asks, of a hierarchy and how narrow concepts are."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        self.closure = Hierarchy(parent_lists(SIZE, pairs)).closure
        self.sizes = np.asarray(self.closure.sum(axis=0)).ravel()
        self.is_narrow = self.sizes <= 6

    at_or_above = Ancestors.at_or_above

    @property
    def _starts(self) -> Any:
        return self.closure.indptr.astype(np.int64)

    @property
    def _above(self) -> Any:
        return self.closure.indices


@given(edges, rows_of_texts)
def test_narrowest_against_a_slow_twin(
    pairs: list[tuple[int, int]], texts: list[list[tuple[int, float, float]]]
) -> None:
    """A mention with a reading for each text."""
    ends = np.append(0, np.cumsum([len(text) for text in texts]))
    every = [row for text in texts for row in text]
    count = len(texts)
    concepts = np.array([concept for concept, *_ in every], np.int32)
    total = sum(exact + broader for _, exact, broader in every) + 0.1
    sums = [sum(exact for _, exact, _ in text) for text in texts]
    of_text = np.repeat(np.array(sums), np.diff(ends))
    exact_shares = np.array([exact for _, exact, _ in every])
    of_rows = np.divide(exact_shares, of_text, out=np.zeros(len(every)), where=of_text > 0)
    lists = MatchLists(
        np.array([0, count]),
        np.arange(count + 1),
        ends,
        np.zeros((len(every), 0), np.float32),
        np.zeros(1, np.float32),
    )
    zeros = np.zeros(len(every), np.float32)
    found = Candidates(ends, concepts, concepts, concepts, zeros, None, None, concepts, zeros)
    given_shares = Probabilities(
        rows=of_rows,
        readings=np.array(sums) / total,
        broader=np.array([broader for *_, broader in every]) / total,
        none=np.zeros(1),
        missed=np.zeros(1),
    )
    above = Above(pairs)
    ranking = by_probability(DescribedBatch(lists, found), given_shares)
    told = module.narrowest(ranking, cast(Ancestors, above), [0])
    parents: dict[int, set[int]] = {c: {p for x, p in pairs if x == c} for c in range(SIZE)}

    def at_or_above(concept: int) -> set[int]:
        seen = {concept}
        waiting = [concept]
        while waiting:
            new = parents[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    possible = []
    for concept in {concept for concept, *_ in every}:
        under = sum(e + b for c, e, b in every if concept in at_or_above(c)) / total
        exact = sum(e for c, e, _ in every if c == concept) / total
        size = sum(concept in at_or_above(c) for c in range(SIZE))
        if under >= module.SURE and exact <= under / 2 and size <= 6:
            possible.append((size, -under, concept))
    if not possible:
        assert told == {}
        return
    size, share, concept = min(possible)
    assert told[0][1] == pytest.approx(-share)
    assert [size, -share] == pytest.approx([above.sizes[told[0][0]], told[0][1]])


# ------------------------------------------------------------------------------- of a linker


def best_of(linker: Linker, mention: str | Mention, **limits: Any) -> Part:
    """The part of a mention for which the model has no sure concept."""
    return linker.link([mention], **{"threshold": 0.99, **limits})[0].parts[0]


def test_what_stands_above_the_first_candidate_is_broader(linker: Linker) -> None:
    """N:0 and D:1 stand above it; half of their share is of the narrower one, which is too little."""
    (prediction,) = linker.link(["renal neoplasm grade 1x"], threshold=0.5)
    (part,) = prediction.parts
    assert part.nil
    assert part.candidates[0].concept_id in ("N:01", "N:02")
    assert part.broader == Broader("D:1", "neoplasm", pytest.approx(0.97, abs=0.001))
    assert jsonl.from_json(json.loads(json.dumps(prediction.to_dict()))).parts == (part,)
    alone = linker.link(["renal neoplasm grade 1x"], threshold=0.5, exact_only=True)[0].parts[0]
    assert alone == replace(part, broader=None)


def test_what_is_rather_meant_itself_is_not_broader(plain: Linker) -> None:
    """The first candidate is N:0, above which D:1 stands."""
    text = "renal neoplasms x"
    unsure = fixed(plain, 0.45, 0.5, 0.04, 0.01)
    guess = unsure.link(text).parts[0]
    assert guess.best is not None
    assert guess.best.concept_id == "N:0"
    assert guess.broader is not None
    assert guess.broader.concept_id == "D:1"
    rather = best_of(fixed(plain, 0.7, 0.2, 0.09, 0.01), text)
    assert rather.rejected is not None
    assert rather.rejected.concept_id == "N:0"
    assert rather.broader is not None
    assert rather.broader.concept_id == "D:1"


def test_no_broader_concept_is_given(linker: Linker) -> None:
    """What names nothing, is denied or was decided has none."""
    for text in ("", "n/a", "qwerty"):
        assert best_of(linker, text).broader is None
    text = "no renal neoplasm grade 7"
    mention = Mention(text[3:], spans=((3, len(text)),))
    (prediction,) = linker.link([Document("1", (Passage(text),), (mention,))], threshold=0.99)
    assert prediction.parts[0].assertion == "absent"
    assert prediction.parts[0].broader is None
    for decision in (
        Decision("renal neoplasm grade 7", ""),
        Decision("renal neoplasm grade 7", "N:01", accepted=False),
    ):
        decided = Decided([decision], linker)
        assert best_of(linker, "renal neoplasm grade 7", decisions=decided).broader is None


def test_a_sure_concept_needs_no_broader_one(plain: Linker) -> None:
    part = fixed(plain, 0.9, 0.08, 0.01, 0.01).link("renal neoplasm grade 1x").parts[0]
    assert part.best is not None
    assert part.broader is None


def test_concepts_outside_of_the_part_in_use_are_not_given(linker: Linker) -> None:
    part = linker.restricted(Selection(not_under=["N:0"]))
    found = best_of(part, "renal neoplasm grade 1x").broader
    assert found is None or not found.concept_id.startswith("N:0")


def test_one_mention_alone_equals_one_of_many(linker: Linker) -> None:
    texts = [f"{organ} neoplasm grade {n}x" for organ in KINDS for n in (1, 5, 9)]
    together = [p.parts[0].broader for p in linker.link(texts, threshold=0.99)]
    assert any(together)
    assert together == [best_of(linker, text).broader for text in texts]


def test_dictionaries_without_a_hierarchy_with_cycles_and_with_several_roots(
    tmp_path: Path,
) -> None:
    whole = "\n".join(rows())

    def broader(text: str) -> str | None:
        path = tmp_path / "dictionary.tsv"
        path.write_text(text, "utf-8")
        made = fixed(train(Dictionary.read(path), encoder="tfidf"), 0.01, 0.96, 0.02, 0.01)
        part = best_of(made, "renal neoplasm grade 1x")
        assert part.nil
        return part.broader and part.broader.concept_id

    assert broader(whole) == "D:1"
    flat = "\n".join(line.rsplit("\t", 1)[0] for line in rows())
    assert broader(flat) is None
    (tmp_path / "flat.tsv").write_text(flat, "utf-8")
    assert not train(Dictionary.read(tmp_path / "flat.tsv"), encoder="tfidf").has_broader
    assert broader(whole.replace("\tD:0\n", "\t\n")) == "D:1"  # a root now
    # where all below a cycle stand above each other, none of them tells enough
    assert broader(whole.replace("disease\t", "disease\tN:01")) is None


def test_a_broader_concept_in_words() -> None:
    part = Part("x", nil=True, broader=Broader("N:0", "renal neoplasm", 0.875))
    assert str(part) == "no concept, broader N:0 renal neoplasm (0.88)"
