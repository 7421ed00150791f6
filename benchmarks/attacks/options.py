"""Every numeric option with values that nobody means.

Each is refused in a sentence that names the option, or a model comes out. `cases` gives them all,
`check` tries one. It trains by another process, which is

python benchmarks/attacks/options.py

and reads a training a line; each is made in a fork of that, with little time and memory.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.attacks.core import Attack, Failed, address_space
from benchmarks.attacks.models import letters_transformer
from linker import Dictionary, registry
from linker.cli import settings
from linker.errors import LinkerError
from linker.options import LinkerOptions, changed, restored
from linker.readers import mentions
from linker.training.pipeline import train

VALUES = ("0", "-1", "nan", "inf", "-inf", "1000000000", "100000000000000000000", "1e400", "many")
LONG = ("epochs",)  # fields whose upper end is no mistake, and takes as long as it says
MEMORY, SECONDS = 8 << 30, 300  # of a training; bne.hidden takes most, as its paper has 4,800
DICTIONARY = """\
id\tname\tsynonyms\tparents
D1\tneoplasms\ttumor|cancer\t
D2\tbreast neoplasms\tbreast cancer|mammary tumor|cancer of breast\tD1
D3\tmale breast cancer\tcancer of the male breast\tD2
D4\tovarian neoplasms\tovarian cancer|cancer of ovary\tD1
D5\tfever\tpyrexia|high temperature|febrile illness\tD8
D6\tyellow fever\tblack vomit fever\tD5
D7\tskin fever\tfever of skin\tD5
D8\tillness\tdisease\t
"""
MENTIONS = """\
male mammary cancer\tD3
breast tumour\tD2
mammary cancer\tD2
ovary cancer\tD4
fevers\tD5
black fever\tD6
"""
QUERIES = ["breast tumors", "fever", "xqzw"]
QUICK = (
    *("training.device=cpu", "training.epochs=1", "ground.epochs=1", "words.min_count=1"),
    "ground.level=1",
)
COMPANIONS: Mapping[str, tuple[str, ...]] = {  # what makes an option count
    "bne.hidden": ("bne.characters=false",),
    "sparse.ngram_max": ("sparse.ngram_min=1",),
    "sparse.ngram_min": ("sparse.ngram_max=3",),
}
DENSE = ["transformer", "dan", "dan-higher", "fewshot", "bne", "bne-words"]
READERS = {  # group of options -> the encoders whose training depends on it
    **{"text": ["tfidf"], "sparse": ["tfidf"], "transformer": DENSE[:1], "fewshot": ["fewshot"]},
    **{"words": DENSE[1:], "dan": DENSE[1:3], "bne": DENSE[4:], "align": DENSE},
    **{"ground": DENSE[1:], "training": DENSE},
}


def prepared(_: Path) -> Iterator[Attack]:
    """Every option with every value: parsing, and a tiny training."""
    every = list(cases())

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        option, value = every[case % len(every)]
        if wrong := check(option, value):
            raise Failed(f"{option}: {value[:80]!r}: {wrong}")

    yield attack


def _limits(kind: Any, field: str) -> Mapping[str, float]:
    """The ends of the range of a number, by their names in `pydantic.Field`."""
    hint = get_type_hints(kind, include_extras=True)[field]
    metadata = [part for info in getattr(hint, "__metadata__", ()) for part in info.metadata]
    return {
        end: getattr(part, end)
        for part in metadata
        for end in ("ge", "gt", "le", "lt")
        if getattr(part, end, None) is not None
    }


@cache
def numeric() -> dict[str, Mapping[str, float]]:
    """All options that are numbers, as "group.field", with the ends of their ranges."""
    records = get_type_hints(LinkerOptions)
    del records["encoder"], records["recipe"]
    for encoder in registry.ENCODERS:
        with contextlib.suppress(LinkerError):  # what it needs is not installed
            if kind := getattr(registry.load(encoder), "Options", None):
                records[registry.options_group(encoder)] = kind
    return {
        f"{group}.{field.name}": _limits(kind, field.name)
        for group, kind in records.items()
        for field in dataclasses.fields(kind)
        if get_type_hints(kind)[field.name] in (int, float)
    }


def cases() -> Iterator[tuple[str, str]]:
    """Every numeric option with values that nobody means, and with the ends of its range."""
    for option, ends in numeric().items():
        inside = [str(ends[end]) for end in ("ge", "le") if end in ends]
        if option.partition(".")[2] in LONG:
            del inside[1:]
        for value in dict.fromkeys([*VALUES, *inside]):
            yield option, value


def check(option: str, value: str) -> str | None:
    """Read an option, and train all encoders that know it with a value that was not refused.

    Returns:
        None where all is well; else what broke.
    """
    refusals = read(option, value)
    if wrong := [refusal for refusal in refusals if refusal and option not in refusal]:
        return f"the refusal does not name the option: {wrong[0]}"
    if len({bool(refusal) for refusal in refusals}) > 1:
        return f"is refused in one place and not in another: {refusals}"
    if refusals[0]:
        return None
    known = [one for one in READERS[option.partition(".")[0]] if one in registry.encoders()]
    every = (trained(option, value, encoder) for encoder in known)
    return next((broken for broken in every if broken), None)


def read(option: str, value: str) -> list[str]:
    """What --set, a TOML file and a saved model (JSON) say of a value; empty where they take it."""
    group, _, field = option.partition(".")
    encoder = group if group in registry.ENCODERS else "transformer"
    companions = list(COMPANIONS.get(option, ()))
    lines = ['{} = "{}"\n'.format(*change.split("=")) for change in companions]
    text = json.dumps(value) if value == "many" else value
    of_json = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(value, text)
    start = options_of(companions, encoder)
    every = [*companions, f"{option}={value}"]
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as toml:
        toml.write("".join(lines) + f"{option} = {text}\n")
        toml.flush()
        return [
            _said(lambda: options_of(every, encoder)),
            _said(lambda: options_of([toml.name], encoder)),
            _said(lambda: changed(start, json.loads(f'{{"{group}": {{"{field}": {of_json}}}}}'))),
        ]


def options_of(changes: Iterable[str], encoder: str) -> LinkerOptions:
    """The options that --set gives."""
    return settings.read("default", settings.values_of(changes), encoder)


def _said(get: Callable[[], object]) -> str:
    """The refusal, or an empty text."""
    try:
        get()
    except (LinkerError, click.UsageError) as error:
        return str(error)
    return ""


def trained(option: str, value: str, encoder: str) -> str | None:
    """Train an encoder with a value in another process; what broke."""
    trainer = _trainer()
    assert trainer.stdin is not None
    assert trainer.stdout is not None
    print(json.dumps([option, value, encoder]), file=trainer.stdin, flush=True)
    broken: str | None = json.loads(trainer.stdout.readline())
    return broken and f"{encoder}: {broken}"


@cache
def _trainer() -> subprocess.Popen[str]:
    """A process that trains what it reads; libraries are imported there once for all trainings."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    pipes["stderr"] = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, __file__], text=True, env=environment, **pipes)
    atexit.register(process.communicate)  # which closes its input, so that it ends
    return process


