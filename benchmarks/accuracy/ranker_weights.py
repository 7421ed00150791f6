"""The weights of the ranker that are shipped, and those of tables on a corpus, made without it.

python benchmarks/accuracy/ranker_weights.py    writes linker/linking/weights/

Fitted to the training and development mentions of NCBI Disease and BC5CDR, linked with the MEDIC of
2017 with names lent by DOID and HPO, by characters, static vectors, these beside MiniLM, and MiniLM
alone, as it is published (its vectors of names take minutes once, and are kept in benchmarks/work,
with the weights that are fitted without a corpus): by the dictionary alone,
by a dictionary that learnt the training mentions (those of the training documents in folds), by one
without a tenth of its concepts, and by parts of five to a hundred concepts. The last two count
less, as texts have few mentions without a concept, and most dictionaries are not small. So do
mentions in wrappings and with typing errors, and texts that are no disease, among them the
chemicals of BC5CDR; see `linker.training.fit_ranker`. Names of
the dictionary that it is asked for without them count less, too: no text has them, but they tell
what one corpus does not, that a longer name seldom means what its last words mean.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import CORPORA, TITLES, documents, locate
from benchmarks.lib.linkers import by_score, with_lent
from benchmarks.lib.results import WORK
from linker import Dictionary, Linker, LinkerOptions
from linker.io import mentions as corpora
from linker.io import persistence
from linker.linking import ranker as rankers
from linker.linking.calibration import Calibration
from linker.linking.options import changed, preset
from linker.linking.ranker import Judged, Ranker
from linker.records import Document, GoldGroup, Mention
from linker.search.hybrid import NameVectors
from linker.training import fit_ranker, pipeline, release
from linker.training.plan import RunSettings

TWO = "static,transformer"
ENCODERS = ("static", TWO, "tfidf", "transformer")
NOT_TRAINED = {"align": {"epochs": 0}, "training": {"epochs": 0}}
MISSING, WEIGHT_MISSING = 0.1, 0.2  # share of the concepts that are left out, and what it counts
HELD_OUT, WEIGHT_HELD_OUT = 8_000, 0.4  # names that are asked for, and what they count
SMALL, WEIGHT_SMALL = {5: 20, 20: 5, 100: 1}, 0.5  # concepts: parts of so many; what they count
SEED = 0
Say = Callable[[str], None]


@cache
def of_names(encoder: str) -> Linker:
    """The linker of the dictionary alone, whose ranker only has to be there."""
    folder = WORK / f"ranker-weights-{encoder}"
    if encoder == TWO:
        first, other = of_names("static"), of_names("transformer").generator
        second = NameVectors(other.encoder, other.table, other.dense)
        generator = first.generator.with_second(second)
        return dataclasses.replace(first, encoder=TWO, generator=generator)
    if encoder == "transformer":
        options = changed(preset("default", encoder), NOT_TRAINED)
        if not folder.exists():
            by_score(with_lent(), encoder, options=options).save(folder)
        return Linker.load(folder).with_ranker(rankers.unfitted())
    return by_score(with_lent(), encoder).with_ranker(rankers.unfitted())


def judged(corpus: str, encoder: str) -> Iterator[Judged]:
    """The lists of a corpus."""
    train, devel = documents(corpus, "train"), documents(corpus, "devel")
    names, whole = of_names(encoder), with_lent()
    learnt = release.with_dictionary(names, whole, train)
    yield fit_ranker.judged(names, [*train, *devel])
    yield fit_ranker.folds(names, whole, train, SEED)
    yield fit_ranker.judged(learnt, devel)
    is_out = np.random.default_rng(SEED).random(len(names.dictionary)) < MISSING
    fewer = fit_ranker.judged(without_names(names, np.zeros(0, np.int64), is_out), [*train, *devel])
    yield dataclasses.replace(fewer, weight=WEIGHT_MISSING * fewer.weight)
    yield from fit_ranker.noise_lists(names, [*train, *devel], SEED)
    if chemicals := [Mention(text, gold=()) for text in substances(corpus, names)]:
        yield fit_ranker.judged(names, chemicals).weighted(fit_ranker.WEIGHT_NONE)
    for part in small(names, devel):
        weight = np.where(part.is_known, WEIGHT_SMALL, WEIGHT_MISSING * WEIGHT_SMALL)
        yield dataclasses.replace(part, weight=weight.astype(np.float32))


def substances(corpus: str, linker: Linker) -> list[str]:
    """The chemicals that a corpus marks beside its diseases, without those that name a disease."""
    if corpus != "bc5cdr":
        return []
    paths = [locate(CORPORA[corpus][split]) for split in ("train", "devel")]
    found = (
        m.text for path in paths for d in corpora.read(path, type="Chemical") for m in d.mentions
    )
    return [
        text
        for text in dict.fromkeys(found)
        if not fit_ranker.holds_name(text, linker.engine.is_name)
    ]


def without_names(linker: Linker, names: NDArray[np.int64], concepts: NDArray[np.bool_]) -> Linker:
    """The linker that does not know some names and some concepts; it shares all vectors.

    Names that were annotated stay.

    Args:
        linker: the linker.
        names: rows of names of the dictionary.
        concepts: which concepts are not known, (concepts of the dictionary,).
    """
    table, columns = linker.generator.table, linker.dictionary.columns.names
    is_out = concepts[table.concepts]
    for name in names.tolist():
        row = table.row(linker.normalize(columns.texts[name]))
        pairs = np.arange(*table.indptr[row : row + 2])
        pairs = pairs[table.concepts[pairs] == columns.concept[name]]
        if columns.annotated is None or not columns.annotated[table.entries[pairs]].any():
            is_out[pairs] = True
    return dataclasses.replace(linker, generator=linker.generator.without(is_out))


def held_out(linker: Linker) -> Judged:
    """The lists of names, without which the dictionary is asked for them; no preferred ones."""
    names, ids = linker.dictionary.columns.names, linker.dictionary.ids
    is_asked = np.bincount(names.concept)[names.concept] > 1
    is_asked[linker.dictionary.preferred] = False
    rows = np.random.default_rng(SEED).permutation(np.flatnonzero(is_asked))[:HELD_OUT]
    golds = [(GoldGroup((ids[names.concept[row]],)),) for row in rows.tolist()]
    mentions = [Mention(names.texts[row], gold=g) for row, g in zip(rows, golds, strict=True)]
    none = np.zeros(len(linker.dictionary), bool)
    found = fit_ranker.judged(without_names(linker, np.sort(rows), none), mentions)
    return dataclasses.replace(found, weight=WEIGHT_HELD_OUT * found.weight)


def small(linker: Linker, items: Sequence[Document]) -> Iterator[Judged]:
    """The lists of parts of the dictionary: the mentions of their concepts, and as many others."""
    random, rows = np.random.default_rng(SEED), linker.dictionary.rows
    mentions = [mention for document in items for mention in document.mentions]
    concepts = [
        {row for group in m.gold or () for i in group.ids for row in rows(i)} for m in mentions
    ]
    known = np.unique(sorted({row for of_one in concepts for row in of_one}))
    for size, parts in SMALL.items():
        for _ in range(parts):
            is_in = np.zeros(len(linker.dictionary), bool)
            is_in[random.permutation(known)[:size]] = True
            inside = [any(is_in[row] for row in of_one) for of_one in concepts]
            others = random.permutation(np.flatnonzero(~np.array(inside)))[: sum(inside)]
            asked = [mentions[i] for i in sorted([*np.flatnonzero(inside), *others])]
            if asked:
                part = dataclasses.replace(linker, generator=linker.generator.among(is_in))
                yield fit_ranker.judged(part, asked)


@cache
def lists(corpus: str) -> Judged:
    """All lists of a corpus; those of names that are held out where it is empty."""
    if not corpus:
        return Judged.joined([held_out(of_names(encoder)) for encoder in ENCODERS])
    return Judged.joined([part for encoder in ENCODERS for part in judged(corpus, encoder)])


def of_corpora(*corpora: str) -> Ranker:
    """The ranker fitted to some corpora."""
    ranker = rankers.fit(Judged.joined([lists(corpus) for corpus in (*corpora, "")]), SEED)
    titles = " and ".join(TITLES[corpus] for corpus in corpora)
    what = f"the training and development mentions of {titles}, and names of MEDIC"
    return dataclasses.replace(ranker, provenance={"shipped": True, "fitted_to": what})


def without(corpus: str) -> Path:
    """The weights for tables on a corpus: fitted to the others; kept in the working folder."""
    folder = WORK / f"ranker-without-{corpus}"
    if not folder.exists():
        save(of_corpora(*(other for other in TITLES if other != corpus)), folder)
    return folder


def calibration(*corpora: str) -> Calibration:
    """The calibration by corpora, each scored by weights that do not know it."""
    return fit_ranker.calibrated(
        (
            Ranker.load(without(corpus)),
            fit_ranker.judged(
                of_names(encoder), [*documents(corpus, "train"), *documents(corpus, "devel")]
            ),
        )
        for corpus in corpora
        for encoder in ("static", TWO)
    )


def calibrate(folder: Path, *corpora: str) -> None:
    """Write the calibration by some corpora beside weights, which stay as they are."""
    record = persistence.load_json(folder / "ranker.json")
    record["calibration"] = calibration(*corpora).to_dict()
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
    save(of_corpora(*TITLES), rankers.SHIPPED)
    for corpus in TITLES:
        shutil.rmtree(WORK / f"ranker-without-{corpus}", ignore_errors=True)
        without(corpus)
    calibrate(rankers.SHIPPED, *TITLES)
    for corpus in TITLES:
        calibrate(without(corpus), *(other for other in TITLES if other != corpus))
