"""Broader concepts: what stands above candidates, which of them is narrowest, when one is given."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Decision, Dictionary, Document, Linker, Mention
from linker.dictionary.hierarchy import Hierarchy, parent_lists
from linker.io import jsonl
from linker.linking import broader as module
from linker.linking.broader import COLUMNS, Above, Ancestors, Weights
from linker.linking.decided import Decided
from linker.linking.matches import COLUMNS as MATCHES
from linker.linking.matches import PLACE
from linker.linking.ranker import MatchLists
from linker.linking.ranking import DescribedBatch, Ranking
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


@pytest.fixture(scope="module")
def linker(dictionary: Dictionary) -> Linker:
    return train(dictionary, encoder="tfidf")


def ranking_of(*texts: list[tuple[int, float, float]]) -> Ranking:
    """Mentions of one text, whose candidates have these concepts, scores and confidences."""
    sizes = [len(text) for text in texts]
    starts, ends = np.arange(len(texts) + 1), np.append(0, np.cumsum(sizes))
    concepts = np.array([c for text in texts for c, *_ in text], np.int32)
    inputs = np.zeros((len(concepts), 2 * len(MATCHES)), np.float32)
    inputs[:, PLACE["score"]] = [score for text in texts for _, score, _ in text]
    inputs[:, PLACE["head_share"]] = 0.25
    lists = MatchLists(starts, starts, ends, inputs, np.zeros(len(texts), np.float32))
    zeros = np.zeros(len(concepts), np.float32)
    found = Candidates(ends, concepts, concepts, concepts, zeros, None, None, concepts, zeros)
    confidence = np.array([share for text in texts for *_, share in text])
    nothing, best = np.zeros(len(texts)), np.arange(len(texts))
    batch, order = DescribedBatch(lists, found), np.arange(len(concepts))
    return Ranking(batch, order, confidence, nothing, best, None)


@given(st.data())
def test_what_stands_above_candidates_as_a_slow_way_finds_it(data: st.DataObject) -> None:
    size = data.draw(st.integers(3, 30))
    row = st.integers(0, size - 1)
    pairs = data.draw(st.lists(st.tuples(row, row), max_size=40))
    linkable = data.draw(st.sets(row, min_size=1))
    share = st.floats(0, 1, width=16)
    candidates = st.lists(st.tuples(row, share, share), max_size=5, unique_by=lambda c: c[0])
    texts = data.draw(st.lists(candidates, min_size=1, max_size=3))
    parents = defaultdict(set)
    for child, parent in pairs:
        parents[child].add(parent)

    def at_or_above(concept: int) -> set[int]:
        found, waiting = {concept}, [concept]
        while waiting:
            new = parents[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    below = {c: sum(c in at_or_above(other) for other in linkable) for c in range(size)}
    expected = {}
    for number, text in enumerate(texts):
        best = max((score for _, score, _ in text), default=0.0)
        likeness = [math.exp(6 * (score - best)) for _, score, _ in text]
        total = sum(sure for *_, sure in text)
        for concept in sorted(linkable):
            own = [n for n, (c, *_) in enumerate(text) if concept in at_or_above(c)]
            if len(own) > 1 and below[concept] <= 0.2 * len(linkable):
                sure = sum(text[n][2] for n in own)
                expected[number, concept] = (
                    sum(likeness[n] for n in own) / sum(likeness),
                    sure,
                    sure / total if total else 0.0,
                    len(own) / len(text),
                    math.log1p(below[concept]),
                    best,
                    0.25,
                    0.0,
                )
    hierarchy = Hierarchy(parent_lists(size, pairs))
    above = Ancestors(hierarchy, np.array(sorted(linkable))).describe(
        ranking_of(*texts), np.arange(len(texts))
    )
    keys = zip(above.lookups.tolist(), above.concepts.tolist(), strict=True)
    found = dict(zip(keys, above.values.tolist(), strict=True))
    assert found.keys() == expected.keys()
    for pair, values in found.items():
        assert values == pytest.approx(expected[pair], abs=1e-6)


def test_the_narrowest_concept_that_is_probable_enough() -> None:
    """The probability is the logistic function of the column `confidence`, less 0.5."""
    zeros = np.zeros(len(COLUMNS))
    weights = Weights(zeros, zeros + 1, np.eye(len(COLUMNS))[COLUMNS.index("confidence")], -0.5)
    sure, unsure = math.log(4) + 0.5, math.log(2) + 0.5  # 0.8 and 0.667
    pairs = [  # the text, the concept, its confidence and its size
        (3, 1, sure, 2.0),
        (3, 2, sure, 1.0),
        (3, 3, unsure, 0.5),
        (5, 1, sure, 2.0),
        (5, 4, sure + 0.1, 2.0),
        (8, 1, unsure, 2.0),
        (9, 1, sure, 2.0),  # half of this text is probably meant to be outside of the part
        (10, 1, sure, 2.0),
        (10, 2, sure, 1.0),  # the exact one
    ]
    values = np.zeros((len(pairs), len(COLUMNS)))
    values[:, COLUMNS.index("confidence")] = [confidence for *_, confidence, _ in pairs]
    values[:, COLUMNS.index("size")] = [size for *_, size in pairs]
    lookups, concepts = (np.array([pair[place] for pair in pairs]) for place in (0, 1))
    found = weights.narrowest(
        Above(lookups, concepts, values),
        np.array([3, 5, 8, 9, 10]),
        np.array([1, 1, 1, 0.5, 1]),
        np.array([7, -1, 1, -1, 2]),
    )
    assert found == {
        3: (2, pytest.approx(0.8)),
        5: (4, pytest.approx(1 / (1 + math.exp(-math.log(4) - 0.1)))),
        10: (1, pytest.approx(0.8)),
    }


def test_the_weights_that_ship_fit_the_columns() -> None:
    weights = Weights.shipped()
    assert weights.weights.shape == weights.centre.shape == weights.scale.shape == (len(COLUMNS),)
    assert (weights.scale > 0).all()
    assert weights.weights[COLUMNS.index("likeness")] > 0


def best_of(linker: Linker, mention: str | Mention, **limits: Any) -> Part:
    """The part of a mention for which the model has no sure concept."""
    return linker.link([mention], **{"threshold": 0.99, **limits})[0].parts[0]


def test_what_stands_above_the_candidates_is_broader(linker: Linker) -> None:
    (prediction,) = linker.link(["kidney neoplasm 2"], threshold=0.5)
    (part,) = prediction.parts
    assert part.nil
    assert part.broader is not None
    assert (part.broader.concept_id, part.broader.name) == ("D:1", "neoplasm")
    assert module.SURE <= part.broader.confidence <= 1
    assert len({"N:02", "N:12", "N:72"} & {c.concept_id for c in part.candidates}) > 1
    assert jsonl.from_json(json.loads(json.dumps(prediction.to_dict()))).parts == (part,)
    alone = linker.link(["kidney neoplasm 2"], threshold=0.5, exact_only=True)[0].parts[0]
    assert alone == replace(part, broader=None)


def test_the_answer_and_what_is_rather_meant_itself_are_not_broader(linker: Linker) -> None:
    guess = linker.link("kidney neoplasm 2").parts[0]
    assert guess.best is not None
    assert guess.best.concept_id == "D:1"
    assert guess.broader is None  # all else above stands above too many
    part = best_of(linker, "renal neoplasm grade 7")
    assert part.rejected is not None
    assert part.rejected.concept_id == "N:0"
    assert part.broader is not None
    assert part.broader.concept_id == "D:1"


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


def test_a_sure_concept_needs_no_broader_one(linker: Linker) -> None:
    (prediction,) = linker.link(["renal neoplasm grade 1"])
    assert prediction.parts[0].best is not None
    assert prediction.parts[0].broader is None


def test_concepts_outside_of_the_part_in_use_are_not_given(linker: Linker) -> None:
    part = linker.restricted(Selection(not_under=["N:0"]))
    found = best_of(part, "renal neoplasm grade 7").broader
    assert found is None or not found.concept_id.startswith("N:0")


def test_one_mention_alone_equals_one_of_many(linker: Linker) -> None:
    texts = [f"{organ} neoplasm grade {n}" for organ in KINDS for n in (1, 5, 9)]
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
        part = best_of(train(Dictionary.read(path), encoder="tfidf"), "renal neoplasm grade 7")
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