def _forked(option: str, value: str, encoder: str) -> str | None:
    """Train in a fork with limits; what broke, or what it died of."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        signal.alarm(10 * SECONDS)
        try:
            broken = _train(option, value, encoder)
        except BaseException:  # all is to be told
            broken = traceback.format_exc(limit=-3)[-10_000:]
        os.write(writing, json.dumps(broken).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    died = f"the process ended with {status} (a limit of {SECONDS} s and {MEMORY >> 30} GB)"
    return json.loads(answer) if answer else died


@cache
def _data() -> tuple[Dictionary, list[Any]]:
    """The dictionary and the mentions of all trainings."""
    with tempfile.TemporaryDirectory() as folder:
        table, known = Path(folder) / "d.tsv", Path(folder) / "m.tsv"
        table.write_text(DICTIONARY, encoding="utf-8")
        known.write_text(MENTIONS, encoding="utf-8")
        return Dictionary.read(table), list(mentions.read(known))


def _train(option: str, value: str, encoder: str) -> str | None:
    """Train, link and save the options; None where that is done, or refused by the option's name."""
    dictionary, known = _data()
    changes = [*QUICK, f"align.epochs={int(option.startswith('align.'))}"]
    changes += ["encoder.hidden=64"] * (encoder in ("dan", "dan-higher", "fewshot"))
    with tempfile.TemporaryDirectory() as folder:
        if encoder == "transformer":
            changes.append(f"transformer.model={letters_transformer(Path(folder), 8192)}")
        changes += [*COMPANIONS.get(option, ()), f"{option}={value}"]
        try:
            options = options_of(changes, encoder)
            model = train(dictionary, encoder=encoder, mentions=known, options=options)
            parts = (part for one in model.link(QUERIES, k=3) for part in one.parts)
            found = [candidate.score for part in parts for candidate in part.candidates]
        except (LinkerError, click.UsageError) as error:
            words = option.partition(".")[2].replace("_", " ")  # of "try a lower learning rate"
            is_named = option in str(error) or (" " in words and words in str(error))
            return None if is_named else f"the refusal does not name the option: {error}"
    saved = json.loads(json.dumps(dataclasses.asdict(model.options)))
    if restored(saved, encoder) != model.options:
        return "the options of the model do not come back"
    is_well = len(found) >= len(QUERIES) and all(score == score for score in found)
    return None if is_well else f"the model answers {found}"


if __name__ == "__main__":
    for module in ("torch", "transformers", "gensim.models"):
        importlib.import_module(module)
    _data()
    for line in sys.stdin:
        print(json.dumps(_forked(*json.loads(line))), flush=True)
