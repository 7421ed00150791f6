"""Every numeric option with values that nobody means: it is refused in a sentence that names it, or a model comes out.

`cases` gives them all, `check` tries one. Run as a script this is the process in which `check` trains: each training in a fork of its
own, with little time and memory.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, get_type_hints

import click

from linker import registry
from linker.cli import settings
from linker.errors import LinkerError
from linker.options import LinkerOptions, changed, restored

VALUES = ("0", "-1", "nan", "inf", "-inf", "1000000000", "100000000000000000000", "1e400", "many")
LONG = ("epochs",)  # fields whose upper end is no mistake, and takes as long as it says
MEMORY, SECONDS = (
    8 << 30,
    300,
)  # bytes beside the libraries, seconds of one CPU: bne.hidden takes most of it, as its paper has 4,800

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
MENTIONS = "male mammary cancer\tD3\nbreast tumour\tD2\nmammary cancer\tD2\novary cancer\tD4\nfevers\tD5\nblack fever\tD6\n"
QUERIES = ["breast tumors", "fever", "xqzw"]
QUICK = (
    "training.device=cpu",
    "training.epochs=1",
    "ground.epochs=1",
    "words.min_count=1",
    "ground.level=1",
)
NORM = (
    "training.hypernym_norm=true",
    "encoder.normalize=false",
)
COMPANIONS = {  # what makes an option count
    **dict.fromkeys(("ground.negatives", "ground.pool", "ground.margin"), ("ground.loss=triplet",)),
    **dict.fromkeys(("training.norm_weight", "training.max_hypernyms"), NORM),
    "training.patience": ("training.epochs=2",),
    "bne.hidden": ("bne.characters=false",),
    "sparse.ngram_max": ("sparse.ngram_min=1",),
    "sparse.ngram_min": ("sparse.ngram_max=3",),
    "words.max_n": ("words.min_n=1",),
    "words.min_n": ("words.max_n=50",),
}


@cache
def numeric() -> dict[str, Mapping[str, float]]:
    """All options that are numbers, as "group.field", with the ends of their ranges (ge or gt, le)."""
    found = {}
    records = {
        group: kind for group, kind in get_type_hints(LinkerOptions).items() if group != "encoder"
    }
    for encoder in registry.ENCODERS:
        with contextlib.suppress(LinkerError):  # what it needs is not installed
            if kind := getattr(registry.load(encoder), "Options", None):
                records[registry.options_group(encoder)] = kind
    for group, kind in records.items():
        for field in dataclasses.fields(kind):
            if get_type_hints(kind)[field.name] in (int, float):
                found[f"{group}.{field.name}"] = limits(kind, field.name)
    return found


def limits(kind: Any, field: str) -> Mapping[str, float]:
    """The ends of the range of a number, by their names in `pydantic.Field`."""
    hint = get_type_hints(kind, include_extras=True)[field]
    metadata = [part for info in getattr(hint, "__metadata__", ()) for part in info.metadata]
    return {
        end: getattr(part, end)
        for part in metadata
        for end in ("ge", "gt", "le", "lt")
        if getattr(part, end, None) is not None
    }


def values(option: str) -> list[str]:
    """What an option is set to: what nobody means, and the ends of its range."""
    ends, field = numeric()[option], option.partition(".")[2]
    inside = [str(ends[end]) for end in ("ge", "le") if end in ends]
    return list(dict.fromkeys([*VALUES, *inside[: 1 if field in LONG else 2]]))


def cases() -> Iterator[tuple[str, str]]:
    """Every numeric option with each of its values."""
    for option in numeric():
        for value in values(option):
            yield option, value


def check(option: str, value: str) -> str | None:
    """Read an option as --set, of TOML and of JSON, and train all encoders that know it with what was not refused.

    Returns:
        None where all is well; else what broke.
    """
    refusals = read(option, value)
    if wrong := [refusal for refusal in refusals if refusal and option not in refusal]:
        return f"{option}={value}: the refusal does not name the option: {wrong[0]}"
    if len({bool(refusal) for refusal in refusals}) > 1:
        return f"{option}={value}: is refused in one place and not in another: {refusals}"
    if refusals[0]:
        return None
    every = (trained(option, value, encoder) for encoder in readers(option))
    return next((f"{option}={value}: {broken}" for broken in every if broken), None)


def read(option: str, value: str) -> list[str]:
    """What --set, a TOML file and a saved model (JSON) say of a value; an empty text where they take it."""
    group, _, field = option.partition(".")
    encoder = group if group in registry.ENCODERS else "transformer"
    companions = list(COMPANIONS.get(option, ()))
    changes = [change.split("=") for change in companions]
    text = json.dumps(value) if value == "many" else value
    spelled = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(
        value, text
    )  # as Python's JSON writes them
    start = settings.read("default", None, [], companions, encoder)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as toml:
        toml.write(
            "".join(f'{name} = "{given}"\n' for name, given in changes) + f"{option} = {text}\n"
        )
        toml.flush()
        return [
            said(
                lambda: settings.read(
                    "default", None, [], [*companions, f"{option}={value}"], encoder
                )
            ),
            said(lambda: settings.read("default", toml.name, [], [], encoder)),
            said(lambda: changed(start, json.loads(f'{{"{group}": {{"{field}": {spelled}}}}}'))),
        ]


def said(get: Callable[[], object]) -> str:
    """The refusal, or an empty text."""
    try:
        get()
    except (LinkerError, click.UsageError) as error:
        return str(error)
    return ""


def readers(option: str) -> list[str]:
    """The encoders whose training depends on a group of options."""
    group = option.partition(".")[0]
    dense = ["transformer", "dan", "dan-higher", "fewshot", "bne", "bne-words"]
    known = {
        **{
            "text": ["tfidf"],
            "sparse": ["tfidf"],
            "transformer": ["transformer"],
            "fewshot": ["fewshot"],
        },
        **{
            "words": dense[1:],
            "dan": dense[1:3],
            "bne": dense[4:],
            "align": dense,
            "ground": dense[1:],
            "training": dense,
        },
    }
    return [encoder for encoder in known[group] if encoder in registry.encoders()]


def trained(option: str, value: str, encoder: str) -> str | None:
    """Train an encoder with a value in the other process; what broke."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([option, value, encoder]) + "\n")
    server.stdin.flush()
    broken: str | None = json.loads(server.stdout.readline())
    return broken and f"{encoder}: {broken}"


