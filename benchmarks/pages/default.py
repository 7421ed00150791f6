"""The tables of the default of `linker train`: static vectors, lent names, and what they cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.lib import results
from benchmarks.pages.tables import Row, gain, interval, rows, table

CORPORA = ("ncbi", "bc5cdr")
SYSTEMS = ("characters", "static", "dan", "MiniLM, untrained", "MiniLM, aligned")
LEARNT = {False: "dictionary", True: "and mentions"}


def default() -> str:
    """The default beside characters on the development mentions of two corpora."""
    head = (
        "linked by | names lent by | learnt from | strict Acc@1, NCBI Disease (95% interval) | "
        "BC5CDR (95% interval) | over characters, NCBI Disease; BC5CDR | Acc@5 | Acc@20 | "
        "biosyn Acc@1 | seen / unseen mentions, NCBI | BC5CDR"
    )
    pairs: dict[tuple[str, str, bool], list[Row]] = {}
    for row in rows("default"):
        pairs.setdefault((row["encoder"], row["lent"], row["mentions"]), []).append(row)
    lines = (_development(pair) for pair in pairs.values() if len(pair) == len(CORPORA))
    return table(head, lines)


def _development(pair: Sequence[Row]) -> list[str]:
    """A row: what a system reaches on both corpora."""
    strict = [row["strict"]["acc"] for row in pair]
    means = [_pair(acc[k][0] for acc in strict) for k in ("5", "20")]
    biosyn = _pair(row["biosyn"]["acc"]["1"][0] for row in pair)
    start = [pair[0]["encoder"], pair[0]["lent"] or "-", LEARNT[pair[0]["mentions"]]]
    seen = [_seen(row) if row["mentions"] else "-" for row in pair]
    over = "; ".join(gain(row["gain"]) for row in pair if "gain" in row) or "-"
    return [*start, *(interval(acc["1"]) for acc in strict), over, *means, biosyn, *seen]


def _pair(values: Iterator[float]) -> str:
    return " / ".join(f"{value:.4f}" for value in values)


def _seen(row: Row) -> str:
    figures = row["strict"]
    return f"{figures['seen_acc1'][0]:.4f} / {figures['unseen_acc1'][0]:.4f}"


def default_test() -> str:
    """The same on the test mentions of NCBI Disease, each by the protocol of its dictionary."""
    lines = []
    for row in rows("default", "test"):
        protocol = "biosyn" if row["medic"] == "2012" else "strict"
        figures, unseen = row[protocol], row[protocol]["unseen_acc1"][0]
        means = [f"{figures['acc'][k][0]:.4f}" for k in ("5", "20")]
        start = [
            row["encoder"],
            row["lent"] or "-",
            LEARNT[row["mentions"]],
            row["medic"],
            protocol,
        ]
        apart = f"{unseen:.4f}" if row["mentions"] else "-"
        lines.append([*start, interval(figures["acc"]["1"]), *means, apart])
    head = "linked by | names lent by | learnt from | MEDIC | protocol | Acc@1 (95% interval)"
    return table(f"{head} | Acc@5 | Acc@20 | unseen mentions", lines)


def lending() -> str:
    """What the parts of the lending rule are worth."""
    lines = []
    for row in rows("lending"):
        counts = [f"{row['names'].get('lent', 0):,}", f"{row['concepts']:,}"]
        cells = [
            cell
            for system in ("characters", "static")
            for cell in (_pair(iter(row[system]["acc1"])), gain(row[system]["over"]))
        ]
        lines.append([row["rule"], *counts, *cells])
    over = "over DOID, HPO, both corpora (95% interval)"
    return table(
        "lent by | names | concepts | characters, NCBI Disease / BC5CDR | "
        f"{over} | static | {over}",
        lines,
    )


def branches() -> str:
    """The branches of MEDIC, those that profit most from lent names first."""
    figures = results.figures("lending")["branches"] if results.exists("lending") else None
    lines = []
    for row in figures["rows"] if figures else ():
        share = f"{row['lent']:,} of {row['concepts']:,} ({row['lent'] / row['concepts']:.0%})"
        accuracies = " / ".join(f"{value:.3f}" for value in reversed(row["acc1"]))
        lines.append([row["branch"], share, f"{row['n']:,}", accuracies, gain(row["gain"])])
    head = "branch of MEDIC | concepts that were lent names | mentions"
    return table(f"{head} | Acc@1 without / with | difference (95% interval)", lines)


def static_table() -> str:
    """What the shipped table of sub-words loses."""
    lines = [
        [
            row["table"],
            str(row["dim"]),
            *(f"{value:.4f}" for value in row["acc1"]),
            interval(row["both"]),
            gain(row["over"]),
        ]
        for row in rows("static_table")
    ]
    head = "vectors | components | NCBI Disease | BC5CDR | both (95% interval)"
    return table(f"{head} | over what is shipped (95% interval)", lines)


def held_out() -> str:
    """Encoders on names that their dictionary lacks, by the ranker that is shipped."""
    lines = []
    for row in rows("held_out"):
        systems = row["systems"]
        lent = f", {row['lent']:,} of them lent" if row["lent"] else ""
        cells = [_over(systems[name]) if name in systems else "-" for name in SYSTEMS]
        lines.append([row["task"], f"{row['n']:,}{lent}", *cells])
    return table(f"dictionary | names asked | {' | '.join(SYSTEMS)}", lines)


def _over(values: Row) -> str:
    """An accuracy, its interval or that of its difference to characters, and that by score."""
    acc, *ends = values["acc1"]
    _, low, high = values["gain"]
    shown = f"{low:+.3f} to {high:+.3f}" if low < high else "{:.3f}-{:.3f}".format(*ends)
    return f"{acc:.4f} ({shown})" + (f"; {values['by_score']:.4f}" if "by_score" in values else "")


def default_cost() -> str:
    """What training and linking cost by the default and by others."""
    if not results.exists("default_speed"):
        return table("", [])
    figures = results.figures("default_speed")
    lines = []
    for system, row in figures["systems"].items():
        training, linking = row["training"], row["linking"]
        rates = [
            f"{statistics.median(linking[name]['mentions_per_second']):,.0f}"
            for name in ("as they come", "distinct")
        ]
        time, size = f"{training['seconds']:,.0f} s", f"{training['model_mb']:.0f} MB"
        memory = [f"{training['peak_mb']:,} MB", size, f"{row['load_ms_median']:.0f} ms"]
        lines.append([system, time, *memory, *rates, f"{linking['resident_mb']:,} MB"])
    targets = figures["targets"]
    aims = [f"{targets['training_seconds']} s", "-", f"{targets['model_mb']} MB"]
    aims += [f"{targets['load_ms']} ms", f"{targets['mentions_per_second']:,}", "-"]
    head = "`--encoder` | training | peak memory | model | loading | mentions linked a second"
    lines.append(["target of the default", *aims, f"{targets['resident_mb']} MB"])
    return table(f"{head} | distinct mentions a second | memory while linking", lines)


def annotation() -> str:
    """Mentions found in texts, by our annotator and by exact matchers."""
    lines = [
        [
            row["system"],
            {"ncbi": "NCBI Disease", "bc5cdr": "BC5CDR"}[row["corpus"]],
            {"dictionary": "dictionary", "annotated": "and documents"}[row["learnt"]],
            *(f"{row['span'][name]:.3f}" for name in ("precision", "recall")),
            interval([row["span"]["f1"], *row["span"]["f1_interval"]]),
            interval([row["span_concept"]["f1"], *row["span_concept"]["f1_interval"]]),
            interval([row["concept"]["f1"], *row["concept"]["f1_interval"]]),
            f"{row['documents_a_second']:.0f}",
            f"{row['peak_mb']:,} MB",
        ]
        for row in rows("annotate")
    ]
    head = "system | corpus | learnt from | precision of spans | recall | F1 (95% interval)"
    more = "F1 of spans with concepts | F1 of concepts by document | documents a second | memory"
    return table(f"{head} | {more}", lines)


BLOCKS = (
    default,
    default_test,
    lending,
    branches,
    static_table,
    held_out,
    default_cost,
    annotation,
)
