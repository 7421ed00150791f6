"""What names that people use are worth: the same models with them and without them.

python benchmarks/accuracy/everyday.py                     trains the models that are not kept yet
python benchmarks/accuracy/everyday.py --models FOLDER     keeps the models there

Writes results/everyday.json. Models and mentions are those of guard.py. Of each set: how many pairs
its dictionary is lent, and how many mentions are right with and without the names; the same of the
distinct mentions that the table does not hold word for word. A share is [right, of how many].
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.cells import Row, share
from benchmarks.accuracy.guard import GUARDS, SEED, WORK, figures_of, is_right, model
from benchmarks.lib import results
from linker import Linker, Mention
from linker.text import everyday

SETS = (
    "NCBI Disease, loose",
    "BC5CDR, loose",
    "NCBI Disease, documents",
    "BC5CDR, documents",
    "TwADR-L",
    "TwADR-L, own names",
    "Cell Ontology, CRAFT",
    "Uberon, CRAFT",
)


def without(linker: Linker) -> Linker:
    """The same model without names that people use."""
    text = dataclasses.replace(linker.options.text, everyday=False)
    options = dataclasses.replace(linker.options, text=text)
    return dataclasses.replace(linker, options=options)


def not_held(items: Sequence[object]) -> list[Mention]:
    """The distinct loose mentions that are no names of the table."""
    held = {everyday.form_of(name.name) for name in everyday.shipped()}
    found: dict[tuple[object, ...], Mention] = {}
    for item in items:
        if isinstance(item, Mention) and everyday.form_of(item.text) not in held:
            found.setdefault((item.text, item.gold), item)
    return list(found.values())


def row_of(name: str, models: Path) -> Row:
    """The figures of a set."""
    linker = model(GUARDS[name].model, models)
    bare = without(linker)
    items = GUARDS[name].items(linker)
    others = not_held(items)
    figures: Row = {
        "mentions": name,
        "lent": len(linker.everyday),
        "with": figures_of(linker, items),
        "without": figures_of(bare, items),
    }
    if others:
        figures["not_held"] = {
            "with": share(is_right(answer, linker) for answer in linker.link(others, k=1)),
            "without": share(is_right(answer, bare) for answer in bare.link(others, k=1)),
        }
    return figures


def main() -> None:
    """Ask all models with and without the names, and write the result."""
    parser = results.parser(__doc__)
    parser.add_argument("--models", type=Path, default=WORK, metavar="FOLDER")
    given = parser.parse_args()
    rows = []
    for name in SETS:
        rows.append(row_of(name, given.models))
        print(rows[-1], flush=True)
    names = everyday.shipped()
    kinds = {kind: sum(name.kind == kind for name in names) for kind in everyday.KINDS}
    results.save("everyday", {"pairs": kinds, "rows": rows}, seed=SEED)


if __name__ == "__main__":
    main()
