"""Documents of a project: which to review first."""

from __future__ import annotations

from linker.desk.projects import documents

from .conftest import Desk

TEXTS = (
    "1|t|Gout\n1|a|\n1\t0\t4\tGout\tDisease\n\n"
    "2|t|zzzz and gout\n2|a|\n2\t0\t4\tzzzz\tDisease\n2\t9\t13\tgout\tDisease\n\n"
    "3|t|Nothing\n3|a|\n\n"
)


def test_the_most_doubtful_document_comes_first(desk: Desk) -> None:
    desk.create(TEXTS, "a.txt")
    desk.decide("Gout", "MESH:D006073")
    with desk.reading() as queue:
        listed = documents.listed(queue, "doubt")
    found = [(of["number"], of["mentions"], of["decided"], of["doubt"]) for of in listed]
    assert found == [(2, 2, 1, 1.0), (1, 1, 1, 0.0), (3, 0, 0, 0.0)]
    assert listed[0]["title"] == "zzzz and gout"
