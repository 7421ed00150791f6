"""Which encoder finds names that its dictionary lacks, with the ranker that is shipped.

python benchmarks/accuracy/held_out.py                   all; those of dan take 5 minutes each
python benchmarks/accuracy/held_out.py --system NAME     makes the runs of one system; --task NAME
python benchmarks/accuracy/held_out.py --table           makes none, puts together what is kept

Writes results/held_out.json; the runs are kept in results/runs/held-out.jsonl.gz. Names are held
out of HPO, DOID and MEDIC; another vocabulary lends names to what is left, or none does. Then there
is a dictionary with one name a concept, 1,000 concepts of MEDIC, whose synonyms are asked; and HPO
without its layperson synonyms, which are asked.
"""

from __future__ import annotations

import dataclasses
import gzip
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import hits, results, runs
from benchmarks.lib.data import locate, medic
from benchmarks.lib.held_out_names import held_out
from linker import Dictionary, Linker
from linker.candidates.hybrid import HybridGenerator
from linker.options import changed, preset
from linker.readers import table
from linker.text.normalize import normalize
from linker.training.settings import RunSettings

TABLE, SEED = "held-out", 1
HPO, DOID = "ontologies/hp.obo.gz", "ontologies/doid.obo.gz"
CHARACTERS = "characters"
ENCODERS = {  # by system
    CHARACTERS: "tfidf",
    "static": "static",
    "dan": "dan",
    "MiniLM, untrained": "transformer",
    "MiniLM, aligned": "transformer",
}
NOT_RANKED = {"training": {"epochs": 0, "sparse_weight": 10}}  # λ = 0.5
CHANGES = {  # what the systems change in the defaults of their encoders
    "MiniLM, untrained": NOT_RANKED | {"align": {"epochs": 0}},
    "MiniLM, aligned": NOT_RANKED,
}
ALIGNED = 10_000  # names, at most, of the dictionaries that MiniLM is aligned on


@dataclass(frozen=True, slots=True)
class Task:
    """A dictionary, and names that it lacks."""

    dictionary: Dictionary
    texts: Sequence[str]
    ids: Sequence[str]  # of the concept of each
    lent: int = 0  # how many of the names were lent


def names_out(dictionary: Dictionary, *lenders: str) -> Task:
    """A dictionary without a sample of its names, which are asked.

    Args:
        dictionary: the names.
        lenders: files that lend names to what is left.
    """
    asked = held_out(dictionary, SEED)
    if not lenders:
        return Task(asked.dictionary, asked.texts, asked.ids)
    rest = asked.dictionary.lend(*map(locate, lenders))
    lent = {normalize(rest.names[row]) for row in rest.lent_rows.tolist()}
    return Task(rest, asked.texts, asked.ids, len(lent.intersection(asked.texts)))


def single_names(concepts: int = 1000) -> Task:
    """Some concepts of MEDIC by their preferred names; their synonyms are asked."""
    whole = medic("2017")
    rows = np.random.default_rng(SEED).permutation(len(whole))[:concepts]
    asked = np.setdiff1d(np.flatnonzero(np.isin(whole.name_concept, rows)), whole.preferred)
    texts = [whole.names[row] for row in asked.tolist()]
    ids = [whole.ids[row] for row in whole.name_concept[asked].tolist()]
    others = np.setdiff1d(np.arange(len(whole.names)), whole.preferred)
    dictionary = only(whole.without(others), rows.tolist())
    return Task(dictionary, texts, ids)


def layperson_names(path: Path) -> set[tuple[str, str]]:
    """The synonyms of HPO that laypersons use, each with its concept."""
    names, identifier = set(), ""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            identifier = line[4:].strip() if line.startswith("id: ") else identifier
            if match := re.match(r'synonym: "(.*)" \w+ layperson', line):
                names.add((identifier, match[1]))
    return names


def laypersons(concepts: int = 0, share: float = 1.0) -> Task:
    """HPO without the names that laypersons use, which are asked.

    Args:
        concepts: how many of its concepts there are; 0: all.
        share: the share of their other synonyms that is kept.
    """
    path = locate(HPO)
    lay, whole = layperson_names(path), Dictionary.read(path)
    owners = whole.name_concept
    pairs = zip(owners.tolist(), whole.names, strict=True)
    is_lay = np.array([(whole.ids[row], text) in lay for row, text in pairs], bool)
    is_lay[whole.preferred] = False
    random, asked = np.random.default_rng(0), np.flatnonzero(is_lay)
    sample = np.unique(owners[asked])
    if concepts:
        sample = random.permutation(sample)[:concepts]
        asked = asked[np.isin(owners[asked], sample)]
    out = is_lay | (random.random(len(is_lay)) >= share)
    out[whole.preferred] = False
    dictionary = whole.without(np.flatnonzero(out))
    if concepts:
        dictionary = only(dictionary, sample.tolist())
    texts = [whole.names[row] for row in asked.tolist()]
    ids = [whole.ids[row] for row in owners[asked].tolist()]
    return Task(dictionary, texts, ids)


