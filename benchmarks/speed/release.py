"""A new release of MEDIC in a trained model, beside encoding all its names again."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, development, documents, locate, medic
from benchmarks.lib.measure import Figures
from linker import Dictionary, Linker
from linker.dictionary import NameTable
from linker.options import changed, preset
from linker.training.pipeline import train
from linker.training.release import update

UNTRAINED = {"align": {"epochs": 0}, "training": {"epochs": 0}}  # the encoder as it is downloaded
ENCODERS = ("tfidf", "static", "transformer")
PARTS = ("loading", "reading", "names", "saving")
K = 20  # candidates that are compared


def release(given: argparse.Namespace) -> Figures:
    """Models of the MEDIC of 2017 with the training mentions of NCBI take the release of 2026.

    The file is read, the names are compared, the new ones are encoded, and the model is saved. The
    full build is the same work with the same encoders where no name is known. Seconds are those of
    the processor, of all threads. Both models then answer the development mentions.
    """
    figures = results.figures("release") if results.exists("release") else {}
    for encoder in given.only or (ENCODERS[:1] if given.quick else ENCODERS):
        with tempfile.TemporaryDirectory() as folder:
            figures[encoder] = measured(encoder, Path(folder))
    return figures


def measured(encoder: str, folder: Path) -> Figures:
    """The seconds of both ways, and how many mentions are answered alike."""
    options = preset("default", encoder)
    if encoder == "transformer":
        options = changed(options, UNTRAINED, encoder)
    known = documents("ncbi", "train")
    model = train(medic("2017"), encoder=encoder, mentions=known, options=options)
    model.save(folder / "old")
    seconds = taken(folder / "old", folder / "new")
    unknown = mock.patch.object(NameTable, "rows", lambda _, texts: np.full(len(texts), -1))
    with unknown:
        full = taken(folder / "old", folder / "full")
    made = [one["names"] + one["saving"] for one in (seconds, full)]
    mentions = sorted({m.text for document in development() for m in document.mentions})
    answers = [
        [
            [c.concept_id for part in prediction.parts for c in part.candidates]
            for prediction in Linker.load(folder / name).link(mentions, k=K, threshold=0)
        ]
        for name in ("new", "full")
    ]
    return {
        "seconds": seconds,
        "full_build_seconds": full,
        "share_of_full_build": round(sum(seconds.values()) / sum(full.values()), 3),
        "share_without_reading": round(made[0] / made[1], 3),
        "mentions": len(mentions),
        "same_candidates": sum(one == other for one, other in zip(*answers, strict=True)),
    }


def taken(old: Path, new: Path) -> dict[str, float]:
    """Take the release of 2026 into a model: the seconds of each part."""
    times = [time.process_time()]
    model = Linker.load(old)
    times.append(time.process_time())
    dictionary = Dictionary.read(locate(MEDIC["2026"]))
    times.append(time.process_time())
    model, _ = update(model, dictionary)
    times.append(time.process_time())
    model.save(new)
    times.append(time.process_time())
    return dict(zip(PARTS, np.diff(times).round(2).tolist(), strict=True))
