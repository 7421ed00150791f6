"""linker explain: why a mention is linked to a concept, and why not to another one."""

from __future__ import annotations

from types import SimpleNamespace

from linker.cli import common
from linker.cli import options as o
from linker.errors import InputError
from linker.io import mentions as readers
from linker.io.mentions import read_texts
from linker.linking.decided import Decided
from linker.linking.linker import Linker
from linker.records import Document, Selection


@o.command(
    mention=o.argument("MENTION"),
    concept=o.argument("[CONCEPT]", required=False),
    model=o.MODEL,
    document=o.option("The document that defines the short forms of the mention.", "FILE"),
    k=o.number(5, "Concepts to explain for each part of the mention.", flags="-k"),
    form=o.choice(("text", "json"), "json: every number, for programs.", flags="--format"),
    **o.WITHIN,
    decisions=o.DECISIONS,
)
def explain(options: SimpleNamespace) -> None:
    """Say why MENTION is linked as it is.

    Shown are the ways to read it, the names that were matched, what their scores are made of, the
    runners-up, and what the confidence rests on; with the id of a CONCEPT, also why that is not
    the first one. --document is a text ("-": standard input), or PubTator or BioC with one
    document.
    """
    document = _document(options.document) if options.document else None
    linker = Linker.load(options.model).restricted(o.picked(Selection, options))
    explanation = linker.explain(
        options.mention.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        concept=options.concept,
        document=document,
        k=options.k,
        decisions=Decided.of_file(options.decisions, linker),
    )
    with common.stdout() as file:
        file.write(explanation.to_json() + "\n" if options.form == "json" else str(explanation))


def _document(path: str) -> Document:
    """The one document of a file; a file in no format of documents is a text.

    Raises:
        LinkerError: the file cannot be read, or holds several documents or loose mentions.
    """
    kind = readers.detect(path)
    if kind not in ("pubtator", "bioc", "concept", "jsonl"):
        return next(read_texts(path))
    documents = [item for item in readers.read(path, kind) if isinstance(item, Document)]
    if len(documents) != 1:
        raise InputError(
            path,
            f"holds {len(documents):,} documents",
            expected="a text, or PubTator or BioC with one document",
        )
    return documents[0]
