"""Files and models that are replaced: by what is killed at random moments or at any line, and while others load them."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from linker import Dictionary, Linker, LinkerError, Mention, files, persistence
from linker.files import replacing
from linker.training.pipeline import train
from linker.types import GoldGroup

from . import inputs
from .commands import LINKER, filled, materials, process
from .core import Attack, Failed, not_refused

_WORDS = "--set words.dim=8 --set words.min_count=1"
_LINK = "link {shared}/many.txt --model {shared}/model"
_COMMANDS = {  # what is written, and by what
    "model": "train --encoder tfidf --dict {shared}/new.tsv -o model",
    "linked.tsv": f"{_LINK} -o linked.tsv",
    "linked.jsonl.gz": f"{_LINK} --format jsonl -o linked.jsonl.gz",
    "evaluation": "evaluate {shared}/gold.tsv --model {shared}/model -o evaluation",
    "table.tsv": "dictionary convert {shared}/new.tsv -o table.tsv",
    "words": f"words train {{shared}}/text.txt {_WORDS} -o words",
}
_STARTS = ("--help", _LINK, _COMMANDS["model"], "dictionary stats {shared}/new.tsv")
_MENTIONS = ["breast cancer", "ataxia", "the gout", "tumour of the skin", "cancer of the breast"]


def _materials(shared: Path) -> None:
    materials(shared)
    rows = "".join(f"X:{n}\tdisease {n}\tillness {n}|sickness of kind {n}\n" for n in range(3_000))
    (shared / "new.tsv").write_text(f"id\tname\tsynonyms\n{rows}")
    (shared / "many.txt").write_text("".join(f"illness {n}\n" for n in range(20_000)))
    (shared / "whole").mkdir()


# ------------------------------------------------------------------------- kills and interrupts


def kills(shared: Path) -> Iterator[Attack]:
    """A kill while something is replaced: what stood is there, or the new.

    The same command then succeeds, and leaves nothing else.
    """
    _materials(shared)
    has_gensim = importlib.util.find_spec("gensim") is not None
    names = [name for name in _COMMANDS if name != "words" or has_gensim]
    seconds: dict[str, float] = {}  # of a whole run

    def run(name: str, folder: Path) -> None:
        process(filled(_COMMANDS[name], shared=shared).split(), 0, folder=folder)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        name = names[case % len(names)]
        if name not in seconds:
            start = time.monotonic()
            run(name, shared / "whole")
            seconds[name] = time.monotonic() - start
        old, new = _old(name, shared, folder), _contents(shared / "whole" / name)
        moment = rng.uniform(0.5, 1.05) * seconds[name]  # before that Python is starting
        when = f"{name}: killed after {moment:.3f} s"
        command = [*LINKER, *filled(_COMMANDS[name], shared=shared).split()]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = subprocess.Popen(command, cwd=folder, **quiet)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(moment)
        deadly = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        running.send_signal(deadly)
        code = running.wait(60)
        if code not in (0, -deadly, 143):
            raise Failed(f"exit code {code} after {deadly.name}: {when}")
        found = _contents(folder / name)
        is_whole = found in (old, new)
        if name == "evaluation":  # each of its files for itself
            is_whole = all(found.get(file) in (old[file], new[file]) for file in old)
        if not is_whole:
            raise Failed(f"neither the old nor the new {when}, found {sorted(found)[:9]}")
        run(name, folder)
        if _contents(folder / name) != new:
            raise Failed(f"the next run does not write the same {when}")
        every = sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))
        left = [file for file in every if file.endswith((".tmp", ".old"))]
        if left or len(list(folder.iterdir())) > 1:
            raise Failed(f"leftovers stay beside {when}, {left or every}")

    yield attack


def _old(name: str, shared: Path, folder: Path) -> dict[str, bytes]:
    """Put something of the same kind where the output will be, and return what it holds."""
    path = folder / name
    if name in ("model", "words"):
        shutil.copytree(shared / "model" if name == "model" else shared / "whole" / "words", path)
    elif name == "evaluation":
        path.mkdir()
        for file in ("metrics.json", "outcomes.tsv"):
            (path / file).write_bytes(b"old")
    else:
        path.write_bytes(b"old\n")
    return _contents(path)


def _contents(path: Path) -> dict[str, bytes]:
    """The files of a folder by name, or that of a file under the name of nothing."""
    if not path.is_dir():
        return {"": path.read_bytes()} if path.exists() else {}
    files = [file for file in path.rglob("*") if file.is_file() and file.suffix != ".tmp"]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def interrupts(shared: Path) -> Iterator[Attack]:
    """Ctrl-C: exit code 130, or that of a command which was done, and no traceback."""
    _materials(shared)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        start, moment = _STARTS[case % len(_STARTS)], rng.uniform(0.02, 0.8)
        command = [*LINKER, *filled(start, shared=shared).split()]
        with open(folder / "err", "wb") as err:
            running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=err)
            time.sleep(moment)
            running.send_signal(signal.SIGINT)
            code = running.wait(60)
        said = (folder / "err").read_text(errors="replace")
        is_bug = "a bug in linker" in said or ("Traceback" in said and "/linker/" in said)
        if is_bug or code not in (0, 130, -signal.SIGINT):
            what = f"{start} after {moment:.3f} s: {said[-300:]}"
            raise Failed(f"interrupted, exit code {code}: {what}")

    yield attack


# ----------------------------------------------------------------- loads while models are replaced


def loads(shared: Path) -> Iterator[Attack]:
    """Every load must give one of two models whole, which another process saves in turn.

    Models are loaded as Python does, and each hundredth time as the command line does.
    """
    shared.mkdir()
    models, path = [shared / "A", shared / "B"], shared / "model"
    linkers = [_linker(shared / "dict.tsv", number) for number in (0, 1)]
    for linker, model in zip(linkers, models, strict=True):
        linker.save(model)
    linkers[0].save(path)
    # made in each process: one that has linked and is forked then hangs in OpenMP
    wholes: list[dict[str, Any]] = []

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        wholes.extend(_whole(Linker.load(model)) for model in models[len(wholes) :])
        if any(wholes[0][name] == wholes[1][name] for name in wholes[0]):
            raise Failed("the two models do not differ: in every part")
        if case % 100 == 99:
            _by_command(path, wholes)
            return
        with not_refused("no answer"):
            found = _whole(Linker.load(path))
        if found not in wholes:
            same = [{name for name in found if found[name] == whole[name]} for whole in wholes]
            what = f"of the one {sorted(same[0])}, of the other {sorted(same[1])}"
            raise Failed(f"two models in one answer: {what}")

    writer = os.fork()
    if not writer:
        with contextlib.suppress(BaseException):
            while True:  # until this process is killed
                for linker in linkers[::-1]:
                    linker.save(path)
        os._exit(1)
    try:
        yield attack
    finally:
        ended, _ = os.waitpid(writer, os.WNOHANG)
        if ended:
            raise Failed("the writer failed: it ended before the loads did")
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)


def _by_command(path: Path, wholes: list[dict[str, Any]]) -> None:
    given = "".join(f"{mention}\n" for mention in _MENTIONS).encode()
    result = process(["link", "-", "--model", str(path), "-k", "3"], stdin=given)
    if result.code:
        raise Failed(f"no answer of the command line: {result.err[-300:]}")
    ids = [line.split("\t")[2] for line in result.out.decode().splitlines()[1:]]
    if ids not in [whole["ids of the answers"] for whole in wholes]:
        raise Failed(f"two models in one answer of the command line: {ids}")


def _linker(table: Path, number: int) -> Linker:
    """One of two models of the same names with other ids, in another order, with other names about them."""
    prefix, names = "AB"[number], ["breast cancer", "ataxia", "gout", "skin tumor"]
    names += [f"only of {prefix}", "fever", "cancer"]
    rows = [
        f"{prefix}:{row}\t{name}\t{name} disease|{prefix} {name}\t{prefix}:0\n"
        for row, name in enumerate(names[:: 1 - 2 * number])
    ]
    rows += [f"{prefix}:9{row}\tmore of {prefix}{row}\t\t\n" for row in range(10 * number)]
    table.write_text("id\tname\tsynonyms\tparents\n" + "".join(rows))
    mentions = [Mention(f"seen by {prefix}", gold=(GoldGroup((f"{prefix}:1",)),))]
    corrections = {"tumour": "tumor"} if number else {"tumour": "tumors", "of": "by"}
    about: Any = {"encoder": "tfidf", "mentions": mentions, "corrections": corrections}
    return train(Dictionary.read(table), **about)


def _whole(linker: Linker) -> dict[str, Any]:
    """All that a model holds, part by part."""
    parts = (part for p in linker.link(_MENTIONS, k=3) for part in p.parts)
    candidates = [c for part in parts for c in part.candidates]
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


# ---------------------------------------------------------------- a death at every line that replaces

_POINTS = 10_000  # more than there are lines in the four runs together
_TRACED = {files.__file__, persistence.__file__, replacing.__file__}
_OLD, _NEW = "old\n" * 3, "new\n" * 5


class _Run(NamedTuple):
    """Something that is written, over what stood there or not."""

    name: str
    new: Callable[[Path], object]  # writes it
    found: Callable[[Path], str]  # tells which of the two is there
    old: Callable[[Path], object] | None = None  # writes what stood there


def swaps(shared: Path) -> Iterator[Attack]:
    """Cases go from the last line of each run to the first, so that the swap comes early.

    Those beyond die at two random lines.
    """
    os.fsync = lambda _: None  # processes die here, not machines
    shared.mkdir()
    old, new = _tiny(shared / "old.tsv", "A").save, _tiny(shared / "new.tsv", "B").save
    file = _Run("output.tsv", lambda path: _write(path, _NEW), _file)
    over = file._replace(old=lambda path: _write(path, _OLD))
    runs = [_Run("model", new, _model, old), over, _Run("model", new, _model), file]
    counts = [_count(run, shared / str(number)) for number, run in enumerate(runs)]
    points = [(back, n) for n, count in enumerate(counts) for back in range(1, count + 1)]
    points.sort()
    if len(points) > _POINTS:
        raise Failed(f"there are more lines than cases: {len(points)}")

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        if case < len(points):
            back, number = points[case]
            _swap(runs[number], folder, counts[number] - back)
        else:
            number = rng.randrange(len(runs))
            lines = (rng.randrange(counts[number]) for _ in range(2))
            _swap(runs[number], folder, *lines)

    yield attack


def _swap(run: _Run, folder: Path, *lines: int) -> None:
    """Die at these lines, one run after the other; nothing is lost, and the next run is whole."""
    path = folder / run.name
    if run.old:
        run.old(path)
    for line in lines:
        _dies(lambda: run.new(path), line)
        left = sorted(file.name for file in folder.iterdir())
        with not_refused(f"nothing is left of {run.name}: after line {line} there is {left}"):
            _ = (run.old or path.exists()) and run.found(path)
    with not_refused(f"the next run of {run.name} is refused: after lines {lines}"):
        run.new(path)
        found = run.found(path)
    if found != "new":
        raise Failed(f"the next run did not write {run.name}: after lines {lines}")
    if (left := sorted(file.name for file in folder.iterdir())) != [run.name]:
        raise Failed(f"leftovers stay beside {run.name}: after lines {lines}: {left}")


def _dies(action: Callable[[], object], line: int) -> None:
    """Run something in a fork that is killed before the n-th traced line that it comes to."""

    def reached(passed: int) -> None:
        if passed == line:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            sys.settrace(_tracer(reached))
            action()
            os._exit(0)
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise Failed(f"the run failed: with {code}, to be killed at line {line}")


def _count(run: _Run, folder: Path) -> int:
    """How many traced lines a run comes to."""
    folder.mkdir()
    if run.old:
        run.old(folder / run.name)
    counted = [0]
    sys.settrace(_tracer(counted.append))
    try:
        run.new(folder / run.name)
    finally:
        sys.settrace(None)
    return counted[-1] + 1


def _tracer(reached: Callable[[int], object]) -> Callable[[FrameType, str, Any], Any]:
    """A function for sys.settrace: it tells `reached` how many lines came before each one."""
    passed = -1

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if frame.f_code.co_filename not in _TRACED:
            return None
        if event == "line":
            passed += 1
            reached(passed)
        return trace

    return trace


def _tiny(table: Path, prefix: str) -> Linker:
    table.write_bytes(inputs.TABLE.replace(b"MESH:", f"{prefix}:".encode()))
    return train(Dictionary.read(table), encoder="tfidf")


def _model(path: Path) -> str:
    """Which model a folder holds."""
    (prediction,) = Linker.load(path).link(["breast cancer"])
    best = prediction.parts[0].best
    return {"A:D001943": "old", "B:D001943": "new"}[best.concept_id if best else ""]


def _write(path: Path, text: str) -> None:
    with files.write_aside(path) as file:
        file.write(text)


def _file(path: Path) -> str:
    if not path.exists():
        raise LinkerError(f"{path}: is not there")
    return {_OLD: "old", _NEW: "new"}[path.read_text()]
