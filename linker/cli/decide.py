"""linker decide: what people decided about mentions is remembered."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.cli.reading import Reading

if TYPE_CHECKING:
    from linker.decisions.records import Decision
    from linker.dictionary import Dictionary


@click.command()
@click.argument("source", metavar="FILE.tsv")
@common.decisions_option("SQLite file that remembers them; made if it is not there.", required=True)
@common.model_option
@click.option("--reviewer", default="", metavar="NAME", help="Who decided, where FILE has nobody.")
@common.on_error_option
@common.logs
def decide(source: str, decisions: str, model: str, reviewer: str, on_error: str) -> None:
    """Take the decisions of a table, with which linker link --decisions answers from now on.

    The columns are mention and concept id, "A|B" for the parts of a mention, -1 for no concept. A
    header may name further columns: accepted (false: the concept is wrong), scope (the only
    document in which it holds), reviewer, time. A file of mappings (SSSOM), as --format sssom
    writes it, is taken, too: those that a person curated.
    """
    from linker.cluster.linking import model_hash
    from linker.decisions import exchange
    from linker.decisions.store import DecisionStore

    handle = common.handler(on_error)
    dictionary = Reading().read([model], handle)
    fingerprint, release = model_hash(model), _release(dictionary)

    def completed(decision: Decision) -> Decision:
        return dataclasses.replace(
            decision,
            reviewer=decision.reviewer or reviewer,
            model=decision.model or fingerprint,
            release=decision.release or release,
        )

    rows = exchange.read(source, on_error=handle, check=lambda d: _check(d, dictionary))
    completed_rows = list(map(completed, rows))
    with DecisionStore(decisions) as store:
        count = len(store.add(completed_rows))
        conflicts = len(store.conflicts())
    common.say_skipped(handle)
    common.say(f"{count:,} decisions were taken")
    if conflicts:
        common.say(
            f"reviewers disagree on {conflicts:,} mentions, which the model answers; "
            "see linker decisions list --conflicts"
        )


def _check(decision: Decision, dictionary: Dictionary) -> None:
    """Check that the dictionary knows the ids of a decision.

    Raises:
        LinkerError: one stands for no concept, or for several.
    """
    from linker.errors import LinkerError

    for identifier in decision.concepts:
        if not (rows := dictionary.rows(identifier)):
            raise LinkerError(f"the dictionary has no concept {identifier}")
        if len(rows) > 1:
            ids = ", ".join(dictionary.ids[row] for row in rows)
            raise LinkerError(f"{identifier} stands for several concepts ({ids}); name one")


def _release(dictionary: Dictionary) -> str:
    """The releases of the files of a dictionary; their checksums where they state none."""
    return "; ".join(source.release or source.sha256[:12] for source in dictionary.sources)
