"""What must not fall where cells are read otherwise: mentions that are no cells of a registry.

python benchmarks/accuracy/guard.py                     trains the models that are not kept yet
python benchmarks/accuracy/guard.py --models FOLDER     keeps the models there
python benchmarks/accuracy/guard.py --only TwADR-L      some of the rows

Writes results/guard.json. Of each vocabulary: how many mentions have the right answer, and how many
of those with a confidence of 0.8 or more, as [right, of how many]. A model is trained on the names
of its dictionary alone; m is MEDIC of 2026 with names lent by DOID and HPO. Development mentions of
diseases are asked loose and in their documents; the words of tweets are those of TwADR-L that are
no name of their concept; names held out of HPO are those of held_out.py; a dictionary's own names
are a sample of those of one concept.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import held_out
from benchmarks.accuracy.cells import SURE, Row, ids, share
from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, locate
from benchmarks.lib.linkers import ONTOLOGIES, with_lent
from benchmarks.lib.vocabularies import annotated, table_rows
from linker import Dictionary, Document, Linker, Mention, Prediction, matching
from linker.training.pipeline import train

SEED = 0
NAME = "guard"  # of the result
OWN = 2000  # names of a dictionary that are asked
WORK = results.WORK / "guard"
HPO_WITHOUT = "hpo-without-names"
Items = Sequence[Mention | Document]

MODELS: dict[str, Callable[[], Dictionary]] = {
    "m": lambda: with_lent("2026"),
    "hp": lambda: Dictionary.read(locate(ONTOLOGIES[1])),
    "twadrl": lambda: Dictionary.read(locate("other/twadrl_names.tsv")),
    "cl": lambda: Dictionary.read(locate("other/cl.obo.gz")),
    "uberon": lambda: Dictionary.read(locate("other/uberon.obo.gz")),
    HPO_WITHOUT: lambda: held_out.TASKS["HPO"]().dictionary,
}


class Guard(NamedTuple):
    """What is asked of a model."""

    model: str  # a key of `MODELS`
    items: Callable[[Linker], Items]


def loose(corpus: str, _linker: Linker) -> Items:
    """The development mentions of a corpus, without their documents."""
    found = [mention for document in documents(corpus, "devel") for mention in document.mentions]
    return [Mention(mention.text, gold=mention.gold) for mention in found]


def in_documents(corpus: str, _linker: Linker) -> Items:
    """The development documents of a corpus."""
    return documents(corpus, "devel")


def tweets(linker: Linker) -> Items:
    """The mentions of TwADR-L that are no name of their concept."""
    own = {(name.lower(), concept) for name, concept in names(linker.dictionary)}
    rows = list(table_rows("other/twadrl_mentions.tsv"))
    found = [row for row in rows if (row["mention"].lower(), row["id"]) not in own]
    return [annotated(row["mention"], row["id"]) for row in found]


def craft(name: str, _linker: Linker) -> Items:
    """The mentions of CRAFT of one vocabulary."""
    return [annotated(row["mention"], row["id"]) for row in table_rows(f"other/{name}.tsv.gz")]


def held(_linker: Linker) -> Items:
    """The names that are held out of HPO."""
    task = held_out.TASKS["HPO"]()
    return [annotated(text, one) for text, one in zip(task.texts, task.ids, strict=True)]


def names(dictionary: Dictionary) -> Iterable[tuple[str, str]]:
    """The names of a dictionary, each with the id of its concept."""
    concepts = (dictionary.ids[row] for row in dictionary.name_concept.tolist())
    return zip(dictionary.names, concepts, strict=True)


def own_names(linker: Linker) -> Items:
    """Some names of a dictionary that one concept alone has."""
    concepts: dict[str, set[str]] = {}
    for name, concept in names(linker.dictionary):
        concepts.setdefault(linker.normalize(name), set()).add(concept)
    single = [
        (name, concept)
        for name, concept in names(linker.dictionary)
        if len(concepts[linker.normalize(name)]) == 1
    ]
    drawn = random.Random(SEED).sample(single, min(OWN, len(single)))
    return [annotated(name, concept) for name, concept in drawn]


GUARDS: dict[str, Guard] = {
    **{f"{title}, loose": Guard("m", partial(loose, one)) for one, title in TITLES.items()},
    **{
        f"{title}, documents": Guard("m", partial(in_documents, one))
        for one, title in TITLES.items()
    },
    "TwADR-L": Guard("twadrl", tweets),
    "Cell Ontology, CRAFT": Guard("cl", partial(craft, "craft_cl_mentions")),
    "Uberon, CRAFT": Guard("uberon", partial(craft, "craft_uberon_mentions")),
    "HPO, held names": Guard(HPO_WITHOUT, held),
    "MEDIC, own names": Guard("m", own_names),
    "HPO, own names": Guard("hp", own_names),
    "TwADR-L, own names": Guard("twadrl", own_names),
    "Cell Ontology, own names": Guard("cl", own_names),
    "Uberon, own names": Guard("uberon", own_names),
}


def model(name: str, folder: Path) -> Linker:
    """A model of the folder, which is trained where it is not there."""
    if not (folder / name).exists():
        train(MODELS[name]()).save(folder / name)
    return Linker.load(folder / name)


def figures_of(linker: Linker, items: Items) -> Row:
    """How many mentions are right, of all and of those that are surely answered."""
    rights, sure = [], []
    for prediction in linker.link(list(items), k=1):
        rights.append(is_right(prediction, linker))
        if ids(prediction) and (prediction.confidence or 0) >= SURE:
            sure.append(rights[-1])
    return {"right": share(rights), "sure_right": share(sure)}


def is_right(prediction: Prediction, linker: Linker) -> bool:
    """Whether the answers are the annotated concepts."""
    answers = [[part.best.concept_id] if part.best else [] for part in prediction.parts]
    gold = prediction.mention.gold or ()
    return matching.strict_rank(answers, gold, linker.dictionary.resolve) == 1


def main() -> None:
    """Ask all models, and write the result."""
    parser = results.parser(__doc__)
    parser.add_argument("--models", type=Path, default=WORK, metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=GUARDS, metavar="ROW", help=", ".join(GUARDS))
    parser.add_argument("--before", action="store_true", help="keep the figures as those of before")
    parser.add_argument("--dry", action="store_true", help="write no result")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in given.only or GUARDS:
        linker = model(GUARDS[name].model, given.models)
        rows.append({"mentions": name} | figures_of(linker, GUARDS[name].items(linker)))
        print(rows[-1], flush=True)
    if given.dry:
        return
    old = results.figures(NAME) if results.exists(NAME) else {}
    if given.before:
        commit = results.record(NAME, {}, SEED)["commit"]
        results.save(NAME, old | {"before": {"commit": commit, "rows": rows}}, seed=SEED)
    else:
        results.save(NAME, old | {"rows": rows}, seed=SEED)


if __name__ == "__main__":
    main()
