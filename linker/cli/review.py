"""linker review: what people decided is taken, listed, withdrawn, checked, exported and learnt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import click

from linker.cli import common, projects
from linker.cli import options as o
from linker.cli.evaluate import check
from linker.desk.decisions import exchange, updating
from linker.desk.decisions.reviewed import Untaken
from linker.desk.decisions.store import identified, releases, replaced
from linker.desk.projects import learning, sources
from linker.dictionary import Dictionary
from linker.errors import LinkerError, UsageError, shown
from linker.io import mentions, persistence, tsv
from linker.io import rows as tables
from linker.io.files import as_utf8
from linker.io.outputs import row_writer
from linker.jobs.linking import model_hash
from linker.jobs.tables import mention_of
from linker.linking.decided import Decided
from linker.linking.decisions import conflicts, in_force
from linker.linking.linker import Linker
from linker.records import Activity, Decision
from linker.text.normalize import person


@click.group()
def review() -> None:
    """Take, list and export what people decided.

    Decisions are kept in one SQLite file, and so are projects: tables, lists and documents that are
    reviewed under a name. linker serve shows both at /review, and linker link --decisions answers
    by them.
    """


_FILE = o.option("Of decisions and projects. [default: that of linker serve]", "FILE")
_TSV, _OWN = ("tsv", "mentions", "sssom", "log"), projects.FORMS
_PROJECT = o.option("Name or number of a project.", "NAME")


@o.command(
    review,
    "import",
    files=o.argument("FILE...", nargs=-1, required=True),
    project=o.option("Add FILEs to this project, which is made if need be.", "NAME"),
    decisions=_FILE,
    model=o.MODEL,
    reviewer=o.option("Reviewer of what names none.", "NAME", default=""),
    column=o.option("Column of the mentions in a table, by name or number. [mention]", "NAME"),
    read_as=o.choice(
        ("auto", *sources.KINDS), "With --project: what FILEs are; auto: what they look like."
    ),
    mention_type=o.kind("With --project: link only mentions of this type; empty: all."),
    encoding=o.ENCODING,
    device=o.DEVICE,
    on_error=o.ON_ERROR,
    again=o.flag("Take also what was decided before, and holds no more."),
)
def import_(options: SimpleNamespace) -> None:
    """Store the decisions of FILEs, or make a project of FILEs, whose mentions are linked.

    Decisions are read from tables (tsv, csv, xlsx) with the columns mention and concept_id, "A|B"
    for the parts of a mention, -1 for no concept, and perhaps accepted (false: the concept is
    wrong), scope (the only document in which it holds), predicate (broad, narrow or related),
    reviewer, time and settles; from tables with a row for each mention that linker wrote, where a
    person set the state to accepted, rejected or "no concept"; and from mappings (SSSOM) that a
    person curated.

    What was ever stored is passed over, also if it was replaced or withdrawn since; --again takes
    what holds no more, of rows without a time. So a FILE may be imported again.

    With --project a FILE is a table, a list of names, a text, documents (PubTator, BioC, JSON
    lines), or a folder of texts; --read-as says what a plain text is. Of what linker wrote and a
    person reviewed, the decisions are taken. Where the dictionary is one of diseases, only those
    are linked unless --type says so.
    """
    if options.project:
        projects.take(options)
        return
    for path in options.files:
        _take(path, options)


def _take(path: str, options: SimpleNamespace) -> None:
    """Store the decisions of a file."""
    dictionary = o.read_dictionary([options.model], options)
    fingerprint, release = model_hash(options.model), releases(dictionary)

    def check(d: Decision) -> Decision:
        stored = identified(d, dictionary)
        return replace(stored, model=d.model or fingerprint, release=d.release or release)

    table, _ = as_utf8(path, options.encoding)
    column, reviewer, on_error = options.column, options.reviewer, options.on_error
    untaken = Untaken(dictionary)
    rows = list(
        exchange.read(
            table,
            on_error=on_error,
            check=check,
            column=column,
            reviewer=reviewer,
            untaken=untaken,
        )
    )
    with projects.opened(options) as store:
        before = store.list()
        imported = exchange.import_new(store, rows, again=options.again)
    added = imported.added
    there = f", {len(rows) - len(added):,} were there already" if len(added) < len(rows) else ""
    common.say(f"{common.were(len(added), 'decision')} taken{there}")
    if imported.repeated:
        common.say(f"{exchange.repeated_text(imported.repeated)}; --again takes them")
    if contrary := replaced(before, added):
        common.say(f"{len(contrary):,} earlier ones of the same reviewers say the contrary")
    if untaken.rows:
        common.say(f"WARNING: {untaken}")


@o.command(
    review,
    project=_PROJECT,
    decisions=_FILE,
    model=o.MODEL,
    form=o.option(
        "[default: tsv; of a project own]",
        flags="--format",
        type=click.Choice(sorted({*_TSV, *_OWN})),
    ),
    output=o.OUTPUT,
)
def export(options: SimpleNamespace) -> None:
    """Write the decisions that are in force, or a project with its answers.

    tsv: a table for linker review import; sssom: mappings; log: who did what when, also what holds
    no more; mentions, without --project: for linker train; own: a project as it came in, with state
    and reviewer; plain: with id, name and state alone; decisions: those on its mentions.
    """
    form: Any = options.form or ("own" if options.project else "tsv")
    if form not in (forms := _OWN if options.project else _TSV):
        raise click.UsageError(f"--format is {form}; expected here: {', '.join(forms)}")
    if options.project:
        projects.export(options, form)
        return
    dictionary = o.read_dictionary([options.model], options) if form == "sssom" else None
    with projects.opened(options, read_only=True) as store:
        rows, path = store.list(), str(store.path)
        with common.writing(options.output, [path]) as file:
            if form == "log":
                exchange.write_log(store, file)
                return
            left_out = exchange.export(rows, form, file, dictionary)
    if left_out:
        common.say(f"{common.were(left_out, 'decision')} left out, which {form} cannot express")


@o.command(
    review,
    "list",
    decisions=_FILE,
    model=o.MODEL,
    reviewer=o.option("Only those of this person.", "NAME"),
    conflicts=o.flag("Only those on which reviewers disagree."),
)
def list_(options: SimpleNamespace) -> None:
    """Print the decisions that are in force, in order of entry, as a table.

    With --conflicts ids are those of the model. What a new release changes, `update` shows.
    """
    with projects.opened(options, read_only=True) as store, common.stdout() as file:
        every = store.list()
        who = options.reviewer
        rows = [d for d in every if who is None or person(who) == person(d.reviewer)]
        if options.conflicts:
            dictionary = o.read_dictionary([options.model], options)
            disputed = conflicts(in_force(every, dictionary))
            ids = {decision.id for of_place in disputed for decision in of_place}
            rows = [decision for decision in rows if decision.id in ids]
        exchange.write(rows, file)


@o.command(
    review,
    dictionary=o.option(
        "The new release, or a model of it.", "PATH", flags="--dict", required=True
    ),
    accept=o.commas(
        f"Take over these kinds ({', '.join(updating.ACCEPTABLE)}), or numbers of decisions."
    ),
    decisions=_FILE,
    model=o.MODEL,
    reviewer=o.option("Who accepts.", "NAME", default=""),
    output=o.OUTPUT,
    on_error=o.ON_ERROR,
)
def update(options: SimpleNamespace) -> None:
    """Show what a new release of the dictionary does to the decisions in force, as a table.

    Kinds are: open (a rejected id was merged with another, so that there is no answer until
    somebody decides), merged (the id is now another concept's, which linking follows), moved (the
    mention has become a name of another concept), exact now (a broader, narrower or related concept
    was chosen, and the mention has become a name), ambiguous, obsolete and unknown. The column
    `now` has the ids of today. What was a name already in the dictionary of --model is no change.

    Nothing is changed without --accept, which takes moved, "exact now", or numbers of the column
    `decision`: then the concept of `now` is accepted. One that is named by its number counts as
    looked at; a whole kind is accepted in bulk, which exports say, but for those of which
    `one_by_one` says why they need a look: short forms, names of several concepts, decisions of one
    document, and where reviewers disagree.
    """
    dictionary = o.read_dictionary([options.dictionary], options)
    before = o.read_dictionary([options.model], options)
    with projects.opened(options, read_only=not options.accept) as store:
        every = store.list()
        names = updating.Names(dictionary)
        found = updating.changes(every, names, updating.Names(before))
        try:
            wanted = updating.chosen(found, options.accept)
        except ValueError as error:
            raise UsageError(
                f"--accept {error}: no kind that can be accepted, and no decision that needs one; "
                f"expected: {', '.join(updating.ACCEPTABLE)}, or numbers of such decisions"
            ) from None
        with common.writing(options.output, [options.dictionary]) as file:
            _write_changes(found, file)
        new = [
            updating.accepted(change, dictionary, options.reviewer, bulk=bulk)
            for change, bulk in wanted
        ]
        taken = updating.take(store, new) if new else []
    counts = updating.counted(every, found)
    shown = (f"{counts[kind]:,} {kind}" for kind in ("current", *updating.KINDS) if counts[kind])
    common.say(f"decisions: {', '.join(shown) or 'none'}")
    if alone := sum(bool(change.one_by_one) for change in found):
        common.say(f"to be accepted one by one, by number: {alone:,}; see the column one_by_one")
    if taken:
        common.say(f"{common.were(len(taken), 'decision')} taken")


def _write_changes(found: Sequence[updating.Change], file: TextIO) -> None:
    """Write the decisions that a release changes."""
    write_row = row_writer(file)
    about = ("mention", "concept_id", "predicate", "scope", "reviewer")
    write_row(("kind", "decision", *about, "now", "one_by_one"))
    for change in found:
        d = change.decision
        write_row(
            (
                change.kind,
                str(d.id),
                d.mention,
                d.concept_id or "-1",
                d.predicate,
                d.scope,
                d.reviewer,
                "|".join(change.now),
                change.one_by_one,
            )
        )


@o.command(
    review,
    ids=o.argument("N...", nargs=-1, required=True, type=click.IntRange(1, 2**53)),
    decisions=_FILE,
    model=o.MODEL,
    reviewer=o.option("Who withdraws.", "NAME", default=""),
)
def withdraw(options: SimpleNamespace) -> None:
    """Take the decisions with the numbers N, which list shows, out of force.

    They stay in the file; what they replaced holds again.
    """
    with projects.opened(options, read_only=True) as store:
        there = {past.decision.id for past in store.history() if not past.withdrawn}
    if missing := [str(number) for number in options.ids if number not in there]:
        raise LinkerError(f"{shown(store.path)}: no decision {', '.join(missing)} is in force")
    with projects.opened(options) as store:
        count = store.withdraw(options.ids, options.reviewer)
    common.say(f"{common.were(count, 'decision')} withdrawn")


review.add_command(check)


@o.command(
    review,
    source=o.argument("FILE"),
    model=o.MODEL,
    column=o.option("Column of the mentions in a table, by name or number. [mention]", "NAME"),
    elsewhere=o.several("Another dictionary, whose names are looked for.", flags="--lend"),
    decisions=o.DECISIONS,
    encoding=o.ENCODING,
    device=o.DEVICE,
    on_error=o.ON_ERROR,
    output=o.OUTPUT,
)
def report(options: SimpleNamespace) -> None:
    """Say why mentions of FILE have no sure answer, and what would help.

    FILE is a table (tsv, csv, xlsx), which linker may have written, or a list of mentions. The
    mentions are linked by the model as it is now; the report is Markdown.
    """
    from linker.evaluation import failures

    rows = Counter(_mentions(options))
    linker = Linker.load(options.model)
    linker.use("fp32", options.device)
    elsewhere = {
        linker.normalize(name) for path in options.elsewhere for name in Dictionary.read(path).names
    }
    decided = Decided.of_file(options.decisions, linker)
    predictions = linker.link(iter(rows), decisions=decided)
    found = failures.failures(predictions, rows, linker, elsewhere)
    with common.writing(options.output, [options.source]) as file:
        file.writelines(f"{line}\n" for line in failures.report(found, rows.total(), len(rows)))


def _mentions(options: SimpleNamespace) -> Iterator[str]:
    """The mentions of a table, a list or documents; those of what linker wrote once a mention."""
    source, column = options.source, options.column
    kind = "tsv" if column or tables.is_workbook(source) else mentions.detect(source)
    if kind != "tsv":
        read = mentions.read(source, kind, on_error=options.on_error)
        for number, (asked, _) in enumerate(mentions.flatten(read)):
            if number or asked.text.lower() != "mention":  # the header of a table of one column
                yield asked.text
        return
    wanted = [column or "mention"]
    table = tables.read(source, wanted, encoding=options.encoding, on_error=options.on_error)
    place, long, before = tables.place_of(table, wanted[0]), list[int](), ("", "")
    of_linker = {*tsv.COLUMNS} <= {*table.header}
    for row in table.rows():
        if not (mention := mention_of(row, place, long)):
            continue
        if of_linker:  # a row for each candidate of each part
            rank, part = (row.cells[table.header.index(name)] for name in ("rank", "part"))
            is_other = mention.text == before[0] and part != before[1]
            if rank not in ("", "1") or is_other:
                continue
            before = mention.text, part
        yield mention.text
    common.say_long(long)


@o.command(review, "projects", decisions=_FILE, model=o.MODEL)
def projects_(options: SimpleNamespace) -> None:
    """Print the projects with how far they are, as a table."""
    projects.write_list(options)


@o.command(
    review,
    decisions=_FILE,
    model=o.MODEL,
    form=o.choice(("text", "json"), "json: progress and figures as JSON lines.", flags="--format"),
    output=o.folder("Model folder to write. [default: that of --model, with .next]"),
)
def learn(options: SimpleNamespace) -> None:
    """Let a model learn what people decided, and write it beside the old one.

    Accepted mentions become names, and the ranker is fitted further to them; the encoder stays. The
    old and the new model are measured on decisions that they have not learnt. Name a model that has
    learnt no decision of the file.
    """
    output = options.output or f"{Path(options.model).absolute()}.next"
    persistence.check_replaceable(output)  # before the work, not after it

    def tell(words: str, **facts: Any) -> None:
        common.show(json.dumps(facts)) if options.form == "json" else common.say(words)

    def report(activity: Activity) -> None:
        tell(activity.what, what=activity.what, share=round(activity.share or 0.0, 2))

    with projects.opened(options, read_only=True) as store:
        rows, linker = store.list(), Linker.load(options.model)
        with store.reading() as connection:
            reviewed = learning.Reviewed.of(connection, linker, Decided(rows, linker))
    lessons = learning.lessons_of(rows, linker)
    linker, figures = learning.learn(linker, lessons, report, reviewed)
    report(Activity("writing the model", 0.95))
    linker.save(output)
    words = f"{len(lessons):,} decisions learnt"
    if figures:
        old, new = (figures[model]["right"] for model in ("old", "new"))
        words += (
            f"; of {figures['held_out']:,} held-out ones the model without them answers {old:,} "
            f"rightly, the new one {new:,}"
        )
    tell(words, decisions=len(lessons), **figures)
    common.say_model(linker, output)
