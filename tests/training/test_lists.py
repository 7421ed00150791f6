"""The lists that the ranker is fitted to: what is right in them, folds, and where they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary, Linker
from linker.evaluation import run
from linker.linking.lists import DEPTH
from linker.ranker import ranker as rankers
from linker.ranker.matches import PLACE
from linker.ranker.ranker import Judged, Ranker
from linker.training import lists
from linker.training.settings import RunSettings
from linker.types import Document, Gold, GoldGroup, Mention, Passage

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
    return Linker.train(dictionary, encoder="tfidf")


def right(linker: Linker, mention: Mention) -> list[list[tuple[str, ...]]]:
    """For each part of each reading the ids of the candidates that are right."""
    some = lists.judged(linker, [mention])
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


def test_one_concept(linker: Linker) -> None:
    assert right(linker, Mention("cancer of breast", gold=one_of("D:1")))[0] == [("D:1",)]
    assert right(linker, Mention("cancer of breast", gold=one_of("OLD:1")))[0] == [("D:1",)]
    both = right(linker, Mention("cancer of breast", gold=one_of("D:3", "D:1")))[0]
    assert sorted(both[0]) == ["D:1", "D:3"]


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
    some = lists.judged(linker, mentions)
    assert some.is_known.tolist() == [True, False, False]
    assert not some.right.any()
    assert some.weight.tolist() == [1, 1, 1]
    assert len(some.lists.readings) == 4


def test_batches_are_joined(linker: Linker, monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(linker.dictionary.names)
    mentions = [Mention(name, gold=one_of("D:1")) for name in names]
    whole = lists.judged(linker, mentions)
    monkeypatch.setattr("linker.linking.linker._BATCH", 2)
    parts = lists.judged(linker, mentions)
    assert parts.right.tolist() == whole.right.tolist()
    assert parts.lists.rows.tolist() == whole.lists.rows.tolist()
    assert parts.lists.values == pytest.approx(whole.lists.values, abs=1e-5)


def test_concepts_that_are_out_of_reach_are_not_known(linker: Linker) -> None:
    part = linker.with_generator(linker.generator.among(np.array([False, True, True, True])))
    some = lists.judged(part, [Mention("breast cancer", gold=one_of("D:1"))])
    assert (some.is_known.tolist(), some.right.any()) == ([False], False)


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
    linker = Linker.train(dictionary, encoder="tfidf", mentions=mentions)
    assert all(same(lists.judged(linker, mentions)))
    apart = lists.folds(linker, dictionary, mentions, 0)
    assert same(apart) == [0] * 10
    twice = lists.folds(linker, dictionary, mentions * 5, 0)
    assert len(same(twice)) == 50
    assert sum(map(bool, same(twice))) > 25  # most are in other folds, too


def test_documents_stay_whole(dictionary: Dictionary) -> None:
    documents = [
        Document(
            name,
            (Passage("a text that names it twice"),),
            (
                Mention(name, ((0, 1),), one_of("D:4")),
                Mention(name, ((2, 6),), one_of("D:4")),
            ),
        )
        for name in NEW
    ]
    linker = Linker.train(dictionary, encoder="tfidf", mentions=documents)
    assert all(same(lists.judged(linker, documents)))
    assert same(lists.folds(linker, dictionary, documents, 0)) == [0] * 20


def test_mentions_of_other_folds_are_names_only_where_they_are_in_linking(
    dictionary: Dictionary, linker: Linker
) -> None:
    mentions = [Mention("a fever", gold=one_of("D:4"))] * 20
    for extend in (True, False):
        found = lists.folds(linker, dictionary, mentions, 0, extend).lists.values
        assert found[:, PLACE["training"]].any() == extend


def test_folds_without_annotations_are_left_out(dictionary: Dictionary, linker: Linker) -> None:
    mentions = [Mention("fever", gold=one_of("D:4")), *[Mention("pyrexia")] * 9]
    assert len(lists.folds(linker, dictionary, mentions, 0).weight) == 1


# ----------------------------------------------------------------------------------- fitted


class Fitting:
    """Notes what the ranker would be fitted to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        self.fits: list[tuple[int, int, Ranker]] = []
        self.judged: list[Judged] = []
        self.made = rankers.unfitted()
        monkeypatch.setattr(rankers, "fit", self.fit)

    def fit(self, judged: Judged, seed: int, start: Ranker) -> Ranker:
        self.fits.append((len(judged.weight), seed, start))
        self.judged.append(judged)
        return self.made


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> Fitting:
    return Fitting(monkeypatch)


