"""linker as it ships: what `linker train` makes of some arguments, with the ranker; README's table.

python benchmarks/accuracy/shipped.py               on development mentions
python benchmarks/accuracy/shipped.py --on test     on test mentions
python benchmarks/accuracy/shipped.py --only tfidf  systems with this encoder
python benchmarks/accuracy/shipped.py --table       runs nothing, puts together what is kept

Writes results/shipped.json; the runs are kept in results/runs/shipped-*.jsonl.gz, and the model of
a run on development mentions in benchmarks/work/shipped, for speed/speed.py. Five seeds where
mentions are learnt, whose folds, ranker and encoder have chance; without them there is none. The
weights that ship know the training and development mentions of both corpora: rows on development
mentions start from weights that were fitted without their corpus.
"""

from __future__ import annotations

import re
import shutil
import statistics
import sys
from collections.abc import Sequence
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
BIOSYN = {  # names and training mentions as the protocol `biosyn` wants them
    "normalize.punctuation": "ascii",
    "normalize.greek": "false",
    "normalize.accents": "false",
    "text.biosyn": "true",
}


class System(NamedTuple):
    """What is typed behind `linker train --dict medic`."""

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
        """The releases of MEDIC that it is trained with; that of 2012 is for `biosyn` alone."""
        if not (self.mentions or self.lent):
            return ["2026"]  # which `--dict medic` fetches
        return ["2012", "2017"] if self.mentions and corpus == "ncbi" else ["2017"]

    def arguments(self, task: Task, release: str, seed: int) -> list[str]:
        """The arguments of `linker train`."""
        words = ["--dict", str(locate(MEDIC[release])), "--encoder", self.encoder]
        if release == "2012":
            words += ["--hierarchy", str(locate(MEDIC["2017"]))]
            words += [w for option, value in BIOSYN.items() for w in ("--set", f"{option}={value}")]
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
    cells |= {"typed": system.typed, "model": name(system, release), "runs": len(of_seeds)}
    cells["weights"] = "as they ship" if task.on == "test" else "fitted without the corpus"
    cells |= {protocol: dense.accuracy(of_seeds, protocol) for protocol in (*PROTOCOLS, CONCEPTS)}
    for field in ("seconds", "peak_mb", "model_mb"):
        cells[field] = round(statistics.mean(figures[field] for figures in of_seeds), 1)
    each = [figures["confidence"] for figures in of_seeds]
    cells["confidence"] = {n: round(statistics.mean(e[n] for e in each), 5) for n in each[0]}
    return cells | {"words": of_seeds[0]["words"]}


def rows(on: str, only: Sequence[str], seeds: int, is_table: bool) -> list[dict[str, Any]]:
    """The rows of the systems whose runs are kept; those that are missing are made before."""
    lines = []
    for task in (Task(corpus, on) for corpus in TITLES):
        table = f"shipped-{task.table}"
        every = [(s, r) for s in SYSTEMS for r in s.releases(task.corpus)]
        wanted = {
            f"{name(system, release)}-{seed}": partial(find, system, task, release, seed)
            for seed in SEEDS[:seeds]
            for system, release in every
            if system.encoder in (only or [system.encoder]) and (system.mentions or not seed)
        }
        runs.made(table, wanted, is_table=is_table)
        kept = runs.figures(table)
        for system, release in every:
            names = [f"{name(system, release)}-{seed}" for seed in SEEDS]
            if of_seeds := [kept[run] for run in names if run in kept]:
                lines.append(row(system, task, release, of_seeds))
    return lines


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--on", choices=("devel", "test"), default="devel")
    parser.add_argument("--only", nargs="+", default=[], metavar="ENCODER")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="the first ones alone")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    every = [
        row
        for on in ("devel", "test")
        for row in rows(on, given.only, given.seeds, given.table or on != given.on)
    ]
    results.save("shipped", {"rows": every})
    print(*every, sep="\n")
