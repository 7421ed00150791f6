"""The search for concepts as somebody types: the rank of the right concept, and the time.

python benchmarks/accuracy/search.py --before 6b5cd0f

Writes results/search.json. Looked for in the MEDIC of 2026, by characters and static vectors, are
200 of its names and 200 development mentions of both corpora whose gold is one concept, each

* as it is written, and begun: the first quarter, half and three quarters of its characters;
* with one error, or two, in letters chosen at random, and the first 70% of it with one;
* with its words in another order, and with each word begun, by half or four letters.

`--before` names a commit whose search is measured beside ours, by parts of names. The weights of
the search were chosen on other names and mentions (another seed). Times are those of the processor.
The search by words, which builds an index when it is first used, is also measured on a million
recombined names (see lib/recombined.py).
"""

from __future__ import annotations

import itertools
import random
import string
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))  # behind an earlier `linker`

from benchmarks.lib import measure, recombined, results
from benchmarks.lib.data import development, medic
from linker import Dictionary, Linker, matching
from linker.dictionary import lookup
from linker.training.pipeline import train

SEED, SAMPLE, FIRST = 1, 200, 10
SIZE = 1_000_000
SYSTEMS = ("parts of names", "words", "words and linker")

Right = frozenset[str]
Query = tuple[str, str, Right]
"""The kind of a query, what is typed, and the ids of the concepts that are right."""
Search = Callable[[str], tuple[list[int], float]]


def misspelt(text: str, errors: int, rng: random.Random) -> str:
    """A text with errors: a letter left out, put in, replaced, or before the one before it."""
    for _ in range(errors):
        place = rng.choice([i for i, sign in enumerate(text) if sign.isalpha()] or [0])
        letter, kind = rng.choice(string.ascii_lowercase), rng.randrange(4)
        before, this, after = text[:place], text[place], text[place + 1 :]
        changed = ("", letter + this, letter, after[:1] + this)[kind]
        text = before + changed + (after[1:] if kind == 3 else after)
    return text


def typed(what: str, text: str, right: Right, rng: random.Random) -> Iterator[Query]:
    """The ways in which a name is typed."""
    yield f"{what}, whole", text, right
    for share in (25, 50, 75):
        cut = max(3, len(text) * share // 100)
        if cut < len(text):
            yield f"{what}, {share}% typed", text[:cut], right
    if len(text) > 4:
        yield f"{what}, one error", misspelt(text, 1, rng), right
        begun = text[: max(5, len(text) * 7 // 10)]
        yield f"{what}, 70% typed, one error", misspelt(begun, 1, rng), right
    if len(text) > 7:
        yield f"{what}, two errors", misspelt(text, 2, rng), right
    words = text.split()
    if len(words) > 1:
        yield f"{what}, words in any order", " ".join(rng.sample(words, len(words))), right
        begun = " ".join(word[: max(4, len(word) // 2)] for word in words)
        yield f"{what}, words begun", begun, right


def queries(dictionary: Dictionary, seed: int = SEED) -> list[Query]:
    """What is looked for."""
    rng = random.Random(seed)
    rows = rng.sample(range(len(dictionary.names)), SAMPLE)
    owners = dictionary.name_concept
    names = [(dictionary.names[r], frozenset([dictionary.ids[int(owners[r])]])) for r in rows]
    mentions = dict[tuple[str, Right], None]()
    for mention in (mention for document in development() for mention in document.mentions):
        right = matching.accepted(mention.gold or (), dictionary.resolve)
        if len(mention.gold or ()) == 1 and any(map(dictionary.rows, right)):
            mentions[mention.text, right] = None
    sampled = rng.sample([*mentions], SAMPLE)
    pairs = [("names", *name) for name in names] + [("mentions", *m) for m in sampled]
    return [query for what, text, right in pairs for query in typed(what, text, right, rng)]


def searches(system: str, linker: Linker) -> Search:
    """The search of a system: the rows of the first concepts, and the milliseconds it took."""
    asked = linker.dictionary, linker.generator.table, linker.normalize

    def search(text: str) -> tuple[list[int], float]:
        start = time.process_time()
        linked = []
        if system == "words and linker":
            linked = [linker.link([text], k=10, threshold=0.0)]
        hits = itertools.islice(lookup.search(*asked, text, *linked), FIRST)
        return [hit.row for hit in hits], 1000 * (time.process_time() - start)

    return search


def measured(system: str) -> dict[str, Any]:
    """The figures of a system, for each kind of query."""
    linker = train(medic("2026"))
    ids, search = linker.dictionary.ids, searches(system, linker)
    _, first_use = search("cancer")
    ranks, times = defaultdict(list), list[float]()
    for kind, text, right in queries(linker.dictionary):
        rows, spent = search(text)
        times.append(spent)
        ranks[kind].append(next((n for n, row in enumerate(rows, 1) if ids[row] in right), None))
    ranks["all"] = [rank for of_kind in ranks.values() for rank in of_kind]
    kinds = {
        kind: {
            "queries": len(found),
            "mrr": round(float(np.mean([1 / rank if rank else 0.0 for rank in found])), 4),
            "found": round(float(np.mean([rank is not None for rank in found])), 4),
        }
        for kind, found in ranks.items()
    }
    names, first_use = len(linker.dictionary.names), round(first_use)
    return {"system": system, "names": names, "kinds": kinds, "first_use": first_use} | summary(
        times
    )


def at_scale() -> dict[str, Any]:
    """The time and the memory of the search by words in a large dictionary."""
    path = results.WORK / "recombined" / f"{SIZE}.tsv"
    if not path.exists():
        recombined.write(path, SIZE)
    linker = train(Dictionary.read(path), encoder="tfidf")
    texts = [text for _, text, _ in queries(medic("2026"))][::5]
    search, before = searches("words", linker), next(measure.memory("self", "VmRSS"))
    _, first_use = search("cancer")
    index = next(measure.memory("self", "VmRSS")) - before
    times = [spent for _, spent in map(search, texts)]
    return {
        "names": len(linker.dictionary.names),
        "words": len(linker.generator.table.words.weights),
        "index_mb": round(index),
        "first_use": round(first_use),
        **summary(times),
    }


def summary(times: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile of times."""
    return {
        "median_ms": round(float(np.median(times)), 1),
        "p95_ms": round(float(np.percentile(times, 95)), 1),
    }


def main() -> None:
    """Measure each system in a process of its own."""
    arguments = results.parser(__doc__)
    arguments.add_argument("--before", metavar="COMMIT", required=True)
    before, *ours = SYSTEMS
    commit = arguments.parse_args().before
    rows = [measure.apart(measured, before, library=measure.earlier(commit))]
    rows += [measure.apart(measured, system) for system in ours]
    for row in rows:
        print(row["system"], row["kinds"]["all"], row["median_ms"], row["p95_ms"])
    figures = {"before": commit, "rows": rows, "scale": measure.apart(at_scale)}
    results.save("search", figures, seed=SEED)


if __name__ == "__main__":
    main()
