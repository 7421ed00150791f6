"""The table of jobs over many processes and machines."""

from __future__ import annotations

from typing import Any

from benchmarks.lib import results
from benchmarks.pages.tables import table

_WAYS = {
    "plain": "the plain command",
    "workers": "`--workers {cores}`",
    "ray_1": "Ray, one node of one worker",
    "ray_4": "Ray, four nodes of one worker each",
}


def cluster() -> str:
    """Rates beside the plain command, and whether the output is the same."""
    if not results.exists("cluster"):
        return table("", [])
    figures = results.figures("cluster")
    rates, seconds = figures["times_as_fast_as_plain"], figures["seconds"]
    lines = [
        [
            title.format(**figures["workers"]),
            f"{seconds[way]:,.0f} s",
            f"{rates[way]:.2f}",
            _said(figures.get(way, {"same": True})["same"]),
        ]
        for way, title in _WAYS.items()
    ]
    lines += [*_distinct(figures), *_lost(figures)]
    return table("way | seconds | times as fast | same output", lines)


def _distinct(figures: dict[str, Any]) -> list[list[str]]:
    """The row of distinct mentions, which were linked three times by turns."""
    if "by_turns" not in figures:
        return []
    runs = figures["by_turns"]
    seconds = "; ".join(f"{min(s):,.0f} to {max(s):,.0f} s" for s in runs["seconds"].values())
    ratios = sorted(runs["times_as_fast"])
    title = f"{runs['mentions']:,} distinct mentions, {' and '.join(runs['seconds'])} by turns"
    middle = f"{ratios[1]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return [[title, seconds, middle, _said(runs["same"])]]


def _lost(figures: dict[str, Any]) -> list[list[str]]:
    """The rows of jobs that lost a worker or the head."""
    worker, head = figures["lost_worker"], figures["lost_head"]
    parts, killed = figures["parts"], head["killed"]
    ended = f"exit code {killed['exit_code']} after {killed['seconds_after']:.0f} s"
    again = f"head killed after {killed['parts_before']} of {parts} parts ({ended}), started again"
    kept = f"{head['parts_kept']} parts kept, {head['parts_written_twice']} written twice"
    lost = f"a worker killed after {worker['parts_before']} of {parts} parts"
    return [
        [lost, f"{worker['seconds']:,.0f} s", "", _said(worker["same"])],
        [f"{again}: {kept}", f"{head['again']['seconds']:,.0f} s", "", _said(head["same"])],
    ]


def _said(same: bool) -> str:
    return "yes" if same else "no"


BLOCKS = (cluster,)
