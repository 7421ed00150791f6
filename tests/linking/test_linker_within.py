"""Linking within a part of the dictionary, against linkers of that part alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linker import Dictionary, Linker, LinkerError, Mention, Selection
from linker.dictionary.building import Builder
from linker.encoders.base import Encoder
from linker.errors import stop
from linker.linking.engine import Engine
from linker.records import Concept, Document, Name, Passage
from linker.search.concepts import Generator
from linker.search.hybrid import HybridGenerator
from linker.search.sparse import SparseGenerator
from linker.training.pipeline import train

WORDS = (
    "heart disease",
    "kidney disease",
    "heart and kidney disease",
    "Heart",
    "kidney",
    "heart attack",
)
TEXTS = (*WORDS, "heart and kidneys", "disease", "lung disease", "kidney or heart disease", "")


class Letters(Encoder):
    """Counts two letters and the length: names with other texts may have the same vector."""

    @property
    def dim(self) -> int:
        return 3

    def encode(
        self, names: Sequence[str], *, batch_size: int = 256, progress: bool = False
    ) -> NDArray[np.float32]:
        counts = [[name.count("a"), name.count("d"), len(name) % 3] for name in names]
        return np.array(counts, np.float32).reshape(-1, 3) / 8

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path) -> Letters:
        raise NotImplementedError


def dictionary(concepts: Sequence[Concept]) -> Dictionary:
    builder = Builder(frozenset(), frozenset(), stop)
    builder.add(concepts, "made", "table", "")
    return Dictionary(*builder.build())


def linker_of(names: Dictionary, like: Linker | None, *, dense: bool) -> Linker:
    """A linker of a dictionary, with the fitted encoders of another one."""
    trained = train(names, encoder="tfidf")
    sparse = trained.generator
    assert isinstance(sparse, SparseGenerator)
    if like:
        first = like.generator
        fitted = first.sparse if isinstance(first, HybridGenerator) else first
        assert isinstance(fitted, SparseGenerator)
        sparse = SparseGenerator.index(names.table(like.normalize), names, fitted.encoder)
    generator: Generator = sparse
    if dense:
        vectors = Letters().encode(list(sparse.table.texts))
        generator = HybridGenerator(sparse, Letters(), vectors, 0.5)
    return Linker(names, generator, trained.options, trained.seen, {})


@st.composite
def parts(draw: st.DrawFn) -> tuple[list[Concept], list[Concept], Selection]:
    """Concepts, those of a part of them, and the selection of this part."""
    every = []
    for row in range(draw(st.integers(2, 7))):
        identifier = f"{'AB'[row % 2]}:{row}"
        texts = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True))
        kinds = ["preferred"] + ["exact"] * 3
        names = tuple(
            Name(text, identifier, kind)  # type: ignore[arg-type]
            for text, kind in zip(texts, kinds, strict=False)
        )
        parents = (f"{'AB'[(row - 1) % 2]}:{row - 1}",) if row and draw(st.booleans()) else ()
        every.append(Concept(identifier, texts[0], names, parents, namespace=identifier[0]))
    root = draw(st.sampled_from(every))
    below: set[str] = {root.id}
    for concept in every:  # a parent stands before its children
        if below & {*concept.parents}:
            below.add(concept.id)
    if draw(st.booleans()):
        return every, [c for c in every if c.id in below], Selection(under=(root.id,))
    kept = [c for c in every if c.id not in below]
    if not kept:
        return every, every, Selection()
    return every, kept, Selection(not_under=(root.id,))


@given(parts(), st.booleans(), st.integers(1, 4))
@settings(max_examples=60)
def test_the_answers_are_those_of_a_linker_of_the_part_alone(
    part: tuple[list[Concept], list[Concept], Selection], dense: bool, k: int
) -> None:
    every, kept, within = part
    whole = linker_of(dictionary(every), None, dense=dense)
    alone = linker_of(
        dictionary([Concept(c.id, c.name, c.names, namespace=c.namespace) for c in kept]),
        whole,
        dense=dense,
    )
    assert [p.parts for p in whole.link(TEXTS, k=k, within=within)] == [
        p.parts for p in alone.link(TEXTS, k=k)
    ]


HEART, KIDNEY = Selection(under=("A:1",)), Selection(under=("A:2",))
BOTH = Selection(under=("A:1", "A:2"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("tiny") / "d.tsv"
    path.write_text(
        "id\tname\tsynonyms\tparents\ttypes\n"
        "A:1\theart disease\tcardiopathy\t\tT1\n"
        "A:2\tkidney disease\t\t\tT1\n"
        "B:3\theart attack\tacute disease\tA:1\tT2\n"
        "B:4\trenal failure\tacute disease\tA:2\tT2\n"
    )
    return train(Dictionary.read(path), encoder="tfidf")


def first(
    linker: Linker, items: Sequence[str | Mention | Document], **options: Selection
) -> list[str]:
    return [
        "|".join(part.best.concept_id if part.best else "-" for part in prediction.parts)
        for prediction in linker.link(items, k=1, threshold=0, **options)
    ]


def test_a_mention_and_a_document_may_have_selections_of_their_own(tiny: Linker) -> None:
    text = "acute disease, acute disease"
    free, own = (
        Mention("acute disease", ((0, 13),)),
        Mention("acute disease", ((15, 28),), within=HEART),
    )
    documents = [
        Document("1", (Passage(text),), (free, own)),
        Document("2", (Passage(text),), (own, free), within=BOTH),
        Document("3", (Passage(text),), (free,), within=HEART),
        Document("4"),
    ]
    items = [own, "acute disease", *documents, Mention("failure", within=KIDNEY)]
    assert first(tiny, items) == ["B:3", "B:4", "B:4", "B:3", "B:3", "B:4", "B:3", "B:4"]
    linked = list(tiny.link_items(items, k=1, threshold=0))
    assert [d and d.id for d, _ in linked] == [None, None, "1", "2", "3", "4", None]
    assert [len(predictions) for _, predictions in linked] == [1, 1, 2, 2, 1, 0, 1]
    assert [next(tiny.link_items([item], k=1, threshold=0)) for item in items] == linked


def test_a_selection_of_its_own_is_combined_with_that_of_the_call(tiny: Linker) -> None:
    own = Mention("acute disease", within=Selection(types=("T2",)))
    assert first(tiny, [own], within=KIDNEY) == ["B:4"]
    assert first(tiny.restricted(KIDNEY), [own]) == ["B:4"]
    assert first(tiny.restricted(BOTH), [own], within=KIDNEY) == ["B:4"]
    assert tiny.restricted(BOTH).restricted(BOTH) is tiny.restricted(BOTH)
    with pytest.raises(LinkerError):
        first(tiny, [Mention("flu", within=HEART)], within=KIDNEY)
    empty = Document("1", (Passage("text"),), within=Selection(under=("D:99",)))
    with pytest.raises(LinkerError, match="D:99"):
        tiny.check_selection(empty)


TWO = """id\tname\tsynonyms\tparents\ttypes\txrefs
M:1\theart disease\tcardiopathy\t\tT1\t
M:2\theart neoplasm\theart tumor\tM:1\tT1\t
M:3\tbreast neoplasm\tcarcinoma of breast|breast tumor\t\tT2\t
M:4\tlung neoplasm\tcarcinoma of lung|lung tumor\t\tT2\t
M:5\tlung injury\tpulmonary injury|acute lung injury\t\tT2\t
D:1\tcardiac disease\t\t\tT3\tM:1
D:3\tbreast tumor\tbreast tumours\t\tT3\t{}
"""


def two(folder: Path, xref: str = "") -> Linker:
    """Linker of two vocabularies, one of which refers to the other, or does not."""
    (folder / "two.tsv").write_text(TWO.format(xref))
    return train(Dictionary.read(folder / "two.tsv"), encoder="static")


def confidences(linker: Linker, text: str, within: Selection) -> tuple[dict[str, float], bool]:
    """The confidence of each concept, answered or not, and whether there is no answer."""
    (answered,) = linker.link([text], within=within)
    (prediction,) = linker.link([text], k=9, threshold=0, within=within)
    (part,) = prediction.parts
    return {c.concept_id: c.confidence or 0.0 for c in part.candidates}, answered.parts[0].nil


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    return two(tmp_path_factory.mktemp("two"), "M:3")


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, float]]:
    """The confidences of a part that knows nothing of the concepts outside."""

    def confidences_of(linker: Linker, text: str, within: Selection) -> dict[str, float]:
        with monkeypatch.context() as patch:
            patch.setattr(Engine, "_outside", lambda *_: np.zeros(1))
            return confidences(linker, text, within)[0]

    return confidences_of


@pytest.mark.parametrize(
    ("text", "within", "outside"),
    [
        ("carcinomas of breast", Selection(under=("M:1",)), "M:3"),
        ("the carcinoma of breast", Selection(types=("T1",)), "M:3"),
        ("lung injuries", Selection(under=("M:4",)), "M:5"),
        ("lung injury", Selection(not_under=("M:5",)), "M:5"),
    ],
)
def test_a_better_concept_outside_makes_those_inside_unsure(
    alike: Linker, blind: Any, text: str, within: Selection, outside: str
) -> None:
    found, is_nil = confidences(alike, text, within)
    whole, _ = confidences(alike, text, Selection())
    own = blind(alike, text, within)
    assert next(iter(whole)) == outside
    assert [*found] == [*own]
    assert is_nil
    left = 1 - sum(whole[c] for c in itertools.takewhile(lambda c: c not in own, whole))
    for concept, confidence in own.items():
        assert found[concept] == pytest.approx(confidence * left, abs=1e-5)
    assert max(found.values()) < 0.2


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("heart tumor", Selection(under=("M:1",))),  # a name of the part
        ("heart tumours", Selection(under=("M:1",))),
        ("breast tumor", Selection(namespaces=("D",))),  # both have the name
        ("carcinoma of breast", Selection(namespaces=("D",))),  # which refers to the better one
        ("cardiopathies", Selection(types=("T3",))),
        ("breast tumours", Selection(namespaces=("M",))),  # that is referred to
    ],
)
def test_what_is_as_good_outside_changes_nothing(
    alike: Linker, blind: Any, text: str, within: Selection
) -> None:
    found, _ = confidences(alike, text, within)
    assert found == blind(alike, text, within)
