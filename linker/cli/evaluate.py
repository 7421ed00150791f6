"""linker evaluate: Acc@k of a model or of predictions; review check: pairs of id and label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from linker.cli import common
from linker.cli import options as o
from linker.cli.progress import InputBar
from linker.errors import LinkerError, shown
from linker.evaluation import documents, report, run
from linker.evaluation.pairs import COLUMNS, Checked, PairChecker
from linker.io import files
from linker.io import mentions as readers
from linker.io import rows as tables
from linker.io.rows import TableRow
from linker.jobs import linking
from linker.jobs.tables import predicted
from linker.linking.decided import Decided
from linker.linking.linker import Linker
from linker.linking.options import as_saved
from linker.records import SELECTION, Document, Mention, Selection


def _ks(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        ks = sorted({int(item) for item in o.listed(context, parameter, value)})
    except ValueError:
        ks = []
    if not ks or not 1 <= ks[0] <= ks[-1] <= o.MOST:
        raise click.BadParameter(
            f"{value!r}; expected whole numbers from 1 to {o.MOST}, e.g. 1,5,10,20"
        )
    return tuple(ks)


@o.command(
    mentions=o.argument("MENTIONS"),
    model=o.MODEL,
    input_format=o.INPUT_FORMAT,
    protocol=o.choice(("strict", "biosyn", "document"), "How to evaluate."),
    mention_type=o.kind("Evaluate mentions of this type only, e.g. Disease."),
    ks=o.option("The k of Acc@k.", "K,...", default="1,5,10,20", callback=_ks, flags="-k"),
    **o.WITHIN,
    threshold=o.probability("As in link; not for protocol biosyn."),
    predictions=o.option("Evaluate these (our JSONL, BioSyn's JSON), not a model's.", "PATH"),
    against=o.option("Compare with the evaluation in this folder, which -o wrote.", "DIR"),
    device=o.DEVICE,
    decisions=o.option("Decisions that win over the model; protocol strict only.", "FILE"),
    output=o.folder("For metrics.json, outcomes.tsv and report.html."),
    on_error=o.ON_ERROR,
)
def evaluate(options: SimpleNamespace) -> None:
    """Evaluate a model on annotated MENTIONS.

    strict: the model as deployed; k counts concepts, composites need all their ids, and a mention
    without a concept is right only when nothing is returned. biosyn: as in papers; k counts names,
    any shared id is right, composites are split by their gold ids. document: mentions are found in
    the texts as by linker annotate; F1 of spans, of spans with concepts, and of the concepts of
    documents. MRR looks at the first 20 candidates, or at as many as the largest k. With
    --predictions a model is only consulted (for old ids, seen mentions, kinds of error) when
    --model is named.
    """
    _check(options)
    mentions, kind, on_error = options.mentions, options.input_format, options.on_error
    if options.output:  # before the work, not after it
        with files.writing(options.output):
            Path(options.output).mkdir(parents=True, exist_ok=True)
    linker = None
    if o.is_given("model") or not options.predictions:
        linker = Linker.load(options.model)
        linker.use("fp32", options.device)
        linker = linker.restricted(o.picked(Selection, options))
    read = readers.read(
        mentions,
        None if kind == "auto" else kind,
        type=options.mention_type,
        on_error=on_error,
        identify=linker.dictionary.identify if linker else None,
    )
    if linker and not options.predictions:
        read = linking.selectable(read, linker, mentions, on_error=on_error)
    if not linker or options.protocol != "document":
        _evaluate_mentions(options, list(read), linker)
        return
    figures, rows = documents.evaluate(linker, list(read), options.threshold)
    record = {"protocol": "document"} | figures | _about(options, linker)
    common.show(documents.table(record))
    if options.output:
        run.write_tables(Path(options.output), record, "documents.tsv", rows)
        common.say(f"wrote metrics.json and documents.tsv into {options.output}")


def _check(options: SimpleNamespace) -> None:
    """Refuse options that the protocol, or predictions of others, make nothing of."""
    predictions, protocol = options.predictions, options.protocol
    unused = [] if protocol == "strict" and not predictions else ["decisions"]
    if protocol == "biosyn" or predictions:
        unused.append("threshold")
    if protocol == "document":
        unused += ["predictions", "against"]
    elif predictions:
        unused += [*SELECTION, "device"]
    if given := [name for name in unused if o.is_given(name)]:
        what = f"predictions under --protocol {protocol}" if predictions else protocol
        flag = given[0].replace("_", "-")
        raise click.UsageError(f"--{flag} means nothing for {what}; leave it out")


def _evaluate_mentions(
    options: SimpleNamespace, items: Sequence[Mention | Document], linker: Linker | None
) -> None:
    """Judge answers, print the figures and what they do not tell, and write them where asked."""
    other = run.read(Path(options.against)) if options.against else None
    protocol, ks, predictions = options.protocol, options.ks, options.predictions
    if linker and not predictions:
        decided, threshold = Decided.of_file(options.decisions, linker), options.threshold
        evaluation = run.evaluate(
            items, linker, protocol, ks, threshold=threshold, decisions=decided
        )
    else:
        evaluation = run.evaluate_predictions(predictions, items, linker, protocol, ks)
    if not evaluation.outcomes:
        raise LinkerError(
            f"{options.mentions}: holds no annotated mentions; give a file with gold ids, "
            "e.g. a table with the columns mention and id"
        )
    record, tables = evaluation.record | _about(options, linker), [report.table(evaluation.record)]
    if other:
        name = shown(options.predictions or options.model)
        record["against"] = run.compare(other, name, record, evaluation.outcomes)
        tables.append(run.comparison_table(record["against"]))
    common.show("\n\n".join(tables))
    if evaluation.warning:
        common.say(evaluation.warning)
    if not linker:
        common.say(
            "without --model old ids are not resolved, "
            "and seen mentions and kinds of errors are not told apart"
        )
    if left_out := evaluation.record["left_out"]:
        of = f"{left_out:,} of {evaluation.mentions:,} mentions"
        common.say(f"{of} were left out: without annotated concept")
    if options.output:
        folder = Path(options.output)
        run.write(folder, record, evaluation.outcomes)
        common.say(f"wrote metrics.json, outcomes.tsv and report.html into {folder}")


def _about(options: SimpleNamespace, linker: Linker | None) -> dict[str, Any]:
    """The evaluated files and the options, for metrics.json."""
    paths = {name: getattr(options, name) for name in ("mentions", "predictions", "decisions")}
    model = linker and {
        "folder": shown(options.model),
        "encoder": linker.encoder,
        "device": options.device,
        "options": as_saved(linker.options, linker.encoder),
    }
    return {
        **{name: path and shown(path) for name, path in paths.items()},
        **{name: getattr(options, name) or None for name in SELECTION},
        "model": model,
        "dictionary": linker and linker.describe_dictionary(),
    }


_IDS = ("id", "concept_id", "subject_id", "object_id", "identifier", "curie", "code")
_LABELS = ("label", "name", "mention", "subject_label", "object_label", "term", "title")
_VERDICTS = ("right", "obsolete", "mismatched", "unsure", "unknown", "")


@o.command(
    source=o.argument("FILE"),
    model=o.MODEL,
    columns=o.option(
        "Columns of the ids and of the labels. [default: id or a like name; label or a like one]",
        "ID,LABEL",
        flags="--column",
        callback=o.listed,
    ),
    threshold=o.probability("A label with another concept this sure is a mismatch.", default=0.5),
    output=o.OUTPUT,
    encoding=o.ENCODING,
    on_error=o.ON_ERROR,
)
def check(options: SimpleNamespace) -> None:
    """Check the ids and labels of FILE, a table (tsv, csv or xlsx), against a model.

    The columns verdict, current_id, better_id, better_name and confidence are added to it. A pair
    is right, obsolete, mismatched, unsure or unknown. Of mappings (SSSOM) name the side to check:
    --column object_id,object_label; of those that linker wrote object_id,subject_label.
    """
    if len(options.columns) not in (0, 2):
        raise click.UsageError("--column names two columns: of the ids, and of the labels")
    linker = Linker.load(options.model)
    ids, labels = ([name] for name in options.columns) if options.columns else (_IDS, _LABELS)
    wanted, on_error = (*ids, *labels), options.on_error
    content = files.watched(options.source)
    table = tables.read(content, wanted, encoding=options.encoding, on_error=on_error)
    id_place, label_place = tables.first_of(table, ids), tables.first_of(table, labels)
    checker, counts, long = PairChecker(linker, options.threshold), Counter[str](), list[int]()

    def checked() -> Iterator[tuple[TableRow, Checked]]:
        """Each row with what is said of it; the verdicts are counted."""
        with InputBar("rows", table.path, options.output) as bar:
            linked = predicted(bar.read(table.rows()), label_place, linker.link_items, long)
            for row, prediction in linked:
                identifier, label = ("".join(row.cells[p : p + 1]) for p in (id_place, label_place))
                pair = checker.check(identifier, label, prediction)
                counts[pair.verdict] += 1
                yield row, pair
                bar.done()

    common.write_table(table, options.output, COLUMNS, checked())
    verdicts = ", ".join(f"{counts[verdict]:,} {verdict or 'empty'}" for verdict in _VERDICTS)
    common.say(f"{common.counted(sum(counts.values()), 'row')}: {verdicts}")
    common.say_long(long)
