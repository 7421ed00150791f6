"""linker decide: what people decided is remembered. linker decisions: it is listed, withdrawn,
exchanged and checked."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, reading
from linker.cli import options as o

if TYPE_CHECKING:
    from linker.projects.learning import Comparison
    from linker.types import Decision

_FILE = o.option("SQLite file of the decisions.", "FILE", required=True)


@o.command(
    source=o.argument("FILE"),
    decisions=o.option(
        "SQLite file that remembers them; made if it is not there.", "FILE", required=True
    ),
    model=o.MODEL,
    reviewer=o.option("Reviewer of rows that name none.", "NAME", default=""),
    column=o.option("Column of the mentions in a table. [mention]", "NAME"),
    encoding=o.ENCODING,
    on_error=o.ON_ERROR,
)
def decide(options: SimpleNamespace) -> None:
    """Store the decisions of a file; linker link --decisions then applies them.

    A table (tsv, csv, xlsx) has the columns mention and concept_id, "A|B" for the parts of a
    mention, -1 for no concept. It may have further columns: accepted (false: the concept is wrong),
    scope (the only document in which it holds), predicate (broad, narrow or related: what the
    concept is to the mention), reviewer, time, settles (a JSON list of the reviewers whose
    earlier decisions on the mention count no more).

    What linker wrote is taken, too: a table with a row for each mention, with the decisions that
    stand in it, and where a person set the state to accepted, rejected or "no concept"; and
    mappings (SSSOM) that a person curated.
    """
    from linker.decisions import exchange, records
    from linker.decisions.store import DecisionStore
    from linker.files import encodings
    from linker.jobs.linking import model_hash

    dictionary = reading.read([options.model], options)
    fingerprint, release = model_hash(options.model), records.releases(dictionary)

    def completed(decision: Decision) -> Decision:
        model, of = decision.model or fingerprint, decision.release or release
        return dataclasses.replace(decision, model=model, release=of)

    table, _ = encodings.as_utf8(options.source, options.encoding)
    known = partial(records.identified, dictionary=dictionary)
    named: dict[str, Any] = {"column": options.column, "reviewer": options.reviewer}
    rows = list(exchange.read(table, on_error=options.on_error, check=known, **named))
    with DecisionStore(options.decisions) as store:
        before = store.list()
        added = exchange.add_new(store, map(completed, rows))
        current, _ = records.current(store.list(), dictionary)
    repeated = len(rows) - len(added)
    there = f", {repeated:,} were there already, or are said twice" if repeated else ""
    common.say(f"{common.were(len(added), 'decision')} taken{there}")
    if contrary := records.replaced(before, added):
        common.say(
            f"{len(contrary):,} earlier decisions of the same reviewers say the contrary, and hold "
            "no more; see linker decisions list --history"
        )
    if disputed := records.conflicts(current):
        common.say(
            f"reviewers disagree on {common.counted(len(disputed), 'mention')}, which the model "
            "answers; see linker decisions list --conflicts"
        )


@click.group()
def decisions() -> None:
    """Look into decisions, withdraw and exchange them, and check them against a release of the
    dictionary."""


@o.command(
    decisions,
    "list",
    decisions=_FILE,
    mention=o.option("Only those on this mention.", "TEXT"),
    scope=o.option("Only those of this document.", "ID"),
    reviewer=o.option("Only those of this person.", "NAME"),
    limit=o.option("Only the latest N.", "N", type=click.IntRange(1), flags="-n"),
    conflicts=o.flag("Only those on which reviewers disagree."),
    history=o.flag("Also those that were withdrawn or replaced, in other columns."),
)
def list_(options: SimpleNamespace) -> None:
    """Print the decisions that are in force, in order of entry, as a table."""
    from linker.decisions import exchange, log, records
    from linker.decisions.agreement import agreement
    from linker.decisions.store import DecisionStore

    if options.history and options.conflicts:
        raise click.UsageError("--conflicts are of decisions in force; leave out --history")
    chosen = {name: getattr(options, name) for name in ("mention", "scope", "reviewer")}
    latest = slice(-(options.limit or 0), None)  # from 0: all
    with DecisionStore(options.decisions, read_only=True) as store, common.stdout() as file:
        if options.history:
            log.write_history(store, store.history(**chosen)[latest], file)
            return
        chosen_rows = store.list(**chosen)
        rows, disputed = chosen_rows[latest], records.conflicts(store.list())
        if options.conflicts:
            ids = {decision.id for of_mention in disputed for decision in of_mention}
            rows = [decision for decision in rows if decision.id in ids]
        exchange.write(rows, file)
    agreed = agreement(records.in_force(chosen_rows).values())
    if options.conflicts and agreed.both:
        kappa = "is not defined" if agreed.kappa is None else f"{agreed.kappa:.2f}"
        common.say(
            f"where two reviewers decided on a mention, they agree in {agreed.agreed:,} of "
            f"{agreed.both:,} cases; kappa {kappa}"
        )
    if disputed and not options.conflicts:
        mentions = common.counted(len(disputed), "mention")
        common.say(f"reviewers disagree on {mentions}; see them with --conflicts")


@o.command(
    decisions,
    decisions=_FILE,
    ids=o.option(
        "Number of a decision, as list shows it; may be repeated.",
        "N",
        type=click.IntRange(1, 2**53),
        multiple=True,
        required=True,
        flags="--id",
    ),
    reviewer=o.option("Who withdraws.", "NAME", default=""),
)
def withdraw(options: SimpleNamespace) -> None:
    """Take decisions out of force, which stay in the file; what they replaced holds again."""
    from linker.decisions.store import DecisionStore
    from linker.errors import LinkerError, shown

    with DecisionStore(options.decisions, read_only=True) as store:
        there = {past.decision.id for past in store.history() if not past.withdrawn}
    if missing := [str(number) for number in options.ids if number not in there]:
        raise LinkerError(
            f"{shown(options.decisions)}: no decision with the number {', '.join(missing)} can be "
            "withdrawn; see linker decisions list --history"
        )
    with DecisionStore(options.decisions) as store:
        count = store.withdraw(options.ids, options.reviewer)
    common.say(f"{common.were(count, 'decision')} withdrawn")


@o.command(
    decisions,
    decisions=_FILE,
    form=o.choice(
        ("tsv", "mentions", "sssom", "log"),
        "tsv: for linker decisions import; mentions: for linker train; sssom: mappings; "
        "log: who did what when, also what holds no more.",
        flags="--format",
    ),
    dictionary=o.option("Dictionary or model with the names.", "PATH", flags="--dict"),
    output=o.OUTPUT,
)
def export(options: SimpleNamespace) -> None:
    """Write the decisions that are in force to a file."""
    from linker.decisions import exchange, log
    from linker.decisions.store import DecisionStore

    path = options.dictionary
    dictionary = reading.read([path], options) if path else None
    with DecisionStore(options.decisions, read_only=True) as store:
        if options.form == "log":
            with common.writing(options.output, [options.decisions]) as file:
                log.write(store, file)
            return
        rows = store.list()
    with common.writing(options.output, [options.decisions]) as file:
        left_out = exchange.export(rows, options.form, file, dictionary)
    if total := left_out.total():
        whys = "; ".join(f"{count:,}: {why}" for why, count in left_out.items() if count)
        count = common.were(total, "decision")
        common.say(f"{count} left out, which {options.form} cannot express ({whys})")


@o.command(
    decisions,
    "import",
    source=o.argument("FILE.tsv"),
    decisions=_FILE,
    on_error=o.ON_ERROR,
)
def import_(options: SimpleNamespace) -> None:
    """Add the decisions of a table that linker decisions export wrote; those that are there already
    are passed over."""
    from linker.decisions import exchange
    from linker.decisions.store import DecisionStore

    rows = list(exchange.read(options.source, on_error=options.on_error))
    with DecisionStore(options.decisions) as store:
        added = len(exchange.add_new(store, rows))
    count = common.were(added, "decision")
    common.say(f"{count} added, {len(rows) - added:,} were there already")


@o.command(
    decisions,
    decisions=_FILE,
    dictionary=o.option("The new release, or a model.", "PATH", required=True, flags="--dict"),
    **reading.READING,
    on_error=o.ON_ERROR,
)
def check(options: SimpleNamespace) -> None:
    """Print the decisions that a release of the dictionary made merged, ambiguous or obsolete, and
    those with ids that it does not know, with the ids that stand for them now."""
    from linker.decisions import records
    from linker.decisions.store import DecisionStore
    from linker.outputs.tsv import row_writer

    with DecisionStore(options.decisions, read_only=True) as store:
        rows = store.list()
    dictionary = reading.read([options.dictionary], options)
    counts: Counter[str] = Counter()
    with common.stdout() as file:
        write_row = row_writer(file)
        write_row(("state", "decision", "mention", "concept_id", "scope", "reviewer", "now"))
        for d, state, now in records.check(rows, dictionary):
            counts[state] += 1
            if state != "current":
                where = d.mention, d.concept_id or "-1", d.scope, d.reviewer
                write_row((state, str(d.id), *where, "|".join(now)))
    shown = (f"{count:,} {state}" for state, count in sorted(counts.items()))
    common.say(f"{Path(options.decisions).name}: {', '.join(shown) or 'no decisions'}")


@o.command(
    decisions,
    decisions=_FILE,
    model=o.MODEL,
    known=o.option(
        "The old model is one that has learnt the decisions up to this number.",
        "N",
        default=0,
        type=click.IntRange(0),
        hidden=True,
    ),
    as_json=o.flag("Print progress and figures as JSON, an object a line.", flags="--json"),
    output=o.option(
        "Model folder to write. [default: that of --model, with .next]", "DIR", flags="-o --output"
    ),
)
def learn(options: SimpleNamespace) -> None:
    """Let a model learn what people decided, and write it beside the old one.

    Accepted mentions become names, and the ranker is fitted further to them; the encoder stays. The
    old and the new model are measured on decisions that they have not learnt. Name a model that has
    learnt no decision of the file.
    """
    from linker import persistence
    from linker.decisions.applying import Decided
    from linker.decisions.store import DecisionStore
    from linker.linking.linker import Linker
    from linker.projects import learning
    from linker.types import Activity

    output = options.output or f"{Path(options.model).absolute()}.next"
    persistence.check_replaceable(output)  # before the work, not after it
    tell = partial(_tell, options.as_json)

    def report(activity: Activity) -> None:
        tell(activity.what, what=activity.what, share=round(activity.share or 0.0, 2))

    with DecisionStore(options.decisions, read_only=True) as store:
        rows, linker = store.list(), Linker.load(options.model)
        with store.reading() as connection:
            reviewed = learning.Reviewed.of(connection, linker, Decided(rows, linker))
    lessons = learning.lessons_of(rows, linker)
    linker, compared = learning.learn(linker, lessons, options.known, report, reviewed)
    report(Activity("writing the model", 0.95))
    linker.save(output)
    last = max(lesson.number for lesson in lessons)
    figures = compared.to_dict() if compared else {}
    words = _table(compared) if compared else f"fewer than {learning.FEWEST}: nothing is measured"
    tell(words, decisions=len(lessons), last=last, **figures)
    common.say_model(linker, output)


def _tell(as_json: bool, words: str, **facts: Any) -> None:
    """Tell something: the facts as a line of JSON, or in words."""
    if as_json:
        common.show(json.dumps(facts))
    else:
        common.say(words)


def _table(compared: Comparison) -> str:
    """The figures of two models as a table."""
    from linker.evaluation.report import aligned
    from linker.outputs import decimals

    figures = compared.to_dict()
    rows = [("held-out decisions", "right", "Acc@1", "95% interval")]
    for name in ("old", "new"):
        of = figures[name]
        low, high = map(decimals, of["interval"])
        count = f"{of['right']:,} of {compared.decisions:,}"
        rows.append((name, count, decimals(of["accuracy"]), f"{low} to {high}"))
    changed = f"{compared.better:,} became right, {compared.worse:,} became wrong"
    return f"{aligned(rows)}\n{changed}"
