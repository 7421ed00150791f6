"""Command lines: hostile values and inputs, names of files, closed descriptors and pipes."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import pkgutil
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linker import cli
from linker.training import pipeline

from . import inputs, readers
from .core import CPU, Attack, Failed
from .inputs import mutated, packed

LINKER = [sys.executable, "-m", "linker.cli"]
_VALUES = (
    "0", "-1", "1", "-0", "0.5", "1e400", "-1e400", "nan", "inf", "-inf", "99999999999999999999",
    "9" * 400, "9" * 5000, "1000000000", "2147483648", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "text", "", " ", "٣", "²", "0x10", "1_0", " 5 ",
    "1,5", "1,,5", ",", "\t", "\n", "a\nb", "é", "\udce9", "-", "--", "-k", "@x", "{}", "%s", "~",
    ".",
)  # fmt: skip
_WRONG = re.compile(
    r"a bug in linker: \w+|Traceback|Exception ignored|out of memory|Fatal Python error|Segmentation"
)
CODES = (0, 1, 2, 130)


class Result(NamedTuple):
    """What a command ended with."""

    code: int
    out: bytes
    err: str
    what: str  # was run


def check(result: Result, *codes: int, silent: bool = False) -> Result:
    """Take it for a failure where a command ends otherwise than it may, or says nothing of that."""
    shown = f"{result.err[-300:]} ({result.what[:300]!r})"
    if wrong := _WRONG.search(result.err):
        raise Failed(f"{wrong[0].replace(':', ',')}: {shown}")
    if result.code not in (codes or CODES):
        raise Failed(f"exit code {result.code}: {shown}")
    if result.code and not result.err.strip() and not silent:
        raise Failed(f"exit code {result.code} without a message: {shown}")
    return result


def preload() -> None:
    """Import what commands import when they need it; forks then need not."""
    modules = ["linker.evaluation.report", "linker.encoders.words", "gensim.models", "openpyxl"]
    for package in ("decisions", "dictionary", "jobs", "outputs", "readers"):
        path = importlib.import_module(f"linker.{package}").__path__
        modules += [f"linker.{package}.{module.name}" for module in pkgutil.iter_modules(path)]
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def forked(arguments: Sequence[object], *codes: int, stdin: bytes = b"") -> Result:
    """Run a command in a fork of this process, which has imported linker already, and check it."""
    words = list(map(str, arguments))
    with contextlib.ExitStack() as stack:
        given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        pid = os.fork()
        if not pid:
            _become(words, given.fileno(), out.fileno(), err.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        err.seek(0)
        said = err.read().decode("utf-8", "backslashreplace")
        return check(Result(code, out.read(), said, shlex.join(words)), *codes)


def _become(arguments: Sequence[str], *descriptors: int) -> None:
    """Turn this process into a command."""
    code = 70
    try:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
        signal.setitimer(signal.ITIMER_PROF, CPU)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        logging.getLogger().setLevel(logging.WARNING)
        sys.argv = ["linker", *arguments]
        cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else bool(end.code)
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def process(
    arguments: Sequence[str | bytes | Path],
    *codes: int,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    shell: str = "",
    folder: Path | None = None,
) -> Result:
    """Run a command as a process, and check it; `shell` is what a shell adds, such as "2>&-"."""
    command: Sequence[str | bytes | Path] = [*LINKER, *arguments]
    if shell:
        command = ["bash", "-c", f'"$@" {shell}', "bash", *command]
    about: dict[str, Any] = {"env": os.environ | (env or {}), "cwd": folder, "timeout": 60}
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, **about)
    what = f"{[*arguments]} {shell} {env or ''}"
    result = Result(
        done.returncode, done.stdout, done.stderr.decode(errors="backslashreplace"), what
    )
    return check(result, *codes, silent="2>&-" in shell)


def materials(folder: Path) -> None:
    """Fill a folder with a model and a valid file of each format."""
    dictionary = inputs.dictionary(folder)
    files = dict(file for target in readers.TARGETS.values() for file in target.files.items())
    files |= {"m.txt": inputs.TXT, "gold.tsv": inputs.TSV}
    files |= {"doc.txt": inputs.PUBTATOR, "predictions.jsonl": inputs.PREDICTIONS}
    files |= {"plain.tsv": inputs.TSV_PLAIN, "spelling.txt": inputs.SPELLING}
    files |= {"config.toml": inputs.TOML, "m.jsonl": inputs.JSONL, "text.txt": inputs.TEXT * 20}
    files |= {"vectors.txt": inputs.WORD2VEC_TEXT, "biosyn.json": inputs.BIOSYN}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    pipeline.train(dictionary, encoder="tfidf").save(folder / "model")


def filled(text: str, **paths: Path) -> str:
    """A command with the places of files."""
    for name, path in paths.items():
        text = text.replace(f"{{{name}}}", str(path))
    return text


# ------------------------------------------------------------------------ hostile values and inputs

_SELECTION = {
    "--under": ("MESH:D001943", "D001943,OMIM:1", "C", *_VALUES),
    "--not-under": ("MESH:D001943", "D010051,MESH:D001943", *_VALUES),
    "--types": ("Cancer", *_VALUES),
    "--namespaces": ("MESH", "omim:,MESH", *_VALUES),
    "-k": _VALUES,
    "--threshold": _VALUES,
    "--type": ("Disease", "disease", *_VALUES),
    "--on-error": ("skip", "stop", "x"),
}
_MODELS = "{shared}/model {shared}/model/dictionary {shared} /nowhere {shared}/m.txt"
_LINK = _SELECTION | {
    "--batch-size": _VALUES,
    "--format": ("tsv", "jsonl", "pubtator", "bioc", "x", ""),
    "--input-format": ("auto", "txt", "tsv", "jsonl", "pubtator", "bioc", "concept", "x"),
    "--model": (*_MODELS.split(), ""),
}
_PREDICTIONS = "{shared}/predictions.jsonl {shared}/biosyn.json {shared}/m.txt /nowhere {input}"
_EVALUATE = _SELECTION | {
    "--protocol": ("strict", "biosyn"),
    "--predictions": tuple(_PREDICTIONS.split()),
    "--input-format": ("txt", "tsv", "jsonl", "pubtator", "bioc", "concept"),
    "-o": ("{folder}/evaluation", "{shared}/m.txt", "/dev/null", ""),
}
_DICTIONARY = {
    "--dict-format": ("medic", "obo", "rrf", "biosyn", "table"),
    "--namespaces": _VALUES,
    "--types": _VALUES,
    "--hierarchy": ("{shared}/dict.tsv", "{shared}/m.txt", "{input}"),
    "--languages": _VALUES,
    "--sources": _VALUES,
    "--on-error": ("skip", "stop"),
}
_TRAIN = _DICTIONARY | {
    "--mentions": ("{shared}/gold.tsv", "{shared}/doc.txt", "{input}"),
    "--dev": ("{shared}/gold.tsv", "{input}"),
    "--spelling": ("{shared}/spelling.txt", "{input}"),
    "--set": ("{shared}/config.toml", "training.seed=3", *_VALUES),
    "--preset": ("paper-biosyn", *_VALUES),
}
_CONVERT = {key: _DICTIONARY[key] for key in ("--dict-format", "--on-error", "--languages")}
_COMMANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "link {input} --model {shared}/model": _LINK,
    "link - --model {shared}/model": _LINK,
    "link {shared}/m.txt --model {shared}/model": _LINK,
    "evaluate {input} --model {shared}/model": _EVALUATE,
    "evaluate {shared}/plain.tsv --model {shared}/model": _EVALUATE,
    "dictionary stats {input}": _DICTIONARY | {"--format": ("text", "json")},
    "dictionary convert {input}": _CONVERT,
    "dictionary diff {shared}/dict.tsv {input}": {"--on-error": ("skip", "stop")},
    "dictionary search {shared}/dict.tsv cancer": {"-k": _VALUES},
    "dictionary search {shared}/model cancer": {"-k": _VALUES},
    "train --encoder tfidf --dict {input} -o {folder}/out": _TRAIN,
    "train --encoder tfidf --dict {shared}/dict.tsv -o {folder}/out": _TRAIN,
    "words convert {input} -o {folder}/out": {
        "--dict": ("{shared}/dict.tsv", "{input}"),
    },
}


def prepared(shared: Path) -> Iterator[Attack]:
    """Command lines with a few options of hostile values, and mutated files and inputs."""
    materials(shared)
    preload()
    every = [file for target in readers.TARGETS.values() for file in target.files.items()]

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        command = list(_COMMANDS)[case % len(_COMMANDS)]
        name, data = rng.choice(every)
        data, _ = packed(rng, mutated(rng, data) if rng.random() < 0.7 else data)
        (folder / name).write_bytes(data)
        options, words = _COMMANDS[command], command.split()
        count = min(rng.choice((0, 1, 1, 1, 2, 3)), len(options))
        for option in rng.sample(sorted(options), count):
            words += [option, *([rng.choice(options[option])] if options[option] else [])]
        paths = {"shared": shared, "folder": folder, "input": folder / name}
        words = [filled(word, **paths) for word in words]
        result = forked(words, stdin=data)
        if result.code == 0 and words[0] == "link" and " --format jsonl" in " ".join(words):
            for line in result.out.decode().split("\n")[:-1]:
                json.loads(line)

    yield attack


# ----------------------------------------------------------------------------------- names of files

_NAMES = (
    b"a b", b" a ", b'quo"te', b"it's", b"new\nline", b"tab\tname", b"back\\slash", b"semi;colon",
    b"$(touch x)", b"%s{}", b"*?", b"~", "café".encode(), "中文".encode(), "😀".encode(),
    "\u202eabc".encode(), b"caf\xe9", b"\xff\xfe", b"a\x80b", b"\xed\xa0\x80", b"\x01\x1b[31m",
    b".hidden", b"--format", b"a.gz", b"CON", b"a" * 250,
)  # fmt: skip
_NAMED = {  # {n}: a hostile name, which what is read has and what is written gets; its content
    "link {n} --model {shared}/model -o out.{n}": inputs.TXT,
    "link {shared}/m.txt --model {shared}/model -o {n}": b"",
    "link {shared}/m.jsonl --model {shared}/model --format jsonl -o {n}/deep": b"",
    "evaluate {n} --input-format tsv --model {shared}/model -o {n}.evaluation": inputs.TSV,
    "train --encoder tfidf --dict {n} --dict-format table -o {n}.model": inputs.TABLE,
    "dictionary convert {n} --dict-format table -o {n}.tsv": inputs.TABLE,
    "dictionary stats {n} --dict-format table --format json": inputs.TABLE,
    "words convert {n} -o {n}.words": inputs.WORD2VEC_TEXT,
    "train --encoder tfidf --dict {shared}/dict.tsv --spelling {n} -o {n}.model": inputs.SPELLING,
}
_LOCALES: tuple[dict[str, str], ...] = (
    {},
    {"LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX"},
)


def names(shared: Path) -> Iterator[Attack]:
    """Every hostile name of a file with every command, in some locales; all are to succeed."""
    materials(shared)
    cases = [(name, command, where) for where in _LOCALES for command in _NAMED for name in _NAMES]
    random.Random(0).shuffle(cases)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        name, command, where = cases[case % len(cases)]
        file = folder / os.fsdecode(name)
        if "deep" in command:
            file.mkdir()
        elif _NAMED[command]:
            file.write_bytes(_NAMED[command])
        words = [os.fsencode(filled(word, shared=shared)) for word in command.split()]
        plain = b"./" + name if name.startswith(b"-") else name
        words = [plain if word == b"{n}" else word.replace(b"{n}", name) for word in words]
        is_long = len(name) > 200
        result = process(words, 0, *[1] * is_long, env=where, folder=folder)
        output = os.fsdecode(words[words.index(b"-o") + 1]) if b"-o" in words else "."
        if not is_long and not (folder / output).exists():
            raise Failed(f"no output of that name: {result.what}")

    yield attack


# ------------------------------------------------------------------- closed descriptors, and pipes

_MODEL = "--model {shared}/model"
_LINKS, _STATS = f"link {{shared}}/m.txt {_MODEL}", "dictionary stats {shared}/dict.tsv"
_TRAINS = "train --encoder tfidf --dict {shared}/dict.tsv -o {folder}/out"
_WORDS = "words convert {shared}/vectors.txt -o {folder}/out"
_CONVERTS = "dictionary convert {shared}/dict.tsv"
_TO_PIPE = "| cat > {folder}/out; exit ${PIPESTATUS[0]}"
_TO_SUBSTITUTE = "-o >(cat > {folder}/out); code=$?; wait $!; exit $code"
_DESCRIPTORS = (  # a command, what a shell adds, the right exit codes, and what is there afterwards
    (_LINKS, "<&-", (0,), ""),
    (_LINKS, "2>&-", (0,), ""),
    (_LINKS, "<&- 2>&-", (0,), ""),
    (_LINKS, ">&-", (1,), ""),
    (_LINKS, ">&- 2>&-", (1,), ""),
    (_LINKS, "<&- >&- 2>&-", (1,), ""),
    (_LINKS + " -o {folder}/out", ">&-", (0,), "out"),
    (_LINKS + " -o {folder}/out", "<&- >&- 2>&-", (0,), "out"),
    (f"link - {_MODEL}", "<&-", (1,), ""),
    (f"link - {_MODEL}", "<&- 2>&-", (1,), ""),
    (f"link - {_MODEL}", "</dev/full", (1,), ""),
    (f"link - {_MODEL}", ">/dev/full <{shared}/m.txt", (1,), ""),
    (f"link - {_MODEL} -o /dev/full", "<{shared}/m.txt", (1,), ""),
    (_TRAINS, "2>&-", (0,), "out/manifest.json"),
    (_TRAINS, ">&- 2>&-", (0,), "out/manifest.json"),
    (_TRAINS, "<&- >&- 2>&-", (0,), "out/manifest.json"),
    (f"evaluate {{shared}}/gold.tsv {_MODEL} -o {{folder}}/out", "2>&-", (0,), "out/metrics.json"),
    (f"evaluate {{shared}}/gold.tsv {_MODEL}", ">&-", (1,), ""),
    (_STATS, "2>&-", (0,), ""),
    (_STATS, ">&-", (1,), ""),
    (_CONVERTS + " -o {folder}/out", "<&- >&- 2>&-", (0,), "out"),
    (_WORDS, "<&- >&- 2>&-", (0,), "out/manifest.json"),
    ("model encoders", ">&-", (0, 1), ""),
    ("--version", ">&-", (0, 1), ""),
    ("--help", "2>&-", (0,), ""),
    (_LINKS + " -o /dev/stdout", _TO_PIPE, (0,), "out"),
    (_LINKS + " -o /dev/stdout", "> {folder}/out", (0,), "out"),
    (_LINKS + " -o /dev/fd/1", _TO_PIPE, (0,), "out"),
    (_LINKS + " -o /dev/null", "", (0,), ""),
    (_LINKS, _TO_SUBSTITUTE, (0,), "out"),
    (_CONVERTS, _TO_SUBSTITUTE, (0,), "out"),
    (f"link {_MODEL}", "<(cat {shared}/m.txt) -o {folder}/out", (0,), "out"),
    (_STATS, "| head -c 1 > /dev/null; exit ${PIPESTATUS[0]}", (0,), ""),
)


def descriptors(shared: Path) -> Iterator[Attack]:
    """Commands of daemons and of shells: with closed descriptors, into devices and pipes."""
    materials(shared)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        command, shell, codes, left = _DESCRIPTORS[case % len(_DESCRIPTORS)]
        words, adds = (filled(text, shared=shared, folder=folder) for text in (command, shell))
        output = folder / left
        result = process(words.split(), *codes, shell=adds)
        if left and not output.exists():
            raise Failed(f"nothing was written: {result.err[-300:]} ({result.what})")
        starts = (b"mention\t", b"id\t")
        if left == "out" and not output.read_bytes().startswith(starts):
            raise Failed(f"wrong output: {output.read_bytes()[:100]!r} ({result.what})")

    yield attack
