"""The two tables of README.md: which encoder to choose, and our results beside published ones."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.lib.tables import result, runs, table

# encoder -> when to take it, how long a training takes (None: measured) and its NCBI Disease rows
ENCODERS: dict[str, tuple[str, str | None, str, str]] = {
    "tfidf": ("an answer at once, without torch", "seconds", "", ""),
    "dan": (
        "a good linker in minutes, no download; the default where it wins on held-out names",
        None,
        "CCA + DAN",
        "dan",
    ),
    "bne": ("more accurate than `dan`, no download", "half an hour", "BNE", "dan"),
    "transformer": ("the most accurate", "an hour", "default", "dense"),
    "dan-higher": ("groups names by topic", "minutes", "CCA + DAN, level 4", "dan"),
    "fewshot": ("a few names of large classes", "minutes", "few-shot", "dan"),
}
PUBLISHED = (  # system, encoder, parameters, Acc@1, Acc@5: NCBI Disease test, protocol biosyn
    ("BioSyn (Sung et al. 2020)", "BioBERT", "110 M", "0.911", "0.939"),
    ("BCNH (Yan et al. 2021)", "BioBERT", "110 M", "0.906", "0.950"),
    ("BioSyn + SapBERT (Liu et al. 2021)", "SapBERT", "110 M", "0.924", "0.958"),
    ("ANGEL (Kim et al. 2025)", "BART-large", "about 400 M", "0.928", "0.957"),
)


def choose() -> str:
    """Each encoder with its accuracy, size, speed and training time, and when to take it."""
    head = [
        "`--encoder`",
        "take it for",
        "Acc@1 (unseen mentions)",
        "training",
        "speed",
        "size",
    ]
    return table(head, (_choice(name, *row) for name, row in ENCODERS.items()))


def _choice(name: str, when: str, training: str | None, row: str, file: str) -> list[str]:
    speed = result("encoder_speed")
    if name == "tfidf":
        (acc, unseen), size = _sparse(), "-"
        linked = result("speed")["against_biosyn"]["ours"]["mentions_per_second"]
        rate = f"{statistics.median(linked):,.0f} mentions linked a second"
    else:
        (acc, unseen), encoder = _dense(row, file), speed["encoding"]["encoders"][name]
        rate = f"{statistics.median(encoder['names_per_second']):,.0f} names encoded a second"
        size = f"{encoder['encoder_mb']:.0f} MB"
    minutes = training or f"{speed['training']['minutes']:.0f} minutes"
    return [f"`{name}`", when, f"{acc[0]:.3f} ({unseen:.3f})", minutes, rate, size]


def _sparse() -> tuple[tuple[float, float], float]:
    """Acc@1, Acc@5, and Acc@1 on unseen mentions of characters alone."""
    rows = result("ncbi_disease")["rows"]
    row = next(row for row in rows if row["configuration"] == "TF-IDF, chosen on dev")
    acc = row["acc"]
    return (acc["1"], acc["5"]), row["groups"]["unseen_mention"]["acc"]["1"]


def _dense(configuration: str, file: str) -> tuple[tuple[float, float], float]:
    """The same of a dense encoder, from `ncbi_test_<file>.json`."""
    figures: dict[str, Any] = next(
        row["biosyn"]
        for row in runs(f"ncbi_test_{file}")["rows"]
        if (row["configuration"], row["medic"]) == (configuration, "2012")
    )
    acc = figures["acc"]
    return (acc["1"][0], acc["5"][0]), figures["unseen_acc1"][0]


def published() -> str:
    """NCBI Disease test mentions: our encoders beside published systems."""
    ours = (
        ("linker, `tfidf`", "character n-grams", "-", _sparse()),
        ("linker, `dan`", "word vectors", "-", _dense("CCA + DAN", "dan")),
        ("linker, `bne`", "word and character vectors", "-", _dense("BNE", "dan")),
        ("linker, `transformer`", "all-MiniLM-L6-v2", "22 M", _dense("default", "dense")),
    )
    rows = [
        [system, encoder, size, "biosyn", f"{acc[0]:.3f}", f"{acc[1]:.3f}"]
        for system, encoder, size, (acc, _) in ours
    ]
    rows += [[*row[:3], "biosyn", *row[3:]] for row in PUBLISHED]
    return table(["system", "encoder", "parameters", "protocol", "Acc@1", "Acc@5"], rows)


BLOCKS: tuple[Callable[[], str], ...] = (choose, published)
