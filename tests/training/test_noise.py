"""Mentions as people write them, and what is no disease."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.records import Document, GoldGroup, Mention, Passage
from linker.search.respelling import is_one_error
from linker.training import fit_ranker
from linker.training.fit_ranker import holds_name, misspelt, no_disease, noisy, table

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
