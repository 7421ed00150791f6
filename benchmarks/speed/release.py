"""A new release of MEDIC in a trained model, beside encoding all its names again.

python benchmarks/speed/release.py [ENCODER ...]

Writes results/release.json. Models of the MEDIC of 2017 with the training mentions of NCBI take
the release of 2026: the file is read, the names are compared, the new ones are encoded, and the
model is saved. The full build is the same work with the same encoders where no name is known.
Seconds are those of the processor, of all threads. Both models then answer the development
mentions of both corpora.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.lib import results
from benchmarks.lib.data import CORPORA, MEDIC, documents, locate, medic
from linker import Dictionary, Linker
from linker.options import changed, preset
from linker.training import release
from linker.training.release import Changes

UNTRAINED = {"align": {"epochs": 0}, "training": {"epochs": 0}}  # the encoder as it is downloaded
ENCODERS = ("tfidf", "static", "transformer")
K, TOLERANCE = 20, 1e-4  # candidates that are compared; their scores may differ by batch sizes


def main() -> None:
    """Measure each encoder, and save what was found."""
    parser = results.parser(__doc__)
    parser.add_argument("encoders", nargs="*", default=ENCODERS)
    figures = results.figures("release") if results.exists("release") else {}
    for encoder in parser.parse_args().encoders:
        with tempfile.TemporaryDirectory() as folder:
            figures[encoder] = measured(encoder, Path(folder))
        results.save("release", figures, seed=0)


def measured(encoder: str, folder: Path) -> dict[str, Any]:
    """The seconds of both ways, what changed, and how the answers differ."""
    options = preset("default", encoder)
    if encoder == "transformer":
        options = changed(options, UNTRAINED, encoder)
    start = time.process_time()
    model = Linker.train(
        medic("2017"), encoder=encoder, mentions=documents("ncbi", "train"), options=options
    )
    trained = time.process_time() - start
    model.save(folder / "old")
    seconds, changes = taken(folder / "old", folder / "new")
    unknown = mock.patch.object(release, "_rows_of", lambda table, _: np.full(len(table), -1))
    with unknown:
        full, _ = taken(folder / "old", folder / "full")
    return {
        "training_seconds": round(trained, 1),
        "seconds": {part: round(value, 2) for part, value in seconds.items()},
        "full_build_seconds": {part: round(value, 2) for part, value in full.items()},
        "share_of_full_build": round(sum(seconds.values()) / sum(full.values()), 3),
        "share_without_reading": round(
            (seconds["names"] + seconds["saving"]) / (full["names"] + full["saving"]), 3
        ),
        "changes": dataclasses.asdict(changes),
        **compared(folder / "new", folder / "full"),
    }


def taken(old: Path, new: Path) -> tuple[dict[str, float], Changes]:
    """Take the release of 2026 into a model: the seconds of each part, and what changed."""
    times = [time.process_time()]
    model = Linker.load(old)
    times.append(time.process_time())
    dictionary = Dictionary.read(locate(MEDIC["2026"]))
    times.append(time.process_time())
    model, changes = model.renewed(dictionary)
    times.append(time.process_time())
    model.save(new)
    times.append(time.process_time())
    parts = ("loading", "reading", "names", "saving")
    return dict(zip(parts, np.diff(times).tolist(), strict=True)), changes


def compared(new: Path, full: Path) -> dict[str, Any]:
    """How many mentions both models answer alike."""
    mentions = sorted(
        {m.text for corpus in CORPORA for d in documents(corpus, "devel") for m in d.mentions}
    )
    answers = [
        [
            [(c.concept_id, c.score) for part in prediction.parts for c in part.candidates]
            for prediction in Linker.load(path).link(mentions, k=K, threshold=0)
        ]
        for path in (new, full)
    ]
    alike = differ = 0
    largest = 0.0
    for one, other in zip(*answers, strict=True):
        scores = [np.array([score for _, score in side]) for side in (one, other)]
        difference = float(np.abs(scores[0] - scores[1]).max(initial=0.0))
        largest = max(largest, difference)
        alike += [i for i, _ in one] == [i for i, _ in other]
        differ += difference > TOLERANCE
    return {
        "mentions": len(mentions),
        "same_candidates": alike,
        "scores_that_differ": differ,
        "largest_difference": round(largest, 7),
    }


if __name__ == "__main__":
    main()
