"""Write the figures of benchmarks/results/*.json into the pages, between their markers: no figure there is typed by hand.

python benchmarks/pages/write.py            writes README.md and the pages of docs/ that quote results
python benchmarks/pages/write.py --check    fails where they do not quote the results
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.tables import RESULTS, ROOT, result, runs, table
from benchmarks.pages import choose, name_tables, other_tables

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def accuracy() -> str:
    """Acc@k on the test mentions."""
    head = [
        "configuration",
        "MEDIC",
        "protocol",
        "Acc@1 (95% interval)",
        "Acc@5",
        "Acc@20",
        "MRR",
        "Acc@1 seen / unseen mentions",
    ]
    return table(head, map(_accuracy_row, result("ncbi_disease")["rows"]))


def _accuracy_row(row: dict[str, Any]) -> list[str]:
    acc, (low, high), groups = row["acc"], row["acc_interval"]["1"], row.get("groups")
    apart = (
        " / ".join(_share(groups[f"{sign}_mention"]) for sign in ("seen", "unseen"))
        if groups
        else ""
    )
    name = row["configuration"].replace("linker's default", "sparse default")
    cells = [name, row["medic"], row["protocol"], f"{acc['1']:.4f} ({low:.3f}-{high:.3f})"]
    return [*cells, f"{acc['5']:.4f}", f"{acc['20']:.4f}", f"{row['mrr']:.4f}", apart]


def _share(group: dict[str, Any]) -> str:
    return f"{group['acc']['1']:.3f} (n={group['n']})" if group["n"] else "-"


def choice() -> str:
    """What development data chose."""
    best = result("ncbi_disease_choice")["best"]
    rows = []
    for protocol, row in best.items():
        setting = f"{row['analyzer']} {row['ngram_min']}-{row['ngram_max']}" + (
            ", sublinear" if row["sublinear"] else ""
        )
        rows.append(
            [protocol, setting, *(f"{row[protocol]['acc'][k]:.4f}" for k in ("1", "5", "20"))]
        )
    return table(["protocol", "n-grams chosen", "dev Acc@1", "dev Acc@5", "dev Acc@20"], rows)


def text() -> str:
    """Abbreviations, composites and the agreement with BioSyn's preprocessing."""
    pairs, split = result("abbreviations"), result("composites")
    agreement = result("preprocessing") | result("preprocessing_test")
    rows = [
        [
            f"abbreviation pairs, {name}",
            f"{TOOLS[tool]}: precision {figures['precision']:.3f}, recall {figures['recall']:.3f}",
        ]
        for name, gold in (("Ab3P gold", pairs["ab3p"]), ("SH gold", pairs["sh"]))
        for tool, figures in ((t, gold[t]) for t in TOOLS if t in gold)
    ]
    for name, part in (
        ("NCBI train + dev", split),
        ("its texts that are annotated one way", split["of_texts_annotated_one_way"]),
        ("dev alone, with the names of the training mentions", split["dev_trained_on_train"]),
    ):
        right = f"{part['composites_split_right']} of {part['composites']} composites split into the right number of parts"
        rates = f"recall {part['recall']:.3f}, precision {part['precision']:.3f}"
        wrongly = f"{part['single_split']} of {part['single']:,} single mentions split ({part['single_split_share']:.2%})"
        rows.append([f"composites without gold, {name}", f"{right} ({rates}); {wrongly}"])
    for name, part in agreement.items():
        with_list, without = f"{part['agreement']:.2%}", f"{part['agreement_without_spelling']:.2%}"
        counts = f"{part['equal']:,} of {part['mentions']:,} mentions ({with_list}); {without} without the spelling pair tumour/tumor"
        rows.append([f"agreement with BioSyn's preprocessing, {name}", counts])
    return table(["task", "figure"], rows)


