"""The tables of scale: large dictionaries, many mentions, other systems; and what jobs cost."""

from __future__ import annotations

import statistics

from benchmarks.lib import results
from benchmarks.pages.tables import Row, interval, rows, table

PUBMED = 37_000_000 * 10  # mentions: abstracts, times mentions in each
UMLS = 10.0  # million English names
NIGHT = 12  # hours
BATCH = 1024  # mentions that are compared with all names at once
DIMS = {"static": 128, "MiniLM": 384, "BERT-base": 768}  # components of a vector
MEDIC = 0.075  # million names
SYSTEMS = {
    "biosyn": "BioSyn's algorithm, sparse",
    "sparse-dot-topn": "sparse-dot-topn, trigrams",
    "gilda": "Gilda",
    "scispacy": "scispaCy's candidate generator",
    "text2term-tfidf": "text2term, TF-IDF",
    "text2term-fuzzy": "text2term, fuzzy",
    "rapidfuzz": "rapidfuzz, sorted words",
    "bm25s": "bm25s, words",
    "faiss": "faiss, flat, MiniLM",
    "linker-tfidf": "linker, `tfidf`",
    "linker-static": "linker, `static`",
    "linker-dan": "linker, `dan`",
    "linker-minilm": "linker, MiniLM, untrained",
}


def peers() -> str:
    """Other systems on the same names and mentions."""
    by_system: dict[str, dict[str, Row]] = {}
    for row in rows("peers"):
        by_system.setdefault(row["system"], {})[row["names"]] = row
    lines = []
    for system, pair in by_system.items():
        row = pair.get("annotated") or pair["dictionary"]
        bare = f"{pair['dictionary']['accuracy'][0]:.3f}" if "dictionary" in pair else "-"
        learnt = interval(row["accuracy"]) if "annotated" in pair else "-"
        rates = [_rate(row[task]["mentions_per_second"]) for task in ("distinct", "as they come")]
        disk = f"{row['index']['mb']:,.0f} / {row['installed_mb']:,} MB"
        cold = f"{statistics.median(row['cold_seconds']):.2f} s"
        made = f"{row['index']['seconds']:,.0f} s"
        cells = [bare, learnt, *rates, cold, f"{row['peak_mb']:,} MB", disk, made]
        lines.append([SYSTEMS[system], *cells])
    head = (
        "system | strict Acc@1, names of the dictionary | and of training mentions (95% interval)"
    )
    speed = "distinct mentions a second | as they come | cold start | peak memory"
    return table(f"{head} | {speed} | disk: index / packages | index made in", lines)


def _rate(values: list[float]) -> str:
    """A median of rates."""
    value = statistics.median(values)
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def linking() -> str:
    """Mentions linked a second beside names encoded a second, and where the time goes."""
    lines = []
    for row in rows("linking"):
        for when in ("before", "now"):
            if values := row.get(when):
                rates = [_rate(values[what]) for what in ("distinct", "as they come", "encoding")]
                share = f"{values['of_encoding_median']:.0%}"
                shares = sorted(values["profile"]["shares"].items(), key=lambda pair: -pair[1])
                profile = ", ".join(f"{stage} {part:.0%}" for stage, part in shares if part > 0.02)
                exact = values.get("exact")
                same = f"{exact['same']} of {exact['queries']}" if exact else "-"
                faster = str(row.get("distinct, times faster, median", "")) * (when == "now")
                lines.append([row["encoder"], when, *rates, share, faster, same, profile])
    head = "encoder | code | distinct mentions a second | as they come | names encoded a second"
    more = "linking of encoding | times faster | the same top 20 as exact search"
    return table(f"{head} | {more} | where the time goes", lines)


