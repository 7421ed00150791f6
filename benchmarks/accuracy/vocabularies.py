"""How vocabularies are linked that the ranker has not seen: a group of them is left out of its fit.

python benchmarks/accuracy/vocabularies.py                                by static vectors
python benchmarks/accuracy/vocabularies.py --encoder static,transformer   beside MiniLM
python benchmarks/accuracy/vocabularies.py --shipped                      by the weights that ship
python benchmarks/accuracy/vocabularies.py --only TwADR-L                 some of the vocabularies
python benchmarks/accuracy/vocabularies.py --again                        where weights changed
python benchmarks/accuracy/vocabularies.py --table                        asks nothing
python benchmarks/accuracy/vocabularies.py --guard                        what a test compares with

Writes results/vocabularies.json; with --shipped its part "shipped". The pages want both encoders.
The runs are kept in results/runs/vocabularies.jsonl.gz, whatever weights gave them, until --again
asks anew. A model is that of the dictionary alone. The mentions of documents are asked as texts
without them, at most 2,000 of a vocabulary, and names that people use are left out
(text.everyday=false). Beside the linker stand the first hits of trigrams (TF-IDF of scikit-learn)
and of MiniLM, which always answer.

--guard asks 300 mentions of each group by characters, with the weights that ship; it writes
results/vocabularies_guard.json, below which tests/test_vocabularies.py lets nothing fall.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import ranker_weights
from benchmarks.accuracy.everyday import without
from benchmarks.lib import hits, ranker_lists, results, runs
from benchmarks.lib.hits import Hits
from benchmarks.lib.linkers import by_score
from benchmarks.lib.measure import rounded
from benchmarks.lib.vocabularies import VOCABULARIES, Vocabulary
from linker import Dictionary, Linker, Mention, matching
from linker.evaluation import metrics, protocols, report
from linker.io.mentions import flatten
from linker.linking.ranker import SHIPPED, Ranker
from linker.linking.ranking import by_probability
from linker.search.hybrid import HybridGenerator

TABLE = "vocabularies"  # of runs, and the result
GUARD = "vocabularies_guard"  # the result that the test compares with
SEED = 0
MOST = 2_000  # mentions that are asked of a vocabulary
GUARD_MOST = 300  # mentions, and names of other domains, that the guard asks
TOLD = 0.9  # share of the names of other domains that are told where the price is compared
SAMPLES = 1_000  # of a bootstrap
TWO = ranker_weights.TWO
ENCODERS = ("static", TWO)
TRIGRAMS = "trigrams"
MINILM = "minilm"
BATCH = 200  # texts whose similarities to all names are in memory at once
TITLES = {vocabulary.title: vocabulary for vocabulary in VOCABULARIES}
GUARDED = (
    "NCBI Disease",
    "HPO, names held out",
    "Cell Ontology, CRAFT",
    "Uberon, CRAFT",
    "TwADR-L",
    "MedMentions",
    "BC5CDR, chemicals",
    "BioRED, genes and species",
)
"""A vocabulary of each group; of chemicals and genes both."""
SHARES = ("answered", "forced", "acc5", "told", "lost_at_told", TRIGRAMS, MINILM)
"""Figures that are means over mentions, of which a run keeps a digit for each."""

Row = dict[str, Any]
Values = NDArray[np.float64]


def drawn(mentions: Sequence[Mention], most: int) -> list[Mention]:
    """At most so many of some mentions, in their order."""
    places = np.random.default_rng(SEED).permutation(len(mentions))[:most]
    return [mentions[place] for place in sorted(places.tolist())]


def asked(vocabulary: Vocabulary, dictionary: Dictionary, most: int = MOST) -> list[Mention]:
    """The annotated mentions of a vocabulary, without their documents."""
    mentions = [
        Mention(mention.text, gold=mention.gold)
        for mention, _ in flatten(vocabulary.asked(dictionary))
        if mention.gold is not None
    ]
    return drawn(mentions, most)


def of_first_hits(
    mentions: Sequence[Mention], concepts: Sequence[int | None], dictionary: Dictionary
) -> Row:
    """Which first hits are right.

    Args:
        mentions: that were looked up.
        concepts: the row of the concept that was found first for each; None where none was.
        dictionary: that was searched.
    """
    right = []
    for mention, concept in zip(mentions, concepts, strict=True):
        ids = [] if concept is None else [dictionary.ids[concept]]
        rank = matching.strict_rank([ids], mention.gold or (), dictionary.resolve)
        right.append(rank == 1)
    return {"right": hits.digits(right)}


def find_trigrams(vocabulary: Vocabulary) -> Row:
    """The concept of the name that has the most similar trigrams, for each mention."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    dictionary = ranker_weights.linker_of(vocabulary, "static").dictionary
    mentions = asked(vocabulary, dictionary)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))
    names = vectorizer.fit_transform(dictionary.names).T.tocsr()
    texts = vectorizer.transform([mention.text for mention in mentions])
    concepts: list[int | None] = []
    for start in range(0, len(mentions), BATCH):
        similarity = (texts[start : start + BATCH] @ names).toarray()
        for name, cosine in zip(similarity.argmax(axis=1), similarity.max(axis=1), strict=True):
            concepts.append(int(dictionary.name_concept[name]) if cosine > 0 else None)
    return of_first_hits(mentions, concepts, dictionary)


