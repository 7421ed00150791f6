"""Commands that are killed, or interrupted, at random moments, and what is found afterwards."""

from __future__ import annotations

import contextlib
import importlib.util
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from .commands import LINKER, check, filled, materials, process
from .core import Attack, Failed

_WORDS = "--set words.dim=8 --set words.min_count=1 --set words.buckets=50"
_COMMANDS = {  # what is written, and by what
    "model": "train --encoder tfidf --dict {shared}/new.tsv -o model",
    "linked.tsv": "link {shared}/many.txt --model {shared}/model -o linked.tsv",
    "linked.jsonl.gz": (
        "link {shared}/many.txt --model {shared}/model --format jsonl -o linked.jsonl.gz"
    ),
    "evaluation": "evaluate {shared}/gold.tsv --model {shared}/model -o evaluation",
    "table.tsv": "dictionary convert {shared}/new.tsv -o table.tsv",
    "words": f"words train {{shared}}/text.txt {_WORDS} -o words",
}
_STARTS = (  # commands that may be interrupted at any moment
    "--help",
    "link {shared}/many.txt --model {shared}/model",
    "train --encoder tfidf --dict {shared}/new.tsv -o model",
    "dictionary stats {shared}/new.tsv",
)


def _materials(shared: Path) -> None:
    materials(shared)
    rows = "".join(f"X:{n}\tdisease {n}\tillness {n}|sickness of kind {n}\n" for n in range(3_000))
    (shared / "new.tsv").write_text(f"id\tname\tsynonyms\n{rows}")
    (shared / "many.txt").write_text("".join(f"illness {n}\n" for n in range(20_000)))
    (shared / "whole").mkdir()


@contextlib.contextmanager
def prepared(shared: Path) -> Iterator[Attack]:
    """A kill while something is replaced: what stood is there, or the new.

    The same command then succeeds, and leaves nothing else.
    """
    _materials(shared)
    has_gensim = importlib.util.find_spec("gensim") is not None
    names = [name for name in _COMMANDS if name != "words" or has_gensim]
    seconds: dict[str, float] = {}  # of a whole run

    def run(name: str, folder: Path) -> None:
        check(process(filled(_COMMANDS[name], shared=shared).split(), folder=folder), 0)

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


@contextlib.contextmanager
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
