"""Write the figures of benchmarks/results/ into the pages: no figure there is typed by hand.

python benchmarks/pages/write.py            writes the blocks of README.md and docs/
python benchmarks/pages/write.py --check    fails where they differ from the results

A block stands between the markers <!-- name --> and <!-- /name -->, in whichever page has them, and
is written by the function of that name in one of the modules beside this one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.pages import (
    accuracy,
    choose,
    classes,
    cluster,
    default,
    index,
    names,
    others,
    ranker,
    scale,
    speed,
)

MODULES = (
    choose,
    default,
    ranker,
    accuracy,
    classes,
    names,
    others,
    speed,
    index,
    cluster,
    scale,
)
BLOCKS = tuple(block for module in MODULES for block in module.BLOCKS)
Block = Callable[[], str]


def pages(root: Path) -> list[Path]:
    """The pages that may have blocks."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def filled(texts: dict[Path, str], blocks: Sequence[Block] = BLOCKS) -> dict[Path, str]:
    """Pages with every block written anew; a block that is not in just one place ends the program.

    Args:
        texts: the text of each page.
        blocks: functions that write the blocks that bear their names.
    """
    texts = dict(texts)
    for block in blocks:
        marker = block.__name__
        pattern = re.compile(rf"<!-- {marker} -->\n.*?<!-- /{marker} -->", re.DOTALL)
        places = [page for page, text in texts.items() for _ in pattern.findall(text)]
        if len(places) != 1:
            sys.exit(_misplaced(marker, places))
        before, after = pattern.split(texts[places[0]])
        written = f"<!-- {marker} -->\n{block()}\n<!-- /{marker} -->"
        texts[places[0]] = before + written + after
    return texts


def _misplaced(marker: str, places: Iterable[Path]) -> str:
    wanted = f"the block '{marker}' must stand in one page, between its markers"
    where = ", ".join(page.name for page in places)
    return f"{wanted}; it stands in {where}" if where else f"{wanted}; no page has it"


def main(root: Path) -> None:
    """Write the pages, or check them."""
    parser = results.parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    old = {page: page.read_text(encoding="utf-8") for page in pages(root)}
    new = filled(old)
    changed = [page for page in old if new[page] != old[page]]
    if check and changed:
        which = ", ".join(page.name for page in changed)
        sys.exit(f"{which}: differs from the results; run python benchmarks/pages/write.py")
    for page in changed:
        page.write_text(new[page], encoding="utf-8")


if __name__ == "__main__":
    main(results.ROOT)
