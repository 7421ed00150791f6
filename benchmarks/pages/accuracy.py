"""The tables of linking accuracy: sparse, with a transformer, and with word vectors."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from benchmarks.lib import results
from benchmarks.pages.tables import Row, gain, interval, rows, table

ABLATION = (
    "untrained",
    "BioSyn",
    "BioSyn + norm",
    "BCNH list-wise",
    "BCNH list-wise + norm",
    "BCNH list-wise + norm, as coded",
)
WORDS = (  # rows of `network`: configuration and MEDIC
    ("CCA + DAN", "2012"),
    ("BNE", "2012"),
    ("CCA + DAN, no text", "2017"),
    ("CCA + DAN, no text, no mentions", "2017"),
)
DENSE_HEAD = (
    "configuration | MEDIC | protocol | runs | Acc@1 (95% interval) | Acc@5 | Acc@20 | "
    "Acc@1 unseen mentions"
)


def accuracy() -> str:
    """Acc@k on the test mentions."""
    head = (
        "configuration | MEDIC | protocol | Acc@1 (95% interval) | Acc@5 | Acc@20 | MRR | "
        "Acc@1 seen / unseen mentions"
    )
    return table(head, map(_accuracy_row, rows("ncbi_disease")))


def _accuracy_row(row: Row) -> list[str]:
    acc, groups = row["acc"], row.get("groups")
    parts = [groups[f"{sign}_mention"] for sign in ("seen", "unseen")] if groups else []
    shares = [f"{part['acc']['1']:.3f} (n={part['n']})" if part["n"] else "-" for part in parts]
    name = row["configuration"].replace("linker's default", "sparse default")
    first = interval([acc["1"], *row["acc_interval"]["1"]])
    figures = [f"{value:.4f}" for value in (acc["5"], acc["20"], row["mrr"])]
    return [name, row["medic"], row["protocol"], first, *figures, " / ".join(shares)]


def choice() -> str:
    """What development data chose."""
    lines = []
    for protocol, row in results.figures("ncbi_disease_choice")["best"].items():
        grams = f"{row['analyzer']} {row['ngram_min']}-{row['ngram_max']}"
        acc = [f"{row[protocol]['acc'][k]:.4f}" for k in ("1", "5", "20")]
        lines.append([protocol, grams + ", sublinear" * row["sublinear"], *acc])
    return table("protocol | n-grams chosen | dev Acc@1 | dev Acc@5 | dev Acc@20", lines)


def dense() -> str:
    """What a transformer gives on the test mentions."""
    return _dense(row for row in rows("ncbi_test_dense") if row["configuration"] not in ABLATION)


def network() -> str:
    """What encoders of word vectors give on the test mentions.

    As in the papers' protocol, and as `linker train` makes them.
    """
    every = rows("ncbi_test_dan")
    return _dense(row for row in every if (row["configuration"], row["medic"]) in WORDS)


def _dense(lines: Iterable[Row]) -> str:
    protocols = {"2012": "biosyn", "2017": "strict", "2026": "strict"}  # by release of MEDIC
    return table(DENSE_HEAD, [_dense_row(row, protocols[row["medic"]]) for row in lines])


def _dense_row(row: Row, protocol: str) -> list[str]:
    figures = row[protocol]
    acc, unseen = figures["acc"], figures["unseen_acc1"][0]
    apart = f"{unseen:.3f} (n={figures['n_unseen']})" if unseen is not None else "-"
    means = [f"{acc[k][0]:.4f}" for k in ("5", "20")]
    cells = [row["configuration"], row["medic"], protocol, str(row["runs"])]
    return [*cells, interval(acc["1"]), *means, apart]


def corpora() -> str:
    """Development mentions of BC5CDR."""
    every = rows("bc5cdr_devel_dense")
    lines = [_dense_row(row, protocol) for row in every for protocol in ("biosyn", "strict")]
    return table(DENSE_HEAD, lines)


def ablation() -> str:
    """BCNH's Table 3 with our encoder, the paper's figures beside ours."""
    head = (
        "configuration | runs, epochs | Acc@1 (95% interval) | Acc@5 | unseen | strict Acc@1 | "
        "published Acc@1 / Acc@5 | hypernym longer"
    )
    every = rows("ncbi_test_dense")
    return table(head, [_ablation_row(row) for row in every if row["configuration"] in ABLATION])


def _ablation_row(row: Row) -> list[str]:
    biosyn, longer = row["biosyn"], row.get("hypernym_longer")
    values = biosyn["acc"]["5"], biosyn["unseen_acc1"], row["strict"]["acc"]["1"]
    published = "{:.4f} / {:.4f}".format(*row["published"]) if row["published"] else "-"
    return [
        row["configuration"],
        f"{row['runs']}, {row['epochs']}",
        interval(biosyn["acc"]["1"]),
        *(f"{value[0]:.4f}" for value in values),
        published,
        f"{statistics.mean(longer):.3f}" if longer else "-",
    ]


def differences() -> str:
    """Differences to the first configuration of the same release, by paired bootstrap."""
    lines = [
        [pair["of"], pair["over"], gain(pair["acc1"]), gain(pair["acc5"])]
        for pair in rows("ncbi_test_dense", "differences")
        if pair["protocol"] == "biosyn" and pair["of"] in ABLATION
    ]
    return table(" | over | Acc@1 (95% interval) | Acc@5 (95% interval)", lines)


def levers() -> str:
    """What each lever gains on development mentions."""
    return _levers("ncbi_devel_dense", "one epoch", "default")


def word_levers() -> str:
    """The same of encoders made of word vectors."""
    return _levers("ncbi_devel_dan", "CCA + DAN", "BNE", "sparse only, no mentions")


def _levers(name: str, *bases: str) -> str:
    gains = {
        pair["of"]: gain(pair["acc1"])
        for pair in rows(name, "differences")
        if pair["protocol"] == "biosyn" and pair["over"] in bases
    }
    head = (
        "configuration | MEDIC | runs | Acc@1 | gain (95% interval) | Acc@5 | Acc@20 | "
        "unseen Acc@1 | strict Acc@1"
    )
    lines = [_lever_row(row, gains.get(row["configuration"], "")) for row in rows(name)]
    return table(head, lines)


def _lever_row(row: Row, gained: str) -> list[str]:
    biosyn = row["biosyn"]
    values = [biosyn["acc"][k][0] for k in ("1", "5", "20")]
    values += [biosyn["unseen_acc1"][0], row["strict"]["acc"]["1"][0]]
    acc, *others = (f"{value:.4f}" for value in values)
    cells = [row["configuration"], row["medic"], str(row["runs"]), acc, gained]
    return [*cells, *others]


def example() -> str:
    """BCNH's Table 2: the ten best names of one mention."""
    every = [row for row in rows("ncbi_test_dense") if row["medic"] == "2012"]
    signs = {2: " \\*", 1: " †", 0: ""}
    columns = [[f"{name}{signs[value]}" for name, value in row["example"]] for row in every]
    head = " | ".join(row["configuration"] for row in every)
    return table(head, zip(*columns, strict=True))


BLOCKS = (
    accuracy,
    choice,
    dense,
    network,
    corpora,
    ablation,
    differences,
    levers,
    word_levers,
    example,
)
