"""Dictionaries whose rankings and errors can be worked out by hand."""

from __future__ import annotations

import pytest

from linker import Dictionary, Linker, LinkerOptions
from linker.encoders.tfidf import TfidfOptions
from linker.training.pipeline import train

_TINY = """id	name	synonyms	parents	alt_ids
D:1	abcd	abcde|twin		OLD:9
D:2	abxy	twin	D:1	OLD:2|OLD:9
D:3	breast cancer		D:1	
D:4	ovarian cancer		D:1	
D:5	male breast cancer		D:3	
D:6	www	abcd like		
"""
_HEARTS = """id	name	synonyms	parents	alt_ids
D:0	disease			
D:1	heart disease	cardiac disease	D:0	OLD:1
D:2	valve disease		D:1	
D:3	rhythm disease		D:1	
D:4	mitral disease		D:2	
D:9	Cardiac  Disease			
"""


def _read(factory: pytest.TempPathFactory, text: str) -> Dictionary:
    path = factory.mktemp("dictionary") / "d.tsv"
    path.write_text(text, encoding="utf-8")
    return Dictionary.read(path)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    """By characters alone, 'abcd' ranks the names abcd (D:1), abcde (D:1), abcd like (D:6), then abxy (D:2); 'twin' is D:1's and D:2's."""
    linker = train(
        _read(tmp_path_factory, _TINY),
        encoder="tfidf",
        options=LinkerOptions(sparse=TfidfOptions("char", 1, 2, sublinear=False)),
    )
    return linker.with_ranker(None)


@pytest.fixture(scope="session")
def hearts(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    return _read(tmp_path_factory, _HEARTS)
