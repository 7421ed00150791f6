"""The tables of attacks, of ties, and of the encoder that held-out names choose."""

from __future__ import annotations

from typing import Any

from benchmarks.lib.tables import result, table


def attacked() -> str:
    """What was tried, and what failed before and after."""
    before, after = result("attacks_before"), result("attacks")
    rows = []
    for kind, row in after.items():
        was = before.get(kind)
        told = f"{was['failed']:,} of {was['tried']:,}" if was else "not tried"
        rows.append([kind, row["what"], told, f"{row['failed']:,} of {row['tried']:,}"])
    return table(["kind", "what", "failed before", "failed now"], rows)


def ties() -> str:
    """What decides between equal scores."""
    rows = []
    for corpus, figures in result("ties").items():
        for order, row in figures["orders"].items():
            low, high = row["interval"]
            change = (
                "" if order == "kind" else f"{row['difference']:+.4f} ({low:+.4f} to {high:+.4f})"
            )
            moved = (
                f"{row[way]['mentions']:,} ({row[way]['distinct']:,} distinct)"
                for way in ("better", "worse")
            )
            rows.append(
                [corpus, f"{figures['mentions']:,}", order, f"{row['acc1']:.4f}", change, *moved]
            )
    return table(
        ["corpus", "mentions", "order", "Acc@1", "to kind alone (95% interval)", "better", "worse"],
        rows,
    )


def trial() -> str:
    """What held-out names say of dan and characters, and what mentions say."""
    rows = []
    for name, row in result("choosing").items():
        held: dict[str, Any] | None = row.get("held_out")
        told = (
            f"{held['names']:,}: {held['tfidf']:,} / {held['dan']:,}, λ × {held['factor']:g}"
            if held
            else "too few"
        )
        for corpus, found in row["mentions"].items():
            cells = [f"{found['tfidf']['acc1']:.4f}"]
            for system in ("dan as trained", "dan with λ chosen"):
                low, high = found[system]["interval"]
                cells.append(f"{found[system]['acc1']:.4f} ({low:+.3f} to {high:+.3f})")
            seconds = " / ".join(f"{row['seconds'][encoder]:,.0f}" for encoder in ("tfidf", "dan"))
            rows.append([name, told, row["taken"], f"{corpus} ({found['n']:,})", *cells, seconds])
    head = ["dictionary", "names held out: right by characters / dan", "taken", "judged on"]
    return table(
        [
            *head,
            "Acc@1 characters",
            "dan as trained (difference)",
            "dan, λ chosen (difference)",
            "seconds",
        ],
        rows,
    )


BLOCKS = (attacked, ties, trial)
