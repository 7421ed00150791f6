"""The tables of what confidences are worth, and of what they cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.lib.data import TITLES
from benchmarks.pages.tables import Row, rows, table

FITTED = {True: "training mentions, in folds", False: "names of the dictionary"}


def confidence() -> str:
    """How well confidences agree with what is right."""
    head = (
        "corpus | linked by | fitted to | ECE | Brier | AUROC | Acc@1 of the surest 80% | "
        "Acc@1 without confidence | with rival readings | with the default threshold"
    )
    every = [*rows("confidence"), *rows("confidence", "test")]
    return table(head, (_worth(row) for row in every if row["missing"] < 0))


def _worth(row: Row) -> list[str]:
    figures = row["answered"]["calibration"]
    coverage = row["answered"]["risk_coverage"]["coverage"]["80"]["acc"]
    before, answered, default = (
        row[mode]["acc"]["1"] for mode in ("before", "answered", "default")
    )
    return [
        f"{TITLES[row['corpus']]}, {'development' if row['on'] == 'devel' else 'test'}",
        f"`{row['encoder']}`",
        FITTED[row["mentions"]],
        *(f"{figures[name]:.3f}" for name in ("ece", "brier", "auroc")),
        f"{coverage:.4f}",
        *(f"{value:.4f}" for value in (before, answered)),
        f"{default:.4f}" if row["threshold"] else "none",
    ]


def missing_concepts() -> str:
    """No answers where a tenth of the concepts is left out: means over three samples."""
    head = (
        "corpus | mentions without a concept | AUROC | precision | recall | "
        "Acc@1, everything answered | with the default threshold"
    )
    groups: dict[str, list[Row]] = {}
    for row in rows("confidence"):
        if row["missing"] >= 0:
            groups.setdefault(row["corpus"], []).append(row)
    return table(head, (_missing(corpus, of_one) for corpus, of_one in groups.items()))


def _missing(corpus: str, runs: Sequence[Row]) -> list[str]:
    found = [row["default"]["no_answer"] for row in runs]
    share = [
        one["without_concept"] / row["answered"]["n"] for one, row in zip(found, runs, strict=True)
    ]
    return [
        TITLES[corpus],
        f"{statistics.mean(share):.1%}",
        *(_spread(one[name] for one in found) for name in ("auroc", "precision", "recall")),
        *(_spread(row[mode]["acc"]["1"] for row in runs) for mode in ("answered", "default")),
    ]


def _spread(values: Iterator[float]) -> str:
    """The mean of some values, with the lowest and the highest."""
    every = list(values)
    return f"{statistics.mean(every):.3f} ({min(every):.3f}-{max(every):.3f})"


def composites() -> str:
    """What becomes of composites and single mentions, before and with rival readings."""
    head = (
        "corpus | fitted to | composites split right, before | with rivals | "
        "composites right, before | with rivals | single mentions split, before | with rivals"
    )
    chosen = [r for r in rows("confidence") if r["missing"] < 0 and r["encoder"] == "static"]
    return table(head, (_split(row) for row in chosen))


def _split(row: Row) -> list[str]:
    before, after = row["before"]["composites"], row["answered"]["composites"]
    cells = [TITLES[row["corpus"]], FITTED[row["mentions"]]]
    for name, total in (
        ("split_right", "composites"),
        ("answered_right", "composites"),
        ("singles_split", "singles"),
    ):
        cells += [f"{figures[name]} of {figures[total]}" for figures in (before, after)]
    return cells


def short_forms() -> str:
    """How many short forms are surely answered as a list, and what limits cost in documents."""
    head = (
        "corpus | fitted to | short forms as a list | right | sure without limits, right of these "
        "| sure with limits | annotated, right of these | ECE in documents without limits | with | "
        "AUROC without | with"
    )
    return table(head, map(_of_short_forms, rows("short_forms")))


def _of_short_forms(row: Row) -> list[str]:
    before, after = row["without"], row["with"]
    return [
        TITLES[row["corpus"]],
        FITTED[row["mentions"]],
        *(str(after["list"][name]) for name in ("n", "right")),
        f"{before['list']['sure']}, {before['list']['sure_right']}",
        str(after["list"]["sure"]),
        f"{after['annotated']['n']}, {after['annotated']['right']}",
        *(
            f"{figures['documents'][name]:.3f}"
            for name in ("ece", "auroc")
            for figures in (before, after)
        ),
    ]


def confidence_cost() -> str:
    """Mentions a second with and without a confidence."""
    head = "linked by | mentions a second, without | with confidence | ratio"
    return table(
        head,
        (
            [
                f"`{row['encoder']}`",
                f"{row['without']:,}",
                f"{row['with']:,}",
                f"{row['ratio']:.2f}",
            ]
            for row in rows("confidence_speed")
        ),
    )


BLOCKS = (confidence, missing_concepts, composites, short_forms, confidence_cost)
