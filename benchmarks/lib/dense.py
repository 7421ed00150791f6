"""Dense linkers: runs, each a configuration trained with one seed, and tables of them.

A run is kept when it ends (lib/runs.py); a second call goes on with what is missing, from the last
checkpoint of a run that was interrupted. Self-alignment and grounding see no mentions: runs that
share the options of these phases share the trained weights. What is compared are encoders: there is
no ranker, and candidates stand in the order of their scores.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib import runs
from benchmarks.lib.data import CORPORA, documents, medic
from benchmarks.lib.linkers import by_score
from benchmarks.lib.results import WORK, record, save
from benchmarks.lib.vectors import vectors
from linker import Linker, LinkerOptions
from linker.evaluation import metrics, protocols, report
from linker.evaluation.protocols import PROTOCOLS, Outcome
from linker.linking.options import changed
from linker.training import listwise
from linker.training.plan import RunSettings

KS = (1, 5, 20)
CONCEPTS = "biosyn, of concepts"  # the protocol biosyn with one name of each concept first
Runs = Mapping[int, dict[str, Any]]  # the figures of the runs of a configuration by seed
FROM_WORDS = ("dan", "dan-higher", "fewshot", "bne")
"""Encoders made of word vectors, and the group of options that each reads."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is trained: a row of a table."""

    name: str
    medic: str  # the release
    options: LinkerOptions
    mentions: bool = True  # False: the dictionary is all there is to learn from
    encoder: str = "transformer"
    over: tuple[str, ...] = ()  # the configurations of the same release that it is compared with

    @property
    def from_words(self) -> bool:
        """Whether the encoder is made of word vectors."""
        return self.encoder in FROM_WORDS

    def seeded(self, seed: int) -> LinkerOptions:
        """The options with a seed."""
        return changed(self.options, {"training": {"seed": seed}})

    def slug(self) -> str:
        """The name for a file, with the release."""
        return f"{runs.slug(self.name)}-{self.medic}"


@dataclass(frozen=True, slots=True)
class Task:
    """A corpus and the split to evaluate on; the splits before it are trained on."""

    corpus: str
    on: str

    @property
    def table(self) -> str:
        """The table that keeps its runs."""
        return f"{self.corpus}-{self.on}"

    @property
    def learnt(self) -> list[str]:
        """The splits to train on."""
        splits = list(CORPORA[self.corpus])
        return splits[: splits.index(self.on)]

    @property
    def known(self) -> list[Any]:
        """The documents to train on."""
        return documents(self.corpus, *self.learnt)

    @property
    def test(self) -> list[Any]:
        """The documents to evaluate on."""
        return documents(self.corpus, self.on)


def run(configuration: Configuration, task: Task, seed: int) -> None:
    """Train and evaluate a configuration, unless that was done before."""
    name = f"{configuration.slug()}-{seed}"
    if name in runs.read(task.table):
        return
    print(f"{name}, on {task.table}", flush=True)
    figures = _trained(configuration, task, seed)
    runs.append(task.table, name, record(f"runs/{task.table}/{name}", figures, seed))
    shutil.rmtree(checkpoints(configuration, seed) / f"{task.table}-{name}", ignore_errors=True)


def kept(configuration: Configuration, task: Task) -> dict[int, dict[str, Any]]:
    """The figures of the runs of a configuration by seed."""
    figures, start = runs.figures(task.table), configuration.slug()
    names = {seed: f"{start}-{seed}" for seed in range(100)}
    return {seed: figures[name] for seed, name in names.items() if name in figures}


def _trained(configuration: Configuration, task: Task, seed: int) -> dict[str, Any]:
    """Train once; how well the model links the mentions of the task.

    The last epoch is kept: the best one would flatter where the mentions that chose it are
    evaluated on.
    """
    last = dataclasses.replace(listwise._OURS, keep_best=False)
    with mock.patch("linker.training.listwise._OURS", last):
        return _evaluated(configuration, task, seed)