def speed() -> str:
    """Speed and memory."""
    figures = result("speed")
    pair, load = figures["against_biosyn"], figures["reading_medic_2026"]
    rate = {
        name: statistics.median(pair[name]["mentions_per_second"]) for name in ("biosyn", "ours")
    }
    rows = [
        [
            f"top 20 names for {pair['queries']} queries ({pair['distinct_queries']} distinct) of the development mentions, 2012 MEDIC, "
            "against BioSyn's way in the same run",
            f"{pair['times_faster_median']} times the mentions a second (median of three; {rate['ours']:,.0f} / {rate['biosyn']:,.0f}), "
            f"{pair['times_less_memory_median']} times less peak memory "
            f"({pair['ours']['peak_mb'][0]} / {pair['biosyn']['peak_mb'][0]} MB), "
            f"the same top 20 for {pair['same_top_20']} of {pair['queries']} queries",
        ],
        ["`linker --help`", f"{figures['help_seconds']:.2f} s"],
        [
            "reading the 2026 MEDIC from its csv.gz",
            f"{load['seconds']:.2f} s, {load['peak_mb']:.0f} MB peak, {load['names']:,} names",
        ],
    ]
    if many := figures.get("million_lines"):
        memory = many["peak_mb_after_each_tenth_of_the_time"]
        flat = f"peak memory {memory[0]} MB after a tenth of the time, {memory[-1]} MB at the end"
        rate = f"{many['seconds']:,} s ({many['lines_per_second']:,} a second)"
        rows.append(
            [
                f"{many['lines']:,} lines ({many['distinct']:,} distinct) through `linker link -`",
                f"{rate}, {flat}",
            ]
        )
    return table(["what", "figure"], rows)


def dense() -> str:
    """What a transformer gives on the test mentions."""
    rows = (
        made for made in runs("ncbi_test_dense")["rows"] if made["configuration"] not in ABLATION
    )
    return _dense_rows(made for made in rows if not made["configuration"].endswith(AGREE))


def network() -> str:
    """What the network of word vectors gives on the test mentions: as in the papers' protocol, and as `linker train` makes it."""
    wanted = (
        ("CCA + DAN", "2012"),
        ("BNE", "2012"),
        ("CCA + DAN, no text", "2017"),
        ("CCA + DAN, no text, no mentions", "2017"),
    )
    return _dense_rows(
        made
        for made in runs("ncbi_test_dan")["rows"]
        if (made["configuration"], made["medic"]) in wanted
    )


def _dense_rows(rows: Iterable[dict[str, Any]]) -> str:
    head = [
        "configuration",
        "MEDIC",
        "protocol",
        "runs",
        "Acc@1 (95% interval)",
        "Acc@5",
        "Acc@20",
        "Acc@1 unseen mentions",
    ]
    return table(
        head, [_dense_row(made, "biosyn" if made["medic"] == "2012" else "strict") for made in rows]
    )


def _dense_row(made: dict[str, Any], protocol: str) -> list[str]:
    judged = made[protocol]
    acc, unseen = judged["acc"], judged["unseen_acc1"][0]
    apart = f"{unseen:.3f} (n={judged['n_unseen']})" if unseen is not None else "-"
    interval = "{:.4f} ({:.3f}-{:.3f})".format(*acc["1"])
    return [
        made["configuration"],
        made["medic"],
        protocol,
        str(made["runs"]),
        interval,
        f"{acc['5'][0]:.4f}",
        f"{acc['20'][0]:.4f}",
        apart,
    ]


def ablation() -> str:
    """BCNH's Table 3 with our encoder, the paper's figures beside ours."""
    rows = [made for made in runs("ncbi_test_dense")["rows"] if made["configuration"] in ABLATION]
    head = [
        "configuration",
        "runs, epochs",
        "Acc@1 (95% interval)",
        "Acc@5",
        "unseen",
        "strict Acc@1",
        "published Acc@1 / Acc@5",
        "hypernym longer",
    ]
    return table(head, map(_ablation_row, rows))


def _ablation_row(made: dict[str, Any]) -> list[str]:
    judged, longer = made["biosyn"], made.get("hypernym_longer")
    interval = "{:.4f} ({:.3f}-{:.3f})".format(*judged["acc"]["1"])
    cells = [
        made["configuration"],
        f"{made['runs']}, {made['epochs']}",
        interval,
        f"{judged['acc']['5'][0]:.4f}",
    ]
    cells += [f"{judged['unseen_acc1'][0]:.4f}", f"{made['strict']['acc']['1'][0]:.4f}"]
    published = "{:.4f} / {:.4f}".format(*made["published"]) if made["published"] else "-"
    return [*cells, published, f"{statistics.mean(longer):.3f}" if longer else "-"]


def differences() -> str:
    """Differences to the first configuration of the same release, by paired bootstrap."""
    rows = [
        pair
        for pair in runs("ncbi_test_dense")["differences"]
        if pair["protocol"] == "biosyn" and pair["of"] in ABLATION
    ]
    return table(
        ["", "over", "Acc@1 (95% interval)", "Acc@5 (95% interval)"], map(_difference_row, rows)
    )


def _difference_row(pair: dict[str, Any]) -> list[str]:
    return [
        pair["of"],
        pair["over"],
        *("{:+.4f} ({:+.4f} to {:+.4f})".format(*pair[f"acc{k}"]) for k in (1, 5)),
    ]