@cache
def _server() -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
    }
    server = subprocess.Popen([sys.executable, __file__], **pipes, text=True, env=environment)
    atexit.register(server.communicate)  # which closes its input, so that it ends
    return server


def _serve() -> None:
    """Train what is asked for, each in a fork, and answer each with what broke."""
    import accelerate  # noqa: F401 - once for all forks
    import gensim.models  # noqa: F401
    import torch
    import transformers  # noqa: F401

    from linker import Dictionary
    from linker.readers import mentions as readers

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "d.tsv").write_text(DICTIONARY, encoding="utf-8")
        (Path(folder) / "m.tsv").write_text(MENTIONS, encoding="utf-8")
        dictionary, mentions = (
            Dictionary.read(Path(folder) / "d.tsv"),
            list(readers.read(Path(folder) / "m.tsv")),
        )
        bert = _bert(Path(folder) / "bert")
        for line in sys.stdin:
            option, value, encoder = json.loads(line)
            print(
                json.dumps(
                    _forked(partial(_train, option, value, encoder, dictionary, mentions, bert))
                ),
                flush=True,
            )


def _bert(folder: Path) -> str:
    """A transformer of random weights that reads letters."""
    import transformers

    letters = [chr(c) for c in range(97, 123)]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
    ]
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 8192,
    }
    transformers.BertModel(
        transformers.BertConfig(vocab_size=len(vocabulary), **sizes)
    ).save_pretrained(folder)
    transformers.BertTokenizer(
        vocab={token: row for row, token in enumerate(vocabulary)}, model_max_length=8192
    ).save_pretrained(folder)
    return str(folder)


def _forked(work: Callable[[], str | None]) -> str | None:
    """What a piece of work says that broke, or what its process died of."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        signal.alarm(10 * SECONDS)
        try:
            broken = work()
        except BaseException:  # all is to be told
            broken = traceback.format_exc(limit=-3)[-10_000:]
        os.write(writing, json.dumps(broken).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return (
        json.loads(answer)
        if answer
        else f"the process ended with {status} (a limit of {SECONDS} s and {MEMORY >> 30} GB)"
    )


def _train(
    option: str, value: str, encoder: str, dictionary: Any, mentions: Any, bert: str
) -> str | None:
    """Train, link and save the options; None where that is done, or refused by the name of the option."""
    from linker import Linker

    alignment = ("align.epochs=1",) if option.startswith("align.") else ("align.epochs=0",)
    changes = [
        *QUICK,
        *["encoder.hidden=64"] * (encoder in ("dan", "dan-higher", "fewshot")),
        *alignment,
        *[f"transformer.model={bert}"] * (encoder == "transformer"),
        *COMPANIONS.get(option, ()),
        f"{option}={value}",
    ]
    try:
        options = settings.read("default", None, [], changes, encoder)
        model = Linker.train(dictionary, encoder=encoder, mentions=mentions, options=options)
        found = [
            c.score for p in model.link(QUERIES, k=3) for part in p.parts for c in part.candidates
        ]
    except (LinkerError, click.UsageError) as error:
        names = (
            option,
            option.partition(".")[2].replace("_", " "),
        )  # of "try a lower learning rate"
        return (
            None
            if any(name in str(error) for name in names if " " in name or "." in name)
            else f"the refusal does not name the option: {error}"
        )
    if (
        restored(json.loads(json.dumps(dataclasses.asdict(model.options))), encoder)
        != model.options
    ):
        return "the options of the model do not come back"
    return (
        None
        if len(found) >= len(QUERIES) and all(score == score for score in found)
        else f"the model answers {found}"
    )


if __name__ == "__main__":
    _serve()
