"""Runs of dense linkers: one configuration trained with one seed, evaluated on one corpus.

A run is kept when it ends (lib/runs.py); a second call goes on with what is missing, from the last
checkpoint of a run that was interrupted. Self-alignment and grounding see no mentions: runs that
share the options of these phases share the trained weights. What is compared are encoders: there is
no ranker, and candidates stand in the order of their scores.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.lib import runs
from benchmarks.lib.data import CORPORA, documents, medic
from benchmarks.lib.linkers import by_score
from benchmarks.lib.results import WORK, record
from benchmarks.lib.vectors import vectors
from linker import Linker, LinkerOptions, matching
from linker.evaluation import protocols, report
from linker.options import changed
from linker.training import listwise
from linker.training.plan import RunSettings

OURS = "linker.training.listwise._OURS"
KS = (1, 5, 20)
EXAMPLE = "B-cell non-Hodgkins lymphomas", "MESH:D016393"  # BCNH, Table 2
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
    text: bool = True  # False: the word vectors are from the names of the dictionary alone
    # other constants of the program than it has: "linker.training.ground._RULES" -> value
    constants: Mapping[str, Any] = field(default_factory=dict)
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
    def known(self) -> list[Any]:
        """The documents to train on."""
        splits = list(CORPORA[self.corpus])
        return documents(self.corpus, *splits[: splits.index(self.on)])

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
    with ExitStack() as stack:
        for place, value in {OURS: last, **configuration.constants}.items():
            stack.enter_context(mock.patch(place, value))
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
        words=vectors("fastText") if configuration.from_words and configuration.text else None,
        validate=(lambda linker: _accuracy(linker, test)) if task.on == "devel" else None,
        settings=RunSettings(folder / phase, resume=True, shared=folder, on_event=_print),
    )
    names = {"configuration": configuration.name, "medic": configuration.medic}
    return {
        **names,
        "corpus": task.corpus,
        "on": task.on,
        "options": dataclasses.asdict(options),
        "history": model.history,
        "norms": norms(model),
        "example": example(model),
    } | ranked(model, test)


def ranked(model: Linker, test: list[Any]) -> dict[str, dict[str, str]]:
    """The rank of each mention by protocol, and whether training had not seen it, as texts."""
    ranks, unseen = {}, {}
    for protocol in protocols.PROTOCOLS:
        outcomes = list(getattr(protocols, protocol)(model, test, max(KS)))
        ranks[protocol] = " ".join(str(outcome.rank) for outcome in outcomes)  # in a line
        new = {id(outcome) for outcome in report.groups(model, outcomes)["unseen_mention"]}
        unseen[protocol] = " ".join(str(int(id(outcome) in new)) for outcome in outcomes)
    return {"ranks": ranks, "unseen": unseen}


def checkpoints(configuration: Configuration, seed: int) -> Path:
    """The folder of checkpoints, named after what self-alignment or grounding depends on."""
    groups = ("normalize", "encoder", "recipe", "ground" if configuration.from_words else "align")
    values = [dataclasses.asdict(getattr(configuration.options, group)) for group in groups]
    parts = [configuration.medic, seed, *values, sorted(map(str, configuration.constants.items()))]
    parts += ["no text"] * (not configuration.text)
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


def norms(model: Linker) -> dict[str, float] | None:
    """How often the vector of a hypernym is longer than that of its hyponym.

    A pair is the preferred names of a concept and of a direct parent that is no root. None for
    vectors of unit length.
    """
    vectors = getattr(model.generator, "vectors", None)
    if vectors is None or model.options.encoder.normalize:
        return None
    names, hierarchy = model.dictionary, model.dictionary.hierarchy
    row_of = {text: row for row, text in enumerate(model.generator.table.texts)}
    preferred = [row_of[model.normalize(names.preferred_name(row))] for row in range(len(names))]
    length = np.linalg.norm(vectors.astype(np.float32), axis=1)[preferred]
    longer = [
        length[parent] > length[child]
        for child in range(len(names))
        for parent in hierarchy.parents([child])[0].tolist()
        if parent not in hierarchy.top
    ]
    return {"hypernym_longer": float(np.mean(longer))}


def example(model: Linker) -> list[tuple[str, int]]:
    """The ten best names of the mention of BCNH's Table 2, each with its relevance.

    Relevance is 2 for a synonym, 1 for a hypernym, 0 for others.
    """
    names, table = model.dictionary, model.generator.table
    right = names.resolve(EXAMPLE[1])
    above = {
        names.ids[parent]
        for identifier in right
        for parents in names.hierarchy.parents(names.rows(identifier))
        for parent in {*parents.tolist()} - names.hierarchy.top
    }
    lookup = model.normalize(EXAMPLE[0])
    rows = model.generator.rank([lookup], 10, "names")[0].names.tolist()
    ids = [
        {names.ids[c] for c in table.concepts[table.indptr[row] : table.indptr[row + 1]]}
        for row in rows
    ]
    return [
        (table.texts[row], matching.relevance(i, right, above))
        for row, i in zip(rows, ids, strict=True)
    ]
