"""linker explain: why a mention is linked to a concept, and why not to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from linker.cli import common

if TYPE_CHECKING:
    from linker.types import Document, Selection


@click.command()
@click.argument("mention")
@common.model_option
@click.option("--concept", metavar="ID", help="Also say why this concept is not the first.")
@click.option(
    "--document",
    "path",
    metavar="FILE",
    help="Text (-: standard input), PubTator or BioC with one document, which defines the short "
    "forms of the mention.",
)
@click.option(
    "-k",
    default=5,
    show_default=True,
    type=click.IntRange(1, common.MOST),
    help="Concepts to explain for each part of the mention.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    show_default=True,
    help="html: a piece of a page, without a script.",
)
@common.selection_options
@common.decisions_option("Decisions that win over the model; see linker decide.")
@common.logs
def explain(
    mention: str,
    model: str,
    concept: str | None,
    path: str | None,
    k: int,
    form: str,
    within: Selection,
    decisions: str | None,
) -> None:
    """Say why MENTION is linked as it is.

    Shown are the ways to read it, the names that were matched, what their scores are made of, the
    place in the hierarchy, the runners-up, and what the confidence rests on.
    """
    from linker.decisions.applying import Decided
    from linker.linking.linker import Linker
    from linker.outputs import explanation as faces
    from linker.outputs import explanation_html

    mention = mention.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    document = _document(path) if path else None
    linker = Linker.load(model).restricted(within)
    if decided := Decided.of_file(decisions, linker):
        explained = decided.explain(mention, concept, document, k)
    else:
        explained = linker.explain(mention, concept=concept, document=document, k=k)
    with common.stdout() as file:
        if form == "json":
            file.write(faces.to_json(explained) + "\n")
        elif form == "html":
            file.write(explanation_html.to_html(explained) + "\n")
        else:
            file.write(faces.to_text(explained))


def _document(path: str) -> Document:
    """The one document of a file; a file in no format of documents is a text.

    Raises:
        LinkerError: the file cannot be read, or holds several documents or loose mentions.
    """
    from linker.errors import InputError
    from linker.readers import mentions as readers
    from linker.readers import text
    from linker.types import Document

    kind = readers.detect(path)
    if kind not in ("pubtator", "bioc", "concept", "jsonl"):
        return next(text.read(path))
    documents = [item for item in readers.read(path, kind) if isinstance(item, Document)]
    if len(documents) != 1:
        raise InputError(
            path,
            f"holds {len(documents):,} documents",
            expected="a text, or PubTator or BioC with one document",
        )
    return documents[0]