def documents() -> str:
    """What it is worth that the mentions of a document agree: the same models with it and without."""
    return _with_and_without(AGREE)


def second_stage() -> str:
    """What the second stage is worth: training the first goes the same way with it and without."""
    return _with_and_without(SECOND)


def _with_and_without(option: str) -> str:
    rows = []
    for name, judged in (
        ("ncbi_devel_dense", "NCBI Disease, dev"),
        ("bc5cdr_devel_dense", "BC5CDR, dev"),
        ("ncbi_test_dense", "NCBI Disease, test"),
    ):
        for pair in runs(name)["differences"]:
            if pair["of"] == pair["over"] + option:
                cells = ("{:+.4f} ({:+.4f} to {:+.4f})".format(*pair[f"acc{k}"]) for k in (1, 5))
                rows.append(
                    [judged, pair["over"], pair["protocol"], str(len(pair["seeds"])), *cells]
                )
    return table(
        ["mentions", "model", "protocol", "runs", "Acc@1 (95% interval)", "Acc@5 (95% interval)"],
        rows,
    )


def levers() -> str:
    """What each lever gains on development mentions."""
    return _levers("ncbi_devel_dense", "one epoch", "default")


def word_levers() -> str:
    """The same of encoders made of word vectors."""
    return _levers("ncbi_devel_dan", "CCA + DAN", "BNE", "sparse only, no mentions")


def _levers(name: str, *bases: str) -> str:
    found = runs(name)
    gains = {
        pair["of"]: pair["acc1"]
        for pair in found["differences"]
        if pair["protocol"] == "biosyn" and pair["over"] in bases
    }
    head = [
        "configuration",
        "MEDIC",
        "runs",
        "Acc@1",
        "gain (95% interval)",
        "Acc@5",
        "Acc@20",
        "unseen Acc@1",
        "strict Acc@1",
        "linking takes",
    ]
    rows = [_lever_row(made, gains.get(made["configuration"])) for made in found["rows"]]
    wide = len(head) if any(row[-1] for row in rows) else -1  # where no row has a second stage
    return table(head[:wide], [row[:wide] for row in rows])


def _lever_row(made: dict[str, Any], gain: list[float] | None) -> list[str]:
    judged = made["biosyn"]
    figures = [
        *(judged["acc"][k][0] for k in ("1", "5", "20")),
        judged["unseen_acc1"][0],
        made["strict"]["acc"]["1"][0],
    ]
    slower = made.get("second_stage_times_slower")
    cost = f"{statistics.median(slower):.0f} times as long" if slower else ""
    acc, *others = (f"{value:.4f}" for value in figures)
    difference = "{:+.4f} ({:+.4f} to {:+.4f})".format(*gain) if gain else ""
    return [made["configuration"], made["medic"], str(made["runs"]), acc, difference, *others, cost]


def corpora() -> str:
    """Development mentions of BC5CDR."""
    rows = runs("bc5cdr_devel_dense")["rows"]
    head = [
        "configuration",
        "MEDIC",
        "protocol",
        "runs",
        "Acc@1 (95% interval)",
        "Acc@5",
        "Acc@20",
        "Acc@1 unseen mentions",
    ]
    return table(
        head, [_dense_row(made, protocol) for made in rows for protocol in ("biosyn", "strict")]
    )


def dense_speed() -> str:
    """Our way beside BioSyn's published one."""
    if not (RESULTS / "dense_speed.json").exists():
        return table([], [])
    figures = result("dense_speed")
    encoded, linked, trained, targets = (
        figures[name] for name in ("encoding", "linking", "training", "targets")
    )
    small, lean = encoded["if_theirs_took_small_batches"], linked["if_theirs_held_nonzeros_alone"]
    names, mentions = "names_per_second", "mentions_per_second"
    also_small = f"; {small['times_faster_median']:g} if theirs took small batches"
    also_lean = f"; {lean['times_faster_median']:g} if theirs held non-zeros alone"
    pairs = [("encoding the names of 2012, fp32", encoded, names, targets["encoding"], also_small)]
    if "in_bf16" in encoded:
        pairs.append(
            (
                "encoding the names of 2012, ours in bf16",
                encoded["in_bf16"],
                names,
                targets["encoding"],
                "",
            )
        )
    pairs.append(("linking test mentions", linked, mentions, targets["linking"], also_lean))
    rows = []
    for what, pair, unit, target, also in pairs:
        theirs, ours = (statistics.median(pair[side][unit]) for side in ("theirs", "ours"))
        cells = [f"{value:,.0f} {unit.replace('_per_', ' a ')}" for value in (theirs, ours)]
        least, most = min(pair["times_faster"]), max(pair["times_faster"])
        times = f"{pair['times_faster_median']:g} ({least:g}-{most:g} of {len(pair['times_faster'])} rounds{also})"
        rows.append([what, *cells, times, str(target)])
    seconds = [f"{trained[side]['seconds']:,.0f} s" for side in ("theirs", "ours")]
    steps = f"an epoch of training ({trained['steps_measured_for_theirs']} of {trained['steps']} steps measured for theirs)"
    rows.append([steps, *seconds, f"{trained['times_faster_median']:g}", str(targets["training"])])
    rows.append(
        [
            "peak memory of that epoch (preset paper-biosyn)",
            "",
            f"{trained['ours']['peak_mb']:,.0f} MB",
            "",
            f"below {targets['peak_mb']:,} MB",
        ]
    )
    rows.append(
        [
            "the same top 20",
            "",
            f"{linked['same_top_20']} of {linked['parts_compared']} queries",
            "",
            "all",
        ]
    )
    return table(["", "BioSyn's way", "linker", "times faster", "target"], rows)