def scale() -> str:
    """Dictionaries of 0.1 to 10 million names."""
    lines = []
    for when in ("now", "before"):
        for row in rows("scale", when):
            training, linked = row["training"], row["linking"]
            opened = [row[part]["open_seconds"] for part in ("first_open", "later_open")]
            code = when if when == "now" else f"before ({row['commit']})"
            made = [f"{training['seconds']:,.0f} s", f"{training['peak_mb']:,} MB"]
            used = [f"{training['model_mb']:,.0f} MB", " / ".join(f"{s:.2f} s" for s in opened)]
            used += [f"{linked['resident_mb']:,} MB", _rate(linked["mentions_per_second"])]
            name = [f"{row['millions']:g}", row["encoder"], code]
            lines.append([*name, *made, *used, f"{row['recall']['recall']:.3f}"])
    head = "million names | encoder | code | training | its peak memory | model"
    more = "opening, first / later | memory while linking | distinct mentions a second | recall@20"
    return table(f"{head} | {more}", lines)


def jobs() -> str:
    """What PubMed costs, over MEDIC and over as many names as UMLS has in English."""
    lines = []
    for row in rows("linking"):
        now = row["now"]
        rate, memory = (statistics.median(now[name]) for name in ("distinct", "resident_mb"))
        lines.append(_job("MEDIC, 75,000 names", row["encoder"], rate, memory, now["model_mb"]))
    for row in rows("scale", "now"):
        if row["millions"] == UMLS:
            memory, disk = row["linking"]["resident_mb"], row["training"]["model_mb"]
            rate = statistics.median(row["linking"]["mentions_per_second"])
            lines.append(_job("10 million names", row["encoder"], rate, memory, disk))
    head = "dictionary | encoder | distinct mentions a second | machine hours for PubMed"
    return table(f"{head} | machines for a night of {NIGHT} h | memory | model", lines)


def _job(names: str, encoder: str, rate: float, memory: float, disk: float) -> list[str]:
    """A row: mentions / rate = seconds of machines of two cores."""
    hours = PUBMED / rate / 3600
    machines = f"{max(1, -(-hours // NIGHT)):,.0f}"
    cells = [f"{rate:,.0f}", f"{hours:,.0f}", machines, f"{memory:,.0f} MB", f"{disk:,.0f} MB"]
    return [names, encoder, *cells]


def answers() -> str:
    """What the answers to PubMed take on disk, and what encoding the names of UMLS takes."""
    lines = []
    for row in rows("linking"):
        size = row["now"]["profile"]["bytes_a_mention"]
        encoding = statistics.median(row["now"]["encoding"])
        hours = UMLS * 1e6 / encoding / 3600
        disk = f"{PUBMED:,} × {size} B = {PUBMED * size / 1e9:,.0f} GB"
        time = f"{UMLS * 1e6:,.0f} / {encoding:,.0f} a second = {hours:,.2f} h"
        lines.append([row["encoder"], disk, time])
    return table(
        "encoder | answers to PubMed, tsv, five candidates | encoding ten million names", lines
    )


def ceilings() -> str:
    """What exact search by vectors can reach at most: 2 · n · d operations a mention."""
    if not results.exists("scale"):
        return table("", [])
    machine = results.figures("scale")["machine"]
    lines = []
    for millions in (MEDIC, 1.0, UMLS):
        for encoder, dim in DIMS.items():
            work = 2 * millions * 1e6 * dim
            size = millions * 1e6 * dim * 2 / 1e9
            rate = machine["gflops_fp32"] * 1e9 / work
            once = size / machine["read_gb_per_second"]
            cells = [f"{work / 1e6:,.0f} MFLOP", f"{rate:,.0f}", f"{size:,.2f} GB"]
            cells += [f"{once:.3f} s", f"{BATCH / once:,.0f}"]
            lines.append([f"{millions:g}", f"{encoder}, {dim}", *cells])
    head = "million names | vectors | operations a mention"
    speed = f"mentions a second at {machine['gflops_fp32']:,} GFLOP/s | vectors in half precision"
    memory = f"reading them once at {machine['read_gb_per_second']:g} GB/s"
    return table(f"{head} | {speed} | {memory} | mentions a second, {BATCH:,} a reading", lines)


BLOCKS = (peers, linking, scale, jobs, answers, ceilings)
