"""Models that are loaded while another process replaces them without pause."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linker import Dictionary, Linker, LinkerError, Mention
from linker.types import GoldGroup

from .commands import check, process
from .core import Attack, Failed

_MENTIONS = ["breast cancer", "ataxia", "the gout", "tumour of the skin", "cancer of the breast"]


@contextlib.contextmanager
def prepared(shared: Path) -> Iterator[Attack]:
    """Every load must give one of two models whole, as Python loads them, and each hundredth time as the command line does."""
    with _replaced(shared) as (path, models):
        # made in each process: one that has linked and is forked then hangs in OpenMP
        wholes: list[dict[str, Any]] = []

        def attack(rng: random.Random, case: int, folder: Path) -> None:
            wholes.extend(_whole(Linker.load(model)) for model in models[len(wholes) :])
            if any(wholes[0][name] == wholes[1][name] for name in wholes[0]):
                raise Failed("the two models do not differ: in every part")
            if case % 100 == 99:
                _command(path, wholes)
                return
            try:
                found = _whole(Linker.load(path))
            except LinkerError as error:
                raise Failed(f"no answer: {error}") from error
            if found not in wholes:
                same = [{name for name in found if found[name] == whole[name]} for whole in wholes]
                what = f"of the one {sorted(same[0])}, of the other {sorted(same[1])}"
                raise Failed(f"two models in one answer: {what}")

        yield attack


def _command(path: Path, wholes: list[dict[str, Any]]) -> None:
    given = "".join(f"{mention}\n" for mention in _MENTIONS).encode()
    arguments = ["link", "-", "--model", str(path), "-k", "3"]
    result = check(process(arguments, stdin=given))
    if result.code:
        raise Failed(f"no answer of the command line: {result.err[-300:]}")
    ids = [line.split("\t")[2] for line in result.out.decode().splitlines()[1:]]
    if ids not in [whole["ids of the answers"] for whole in wholes]:
        raise Failed(f"two models in one answer of the command line: {ids}")


@contextlib.contextmanager
def _replaced(shared: Path) -> Iterator[tuple[Path, list[Path]]]:
    """A folder that a process fills with two models in turn, and these two; they differ in every part."""
    shared.mkdir()
    models, path = [shared / "A", shared / "B"], shared / "model"
    linkers = [_linker(shared / "dict.tsv", number) for number in (0, 1)]
    for linker, model in zip(linkers, models, strict=True):
        linker.save(model)
    linkers[0].save(path)
    writer = os.fork()
    if not writer:
        with contextlib.suppress(BaseException):
            _write(linkers, path)
        os._exit(1)
    try:
        yield path, models
    finally:
        ended, _ = os.waitpid(writer, os.WNOHANG)
        if ended:
            raise Failed("the writer failed: it ended before the loads did")
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)


def _write(linkers: list[Linker], path: Path) -> None:
    """Replace the model without pause, until this process is killed."""
    while True:
        for linker in linkers[::-1]:
            linker.save(path)


def _linker(table: Path, number: int) -> Linker:
    """One of two models of the same names with other ids, in another order, with other names about them."""
    prefix = "AB"[number]
    names = [
        "breast cancer", "ataxia", "gout", "skin tumor", f"only of {prefix}", "fever", "cancer",
    ][:: 1 - 2 * number]  # fmt: skip
    rows = [
        f"{prefix}:{row}\t{name}\t{name} disease|{prefix} {name}\t{prefix}:0\n"
        for row, name in enumerate(names)
    ]
    rows += [f"{prefix}:9{row}\tmore of {prefix}{row}\t\t\n" for row in range(10 * number)]
    table.write_text("id\tname\tsynonyms\tparents\n" + "".join(rows))
    mentions = [Mention(f"seen by {prefix}", gold=(GoldGroup((f"{prefix}:1",)),))]
    corrections = {"tumour": "tumor"} if number else {"tumour": "tumors", "of": "by"}
    return Linker.train(
        Dictionary.read(table), encoder="tfidf", mentions=mentions, corrections=corrections
    )


def _whole(linker: Linker) -> dict[str, Any]:
    """All that a model holds, part by part."""
    candidates = [
        c for p in linker.link(_MENTIONS, k=3) for part in p.parts for c in part.candidates
    ]
    concepts = [linker.dictionary.concept(row) for row in range(len(linker.dictionary))]
    return {
        "ids of the answers": [c.concept_id for c in candidates],
        "answers": [dataclasses.astuple(c) for c in candidates],
        "concepts": [(one.id, one.parents, [name.text for name in one.names]) for one in concepts],
        "names": list(linker.generator.table.texts),
        "seen": (sorted(linker.seen.mentions), sorted(linker.seen.concepts)),
        "spelling": linker.normalize("tumour of"),
        "sources": linker.describe_dictionary(),
    }
