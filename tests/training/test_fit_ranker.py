"""The lists that the ranker is fitted to: what is right in them, folds, and where they come from."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary, Linker
from linker.linking import ranker as rankers
from linker.linking.lists import PLACE, Judged
from linker.linking.ranker import Ranker
from linker.records import Document, Gold, GoldGroup, Mention, Passage
from linker.search.respelling import is_one_error
from linker.training import fit_ranker
from linker.training.fit_ranker import holds_name, misspelt, no_disease, noisy, table
from linker.training.pipeline import train

ROWS = (
    "id\tname\tsynonyms\talt_ids",
    "D:1\tbreast cancer\tmammary carcinoma\tOLD:1",
    "D:2\tovarian cancer\tcancer of the ovary\t",
    "D:3\tlung cancer\t\t",
    "D:4\tfever\tpyrexia\t",
)


def one_of(*ids: str) -> Gold:
    return (GoldGroup(ids),)


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("lists") / "d.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return Dictionary.read(path)


@pytest.fixture(scope="module")
def linker(dictionary: Dictionary) -> Linker:
    return train(dictionary, encoder="tfidf")


def right(linker: Linker, mention: Mention) -> list[list[tuple[str, ...]]]:
    """For each part of each reading the ids of the candidates that are right."""
    some = fit_ranker.judged(linker, [mention])
    ((_, batch),) = linker.lists([mention])
    ids = [linker.dictionary.ids[row] for row in batch.found.concepts.tolist()]
    of = some.lists
    return [
        [
            tuple(ids[row] for row in range(*of.rows[lookup : lookup + 2]) if some.right[row])
            for lookup in range(*of.lookups[reading : reading + 2])
        ]
        for reading in range(len(of.lookups) - 1)
    ]


def readings(linker: Linker, text: str) -> list[int]:
    """How many parts each reading of a mention has."""
    ((_, batch),) = linker.lists([Mention(text)])
    return np.diff(batch.lists.lookups).tolist()


# ---------------------------------------------------------------------------- what is right


def test_a_composite_is_right_where_it_is_split(linker: Linker) -> None:
    text = "breast and ovarian cancer"
    parts = readings(linker, text)
    split, whole = parts.index(2), parts.index(1)
    found = right(linker, Mention(text, gold=(*one_of("D:2"), *one_of("D:1"))))
    assert found[split] == [("D:1",), ("D:2",)]
    assert found[whole] == [()]
    found = right(linker, Mention(text, gold=one_of("D:1")))
    assert found[split] == [(), ()]
    assert found[whole] == [("D:1",)]


def test_what_is_known(linker: Linker) -> None:
    """A concept that the dictionary has, one that it lacks, none; the last is not annotated."""
    mentions = [
        Mention("xyz", gold=one_of("D:4")),
        Mention("fever", gold=one_of("NO:1")),
        Mention("fever", gold=()),
        Mention("fever"),
    ]
    some = fit_ranker.judged(linker, mentions)
    assert some.is_known.tolist() == [True, False, False]
    assert not some.right.any()
    assert some.weight.tolist() == [1, 1, 1]
    assert len(some.lists.readings) == 4
    part = dataclasses.replace(
        linker, generator=linker.generator.among(np.array([False, True, True, True]))
    )
    some = fit_ranker.judged(part, [Mention("breast cancer", gold=one_of("D:1"))])
    assert (some.is_known.tolist(), some.right.any()) == ([False], False)  # it is out of reach


FAMILY = (
    "id\tname\tparents",
    "T:0\tthing\t",
    "T:1\tknob trouble\tT:0",
    "T:2\tleft knob trouble\tT:1",
    "T:3\tsore left knob trouble\tT:2",
    *(f"X:{number}\tsyndrome number {number}\tT:0" for number in range(60)),
)


def test_what_is_not_listed_teaches_the_nearest_concept_above_it(tmp_path: Path) -> None:
    """That of a concept that is taken out, and of one that no search finds; the root is too wide."""
    path = tmp_path / "d.tsv"
    path.write_text("\n".join(FAMILY) + "\n", encoding="utf-8")
    linker = train(Dictionary.read(path), encoder="tfidf")
    is_in = np.array([identifier != "T:3" for identifier in linker.dictionary.ids])
    part = dataclasses.replace(linker, generator=linker.generator.among(is_in))

    def told(asked: Linker, text: str, gold: Gold) -> tuple[dict[str, int], bool]:
        some = fit_ranker.judged(asked, [Mention(text, gold=gold)])
        ids = [asked.dictionary.ids[row] for row in some.concepts.tolist()]
        relevant = {i: n for i, n in zip(ids, some.relevance.tolist(), strict=True) if n}
        return relevant, bool(some.is_known[0])

    text = "sore left knobs troubles"
    assert told(linker, text, one_of("T:3")) == ({"T:3": 2}, True)
    assert told(part, text, one_of("T:3")) == ({"T:2": 1}, False)
    assert told(part, text, one_of("T:2", "T:3")) == ({"T:2": 2}, True)
    # of another concept nothing that is listed is above it
    assert told(part, text, one_of("X:1")) == ({}, True)
    assert told(part, text, one_of("NO:1")) == ({}, False)
    assert told(part, text, (*one_of("T:3"), *one_of("T:2"))) == ({}, True)  # two concepts


# ------------------------------------------------------------------------------------ folds


# names of known n-grams, so that characters tell them apart
NEW = [
    f"{first} {second}"
    for first in ("breast", "ovarian", "lung", "cancer", "mammary")
    for second in ("fever", "pyrexia")
]


def same(judged: Judged) -> list[float]:
    """For each mention whether any candidate was annotated with the very text."""
    largest = [
        judged.lists.values[a:b, PLACE["annotated_same"]].max(initial=0)
        for a, b in zip(judged.lists.starts[:-1], judged.lists.starts[1:], strict=True)
    ]
    return [float(value) for value in largest]


def test_a_mention_is_not_known_from_its_own_fold(dictionary: Dictionary) -> None:
    mentions = [Mention(name, gold=one_of("D:4")) for name in NEW]
    linker = train(dictionary, encoder="tfidf", mentions=mentions)
    assert all(same(fit_ranker.judged(linker, mentions)))
    apart = fit_ranker.folds(linker, dictionary, mentions, 0)
    assert same(apart) == [0] * 10
    twice = fit_ranker.folds(linker, dictionary, mentions * 5, 0)
    assert len(same(twice)) == 50
    assert sum(map(bool, same(twice))) > 25  # most are in other folds, too


# ----------------------------------------------------------------------------------- fitted


class Fitting:
    """Notes what the ranker would be fitted to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fits: list[tuple[Judged, int, Ranker]] = []
        self.made = rankers.unfitted()
        monkeypatch.setattr(rankers, "fit", self.fit)

    def fit(self, judged: Judged, seed: int, start: Ranker) -> Ranker:
        self.fits.append((judged, seed, start))
        return self.made


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> Fitting:
    return Fitting(monkeypatch)


