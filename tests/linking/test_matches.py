"""Candidates described in numbers, by hand and against slow twins."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from linker import Dictionary, Linker, Mention
from linker.encoders.base import Encoder
from linker.linking.lists import COLUMNS, PLACE
from linker.linking.matches import TEXT_COLUMNS, Matches
from linker.linking.words import words_of
from linker.records import NAME_KINDS, GoldGroup
from linker.search.concepts import Candidates
from linker.search.hybrid import NameVectors
from linker.search.index import EncodedTexts
from linker.text.normalize import normalize
from linker.training.pipeline import train

ROWS = """id\tname\tsynonyms\tparents
D:0\tdisease\tillness\t
D:1\ttumor\tmass|growth\tD:0
D:2\tlung tumor\tcancer of lung type 2|growth\tD:1
D:3\tlung adenoma K\tLAK\tD:2|D:5
D:4\tchild K adenoma\tK lung adenoma\tD:3
D:5\tgland disorder\tdisorder of gland\tD:0
D:6\tlate child\tK adenoma 2\tD:4
"""
PARENTS = {1: [0], 2: [1], 3: [2, 5], 4: [3], 5: [0], 6: [4]}


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("matches") / "d.tsv"
    path.write_text(ROWS, encoding="utf-8")
    return Dictionary.read(path)


class Described:
    """Describes candidates of a dictionary that are named by how they are written."""

    def __init__(self, linker: Linker) -> None:
        self.linker, self.dictionary = linker, linker.dictionary
        self.table, self.words = linker.generator.table, linker.words
        self.matches = Matches(self.dictionary, self.table, self.words)
        names = self.dictionary.names
        self.entries = {
            (self.dictionary.ids[concept], names[entry]): entry
            for entry, concept in enumerate(self.dictionary.name_concept.tolist())
        }

    def candidates(
        self, lists: Sequence[Sequence[int]], scores: Sequence[float] | None = None, **more: Any
    ) -> Candidates:
        """Candidates of several texts, given the rows of names of each, the best first."""
        entries = np.array([entry for one in lists for entry in one], np.int32)
        forms = [normalize(self.dictionary.names[entry]) for entry in entries.tolist()]
        values = np.ones(len(entries)) if scores is None else np.array(scores)
        values = values.astype(np.float32)
        found = Candidates(
            np.cumsum([0, *map(len, lists)]),
            self.dictionary.name_concept[entries],
            np.array([self.table.row(form) for form in forms], np.int32),
            entries,
            values,
            None,
            None,
            np.ones(len(entries), np.int32),
            values,
        )
        return dataclasses.replace(found, **more)

    def describe(
        self, text: str, *names: tuple[str, str], scores: Sequence[float] | None = None, **more: Any
    ) -> dict[str, list[float]]:
        """The columns of the candidates of one text, given as ids and names."""
        found = self.candidates([[self.entries[pair] for pair in names]], scores, **more)
        values, _ = self.matches.describe([(normalize(text), text)], found)
        return {
            name: values[:, PLACE[name]].tolist() for name in COLUMNS if PLACE[name] < TEXT_COLUMNS
        }


@pytest.fixture(scope="module")
def described(dictionary: Dictionary) -> Described:
    return Described(train(dictionary, encoder="tfidf"))


# ------------------------------------------------------------------------------------ by hand


def test_scores_of_characters_alone(described: Described) -> None:
    names = [("D:1", "tumor"), ("D:2", "lung tumor"), ("D:0", "disease")]
    more = {
        "matches": np.array([3, 1, 1], np.int32),
        "second": np.array([0.75, 0.5, 0.25], np.float32),
    }
    found = described.describe("tumors", *names, scores=[1, 0.5, 0.25], **more)
    assert found["score"] == found["sparse"] == [1, 0.5, 0.25]
    assert found["dense"] == [0, 0, 0]
    assert found["lead"] == [0.5, 0, 0]
    assert found["place"] == pytest.approx([0, math.log(2), math.log(3)])
    assert found["matches"] == pytest.approx([math.log(3), 0, 0])
    assert found["second"] == [-0.25, 0, 0]
    assert found["same_letters"] == [1, 0, 0]


def test_scores_of_vectors_and_characters(dictionary: Dictionary, described: Described) -> None:
    """Shares of what a name that is the mention would have: 4 by vectors, 4 + 2 * 1 in all."""
    matches = Matches(dictionary, described.table, described.words, 2.0)
    found = described.candidates(
        [[0, 2]],
        [4.5, 3],
        sparse=np.array([0.75, 0.5], np.float32),
        dense=np.array([3, 2], np.float32),
        encoded=EncodedTexts(csr_matrix((1, 1), dtype=np.float32), np.array([[2]], np.float32)),
    )
    values, _ = matches.describe([("x", "x")], found)
    assert values[:, PLACE["score"]].tolist() == [0.75, 0.5]
    assert values[:, PLACE["sparse"]].tolist() == [0.75, 0.5]
    assert values[:, PLACE["dense"]].tolist() == [0.75, 0.5]
    assert values[:, PLACE["lead"]].tolist() == [0.25, 0]


class Places(Encoder):
    """The vector of a text is its length in the first place, and one in the second."""

    dim = 2  # type: ignore[assignment]

    def encode(self, names: Sequence[str]) -> Any:
        return np.array([[len(name), 1] for name in names], np.float32).reshape(-1, 2)

    def save(self, folder: Path) -> None: ...

    @classmethod
    def load(cls, folder: Path) -> Places:
        return cls()


def test_what_a_second_encoder_says(dictionary: Dictionary, described: Described) -> None:
    """The product of "abc" with a name of n letters is 3 n + 1."""
    second = NameVectors.of(Places(), described.table)
    matches = Matches(dictionary, described.table, described.words, 1.0, second)
    found = described.candidates(
        [[described.entries["D:1", "mass"], described.entries["D:0", "illness"]]]
    )
    values, _ = matches.describe([("abc", "abc")], found)
    says = {name: values[:, PLACE[name]].tolist() for name in COLUMNS if name.startswith("second_")}
    assert says == {
        "second_encoder": [1, 1],
        "second_name": [13, 22],  # mass, illness
        "second_preferred": [16, 22],  # tumor, disease
        "second_best": [19, 22],  # growth, of three names; illness, of two
        "second_next": [16, 22],
        "second_mean": pytest.approx([(19 + 16 + 13) / 3, 22]),
    }
    values, _ = described.matches.describe([("abc", "abc")], found)
    assert not values[:, [PLACE[name] for name in says]].any()


def test_words_in_common(described: Described) -> None:
    """The mention has lung, cancer and an unknown word; the name also of, type and 2."""
    found = described.describe("Foo lung cancers", ("D:2", "cancer of lung type 2"))
    times = {"lung": 3, "cancer": 1, "of": 2, "type": 1, "2": 2, "foo": 0}
    weight = {word: math.log(8 / (n + 0.5)) / math.log(8 / 0.5) for word, n in times.items()}
    both, own = weight["lung"] + weight["cancer"], weight["lung"] + weight["cancer"] + weight["foo"]
    name = both + weight["of"] + weight["type"] + weight["2"]
    preferred = weight["lung"] + math.log(8 / 2.5) / math.log(8 / 0.5)  # lung tumor
    expected = {
        "of_mention": both / own,
        "of_name": both / name,
        "only_mention": weight["foo"],
        "only_name": name - both,
        "of_concept": both / own,
        "only_concept": weight["foo"],
        "common": 2,
        "extra": 3,
        "of_preferred": weight["lung"] / preferred,
        "same_words": 0,
        "same_order": 0,
        "same_last": 0,
        "same_first": 0,
        "head_inside": 1,  # cancer
        "numbers_common": 0,
        "numbers_mention": 0,
        "numbers_name": 1,
        "words": 3,
        "length": math.log1p(len("foo lung cancers")),
        "longer": math.log1p(len("cancer of lung type 2")) - math.log1p(len("foo lung cancers")),
    }
    assert {name: found[name][0] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_what_a_mention_looks_like(described: Described) -> None:
    name = ("D:0", "disease")
    looks = {
        text: tuple(described.describe(text, name)[c][0] for c in ("short_form", "coordinated"))
        for text in ("LAK", "LAKs", "lak", "LA K", "BRCA1-2", "lung and gland", "A/B", "android")
    }
    assert looks == {
        "LAK": (1, 0),
        "LAKs": (1, 0),
        "lak": (0, 0),
        "LA K": (0, 0),
        "BRCA1-2": (1, 0),
        "lung and gland": (0, 1),
        "A/B": (0, 1),
        "android": (0, 0),
    }


def test_kinds_of_names(dictionary: Dictionary, described: Described) -> None:
    pairs = [("D:0", "disease"), ("D:0", "illness"), ("D:1", "mass"), ("D:1", "tumor")]
    rows = [described.entries[pair] for pair in pairs]
    names = dictionary.columns.names
    kinds, lent = names.kind.copy(), np.zeros(len(names.kind), bool)
    lent[rows[3]] = True
    kinds[rows[1]], kinds[rows[2]] = NAME_KINDS.index("narrow"), NAME_KINDS.index("training")
    changed = dataclasses.replace(names, kind=kinds, lent=lent)
    other = Dictionary(
        dataclasses.replace(dictionary.columns, names=changed), dictionary.labels, ()
    )
    matches = Matches(other, described.table, described.words)
    values, _ = matches.describe([("x", "x")], described.candidates([rows]))
    columns = ("preferred", "training", "inexact", "lent")
    assert values[:, [PLACE[name] for name in columns]].tolist() == [
        [1, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 1, 0, 0],
        [1, 0, 0, 1],
    ]


def test_annotations_by_hand(dictionary: Dictionary) -> None:
    """Growth was annotated twice with D:1 and once with D:2, and a new name three times."""
    annotated = [("growth", "D:1")] * 2 + [("growth", "D:2"), *[("swollen lung", "D:2")] * 3]
    mentions = [Mention(text, gold=(GoldGroup((concept,)),)) for text, concept in annotated]
    described = Described(train(dictionary, encoder="tfidf", mentions=mentions))
    names = [("D:1", "growth"), ("D:2", "growth"), ("D:0", "illness")]
    found = described.describe("growth", *names, scores=[1, 1, 0.5])
    log = math.log
    assert found["annotated"] == pytest.approx([log(3), log(2), 0])
    assert found["annotated_same"] == pytest.approx([log(3), log(2), 0])
    assert found["annotated_share"] == pytest.approx([2 / 3, 1 / 3, 0])
    assert found["annotated_concept"] == pytest.approx([log(3), log(5), 0])
    names = [("D:2", "swollen lung"), ("D:1", "growth")]
    found = described.describe("lung swelling", *names, scores=[0.5, 0.25])
    assert found["annotated"] == pytest.approx([log(4), log(3)])
    assert found["annotated_same"] == found["annotated_share"] == [0, 0]
    assert found["training"] == [1, 0]


# --------------------------------------------------------------------------------- slow twins


def slow(described: Described, text: str, entries: Sequence[int]) -> list[dict[str, float]]:
    """Words and hierarchy of the candidates of a text, from what the columns say."""
    dictionary = described.dictionary
    of_concept: dict[int, set[str]] = defaultdict(set)
    of_name = []
    for entry, concept in enumerate(dictionary.name_concept.tolist()):
        of_name.append(words_of(normalize(dictionary.names[entry])))
        of_concept[concept].update(of_name[-1])

    def weight(words: Sequence[str] | set[str]) -> float:
        return sum(
            math.log(
                (len(dictionary) + 1) / (sum(w in of_one for of_one in of_concept.values()) + 0.5)
            )
            / math.log((len(dictionary) + 1) / 0.5)
            for w in words
        )

    known = set().union(*of_concept.values())

    def numbers(words: set[str]) -> int:
        return sum(w in known and (len(w) == 1 or w[0].isdecimal()) for w in words)

    def above(concept: int) -> set[int]:
        seen: set[int] = set()
        ring = {concept}
        for _ in range(4):
            ring = {parent for one in ring for parent in PARENTS.get(one, [])}
            seen |= ring
        return seen - {concept}

    def share(part: set[str], whole: Sequence[str]) -> float:
        return weight(part) / weight(whole) if whole else 0.0

    own = words_of(normalize(text))
    concepts = dictionary.name_concept[list(entries)].tolist()
    result = []
    for entry, concept in zip(entries, concepts, strict=True):
        name, preferred = of_name[entry], of_name[dictionary.preferred[concept]]
        both, covered = {*own} & {*name}, {*own} & of_concept[concept]
        result.append(
            {
                "of_mention": share(both, own),
                "of_name": share(both, name),
                "only_mention": weight({*own} - {*name}),
                "only_name": weight({*name} - {*own}),
                "of_concept": share(covered, own),
                "only_concept": weight({*own} - of_concept[concept]),
                "common": len(both),
                "extra": len({*name} - {*own}),
                "of_preferred": share({*own} & {*preferred}, preferred),
                "same_words": sorted(own) == sorted(name),
                "same_order": own == name,
                "same_last": own[-1:] == name[-1:],
                "same_first": own[:1] == name[:1],
                "head_inside": own != [] and own[-1] in name,
                "numbers_common": numbers(both),
                "numbers_mention": numbers({*own} - {*name}),
                "numbers_name": numbers({*name} - {*own}),
                "words": len(own),
                "below": sum(concept in above(other) for other in concepts),
                "above": len(above(concept) & {*concepts}),
                "below_first": concepts[0] in above(concept),
                "above_first": concept in above(concepts[0]),
            }
        )
    return result


VOCABULARY = ["lung", "tumors", "adenoma", "K", "2", "child", "of", "type", "foo", "9", "gland"]
texts = st.lists(st.sampled_from(VOCABULARY), max_size=5, unique=True).map(" ".join)


@given(st.data())
@settings(max_examples=100)
def test_words_and_hierarchy_the_slow_way(described: Described, data: st.DataObject) -> None:
    mentions = data.draw(st.lists(texts, min_size=1, max_size=4))
    concepts = described.dictionary.name_concept.tolist()
    lists = [
        data.draw(st.lists(st.integers(0, len(concepts) - 1), unique_by=lambda e: concepts[e]))
        for _ in mentions
    ]
    values, _ = described.matches.describe(
        [(normalize(text), text) for text in mentions], described.candidates(lists)
    )
    expected = [
        row for text, one in zip(mentions, lists, strict=True) for row in slow(described, text, one)
    ]
    assert len(expected) == len(values)
    for row, wanted in zip(values, expected, strict=True):
        found = {name: float(row[PLACE[name]]) for name in wanted}
        assert found == pytest.approx({k: float(v) for k, v in wanted.items()}, abs=1e-5)
