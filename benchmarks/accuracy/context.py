"""Whether the rest of a document decides what an ambiguous mention means.

python benchmarks/accuracy/context.py    20 minutes

Writes results/context.json. A mention is ambiguous that is, its short forms expanded, a name of
several concepts, or that is a short form which its document does not define, of which a second
meaning is at least half as probable as the first. All mentions with such a second meaning are
another set, "close". Training and development mentions that have a concept are linked with weights
that know nothing of their corpus: by MEDIC with lent names alone, after training on the other
corpus, after training on the other half of the corpus, and by MEDIC, DOID and HPO joined, where
concepts that cross-references tie together have one meaning.

Signals of the document then put the candidates of the ranker in another order. They are weighed
beside the log-odds of the confidence by a logistic regression over the candidates of a mention,
fitted to the other corpus. What they do with the text of another document is no merit of context:
"elsewhere". Intervals are of 95%, by a paired bootstrap of documents.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import TfidfVectorizer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import promises, ranker_weights
from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, TITLES, documents, locate
from benchmarks.lib.linkers import ONTOLOGIES, by_score, with_lent
from linker import Dictionary, Document, Linker, Prediction
from linker.linking.ranker import Ranker
from linker.linking.ranking import DEPTH
from linker.matching import accepted, strict_rank
from linker.search.hybrid import NameVectors
from linker.text.find import is_short_form

Floats = NDArray[np.float64]
Figures = dict[str, Any]
LEARNT = {
    "dictionary": "the dictionary",
    "joint": "the dictionary, joined with DOID and HPO",
    "other": "mentions of the other corpus",
    "half": "mentions of the other half",
}
ENCODERS = {"static vectors": "static", "MiniLM": "transformer"}
SIGNALS = {  # places of the columns that follow the log-odds of the confidence
    "other mentions": (1, 2, 3, 4),
    "words": (5, 6),
    "static vectors": (7, 8),
    "MiniLM": (9, 10),
    "all": tuple(range(1, 11)),
}
CLOSE = 0.5  # the confidence of the second meaning, as a share of that of the first
AROUND, CHUNK = 8, 16  # words on each side of a mention; words of a text encoded at once
PENALTY = 3.0  # of the squares of the weights
SAMPLES = 2_000  # of documents


@dataclass(frozen=True, slots=True)
class Context:
    """What stands in a document beside a mention."""

    before: Sequence[str]  # words in normal form
    behind: Sequence[str]
    firsts: Counter[int]  # the first concepts of mentions that are spelt otherwise
    words: frozenset[str]  # of these mentions


@dataclass(frozen=True, slots=True)
class Choice:
    """A mention with its candidates, described with its own context and with another one."""

    document: int
    sets: frozenset[str]
    right: NDArray[np.bool_]  # (candidates,)
    own: Floats  # (candidates, columns)
    elsewhere: Floats


@dataclass(slots=True)
class Asked:
    """The mentions of a corpus."""

    total: int
    choices: list[Choice]


@cache
def joint() -> Linker:
    """A model of MEDIC, DOID and HPO as one dictionary."""
    return by_score(Dictionary.read(locate(MEDIC["2017"]), *map(locate, ONTOLOGIES)), "static")


def models(corpus: str, learnt: str) -> Iterator[tuple[Linker, Sequence[Document]]]:
    """The models that a corpus is asked of, each with its documents."""
    items = documents(corpus, "train", "devel")
    if learnt == "dictionary":
        yield promises.alone(corpus), items
    elif learnt == "joint":
        yield joint().with_ranker(Ranker.load(ranker_weights.without(corpus))), items
    elif learnt == "other":
        yield promises.learnt(promises.OTHER[corpus], corpus), items
    else:
        for known, asked in ((items[::2], items[1::2]), (items[1::2], items[::2])):
            about: Any = {"mentions": known, "say": lambda _: None}
            yield ranker_weights.trained(corpus, with_lent(), "static", **about), asked


@cache
def vectors(encoder: str) -> NameVectors:
    """The vectors of names, and of other texts, by an encoder."""
    generator: Any = ranker_weights.of_names(encoder).generator
    return NameVectors(generator.encoder, generator.table, generator.dense)


def unit(encoder: str, texts: Sequence[str]) -> Floats:
    """The mean vector of some texts, of length 1; without one it is that of "disease"."""
    mean = vectors(encoder).encode([*filter(None, texts)] or ["disease"]).mean(0)
    length = np.linalg.norm(mean)
    return np.asarray(mean / length if length else mean, np.float64)


class Signals:
    """What a context says of the candidates of a mention.

    Args:
        linker: in whose dictionary they are looked up.
    """

    def __init__(self, linker: Linker) -> None:
        self._dictionary, self._normalize = linker.dictionary, linker.normalize
        self._hierarchy = linker.dictionary.hierarchy
        self._names, self._near = cache(self._names_of), cache(self._near_of)
        self._above = cache(lambda row: {row, *self._hierarchy.ancestors([row])[0].tolist()})
        self._vector = cache(lambda encoder, row: unit(encoder, self._names(row)))

    def _names_of(self, row: int) -> list[str]:
        names = self._dictionary.name_rows(row).tolist()
        return [self._normalize(self._dictionary.names[name]) for name in names]

    def _near_of(self, row: int) -> set[int]:
        """The parents, children and siblings of a concept."""
        parents = self._hierarchy.parents([row])[0].tolist()
        below = self._hierarchy.children([row, *parents])
        return {*parents, *(other for rows in below for other in rows.tolist())} - {row}

    @cached_property
    def _profiles(self) -> tuple[TfidfVectorizer, Any]:
        """The words of names and definition of each concept, and of the names of its parents."""
        texts = []
        for row in range(len(self._dictionary)):
            above = map(self._dictionary.preferred_name, self._hierarchy.parents([row])[0].tolist())
            more = [self._dictionary.concept(row).definition, *above]
            texts.append(" ".join([*self._names(row), *map(self._normalize, more)]))
        tfidf = TfidfVectorizer(token_pattern=r"\S+", sublinear_tf=True)
        return tfidf, tfidf.fit_transform(texts)

    def columns(self, prediction: Prediction, context: Context) -> Floats:
        """Describe the candidates, (candidates, columns).

        Of the words of the text and of names those count that the mention lacks.
        """
        own = set(self._normalize(prediction.mention.text).split())
        near = [*context.before[-AROUND:], *context.behind[:AROUND]]
        around = " ".join(word for word in near if word not in own)
        rest = [word for word in [*context.before, *context.behind] if word not in own]
        chunks = [" ".join(rest[at : at + CHUNK]) for at in range(0, len(rest), CHUNK)]
        tfidf, profiles = self._profiles
        asked = tfidf.transform([" ".join(rest), around])
        encoded = {e: (unit(e, chunks), unit(e, [around])) for e in ENCODERS.values()}
        firsts, lines = context.firsts, []
        for candidate in prediction.parts[0].candidates:
            (row, *_) = self._dictionary.rows(candidate.concept_id)
            sure = min(max(candidate.confidence or 0.0, 1e-4), 1 - 1e-4)
            words = {word for name in self._names(row) for word in name.split()} - own
            above = self._above(row)
            shared = (len(above & self._above(r)) / len(above | self._above(r)) for r in firsts)
            line = [np.log(sure / (1 - sure)), np.log1p(firsts[row])]
            line.append(np.log1p(sum(firsts[other] for other in self._near(row) & firsts.keys())))
            line += [max(shared, default=0.0), len(words & context.words) / max(1, len(words))]
            line += (asked @ profiles[row].T).toarray()[:, 0].tolist()
            line += [v @ self._vector(e, row) for e, texts in encoded.items() for v in texts]
            lines.append(line)
        return np.array(lines, np.float64)


class Reader:
    """Finds the mentions whose meaning is open.

    Args:
        linker: links them.
        is_joint: whether cross-references tie concepts together.
    """

    def __init__(self, linker: Linker, is_joint: bool) -> None:
        self._linker, self._signals = linker, Signals(linker)
        self._rows, self._resolve = linker.dictionary.rows, linker.dictionary.resolve
        ties = linker.dictionary.references_within if is_joint else np.zeros((0, 2), np.int64)
        shape = (len(linker.dictionary), len(linker.dictionary))
        self._meaning = connected_components(coo_matrix((np.ones(len(ties)), ties.T), shape))[1]

    def _meanings(self, ids: Iterable[str]) -> set[int]:
        return {int(self._meaning[row]) for identifier in ids for row in self._rows(identifier)}

    def _right(self, prediction: Prediction) -> NDArray[np.bool_]:
        """Whether each candidate is right, (candidates,)."""
        gold, resolve = prediction.mention.gold or (), self._resolve
        is_one = len(gold) == 1 and gold[0].operator == "one_of"
        wanted = self._meanings(accepted(gold, resolve)) if is_one else set()
        ids = [candidate.concept_id for candidate in prediction.parts[0].candidates]
        right = [
            strict_rank([[i]], gold, resolve) == 1 or self._meanings([i]) & wanted for i in ids
        ]
        return np.array(right, bool)

    def _sets(self, prediction: Prediction) -> frozenset[str]:
        """Which sets a mention is of."""
        text, part, sets = prediction.mention.text, prediction.parts[0], set()
        table, form = self._linker.generator.table, self._linker.normalize(part.expanded or text)
        if form in table and len({*self._meaning[table.concepts_of(table.row(form))].tolist()}) > 1:
            sets.add("ambiguous")
        first = part.candidates[0]
        others = (
            candidate.confidence or 0.0
            for candidate in part.candidates
            if not self._meanings([candidate.concept_id]) & self._meanings([first.concept_id])
        )
        if (second := next(others, 0.0)) and second >= CLOSE * (first.confidence or 0.0):
            sets.add("close")
            if part.expanded is None and is_short_form(text):
                sets.add("ambiguous")
        return frozenset(sets)

    def _contexts(self, text: str, found: Sequence[Prediction]) -> list[Context]:
        """The contexts of the mentions of a document."""
        normalize, contexts = self._linker.normalize, []
        forms = [normalize(prediction.mention.text) for prediction in found]
        firsts: dict[str, set[int]] = {form: set() for form in forms}
        for form, prediction in zip(forms, found, strict=True):
            best = [part.candidates[0].concept_id for part in prediction.parts if part.candidates]
            firsts[form].update(self._rows(identifier)[0] for identifier in best)
        for own, prediction in zip(forms, found, strict=True):
            (start, _), (_, end) = prediction.mention.spans[0], prediction.mention.spans[-1]
            rows = Counter(row for form, of in firsts.items() if form != own for row in of)
            words = frozenset(word for form in firsts if form != own for word in form.split())
            sides = normalize(text[:start]).split(), normalize(text[end:]).split()
            contexts.append(Context(*sides, rows, words))
        return contexts

    def read(self, items: Sequence[Document], number: int) -> Asked:
        """Link the mentions of documents, which are numbered from a number on."""
        items = [document for document in items if document.mentions]
        linked = iter(self._linker.link(items, k=DEPTH, threshold=0.0))
        every = [[*islice(linked, len(document.mentions))] for document in items]
        contexts = [self._contexts(d.text, found) for d, found in zip(items, every, strict=True)]
        asked = Asked(0, [])
        for place, found in enumerate(every):
            (elsewhere, *_) = contexts[place - 1]
            for prediction, own in zip(found, contexts[place], strict=True):
                asked.total += prediction.mention.gold is not None
                is_one = len(prediction.parts) == 1 and prediction.parts[0].candidates
                if is_one and prediction.mention.gold and (sets := self._sets(prediction)):
                    columns = [self._signals.columns(prediction, c) for c in (own, elsewhere)]
                    right = self._right(prediction)
                    asked.choices.append(Choice(number + place, sets, right, *columns))
        return asked


def asked_of(corpus: str, learnt: str) -> Asked:
    """The mentions of a corpus, linked by what learnt something."""
    asked, number = Asked(0, []), 0
    for linker, items in models(corpus, learnt):
        part = Reader(linker, learnt == "joint").read(items, number)
        asked.total, number = asked.total + part.total, number + len(items)
        asked.choices += part.choices
    return asked


def fitted(choices: Sequence[Choice], of: Callable[[Choice], Floats]) -> Floats:
    """The weights of columns, (columns,), by which the right candidates of mentions come first."""
    choices = [choice for choice in choices if choice.right.any()]
    sizes = [len(choice.right) for choice in choices]
    starts = np.cumsum([0, *sizes[:-1]])
    values, right = np.vstack([*map(of, choices)]), np.concatenate([c.right for c in choices])
    values = values - np.repeat(np.add.reduceat(values, starts) / np.c_[sizes], sizes, axis=0)
    scale = values.std(0) + 1e-9
    values /= scale
    usual = np.zeros(values.shape[1])  # the order of before
    usual[0] = scale[0]

    def shares(scores: Floats) -> tuple[float, Floats]:
        top = np.maximum.reduceat(scores, starts)
        parts = np.exp(scores - np.repeat(top, sizes))
        total = np.add.reduceat(parts, starts)
        return float((top + np.log(total)).sum()), parts / np.repeat(total, sizes)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores, away = values @ weights, weights - usual
        (whole, p), (of_right, q) = shares(scores), shares(np.where(right, scores, -1e9))
        return whole - of_right + PENALTY / 2 * away @ away, values.T @ (p - q) + PENALTY * away

    return np.asarray(minimize(loss, usual, jac=True, method="L-BFGS-B").x / scale, np.float64)


def difference(choices: Sequence[Choice], after: Floats) -> Figures:
    """How many more mentions are right, (mentions,), than by the ranker alone."""
    change = after - [choice.right[0] for choice in choices]
    _, owner = np.unique([choice.document for choice in choices], return_inverse=True)
    sums, counts = np.bincount(owner, change), np.bincount(owner)
    chosen = np.random.default_rng(0).integers(len(sums), size=(SAMPLES, len(sums)))
    means = sums[chosen].sum(1) / counts[chosen].sum(1)
    return {
        "after": float(after.mean()),
        "difference": float(change.mean()),
        "interval": np.percentile(means, [2.5, 97.5]).tolist(),
        "mended": int((change > 0).sum()),
        "broken": int((change < 0).sum()),
    }


def figures(asked: Asked, known: Asked, name: str) -> Figures:
    """What context does for a set of the mentions that are asked, by the signals fitted to others.

    Args:
        asked: of one corpus.
        known: of the other one.
        name: of the set.
    """
    choices = [choice for choice in asked.choices if name in choice.sets]
    row: Figures = {
        "mentions": len(choices),
        "share": len(choices) / asked.total,
        "documents": len({choice.document for choice in choices}),
        "before": float(np.mean([choice.right[0] for choice in choices])),
        "bound": float(np.mean([choice.right.any() for choice in choices])),
    }
    for signals, places in SIGNALS.items():
        columns = [0, *places]
        found = row[signals] = {}
        for text in ("own", "elsewhere"):
            of = lambda c, text=text: getattr(c, text)[:, columns]  # noqa: B023, E731
            weights = fitted(known.choices, of)
            after = [c.right[np.argmax(of(c) @ weights)] for c in choices]
            found[text] = difference(choices, np.array(after, np.float64))
    return row


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows = []
    for learnt, title in LEARNT.items():
        every = {corpus: asked_of(corpus, learnt) for corpus in TITLES}
        for corpus, other in promises.OTHER.items():
            for name in ("ambiguous", "close"):
                row = {"corpus": TITLES[corpus], "learnt": title, "set": name}
                rows.append(row | figures(every[corpus], every[other], name))
                print(rows[-1], flush=True)
    results.save("context", {"rows": rows}, seed=0)
