"""linker decide: what people decided is remembered. linker decisions: it is listed, withdrawn,
exchanged and checked."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.cli.reading import Reading, reading_options

if TYPE_CHECKING:
    from linker.decisions import exchange
    from linker.types import Decision

_file = common.decisions_option("SQLite file of the decisions.", required=True)


@click.command()
@click.argument("source", metavar="FILE")
@common.decisions_option("SQLite file that remembers them; made if it is not there.", required=True)
@common.model_option
@click.option("--reviewer", default="", metavar="NAME", help="Reviewer of rows that name none.")
@click.option("--column", metavar="NAME", help="Column of the mentions in a table. [mention]")
@common.encoding_option
@common.on_error_option
@common.logs
def decide(
    source: str,
    decisions: str,
    model: str,
    reviewer: str,
    column: str | None,
    encoding: str | None,
    on_error: str,
) -> None:
    """Store the decisions of a file; linker link --decisions then applies them.

    A table (tsv, csv, xlsx) has the columns mention and concept_id, "A|B" for the parts of a
    mention, -1 for no concept. It may have further columns: accepted (false: the concept is wrong),
    scope (the only document in which it holds), reviewer, time.

    What linker link wrote is taken, too, as a table, SSSOM, PubTator, BioC or JSON lines: the
    decisions that stand in it, and in a table those of rows whose state a person set to accepted,
    rejected or "no concept". Of mappings (SSSOM), those that a person curated are taken.
    """
    from linker.decisions import exchange
    from linker.decisions.records import (
        conflicts,
        current,
        identified,
        in_force,
        releases,
        replaced,
    )
    from linker.decisions.store import DecisionStore
    from linker.files import encodings
    from linker.jobs.linking import model_hash

    handle = common.handler(on_error)
    dictionary = Reading().read([model], handle)
    fingerprint, release = model_hash(model), releases(dictionary)

    def completed(decision: Decision) -> Decision:
        return dataclasses.replace(
            decision, model=decision.model or fingerprint, release=decision.release or release
        )

    table, _ = encodings.as_utf8(source, encoding)
    known = partial(identified, dictionary=dictionary)
    rows = list(
        exchange.read(table, on_error=handle, check=known, column=column, reviewer=reviewer)
    )
    with DecisionStore(decisions) as store:
        before = store.list()
        added = exchange.add_new(store, map(completed, rows))
        disputed = conflicts(in_force(current(store.list(), dictionary)[0]))
    common.say_skipped(handle)
    repeated = len(rows) - len(added)
    common.say(
        f"{len(added):,} decisions were taken"
        + (f", {repeated:,} were there already, or are said twice" if repeated else "")
    )
    if contrary := replaced(before, added):
        common.say(
            f"{len(contrary):,} earlier decisions of the same reviewers say the contrary, and hold "
            "no more; see linker decisions list --history"
        )
    if disputed:
        common.say(
            f"reviewers disagree on {len(disputed):,} mentions, which the model answers; "
            "see linker decisions list --conflicts"
        )


@click.group()
def decisions() -> None:
    """Look into decisions, withdraw and exchange them, and check them against a release of the
    dictionary."""


@decisions.command(name="list")
@_file
@click.option("--mention", metavar="TEXT", help="Only those on this mention.")
@click.option("--scope", metavar="ID", help="Only those of this document.")
@click.option("--reviewer", metavar="NAME", help="Only those of this person.")
@click.option("-n", "limit", type=click.IntRange(1), metavar="N", help="Only the latest N.")
@click.option("--conflicts", is_flag=True, help="Only those on which reviewers disagree.")
@click.option(
    "--history", is_flag=True, help="Also those that were withdrawn or replaced, in other columns."
)
@common.logs
def list_(
    decisions: str,
    mention: str | None,
    scope: str | None,
    reviewer: str | None,
    limit: int | None,
    conflicts: bool,
    history: bool,
) -> None:
    """Print the decisions that are in force, in order of entry, as a table."""
    from linker.decisions import exchange
    from linker.decisions.store import DecisionStore

    if history and conflicts:
        raise click.UsageError("--conflicts are of decisions in force; leave out --history")
    with DecisionStore(decisions, read_only=True) as store, common.stdout() as file:
        if history:
            past = store.history(mention=mention, scope=scope, reviewer=reviewer)
            exchange.write_history(past[-(limit or 0) :], file)  # from 0: all
            return
        rows = store.list(mention=mention, scope=scope, reviewer=reviewer)[-(limit or 0) :]
        disputed = store.conflicts()
        if conflicts:
            ids = {decision.id for of_mention in disputed for decision in of_mention}
            rows = [decision for decision in rows if decision.id in ids]
        exchange.write(rows, file)
    if disputed and not conflicts:
        common.say(f"reviewers disagree on {len(disputed):,} mentions; see them with --conflicts")


@decisions.command()
@_file
@click.option(
    "--id",
    "ids",
    type=click.IntRange(1, 2**53),
    multiple=True,
    required=True,
    metavar="N",
    help="Number of a decision, as list shows it; may be repeated.",
)
@click.option("--reviewer", default="", metavar="NAME", help="Who withdraws.")
@common.logs
def withdraw(decisions: str, ids: tuple[int, ...], reviewer: str) -> None:
    """Take decisions out of force, which stay in the file; what they replaced holds again."""
    from linker.decisions.store import DecisionStore
    from linker.errors import LinkerError, shown

    with DecisionStore(decisions, read_only=True) as store:
        there = {decision.id for decision in store.standing()}
    if missing := [str(number) for number in ids if number not in there]:
        raise LinkerError(
            f"{shown(decisions)}: no decision with the number {', '.join(missing)} can be "
            "withdrawn; see linker decisions list --history"
        )
    with DecisionStore(decisions) as store:
        count = store.withdraw(ids, reviewer)
    common.say(f"{count:,} decisions were withdrawn")


@decisions.command()
@_file
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "mentions", "sssom"]),
    default="tsv",
    show_default=True,
    help="tsv: for linker decisions import; mentions: for linker train; sssom: mappings.",
)
@click.option("--dict", "path", metavar="PATH", help="sssom: dictionary or model with the names.")
@common.output_option
@common.logs
def export(decisions: str, form: exchange.Form, path: str | None, output: str) -> None:
    """Write the decisions that are in force to a file."""
    from linker.decisions import exchange
    from linker.decisions.store import DecisionStore

    dictionary = Reading().read([path], common.handler("stop")) if path else None
    with DecisionStore(decisions, read_only=True) as store:
        rows = store.list()
    with common.writing(output, [decisions]) as file:
        left_out = exchange.export(rows, form, file, dictionary)
    if left_out:
        common.say(f"{left_out:,} decisions were left out: {form} cannot express them")


@decisions.command(name="import")
@click.argument("source", metavar="FILE.tsv")
@_file
@common.on_error_option
@common.logs
def import_(source: str, decisions: str, on_error: str) -> None:
    """Add the decisions of a table that linker decisions export wrote; those that are there already
    are passed over."""
    from linker.decisions import exchange
    from linker.decisions.store import DecisionStore

    handle = common.handler(on_error)
    rows = list(exchange.read(source, on_error=handle))
    with DecisionStore(decisions) as store:
        added = len(exchange.add_new(store, rows))
    common.say_skipped(handle)
    common.say(f"{added:,} decisions were added, {len(rows) - added:,} were there already")


@decisions.command()
@_file
@click.option("--dict", "path", metavar="PATH", required=True, help="The new release, or a model.")
@reading_options
@common.on_error_option
@common.logs
def check(decisions: str, path: str, reading: Reading, on_error: str) -> None:
    """Print the decisions that a release of the dictionary made merged, ambiguous or obsolete, and
    those with ids that it does not know, with the ids that stand for them now."""
    from linker.decisions.records import check as checked
    from linker.decisions.store import DecisionStore
    from linker.outputs.tsv import row_writer

    handle = common.handler(on_error)
    with DecisionStore(decisions, read_only=True) as store:
        rows = store.list()
    dictionary = reading.read([path], handle)
    counts: Counter[str] = Counter()
    with common.stdout() as file:
        write_row = row_writer(file)
        write_row(("state", "decision", "mention", "concept_id", "scope", "reviewer", "now"))
        for result in checked(rows, dictionary):
            counts[result.state] += 1
            d = result.decision
            if result.state != "current":
                where = d.mention, d.concept_id or "-1", d.scope, d.reviewer
                write_row((result.state, str(d.id), *where, "|".join(result.now)))
    common.say_skipped(handle)
    shown = (f"{count:,} {state}" for state, count in sorted(counts.items()))
    common.say(f"{Path(decisions).name}: {', '.join(shown) or 'no decisions'}")
