"""Speed and size of every encoder, and the training of the DAN, on the same cores in one run.

python benchmarks/speed/encoder_speed.py           all
python benchmarks/speed/encoder_speed.py --quick   a small trial, printed and not saved

Writes results/encoder_speed.json. Each part runs in a process of its own, and is kept in
results/runs/speed.jsonl.gz. Word vectors are those of name_encoders.py; making them is told apart.
The training is that of `linker train --dict` with the MEDIC of 2017 and the mentions of train and
dev.
"""

from __future__ import annotations

import dataclasses
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results, runs
from benchmarks.lib.data import medic
from benchmarks.lib.dense_runs import Task
from benchmarks.lib.measure import Figures, apart, megabytes, peak, timed
from benchmarks.lib.vectors import YEAR, vectors
from linker import Linker, registry
from linker.dictionary import classes
from linker.encoders.base import EncoderContext
from linker.encoders.dan import DanEncoder
from linker.encoders.grounded import TrainableDan
from linker.encoders.trainable import TrainableEncoder
from linker.options import GroundOptions, changed, preset
from linker.text.normalize import normalize
from linker.training.phases.ground import Grounding
from linker.training.settings import RunSettings

STEPS = 50  # of an epoch that are measured
ENCODERS = ("transformer", "dan", "dan-higher", "fewshot", "bne", "bne-words")
_TRIPLETS = {"loss": "triplet", "prototype_weight": 1, "batch_size": 64}
DRAWN: dict[str, Figures] = {  # ways to draw the names of an epoch
    "pairs": {},
    "triplets from a pool": _TRIPLETS,
    "all triplets from all names": {**_TRIPLETS, "pool": 0, "triplets": 0},  # the paper's
}
TARGETS = {"times_faster": 4, "model_mb": 100, "training_minutes": 10, "peak_mb": 2000}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    rounds: int = 5  # of all encoders in turn
    sample: int = 8192  # names a round
    seed: int = 0


def encoding(sizes: Sizes) -> Figures:
    """Names of the dictionary that each encodes a second, and what each takes on disk."""
    table = medic(YEAR).table(normalize)
    names = list(table.texts)
    words = vectors("fastText").pruned(names).to_fp16()
    encoders: dict[str, TrainableEncoder] = {}
    for name in ENCODERS:
        kind = registry.load(name)
        options = preset("default", name).encoder
        context = EncoderContext(options, table, words, sizes.seed)
        encoders[name] = kind.create(context).trainable().eval()
    speeds: dict[str, list[float]] = {name: [] for name in encoders}
    # no name twice: encoders keep tokens
    sampled = random.Random(sizes.seed).sample(names, sizes.rounds * sizes.sample)
    for i in range(sizes.rounds):
        sample = sampled[i * sizes.sample : (i + 1) * sizes.sample]
        for name, encoder in encoders.items():
            seconds, _ = timed(lambda encoder=encoder, sample=sample: encoder.encode(sample))
            speeds[name].append(len(sample) / seconds)
    rows = {}
    for name, encoder in encoders.items():
        with tempfile.TemporaryDirectory() as folder:  # with the word vectors that names need
            encoder.save(Path(folder) / "encoder")
            size = megabytes(Path(folder))
        pairs = zip(speeds[name], speeds["transformer"], strict=True)
        rows[name] = {
            "names_per_second": [round(speed) for speed in speeds[name]],
            "times_faster_median": round(statistics.median(a / b for a, b in pairs), 2),
            "encoder_mb": size,
            "vectors_mb": round(len(names) * encoder.dim * 2 / 1e6, 1),  # in half precision
        }
    return {"names": len(names), "encoders": rows}


def training(sizes: Sizes) -> Figures:
    """Seconds of each epoch of `linker train`, peak memory, and what the saved model takes.

    The first epoch has all that goes before it.
    """
    start, last, phases = time.perf_counter(), [time.perf_counter()], dict[str, list[float]]()

    def keep(event: Any) -> None:
        if isinstance(event, dict):
            now = time.perf_counter()
            phases.setdefault(event["phase"], []).append(round(now - last[0], 1))
            last[0] = now

    linker = Linker.train(
        medic(YEAR),
        encoder="dan",
        mentions=Task("ncbi", "test").known,
        options=changed(preset("default", "dan"), {"training": {"seed": sizes.seed}}),
        words=vectors("fastText"),
        settings=RunSettings(on_event=keep),
    )
    seconds = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        linker.save(Path(folder) / "model")
        size = megabytes(Path(folder))
    return {
        "minutes": round(seconds / 60, 2),
        "seconds_of_each_epoch": phases,
        "peak_mb": round(peak()),
        "names": len(linker.generator.table),
        "model_mb": size,
    }


def drawing(sizes: Sizes) -> Figures:
    """The share of an epoch of grounding that drawing names takes, by the way of drawing.

    With the present vectors that hard negatives need; memory is that of the process.
    """
    options, names = preset("default", "dan"), classes.of_concepts(medic(YEAR).table(normalize))
    words = vectors("fastText").pruned(names.texts)
    return {"names": len(names)} | {
        way: drawing_of(
            TrainableDan(DanEncoder.fitted(names, options.encoder, words, sizes.seed)),
            names,
            dataclasses.replace(options.ground, **fields),
            sizes.seed,
        )
        | {"peak_mb": round(peak())}
        for way, fields in DRAWN.items()
    }


def drawing_of(
    encoder: TrainableDan, names: classes.Classes, options: GroundOptions, seed: int
) -> Figures:
    """Seconds of an epoch: of drawing, and of its steps, of which some are measured."""
    grounding = Grounding(encoder, names, options, seed, encoder.encode)
    start = time.perf_counter()
    batches = grounding.batches(1)
    drawing = time.perf_counter() - start
    optimizer = torch.optim.Adam(encoder.parameters(), lr=options.learning_rate, fused=True)
    encoder.train()
    start = time.perf_counter()
    for batch in batches[:STEPS]:
        optimizer.zero_grad()
        batch.loss(encoder.embed(batch.names)).value.backward()
        optimizer.step()
    steps = (time.perf_counter() - start) / len(batches[:STEPS]) * len(batches)
    return {
        "steps": len(batches),
        "seconds_drawing": round(drawing, 1),
        "seconds_of_steps": round(steps, 1),
    } | {"share": round(drawing / (drawing + steps), 3)}


PARTS = {"encoding": encoding, "drawing": drawing, "training": training}


def measured(part: str, seed: int) -> Figures:
    """The figures of a part, in this process."""
    return PARTS[part](Sizes(seed=seed)) | {"threads": torch.get_num_threads()}


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="without the training, not saved")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.quick:
        chosen = Sizes(rounds=1, sample=512, seed=given.seed)
        print(encoding(chosen), drawing(chosen))
        sys.exit()
    sizes = Sizes(seed=given.seed)
    figures: Figures = {"sizes": dataclasses.asdict(sizes), "targets": TARGETS}
    for part in PARTS:
        figures[part] = runs.make(
            "speed", part, partial(apart, measured, part, given.seed), given.seed
        )
    words = runs.figures("names")["words-fasttext"]
    minutes = round(words["cpu_seconds"] / 60, 1)
    figures["word_vectors"] = {"words": words["words"], "cpu_minutes": minutes}
    results.save("encoder_speed", figures, seed=given.seed)
    print(figures)
