"""linker dictionary: what a dictionary holds, and what changed between two."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common
from linker.cli.reading import (
    Reading,
    dict_format_option,
    is_saved,
    languages_option,
    lend_kinds_option,
    lend_names,
    prefix_option,
    reading_options,
    sources_option,
)

if TYPE_CHECKING:
    from linker.types import Concept


@click.group()
def dictionary() -> None:
    """Look into dictionaries, convert and compare them.

    PATH is a dictionary file, a UMLS folder, or a model folder.
    """


@dictionary.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common.on_error_option
@common.logs
def stats(paths: tuple[str, ...], as_json: bool, on_error: str, reading: Reading) -> None:
    """Count concepts, names, ambiguous names, old ids, depth, cycles."""
    from linker.dictionary import inspection

    handle = common.handler(on_error)
    dictionary, lending = reading.read_and_lend(paths, handle)
    figures = inspection.stats(dictionary)
    common.say_skipped(handle)
    with common.stdout():
        if as_json:
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


@dictionary.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@dict_format_option
@languages_option
@sources_option
@prefix_option
@common.output_option
@common.on_error_option
@common.logs
def convert(
    paths: tuple[str, ...],
    dict_format: str | None,
    languages: tuple[str, ...],
    sources: tuple[str, ...],
    prefix: str,
    output: str,
    on_error: str,
) -> None:
    """Write dictionaries of any format as one table (tsv with a header)."""
    from linker.readers import dictionaries, table

    handle = common.handler(on_error)
    filters: dict[str, Any] = {
        name: value
        for name, value in (("languages", languages), ("sources", sources), ("prefix", prefix))
        if value
    }

    def read(path: str) -> Iterator[Concept]:
        if is_saved(path):
            saved = Reading().read([path], handle)
            return map(saved.concept, range(len(saved)))
        return dictionaries.read(
            path, dict_format or dictionaries.detect(path), on_error=handle, **filters
        )

    concepts = itertools.chain.from_iterable(map(read, paths))
    with common.writing(output, paths) as file:
        table.write(concepts, file)
    common.say_skipped(handle)


@dictionary.command()
@click.argument("path", metavar="PATH")
@click.argument("lenders", nargs=-1, required=True, metavar="LENDER...")
@lend_kinds_option
@common.output_option
@common.on_error_option
@common.logs
def lend(
    path: str, lenders: tuple[str, ...], lend_kinds: tuple[str, ...], output: str, on_error: str
) -> None:
    """Write what becomes of each name that other vocabularies could lend to PATH.

    A LENDER is a dictionary file, or a file of mappings (SSSOM). The table has a row for each name.
    """
    from linker.outputs.tsv import row_writer

    handle = common.handler(on_error)
    dictionary, lending = lend_names(Reading().read([path], handle), lenders, lend_kinds, handle)
    names = {i: dictionary.preferred_name(row) for row, i in enumerate(dictionary.ids)}
    with common.writing(output, [path, *lenders]) as file:
        write_row = row_writer(file)
        write_row(("concept_id", "concept", "name", "kind", "lender_id", "file", "status"))
        for considered in lending.names:
            ids, name = considered.concepts, considered.name
            concepts = "|".join(ids), "|".join(names[identifier] for identifier in ids)
            lender = name.concept_id, considered.file, considered.outcome
            write_row((*concepts, name.text, name.kind, *lender))
    common.say_skipped(handle)
    for report in lending.lenders:
        common.say(f"names lent by {report.source.file}: {report.summary()}")


@dictionary.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@common.on_error_option
@common.logs
def diff(old: str, new: str, on_error: str) -> None:
    """Print which concepts, names, parents and ids came, went or moved from OLD to NEW, one change
    a line."""
    from linker.dictionary import inspection
    from linker.outputs.tsv import row_writer

    handle = common.handler(on_error)
    before, after = (Reading().read([path], handle) for path in (old, new))
    counts: Counter[str] = Counter()
    with common.stdout() as file:
        write_row = row_writer(file)
        write_row(("change", "concept_id", "name", "details"))
        for change in inspection.diff(before, after):
            counts[change.what] += 1
            write_row((change.what, change.concept_id, change.name, "|".join(change.details)))
    common.say_skipped(handle)
    common.say(
        "\n".join(f"{what:26}{count:,} concepts" for what, count in sorted(counts.items()))
        or "no difference"
    )


@dictionary.command()
@click.argument("path", metavar="PATH")
@click.argument("text", metavar="TEXT")
@click.option(
    "-n",
    "limit",
    default=10,
    show_default=True,
    type=click.IntRange(1, common.MOST),
    help="Concepts to show.",
)
@common.on_error_option
@common.logs
def search(path: str, text: str, limit: int, on_error: str) -> None:
    """Show the concepts with this id (also an old one), or with a name that holds this text."""
    from linker.dictionary import inspection

    dictionary = Reading().read([path], common.handler(on_error))
    rows = list(itertools.islice(inspection.search(dictionary, text), limit + 1))
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
        common.say(f"no concept has the id or a name with {text!r}")
    elif len(rows) > limit:
        common.say(f"there are more; show more with -n {2 * limit}")