def _evaluated(configuration: Configuration, task: Task, seed: int) -> dict[str, Any]:
    options, test = configuration.seeded(seed), task.test
    phase = f"{task.table}-{configuration.slug()}-{seed}"
    folder = checkpoints(configuration, seed)
    model = by_score(
        medic(configuration.medic),
        configuration.encoder,
        task.known if configuration.mentions else [],
        options,
        words=vectors("fastText") if configuration.from_words else None,
        validate=(lambda linker: _accuracy(linker, test)) if task.on == "devel" else None,
        settings=RunSettings(folder / phase, resume=True, on_event=_print),
    )
    names = {"configuration": configuration.name, "medic": configuration.medic}
    return {
        **names,
        "corpus": task.corpus,
        "on": task.on,
        "options": dataclasses.asdict(options),
        "history": model.history,
    } | ranked(model, test)


def ranked(model: Linker, test: list[Any]) -> dict[str, dict[str, str]]:
    """The rank of each mention by protocol, and whether training had not seen it, as texts."""
    return ranks(model, {p: [*getattr(protocols, p)(model, test, max(KS))] for p in PROTOCOLS})


def ranks(model: Linker, outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, dict[str, str]]:
    """As `ranked`, of outcomes by protocol; `CONCEPTS` where a ranker puts these in order."""
    ranks, unseen = {}, {}
    for protocol, of_one in outcomes.items():
        ranks[protocol] = " ".join(str(outcome.rank) for outcome in of_one)  # in a line
        new = {id(outcome) for outcome in report.groups(model, of_one)["unseen_mention"]}
        unseen[protocol] = " ".join(str(int(id(outcome) in new)) for outcome in of_one)
    if model.ranker:
        by_concept = (outcome.rank_of_concepts or 0 for outcome in outcomes["biosyn"])
        ranks[CONCEPTS], unseen[CONCEPTS] = " ".join(map(str, by_concept)), unseen["biosyn"]
    return {"ranks": ranks, "unseen": unseen}


def checkpoints(configuration: Configuration, seed: int) -> Path:
    """The folder of checkpoints, named after what self-alignment or grounding depends on."""
    groups = ("normalize", "encoder", "recipe", "ground" if configuration.from_words else "align")
    values = [dataclasses.asdict(getattr(configuration.options, group)) for group in groups]
    parts = [configuration.medic, seed, *values]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    return WORK / f"{configuration.medic}-{seed}-{digest}"


def _accuracy(linker: Linker, items: list[Any]) -> dict[str, float]:
    """Acc@k on development mentions after an epoch."""
    outcomes = list(protocols.biosyn(linker, items, max(KS)))
    acc = report.figures(outcomes, KS, intervals=False)["acc"]
    return {"dev_acc1": acc["1"], "dev_acc5": acc["5"], "candidate_recall": acc["20"]}


def _print(record: Any) -> None:
    """Print an epoch."""
    print(" ", record, flush=True)


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
    """Make the runs that are missing, seed by seed; then write a table of all runs.

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
                run(configuration, task, seed)
    all_runs = {(c.name, c.medic): kept(c, task) for c in configurations}
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
        for protocol in PROTOCOLS
    ]
    save(f"{task.corpus}_{task.on}_{label}", {"rows": rows, "differences": differences})
    print(*rows, sep="\n")


def row(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row: means over the runs, with bootstrap intervals over mentions and runs."""
    first = runs[0]
    cells = {name: first[name] for name in ("configuration", "medic", "corpus", "on")}
    cells |= {"runs": len(runs), "epochs": first["options"]["training"]["epochs"]}
    cells |= {protocol: accuracy(runs, protocol) for protocol in PROTOCOLS}
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


def _right(runs: Sequence[Mapping[str, Any]], protocol: str, k: int) -> NDArray[np.bool_]:
    """Whether each mention is right at k in each run: (runs, mentions)."""
    ranks = np.array([_numbers(run["ranks"][protocol]) for run in runs])
    return (ranks >= 1) & (ranks <= k)


def _numbers(line: str) -> NDArray[np.int64]:
    return np.array(line.split(), np.int64)


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [round(value, 5) if value == value else None for value in values]
