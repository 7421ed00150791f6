"""What public functions say of arguments that they do not have, or cannot take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linker
from linker.arguments import NUMBER, WHOLE
from linker.errors import ArgumentError, LinkerError

Call = Callable[[linker.Linker], Any]


@pytest.fixture(scope="module")
def model(sample_linker: linker.Linker) -> linker.Linker:
    return sample_linker


MISTAKES: list[tuple[str, str, Call]] = [
    ("Linker.link", "kk", lambda m: m.link("gout", kk=3)),
    ("Linker.link", "k", lambda m: m.link("gout", k="3")),
    ("Linker.link", "k", lambda m: m.link("gout", k=1.5)),
    ("Linker.link", "items", lambda m: m.link(42)),
    ("Linker.link", "also", lambda m: m.link("gout", also="OMIM")),
    ("Linker.link", "threshold", lambda m: m.link("gout", threshold="0.5")),
    ("Linker.link", "within", lambda m: m.link("gout", within="MESH:D006073")),
    ("Linker.link", "decisions", lambda m: m.link("gout", decisions="decisions.sqlite")),
    ("Linker.link", "positional", lambda m: m.link("gout", 3)),
    ("Linker.explain", "conept", lambda m: m.explain("gout", conept="MESH:D006073")),
    ("Linker.restricted", "within", lambda m: m.restricted("MESH:D006073")),
    ("linker.Annotator", "linker", lambda _: linker.Annotator("model")),
    ("Annotator.annotate", "documents", lambda m: linker.Annotator(m).annotate("a text")),
    ("Annotator.annotate", "kk", lambda m: linker.Annotator(m).annotate([], kk=2)),
    ("linker.link_column", "kk", lambda m: linker.link_column([], "d", m, kk=3)),
    ("linker.link_column", "model", lambda _: linker.link_column([], "d", 42)),
    ("linker.link_column", "column", lambda _: linker.link_column([])),
    ("linker.train", "dictionary", lambda _: linker.train("medic.tsv")),
    ("linker.train", "encodr", lambda m: linker.train(m.dictionary, encodr="dan")),
    ("linker.train", "mentions", lambda m: linker.train(m.dictionary, mentions="m.tsv")),
    ("linker.train", "options", lambda m: linker.train(m.dictionary, options={"seed": 1})),
    ("linker.update", "linker", lambda m: linker.update("linker-model", m.dictionary)),
    ("linker.evaluate", "items", lambda m: linker.evaluate("m.tsv", m)),
    ("linker.evaluate", "linker", lambda _: linker.evaluate([], "linker-model")),
    ("linker.evaluate", "ks", lambda m: linker.evaluate([], m, ks=5)),
    ("linker.load", "model", lambda _: linker.load(42)),
    ("linker.read_mentions", "path", lambda _: linker.read_mentions(3)),
    ("linker.Dictionary.read", "paths", lambda _: linker.Dictionary.read(3)),
    ("linker.Dictionary.read", "langages", lambda _: linker.Dictionary.read("x", langages=["en"])),
    ("linker.Dictionary.read", "languages", lambda _: linker.Dictionary.read("x", languages="en")),
]


@pytest.mark.parametrize(("function", "argument", "call"), MISTAKES)
def test_a_wrong_argument_is_said_with_its_function(
    model: linker.Linker, function: str, argument: str, call: Call
) -> None:
    with pytest.raises(ArgumentError) as raised:
        call(model)
    assert isinstance(raised.value, TypeError)
    assert str(raised.value).startswith(f"{function}: ")
    assert argument in str(raised.value).partition(";")[0]


def test_numbers_of_numpy_are_numbers() -> None:
    assert WHOLE.has(np.int64(3))
    assert NUMBER.has(np.float32(0.5))
    assert not WHOLE.has(3.0)
    assert not NUMBER.has(None)
    assert NUMBER.or_none().has(None)


def test_a_protocol_that_is_not_there(model: linker.Linker) -> None:
    with pytest.raises(LinkerError):
        linker.evaluate([linker.Mention("gout")], model, "stric")
