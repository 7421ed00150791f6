"""linker dictionary: what a dictionary holds, and what changed between two."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import click

from linker.cli import common
from linker.cli import options as o
from linker.dictionary import inspection, lookup
from linker.io import dictionaries as readers
from linker.io import table
from linker.io.mesh import Part
from linker.io.outputs import row_writer
from linker.records import Concept
from linker.text.normalize import normalize


@click.group()
def dictionary() -> None:
    """Look into dictionaries, convert and compare them.

    PATH is a dictionary file, a UMLS folder, a model folder, or a name of `linker get`.
    """


_PATHS = o.argument("PATH...", nargs=-1, required=True)


@o.command(
    dictionary,
    paths=_PATHS,
    **o.READING,
    form=o.choice(("text", "json"), flags="--format"),
    on_error=o.ON_ERROR,
)
def stats(options: SimpleNamespace) -> None:
    """Count concepts, names, ambiguous names, old ids, depth, cycles."""
    dictionary = o.read_dictionary(options.paths, options)
    lending = dictionary.lending
    figures = inspection.stats(dictionary)
    with common.stdout():
        if options.form == "json":
            reports = [dataclasses.asdict(report) for report in lending.lenders]
            figures |= {"lenders": reports} if reports else {}
            click.echo(json.dumps(figures, indent=1, ensure_ascii=False))
            return
        for source in figures.pop("sources"):
            release = source["release"] or "release not stated"
            count = f"{source['concepts']:,} concepts"
            click.echo(f"{source['file']}  {source['format']}  {release}  {count}")
        for name, value in figures.items():
            click.echo(f"{name.replace('_', ' '):36}{_shown(value)}")
        for report in lending.lenders:
            click.echo(f"{f'names lent by {report.source.file}':36}{report.summary()}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key or 'none'} {count:,}" for key, count in value.items())
    if isinstance(value, list):
        items = [" -> ".join(item) if isinstance(item, list) else item for item in value[:10]]
        return ", ".join(items) + (f", … ({len(value):,})" if len(value) > 10 else "") or "none"
    return f"{value:,}"


@o.command(
    dictionary,
    paths=_PATHS,
    dict_format=o.FORMAT,
    languages=o.LANGUAGES,
    sources=o.SOURCES,
    prefix=o.PREFIX,
    under=o.UNDER,
    output=o.OUTPUT,
    on_error=o.ON_ERROR,
)
def convert(options: SimpleNamespace) -> None:
    """Write dictionaries of any format as one table (tsv with a header)."""
    form, on_error = options.dict_format, options.on_error
    named = {name: getattr(options, name) for name in ("languages", "sources", "prefix")}
    filters: dict[str, Any] = {name: value for name, value in named.items() if value}
    filters["under"] = Part(options.under)

    def read(path: str) -> Iterator[Concept]:
        path = o.located(path)
        if o.is_saved(path):
            saved = o.read_dictionary([path], SimpleNamespace(on_error=on_error))
            return map(saved.concept, range(len(saved)))
        concepts = readers.read(path, form or readers.detect(path), on_error=on_error, **filters)
        return (concept for concept in concepts if concept.names)

    concepts = itertools.chain.from_iterable(map(read, options.paths))
    with common.writing(options.output, options.paths) as file:
        table.write(concepts, file)


@o.command(
    dictionary,
    path=o.argument("PATH"),
    lenders=o.argument("LENDER...", nargs=-1, required=True),
    output=o.OUTPUT,
    on_error=o.ON_ERROR,
)
def lend(options: SimpleNamespace) -> None:
    """Write what becomes of each name that other vocabularies could lend to PATH.

    A LENDER is a dictionary file, or a file of mappings (SSSOM). The table has a row for each name.
    """
    path, lenders = options.path, options.lenders
    files = map(o.located, lenders)
    lending = o.read_dictionary([path], options).lend(*files, on_error=options.on_error).lending
    with common.writing(options.output, [path, *lenders]) as file:
        write_row = row_writer(file)
        write_row(("concept_id", "name", "lender_id", "file", "status"))
        for considered in lending.names:
            ids, name = "|".join(considered.concepts), considered.name
            write_row((ids, name.text, name.concept_id, considered.file, considered.outcome))
    o.say_lent(lending)


@o.command(
    dictionary,
    old=o.argument("OLD"),
    new=o.argument("NEW"),
    on_error=o.ON_ERROR,
)
def diff(options: SimpleNamespace) -> None:
    """Print which concepts, names, parents and ids came, went or moved from OLD to NEW, one change
    a line."""
    paths = options.old, options.new
    before, after = (o.read_dictionary([path], options) for path in paths)
    counts: Counter[str] = Counter()
    with common.stdout() as file:
        write_row = row_writer(file)
        write_row(("change", "concept_id", "name", "details"))
        for change in inspection.diff(before, after):
            counts[change.what] += 1
            write_row((change.what, change.concept_id, change.name, "|".join(change.details)))
    lines = (f"{what:26}{count:,} concepts" for what, count in sorted(counts.items()))
    common.say("\n".join(lines) or "no difference")


@o.command(
    dictionary,
    path=o.argument("PATH"),
    text=o.argument("TEXT"),
    k=o.number(10, "Concepts to show.", flags="-k"),
    on_error=o.ON_ERROR,
)
def search(options: SimpleNamespace) -> None:
    """Show the concepts with this id (also an old one), or with a name that fits this text, the
    best first; words may be begun, misspelt, or left out."""
    text, limit = options.text, options.k
    dictionary = o.read_dictionary([options.path], options)
    hits = lookup.search(dictionary, dictionary.table(normalize), normalize, text)
    rows = [hit.row for hit in itertools.islice(hits, limit + 1)]
    with common.stdout():
        for row in rows[:limit]:
            concept = dictionary.concept(row)
            click.echo(f"{concept.id}\t{concept.name}")
            lists = {
                "also": [n.text for n in concept.names[1:]],
                "parents": concept.parents,
                "alternative ids": concept.alt_ids,
            }
            for label, items in lists.items():
                if items:
                    click.echo(f"  {label}: {' | '.join(items)}")
    if not rows:
        common.say(f"no concept has the id {text!r}, or a name like it")
    elif len(rows) > limit:
        common.say(f"there are more; show more with -k {2 * limit}")