def annotated(count: int) -> list[Mention]:
    return [Mention(f"fever {number}", gold=one_of("D:4")) for number in range(count)]


@pytest.mark.parametrize(
    ("mentions", "dev", "what"),
    [
        (50, 49, "50 annotated mentions, in 5 folds"),
        (49, 50, "50 development mentions"),
        (50, 60, "50 annotated mentions, in 5 folds and 60 development mentions"),
        (49, 49, ""),  # too few: the shipped one
    ],
)
def test_it_is_fitted_to_mentions(
    fitting: Fitting, linker: Linker, dictionary: Dictionary, mentions: int, dev: int, what: str
) -> None:
    items = [*annotated(mentions), Mention("fever")], [*annotated(dev), Mention("fever")]
    start = Ranker.shipped()
    lists = fit_ranker.training_lists(linker, dictionary, items[0])
    lists += fit_ranker.development_lists(linker, items[1])
    ranker = fit_ranker.fitted(lists, start, 3)
    if not what:
        assert fitting.fits == []
        assert ranker is start
        return
    (judged, seed, first), *halves = fitting.fits
    counted = judged.weight == 1
    is_none = ~judged.is_known  # as many texts that are no disease as mentions, at most
    wanted = sum(count for count in (mentions, dev) if count >= 50)
    assert (counted & judged.is_known).sum() == wanted
    assert is_none.sum() == (mentions if mentions >= 50 else 0)
    assert sorted(len(half.weight) for half, *_ in halves) == [wanted // 2, wanted - wanted // 2]
    assert (seed, first) == (3, start)
    assert ranker.weights is fitting.made.weights
    assert ranker.provenance == {"fitted_to": what}


def test_folds_of_an_encoder_that_knows_the_mentions_are_read_by_characters(
    dictionary: Dictionary,
) -> None:
    """The development mentions, which it has not seen, are read by itself."""
    made = train(dictionary, encoder="static")
    learnt = dataclasses.replace(made, history=[{"phase": "rank", "epoch": 1}])
    every = (
        fit_ranker.training_lists(learnt, dictionary, annotated(50)),
        fit_ranker.development_lists(learnt, annotated(50)),
        fit_ranker.training_lists(made, dictionary, annotated(50)),
    )
    read = [lists.asked[0].lists.values[:, PLACE["dense"]].any() for lists in every]
    assert read == [False, True, True]


# -------------------------------------------------------------------- mentions that teach little


# mentions as people write them, and what is no disease

WRAPPED = table("wrapped.tsv")
GOLD, OTHER = (GoldGroup(("D:1",)),), (GoldGroup(("D:2",)),)


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_each_mention_comes_wrapped_and_with_an_error() -> None:
    wrappings = {form.format("asthma") for kind in WRAPPED for form in kind}
    seen = set()
    for seed in range(300):
        wrapped, *errors = noisy([Mention("asthma", gold=GOLD)], random(seed))
        assert wrapped == Mention(wrapped.text, gold=GOLD)
        assert wrapped.text in wrappings
        for error in errors:  # none where a letter was replaced by itself
            assert is_one_error("asthma", error.text)
            assert error == Mention(error.text, gold=GOLD)
        assert len(errors) <= 1
        seen.add(wrapped.text)
    assert len(seen) > len(wrappings) / 2
    assert noisy([Mention("asthma", gold=GOLD)], random(7)) == noisy(
        [Mention("asthma", gold=GOLD)], random(7)
    )


def test_which_mentions_are_taken() -> None:
    document = Document(
        "d",
        (Passage("Gout, gout, asthma and X"),),
        (Mention("Gout", ((0, 4),), GOLD), Mention("gout", ((6, 10),), GOLD)),
    )
    items: list[Mention | Document] = [
        document,
        Mention("asthma", gold=GOLD),
        Mention("Asthma", gold=OTHER),  # annotated in two ways
        Mention("fever", gold=()),
        Mention("edema"),
        Mention("ATM", gold=GOLD),  # a short form
    ]
    (taken,) = noisy(items, random())
    assert "Gout" in taken.text
    assert noisy([], random()) == []


@settings(max_examples=200)
@given(st.text("abcdé -1", max_size=20), st.integers(0, 2**32))
def test_a_typing_error(text: str, seed: int) -> None:
    found = list(misspelt(text, random(seed)))
    assert len(found) <= 1
    for error in found:
        assert is_one_error(text, error)
        assert error[:1] == text[:1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gout", True),
        ("bad gout today", True),
        ("breast cancer", True),
        ("cancer breast", False),
        ("breast", False),
        ("gouty", False),
        ("", False),
    ],
)
def test_texts_that_hold_a_name(text: str, expected: bool) -> None:
    assert holds_name(text, {"gout", "breast cancer"}.__contains__) is expected


def test_phrases_beside_mentions(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["text"], ["insulin"], ["gout pills"], ["insulin"]
    monkeypatch.setattr(fit_ranker, "table", lambda _: rows)
    text = "the patients (ten of us) had gout, treated with colchicine daily; severe pain"
    start = text.index("gout")
    document = Document("d", (Passage(text),), (Mention("gout", ((start, start + 4),), GOLD),))
    found = set()
    for seed in range(200):
        mentions = no_disease(
            [document, Mention("loose")], {"gout", "pain"}.__contains__, random(seed)
        )
        assert mentions[0].text == "insulin"
        assert all(mention.gold == () for mention in mentions)
        assert len({mention.text for mention in mentions}) == len(mentions) <= 9
        found |= {mention.text for mention in mentions}
    # without signs, "gout", stop words at an end, and "pain", which is a name
    assert found == {
        *("insulin", "patients", "ten", "ten of us", "us", "treated", "treated with colchicine"),
        *("colchicine", "colchicine daily", "daily", "severe"),
    }
