"""The weights of the ranker that are shipped, and those of tables, made without what they judge.

python benchmarks/accuracy/ranker_weights.py    writes linker/linking/weights/, an hour

They are fitted to mentions of some dozen vocabularies (benchmarks/lib/vocabularies.py), asked of
each dictionary as it is, with one name a concept, of parts of it, without concepts, and with names
of other domains (benchmarks/lib/ranker_lists.py); by characters, static vectors, and these beside
MiniLM. Models and lists are made once, and kept in benchmarks/work.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import ranker_lists, results, runs
from benchmarks.lib.data import TITLES
from benchmarks.lib.linkers import by_score, with_lent
from benchmarks.lib.results import WORK
from benchmarks.lib.vocabularies import (
    DOID_ALONE,
    MEDIC_ALONE,
    VOCABULARIES,
    Vocabulary,
)
from linker import Dictionary, Linker, LinkerOptions
from linker.io import persistence
from linker.linking import ranker as rankers
from linker.linking.calibration import Calibration
from linker.linking.lists import Judged, MatchLists
from linker.linking.ranker import Ranker
from linker.training import fit_ranker, pipeline
from linker.training.plan import RunSettings

TWO = "static,transformer"
ENCODERS = ("static", TWO, "tfidf")
KEPT = WORK / "ranker"
SEED = 0
Say = Callable[[str], None]

WEIGHTS = {
    "asked": 1.0,
    "folds": 1.0,
    "learnt": 1.0,
    "noisy": 0.4,
    "names": 0.4,
    "one name": 0.5,
    "part": 0.4,
    "out": 0.15,
    "no disease": 0.4,
    "foreign train": 1.6,
    "foreign one name": 1.6,
    "foreign part": 1.6,
}
"""What a mention of each kind of lists counts, before the vocabularies are made equal."""
NOT_IN_PART = 0.3  # what a mention counts beside others where its concept is not in the part
TOTAL = 1000.0  # what all mentions of a vocabulary count together
CORPORA = 4.0  # times that, those of the corpora of diseases: with less, their order loses 3 points
CORPORA_ASKED = 5.0  # times that, what they mark, and what is no disease, as it stands
AS_IT_STANDS = ("asked", "foreign train", "no disease")
CALIBRATING = 2_500  # mentions of a vocabulary that calibrate
MOST = {"static": 800, TWO: 400, "tfidf": 400}  # mentions of a kind that are fitted to


def encoders_of(vocabulary: Vocabulary) -> Sequence[str]:
    """The encoders by which a vocabulary is asked.

    Further lists of MEDIC and DOID would tell the other encoders little that is new.
    """
    is_one = vocabulary.dictionary in (MEDIC_ALONE, DOID_ALONE)
    return ENCODERS[:1] if is_one else ENCODERS


def linker_of(vocabulary: Vocabulary, encoder: str) -> Linker:
    """The model of a dictionary alone, whose ranker only has to be there."""
    folder = KEPT / "models" / runs.slug(vocabulary.model)
    if not folder.exists():
        by_score(vocabulary.dictionary(), TWO).save(folder)
    whole = Linker.load(folder).with_ranker(rankers.unfitted())
    generator: Any = whole.generator
    if encoder == "static":
        return dataclasses.replace(whole, encoder=encoder, generator=generator.with_second(None))
    if encoder == "tfidf":
        return dataclasses.replace(whole, encoder=encoder, generator=generator.sparse)
    return whole


@cache
def of_names(encoder: str) -> Linker:
    """The model of MEDIC with lent names alone, whose ranker only has to be there."""
    return linker_of(next(one for one in VOCABULARIES if one.dictionary is with_lent), encoder)


def lists(vocabulary: Vocabulary, encoder: str) -> Mapping[str, Judged]:
    """The lists of a vocabulary, by their kinds."""
    folder = KEPT / "lists" / encoder / runs.slug(vocabulary.title)
    if not (folder / "kinds.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        linker = linker_of(vocabulary, encoder)
        kinds = []
        for source in ranker_lists.sources(linker, linker.dictionary, vocabulary):
            np.savez(folder / f"{runs.slug(source.kind)}.npz", **arrays_of(source.lists))
            kinds.append(source.kind)
        persistence.save_json(folder / "kinds.json", {"kinds": kinds})
    kinds = persistence.load_json(folder / "kinds.json")["kinds"]
    return {kind: judged_of(np.load(folder / f"{runs.slug(kind)}.npz")) for kind in kinds}


LISTS = ("readings", "lookups", "rows", "values", "nil_evidence")
JUDGED = ("concepts", "relevance", "is_known", "weight")


def arrays_of(judged: Judged) -> dict[str, Any]:
    """The arrays of some lists."""
    of_lists = {name: getattr(judged.lists, name) for name in LISTS}
    return of_lists | {name: getattr(judged, name) for name in JUDGED}


def judged_of(arrays: Mapping[str, Any]) -> Judged:
    """Lists, given what `arrays_of` gave."""
    return Judged(
        MatchLists(**{name: arrays[name] for name in LISTS}),
        **{name: arrays[name] for name in JUDGED},
    )


def weighted(kind: str, judged: Judged) -> Judged:
    """Lists of a kind, with what each mention counts."""
    start = next(name for name in WEIGHTS if kind.startswith(name))
    weight = np.full(len(judged.weight), WEIGHTS[start], np.float32)
    if start == "part":
        weight[~judged.is_known] *= NOT_IN_PART
    return dataclasses.replace(judged, weight=weight)


def of_vocabulary(vocabulary: Vocabulary, encoder: str) -> Judged:
    """The lists that a vocabulary is fitted by; those that judge are not among them."""
    parts = []
    total = 0.0
    for kind, judged in lists(vocabulary, encoder).items():
        if kind == ranker_lists.JUDGE:
            continue
        order = np.random.default_rng(SEED).permutation(len(judged.weight))
        most = len(order) if kind.startswith("asked") else MOST[encoder]
        part = weighted(kind, judged.only(np.sort(order[:most])))
        total += float(part.weight.sum())
        if vocabulary.is_learnt:
            times = CORPORA * (CORPORA_ASKED if kind.startswith(AS_IT_STANDS) else 1)
            part = dataclasses.replace(part, weight=part.weight * np.float32(times))
        parts.append(part)
    joined = Judged.joined(parts)
    return dataclasses.replace(joined, weight=joined.weight * np.float32(TOTAL / total))


def fitted(vocabularies: Iterable[Vocabulary]) -> Ranker:
    """The ranker fitted to some vocabularies by all encoders."""
    chosen = list(vocabularies)
    parts = []
    for vocabulary in chosen:
        for encoder in encoders_of(vocabulary):
            parts.append(of_vocabulary(vocabulary, encoder))
    ranker = rankers.fit(Judged.joined(parts), SEED)
    groups = ", ".join(dict.fromkeys(one.group for one in chosen))
    what = f"mentions of {len(chosen)} vocabularies ({groups})"
    return dataclasses.replace(ranker, provenance={"shipped": True, "fitted_to": what})


def without(corpus: str) -> Path:
    """The weights for tables on a corpus of diseases: fitted without it, and kept."""
    return kept(runs.slug(TITLES[corpus]), lambda one: one.title.startswith(TITLES[corpus]))


def without_group(group: str) -> Path:
    """The weights that have seen no vocabulary of a group; they are kept."""
    return kept(runs.slug(group), lambda one: one.group == group)


def kept(name: str, is_left_out: Callable[[Vocabulary], bool]) -> Path:
    """The weights that are fitted without some vocabularies, made where they are not there."""
    folder = KEPT / "without" / name
    if not folder.exists():
        save(fitted(one for one in VOCABULARIES if not is_left_out(one)), folder)
    return folder


def calibration(vocabularies: Iterable[Vocabulary], encoders: Sequence[str]) -> Calibration:
    """The calibration by what people wrote, scored by weights that have not seen its group."""
    scored = []
    for vocabulary in vocabularies:
        if vocabulary.is_of_names:
            continue
        ranker = Ranker.load(without_group(vocabulary.group))
        for encoder in encoders:
            if encoder not in encoders_of(vocabulary):
                continue
            kinds = lists(vocabulary, encoder)
            asked = [part for kind, part in kinds.items() if kind.startswith("asked")]
            judged = Judged.joined(asked)
            order = np.random.default_rng(SEED).permutation(len(judged.weight))
            scored.append((ranker, judged.only(np.sort(order[:CALIBRATING]))))
    return fit_ranker.calibrated(scored)


def calibrate(folder: Path, vocabularies: Iterable[Vocabulary]) -> None:
    """Write the calibration by some vocabularies beside weights, which stay as they are."""
    record = persistence.load_json(folder / "ranker.json")
    record["calibration"] = calibration(vocabularies, ("static", TWO)).to_dict()
    persistence.save_json(folder / "ranker.json", record)


def starting_from(weights: Path) -> Any:
    """A context in which trainings start from these weights, in the place of those that ship."""
    return mock.patch.object(rankers, "SHIPPED", weights)


def trained(
    corpus: str,
    dictionary: Dictionary,
    encoder: str,
    mentions: Sequence[Any] = (),
    options: LinkerOptions | None = None,
    say: Say = print,
) -> Linker:
    """As `pipeline.train`, with a ranker that starts from weights which know nothing of the corpus.

    Args:
        corpus: what is evaluated on.
        dictionary, encoder, mentions, options: as for `pipeline.train`.
        say: is told how the training goes.
    """
    about: Any = {"encoder": encoder, "mentions": mentions, "options": options}
    with starting_from(without(corpus)):
        return pipeline.train(dictionary, **about, settings=RunSettings(say=say))


def save(ranker: Ranker, folder: Path) -> None:
    """Write the weights of a ranker."""
    folder.mkdir(parents=True, exist_ok=True)
    ranker.save(folder)


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    shutil.rmtree(KEPT / "without", ignore_errors=True)
    save(fitted(VOCABULARIES), rankers.SHIPPED)
    calibrate(rankers.SHIPPED, VOCABULARIES)
    for corpus in TITLES:
        others = [one for one in VOCABULARIES if not one.title.startswith(TITLES[corpus])]
        calibrate(without(corpus), others)
