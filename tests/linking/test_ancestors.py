"""Ancestors of the first candidate as further rows: which ones, their order, names and scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary, Linker
from linker.encoders.tfidf import TfidfEncoder
from linker.linking.ancestors import Ancestors
from linker.linking.lists import PLACE
from linker.records import Selection
from linker.search.concepts import Candidates
from linker.search.index import EncodedTexts
from linker.search.sparse import SparseGenerator
from linker.text.normalize import normalize
from linker.training.pipeline import train

OTHERS = [f"X:{number}\tsyndrome number {number}\t\t" for number in range(60)]
"""Concepts beside the hierarchy, so that few of it stand above a fifth of all."""


def trained(folder: Path, rows: Sequence[str], encoder: str = "tfidf") -> Linker:
    path = folder / "dictionary.tsv"
    path.write_text("\n".join(["id\tname\tsynonyms\tparents", *rows, *OTHERS]) + "\n", "utf-8")
    return train(Dictionary.read(path), encoder=encoder)


def chain(*names: str) -> list[str]:
    """Concepts C:0, C:1 ... each below the next one."""
    last = len(names) - 1
    return [
        f"C:{place}\t{name}\t\t{f'C:{place + 1}' if place < last else ''}"
        for place, name in enumerate(names)
    ]


def appended(linker: Linker, text: str) -> list[tuple[str, int]]:
    """The ids of the ancestors in the list of a text, each with its steps."""
    ((_, batch),) = linker.lists([text])
    steps = batch.lists.values[:, PLACE["steps"]].astype(int).tolist()
    ids = [linker.dictionary.ids[row] for row in batch.found.concepts.tolist()]
    return [(identifier, count) for identifier, count in zip(ids, steps, strict=True) if count]


UP = ("quivering of the left knob", "alphas", "betas", "gammas", "deltas", "epsilons")


def test_four_steps_up_the_nearest_first(tmp_path: Path) -> None:
    linker = trained(tmp_path, chain(*UP))
    assert appended(linker, "quivering left knobs") == [
        ("C:1", 1),
        ("C:2", 2),
        ("C:3", 3),
        ("C:4", 4),
    ]
    assert appended(linker, "quivering of the left knob") == []  # word for word a name
    assert appended(linker, "zzzz") == []


def test_six_at_most_in_the_order_of_steps_and_ids(tmp_path: Path) -> None:
    parents = [f"P:{number}" for number in range(8)]
    rows = [f"P:{number}\t{name}\t\t" for number, name in enumerate("abcdefgh")]
    rows = [f"{row[:4]}{row[4] * 5}\t\tQ:0" for row in rows]
    rows.append(f"C:0\tquivering knob\t\t{'|'.join(reversed(parents))}")
    rows.append("Q:0\tzzzzz\t\t")
    forwards = trained(tmp_path, rows)
    expected = [(identifier, 1) for identifier in parents[:6]]
    assert appended(forwards, "quivered knobs") == expected
    assert appended(trained(tmp_path, rows[::-1]), "quivered knobs") == expected


def test_they_can_be_answered_with_and_are_not_too_wide(tmp_path: Path) -> None:
    """Beyond what cannot be answered with, the way up goes on."""
    wide = [f"W:{number}\tweak thing {number}\t\tC:3" for number in range(30)]
    linker = trained(tmp_path, [*chain(*UP), *wide])
    # of 96 concepts C:3 stands above 33
    assert appended(linker, "quivering left knobs") == [("C:1", 1), ("C:2", 2)]
    part = linker.restricted(Selection(not_under=["C:2"]))
    assert appended(part, "quivering left knobs") == []
    pairs = linker.generator.table.concepts == linker.dictionary.rows("C:1")[0]
    without = Ancestors(linker.dictionary, linker.generator.table.without(pairs))
    assert not without.is_narrow[linker.dictionary.rows("C:1")[0]]


def test_they_have_their_preferred_names_with_real_scores(tmp_path: Path) -> None:
    rows = [
        "C:0\tquivering knob\t\tC:1",
        "C:1\tknob trouble\tquiver trouble|a trouble\tC:2",
        "C:2\tthing\t\t",
    ]
    for encoder in ("tfidf", "static"):
        linker = trained(tmp_path, rows, encoder)
        texts = [linker.normalize(text) for text in ("quivering knobz", "something else", "knobs")]
        generator = linker.generator
        found = generator.candidates(texts, 1)
        both, steps = Ancestors(linker.dictionary, generator.table).appended(found, generator)
        every = generator.rank(texts, 1000, "names")
        names = {row: linker.dictionary.names[int(entry)] for row, entry in enumerate(both.entries)}
        checked = 0
        for row in np.flatnonzero(steps).tolist():
            assert names[row] == linker.dictionary.preferred_name(int(both.concepts[row]))
            searched = every[int(both.queries[row])]
            place = np.flatnonzero(searched.names == both.names[row])
            if len(place):  # what shares nothing with the text is not found by a search
                checked += 1
                for column in ("scores", "sparse", "dense"):
                    own, other = getattr(both, column), getattr(searched, column)
                    if own is not None and other is not None:
                        assert own[row] == pytest.approx(other[place[0]], abs=1e-6)
        assert checked


def test_what_is_below_a_candidate(tmp_path: Path) -> None:
    """The best score, the share of a softmax, and how many concepts."""
    linker = trained(tmp_path, chain("knob disease of the ear", "knob disease", "disease"))
    ((_, batch),) = linker.lists(["knob diseases of ears"])
    values = batch.lists.values
    ids = [linker.dictionary.ids[row] for row in batch.found.concepts.tolist()]
    scores = dict(zip(ids, values[:, PLACE["score"]].tolist(), strict=True))
    below = dict(zip(ids, values[:, PLACE["score_below"]].tolist(), strict=True))
    alike = {identifier: math.exp(6 * score) for identifier, score in scores.items()}
    likeness = dict(zip(ids, values[:, PLACE["likeness"]].tolist(), strict=True))
    size = dict(zip(ids, values[:, PLACE["size"]].tolist(), strict=True))
    for concept, at_or_below in {"C:0": 1, "C:1": 2, "C:2": 3}.items():
        share = sum(alike[f"C:{place}"] for place in range(at_or_below)) / sum(alike.values())
        assert likeness[concept] == pytest.approx(share, rel=1e-5)
        assert size[concept] == pytest.approx(math.log1p(at_or_below))
    assert below["C:0"] == 0
    assert below["C:1"] == scores["C:0"]
    assert below["C:2"] == max(scores["C:0"], scores["C:1"])


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)


@given(edges, st.lists(st.integers(0, 9), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_against_a_slow_twin(pairs: list[tuple[int, int]], firsts: list[int]) -> None:
    """Any hierarchy, with cycles and several parents; the first candidate of each text is given."""
    above = {child: {p for c, p in pairs if c == child and p != c} for child in range(10)}
    parents = {child: "|".join(f"C:{p}" for p in above[child]) for child in above}
    rows = [f"C:{child}\tname {child}\t\t{parents[child]}" for child in above]
    with TemporaryDirectory() as folder:
        path = Path(folder, "d.tsv")
        path.write_text("\n".join(["id\tname\tsynonyms\tparents", *rows, *OTHERS]), "utf-8")
        dictionary = Dictionary.read(path)
    table = dictionary.table(normalize)
    encoder = TfidfEncoder()
    encoder.fit(list(table.texts))
    generator = SparseGenerator.index(table, dictionary, encoder)
    concepts = np.array([dictionary.rows(f"C:{first}")[0] for first in firsts], np.int32)
    zeros = np.zeros(len(firsts), np.float32)
    found = Candidates(
        indptr=np.arange(len(firsts) + 1),
        concepts=concepts,
        names=concepts,
        entries=concepts,
        scores=zeros,
        sparse=zeros,
        dense=None,
        matches=concepts,
        second=zeros,
        encoded=EncodedTexts(encoder.encode(["text"] * len(firsts))),
    )
    both, steps = Ancestors(dictionary, table).appended(found, generator)
    for text, first in enumerate(firsts):
        expected = []
        seen = {first}
        level = {first}
        for step in range(1, 5):
            level = set().union(*(above[concept] for concept in level)) - seen
            seen |= level
            expected += [(step, f"C:{concept}") for concept in sorted(level)]
        own = both.queries == text
        ids = [dictionary.ids[row] for row in both.concepts[own].tolist()]
        told = list(zip(steps[own].tolist(), ids, strict=True))
        assert told == [(0, f"C:{first}"), *expected[:6]]


@pytest.mark.parametrize(
    "rows",
    [
        ["C:0\tquivering knob\t\t"],  # no hierarchy
        ["C:0\tquivering knob\t\tC:1", "C:1\tknobs\t\tC:0"],  # a cycle
    ],
)
def test_small_and_odd_hierarchies(tmp_path: Path, rows: list[str]) -> None:
    path = tmp_path / "few.tsv"
    path.write_text("\n".join(["id\tname\tsynonyms\tparents", *rows]) + "\n", "utf-8")
    linker = train(Dictionary.read(path), encoder="tfidf")
    assert appended(linker, "quivered knob") == []  # all that is above is a fifth or more
    assert linker.link("quivering knob").parts[0].best is not None
