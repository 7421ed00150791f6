"""The lists that the ranker reads: readings, texts and documents in columns."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary, Linker, Mention
from linker.linking import ranking as module
from linker.linking.lists import COLUMNS, PLACE, MatchLists
from linker.linking.matches import Matches
from linker.linking.ranking import DescribedBatch, batch_of
from linker.linking.requests import Answer, Request
from linker.records import ReadingKind
from linker.search.concepts import Candidates
from linker.text.readings import PartWording, Wording
from linker.training.pipeline import train

ROWS = (
    "id\tname\tsynonyms",
    "D:1\tbreast cancer\tbreast tumor",
    "D:2\tovarian cancer\t",
    "D:3\tcancer\t",
    "D:4\tlymphoid leukemia\tALL",
)


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("lists") / "dictionary.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return train(Dictionary.read(path), encoder="tfidf")


def way(linker: Linker, kind: ReadingKind, *texts: str) -> Wording:
    return Wording(kind, tuple(PartWording(text, None, linker.normalize(text)) for text in texts))


def mention(text: str, readings: list[Wording], number: int, without: float = 0.0) -> Answer:
    """A mention that is read in these ways, of the document with this number."""
    own = Mention(text)
    return Answer(Request(own), own, number=number, readings=readings, nil_evidence=without)


def describe(linker: Linker, *answers: Answer) -> DescribedBatch:
    matches = Matches(linker.dictionary, linker.generator.table, linker.words)
    return batch_of(answers, linker.generator, matches, linker.engine.allowed)


def column(batch: DescribedBatch, name: str, lookup: int) -> Any:
    """A column of the candidates of one text that is looked up."""
    start, end = batch.lists.rows[lookup : lookup + 2]
    return batch.lists.values[start:end, PLACE[name]]


def ids(linker: Linker, batch: DescribedBatch, lookup: int) -> list[str]:
    start, end = batch.lists.rows[lookup : lookup + 2]
    return [linker.dictionary.ids[row] for row in batch.found.concepts[start:end]]


def weight(linker: Linker, text: str) -> float:
    """The weight of the words of a text."""
    words, own = linker.words, linker.words.of_texts([linker.normalize(text)])
    return sum(
        float(words.weight[i]) if i < len(words.texts) else float(words.unknown_weight)
        for i in own.indices.tolist()
    )


# ---------------------------------------------------------------------------- readings


def test_columns_tell_how_a_mention_is_read(linker: Linker) -> None:
    """Three readings: split in two, as a whole, and shortened."""
    text = "familial breast and ovarian cancer"
    readings = [
        way(linker, "split", "breast cancer", "ovarian cancer"),
        way(linker, "whole", text),
        way(linker, "shortened", "ovarian cancer"),
    ]
    batch = describe(linker, mention(text, readings, -1))
    assert batch.lists.readings.tolist() == [0, 3]
    assert batch.lists.lookups.tolist() == [0, 2, 3, 4]
    told = [
        [set(column(batch, name, lookup).tolist()) for lookup in range(4)]
        for name in ("usual", "split", "shortened", "expanded", "parts")
    ]
    assert told == [
        [{1}, {1}, {0}, {0}],
        [{1}, {1}, {0}, {0}],
        [{0}, {0}, {0}, {1}],
        [{0}, {0}, {0}, {0}],
        [{2}, {2}, {1}, {1}],
    ]
    weights = [
        weight(linker, "breast cancer") + weight(linker, "ovarian cancer"),
        weight(linker, text),
        weight(linker, "ovarian cancer"),
    ]
    dropped = [max(weights) - weights[reading] for reading in (0, 0, 1, 2)]
    for lookup, expected in enumerate(dropped):
        assert column(batch, "dropped", lookup) == pytest.approx(expected, abs=1e-4)


# ---------------------------------------------------------------------------- texts


# ---------------------------------------------------------------------------- documents


def test_other_mentions_of_a_document_agree(linker: Linker) -> None:
    """Of the first document three spellings have D:1 first; of the second, one."""
    given = [
        ("breast cancer", 0),
        ("breast cancer", 0),  # is spelt alike, and counts once
        ("breast tumor", 0),
        ("breast tumors", 0),
        ("ovarian cancer", 0),
        ("breast cancer", 1),
        ("breast cancer", -1),
    ]
    reads = [mention(text, [way(linker, "whole", text)], document) for text, document in given]
    batch = describe(linker, *reads)
    told = [
        dict(zip(ids(linker, batch, i), column(batch, "agreement", i).tolist(), strict=True))
        for i in range(len(given))
    ]
    of_first = [round(math.expm1(of_one["D:1"])) for of_one in told]
    assert of_first == [2, 2, 2, 2, 3, 0, 0]
    of_second = [round(math.expm1(of_one["D:2"])) if "D:2" in of_one else None for of_one in told]
    assert of_second == [1, 1, None, None, 0, 0, 0]


mentions = st.lists(  # the document, and for each reading the texts: a number and candidates
    st.tuples(
        st.integers(-1, 2),
        st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=2), min_size=1, max_size=3),
    ),
    max_size=6,
)
candidates_of_texts = st.lists(
    st.lists(st.integers(0, 3), max_size=3, unique=True), min_size=6, max_size=6
)


@given(mentions, candidates_of_texts)
def test_agreement_against_a_slow_twin(
    given_mentions: list[tuple[int, list[list[int]]]], candidates: list[list[int]]
) -> None:
    """Text number n has the n-th of `candidates`, wherever it is looked up."""
    readings = [reading for _, of_one in given_mentions for reading in of_one]
    texts = [text for reading in readings for text in reading]
    sizes = [len(candidates[text]) for text in texts]
    concepts = np.array([c for text in texts for c in candidates[text]], np.int32)
    ends = [
        np.array([0, *itertools.accumulate(counts)], np.int64)
        for counts in (
            [len(of_one) for _, of_one in given_mentions],
            [len(reading) for reading in readings],
            sizes,
        )
    ]
    values = np.zeros((len(concepts), len(COLUMNS)), np.float32)
    lists = MatchLists(*ends, values, np.zeros(len(given_mentions), np.float32))
    nothing = np.zeros(len(concepts), np.float32)
    columns = (concepts, concepts, concepts, nothing, None, None, concepts, nothing)
    documents = np.array([document for document, _ in given_mentions], np.int64)
    found = Candidates(ends[2], *columns)
    module._describe_documents(lists, found, np.array(texts, np.int64), documents)
    expected = []
    for document, of_one in given_mentions:
        spelt = {  # each spelling of the document with the concept that is first for it
            (text, candidates[text][0])
            for other, of_other in given_mentions
            for text in of_other[0]
            if other == document and candidates[text]
        }
        for text in (text for reading in of_one for text in reading):
            for concept in candidates[text]:
                others = {t for t, first in spelt if first == concept and t != text}
                expected.append(math.log1p(len(others)) if document >= 0 else 0.0)
    assert values[:, PLACE["agreement"]].tolist() == pytest.approx(expected)
    values[:, PLACE["agreement"]] = 0
    assert not values.any()
