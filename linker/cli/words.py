"""linker words: word vectors for the encoders that start from words."""

from __future__ import annotations

from types import SimpleNamespace

import click

from linker.cli import common
from linker.cli import options as o
from linker.cli.progress import Progress
from linker.encoders.words import (
    FREQUENT,
    WordVectors,
    dictionary_names,
    marked,
    read_texts,
    tokens,
)
from linker.encoders.words import train as train_words
from linker.io import persistence


@click.group()
def words() -> None:
    """Train word vectors, or convert those of others.

    The encoders that start from words take them: linker train --encoder dan --words DIR.
    """


_OUTPUT = o.folder("Folder to write.", required=True)


@o.command(
    words,
    texts=o.argument("TEXT...", nargs=-1, required=True),
    dicts=o.DICTS,
    **o.READING,
    preset=o.PRESET,
    changes=o.CHANGES,
    on_error=o.ON_ERROR,
    output=_OUTPUT,
)
def train(options: SimpleNamespace) -> None:
    """Train word vectors on text files, one document a line, plain or .gz.

    The names of a dictionary are text too. With --set words.tokens=concepts its names and concepts
    that stand in the texts get vectors of their own.
    """
    dicts, changes = options.dicts, o.of_group(options.changes, "words")
    chosen = o.training_options(options.preset, changes).words
    if chosen.tokens != "words" and not dicts:
        raise click.UsageError(
            f"--set words.tokens={chosen.tokens} finds names of a dictionary in the texts; "
            "name it with --dict"
        )
    persistence.check_replaceable(options.output)
    dictionary = o.read_dictionary(dicts, options) if dicts else None
    sentences = list(read_texts(options.texts, options.on_error))
    if dictionary is not None:
        names = dictionary_names(dictionary)
        if chosen.tokens != "words":
            sentences = list(marked(sentences, names))
        sentences += map(tokens, names)
    common.say(f"training word vectors on {len(sentences):,} lines")
    progress = Progress()
    try:
        vectors = train_words(sentences, chosen, progress.show)
    finally:
        progress.close()
    _save(vectors, options.output)


@o.command(
    words,
    file=o.argument("FILE"),
    dicts=o.DICTS,
    **o.READING,
    on_error=o.ON_ERROR,
    output=_OUTPUT,
)
def convert(options: SimpleNamespace) -> None:
    """Turn a word2vec file (text or binary) or a fastText .bin into a folder that is
    memory-mapped.

    With --dict only the words of its names and the 20,000 first of the file are kept.
    """
    persistence.check_replaceable(options.output)
    dictionary = o.read_dictionary(options.dicts, options) if options.dicts else None
    vectors = WordVectors.read(options.file)
    if dictionary is not None:
        vectors = vectors.pruned(dictionary.names, FREQUENT)
    _save(vectors, options.output)


def _save(vectors: WordVectors, folder: str) -> None:
    vectors.save(folder)
    common.say(f"words: {folder} ({len(vectors.words):,} words, {vectors.dim} components)")
