"""Speed, size and training of the DAN beside MiniLM, on the same cores in one run.

python benchmarks/dan_speed.py           -> results/dan_speed.json
python benchmarks/dan_speed.py --quick   a small trial, printed and not saved

Word vectors are those of name_encoders.py; making them is told apart. The training is that of `linker train --dict` with the MEDIC of 2017
and the mentions of train and dev, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from common import RESULTS, medic, save
from dense_accuracy import Task
from name_encoders import vectors
from speed import peak

from linker import Linker
from linker.encoders.dan import DanEncoder
from linker.encoders.trainable import TrainableEncoder
from linker.encoders.transformer import TransformerEncoder
from linker.options import LinkerOptions, changed, preset
from linker.ranker.ground import Grounding
from linker.text.normalize import normalize
from linker.training import classes
from linker.training.options import Work

YEAR = "2017"
STEPS = 100  # of an epoch that are measured
TARGETS = {"times_faster": 4, "model_mb": 100, "training_minutes": 10, "peak_mb": 2000}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    rounds: int = 5  # MiniLM and the DAN in turn
    sample: int = 8192  # names that MiniLM encodes a round; the DAN encodes all
    seed: int = 0


def encoding(sizes: Sizes) -> dict[str, Any]:
    """Names of the dictionary encoded a second by each, from text to vector."""
    names, options = list(medic(YEAR).table(normalize).texts), preset("default", "dan")
    words, draw = vectors("fastText").pruned(names), random.Random(sizes.seed)
    speeds: dict[str, list[float]] = {"minilm": [], "dan": []}
    for _ in range(sizes.rounds):
        made = DanEncoder(words, options.dan).eval()
        sample = draw.sample(names, sizes.sample)
        sides: Sequence[tuple[str, TrainableEncoder, list[str]]] = (
            ("minilm", TransformerEncoder.create(LinkerOptions().transformer), sample),
            ("dan", made, names),
        )
        for name, encoder, texts in sides:
            start = time.perf_counter()
            encoder.encode(texts)
            speeds[name].append(len(texts) / (time.perf_counter() - start))
    ratios = [dan / other for other, dan in zip(speeds["minilm"], speeds["dan"], strict=True)]
    per_second = {name: [round(speed) for speed in side] for name, side in speeds.items()}
    return {"names": len(names), "names_per_second": per_second, "times_faster_median": round(statistics.median(ratios), 1)}


def training(sizes: Sizes) -> dict[str, Any]:
    """Seconds of each epoch of `linker train`, the first with all that goes before it, the peak memory and what the saved model takes."""
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
        work=Work(on_event=keep),
    )
    seconds = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        linker.save(Path(folder) / "model")
        files = {f.relative_to(folder).as_posix(): f.stat().st_size for f in Path(folder).rglob("*") if f.is_file()}
    large = {name: round(size / 1e6, 1) for name, size in files.items() if size > 1e6}
    names = len(linker.generator.table)
    return {
        "minutes": round(seconds / 60, 2),
        "seconds_of_each_epoch": phases,
        "peak_mb": round(peak()),
        "names": names,
        "model_mb": round(sum(files.values()) / 1e6, 1),
        "files_mb": large,
    }


def drawing(sizes: Sizes) -> dict[str, Any]:
    """The share of an epoch of grounding that drawing its pairs takes, with the vectors of now that hard batches need."""
    options = preset("default", "dan")
    names = classes.of_concepts(medic(YEAR).table(normalize))
    encoder = DanEncoder.of(names, options.dan, vectors("fastText").pruned(names.texts), sizes.seed)
    grounding = Grounding(encoder, names, options.ground, sizes.seed, encoder.encode)
    start = time.perf_counter()
    batches = grounding.batches(1)
    drawn = time.perf_counter() - start
    optimizer = torch.optim.Adam(encoder.parameters(), lr=options.ground.learning_rate, fused=True)
    encoder.train()
    start = time.perf_counter()
    for batch in batches[:STEPS]:
        optimizer.zero_grad()
        batch.loss(encoder.embed(batch.names)).value.backward()
        optimizer.step()
    steps = (time.perf_counter() - start) / len(batches[:STEPS]) * len(batches)
    return {"names": len(names), "steps": len(batches), "seconds_drawing": round(drawn, 1), "seconds_of_steps": round(steps, 1)} | {
        "share": round(drawn / (drawn + steps), 3)
    }


def child(part: str, sizes: Sizes) -> dict[str, Any]:
    """Run a part in a process of its own."""
    command = [sys.executable, __file__, "--part", part, "--seed", str(sizes.seed)]
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small trial, printed and not saved")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=("training", "drawing"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = Sizes(rounds=1, sample=512, seed=given.seed) if given.quick else Sizes(seed=given.seed)
    if given.part:
        print(json.dumps(training(chosen) if given.part == "training" else drawing(chosen)))
        sys.exit()
    figures: dict[str, Any] = {
        "sizes": asdict(chosen),
        "threads": torch.get_num_threads(),
        "targets": TARGETS,
        "encoding": encoding(chosen),
    }
    print(figures["encoding"], flush=True)
    figures["drawing"] = drawing(chosen) if given.quick else child("drawing", chosen)
    print(figures["drawing"], flush=True)
    if not given.quick:
        figures["training"] = child("training", chosen)
        kept = json.loads((RESULTS / "runs" / "names" / "words-fasttext.json").read_text(encoding="utf-8"))["figures"]
        figures["word_vectors"] = {"words": kept["words"], "cpu_minutes": round(kept["cpu_seconds"] / 60, 1)}
        print(figures["training"], figures["word_vectors"])
        save("dan_speed", figures, seed=chosen.seed)
