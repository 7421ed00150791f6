"""What a text says of a disease: is it there, denied, suspected, past, a relative's?"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.records import ASSERTIONS
from linker.text.assertion import _rows, cue_of, in_text

EN = ("en",)


def none(text: str) -> bool:
    """A dictionary without names."""
    return False


@pytest.mark.parametrize(
    ("cell", "assertion", "rest"),
    [
        ("no gout", "absent", "gout"),
        ("No history of gout", "absent", "gout"),  # the longest cue
        ("NEGATIVE  for: gout", "absent", "gout"),
        ("gout - excluded", "absent", "gout"),
        ("gout (excluded).", "absent", "gout"),
        ("gout: no", "absent", "gout"),
        ("gout was ruled out", "absent", "gout"),
        ("r/o gout", "possible", "gout"),
        ("gout, to be confirmed", "possible", "gout"),
        ("h/o gout", "historical", "gout"),
        ("gout in childhood", "historical", "gout"),
        ("FH gout", "family", "gout"),
        ("maternal aunt had gout", "family", "gout"),
        ("gout (mother)", "family", "gout"),
        ("known gout", "present", "gout"),
        ("gout on treatment", "present", "gout"),
        ("no gout - mother", "family", "no gout"),  # one at a time
        ("not only gout", "present", "gout"),
        ("no 痛風", "absent", "痛風"),
    ],
)
def test_a_cue_of_a_cell(cell: str, assertion: str, rest: str) -> None:
    cue = cue_of(cell, EN, none)
    assert cue is not None
    assert (cue.assertion, cue.rest, cue.is_weak) == (assertion, rest, False)


@pytest.mark.parametrize(
    "cell",
    [
        *("", "gout", "no", "history of", "excluded", "no -", "- excluded", "(no)", "h/o :"),
        *("nose bleed", "non-Hodgkin lymphoma", "no-reflow", "Notalgia", "sno gout", "gout nose"),
        *("familyhistory of gout", "goutexcluded", "sine gout"),
    ],
)
def test_no_cue(cell: str) -> None:
    assert cue_of(cell, EN, none) is None


@settings(max_examples=100)
@given(st.text(max_size=200), st.sampled_from([EN, ("de",), ("fr", "es")]))
def test_any_text_may_be_a_cell(cell: str, codes: tuple[str, ...]) -> None:
    cue = cue_of(cell.strip() or "x", codes, none)
    assert cue is None or (len(cue.rest) < len(cell) and any(map(str.isalnum, cue.rest)))


def test_no_phrase_stands_twice() -> None:
    """Phrases of one language, side and place where they count: the second one would be idle."""
    phrases = Counter((language, *rest) for language, _, *rest in _rows())
    assert [phrase for phrase, times in phrases.items() if times > 1] == []


@pytest.mark.parametrize("code", ["en", "de", "fr", "es"])
def test_each_cue_is_read_in_its_language(code: str) -> None:
    """A phrase that is listed with two classes has the first one, in this language or English."""
    for language, _, side, _, phrase in _rows():
        if language != code or side in ("end", "lead", "label"):
            continue
        assert phrase == " ".join(phrase.lower().split())
        cell = f"{phrase} quux" if side == "before" else f"quux {phrase}"
        cue = cue_of(cell, (code,), none)
        assert cue is not None, phrase
        assert "quux" in cue.rest, phrase


def said(marked: str, *codes: str) -> str:
    """What a text says of the names in square brackets, by first letters."""
    text, spans = "", []
    for piece in re.split(r"(\[[^]]*\])", marked):
        if piece.startswith("["):
            spans.append((len(text), len(text) + len(piece) - 2))
        text += piece.strip("[]")
    found = in_text(text, spans, codes or EN)
    assert in_text(text, spans[::-1], codes or EN) == found[::-1]
    return " ".join(word[0] for word in found)


TEN = "a b c d e f g h i j"  # words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He has [gout].", "p"),
        ("No [gout].", "a"),
        ("There is no evidence of [gout] or [asthma].", "a a"),
        ("There is no [gout], but [asthma].", "a p"),  # the end of a scope
        ("No [gout]. [Asthma] persists.", "a p"),  # the end of a sentence
        ("No [gout]; [asthma] persists.", "a p"),
        ("No [gout]\n[asthma]", "a p"),
        ("[Gout] was ruled out, [asthma] was not.", "a p"),
        ("[Gout] and [asthma] were excluded.", "a a"),
        ("[gout] secondary to no [asthma]", "p a"),
        ("no risk factor for [gout]", "p"),
        ("Suspected [gout]", "p"),  # possible
        ("A history of [gout]", "h"),
        ("no history of [gout]", "a"),
        ("no family history of [gout]", "f"),
        ("a family history of [gout] in the family", "f"),
        ("history of possible [gout]", "p"),
        ("not only [gout]", "p"),
        ("natural history of [gout]", "p"),
        ("His sister had [gout]", "f"),
        ("His two older sisters had [gout]", "f"),
        ("Maternal aunts with [gout]", "f"),
        ("Siblings with [gout]", "f"),
        ("Sisters with [gout] had [asthma].", "p p"),  # the patients of an abstract
        ("Two affected brothers had [gout]", "p"),
        ("PGF with [gout]", "p"),  # a gene
        ("snow [gout] known", "p"),  # no part of a word
        ("no-[gout]", "p"),
        (f"no {TEN} [gout]", "a"),
        (f"no {TEN} k [gout]", "p"),  # too far
        ("[gout] a b c d e was excluded", "a"),
        ("[gout] a b c d e f was excluded", "p"),
        ("excluded: [gout]", "p"),  # a cue of cells alone
        ("h/o [gout]", "p"),
        ("no", ""),
        ("", ""),
        ("[gout]", "p"),
        ("no [gout", ""),
    ],
)
def test_running_text(text: str, expected: str) -> None:
    assert said(text) == expected


@settings(max_examples=60)
@given(st.text(max_size=100), st.lists(st.tuples(st.integers(0, 99), st.integers(0, 30))))
def test_any_text_and_spans(text: str, places: list[tuple[int, int]]) -> None:
    spans = [(min(a, len(text)), min(a + b, len(text))) for a, b in places]
    assert set(in_text(text, spans, EN)) <= set(ASSERTIONS)
    assert len(in_text(text, spans, EN)) == len(spans)
