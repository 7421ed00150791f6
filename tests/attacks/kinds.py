"""The kinds of attacks, in the order of the long run."""

from __future__ import annotations

from .commands import DESCRIPTORS
from .core import Kind
from .options import cases
from .swaps import POINTS

KINDS = {
    "readers": Kind("readers:prepared", "mutated files of every format that is read", 800, 80_000),
    "bombs": Kind("readers:bombs", "a small gzip file that holds a line of a gigabyte", 1, 34),
    "commands": Kind(
        "commands:prepared",
        "command lines with hostile values of options and mutated inputs",
        40,
        6_000,
    ),
    "names": Kind("commands:names", "hostile names of files, in four locales", 4, 400),
    "descriptors": Kind(
        "commands:descriptors", "closed descriptors, devices and pipes", 4, DESCRIPTORS
    ),
    "writers": Kind(
        "writers:prepared", "hostile texts in every format that is written, read again", 600, 18_000
    ),
    "sparse models": Kind(
        "models:sparse",
        "damaged and signed again: sparse models, dictionaries, word vectors",
        150,
        1_200,
        wall=20,
    ),
    "dense models": Kind(
        "models:dense",
        "damaged and signed again: models with a dan or a transformer",
        0,
        800,
        wall=30,
    ),
    "kills": Kind(
        "kills:prepared",
        "SIGKILL or SIGTERM while something is replaced, at random moments",
        2,
        140,
    ),
    "interrupts": Kind("kills:interrupts", "Ctrl-C at random moments, most of them early", 2, 100),
    "swaps": Kind(
        "swaps:prepared",
        "a death at every line of the code that replaces files and folders",
        60,
        POINTS + 200,
    ),
    "loads": Kind("loads:prepared", "models that are loaded while they are replaced", 100, 10_000),
    "options": Kind(
        "option_values:prepared",
        "every option of a training with hostile values",
        0,
        sum(1 for _ in cases()),
        wall=900,
    ),
    "decisions": Kind(
        "decisions:prepared",
        "hostile decisions: files of them, tables and mappings that people changed, damaged answers",
        30,
        4_000,
        needs="openpyxl",
    ),
    "spreadsheets": Kind(
        "spreadsheets:prepared",
        "tables of users, mutated, to which answers are added: csv, tsv, workbooks",
        30,
        2_000,
        needs="openpyxl",
    ),
    "requests": Kind(
        "requests:prepared",
        "hostile requests to a service: bodies, heads, paths, parameters, keys, several at once",
        100,
        5_000,
        wall=60,
        needs="fastapi",
    ),
}
