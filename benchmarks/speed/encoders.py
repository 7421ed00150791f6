"""Encoders: names a second, size, and what the training of dan takes."""

from __future__ import annotations

import argparse
import random
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.lib import runs
from benchmarks.lib.data import documents, medic
from benchmarks.lib.measure import Figures, apart, megabytes, peak, ratio, timed
from benchmarks.lib.vectors import YEAR, vectors
from linker.encoders import registry
from linker.encoders.base import EncoderContext
from linker.encoders.trainable import in_training
from linker.linking.options import preset
from linker.text.normalize import normalize
from linker.training.pipeline import train
from linker.training.plan import RunSettings

ROUNDS, SAMPLE = 5, 8192  # of all encoders in turn; names a round
ENCODERS = ("transformer", "dan", "dan-higher", "fewshot", "bne", "bne-words")


def encoder_speed(given: argparse.Namespace) -> Figures:
    """Each part in a process of its own, kept in results/runs/speed.jsonl.gz.

    Word vectors are those of name_encoders.py; making them is told apart.
    """
    if given.quick:
        return encoding(1, 512)
    parts = {"encoding": encoding, "training": training}
    figures = {name: runs.make("speed", name, partial(apart, of), 0) for name, of in parts.items()}
    words = runs.figures("names")["words-fasttext"]
    minutes = round(words["cpu_seconds"] / 60, 1)
    return figures | {"word_vectors": {"words": words["words"], "cpu_minutes": minutes}}


def encoding(rounds: int = ROUNDS, count: int = SAMPLE) -> Figures:
    """Names of the dictionary that each encodes a second, and what each takes on disk."""
    table = medic(YEAR).table(normalize)
    names = list(table.texts)
    words = vectors("fastText").pruned(names).to_fp16()
    encoders: dict[str, Any] = {}
    for name in ENCODERS:
        context = EncoderContext(preset("default", name).encoder, table, words, 0)
        encoders[name] = in_training(registry.load(name).create(context)).eval()
    speeds: dict[str, list[float]] = {name: [] for name in encoders}
    sampled = random.Random(0).sample(names, rounds * count)  # none twice: encoders keep tokens
    for i in range(rounds):
        sample = sampled[i * count : (i + 1) * count]
        for name, encoder in encoders.items():
            speeds[name].append(count / timed(partial(encoder.encode, sample))[0])
    rows = {}
    for name, encoder in encoders.items():
        with tempfile.TemporaryDirectory() as folder:  # with the word vectors that names need
            encoder.save(Path(folder) / "encoder")
            size = megabytes(Path(folder))
        rows[name] = {
            "names_per_second": [round(speed) for speed in speeds[name]],
            "times_faster_median": ratio(speeds[name], speeds["transformer"]),
            "encoder_mb": size,
            "vectors_mb": round(len(names) * encoder.dim * 2 / 1e6, 1),  # in half precision
        }
    return {"names": len(names), "encoders": rows, "threads": torch.get_num_threads()}


def training() -> Figures:
    """Minutes of `linker train`, peak memory, and what the saved model takes."""
    known, words = documents("ncbi", "train", "devel"), vectors("fastText")
    about: Any = {"encoder": "dan", "mentions": known, "words": words, "settings": RunSettings()}
    seconds, linker = timed(lambda: train(medic(YEAR), **about))
    with tempfile.TemporaryDirectory() as folder:
        linker.save(Path(folder) / "model")
        size = megabytes(Path(folder))
    figures = {"minutes": round(seconds / 60, 2), "peak_mb": round(peak()), "model_mb": size}
    return figures | {"names": len(linker.generator.table), "threads": torch.get_num_threads()}
