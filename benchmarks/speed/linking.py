"""What linking costs: the whole command; beside encoding, by stages, beside exact search.

The MEDIC of 2017; development mentions of both corpora are linked as texts, the distinct ones, with
five concepts each and with one, and as they come. In the same process sparse-dot-topn searches the
names alone, by characters (see peer_systems.py): what linking costs beside that. Models are kept in
benchmarks/work/linking. dan is trained for one epoch, MiniLM not at all; with better vectors fewer
names need scores of characters.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from benchmarks.lib.data import CORPORA, MEDIC, development, locate
from benchmarks.lib.measure import (
    Figures,
    apart,
    earlier,
    linked,
    megabytes,
    memory,
    ratio,
    rounded,
    run_command,
    spent,
    timed,
)
from benchmarks.lib.results import WORK
from benchmarks.speed import exact
from benchmarks.speed.peer_systems import build_trigrams, open_trigrams

UNTRAINED = ("--set", "align.epochs=0", "--set", "training.epochs=0")
MODELS: dict[str, tuple[str, ...]] = {  # encoder -> options of linker train
    "tfidf": ("--encoder", "tfidf"),
    "static": ("--encoder", "static"),
    "dan": ("--encoder", "dan", "--set", "ground.epochs=1"),
    "MiniLM": ("--encoder", "transformer", *UNTRAINED),
}
ROUNDS = 5
K, SAMPLE = 20, 500  # names of a query, and queries, that are compared with exact search
PAUSE = 0.001  # seconds between two looks at what is being done
STAGES = {  # part of the path of a module -> stage; the first that fits
    **dict.fromkeys(("encoders/tfidf", "search/sparse"), "sparse"),
    "encoders/": "encoding",
    **dict.fromkeys(("search/index", "search/ann", "search/hybrid"), "dense"),
    **dict.fromkeys(("text/", "search/respelling"), "reading"),
    **{"search/": "grouping", "linking/": "ranking"},
    **dict.fromkeys(("io/outputs", "io/tsv"), "writing"),
    "io/": "reading",
}


def mentions() -> list[str]:
    """The development mentions of both corpora, as they come."""
    return [mention.text for document in development() for mention in document.mentions]


def train(model: str, *options: str) -> Figures:
    """Run `linker train` in this process."""
    words = ["--dict", locate(MEDIC["2017"]), *options, "--quiet", "-o", model]
    return run_command("train", *words) | {"model_mb": megabytes(Path(model))}


def link(model: str) -> Figures:
    """Mentions linked a second, and names encoded a second, each by a linker newly loaded."""
    from linker import Linker

    texts, figures = mentions(), Figures()
    distinct = list(dict.fromkeys(texts))
    for name, asked, k in (
        ("distinct", distinct, 5),
        ("distinct, one concept", distinct, 1),
        ("as they come", texts, 5),
    ):
        ((seconds, count),) = linked(Path(model), asked, k=k)
        figures[name] = count / seconds
    linker = Linker.load(model)
    figures["bare search"] = bare(linker, distinct)
    names = list(dict.fromkeys(map(linker.normalize, texts)))
    generator: Any = linker.generator
    generator.encoder.encode(["a name to begin with"])
    figures["encoding"] = len(names) / timed(lambda: generator.encoder.encode(names))[0]
    return figures | {"resident_mb": next(memory("self", "VmRSS"))}


def bare(linker: Any, texts: Sequence[str]) -> float:
    """Mentions a second that sparse-dot-topn finds names for, of those that a linker has."""
    dictionary = linker.dictionary
    concepts = (dictionary.ids[row] for row in dictionary.name_concept.tolist())
    names = list(zip(dictionary.names, concepts, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        build_trigrams(names, Path(folder))
        answer = open_trigrams(names, Path(folder))
    answer(texts[:100])
    return len(texts) / timed(lambda: answer(texts))[0]


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
    del seconds["opening"]
    total = sum(seconds.values())
    return {
        "shares": {stage: round(value / total, 3) for stage, value in sorted(seconds.items())},
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
    return {"queries": len(shares), "same": shares.count(1.0)}


def linking(given: argparse.Namespace) -> Figures:
    """Each encoder with training mentions, of now and of an earlier commit in turn."""
    libraries = {"now": None}
    if given.before:
        libraries = {"before": earlier(given.before), "now": None}
    chosen = given.only or (["tfidf"] if given.quick else MODELS)
    rounds = 1 if given.quick else ROUNDS
    rows = kept_rows("linking", MODELS, chosen, given.again, lambda e: row(e, libraries, rounds))
    texts = mentions()
    about = {"cores": len(os.sched_getaffinity(0)), "distinct": len(set(texts))}
    return about | {"mentions": len(texts), "rows": [*rows.values()]}


def kept_rows(
    folder: str, every: Any, chosen: Any, again: bool, measure: Callable[[str], Figures]
) -> dict[str, Figures]:
    """The rows of all, of which the chosen ones are measured, and kept beside their models."""
    place = WORK / folder
    if again:
        shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Figures] = {}
    for name in every:
        kept = place / f"{name}.json"
        if name in chosen:
            kept.write_text(json.dumps(measure(name)), encoding="utf-8")
            print(name, kept.read_text(encoding="utf-8"), file=sys.stderr)
        if kept.exists():
            rows[name] = json.loads(kept.read_text(encoding="utf-8"))
    return rows


def row(encoder: str, libraries: dict[str, Path | None], rounds: int) -> Figures:
    """The figures of an encoder, of now and of before in turn."""
    models, runs = {}, []
    for when, library in libraries.items():
        models[when] = WORK / "linking" / f"{library.name if library else 'now'}-{encoder}"
        if not models[when].exists():
            options = ("--mentions", str(locate(CORPORA["ncbi"]["train"])), *MODELS[encoder])
            apart(train, str(models[when]), *options, library=library)
    for _ in range(rounds):
        of_all = {w: apart(link, str(models[w]), library=libraries[w]) for w in libraries}
        runs.append(of_all)
    figures: Figures = {"encoder": encoder}
    for when, library in libraries.items():
        of_one = {name: [run[when][name] for run in runs] for name in runs[0][when]}
        figures[when] = {name: rounded(values, 1) for name, values in of_one.items()}
        for asked in ("distinct", "distinct, one concept"):
            share = ratio(of_one[asked], of_one["bare search"], 3)
            figures[when][f"{asked}, of bare search, median"] = share
        figures[when]["of_encoding_median"] = ratio(of_one["distinct"], of_one["encoding"], 3)
        figures[when]["profile"] = apart(profile, str(models[when]), library=library)
        figures[when]["model_mb"] = megabytes(models[when])
    figures["now"]["exact"] = apart(compare, str(models["now"]))
    if "before" in libraries:
        times = (figures[when]["distinct"] for when in ("now", "before"))
        figures["distinct, times faster, median"] = ratio(*times)
    return figures


def command_speed(given: argparse.Namespace) -> Figures:
    """Mentions linked a second by the whole command `linker link`, from its start to its end.

    The models are those that accuracy/shipped.py trained on NCBI Disease, in turn; the texts are
    the distinct development mentions.
    """
    file, asked = WORK / "shipped" / "mentions.txt", list(dict.fromkeys(mentions()))
    models = sorted((WORK / "shipped" / "ncbi-devel").glob("*-20[12][67]"))
    file.write_text("\n".join(asked) + "\n", encoding="utf-8")
    rates: dict[str, list[float]] = {model.name: [] for model in models}
    command = [sys.executable, "-m", "linker.cli", "link", str(file), "--quiet", "-o"]
    for _ in range(1 if given.quick else ROUNDS):
        for model in models:
            answers = str(file.with_suffix(".tsv"))
            figures, _ = spent([*command, answers, "--model", str(model)], os.environ)
            rates[model.name].append(round(len(asked) / figures["seconds"], 1))
    systems = {name: {"mentions_per_second": of_one} for name, of_one in rates.items()}
    about = {"cores": len(os.sched_getaffinity(0)), "mentions": len(asked)}
    return about | {"systems": systems}
