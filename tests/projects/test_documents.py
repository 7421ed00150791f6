"""The order of documents: by what decisions on them are expected to correct."""

from __future__ import annotations

from linker.projects.documents import in_order_of_worth as order


def test_a_form_counts_in_all_documents_once() -> None:
    rare = [("a", 0.1)]  # 1 x 0.9
    both = [("b", 0.7), ("c", 0.9)]  # (4 x 0.3 + 0.1) / 2, and 0.1 / 2 once "b" is decided
    common = [("b", 0.7), ("b", 0.7)]  # 4 x 0.3, of all documents
    again = [("b", 0.7)]  # 4 x 0.3, and 0 once "b" is decided
    assert order([rare, both, common, again]) == [2, 0, 1, 3]


def test_an_answer_without_confidence_is_most_doubtful() -> None:
    assert order([[("a", 0.01)], [("b", None)], []]) == [1, 0, 2]


def test_equal_documents_stay_in_order() -> None:
    assert order([[("a", 0.5)], [("b", 0.5)], [("a", 0.5)]]) == [0, 1, 2]
