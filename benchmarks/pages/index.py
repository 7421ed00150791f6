"""The tables of indexes of vectors and of new releases."""

from __future__ import annotations

from typing import Any

from benchmarks.lib import results
from benchmarks.pages.tables import table

TITLES = {"tfidf": "characters", "static": "`static`", "transformer": "MiniLM"}


def ann_indexes() -> str:
    """The approximate indexes: of each setting the recall and the speed."""
    if not results.exists("ann"):
        return "No runs yet."
    lines = [
        [
            row["index"],
            f"{row['setting']:,}",
            f"{row['proposed']:,}",
            f"{row['recall']:.4f}",
            f"{row['queries_per_second']:,.0f}",
            f"{row['build_seconds']:,.0f}",
            f"{row['bytes_per_name']:.0f}",
        ]
        for row in results.figures("ann")["indexes"]
    ]
    head = "index | lists read, or breadth | proposed | recall@20 | queries a second"
    return table(f"{head} | build, seconds | bytes a name", lines)


def ann_within() -> str:
    """Searches within parts of the names."""
    found: dict[str, Any] = results.figures("ann")["linker"] if results.exists("ann") else {}
    lines = [
        [
            f"{100 * row['share']:.0f}%, {row['names']}",
            f"{row['recall']:.4f}",
            f"{row['queries_per_second']:,.0f}",
        ]
        for row in found.get("within", [])
    ]
    if lines:
        whole = [f"{found['recall']:.4f}", f"{found['queries_per_second']:,.0f}"]
        lines.insert(0, ["all", *whole])
    return table("names | recall@20 | queries a second", lines)


def releases() -> str:
    """What taking MEDIC 2026 into models of MEDIC 2017 costs."""
    if not results.exists("release"):
        return "No runs yet."
    lines = []
    for encoder, row in results.figures("release").items():
        seconds, full = (sum(row[part].values()) for part in ("seconds", "full_build_seconds"))
        lines.append(
            [
                TITLES[encoder],
                f"{seconds:.1f}",
                f"{full:.1f}",
                f"{100 * row['share_of_full_build']:.0f}%",
                f"{100 * row['share_without_reading']:.0f}%",
                f"{row['same_candidates']:,} of {row['mentions']:,}",
            ]
        )
    head = "encoder | seconds | all names encoded again | share | share without reading the file"
    return table(f"{head} | mentions with the same 20 candidates", lines)


BLOCKS = (ann_indexes, ann_within, releases)
