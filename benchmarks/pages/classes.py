"""The tables of encoders that are trained on classes: levels of a taxonomy, and few-shot."""

from __future__ import annotations

import statistics

from benchmarks.lib import results
from benchmarks.pages.tables import mean, rows, starred, table

RELATEDNESS = ("mayosrs", "umnsrs_relatedness", "umnsrs_similarity")
TASKS = "MayoSRS | UMNSRS relatedness | UMNSRS similarity"
ROOT = "MESH:D009422"  # the first of those that levels are below


def levels_map() -> str:
    """Similarity ranking on each level (Fivez et al. 2021b, table 4)."""
    return _levels("map")


def levels_mrr() -> str:
    """Hypernym detection on each level (Fivez et al. 2021b, table 5)."""
    return _levels("mrr")


def _levels(part: str) -> str:
    lines = []
    for row in rows("levels"):
        paper = results.figures("levels")["published"].get(row["encoder"])
        published = " / ".join(f"{value:.2f}" for value in paper[part == "mrr"]) if paper else "-"
        minutes = f"{statistics.mean(row['cpu_seconds']) / 60:.1f}"
        cells = [row["root"], row["encoder"], str(row["runs"]), *map(mean, row[part])]
        lines.append([*cells, published, minutes])
    columns = " | ".join(f"level {k}" for k in range(1, 5))
    published = "published (SNOMED-CT, C1290864)"
    return table(f"below | encoder | runs | {columns} | {published} | CPU minutes", lines)


def levels_relatedness() -> str:
    """Relatedness after training on levels (Fivez et al. 2021b, table 7)."""
    lines = [
        [row["root"], row["encoder"], *(mean(row["relatedness"][name]) for name in RELATEDNESS)]
        for row in rows("levels")
        if row["root"] == ROOT or row["encoder"] not in ("word mean", "MiniLM")
    ]
    return table(f"trained below | encoder | {TASKS}", lines)


def levels_hypernyms() -> str:
    """The nearest hypernyms of a test name (Fivez et al. 2021b, table 6)."""
    by_encoder = {row["encoder"]: row["hypernyms"] for row in rows("levels") if row["root"] == ROOT}
    if not by_encoder:
        return table("", [])
    columns = [starred(names["nearest"]) for names in by_encoder.values()]
    names = next(iter(by_encoder.values()))
    mention = f"Mention: {names['mention']}; right: {', '.join(names['right'])}"
    return f"{mention}\n\n" + table(" | ".join(by_encoder), zip(*columns, strict=True))


def shots() -> str:
    """Few-shot encoders on their inputs (Fivez et al. 2021c, table 3)."""
    paper = {(name, on): values for name, on, *values in rows("few_shot", "published")}
    lines = []
    for row in rows("few_shot"):
        published = paper.get((row["input"], row["on"]))
        shown = " / ".join(f"{value:.2f}" for value in published) if published else "-"
        seconds = f"{statistics.mean(row['cpu_seconds']):.0f}"
        means = [mean(row["relatedness"][name]) for name in RELATEDNESS]
        lines.append([row["input"], row["on"], str(row["samples"]), *means, shown, seconds])
    return table(f"input | trained on | samples | {TASKS} | published | CPU seconds", lines)


def shots_nearest() -> str:
    """The nearest training names before and after (Fivez et al. 2021c, table 4)."""
    for row in rows("few_shot"):
        names = row["nearest"]
        if names and (row["input"], row["on"]) == ("fastText", "S"):
            lines = zip(starred(names["before"]), starred(names["after"]), strict=True)
            mention = f"Mention: {names['mention']} ({names['class']})"
            return f"{mention}\n\n" + table("fastText | 15-shot fastText", lines)
    return table("", [])


BLOCKS = (levels_map, levels_mrr, levels_relatedness, levels_hypernyms, shots, shots_nearest)
