"""Attacks on linker: damaged files, archives that grow, damaged models, killed commands.

python benchmarks/attacks/run.py                              all of them, in about half an hour
python benchmarks/attacks/run.py --share 0.01                 a hundredth of each
python benchmarks/attacks/run.py --only files --case 17       one case again, with its traceback

Each case runs with limits of time and memory in a process of its own. It fails where anything else
comes out than an answer or a refusal (`LinkerError`): a traceback, a signal, more than a gigabyte,
code that was run, or no model where one was before. A case is repeated by its kind, seed and
number. The test suite runs the first cases of each kind. What attacks the service is
tests/desk/service/test_openapi.py, by schemathesis; decisions under kills: curation/writers.py.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import linker
from benchmarks.lib import results
from linker import Dictionary, LinkerError
from linker.cli import cli
from linker.errors import Skip, stop

CPU, WALL, MEMORY = 20, 120, 1 << 30  # seconds of a case; bytes beyond what a process starts with
CHUNK = 100  # cases of a process
BOMB, MEMBER = 1_200_000_000, 10_000_000  # bytes that an archive unpacks to; of one gzip member
DICTIONARIES = results.ROOT / "dictionaries"
DATA = results.ROOT / "tests" / "data"
MARKER = "code-was-run"
Attack = Callable[[random.Random, int, Path], None]
Row = tuple[int, str]  # a case, and what failed; empty where nothing did


class Failed(AssertionError):
    """An attack found something wrong."""


# --------------------------------------------------------------------------------- damaged files

TABLE = b"""id,name,synonyms,parents
MESH:D001943,"Breast Neoplasms, all",breast cancer|mammary tumor,MESH:D009369
MESH:D009369,"Neo""plasms",cancer,
"""
MEDIC = (DICTIONARIES / "sample_medic.tsv").read_bytes()[:4000].rpartition(b"\n")[0]
SAMPLES: dict[str, tuple[str, bytes]] = {  # file -> how it is read, and a valid one
    "a.txt": ("mentions", (DICTIONARIES / "sample_mentions.txt").read_bytes()),
    "a.tsv": ("mentions", (DICTIONARIES / "sample_mentions.tsv").read_bytes()),
    "a.jsonl": ("mentions", b'{"mention": "gout", "ids": ["D006073"], "spans": [[0, 4]]}\n' * 3),
    "a.pubtator.txt": ("mentions", (DATA / "mini.pubtator.txt").read_bytes()),
    "a.bioc.xml": ("mentions", (DATA / "mini.bioc.xml").read_bytes()),
    "a.bioc.json": ("mentions", (DATA / "mini.bioc.json").read_bytes()),
    "a.concept": ("mentions", b"1||0|4||Disease||gout||D006073\n" * 3),
    "table.csv": ("dictionary", TABLE),
    "medic.tsv": ("dictionary", MEDIC),
    "names.txt": ("dictionary", b"MESH:D001943||breast cancer\nOMIM:1|MESH:D2||tumor\n"),
    "tiny.obo": ("dictionary", (DATA / "tiny.obo").read_bytes()),
}
HOSTILE = (
    *(b"\0", b"\t", b"|", b'"', b"\r", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\n\n", b"-1"),
    *(b"99999999999999999999", b"1e999", b"NaN", b"&lt;", b"<a>", b"</", b"{", b"[" * 3000, b"{}"),
    *(b"x" * 200_000, b"../../x", "\u202e\u0130ß".encode(), b"=cmd()", b"null", b"\\", b"MESH:"),
)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Some bytes are others, lost, doubled or hostile."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        one, other = sorted(rng.randint(0, len(data)) for _ in range(2))
        data = rng.choice(
            (
                data[:one] + rng.choice(HOSTILE) + data[one:],
                data[:one] + rng.choice(HOSTILE) + data[other:],
                data[:one] + data[one:other] * 2 + data[other:],
                data[:one] + data[other:],
                data[:one] + rng.randbytes(1) + data[one + 1 :],
                data[:one],
                data.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\x00\n")), rng.choice((1, -1))),
                data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-32"))),
            )
        )
    return data


def files(shared: Path) -> Iterator[Attack]:
    """Damaged files of mentions and dictionaries, every second of them read with skipping."""

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        name, (kind, valid) = list(SAMPLES.items())[case % len(SAMPLES)]
        data = mutated(rng, valid)
        if rng.random() < 0.2:
            data, name = mutated(rng, gzip.compress(data)), f"{name}.gz"
        path, on_error = folder / name, Skip() if rng.random() < 0.5 else stop
        path.write_bytes(data)
        if kind == "mentions":
            list(linker.read_mentions(path, on_error=on_error))
        else:
            found = Dictionary.read(path, on_error=on_error)
            [found.concept(row) for row in range(len(found))]

    yield attack


# --------------------------------------------------------------------------- archives that grow

LINES = {  # what stands before and in an endless line
    "a.txt.gz": (b"", b"a"),
    "a.jsonl.gz": (b'{"mention": "', b"a"),
    "a.pubtator.txt.gz": (b"1|t|", b"a "),
    "a.bioc.json.gz": (b'{"documents": [{"id": "', b"a"),
    "table.tsv.gz": (b"id\tname\nX:1\t", b"a"),
    "tiny.obo.gz": (SAMPLES["tiny.obo"][1] + b"\n[Term]\nid: X:9\nname: ", b"a"),
}


def archives(shared: Path) -> Iterator[Attack]:
    """A small gzip file or workbook that unpacks to more than a gigabyte."""

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        if case % (len(LINES) + 1) == len(LINES):
            return workbook(folder)
        name, (start, endless) = list(LINES.items())[case % (len(LINES) + 1)]
        member = gzip.compress(endless * (MEMBER // len(endless)))
        with open(folder / name, "wb") as file:
            file.write(gzip.compress(start))
            file.writelines(member for _ in range(BOMB // MEMBER))
        if "table" in name or "obo" in name:
            return void(Dictionary.read(folder / name))
        return void(list(linker.read_mentions(folder / name)))

    yield attack


def void(_: object) -> None:
    """Nothing, whatever was read."""


def workbook(folder: Path) -> None:
    """A workbook whose sheet unpacks to more than a gigabyte."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["diagnosis"])
    book.save(folder / "small.xlsx")
    with (
        zipfile.ZipFile(folder / "small.xlsx") as small,
        zipfile.ZipFile(folder / "big.xlsx", "w", zipfile.ZIP_DEFLATED) as big,
    ):
        for name in small.namelist():
            with big.open(name, "w", force_zip64=True) as file:
                if not name.endswith("sheet1.xml"):
                    file.write(small.read(name))
                    continue
                start, _, end = small.read(name).partition(b"</sheetData>")
                file.write(start)
                for _ in range(BOMB // MEMBER):
                    file.write(b"<row><c><v>1</v></c></row>" * (MEMBER // 26))
                file.write(b"</sheetData>" + end)
    linker.train(Dictionary.read(DICTIONARIES / "sample_medic.tsv"), encoder="tfidf").save(
        folder / "model"
    )
    command = ["link", "big.xlsx", "--column", "diagnosis", "-o", "out.xlsx", "--model", "model"]
    with contextlib.chdir(folder):
        cli.main(command, standalone_mode=False)


# ------------------------------------------------------------------------------- damaged models


class Evil(NamedTuple):
    """Makes a folder when it is unpickled."""

    path: str

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def models(shared: Path) -> Iterator[Attack]:
    """Models with a file damaged, or a pickle in its place, and signed again."""
    dictionary = Dictionary.read(DICTIONARIES / "sample_medic.tsv")
    for encoder in ("tfidf", "static"):
        linker.train(dictionary, encoder=encoder).save(shared / encoder)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        model = folder / "model"
        shutil.copytree(shared / ("tfidf", "static")[case % 2], model)
        every = sorted(path for path in model.rglob("*") if path.is_file())
        path, evil = rng.choice(every), pickle.dumps(Evil(str(folder / MARKER)))
        data = path.read_bytes()
        array = io.BytesIO()
        np.save(array, np.array([Evil(str(folder / MARKER))], dtype=object), allow_pickle=True)
        damaged = (mutated(rng, data), data[: rng.randint(0, len(data))], data + rng.randbytes(99))
        path.write_bytes(rng.choice((*damaged, *damaged, evil, array.getvalue())))
        if rng.random() < 0.2:
            path.with_name(rng.choice(("x.pkl", "pytorch_model.bin", "x.npy"))).write_bytes(evil)
        if rng.random() < 0.9:
            sign(model)
        try:
            linker.load(model).link(["breast cancer", "ataxia of sheep"], k=3)
        finally:
            if (folder / MARKER).exists():
                raise Failed("code was run")

    yield attack


def sign(model: Path) -> None:
    """Put the checksums of all files into the manifest; not where the manifest is damaged."""
    path = model / "manifest.json"
    with contextlib.suppress(ValueError, TypeError, KeyError):
        manifest = json.loads(path.read_bytes())
        found = [file for file in model.rglob("*") if file.is_file() and file != path]
        manifest["sha256"] |= {
            file.relative_to(model).as_posix(): sha256(file.read_bytes()).hexdigest()
            for file in found
        }
        path.write_text(json.dumps(manifest))


# --------------------------------------------------------------------------------------- kills


def kills(shared: Path) -> Iterator[Attack]:
    """A training that replaces a model is killed: a whole model stands there, old or new."""
    dictionary = DICTIONARIES / "sample_medic.tsv"
    linker.train(Dictionary.read(dictionary), encoder="tfidf").save(shared / "model")

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        model = folder / "model"
        shutil.copytree(shared / "model", model)
        options = ["--dict", str(dictionary), "--encoder", "tfidf", "-q", "-o", str(model)]
        process = subprocess.Popen([sys.executable, "-m", "linker.cli", "train", *options])
        time.sleep(rng.uniform(0, 4))
        process.send_signal(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
        process.wait()
        if not linker.load(model).link("breast cancer", k=1).parts[0].candidates:
            raise Failed("the model that is left answers nothing")

    yield attack


class Kind(NamedTuple):
    """A kind of attack."""

    prepared: Callable[[Path], Iterator[Attack]]
    cases: int  # of the long run


KINDS = {
    "files": Kind(files, 20_000),
    "archives": Kind(archives, len(LINES) + 1),
    "models": Kind(models, 2_000),
    "kills": Kind(kills, 100),
}

# ----------------------------------------------------------------------------------- running them


def tried(kind: str, seed: int, cases: range, *, shown: bool = False) -> list[Row]:
    """Try some cases in forked processes with limits; what came of each."""
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="attacks-") as place,
        contextlib.contextmanager(KINDS[kind].prepared)(Path(place)) as attack,
    ):
        while left := cases[len(rows) :]:
            rows += in_process(attack, kind, seed, left[:CHUNK], Path(place) / "case", shown)
    return rows


def in_process(
    attack: Attack, kind: str, seed: int, cases: range, folder: Path, shown: bool
) -> list[Row]:
    """Try cases in one process, which writes a line for each; the last may be that it died of."""
    receiver, sender = os.pipe()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            limit(quiet=not shown)
            for case in cases:
                signal.setitimer(signal.ITIMER_PROF, CPU)
                signal.setitimer(signal.ITIMER_REAL, WALL)
                rng = random.Random(f"{kind} {seed} {case}")
                failure = one(attack, rng, case, folder)
                os.write(sender, json.dumps([case, failure]).encode() + b"\n")
            os._exit(0)
        os._exit(1)
    os.close(sender)
    with open(receiver, encoding="utf-8") as lines:
        rows: list[Row] = [(case, failure) for case, failure in map(json.loads, lines)]
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    died = f"died with {signal.Signals(-code).name if code < 0 else code}"
    return [*rows, (cases[len(rows)], died)] if code else rows


def one(attack: Attack, rng: random.Random, case: int, folder: Path) -> str:
    """What failed in a case; empty where nothing did."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        attack(rng, case, folder)
    except (LinkerError, click.UsageError) as refusal:
        return "" if len(str(refusal)) < 2000 else f"too long a message: {str(refusal)[:200]}"
    except BaseException as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


def limit(*, quiet: bool) -> None:
    """Limit this process; timers end it; keep still."""
    if quiet:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    """Run the attacks that are asked for, and print what failed; the exit code."""
    parser = results.parser(__doc__)
    add = parser.add_argument
    add("--only", choices=KINDS, metavar="KIND", help=f"of: {', '.join(KINDS)}")
    add("--seed", type=int, default=0)
    add("--case", type=int, help="repeat this case of the kind of --only")
    add("--share", type=float, default=1, help="of the cases of each kind")
    add("--json", type=int, metavar="N", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is not None:
        rows = tried(given.only, given.seed, range(given.case, given.case + 1), shown=True)
        print(rows[0][1] or "no failure")
        return int(bool(rows[0][1]))
    if given.json:
        print(json.dumps(tried(given.only, given.seed, range(given.json))))
        return 0
    failed = 0
    for kind in [given.only] if given.only else KINDS:
        count = max(1, round(KINDS[kind].cases * given.share))
        failures = [row for row in tried(kind, given.seed, range(count)) if row[1]]
        failed += len(failures)
        print(f"{kind}: {len(failures)} of {count} failed", flush=True)
        print(*(f"  --case {case}: {failure}" for case, failure in failures[:10]), sep="\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
