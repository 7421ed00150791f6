"""linker words: word vectors for the encoders that start from words."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from linker.cli import common, progress, reading, settings
from linker.cli import options as o
from linker.errors import OnError

if TYPE_CHECKING:
    from linker.dictionary import Dictionary
    from linker.encoders.words import WordsOptions, WordVectors
    from linker.training.plan import TrainingPlan


@click.group()
def words() -> None:
    """Word vectors, for the encoders that start from words: linker train --encoder dan --words
    DIR.
    """


_OUTPUT = o.option("Folder to write.", "DIR", required=True, flags="-o --output")


@o.command(
    words,
    texts=o.argument("TEXT...", nargs=-1, required=True),
    dicts=reading.DICTS,
    **reading.READING,
    changes=o.several(
        "One option, e.g. words.dim=300.", metavar="words.FIELD=VALUE", flags="--set"
    ),
    on_error=o.ON_ERROR,
    output=_OUTPUT,
)
def train(options: SimpleNamespace) -> None:
    """Train word vectors on text files, one document a line, plain or .gz.

    The names of a dictionary are text too. With --set words.tokens=concepts its names and concepts
    that stand in the texts get vectors of their own.
    """
    from linker import persistence

    dicts, changes, on_error = options.dicts, options.changes, options.on_error
    if others_set := [change for change in changes if not change.strip().startswith("words.")]:
        raise click.UsageError(
            f"--set {others_set[0]}: "
            "only the options of word vectors (words.FIELD) mean something here"
        )
    chosen = settings.read("default", None, [], changes).words
    if chosen.tokens != "words" and not dicts:
        raise click.UsageError(
            f"--set words.tokens={chosen.tokens} finds names of a dictionary in the texts; "
            "name it with --dict"
        )
    persistence.check_replaceable(options.output)
    dictionary = reading.read(dicts, options) if dicts else None
    _save(trained(options.texts, dictionary, chosen, on_error), options.output)


@o.command(
    words,
    file=o.argument("FILE"),
    dicts=reading.DICTS,
    **reading.READING,
    frequent=o.option(
        "With --dict: keep the words of its names and the N first of the file. [default: 20000]",
        "N",
        type=click.IntRange(min=0),
    ),
    on_error=o.ON_ERROR,
    output=_OUTPUT,
)
def convert(options: SimpleNamespace) -> None:
    """Turn a word2vec file (text or binary) or a fastText .bin into a folder that is
    memory-mapped.
    """
    from linker import persistence
    from linker.encoders.words import FREQUENT, WordVectors

    dicts, frequent = options.dicts, options.frequent
    if frequent is not None and not dicts:
        raise click.UsageError("--frequent goes with --dict, whose words are kept in any case")
    persistence.check_replaceable(options.output)
    dictionary = reading.read(dicts, options) if dicts else None
    vectors = WordVectors.read(options.file)
    if dictionary is not None:
        vectors = vectors.pruned(dictionary.names, FREQUENT if frequent is None else frequent)
    _save(vectors, options.output)


def _save(vectors: WordVectors, folder: str) -> None:
    vectors.save(folder)
    common.say(f"words: {folder} ({len(vectors.words):,} words, {vectors.dim} components)")


def trained(
    texts: Iterable[str], dictionary: Dictionary | None, options: WordsOptions, on_error: OnError
) -> WordVectors:
    """Train word vectors on text files, and on the names of a dictionary if there is one."""
    from linker.encoders.words import dictionary_names, marked, read_texts, tokens, train

    reporter = progress.TrainingReporter()
    sentences = [
        words
        for path in texts
        for words in _counted(read_texts([path], on_error), f"reading {path}", reporter)
    ]
    if dictionary is not None:
        names = dictionary_names(dictionary)
        if options.tokens != "words":
            counted = _counted(sentences, "finding names of the dictionary in the texts", reporter)
            sentences = list(marked(counted, names))
        sentences += map(tokens, names)
    common.say(f"training word vectors on {len(sentences):,} lines")
    return train(sentences, options, reporter.on_activity)


def _counted(
    sentences: Iterable[list[str]], what: str, reporter: progress.TrainingReporter
) -> Iterator[list[str]]:
    """Pass sentences on; say what is done with them, and each minute how many there were."""
    from linker.types import Activity

    common.say(what)
    reporter.on_activity(Activity(what))
    for number, words in enumerate(sentences, 1):
        if number % 1000 == 0:
            reporter.on_activity(Activity(what, None, f"{number:,} lines"))
        yield words


def for_training(
    plan: TrainingPlan, options: SimpleNamespace, dictionary: Dictionary, checkpoints: Path
) -> TrainingPlan:
    """The plan with the word vectors of --words, or with some that are trained on --text.

    Trained ones are kept among the checkpoints, so that --resume finds them.
    """
    from linker import files
    from linker.encoders.words import WordVectors
    from linker.training.plan import WORDS

    if options.words:
        return dataclasses.replace(plan, words=WordVectors.read(options.words))
    if not options.texts:
        return plan
    kept, chosen = checkpoints / WORDS, plan.options.words
    sources = [source.sha256 for source in dictionary.sources]
    hashes = [files.fingerprint(text) for text in options.texts]
    provenance = json.dumps([dataclasses.asdict(chosen), hashes, sources])
    if kept.exists() and WordVectors.provenance_of(kept) == provenance:
        return dataclasses.replace(plan, words=WordVectors.read(kept))
    vectors = trained(options.texts, dictionary, chosen, options.on_error)
    if os.environ.get("RANK", "0") == "0":
        vectors.save(kept, provenance)
    return dataclasses.replace(plan, words=vectors)
