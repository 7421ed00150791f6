"""The tables of speed, memory and size."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks.lib import results
from benchmarks.pages.tables import table


def speed() -> str:
    """Speed and memory."""
    figures = results.figures("speed")
    load = figures["reading_medic_2026"]
    lines = [_against_biosyn(figures["against_biosyn"])]
    lines.append(["`linker --help`", f"{figures['help_seconds']:.2f} s"])
    read = f"{load['seconds']:.2f} s, {load['peak_mb']:.0f} MB peak, {load['names']:,} names"
    lines.append(["reading the 2026 MEDIC from its csv.gz", read])
    if many := figures.get("million_lines"):
        first, *_, last = many["peak_mb_after_each_tenth_of_the_time"]
        flat = f"peak memory {first} MB after a tenth of the time, {last} MB at the end"
        rate = f"{many['seconds']:,} s ({many['lines_per_second']:,} a second)"
        piped = f"{many['lines']:,} lines ({many['distinct']:,} distinct) through `linker link -`"
        lines.append([piped, f"{rate}, {flat}"])
    return table("what | figure", lines)


def _against_biosyn(pair: dict[str, Any]) -> list[str]:
    sides = [pair[side] for side in ("ours", "biosyn")]
    rates = " / ".join(f"{statistics.median(s['mentions_per_second']):,.0f}" for s in sides)
    memory = " / ".join(str(side["peak_mb"][0]) for side in sides)
    what = (
        f"top 20 names for {pair['queries']} queries ({pair['distinct_queries']} distinct) of the "
        "development mentions, 2012 MEDIC, against BioSyn's way in the same run"
    )
    return [
        what,
        f"{pair['times_faster_median']} times the mentions a second (median of three; {rates}), "
        f"{pair['times_less_memory_median']} times less peak memory ({memory} MB), "
        f"the same top 20 for {pair['same_top_20']} of {pair['queries']} queries",
    ]


def dense_speed() -> str:
    """Our way beside BioSyn's published one."""
    if not results.exists("dense_speed"):
        return table("", [])
    figures = results.figures("dense_speed")
    linked, trained, targets = figures["linking"], figures["training"], figures["targets"]
    measured = trained["steps_measured_for_theirs"]
    epoch = f"an epoch of training ({measured} of {trained['steps']} steps measured for theirs)"
    seconds = [f"{trained[side]['seconds']:,.0f} s" for side in ("theirs", "ours")]
    times, memory = f"{trained['times_faster_median']:g}", f"{trained['ours']['peak_mb']:,.0f} MB"
    target, peak = f"below {targets['peak_mb']:,} MB", "peak memory of that epoch"
    same = f"{linked['same_top_20']} of {linked['parts_compared']} queries"
    lines = [
        *_speeds(figures),
        [epoch, *seconds, times, str(targets["training"])],
        [f"{peak} (preset paper-biosyn)", "", memory, "", target],
        ["the same top 20", "", same, "", "all"],
    ]
    return table(" | BioSyn's way | linker | times faster | target", lines)


def _speeds(figures: dict[str, Any]) -> Iterator[list[str]]:
    """The rows of names encoded and mentions linked a second."""
    encoded, linked, targets = figures["encoding"], figures["linking"], figures["targets"]
    small = encoded["if_theirs_took_small_batches"]["times_faster_median"]
    lean = linked["if_theirs_held_nonzeros_alone"]["times_faster_median"]
    rows = [
        ("encoding the names of 2012, fp32", encoded, f"; {small:g} if theirs took small batches")
    ]
    if "in_bf16" in encoded:
        rows.append(("encoding the names of 2012, ours in bf16", encoded["in_bf16"], ""))
    rows.append(("linking test mentions", linked, f"; {lean:g} if theirs held non-zeros alone"))
    for what, pair, also in rows:
        unit = "mentions_per_second" if pair is linked else "names_per_second"
        target = targets["linking" if pair is linked else "encoding"]
        rates = [statistics.median(pair[side][unit]) for side in ("theirs", "ours")]
        cells = [f"{value:,.0f} {unit.replace('_per_', ' a ')}" for value in rates]
        ratios = pair["times_faster"]
        spread = f"{min(ratios):g}-{max(ratios):g} of {len(ratios)} rounds"
        yield [what, *cells, f"{pair['times_faster_median']:g} ({spread}{also})", str(target)]


def cost() -> str:
    """What the DAN costs, beside MiniLM."""
    if not results.exists("encoder_speed"):
        return table("", [])
    figures = results.figures("encoder_speed")
    trained, words = figures["training"], figures["word_vectors"]
    measured = figures["encoding"]["encoders"]
    rates = [statistics.median(measured[e]["names_per_second"]) for e in ("dan", "transformer")]
    faster = measured["dan"]["times_faster_median"]
    training = f"training on MEDIC 2017 with train and dev, {trained['threads']} threads"
    lines = [
        [
            "names encoded a second, MiniLM beside it in the same run",
            f"{rates[0]:,.0f} / {rates[1]:,.0f}, {faster:.1f} times",
        ],
        [training, f"{trained['minutes']:.1f} minutes, peak memory {trained['peak_mb']:,} MB"],
        ["the model", f"{trained['model_mb']:.0f} MB, {trained['names']:,} names"],
        [
            "word vectors, made once for all models",
            f"{words['words']:,} words, {words['cpu_minutes']:.0f} minutes of one core",
        ],
    ]
    return table("what | figure", [*lines, *_drawing(figures["drawing"])])


def _drawing(figures: dict[str, Any]) -> Iterator[list[str]]:
    """The rows of the ways to draw the names of an epoch."""
    for way, row in figures.items():
        if isinstance(row, dict):
            seconds = f"{row['seconds_drawing']:.0f} s beside {row['seconds_of_steps']:.0f} s"
            share = f"{row['share']:.0%} of an epoch ({seconds} of steps)"
            what = f"drawing {way}, {figures['names']:,} names"
            yield [what, f"{share}, memory so far {row['peak_mb']:,} MB"]


def within() -> str:
    """What it costs to link within a branch."""
    figures = results.figures("within")
    lines = [
        [
            f"{row['branch']} ({row['id']})",
            f"{row['concepts']:,}",
            f"{row['same']:,} of {figures['mentions']:,}",
            f"{statistics.median(row['first_use_ms']):.0f} ms",
            f"{row['times_faster_median']:.1f}",
        ]
        for row in figures["rows"]
    ]
    head = "branch | concepts | same answers | first use | times the mentions a second of the whole"
    return table(head, lines)


BLOCKS = (speed, dense_speed, cost, within)
