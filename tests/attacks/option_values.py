"""Every option of a training with every hostile value."""

from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Iterator
from pathlib import Path

from . import options
from .core import Attack, Failed


@contextlib.contextmanager
def prepared(_: Path) -> Iterator[Attack]:
    """Parsing, and a tiny training."""
    cases = list(options.cases())
    for module in ("torch", "accelerate", "transformers", "gensim.models"):  # forks then need not
        with contextlib.suppress(ImportError):
            importlib.import_module(module)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        option, value = cases[case % len(cases)]
        if wrong := options.check(option, value):
            raise Failed(f"{option}: {value[:80]!r}: {wrong}")

    yield attack