def annotated(count: int) -> list[Mention]:
    return [Mention(f"fever {number}", gold=one_of("D:4")) for number in range(count)]


@pytest.mark.parametrize(
    ("mentions", "dev", "is_trained", "count", "what"),
    [
        (50, 0, False, 50, "50 annotated mentions, in 5 folds"),
        (0, 50, False, 50, "50 development mentions"),
        (49, 50, False, 50, "50 development mentions"),
        (50, 49, False, 50, "50 annotated mentions, in 5 folds"),
        *(
            (
                50,
                60,
                is_trained,
                110,
                "50 annotated mentions, in 5 folds and 60 development mentions",
            )
            for is_trained in (False, True)
        ),
    ],
)
def test_it_is_fitted_to_mentions(
    fitting: Fitting,
    linker: Linker,
    dictionary: Dictionary,
    mentions: int,
    dev: int,
    is_trained: bool,
    count: int,
    what: str,
) -> None:
    start = linker.ranker
    items = [*annotated(mentions), Mention("fever")], [*annotated(dev), Mention("fever")]
    ranker = lists.fitted(linker, dictionary, *items, 7, fitting.said.append, is_trained)
    ((found, seed, first),) = fitting.fits
    assert (found, seed) == (count, 7)
    assert first is start
    assert ranker.weights is fitting.made.weights
    assert ranker.provenance == {"fitted_to": what}
    assert fitting.said == [f"ranker: fitted to {what}"]


def test_folds_of_an_encoder_that_knows_the_mentions_are_read_by_characters(
    fitting: Fitting, dictionary: Dictionary
) -> None:
    """The development mentions, which it has not seen, are read by itself."""
    linker = Linker.train(dictionary, encoder="static")
    for items in ([annotated(50), []], [[], annotated(50)]):
        lists.fitted(linker, dictionary, *items, 7, fitting.said.append, is_trained=True)
    folds, dev = (judged.lists.values[:, PLACE["dense"]] for judged in fitting.judged)
    assert len(folds)
    assert not folds.any()
    assert dev.any()


@pytest.mark.parametrize(
    ("mentions", "dev", "is_trained"), [(0, 0, False), (49, 49, False), (0, 49, True)]
)
def test_fewer_mentions_leave_the_shipped_one(
    fitting: Fitting,
    linker: Linker,
    dictionary: Dictionary,
    mentions: int,
    dev: int,
    is_trained: bool,
) -> None:
    bare = linker.with_ranker(None)
    items = annotated(mentions), annotated(dev)
    ranker = lists.fitted(bare, dictionary, *items, 7, fitting.said.append, is_trained)
    assert fitting.fits == []
    assert ranker.provenance == Ranker.shipped().provenance
    assert fitting.said == [
        "ranker: as it is shipped, fitted to the training and development mentions of NCBI Disease "
        "and BC5CDR, and names of MEDIC"
    ]


