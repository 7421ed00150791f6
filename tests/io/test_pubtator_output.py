"""Documents with predictions as PubTator."""

from __future__ import annotations

from pathlib import Path

import bioc.pubtator as library
import pytest

from linker.io import pubtator as reader
from linker.records import Candidate, Document, Mention, Part, Passage, Prediction

from .conftest import written

DATA = Path(__file__).parent.parent / "data"
ABSTRACT = {"type": "abstract"}


def part(text: str, identifier: str) -> Part:
    best, other = Candidate(identifier, text, text, 1.0), Candidate("X:2", "other", "other", 0.5)
    return Part(text, candidates=(best, other))


def test_predictions_replace_the_ids_and_nothing_else() -> None:
    first, *_ = reader.read(DATA / "mini.pubtator.txt")
    ataxia, composite, ovarian, *_, sisters = first.mentions
    predictions = [
        Prediction(ataxia, (part("Ataxia", "MESH:D001259"),)),
        Prediction(composite, (part("breast cancer", "MESH:D001943"), Part("ovarian\tcancer"))),
        Prediction(
            ovarian, (Part("ovarian cancer", candidates=part("x", "X:1").candidates, nil=True),)
        ),
        Prediction(sisters, (Part("sisters"),)),
    ]
    expected = written("pubtator", (first, ())).replace("\t D001259\n", "\tMESH:D001259\tmodel\n")
    expected = expected.replace(
        "D001943|D010051\tbreast cancer|ovarian cancer\n",
        "MESH:D001943|-1\tbreast cancer (-)|ovarian cancer (-) model\n",
    ).replace("\tovarian cancer\tDisease\tD010051\n", "\tovarian cancer\tDisease\t-1\tmodel\n")
    assert written("pubtator", (first, predictions)) == expected.replace(
        "\tPerson\n", "\tPerson\t-1\tmodel\n"
    )
    found = Prediction(Mention("Gout", ((0, 4),), type="Disease"), (part("Gout", "X:1"),))
    text = written("pubtator", (Document("1", (Passage("Gout"),)), [found]))
    assert text == "1|t|Gout\n1\t0\t4\tGout\tDisease\tX:1\tmodel\n\n"


def test_confidences_stand_in_the_seventh_column(tmp_path: Path) -> None:
    first, *_ = reader.read(DATA / "mini.pubtator.txt")
    ataxia, composite, ovarian, *_ = first.mentions
    sure = Candidate("X:1", "x", "x", 1.0, confidence=0.93116)
    unsure = Candidate("X:2", "x", "x", 0.5, confidence=0.25)
    predictions = [
        Prediction(ataxia, (Part("Ataxia", candidates=(sure,)),)),
        Prediction(
            composite,
            (Part("a|b", candidates=(sure,)), Part("c", nil=True, rejected=unsure), Part("d")),
        ),
        Prediction(ovarian, (Part("x", nil=True, rejected=unsure),)),
    ]
    (tmp_path / "x").write_text(text := written("pubtator", (first, predictions)), encoding="utf-8")
    (again,) = reader.read(tmp_path / "x")
    assert [tuple(m.metadata.values()) for m in again.mentions[:3]] == [
        ("X:1", "0.9312 model"),
        ("X:1|-1|-1", "a|b (0.9312)|c (0.2500)|d (-) model"),
        ("-1", "0.2500 model"),
    ]
    assert written("pubtator", (again, ())) == text


def test_other_readers_take_the_seventh_column() -> None:
    document = Document("1", (Passage("Gout. B and c"),))
    sure = Candidate("X:1", "x", "x", 1.0, confidence=0.9)
    predictions = [
        Prediction(Mention("Gout", ((0, 4),), type="Disease"), (Part("Gout", candidates=(sure,)),)),
        Prediction(
            Mention("B and c", ((6, 13),), type="Disease"),
            (Part("B", candidates=(sure,)), Part("c", candidates=(sure,))),
        ),
    ]
    (read,) = library.loads(written("pubtator", (document, predictions)) + "\n")
    assert [(a.start, a.end, a.id) for a in read.annotations] == [(0, 4, "X:1"), (6, 13, "X:1|X:1")]


def test_unchanged_documents_are_written_as_read() -> None:
    documents = list(reader.read(DATA / "mini.pubtator.txt"))
    text = (DATA / "mini.pubtator.txt").read_text(encoding="utf-8")
    expected = text.replace("\n103|a|", "\n\n103|a|") + "\n"
    assert written("pubtator", *((document, ()) for document in documents)) == expected


@pytest.mark.parametrize(
    ("passages", "lines"),
    [
        ((Passage("A\nb", 0), Passage("C", 4), Passage("D", 8)), "1|t|A b\n1|a|C   D\n\n"),
        ((Passage("A", 0), Passage("B", 1)), "1|t|AB\n\n"),  # one line keeps the offsets
        ((Passage("A", 0), Passage("", 2)), "1|t|A\n1|a|\n\n"),
        ((Passage("A", 0, ABSTRACT), Passage("B", 2, {"type": "title"})), "1|a|A\n1|t|B\n\n"),
        ((Passage("A", 3),), "1|t|   A\n\n"),
    ],
)
def test_passages_of_any_shape_keep_their_offsets(
    passages: tuple[Passage, ...], lines: str, tmp_path: Path
) -> None:
    document = Document("1", passages)
    assert written("pubtator", (document, ())) == lines
    (tmp_path / "x").write_text(lines)
    assert next(iter(reader.read(tmp_path / "x"))).text == document.text.replace("\n", " ")
