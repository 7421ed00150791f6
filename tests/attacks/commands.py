"""Command lines: hostile values and inputs, names of files, closed descriptors and pipes."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from linker import Dictionary, Linker, cli

from . import readers, seeds
from .core import CPU, Attack, Failed
from .mutate import mutated, packed

LINKER = [sys.executable, "-m", "linker.cli"]
_VALUES = (
    *(
        "0",
        "-1",
        "1",
        "-0",
        "0.5",
        "1e400",
        "-1e400",
        "nan",
        "inf",
        "-inf",
        "99999999999999999999",
        "9" * 400,
        "9" * 5000,
        "1000000000",
    ),
    *(
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "text",
        "",
        " ",
        "٣",
        "²",
        "0x10",
        "1_0",
        " 5 ",
    ),
    *(
        "1,5",
        "1,,5",
        ",",
        "\t",
        "\n",
        "a\nb",
        "é",
        "\udce9",
        "-",
        "--",
        "-k",
        "@x",
        "{}",
        "%s",
        "~",
        ".",
    ),
)
_WRONG = re.compile(
    r"a bug in linker: \w+|Traceback|Exception ignored|out of memory|Fatal Python error|Segmentation"
)
CODES = (0, 1, 2, 130)


class Result(NamedTuple):
    """What a command ended with."""

    code: int
    out: bytes
    err: str


def check(result: Result, *codes: int, silent: bool = False) -> Result:
    """Take a command for a failure of linker that ends otherwise than it may, or says nothing of its failure."""
    shown = result.err[-300:]
    if wrong := _WRONG.search(result.err):
        raise Failed(f"{wrong[0].replace(':', ',')}: {shown}")
    if result.code not in (codes or CODES):
        raise Failed(f"exit code {result.code}: {shown}")
    if result.code and not result.err.strip() and not silent:
        raise Failed(f"exit code {result.code} without a message: ")
    return result


def forked(arguments: Sequence[str], stdin: bytes = b"") -> Result:
    """Run a command in a fork of this process, which has imported linker already."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        pid = os.fork()
        if not pid:
            _become(arguments, given.fileno(), out.fileno(), err.fileno())
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        return Result(
            os.waitstatus_to_exitcode(status),
            out.read(),
            err.read().decode("utf-8", "backslashreplace"),
        )


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
    *,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    shell: str = "",
    folder: Path | None = None,
) -> Result:
    """Run a command as a process of its own; `shell` is what a shell adds to it, such as "2>&-"."""
    command: Sequence[str | bytes | Path] = [*LINKER, *arguments]
    if shell:
        command = ["bash", "-c", f'"$@" {shell}', "bash", *command]
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, **(env or {})},
        cwd=folder,
    )
    return Result(done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace"))


def materials(folder: Path) -> None:
    """Fill a folder with a model and a valid file of each format."""
    folder.mkdir(parents=True)
    for target in readers.TARGETS.values():
        for name, data in target.files.items():
            (folder / name).write_bytes(data)
    files = {
        "dict.tsv": seeds.TABLE,
        "medic.tsv": seeds.MEDIC,
        "m.txt": seeds.TXT,
        "gold.tsv": seeds.TSV,
        "doc.txt": seeds.PUBTATOR,
    }
    files |= {
        "predictions.jsonl": seeds.PREDICTIONS,
        "plain.tsv": seeds.TSV_PLAIN,
        "spelling.txt": seeds.SPELLING,
        "config.toml": seeds.TOML,
    }
    files |= {
        "m.jsonl": seeds.JSONL,
        "text.txt": seeds.TEXT * 20,
        "vectors.txt": seeds.WORD2VEC_TEXT,
        "biosyn.json": seeds.BIOSYN,
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    Linker.train(Dictionary.read(folder / "dict.tsv")).save(folder / "model")


# ------------------------------------------------------------------------------------------- hostile values and inputs

_SELECTION = {
    "--under": ("MESH:D001943", "D001943,OMIM:1", "C", *_VALUES),
    "--not-under": ("MESH:D001943", "D010051,MESH:D001943", *_VALUES),
    "--types": ("Cancer", *_VALUES),
    "--namespaces": ("MESH", "omim:,MESH", *_VALUES),
}
_LINK = _SELECTION | {
    "-k": _VALUES,
    "--threshold": _VALUES,
    "--batch-size": _VALUES,
    "--format": ("tsv", "jsonl", "pubtator", "bioc", "x", ""),
    "--input-format": ("auto", "txt", "tsv", "jsonl", "pubtator", "bioc", "concept", "x"),
    "--type": ("Disease", "disease", *_VALUES),
    "--model": (
        "{shared}/model",
        "{shared}/model/dictionary",
        "{shared}",
        "/nowhere",
        "{shared}/m.txt",
        "",
    ),
    "--on-error": ("skip", "stop", "x"),
}
_EVALUATE = _SELECTION | {
    "-k": _VALUES,
    "--threshold": _VALUES,
    "--protocol": ("strict", "biosyn"),
    "--type": ("Disease", *_VALUES),
    "--predictions": (
        "{shared}/predictions.jsonl",
        "{shared}/biosyn.json",
        "{shared}/m.txt",
        "/nowhere",
        "{input}",
    ),
    "--mentions-format": ("txt", "tsv", "jsonl", "pubtator", "bioc", "concept"),
    "--on-error": ("skip", "stop"),
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
    "--config": ("{shared}/config.toml", "{input}"),
    "--seed": _VALUES,
    "--preset": ("paper-biosyn", *_VALUES),
}
_COMMANDS = {
    "link {input} --model {shared}/model": _LINK,
    "link - --model {shared}/model": _LINK,
    "link {shared}/m.txt --model {shared}/model": _LINK,
    "evaluate {input} --model {shared}/model": _EVALUATE,
    "evaluate {shared}/plain.tsv --model {shared}/model": _EVALUATE,
    "dictionary stats {input}": _DICTIONARY | {"--json": ()},
    "dictionary convert {input}": {
        key: _DICTIONARY[key] for key in ("--dict-format", "--on-error", "--languages")
    },
    "dictionary diff {shared}/dict.tsv {input}": {"--on-error": ("skip", "stop")},
    "dictionary search {shared}/dict.tsv cancer": {"-n": _VALUES},
    "dictionary search {shared}/model cancer": {"-n": _VALUES},
    "train --encoder tfidf --dict {input} -o {folder}/out": _TRAIN,
    "train --encoder tfidf --dict {shared}/dict.tsv -o {folder}/out": _TRAIN,
    "words convert {input} -o {folder}/out": {
        "--frequent": _VALUES,
        "--dict": ("{shared}/dict.tsv", "{input}"),
    },
}


_LATE = (  # what commands import when they need it; forks then need not
    *(
        "linker.dictionary.inspection",
        "linker.evaluation.predictions",
        "linker.evaluation.report",
        "linker.outputs.bioc",
        "linker.readers.bioc",
    ),
    *(
        "linker.outputs.tsv",
        "linker.outputs.jsonl",
        "linker.outputs.pubtator",
        "linker.encoders.words",
        "gensim.models",
        "obonet.read",
    ),
    *(
        "linker.readers.tsv",
        "linker.readers.jsonl",
        "linker.readers.pubtator",
        "linker.readers.concept",
        "linker.readers.lines",
        "tqdm",
    ),
)


@contextlib.contextmanager
def prepared(shared: Path) -> Iterator[Attack]:
    """Command lines with a few options of hostile values, and mutated files and standard inputs."""
    materials(shared)
    for module in _LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    inputs = [file for target in readers.TARGETS.values() for file in target.files.items()]

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        command = list(_COMMANDS)[case % len(_COMMANDS)]
        name, data = rng.choice(inputs)
        data, _ = packed(rng, mutated(rng, data) if rng.random() < 0.7 else data)
        (folder / name).write_bytes(data)
        options = _COMMANDS[command]
        arguments = command.split()
        for option in rng.sample(
            sorted(options), min(rng.choice((0, 1, 1, 1, 2, 3)), len(options))
        ):
            arguments += [option, *([rng.choice(options[option])] if options[option] else [])]
        arguments = [
            _filled(text, shared=shared, folder=folder, input=folder / name) for text in arguments
        ]
        try:
            result = check(forked(arguments, data))
            if (
                result.code == 0
                and arguments[0] == "link"
                and " --format jsonl" in " ".join(arguments)
            ):
                for line in result.out.decode().split("\n")[:-1]:
                    json.loads(line)
        except Failed as failure:
            raise Failed(f"{str(failure)[:300]} ({shlex.join(arguments)[:300]!r})") from None

    yield attack


def _filled(text: str, **paths: Path) -> str:
    for name, path in paths.items():
        text = text.replace(f"{{{name}}}", str(path))
    return text


# ------------------------------------------------------------------------------------------------------ names of files

NAMES = (
    *(
        b"a b",
        b" a ",
        b'quo"te',
        b"it's",
        b"new\nline",
        b"tab\tname",
        b"back\\slash",
        b"semi;colon",
        b"$(touch x)",
        b"%s{}",
        b"*?",
        b"~",
    ),
    *(
        "café".encode(),
        "中文".encode(),
        "😀".encode(),
        "\u202eabc".encode(),
        b"caf\xe9",
        b"\xff\xfe",
        b"a\x80b",
        b"\xed\xa0\x80",
    ),
    *(b"\x01\x1b[31m", b".hidden", b"--format", b"a.gz", b"CON", b"a" * 250),
)
_NAMED = (  # {n}: a hostile name, which what is read has and what is written gets
    "link {n} --model {shared}/model -o out.{n}",
    "link {shared}/m.txt --model {shared}/model -o {n}",
    "link {shared}/m.jsonl --model {shared}/model --format jsonl -o {n}/deep",
    "evaluate {n} --mentions-format tsv --model {shared}/model -o {n}.evaluation",
    "train --encoder tfidf --dict {n} --dict-format table -o {n}.model",
    "dictionary convert {n} --dict-format table -o {n}.tsv",
    "dictionary stats {n} --dict-format table --json",
    "words convert {n} -o {n}.words",
    "train --encoder tfidf --dict {shared}/dict.tsv --spelling {n} -o {n}.model",
)
_CONTENTS = {
    "link": seeds.TXT,
    "evaluate": seeds.TSV,
    "train": seeds.TABLE,
    "dictionary": seeds.TABLE,
    "words": seeds.WORD2VEC_TEXT,
}
_LOCALES = (
    {},
    {"LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX"},
)


@contextlib.contextmanager
def names(shared: Path) -> Iterator[Attack]:
    """Every hostile name of a file with every command, in some locales; all of them are to succeed."""
    materials(shared)
    cases = [(name, command, locale) for locale in _LOCALES for command in _NAMED for name in NAMES]
    random.Random(0).shuffle(cases)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        name, command, locale = cases[case % len(cases)]
        if "deep" in command:
            (folder / os.fsdecode(name)).mkdir()
        elif "{n}" in command.partition(" -o ")[0]:
            content = seeds.SPELLING if "--spelling" in command else _CONTENTS[command.split()[0]]
            (folder / os.fsdecode(name)).write_bytes(content)
        words = [os.fsencode(_filled(word, shared=shared)) for word in command.split()]
        words = [
            word.replace(
                b"{n}", (b"./" if name.startswith(b"-") and word == b"{n}" else b"") + name
            )
            for word in words
        ]
        result = process(words, env=dict(locale), folder=folder)
        long = len(name) > 200
        try:
            check(result, *((0, 1) if long else (0,)))
            if (
                not long
                and b"-o" in words
                and not (folder / os.fsdecode(words[words.index(b"-o") + 1])).exists()
            ):
                raise Failed("no output of that name: ")
        except Failed as failure:
            raise Failed(f"{str(failure)[:300]} ({name!r}, {command}, {dict(locale)})") from None

    yield attack


# ------------------------------------------------------------------------------------- closed descriptors, and pipes

_LINKS = "link {shared}/m.txt --model {shared}/model"
_TRAINS = "train --encoder tfidf --dict {shared}/dict.tsv -o {folder}/out"
_DESCRIPTORS = (  # a command, what a shell adds, the exit codes that are right, and what is there afterwards
    (_LINKS, "<&-", (0,), ""),
    (_LINKS, "2>&-", (0,), ""),
    (_LINKS, "<&- 2>&-", (0,), ""),
    (_LINKS, ">&-", (1,), ""),
    (_LINKS, ">&- 2>&-", (1,), ""),
    (_LINKS, "<&- >&- 2>&-", (1,), ""),
    (_LINKS + " -o {folder}/out", ">&-", (0,), "out"),
    (_LINKS + " -o {folder}/out", "<&- >&- 2>&-", (0,), "out"),
    ("link - --model {shared}/model", "<&-", (1,), ""),
    ("link - --model {shared}/model", "<&- 2>&-", (1,), ""),
    ("link - --model {shared}/model", "</dev/full", (1,), ""),
    ("link - --model {shared}/model", ">/dev/full <{shared}/m.txt", (1,), ""),
    ("link - --model {shared}/model -o /dev/full", "<{shared}/m.txt", (1,), ""),
    (_TRAINS, "2>&-", (0,), "out/manifest.json"),
    (_TRAINS, ">&- 2>&-", (0,), "out/manifest.json"),
    (_TRAINS, "<&- >&- 2>&-", (0,), "out/manifest.json"),
    (
        "evaluate {shared}/gold.tsv --model {shared}/model -o {folder}/out",
        "2>&-",
        (0,),
        "out/metrics.json",
    ),
    ("evaluate {shared}/gold.tsv --model {shared}/model", ">&-", (1,), ""),
    ("dictionary stats {shared}/dict.tsv", "2>&-", (0,), ""),
    ("dictionary stats {shared}/dict.tsv", ">&-", (1,), ""),
    ("dictionary convert {shared}/dict.tsv -o {folder}/out", "<&- >&- 2>&-", (0,), "out"),
    (
        "words convert {shared}/vectors.txt -o {folder}/out",
        "<&- >&- 2>&-",
        (0,),
        "out/manifest.json",
    ),
    ("encoders", ">&-", (0, 1), ""),
    ("--version", ">&-", (0, 1), ""),
    ("--help", "2>&-", (0,), ""),
    (_LINKS + " -o /dev/stdout", "| cat > {folder}/out; exit ${PIPESTATUS[0]}", (0,), "out"),
    (_LINKS + " -o /dev/stdout", "> {folder}/out", (0,), "out"),
    (_LINKS + " -o /dev/fd/1", "| cat > {folder}/out; exit ${PIPESTATUS[0]}", (0,), "out"),
    (_LINKS + " -o /dev/null", "", (0,), ""),
    (_LINKS, "-o >(cat > {folder}/out); code=$?; wait $!; exit $code", (0,), "out"),
    (
        "dictionary convert {shared}/dict.tsv",
        "-o >(cat > {folder}/out); code=$?; wait $!; exit $code",
        (0,),
        "out",
    ),
    ("link --model {shared}/model", "<(cat {shared}/m.txt) -o {folder}/out", (0,), "out"),
    (
        "dictionary stats {shared}/dict.tsv",
        "| head -c 1 > /dev/null; exit ${PIPESTATUS[0]}",
        (0,),
        "",
    ),
)
DESCRIPTORS = len(_DESCRIPTORS)


@contextlib.contextmanager
def descriptors(shared: Path) -> Iterator[Attack]:
    """Commands of daemons and of shells: with descriptors that are closed, into devices and pipes."""
    materials(shared)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        command, shell, codes, left = _DESCRIPTORS[case % DESCRIPTORS]
        command, shell = (_filled(text, shared=shared, folder=folder) for text in (command, shell))
        try:
            result = check(process(command.split(), shell=shell), *codes, silent="2>&-" in shell)
            if left and not (folder / left).exists():
                raise Failed(f"nothing was written: {result.err[-300:]}")
            if left == "out" and not (folder / left).read_bytes().startswith(
                (b"mention\t", b"id\t")
            ):
                raise Failed(f"wrong output: {(folder / left).read_bytes()[:100]!r}")
        except Failed as failure:
            raise Failed(f"{str(failure)[:300]} ({_DESCRIPTORS[case % DESCRIPTORS][:2]})") from None

    yield attack