def find_minilm(vocabulary: Vocabulary) -> Row:
    """The concept of the name whose vector by MiniLM is the nearest, for each mention."""
    linker = ranker_weights.linker_of(vocabulary, TWO)
    generator = linker.generator
    if not isinstance(generator, HybridGenerator) or generator.second is None:
        raise TypeError(f"the model of {vocabulary.title} has no vectors of MiniLM")
    mentions = asked(vocabulary, linker.dictionary)
    found = generator.second.search([linker.normalize(mention.text) for mention in mentions], 1)
    concepts: list[int | None] = [None] * len(mentions)
    for query, name in zip(found.queries.tolist(), found.rows.tolist(), strict=True):
        concepts[query] = int(generator.table.concepts_of(name)[0])
    return of_first_hits(mentions, concepts, linker.dictionary)


def find_linker(vocabulary: Vocabulary, encoder: str, is_shipped: bool) -> Row:
    """What the linker answers, by weights that ship or that have seen nothing of the group."""
    weights = SHIPPED if is_shipped else ranker_weights.without_group(vocabulary.group)
    unfitted = without(ranker_weights.linker_of(vocabulary, encoder))
    linker = unfitted.with_ranker(Ranker.load(weights))
    mentions = asked(vocabulary, linker.dictionary)
    others = ranker_lists.foreign(linker, vocabulary, "dev")
    answers = list(protocols.strict(linker, mentions, 1))
    forced = list(protocols.strict(linker, mentions, 5, threshold=0))
    is_right = np.array([outcome.rank == 1 for outcome in forced])
    none = withheld(linker, mentions)
    none_of_others = withheld(linker, others)
    limit = np.quantile(none_of_others, 1 - TOLD)
    return {
        "answered": hits.digits(outcome.rank == 1 for outcome in answers),
        "forced": hits.digits(is_right),
        "acc5": hits.digits(0 < outcome.rank <= 5 for outcome in forced),
        "told": hits.digits(told(linker, others)),
        "lost_at_told": hits.digits(is_right & (none >= limit)),
        "ece": ece(answers),
        "auroc": separation(none[is_right], none_of_others),
    }


def told(linker: Linker, mentions: Sequence[Mention]) -> list[bool]:
    """Whether no concept is named for each mention."""
    predictions = linker.link(mentions, k=1)
    return [not any(part.best for part in prediction.parts) for prediction in predictions]


def withheld(linker: Linker, mentions: Sequence[Mention]) -> Values:
    """The share of "none" of what it and the best answer have together, (mentions,).

    By this number answers are withheld (`linker.linking.ranking.NONE`).
    """
    if linker.ranker is None:
        raise TypeError("without a ranker nothing is withheld")
    parts = []
    for _, batch in linker.lists(mentions):
        probabilities = linker.ranker.probabilities(batch.lists)
        ranking = by_probability(batch, probabilities)
        best = ranking.readings[ranking.best]
        parts.append(probabilities.none / (probabilities.none + best))
    return np.concatenate(parts)


def ece(outcomes: Sequence[protocols.Outcome]) -> list[float]:
    """The expected calibration error of first candidates with its interval."""
    known = [outcome for outcome in outcomes if outcome.confidence is not None]
    confidences = np.array([outcome.confidence for outcome in known], np.float64)
    right = np.array([outcome.first_is_right for outcome in known], np.float64)

    def error(confidences: Values, right: Values) -> float:
        return metrics.calibration_error(confidences, right)

    value = report.calibration(confidences, right)["ece"]
    return [value, *sampled(error, (confidences, right), paired=True)]


