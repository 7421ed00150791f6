"""Write the figures of benchmarks/results/ into the pages: no figure there is typed by hand.

python benchmarks/pages.py            writes the blocks of README.md and docs/
python benchmarks/pages.py --check    fails where they differ from the results

A block stands between the markers <!-- name --> and <!-- /name -->, in whichever page has them, and
is written by the macro of that name in pages.md.jinja. Macros whose names begin with an underscore
are parts of others. Here are the functions that these macros call.
"""

from __future__ import annotations

import functools
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.runtime import Macro

from benchmarks.accuracy.shipped import typed_dictionary, word_scale
from benchmarks.lib import results
from benchmarks.lib.data import TITLES

TEMPLATE = "pages.md.jinja"
Row = dict[str, Any]
Block = Callable[[], str]


def rows(name: str, part: str = "rows", **wanted: Any) -> list[Row]:
    """The rows of a result in which these fields have these values."""
    every = results.figures(name)[part]
    return [row for row in every if all(row[key] == value for key, value in wanted.items())]


def grouped(every: Iterable[Row], *fields: str) -> list[list[Row]]:
    """The rows whose fields have the same values together, in the order of their first ones."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in every:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    return list(groups.values())


def column(every: Iterable[Row], *keys: str) -> list[Any]:
    """What stands under these keys, one within the other, in each row."""
    return [functools.reduce(lambda value, key: value[key], keys, row) for row in every]


def head(titles: str) -> str:
    """The head of a table, with its titles between " | "."""
    return f"| {titles} |\n|{' --- |' * len(titles.split(' | '))}"


def decimal(value: float | None, digits: int, sign: str = "") -> str:
    """A number with so many digits behind the point; a hyphen for none."""
    return "-" if value is None else f"{value:{sign},.{digits}f}"


def decimals(values: Iterable[float], digits: int) -> str:
    """Numbers with strokes between them."""
    return " / ".join(decimal(value, digits) for value in values)


def percent(value: float | None, digits: int = 0) -> str:
    """A share in per cent; a hyphen for none."""
    return "-" if value is None else f"{value:.{digits}%}"


def out_of(share: Sequence[int] | None) -> str:
    """How many of how many, in per cent; a hyphen for none."""
    return percent(share[0] / share[1], 1) if share and share[1] else "-"


def summed(every: Iterable[Row], key: str) -> list[int]:
    """The sum of the shares, as in `out_of`, that rows have under a key; empty without rows."""
    return [sum(numbers) for numbers in zip(*column(every, key), strict=True)]


def interval(value: Sequence[float] | float, ends: Sequence[float] = ()) -> str:
    """A value with its interval; both may come in one sequence."""
    every = [value, *ends] if isinstance(value, float) else value
    return "{:.3f} ({:.3f}-{:.3f})".format(*every)


def gain(values: Sequence[float] | None) -> str:
    """A difference with its interval; a hyphen for none."""
    return "{:+.3f} ({:+.3f} to {:+.3f})".format(*values) if values else "-"


def rate(values: Sequence[float]) -> str:
    """A median of rates."""
    value = statistics.median(values)
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def verdict(before: float, after: Sequence[float]) -> str:
    """Whether a claimed gain is found: what comes after, with its interval, lies above before."""
    _, low, high = after
    return "holds" if low > before else "does not hold" if high < before else "cannot be told"


def duration(seconds: float) -> str:
    """Seconds, or minutes where there are two or more."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def blocks() -> dict[str, Block]:
    """The macros of the template that are blocks, by their names."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # the output is Markdown, of our own figures
    )
    functions = (
        *(
            rows,
            grouped,
            column,
            head,
            decimal,
            decimals,
            percent,
            out_of,
            summed,
            interval,
            gain,
            rate,
        ),
        *(duration, verdict, word_scale, typed_dictionary),
    )
    templates.globals |= {function.__name__: function for function in functions}
    templates.globals |= {"figures": results.figures, "TITLES": TITLES}
    templates.filters |= {"d": decimal, "gain": gain}
    templates.filters |= {"median": statistics.median, "average": statistics.mean}
    exported = vars(templates.get_template(TEMPLATE).module).items()
    return {name: value for name, value in exported if isinstance(value, Macro)}


def filled(texts: Mapping[Path, str], blocks: Mapping[str, Block]) -> dict[Path, str]:
    """Pages with every block written anew; a block that is not in just one place ends the program.

    Args:
        texts: the text of each page.
        blocks: by the name of a block, what gives its text.
    """
    texts = dict(texts)
    for marker, block in blocks.items():
        pattern = re.compile(rf"<!-- {marker} -->\n.*?<!-- /{marker} -->", re.DOTALL)
        places = [page for page, text in texts.items() for _ in pattern.findall(text)]
        if len(places) != 1:
            where = ", ".join(page.name for page in places)
            found = f"it stands in {where}" if where else "no page has it"
            sys.exit(f"the block '{marker}' must stand in one page, between its markers; {found}")
        before, after = pattern.split(texts[places[0]])
        written = f"<!-- {marker} -->\n{block().strip()}\n<!-- /{marker} -->"
        texts[places[0]] = before + written + after
    return texts


def main(root: Path) -> None:
    """Write the pages, or check them."""
    parser = results.parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    old = {page: page.read_text(encoding="utf-8") for page in pages}
    new = filled(old, blocks())
    changed = [page for page in old if new[page] != old[page]]
    if check and changed:
        which = ", ".join(page.name for page in changed)
        sys.exit(f"{which}: differs from the results; run python benchmarks/pages.py")
    for page in changed:
        page.write_text(new[page], encoding="utf-8")


if __name__ == "__main__":
    main(results.ROOT)
