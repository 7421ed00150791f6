"""linker decide: what people decided about mentions is remembered."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.cli.reading import Reading

if TYPE_CHECKING:
    from linker.decisions.records import Decision


@click.command()
@click.argument("source", metavar="FILE.tsv")
@common.decisions_option("SQLite file that remembers them; made if it is not there.", required=True)
@common.model_option
@click.option("--reviewer", default="", metavar="NAME", help="Reviewer of rows that name none.")
@common.encoding_option
@common.on_error_option
@common.logs
def decide(
    source: str, decisions: str, model: str, reviewer: str, encoding: str | None, on_error: str
) -> None:
    """Store the decisions of a table; linker link --decisions then applies them.

    The columns are mention and concept id, "A|B" for the parts of a mention, -1 for no concept. A
    header may name further columns: accepted (false: the concept is wrong), scope (the only
    document in which it holds), reviewer, time. A file of mappings (SSSOM), as --format sssom
    writes it, is taken, too: those that a person curated.
    """
    from linker.cluster.linking import model_hash
    from linker.decisions import exchange
    from linker.decisions.check import check_ids, current, releases
    from linker.decisions.records import conflicts, in_force
    from linker.decisions.store import DecisionStore
    from linker.files import encodings

    handle = common.handler(on_error)
    dictionary = Reading().read([model], handle)
    fingerprint, release = model_hash(model), releases(dictionary)

    def completed(decision: Decision) -> Decision:
        return dataclasses.replace(
            decision,
            reviewer=decision.reviewer or reviewer,
            model=decision.model or fingerprint,
            release=decision.release or release,
        )

    table, _ = encodings.as_utf8(source, encoding)
    rows = exchange.read(table, on_error=handle, check=lambda d: check_ids(d, dictionary))
    completed_rows = list(map(completed, rows))
    with DecisionStore(decisions) as store:
        count = len(store.add(completed_rows))
        disputed = conflicts(in_force(current(store.standing(), dictionary)[0]))
    common.say_skipped(handle)
    common.say(f"{count:,} decisions were taken")
    if disputed:
        common.say(
            f"reviewers disagree on {len(disputed):,} mentions, which the model answers; "
            "see linker decisions list --conflicts"
        )
