"""linker words: word vectors for the encoders that start from words."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common, progress, settings
from linker.cli.reading import Reading, dicts_option, reading_options

if TYPE_CHECKING:
    from linker.dictionary import Dictionary
    from linker.encoders.word_training import WordsOptions
    from linker.encoders.words import WordVectors
    from linker.errors import OnError
    from linker.training.plan import TrainingPlan

_output_option = click.option(
    "-o", "--output", required=True, metavar="DIR", help="Folder to write."
)


@click.group()
def words() -> None:
    """Word vectors, for the encoders that start from words: linker train --encoder dan --words
    DIR.
    """


@words.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@dicts_option()
@reading_options
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="words.FIELD=VALUE",
    help="One option, e.g. words.dim=300.",
)
@common.on_error_option
@_output_option
@common.logs
def train(
    texts: tuple[str, ...],
    dicts: tuple[str, ...],
    changes: tuple[str, ...],
    on_error: str,
    output: str,
    reading: Reading,
) -> None:
    """Train word vectors on text files, one document a line, plain or .gz.

    The names of a dictionary are text too. With --set words.tokens=names or =concepts its names, or
    names and concepts, that stand in the texts get vectors of their own.
    """
    from linker import persistence

    if others_set := [change for change in changes if not change.strip().startswith("words.")]:
        raise click.UsageError(
            f"--set {others_set[0]}: "
            "only the options of word vectors (words.FIELD) mean something here"
        )
    options = settings.read("default", None, [], changes).words
    if options.tokens != "words" and not dicts:
        raise click.UsageError(
            f"--set words.tokens={options.tokens} finds names of a dictionary in the texts; "
            "name it with --dict"
        )
    persistence.check_replaceable(output)
    handle = common.handler(on_error)
    dictionary = reading.read(dicts, handle) if dicts else None
    vectors = trained(texts, dictionary, options, handle)
    common.say_skipped(handle)
    _save(vectors, output)


@words.command()
@click.argument("file", metavar="FILE")
@dicts_option()
@reading_options
@click.option(
    "--frequent",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --dict: keep the words of its names and the N first of the file. [default: 20000]",
)
@common.on_error_option
@_output_option
@common.logs
def convert(
    file: str,
    dicts: tuple[str, ...],
    frequent: int | None,
    on_error: str,
    output: str,
    reading: Reading,
) -> None:
    """Turn a word2vec file (text or binary) or a fastText .bin into a folder that is
    memory-mapped.
    """
    from linker import persistence
    from linker.encoders.words import FREQUENT, WordVectors

    if frequent is not None and not dicts:
        raise click.UsageError("--frequent goes with --dict, whose words are kept in any case")
    persistence.check_replaceable(output)
    dictionary = reading.read(dicts, common.handler(on_error)) if dicts else None
    vectors = WordVectors.read(file)
    if dictionary is not None:
        vectors = vectors.pruned(dictionary.names, FREQUENT if frequent is None else frequent)
    _save(vectors, output)


def _save(vectors: WordVectors, folder: str) -> None:
    vectors.save(folder)
    common.say(f"words: {folder} ({len(vectors.words):,} words, {vectors.dim} components)")


def trained(
    texts: Iterable[str], dictionary: Dictionary | None, options: WordsOptions, on_error: OnError
) -> WordVectors:
    """Train word vectors on text files, and on the names of a dictionary if there is one."""
    from linker.encoders.word_training import dictionary_names, marked, read_texts, train
    from linker.encoders.words import tokens

    shown = progress.Progress()
    sentences = [
        words
        for path in texts
        for words in _counted(read_texts([path], on_error), f"reading {path}", shown)
    ]
    if dictionary is not None:
        names = dictionary_names(dictionary)
        if options.tokens != "words":
            counted = _counted(sentences, "finding names of the dictionary in the texts", shown)
            sentences = list(marked(counted, names, options.tokens))
        sentences += map(tokens, names)
    common.say(f"training word vectors on {len(sentences):,} lines")
    return train(sentences, options, shown.on_activity)


def _counted(
    sentences: Iterable[list[str]], what: str, shown: progress.Progress
) -> Iterator[list[str]]:
    """Pass sentences on; say what is done with them, and each minute how many there were."""
    from linker.types import Activity

    common.say(what)
    shown.on_activity(Activity(what))
    for number, words in enumerate(sentences, 1):
        if number % 1000 == 0:
            shown.on_activity(Activity(what, None, f"{number:,} lines"))
        yield words


def for_training(
    plan: TrainingPlan,
    path: str | None,
    texts: Sequence[str],
    dictionary: Dictionary,
    checkpoints: Path,
    on_error: OnError,
) -> TrainingPlan:
    """The plan with the word vectors of --words, or with some that are trained on --text.

    Trained ones are kept among the checkpoints, so that --resume finds them.
    """
    from linker import files
    from linker.encoders.words import WordVectors
    from linker.training.settings import WORDS

    if path:
        return dataclasses.replace(plan, words=WordVectors.read(path))
    if not texts:
        return plan
    kept, options = checkpoints / WORDS, plan.options.words
    sources = [source.sha256 for source in dictionary.sources]
    hashes = [files.fingerprint(text) for text in texts]
    provenance = json.dumps([dataclasses.asdict(options), hashes, sources])
    if kept.exists() and WordVectors.provenance_of(kept) == provenance:
        return dataclasses.replace(plan, words=WordVectors.read(kept))
    vectors = trained(texts, dictionary, options, on_error)
    if os.environ.get("RANK", "0") == "0":
        vectors.save(kept, provenance)
    return dataclasses.replace(plan, words=vectors)