def separation(none: Values, none_of_others: Values) -> list[float]:
    """How often a name of another domain has more of "none" than a right answer, with its interval.

    Args:
        none: of mentions with right answers.
        none_of_others: of names of other domains.
    """

    def area(none: Values, none_of_others: Values) -> float:
        is_other = np.repeat([False, True], [len(none), len(none_of_others)])
        return metrics.auroc(np.concatenate([none, none_of_others]), is_other)

    ends = sampled(area, (none, none_of_others), paired=False)
    return [*rounded([area(none, none_of_others)]), *ends]


def sampled(
    statistic: Callable[..., float], values: tuple[Values, ...], *, paired: bool
) -> list[float]:
    """The ends of the 95% interval of a statistic, by a percentile bootstrap over mentions."""
    found = stats.bootstrap(
        values,
        statistic,
        n_resamples=SAMPLES,
        vectorized=False,
        paired=paired,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return rounded(found.confidence_interval)


def key(vocabulary: Vocabulary, system: str, is_shipped: bool = False) -> str:
    """The name of a run."""
    return runs.slug(f"{vocabulary.title} {system}{' shipped' if is_shipped else ''}")


class Kept:
    """What is kept of a vocabulary: what the linker answers, and the first hits beside it.

    Args:
        vocabulary: the vocabulary.
        encoder: of the linker.
        is_shipped: whether it has the weights that ship.
        kept: the figures of all runs.
    """

    def __init__(
        self, vocabulary: Vocabulary, encoder: str, is_shipped: bool, kept: Mapping[str, Row]
    ) -> None:
        self.vocabulary = vocabulary
        of_linker = kept[key(vocabulary, encoder, is_shipped)]
        self.ece: list[float] = of_linker["ece"]
        self.auroc: list[float] = of_linker["auroc"]
        self.hits = {name: hits.read(of_linker[name]) for name in SHARES if name in of_linker}
        for system in (TRIGRAMS, MINILM):
            self.hits[system] = hits.read(kept[key(vocabulary, system)]["right"])


def every(encoder: str, is_shipped: bool, kept: Mapping[str, Row]) -> list[Kept]:
    """The vocabularies that were asked of a linker and of both others."""
    return [
        Kept(one, encoder, is_shipped, kept)
        for one in VOCABULARIES
        if {key(one, encoder, is_shipped), key(one, TRIGRAMS), key(one, MINILM)} <= kept.keys()
    ]


def mean_of(values: Sequence[Hits], weights: Values) -> list[float]:
    """A weighted mean of the means of several vocabularies, with its 95% interval.

    A sample has the same mentions for all vocabularies that ask the same mentions.

    Args:
        values: one for each mention of each vocabulary.
        weights: of the vocabularies, 1 together.
    """
    mean = sum(weight * of_one.mean() for weight, of_one in zip(weights, values, strict=True))
    samples = np.zeros(SAMPLES)
    for weight, of_one in zip(weights, values, strict=True):
        times = metrics.resampled(np.random.default_rng(SEED), len(of_one), SAMPLES)
        samples += weight * (times @ of_one) / len(of_one)
    return rounded([mean, *metrics.interval(samples)])


def figures_of(members: Sequence[Kept], weights: Values) -> Row:
    """The figures of some vocabularies together; of several, ECE and AUROC have no interval."""
    of_hits = {name: [one.hits[name] for one in members] for name in SHARES}
    row: Row = {
        "vocabularies": len(members),
        "n": sum(map(len, of_hits["answered"])),
        "foreign": sum(map(len, of_hits["told"])),
    }
    for name in SHARES:
        row[name] = mean_of(of_hits[name], weights)
    for name, one, other in (
        ("lost", "forced", "answered"),
        ("answered_over_trigrams", "answered", TRIGRAMS),
        ("forced_over_trigrams", "forced", TRIGRAMS),
        ("forced_over_minilm", "forced", MINILM),
    ):
        pairs = zip(of_hits[one], of_hits[other], strict=True)
        row[name] = mean_of([right - base for right, base in pairs], weights)
    if len(members) == 1:
        row |= {"ece": members[0].ece, "auroc": members[0].auroc}
    else:
        row["ece"] = rounded([float(weights @ [one.ece[0] for one in members])])
        row["auroc"] = rounded([float(weights @ [one.auroc[0] for one in members])])
    return row


def tables(is_shipped: bool, kept: Mapping[str, Row]) -> Row:
    """The rows of vocabularies, those of groups, and the means over the groups, of all encoders."""
    rows: list[Row] = []
    groups: list[Row] = []
    means: list[Row] = []
    for encoder in ENCODERS:
        members = every(encoder, is_shipped, kept)
        if not members:
            continue
        by_group: dict[str, list[Kept]] = {}
        for one in members:
            by_group.setdefault(one.vocabulary.group, []).append(one)
            about = {"vocabulary": one.vocabulary.title, "group": one.vocabulary.group}
            rows.append(about | {"encoder": encoder} | figures_of([one], np.ones(1)))
        for group, of_group in by_group.items():
            weights = np.full(len(of_group), 1 / len(of_group))
            groups.append({"group": group, "encoder": encoder} | figures_of(of_group, weights))
        sizes = np.array([len(by_group[one.vocabulary.group]) for one in members])
        weights = 1 / (len(by_group) * sizes)
        means.append({"groups": len(by_group), "encoder": encoder} | figures_of(members, weights))
    return {"rows": rows, "groups": groups, "means": means}


def printed(figures: Row) -> str:
    """The rows as aligned text."""
    columns = ("n", *SHARES[:3], "lost", "told", "lost_at_told", "ece", "auroc", TRIGRAMS, MINILM)
    lines = [["", "encoder", *columns]]
    for row in (*figures["rows"], *figures["groups"], *figures["means"]):
        title = row.get("vocabulary") or f"= {row.get('group') or 'mean of the groups'}"
        cells = [str(row["n"]), *(f"{row[name][0]:.3f}" for name in columns[1:])]
        lines.append([title, row["encoder"], *cells])
    return report.aligned(lines)


def wanted(
    chosen: Iterable[Vocabulary], encoders: Sequence[str], is_shipped: bool
) -> dict[str, Callable[[], Row]]:
    """What finds the figures of each run."""
    finds: dict[str, Callable[[], Row]] = {}
    for one in chosen:
        finds[key(one, TRIGRAMS)] = partial(find_trigrams, one)
        finds[key(one, MINILM)] = partial(find_minilm, one)
        for encoder in encoders:
            find = partial(find_linker, one, encoder, is_shipped)
            finds[key(one, encoder, is_shipped)] = find
    return finds


def guarded(title: str) -> Row:
    """How many mentions of a vocabulary, and names of other domains, are answered as they should.

    The model finds names by characters, which takes no training, and has the weights that ship.
    """
    vocabulary = TITLES[title]
    linker = without(by_score(vocabulary.dictionary(), "tfidf")).with_ranker(Ranker.shipped())
    mentions = asked(vocabulary, linker.dictionary, GUARD_MOST)
    others = drawn(ranker_lists.foreign(linker, vocabulary, "dev"), GUARD_MOST)
    right = sum(outcome.rank == 1 for outcome in protocols.strict(linker, mentions, 1))
    return {
        "vocabulary": title,
        "answered": [right, len(mentions)],
        "told": [sum(told(linker, others)), len(others)],
    }


def guard() -> None:
    """Write the figures of the guard."""
    rows = []
    for title in GUARDED:
        rows.append(guarded(title))
        print(rows[-1], flush=True)
    results.save(GUARD, {"rows": rows}, seed=SEED)


def main() -> None:
    """Ask the vocabularies, and write the result."""
    parser = results.parser(__doc__)
    parser.add_argument("--encoder", nargs="+", choices=ENCODERS, default=["static"])
    parser.add_argument("--only", nargs="+", choices=TITLES, metavar="TITLE", default=[*TITLES])
    parser.add_argument("--shipped", action="store_true", help="by the weights that ship")
    parser.add_argument("--again", action="store_true", help="forget what is kept of them")
    parser.add_argument("--table", action="store_true", help="ask nothing")
    parser.add_argument("--guard", action="store_true", help="only the figures of the guard")
    given = parser.parse_args()
    if given.guard:
        guard()
        return
    chosen = [TITLES[title] for title in given.only]
    finds = wanted(chosen, given.encoder, given.shipped)
    for run in finds if given.again else ():
        runs.remove(TABLE, run)
    runs.made(TABLE, finds, is_table=given.table)
    figures = tables(given.shipped, runs.figures(TABLE))
    print(printed(figures))
    old = results.figures(TABLE) if results.exists(TABLE) else {}
    results.save(TABLE, old | ({"shipped": figures} if given.shipped else figures), seed=SEED)


if __name__ == "__main__":
    main()
