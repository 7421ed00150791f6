"""linker as it ships: what `linker train` makes of some arguments; README's tables.

python benchmarks/accuracy/shipped.py               on development mentions
python benchmarks/accuracy/shipped.py --on test     on test mentions
python benchmarks/accuracy/shipped.py --only tfidf  systems with this encoder
python benchmarks/accuracy/shipped.py --corpus ncbi --medic 2012    with this corpus and release
python benchmarks/accuracy/shipped.py --again       forgets the chosen runs that are kept, before
python benchmarks/accuracy/shipped.py --list        runs nothing, names the chosen runs to be made
python benchmarks/accuracy/shipped.py --table       runs nothing, puts together what is kept

Writes results/shipped.json; the runs are kept in results/runs/shipped-*.jsonl.gz, and the model of
a run on development mentions in benchmarks/work/shipped, for speed/speed.py. Five seeds where
mentions are learnt, whose folds, ranker and encoder have chance; without them there is none. The
weights that ship know the training and development mentions of both corpora: rows on development
mentions start from weights that were fitted without their corpus.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import ranker_weights
from benchmarks.lib import dense, results, runs
from benchmarks.lib.data import CORPORA, MEDIC, TITLES, locate
from benchmarks.lib.dense import CONCEPTS, Task
from benchmarks.lib.linkers import ONTOLOGIES
from benchmarks.lib.measure import Figures, apart, megabytes, run_command
from benchmarks.lib.results import WORK
from linker import Linker
from linker.evaluation import run
from linker.evaluation.protocols import PROTOCOLS, Outcome
from linker.linking import ranker

SEEDS = range(5)
DEFAULT = "static"  # the encoder that `linker train` takes


class System(NamedTuple):
    """What is typed behind `linker train` and its dictionary."""

    encoder: str = DEFAULT
    mentions: bool = False  # whether annotated mentions are learnt
    lent: bool = False  # whether DOID and HPO lend names

    @property
    def typed(self) -> str:
        """The arguments, for the pages."""
        words = [f"--encoder {self.encoder}"] if self.encoder != DEFAULT else []
        words += ["--mentions M"] * self.mentions + ["--lend doid --lend hpo"] * self.lent
        return " ".join(words)

    def releases(self, corpus: str) -> Sequence[str]:
        """The releases of MEDIC that it is trained with; the papers have that of 2012."""
        if not (self.mentions or self.lent):
            return ["2026"]  # which `--dict medic` fetches
        return ["2012", "2017"] if self.mentions and corpus == "ncbi" else ["2017"]

    def arguments(self, task: Task, release: str, seed: int) -> list[str]:
        """The arguments of `linker train`."""
        words = ["--dict", str(locate(MEDIC[release])), "--encoder", self.encoder]
        if release == "2012":
            words += ["--hierarchy", str(locate(MEDIC["2017"]))]
        if self.lent:
            words += [word for name in ONTOLOGIES for word in ("--lend", str(locate(name)))]
        if self.mentions:
            known = [locate(CORPORA[task.corpus][split]) for split in task.learnt]
            words += [word for path in known for word in ("--mentions", str(path))]
            words += ["--type", "Disease"]
        return [*words, "--set", f"training.seed={seed}"]


SYSTEMS = (
    System(),
    System(lent=True),
    System("static,transformer", lent=True),
    System("tfidf", mentions=True),
    System(mentions=True),
    System(mentions=True, lent=True),
    System("static,transformer", mentions=True, lent=True),
)


def typed_dictionary(release: str) -> str:
    """The arguments that name the dictionary, for the pages; that of 2012 has no hierarchy."""
    return f"--dict MEDIC-{release}" + " --hierarchy MEDIC-2017" * (release == "2012")


def find(system: System, task: Task, release: str, seed: int) -> Figures:
    """Train a system, measure the training and the model, and evaluate it by both protocols."""
    folder = WORK / "shipped" / task.table / name(system, release)
    weights = ranker.SHIPPED if task.on == "test" else ranker_weights.without(task.corpus)
    arguments = system.arguments(task, release, seed)
    figures = apart(train, str(folder), str(weights), arguments)
    linker = Linker.load(folder)
    answered = {p: run.evaluate(task.test, linker, p, dense.KS) for p in PROTOCOLS}
    if task.on == "test":
        shutil.rmtree(folder)
    figures |= dense.ranks(linker, {p: of_one.outcomes for p, of_one in answered.items()})
    strict = answered["strict"]
    confidence = {name: strict.record["calibration"][name] for name in ("ece", "auroc")}
    confidence["surest"] = strict.record["risk_coverage"]["coverage"]["80"]["acc"]
    confidence["unanswered"] = strict.record["no_answer"]["without_answer"]
    return figures | {"confidence": confidence, "words": by_words(strict.outcomes)}


def train(folder: str, weights: str, arguments: Sequence[str]) -> Figures:
    """Run `linker train` in this process, from some weights of the ranker."""
    shutil.rmtree(f"{folder}.training", ignore_errors=True)  # of a run that was interrupted
    with ranker_weights.starting_from(Path(weights)):
        figures = run_command("train", *arguments, "--quiet", "-o", folder)
    return figures | {"model_mb": megabytes(Path(folder))}


def word_scale() -> list[tuple[float, str]]:
    """The least confidence of each of the words of the workbench, the surest first."""
    text = (results.ROOT / "linker/desk/page/predictions.js").read_text("utf-8")
    unsure = re.findall(r"UNSURE = ([\d.]+);", text)[0]
    found = re.findall(r'\[([\d.]+|UNSURE), "([^"]+)"\]', text)
    return [(float(least.replace("UNSURE", unsure)), words) for least, words in found]


def by_words(outcomes: Sequence[Outcome]) -> dict[str, list[int]]:
    """For each of the words how many first candidates are right, of how many."""
    least_of = word_scale()
    counts = {words: [0, 0] for _, words in least_of}
    for outcome in outcomes:
        if outcome.confidence is not None:
            words = next(words for least, words in least_of if outcome.confidence >= least)
            counts[words][0] += outcome.first_is_right
            counts[words][1] += 1
    return counts


def name(system: System, release: str) -> str:
    """The name of a system with a release; the runs of it have the seed behind."""
    return runs.slug(f"{system.typed or 'as typed'} {release}")


def row(system: System, task: Task, release: str, of_seeds: Sequence[Figures]) -> dict[str, Any]:
    """Means over the runs; accuracies with intervals over mentions and runs."""
    cells = {"corpus": task.corpus, "on": task.on, "medic": release} | system._asdict()
    cells |= {"dictionary": typed_dictionary(release), "typed": system.typed}
    cells |= {"model": name(system, release), "runs": len(of_seeds)}
    cells["weights"] = "as they ship" if task.on == "test" else "fitted without the corpus"
    cells |= {protocol: dense.accuracy(of_seeds, protocol) for protocol in (*PROTOCOLS, CONCEPTS)}
    for field in ("seconds", "peak_mb", "model_mb"):
        cells[field] = round(statistics.mean(figures[field] for figures in of_seeds), 1)
    each = [figures["confidence"] for figures in of_seeds]
    cells["confidence"] = {n: round(statistics.mean(e[n] for e in each), 5) for n in each[0]}
    return cells | {"words": of_seeds[0]["words"]}


def systems(task: Task) -> list[tuple[System, str]]:
    """The systems of a task, each with the releases that it is trained with."""
    return [(s, release) for s in SYSTEMS for release in s.releases(task.corpus)]


def wanted(given: argparse.Namespace, task: Task) -> dict[str, Callable[[], Figures]]:
    """What makes each run of a task that the options choose, by the name of the run."""
    runs_of_task: dict[str, Callable[[], Figures]] = {}
    if given.on != task.on or task.corpus not in given.corpus:
        return runs_of_task
    for seed in SEEDS[: given.seeds]:
        for system, release in systems(task):
            has_chance = system.mentions or not seed
            is_chosen = system.encoder in given.only and release in given.medic
            if has_chance and is_chosen:
                run_name = f"{name(system, release)}-{seed}"
                runs_of_task[run_name] = partial(find, system, task, release, seed)
    return runs_of_task


def rows(given: argparse.Namespace, task: Task) -> list[dict[str, Any]]:
    """The rows of the systems whose runs are kept; those that are missing are made before."""
    table, chosen = f"shipped-{task.table}", wanted(given, task)
    for run_name in chosen if given.again else ():
        runs.remove(table, run_name)
    runs.made(table, chosen, is_table=given.table)
    kept = runs.figures(table)
    lines = []
    for system, release in systems(task):
        names = [f"{name(system, release)}-{seed}" for seed in SEEDS]
        if of_seeds := [kept[run_name] for run_name in names if run_name in kept]:
            lines.append(row(system, task, release, of_seeds))
    return lines


def main() -> None:
    """Make the runs, and put the rows together."""
    parser = results.parser(__doc__)
    encoders = list(dict.fromkeys(system.encoder for system in SYSTEMS))
    add = parser.add_argument
    add("--on", choices=("devel", "test"), default="devel")
    add("--only", nargs="+", default=encoders, choices=encoders, metavar="ENCODER")
    add("--corpus", nargs="+", default=[*TITLES], choices=TITLES, help="ncbi or bc5cdr")
    add("--medic", nargs="+", default=[*MEDIC], choices=MEDIC, help="the year of the dictionary")
    add("--seeds", type=int, default=len(SEEDS), help="the first ones alone")
    add("--again", action="store_true", help="forget the chosen runs that are kept, before")
    add("--list", action="store_true", help="run nothing, name the chosen runs to be made")
    add("--table", action="store_true", help="run nothing, put together what is kept")
    given = parser.parse_args()
    tasks = [Task(corpus, on) for on in ("devel", "test") for corpus in TITLES]
    if given.list:
        for task in tasks:
            kept = {} if given.again else runs.figures(f"shipped-{task.table}")
            print(*(run for run in wanted(given, task) if run not in kept), sep="\n")
        return
    every = [line for task in tasks for line in rows(given, task)]
    results.save("shipped", {"rows": every})
    print(*every, sep="\n")


if __name__ == "__main__":
    main()