def rescoring() -> str:
    """What is added to the scores of the aligned model, on development mentions."""
    rows = result("rescoring")["rows"]
    corpora = {"ncbi": "NCBI Disease", "bc5cdr": "BC5CDR"}
    found = {
        (row["corpus"], row["lever"], row["weight"]): [f"{row[f'acc{k}']:.4f}" for k in (1, 5, 20)]
        for row in rows
    }
    tried = dict.fromkeys((row["lever"], row["weight"]) for row in rows)
    figures = (
        [lever, f"{weight:g}", *(" / ".join(found[c, lever, weight]) for c in corpora)]
        for lever, weight in tried
    )
    sizes = {row["corpus"]: row["mentions"] for row in rows}
    return table(
        [
            "added",
            "weight",
            *(f"{name}, Acc@1 / 5 / 20 (n={sizes[c]:,})" for c, name in corpora.items()),
        ],
        figures,
    )


def example() -> str:
    """BCNH's Table 2: the ten best names of one mention."""
    rows = [made for made in runs("ncbi_test_dense")["rows"] if made["medic"] == "2012"]
    rows = [made for made in rows if not made["configuration"].endswith((AGREE, SECOND))]
    signs = {2: " \\*", 1: " †", 0: ""}
    columns = [
        [f"{name}{signs[relevance]}" for name, relevance in made["example"]] for made in rows
    ]
    return table([made["configuration"] for made in rows], zip(*columns, strict=True))


TOOLS = {"linker": "linker", "pyab3p": "Ab3P (pyab3p)", "schwartz_hearst": "Schwartz-Hearst"}
ABLATION = (
    "untrained",
    "BioSyn",
    "BioSyn + norm",
    "BCNH list-wise",
    "BCNH list-wise + norm",
    "BCNH list-wise + norm, as coded",
)
AGREE, SECOND = ", mentions of a document agree", ", second stage"
OF_DENSE = (corpora, dense_speed)
BLOCKS: tuple[Callable[[], str], ...] = (
    accuracy,
    choice,
    text,
    speed,
    dense,
    network,
    ablation,
    differences,
    levers,
    rescoring,
    documents,
    second_stage,
    example,
    *OF_DENSE,
    word_levers,
    *choose.BLOCKS,
    *name_tables.BLOCKS,
    *other_tables.BLOCKS,
)


def filled(pages: list[str]) -> list[str]:
    """The pages with every block written anew."""
    for block in BLOCKS:
        pattern = rf"(<!-- {block.__name__} -->\n).*?(<!-- /{block.__name__} -->)"
        count = sum(len(re.findall(pattern, page, re.DOTALL)) for page in pages)
        if count != 1:
            sys.exit(
                f"the markers of {block.__name__!r} stand in the pages {count} times; expected once"
            )
        made = block()
        pages = [
            re.sub(
                pattern,
                lambda match, made=made: f"{match[1]}{made}\n{match[2]}",
                page,
                flags=re.DOTALL,
            )
            for page in pages
        ]
    return pages


if __name__ == "__main__":
    old = [page.read_text(encoding="utf-8") for page in PAGES]
    new = filled(old)
    if "--check" in sys.argv:
        sys.exit(
            "the pages differ from benchmarks/results; run python benchmarks/pages/write.py"
            if old != new
            else 0
        )
    for page, text_ in zip(PAGES, new, strict=True):
        page.write_text(text_, encoding="utf-8")
