"""A dictionary whose rankings can be worked out by hand."""

from __future__ import annotations

import pytest

from linker import Dictionary, Linker, LinkerOptions
from linker.encoders.tfidf import TfidfOptions

_ROWS = (
    "id\tname\tsynonyms\tparents\talt_ids",
    "D:1\tabcd\tabcde|twin\t\tOLD:9",
    "D:2\tabxy\ttwin\tD:1\tOLD:2|OLD:9",
    "D:3\tbreast cancer\t\tD:1\t",
    "D:4\tovarian cancer\t\tD:1\t",
    "D:5\tmale breast cancer\t\tD:3\t",
    "D:6\twww\tabcd like\t\t",
)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    """By characters alone, 'abcd' ranks the names abcd (D:1), abcde (D:1), abcd like (D:6), then abxy (D:2); 'twin' is D:1's and D:2's."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.tsv"
    path.write_text("\n".join(_ROWS) + "\n", encoding="utf-8")
    linker = Linker.train(
        Dictionary.read(path),
        encoder="tfidf",
        options=LinkerOptions(sparse=TfidfOptions("char", 1, 2, sublinear=False)),
    )
    return linker.with_ranker(None)
