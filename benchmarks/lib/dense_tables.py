"""Tables of dense runs: accuracy of each configuration, and differences between configurations."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib import dense_runs
from benchmarks.lib.dense_runs import KS, Configuration, Task
from benchmarks.lib.plot import plot
from benchmarks.lib.results import PLOTS, save
from linker import metrics
from linker.evaluation import protocols

Runs = Mapping[int, dict[str, Any]]
"""The figures of the runs of a configuration by seed."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the runs to a parser."""
    add, again = parser.add_argument, "may be given again"
    add("--seeds", type=int, default=5, help="runs of each configuration")
    add("--seed", type=int, action="append", help=f"run this one; {again}")
    add("--only", action="append", metavar="NAME", help=f"run this configuration; {again}")
    add("--medic", metavar="YEAR", help="run those with this release")
    add("--table", action="store_true", help="run nothing, put together what is kept")


def main(
    given: argparse.Namespace,
    configurations: Sequence[Configuration],
    task: Task,
    published: Mapping[str, list[float]],
    label: str = "dense",
) -> None:
    """Make the runs that are missing, seed by seed; then write a table and plots of all runs.

    Args:
        given: the options of `add_options`.
        configurations: the rows of the table.
        task: what is trained on and evaluated on.
        published: name of a configuration -> Acc@1 and Acc@5 that a paper reports for it.
        label: what the result is called, behind corpus and split.
    """
    for seed in [] if given.table else given.seed or range(given.seeds):
        for configuration in configurations:
            if (not given.only or configuration.name in given.only) and (
                not given.medic or configuration.medic == given.medic
            ):
                dense_runs.run(configuration, task, seed)
    all_runs = {(c.name, c.medic): dense_runs.kept(c, task) for c in configurations}
    rows = [
        row([*runs.values()]) | {"published": published.get(name)}
        for (name, _), runs in all_runs.items()
        if runs
    ]
    differences = [
        difference(all_runs[c.name, c.medic], all_runs[other, c.medic], protocol)
        for c in configurations
        for other in c.over
        if all_runs[c.name, c.medic] and all_runs.get((other, c.medic))
        for protocol in protocols.PROTOCOLS
    ]
    for configuration in configurations:
        draw(all_runs[configuration.name, configuration.medic], configuration, task)
    save(f"{task.corpus}_{task.on}_{label}", {"rows": rows, "differences": differences})
    print(*rows, sep="\n")


def row(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row: means over the runs, with bootstrap intervals over mentions and runs."""
    first = runs[0]
    cells = {name: first[name] for name in ("configuration", "medic", "corpus", "on")}
    cells |= {"runs": len(runs), "epochs": first["options"]["training"]["epochs"]}
    cells |= {protocol: accuracy(runs, protocol) for protocol in protocols.PROTOCOLS}
    cells["example"] = first["example"]
    if first["norms"]:
        cells["hypernym_longer"] = [round(run["norms"]["hypernym_longer"], 4) for run in runs]
    return cells


def accuracy(runs: Sequence[dict[str, Any]], protocol: str) -> dict[str, Any]:
    """Acc@k under a protocol, of all mentions and of those that were seen in training and not."""
    right = {k: _right(runs, protocol, k) for k in KS}
    unseen = _numbers(runs[0]["unseen"][protocol]) == 1
    return {
        "n": len(unseen),
        "acc": {str(k): _rounded(metrics.mean_interval(right[k], samples=10_000)) for k in KS},
        "each_run_acc1": [round(float(mean), 5) for mean in right[1].mean(1)],
        "seen_acc1": _rounded(metrics.mean_interval(right[1][:, ~unseen], samples=10_000)),
        "unseen_acc1": _rounded(metrics.mean_interval(right[1][:, unseen], samples=10_000)),
        "n_unseen": int(unseen.sum()),
    }


def difference(a: Runs, b: Runs, protocol: str = "biosyn") -> dict[str, Any]:
    """How much better `a` is than `b`, by a paired bootstrap over mentions and runs.

    The runs are those whose seeds both have, or all where there is no such seed.
    """
    seeds = [seed for seed in a if seed in b]
    first, second = ([runs[seed] for seed in seeds or runs] for runs in (a, b))
    pair = {"of": first[0]["configuration"], "over": second[0]["configuration"]}
    intervals = {
        f"acc{k}": _rounded(
            metrics.paired_difference(_right(first, protocol, k), _right(second, protocol, k))
        )
        for k in KS
    }
    return pair | {"protocol": protocol, "seeds": seeds} | intervals


def gain(a: Mapping[str, Any], b: Mapping[str, Any], protocol: str) -> list[float | None]:
    """How much higher Acc@1 of one run is than that of another, by a paired bootstrap."""
    return _rounded(metrics.paired_difference(_right([a], protocol, 1), _right([b], protocol, 1)))


def _right(runs: Sequence[Mapping[str, Any]], protocol: str, k: int) -> NDArray[np.bool_]:
    """Whether each mention is right at k in each run: (runs, mentions)."""
    ranks = np.array([_numbers(run["ranks"][protocol]) for run in runs])
    return (ranks >= 1) & (ranks <= k)


def _numbers(line: str) -> NDArray[np.int64]:
    return np.array(line.split(), np.int64)


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [round(value, 5) if value == value else None for value in values]


def draw(runs: Runs, configuration: Configuration, task: Task) -> None:
    """Plot loss and lambda by epoch of the first run of a configuration."""
    history = next(iter(runs.values()))["history"] if runs else None
    if history:
        # the history has the name of the run too
        phases = [e["phase"] if e["phase"] in ("align", "ground") else "rank" for e in history]
        path = PLOTS / f"{task.table}-{configuration.slug()}.png"
        pairs = zip(history, phases, strict=True)
        plot([epoch | {"phase": phase} for epoch, phase in pairs], path)
