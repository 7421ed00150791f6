"""Questions that are held out of a dictionary or of annotated mentions, and telling two linkers apart by them."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary, Linker
from linker.text.normalize import normalize
from linker.training import trial
from linker.training.trial import Trial
from linker.types import Document, GoldGroup, Mention


def read(folder: Path, lines: list[str], file: str = "d.tsv") -> Dictionary:
    (folder / file).write_text("id\tname\tsynonyms\n" + "\n".join(lines) + "\n", "utf-8")
    return Dictionary.read(folder / file)


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    """300 concepts of four own names, of which one is written in two ways and one in two orders; "shared" is a name of all, and one preferred name a synonym."""
    lines = [
        f"X:{i}\tname {i}\tother {i}|Other {i}!|{i} other|wholly unlike{i}|shared|long name {i}"
        for i in range(300)
    ]
    return read(tmp_path, [*lines, "Y:1\tname 0\t"])


def held(dictionary: Dictionary, seed: int = 0) -> tuple[Trial[Any], list[str]]:
    """A trial, and the names that it asks for."""
    asked: list[str] = []

    def rank(lookups: list[Any], *_: object) -> list[Any]:
        asked.extend(lookup.normalized for lookup in lookups)
        return [SimpleNamespace(concepts=[]) for _ in lookups]

    made = trial.names(dictionary, [], normalize, seed)
    assert made
    generator = SimpleNamespace(rank=rank)
    linker: Any = SimpleNamespace(normalize=lambda text: text, generator=generator)
    assert not made.right(linker).any()
    return made, asked


def bag(text: str) -> tuple[str, ...]:
    return tuple(sorted(normalize(text).split()))


# -------------------------------------------------------------------------------------------------- names that are held out


def test_names_of_the_same_words_are_left_out_together(dictionary: Dictionary) -> None:
    made, asked = held(dictionary)
    left = {bag(text) for text in made.dictionary.names}
    assert not left & set(map(bag, asked))
    assert left | set(map(bag, asked)) == set(map(bag, dictionary.names))
    gone = len(dictionary.names) - len(made.dictionary.names)
    assert gone == sum(3 if "other" in name else 1 for name in asked)


def test_one_name_of_a_concept_and_a_fifth_of_all_at_most(dictionary: Dictionary) -> None:
    made, asked = held(dictionary)
    assert len(asked) == 0.2 * 300 * 4  # two orders are two names
    rows = [number(name) for name in asked]
    assert len(set(rows)) == len(rows)
    assert made.mentions == []
    assert made.what == "names held out of the dictionary"
    for row in range(300):
        assert made.dictionary.preferred_name(row) == f"name {row}"
    assert "shared" in {normalize(name) for name in made.dictionary.names}


def number(name: str) -> int:
    return int("".join(filter(str.isdigit, name)))


def test_the_seed_decides(dictionary: Dictionary) -> None:
    assert held(dictionary)[1] == held(dictionary)[1]
    assert held(dictionary)[1] != held(dictionary, seed=1)[1]


def test_names_that_are_unlike_all_others_of_their_concept(dictionary: Dictionary) -> None:
    """A second, slow way: all pairs of trigrams of what is left."""
    made, asked = held(dictionary)
    assert made.unlike is not None
    for name, is_unlike in zip(asked, made.unlike.tolist(), strict=True):
        own = [made.dictionary.names[int(r)] for r in made.dictionary.name_rows(number(name))]
        assert is_unlike == all(slow_likeness(name, normalize(other)) < 0.7 for other in own)
    by_kind = {name.split()[0]: bool(u) for name, u in zip(asked, made.unlike, strict=True)}
    assert by_kind["wholly"]
    assert not by_kind["long"]
    assert 0 < made.unlike.sum() < len(asked)


def slow_likeness(name: str, other: str) -> float:
    first, second = (
        {text[i : i + 3] for i in range(len(text) - 2)} for text in (f" {name} ", f" {other} ")
    )
    return 2 * len(first & second) / (len(first) + len(second))


@given(st.text("ab ", min_size=1, max_size=8), st.text("ab ", min_size=1, max_size=8))
def test_likeness(name: str, other: str) -> None:
    likeness = trial.likeness(name, other)
    assert likeness == trial.likeness(other, name) == slow_likeness(name, other)
    assert 0 <= likeness <= 1
    assert trial.likeness(name, name) == 1


def test_likeness_by_hand() -> None:
    assert trial.likeness("abc", "abd") == 2 * 1 / 6  # " ab" of " ab", "abc", "bc "
    assert trial.likeness("a", "b") == 0


def test_lent_names_are_never_held_out(dictionary: Dictionary, tmp_path: Path) -> None:
    lines = [f"Z:{i}\tlent {i}\tX:{i}" for i in range(300)]
    lender = tmp_path / "lender.tsv"
    lender.write_text("id\tname\txrefs\n" + "\n".join(lines) + "\n")
    made, asked = held(dictionary.lend(lender))
    assert asked == held(dictionary)[1]
    assert len(made.dictionary.lent_rows) == 300


@pytest.mark.parametrize(("several", "is_asked"), [(249, False), (250, True)])
def test_too_few_names_tell_nothing(tmp_path: Path, several: int, is_asked: bool) -> None:
    lines = [f"X:{i}\tname {i}\t{f'other {i}' if i < several else ''}" for i in range(1000)]
    made = trial.names(read(tmp_path, lines), [], normalize, 0)
    assert (made is not None) == is_asked  # a fifth of 249 is 49


@pytest.mark.parametrize(
    "lines",
    [
        ["X:1\tname\t"],
        [f"X:{i}\tname {i}\t" for i in range(1000)],
        [f"X:{i}\tname {i}\t{i} name" for i in range(1000)],  # which are the same words
        [f"X:{i}\tname {i}\tshared|—" for i in range(1000)],
    ],
    ids=["one name", "one each", "same words", "ambiguous and empty ones"],
)
def test_dictionaries_without_names_to_spare(tmp_path: Path, lines: list[str]) -> None:
    assert trial.names(read(tmp_path, lines), [], normalize, 0) is None


def test_what_is_right_is_the_concept_that_stands_first(dictionary: Dictionary) -> None:
    made, asked = held(dictionary)
    assert made.right(Linker.train(dictionary)).all()  # which knows them
    right = made.right(Linker.train(made.dictionary))
    predictions = Linker.train(made.dictionary).link(asked, k=1, threshold=0)
    assert right.tolist() == [
        prediction.parts[0].candidates[0].concept_id == f"X:{number(name)}"
        for name, prediction in zip(asked, predictions, strict=True)
    ]
    assert 0 < right.sum() < len(right)


# ----------------------------------------------------------------------------------------------- annotated items held out


def mention(text: str, gold: str | None = "X:1") -> Mention:
    return Mention(text, gold=None if gold is None else (GoldGroup((gold,)),))


def texts(items: Any) -> list[str]:
    return [
        one.text
        for item in items
        for one in (item.mentions if isinstance(item, Document) else [item])
    ]


def asked_of(made: Trial[Any]) -> list[str]:
    """The mentions that a trial asks for, where `right` gives the items that it was given."""
    items: Any = made.right(SimpleNamespace())  # type: ignore[arg-type]
    return texts(items)


def annotated(items: Any, dictionary: Any = None, seed: int = 0) -> Trial[Any] | None:
    return trial.annotated(dictionary, items, lambda asked, _: asked, seed)  # type: ignore[arg-type,return-value]


def test_a_quarter_of_the_mentions_is_held_out() -> None:
    items = [mention(f"m{i}") for i in range(203)]
    made = annotated(items)
    assert made
    assert len(asked_of(made)) == 50
    assert sorted(asked_of(made) + texts(made.mentions)) == sorted(texts(items))
    assert texts(made.mentions) == sorted(texts(made.mentions), key=texts(items).index)
    again, other = annotated(items), annotated(items, seed=1)
    assert again
    assert other
    assert asked_of(again) == asked_of(made) != asked_of(other)
    assert made.unlike is None
    assert annotated(items[:199]) is None  # of which a quarter is 49


def test_documents_are_held_out_whole() -> None:
    items = [
        Document(f"d{i}", mentions=tuple(mention(f"m{i}-{j}") for j in range(10)))
        for i in range(24)
    ]
    made = annotated(items)
    assert made
    assert len(asked_of(made)) == 60
    assert len({text.partition("-")[0] for text in asked_of(made)}) == 6
    assert not {t.partition("-")[0] for t in asked_of(made)} & {
        t.partition("-")[0] for t in texts(made.mentions)
    }


def test_mentions_that_are_not_annotated_ask_nothing() -> None:
    items = [mention(f"m{i}", None) for i in range(1000)]
    assert annotated(items) is None
    assert annotated([*items, *(mention(f"n{i}") for i in range(150))]) is None
    assert annotated([]) is None
    assert trial.questions([*items, mention("n")]) == 1


# ------------------------------------------------------------------------------------------------------------- weights


@settings(deadline=None)
@given(unlike=st.lists(st.booleans(), min_size=1, max_size=30))
def test_unlike_names_count_one_half(unlike: list[bool]) -> None:
    made: Trial[Any] = Trial("", None, [], lambda _: None, np.array(unlike))  # type: ignore[arg-type,return-value]
    weights = made.weights(len(unlike))
    assert math.isclose(weights.sum(), 1)
    assert len({round(float(weight), 12) for weight in weights[np.array(unlike)]}) <= 1
    if 0 < sum(unlike) < len(unlike):
        assert math.isclose(weights[np.array(unlike)].sum(), 0.5)
    else:
        np.testing.assert_allclose(weights, 1 / len(unlike))


def test_mentions_count_alike() -> None:
    made: Trial[Any] = Trial("", None, [], lambda _: None)  # type: ignore[arg-type,return-value]
    assert made.weights(4).tolist() == [0.25] * 4


# ---------------------------------------------------------------------------------------------------------- the choice


def linkers(right: dict[float | str, list[int]]) -> Any:
    """A linker whose forms, by their factor or "characters", have some questions right."""

    def form(key: float | str) -> Any:
        return SimpleNamespace(rows=right.get(key, right[1.0]))

    return SimpleNamespace(
        encoder="static", weighted=form, by_characters=lambda: form("characters")
    )


def choose(
    right: dict[float | str, list[int]], count: int = 100, unlike: Any = None
) -> trial.Choice:
    def ask(linker: Any) -> Any:
        return np.isin(np.arange(count), linker.rows)

    return trial.choose(linkers(right), Trial("questions", None, [], ask, unlike))  # type: ignore[arg-type]


def test_the_encoder_is_taken_unless_characters_win_clearly_or_no_answer_changes() -> None:
    characters = [*range(50)]
    assert choose({"characters": characters, 1.0: [*range(51)]}).takes_encoder
    assert choose({"characters": characters, 1.0: [*range(50, 100)]}).takes_encoder
    assert choose({"characters": characters, 1.0: [*range(46)]}).takes_encoder  # 4 = 2 √4
    assert not choose({"characters": characters, 1.0: [*range(45)]}).takes_encoder  # 5 > 2 √5
    assert not choose({"characters": characters, 1.0: characters}).takes_encoder


def test_both_together_count_and_not_the_encoder_alone() -> None:
    both = {"characters": [*range(50)], 1.0: [*range(60)]}
    assert choose({**both, 0: []}).takes_encoder
    assert not choose({**both, 1.0: [*range(40)], 0: [*range(100)]}).takes_encoder


@pytest.mark.parametrize(
    ("more", "lost", "factor"),
    [
        (5, 0, 2.0),  # 5 > 2 √5
        (4, 0, 1.0),  # 4 = 2 √4
        (9, 3, 1.0),  # 6 < 2 √12
        (12, 3, 2.0),  # 9 > 2 √15
    ],
)
def test_the_weight_of_characters_changes_only_where_it_wins_clearly(
    more: int, lost: int, factor: float
) -> None:
    right = [*range(lost, 50 + more)]
    assert choose({"characters": [], 1.0: [*range(50)], 2.0: right}).factor == factor


def test_of_equal_factors_that_nearest_to_characters_is_taken() -> None:
    best = [*range(60)]
    assert choose({"characters": [], 1.0: [*range(40)], 0.5: best, 4.0: best}).factor == 4.0
    assert choose({"characters": [], 1.0: [*range(40)], 0.5: best}).factor == 0.5
    assert choose({"characters": [], 1.0: best}).factor == 1.0


def test_unlike_names_can_outweigh_more_of_the_others() -> None:
    """Of 10 unlike names two are won, of 90 others 12 lost: 2/20 > 12/180, but 10 > 2 √14."""
    unlike = np.arange(100) < 10
    characters = [*range(2, 10), *range(10, 100)]
    both = [*range(10), *range(22, 100)]
    assert choose({"characters": characters, 1.0: both}, unlike=unlike).takes_encoder
    assert not choose({"characters": characters, 1.0: both}).takes_encoder


def test_what_is_said() -> None:
    right = {"characters": [*range(50)], 0: [*range(20)], 1.0: [*range(60)]}
    unlike = np.arange(100) < 20
    assert list(choose(right, unlike=unlike).lines) == [
        "share linked right of 100 questions (half the weight is on the 20 that are spelt unlike "
        "the other names of their concept):",
        "  characters     0.688 (unlike 1.000, others 0.375)",
        "  static alone   0.500 (unlike 1.000, others 0.000)",
        "  both           0.750 (unlike 1.000, others 0.500)",
    ]
    assert list(choose(right).lines) == [
        "share linked right of 100 questions:",
        "  characters     0.500",
        "  static alone   0.200",
        "  both           0.600",
    ]
    everything = choose(right, unlike=np.ones(100, bool)).lines
    assert everything[1] == "  characters     0.500"
