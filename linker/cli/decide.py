"""linker decide: what people decided about mentions is remembered."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.cli.reading import Reading

if TYPE_CHECKING:
    from linker.types import Decision


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
    from linker.decisions.check import current, identified, releases
    from linker.decisions.records import conflicts, in_force, replaced
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
    rows = list(
        exchange.read(
            table,
            on_error=handle,
            check=lambda d: identified(d, dictionary),
            column=column,
            reviewer=reviewer,
        )
    )
    with DecisionStore(decisions) as store:
        before = store.list()
        added = exchange.add_new(store, map(completed, rows))
        contrary = replaced([*before, *added], store.list())
        disputed = conflicts(in_force(current(store.standing(), dictionary)[0]))
    common.say_skipped(handle)
    _say(len(rows), len(added), len(contrary), len(disputed))


def _say(read: int, added: int, contrary: int, disputed: int) -> None:
    """Say how many decisions were taken, and how many contradict others."""
    known = f", {read - added:,} were there already, or are said twice" if added < read else ""
    common.say(f"{added:,} decisions were taken{known}")
    if contrary:
        common.say(
            f"{contrary:,} earlier decisions of the same reviewers say the contrary, and hold no "
            "more; see linker decisions list --history"
        )
    if disputed:
        common.say(
            f"reviewers disagree on {disputed:,} mentions, which the model answers; "
            "see linker decisions list --conflicts"
        )
