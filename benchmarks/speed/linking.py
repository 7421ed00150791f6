"""What linking costs beside encoding the mention, where the time goes, and whether it is exact.

python benchmarks/speed/linking.py                      of the present code
python benchmarks/speed/linking.py --before d941037     beside an earlier commit, in turn
python benchmarks/speed/linking.py --only tfidf static  some encoders; the others stay
python benchmarks/speed/linking.py --again              trains the models again

Writes results/linking.json. The MEDIC of 2017 with the training mentions of NCBI Disease; the
development mentions of both corpora are linked as texts, the distinct ones and as they come. Models
are kept in benchmarks/work/linking. Each measurement is a process of its own. dan is trained for
one epoch, MiniLM not at all; with better vectors fewer names need scores of characters.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.lib import earlier, exact, results
from benchmarks.lib.data import CORPORA, MEDIC, TITLES, documents, locate
from benchmarks.lib.measure import (
    Figures,
    apart,
    linked,
    megabytes,
    memory,
    rounded,
    run_command,
    timed,
)

UNTRAINED = ("--set", "align.epochs=0", "--set", "training.epochs=0")
MODELS: dict[str, tuple[str, ...]] = {  # encoder -> options of linker train
    "tfidf": ("--encoder", "tfidf"),
    "static": ("--encoder", "static"),
    "dan": ("--encoder", "dan", "--set", "ground.epochs=1"),
    "MiniLM": ("--encoder", "transformer", *UNTRAINED),
}
TARGETS = {  # distinct mentions a second, and the share of the rate of encoding alone
    "mentions_per_second": {"tfidf": 8000, "static": 5000, "dan": 5000},
    "of_encoding": {"MiniLM": 0.8},
}
ROUNDS = 5
K, SAMPLE = 20, 500  # names of a query, and queries, that are compared with exact search
PAUSE = 0.001  # seconds between two looks at what is being done
STAGES = {  # part of the path of a module -> stage; the first that fits
    **dict.fromkeys(("encoders/tfidf", "candidates/sparse"), "sparse"),
    "encoders/": "encoding",
    **dict.fromkeys(("candidates/index", "candidates/ann", "candidates/hybrid"), "dense"),
    **{"candidates/": "grouping", "ranker/": "ranking", "linking/": "ranking"},
    **{"outputs/": "writing", "readers/": "reading", "text/": "reading", "linker.py": "grouping"},
}


def mentions() -> list[str]:
    """The development mentions of both corpora, as they come."""
    items = [document for corpus in TITLES for document in documents(corpus, "devel")]
    return [mention.text for document in items for mention in document.mentions]


def train(encoder: str, model: str) -> Figures:
    """Run `linker train` in this process."""
    known = locate(CORPORA["ncbi"]["train"])
    files = ["--dict", locate(MEDIC["2017"]), "--mentions", known]
    return run_command("train", *files, *MODELS[encoder], "--quiet", "-o", model)


def link(model: str) -> Figures:
    """Mentions linked a second, and names encoded a second, each by a linker newly loaded."""
    from linker import Linker

    texts, figures = mentions(), Figures()
    for name, asked in (("distinct", list(dict.fromkeys(texts))), ("as they come", texts)):
        ((seconds, count),) = linked(Path(model), asked)
        figures[name] = count / seconds
    linker = Linker.load(model)
    names = list(dict.fromkeys(map(linker.normalize, texts)))
    generator: Any = linker.generator
    generator.encoder.encode(["a name to begin with"])
    figures["encoding"] = len(names) / timed(lambda: generator.encoder.encode(names))[0]
    return figures | {"resident_mb": next(memory("self", "VmRSS"))}


def profile(model: str) -> Figures:
    """The share of the time of each stage of `linker link`, of a file with distinct mentions."""
    file, texts = Path(model).with_suffix(".txt"), list(dict.fromkeys(mentions()))
    answers = file.with_suffix(".tsv")
    file.write_text("\n".join(texts), encoding="utf-8")
    command = ["link", file, "--model", model, "-o", answers, "--quiet"]
    run_command(*command)  # so that all is imported
    with sampled() as seconds:
        for _ in range(ROUNDS):
            run_command(*command)
    linking = {stage: value for stage, value in seconds.items() if stage != "opening"}
    total = sum(linking.values())
    return {
        "shares": {stage: round(value / total, 3) for stage, value in sorted(linking.items())},
        "seconds": round(total / ROUNDS, 3),
        "bytes_a_mention": round(answers.stat().st_size / len(texts)),
    }


@contextmanager
def sampled() -> Iterator[Counter[str]]:
    """Seconds by stage, of what the main thread does meanwhile: it is looked at again and again."""
    seconds: Counter[str] = Counter()
    main, stopped = threading.main_thread().ident, threading.Event()

    def look() -> None:
        before = time.perf_counter()
        while not stopped.wait(PAUSE):
            now = time.perf_counter()
            seconds[stage(sys._current_frames()[main or 0])] += now - before
            before = now

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seconds
    finally:
        stopped.set()
        thread.join()


def stage(frame: FrameType | None) -> str:
    """The stage of the innermost function that belongs to one."""
    stages: list[str] = []
    while frame:
        if frame.f_code.co_name in ("load", "_find_and_load"):  # of a model, of a module
            return "opening"
        path = Path(frame.f_code.co_filename).as_posix()
        stages += [stage for part, stage in STAGES.items() if f"linker/{part}" in path][:1]
        frame = frame.f_back
    return stages[0] if stages else "other"


def compare(model: str) -> Figures:
    """For how many queries the best names are those of exact search."""
    from linker import Linker

    linker = Linker.load(model)
    texts = list(dict.fromkeys(filter(None, map(linker.normalize, mentions()))))
    rows = np.random.default_rng(0).choice(len(texts), SAMPLE, replace=False).tolist()
    shares = exact.found(linker, [texts[row] for row in rows], K)
    return {"queries": len(shares), "same": shares.count(1.0), "recall": sum(shares) / len(shares)}


def place(encoder: str, library: Path | None) -> Path:
    """The folder of the model of an encoder and a commit."""
    folder = results.WORK / "linking" / f"{library.name if library else 'now'}-{encoder}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def row(encoder: str, libraries: dict[str, Path | None]) -> Figures:
    """The figures of an encoder, of now and of before in turn."""
    models = {when: str(place(encoder, library)) for when, library in libraries.items()}
    for when, library in libraries.items():
        if not Path(models[when]).exists():
            apart(train, encoder, models[when], library=library)
    rounds = [
        {when: apart(link, models[when], library=library) for when, library in libraries.items()}
        for _ in range(ROUNDS)
    ]
    figures: Figures = {"encoder": encoder}
    for when, library in libraries.items():
        of_one = [values[when] for values in rounds]
        names = ("distinct", "as they come", "encoding", "resident_mb")
        figures[when] = {name: rounded((one[name] for one in of_one), 1) for name in names}
        ratios = [values["distinct"] / values["encoding"] for values in of_one]
        figures[when]["of_encoding_median"] = round(statistics.median(ratios), 3)
        figures[when]["profile"] = apart(profile, models[when], library=library)
        figures[when]["model_mb"] = megabytes(Path(models[when]))
    figures["now"]["exact"] = apart(compare, models["now"])
    if "before" in libraries:
        for name in ("distinct", "as they come"):
            times = [values["now"][name] / values["before"][name] for values in rounds]
            figures[f"{name}, times faster, median"] = round(statistics.median(times), 2)
    return figures


def main(given: argparse.Namespace) -> None:
    """Measure the encoders."""
    if given.again:
        shutil.rmtree(results.WORK / "linking", ignore_errors=True)
    libraries: dict[str, Path | None] = {"now": None}
    if given.before:
        libraries = {"before": earlier.library(given.before), "now": None}
    rows = []
    for encoder in MODELS:
        kept = place(encoder, None).with_suffix(".json")
        if encoder in (given.only or MODELS):
            kept.write_text(json.dumps(row(encoder, libraries)), encoding="utf-8")
            print(kept.read_text(encoding="utf-8"), flush=True)
        if kept.exists():
            rows.append(json.loads(kept.read_text(encoding="utf-8")))
    count = len(set(mentions())), len(mentions())
    figures: Figures = {"cores": len(os.sched_getaffinity(0)), "targets": TARGETS}
    figures |= {"distinct": count[0], "mentions": count[1], "rows": rows}
    results.save("linking", figures)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--before", metavar="COMMIT", help="an earlier commit beside it")
    parser.add_argument("--only", nargs="+", choices=MODELS, metavar="ENCODER")
    parser.add_argument("--again", action="store_true", help="train the models again")
    main(parser.parse_args())