def test_thousands_have_a_comma(
    fitting: Fitting, linker: Linker, dictionary: Dictionary, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = lists.judged(linker, annotated(1))
    monkeypatch.setattr(lists, "judged", lambda *_: some)
    lists.fitted(linker, dictionary, [], annotated(1234), 0, fitting.said.append)
    assert fitting.said == ["ranker: fitted to 1,234 development mentions"]


def test_fitting_helps_what_it_is_fitted_to(sample: Path) -> None:
    """Annotations that the shipped ranker gets wrong: the concept of each name is another one."""
    dictionary = Dictionary.read(sample)
    mentions = [
        Mention(dictionary.preferred_name(row), gold=one_of(dictionary.ids[row - 7]))
        for row in range(80)
    ]
    said: list[str] = []
    settings = RunSettings(say=said.append)
    linker = Linker.train(dictionary, encoder="tfidf", dev=mentions, settings=settings)
    assert said == ["ranker: fitted to 80 development mentions"]
    assert linker.ranker
    some = lists.judged(linker, mentions)
    first = some.lists.starts[:-1][np.diff(some.lists.starts) > 0]
    shipped = Ranker.shipped().probabilities(some.lists)
    found = linker.ranker.probabilities(some.lists)
    assert found.rows[first].mean() < shipped.rows[first].mean()
    assert found.missed.mean() > shipped.missed.mean()  # the concepts are not candidates


# -------------------------------------------------------------------- mentions that teach little

TEN = (
    "fever",
    "gout",
    "stroke",
    "asthma",
    "measles",
    "mumps",
    "rabies",
    "scurvy",
    "tetanus",
    "flu",
)


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("ten") / "d.tsv"
    rows = [f"T:{place}\t{name}\n" for place, name in enumerate(TEN)]
    path.write_text("id\tname\n" + "".join(rows), encoding="utf-8")
    return Dictionary.read(path)


@pytest.fixture(scope="module")
def fifty(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    """The ten names, and others of which ten are always nearer to "odd disease"."""
    path = tmp_path_factory.mktemp("fifty") / "d.tsv"
    rows = [f"T:{place}\t{name}\n" for place, name in enumerate(TEN)]
    rows += [f"D:{number}\todd disease of kind {number}\n" for number in range(40)]
    path.write_text("id\tname\n" + "".join(rows), encoding="utf-8")
    return Dictionary.read(path)


def of_ten(count: int) -> list[Mention]:
    return [
        Mention(f"{TEN[number % 10]} {number}", gold=one_of(f"T:{number % 10}"))
        for number in range(count)
    ]


def trained(dictionary: Dictionary, encoder: str, **mentions: list[Mention]) -> tuple[Linker, str]:
    """A linker whose ranker is finite, and what training says of the ranker."""
    said: list[str] = []
    settings = RunSettings(say=said.append)
    linker = Linker.train(dictionary, encoder=encoder, settings=settings, **mentions)
    assert linker.ranker
    assert all(np.isfinite(values).all() for values in linker.ranker.weights.values())
    return linker, said[-1]


@pytest.mark.parametrize("encoder", ["tfidf", "static"])
@pytest.mark.parametrize(
    ("role", "count", "what"),
    [
        ("mentions", 0, "as it is shipped, "),
        ("mentions", 49, "as it is shipped, "),
        ("mentions", 60, "fitted to 60 annotated mentions, in 5 folds"),
        ("dev", 49, "as it is shipped, "),
        ("dev", 60, "fitted to 60 development mentions"),
    ],
)
def test_ten_names(ten: Dictionary, encoder: str, role: str, count: int, what: str) -> None:
    linker, said = trained(ten, encoder, **{role: of_ten(count)})
    again, _ = trained(ten, encoder, **{role: of_ten(count)})
    assert said.startswith(f"ranker: {what}")
    assert list(linker.link(["fevers", "zzz"])) == list(again.link(["fevers", "zzz"]))
    for place, name in enumerate(TEN):
        (prediction,) = linker.link([name])
        assert prediction.parts[0].best
        assert prediction.parts[0].best.concept_id == f"T:{place}"
        assert linker.explain(name).parts[0].candidates[0].concept_id == f"T:{place}"
    result = run.evaluate(of_ten(20), linker, "strict", (1,))
    assert [outcome.rank for outcome in result.outcomes] == [1] * 20
    assert all(0 <= (outcome.confidence or 0) <= 1 for outcome in result.outcomes)


@pytest.mark.parametrize("encoder", ["tfidf", "static"])
@pytest.mark.parametrize(
    ("role", "gold", "slot"),
    [
        ("dev", one_of("T:0"), "missed"),
        ("dev", one_of("X:1"), "none"),
        ("dev", (), "none"),
        ("mentions", one_of("T:0"), ""),  # those of other folds are names, and right
        ("mentions", one_of("X:1"), "none"),
        ("mentions", (), "none"),
    ],
)
def test_mentions_whose_concept_is_no_candidate(
    fifty: Dictionary, encoder: str, role: str, gold: Gold, slot: str
) -> None:
    """The ranker learns that it is missed, or that the dictionary has none; nothing else breaks."""
    odd = [Mention(f"odd disease {number}", gold=gold) for number in range(60)]
    if gold == one_of("X:1"):  # of mentions that are all unknown training says so
        odd.append(Mention("gout", gold=one_of("T:1")))
    bare = Linker.train(fifty, encoder=encoder)
    asked = lists.judged(bare, [Mention("odd disease", gold=gold)])
    assert len(asked.right) >= DEPTH
    assert not asked.right.any()
    linker, said = trained(fifty, encoder, **{role: odd})
    assert said.startswith(f"ranker: fitted to {len(odd)} ")
    assert linker.ranker
    if slot:
        found = linker.ranker.probabilities(asked.lists)
        before = Ranker.shipped().probabilities(asked.lists)
        assert getattr(found, slot)[0] > getattr(before, slot)[0]
    result = run.evaluate([*odd, *of_ten(5)], linker, "strict", (1,))
    assert len(result.outcomes) == len(odd) + 5
    assert all(0 <= (outcome.confidence or 0) <= 1 for outcome in result.outcomes)