def only(dictionary: Dictionary, rows: Sequence[int]) -> Dictionary:
    """Some concepts of a dictionary, without their parents."""
    concepts = (dataclasses.replace(dictionary.concept(row), parents=()) for row in rows)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        table.write(concepts, file.file)
        file.flush()
        return Dictionary.read(file.name)


def nearest(task: Task, linker: Linker) -> str:
    """Whether the best concept for each text is its own, as digits."""
    answers = zip(task.ids, linker.link(task.texts, k=1, threshold=0), strict=True)
    return hits.digits(
        i in {part.best.concept_id for part in answer.parts if part.best} for i, answer in answers
    )


def of_file(name: str, *lenders: str) -> Task:
    """A dictionary file without a sample of its names."""
    return names_out(Dictionary.read(locate(name)), *lenders)


TASKS: dict[str, Callable[[], Task]] = {
    "HPO": partial(of_file, HPO),
    "HPO, lent DOID's names": partial(of_file, HPO, DOID),
    "DOID": partial(of_file, DOID),
    "DOID, lent HPO's names": partial(of_file, DOID, HPO),
    "MEDIC 2017": lambda: names_out(medic("2017")),
    "MEDIC 2017, lent DOID's and HPO's names": lambda: names_out(medic("2017"), DOID, HPO),
    "MEDIC, 1,000 concepts with one name each": single_names,
    "HPO, layperson synonyms": laypersons,
    "HPO, layperson synonyms, 1,000 concepts, half of the others": partial(laypersons, 1000, 0.5),
    "HPO, layperson synonyms, 1,000 concepts, a tenth of them": partial(laypersons, 1000, 0.1),
}


def run(task: Task, system: str) -> dict[str, Any]:
    """What a system has right of a task, and what it was."""
    said: list[str] = []
    encoder, start = ENCODERS[system], time.perf_counter()
    options = changed(preset("default", encoder), CHANGES.get(system, {}))
    linker = Linker.train(
        task.dictionary, encoder=encoder, options=options, settings=RunSettings(say=said.append)
    )
    seconds, generator = time.perf_counter() - start, linker.generator
    return {
        "concepts": len(task.dictionary),
        "names": len(task.dictionary.names),
        "lent": task.lent,
        "weight": generator.sparse_weight if isinstance(generator, HybridGenerator) else None,
        "said": said,
        "seconds": round(seconds, 1),
        "by_score": nearest(task, linker.with_ranker(None)),
        "right": nearest(task, linker),
    }


def make(systems: Sequence[str], tasks: Sequence[str]) -> None:
    """Make the runs that are missing."""
    for system in systems:
        for name in tasks:
            if _key(name, system) in runs.read(TABLE):
                continue
            asked = TASKS[name]()
            if system != "MiniLM, aligned" or len(asked.dictionary.names) <= ALIGNED:
                runs.make(TABLE, _key(name, system), partial(run, asked, system), SEED)


def _key(task: str, system: str) -> str:
    return runs.slug(f"{task} {system}")


def row(task: str) -> dict[str, Any]:
    """Acc@1 of each system with a run, and its difference to characters, with intervals."""
    kept = runs.figures(TABLE)
    by_system = {s: kept[key] for s in ENCODERS if (key := _key(task, s)) in kept}
    first = by_system[CHARACTERS]
    base, systems = hits.read(first["right"]), {}
    for system, figures in by_system.items():
        right = hits.read(figures["right"])
        systems[system] = {key: figures[key] for key in ("weight", "said", "seconds")} | {
            "acc1": hits.interval(right),
            "by_score": hits.means([figures["by_score"]])[0],
            "gain": hits.gain(right, base),
        }
    counts = {"n": len(base)} | {key: first[key] for key in ("concepts", "names", "lent")}
    return {"task": task, **counts, "systems": systems}


if __name__ == "__main__":
    parser = results.parser(__doc__)
    again = "make the runs of this one; may be given again"
    parser.add_argument("--system", choices=ENCODERS, action="append", help=again)
    parser.add_argument("--task", choices=TASKS, action="append", help=again)
    parser.add_argument("--table", action="store_true", help="make no run")
    given = parser.parse_args()
    if not given.table:
        make(given.system or [*ENCODERS], given.task or [*TASKS])
    rows = [row(task) for task in TASKS]
    results.save("held_out", {"rows": rows}, seed=SEED)
    for line in rows:
        systems = {name: values["acc1"][0] for name, values in line["systems"].items()}
        print(line["task"], line["n"], line["lent"], systems)
