"""The tables of what the ranker is worth: accuracy, confidences, no answers, composites."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.lib.data import TITLES
from benchmarks.pages.tables import Row, gain, interval, rows, table

SPLITS = {"devel": "development", "test": "test"}
FITTED = {True: "training mentions, in folds", False: "the other corpus"}
HIERARCHICAL = ("hypernym", "hyponym", "sibling")


def ranker() -> str:
    """Accuracy by score, and by the ranker."""
    head = (
        "corpus | `--encoder` | learnt from | ordered by | strict Acc@1 (95% interval) | "
        "over the order of scores | Acc@5 | unseen mentions | biosyn Acc@1 / 5 | "
        "hypernym / hyponym / sibling of the right concept"
    )
    return table(head, map(_accuracy, [*rows("ranker"), *rows("ranker", "test")]))


def _accuracy(row: Row) -> list[str]:
    errors = (str(row["errors"].get(kind, 0)) for kind in HIERARCHICAL)
    return [
        _corpus(row),
        f"`{row['encoder']}`",
        _learnt(row),
        _ordered(row),
        interval([row["acc"]["1"], *row["acc_interval"]["1"]]),
        gain(row["gain"]) if "gain" in row else "-",
        f"{row['acc']['5']:.4f}",
        f"{row['unseen']['acc']['1']:.4f}" if row["learnt"] else "-",
        " / ".join(f"{row['biosyn'][k]:.4f}" for k in ("1", "5")),
        " / ".join(errors),
    ]


def _corpus(row: Row) -> str:
    return f"{TITLES[row['corpus']]}, {SPLITS[row['on']]}"


def _learnt(row: Row) -> str:
    return "and mentions" if row["learnt"] else "dictionary"


def _ordered(row: Row) -> str:
    return {"by score": "score"}.get(row["ranker"], f"ranker, {row['ranker']}")


def confidence() -> str:
    """How well confidences agree with what is right, and what is not answered by default."""
    head = (
        "corpus | `--encoder` | learnt from | ranker | ECE | Brier | AUROC | Acc@1 | "
        "of the surest 80% | not answered by default | Acc@1 then"
    )
    every = [*rows("ranker"), *rows("ranker", "test")]
    return table(head, (_worth(row) for row in every if "calibration" in row))


def _worth(row: Row) -> list[str]:
    default = row["default"]
    return [
        _corpus(row),
        f"`{row['encoder']}`",
        _learnt(row),
        row["ranker"],
        *(f"{row['calibration'][name]:.3f}" for name in ("ece", "brier", "auroc")),
        f"{row['acc']['1']:.4f}",
        f"{row['coverage']['80']:.4f}",
        f"{default['no_answer']['without_answer']:,} of {row['n']:,}",
        f"{default['acc']['1']:.4f}",
    ]


def missing_concepts() -> str:
    """No answers where a tenth of the concepts is left out: means over three samples."""
    head = (
        "corpus | learnt from | ranker | mentions without a concept | AUROC of none | precision | "
        "recall | Acc@1, everything answered | by default"
    )
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows("ranker", "missing"):
        groups.setdefault((row["corpus"], row["learnt"]), []).append(row)
    return table(head, map(_missing, groups.values()))


def _missing(runs: Sequence[Row]) -> list[str]:
    found = [row["default"]["no_answer"] for row in runs]
    share = [one["without_concept"] / row["n"] for one, row in zip(found, runs, strict=True)]
    return [
        TITLES[runs[0]["corpus"]],
        _learnt(runs[0]),
        runs[0]["ranker"],
        f"{statistics.mean(share):.1%}",
        _spread(row["none_auroc"] for row in runs),
        *(_pooled(found, of) for of in ("without_answer", "without_concept")),
        _spread(row["acc"]["1"] for row in runs),
        _spread(row["default"]["acc"]["1"] for row in runs),
    ]


def _pooled(found: Sequence[Row], of: str) -> str:
    """The share of mentions with neither answer nor concept, in all samples together."""
    count = sum(one[of] for one in found)
    return f"{sum(one['both'] for one in found) / count:.3f}" if count else "-"


def _spread(values: Iterator[float]) -> str:
    """The mean of some values, with the lowest and the highest."""
    every = list(values)
    return f"{statistics.mean(every):.3f} ({min(every):.3f}-{max(every):.3f})"


def composites() -> str:
    """What becomes of composites and single mentions, by static vectors."""
    head = (
        "corpus | learnt from | ordered by | composites split right | composites right | "
        "single mentions split"
    )
    return table(head, (_split(row) for row in rows("ranker") if row["encoder"] == "static"))


def _split(row: Row) -> list[str]:
    figures = row["composites"]
    counted = (
        ("split_right", "composites"),
        ("answered_right", "composites"),
        ("singles_split", "singles"),
    )
    cells = [f"{figures[name]:,} of {figures[total]:,}" for name, total in counted]
    return [TITLES[row["corpus"]], _learnt(row), _ordered(row), *cells]


def learning_curve() -> str:
    """Strict Acc@1 by the number of training documents, static vectors."""
    every = [*rows("ranker"), *rows("ranker", "curve")]
    chosen = [row for row in every if row["encoder"] == "static"]
    figures = {
        (row["corpus"], row["learnt"], row["ranker"]): f"{row['acc']['1']:.4f}" for row in chosen
    }
    sizes = sorted({row["learnt"] for row in chosen}, key=lambda n: (n < 0, n))
    ways = ("by score", "other corpus", "fitted")
    lines = [
        ["all" if size < 0 else str(size)]
        + [figures.get((corpus, size, way), "-") for corpus in TITLES for way in ways]
        for size in sizes
    ]
    titles = [f"{title}, {way}" for title in TITLES.values() for way in ways]
    return table(" | ".join(["training documents", *titles]), lines)


def columns() -> str:
    """Strict Acc@1 of rankers that lack some columns."""
    pairs: dict[str, list[Row]] = {}
    for row in rows("ranker", "columns"):
        pairs.setdefault(row["lacks"], []).append(row)
    lines = [
        [lacks or "nothing"]
        + [
            cell
            for row in pair
            for cell in (
                f"{row['acc']['1']:.4f}",
                gain(row["gain"]) if "gain" in row else "-",
                f"{row['calibration']['auroc']:.3f}",
            )
        ]
        for lacks, pair in pairs.items()
    ]
    head = [f"{title} | over all columns (95% interval) | AUROC" for title in TITLES.values()]
    return table(" | ".join(["columns that are missing", *head]), lines)


def ranker_losses() -> str:
    """Acc@1 and confidences by the loss and the model, fitted to the other corpus and to the same.

    In each cell the other corpus comes first.
    """
    groups: dict[tuple[str, bool, str], dict[bool, Row]] = {}
    for row in rows("ranker_losses"):
        key = row["corpus"], row["learnt"], row["loss"]
        groups.setdefault(key, {})[row["fitted_to"] == row["corpus"]] = row
    head = (
        "corpus | learnt from | loss or model | Acc@1, fitted to the other corpus | over marginal "
        "(95% interval) | the same corpus | over marginal (95% interval) | new mentions | "
        "hypernyms among the wrong | AUROC | ECE"
    )
    order = list(TITLES)
    chosen = sorted(groups, key=lambda key: (order.index(key[0]), key[1]))
    return table(
        head, (_loss([groups[key][is_same] for is_same in (False, True)]) for key in chosen)
    )


def _loss(pair: Sequence[Row]) -> list[str]:
    first = pair[0]
    return [
        TITLES[first["corpus"]],
        _learnt(first),
        first["loss"],
        *(
            cell
            for row in pair
            for cell in (f"{row['acc']:.4f}", gain(row["gain"]) if "gain" in row else "-")
        ),
        *(
            " / ".join(shown.format(row[name]) if name in row else "-" for row in pair)
            for name, shown in (
                ("acc_new", "{:.4f}"),
                ("hypernym", "{:.0%}"),
                ("auroc", "{:.3f}"),
                ("ece", "{:.3f}"),
            )
        ),
    ]


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


BLOCKS = (
    ranker,
    confidence,
    missing_concepts,
    composites,
    learning_curve,
    columns,
    ranker_losses,
    short_forms,
)
