"""Documents with their predictions as PubTator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from linker.errors import LinkerError
from linker.ids import format_gold
from linker.outputs import (
    BREAKS,
    Layout,
    decimals,
    decisions_text,
    joined_ids,
    paired,
    with_text,
)
from linker.types import Document, Mention, Part, Prediction, Relation

FOOTER = ""
_LINE_BREAKS = str.maketrans("\r\n\0", "   ")  # what cannot stand in a text


def header(first: Document | None, layout: Layout) -> str:
    """Nothing; see `linker.outputs.Writer`."""
    return ""


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A document, each mention with the best id of each part, joined by `|`.

    The id of no concept is -1. A seventh column has the confidence of the mention, or of several
    parts their texts with the confidence of each, joined by `|` (`-`: it has none), then what
    people said of the mention, "model" where nobody did, and what they decided, as JSON:
    "0.9312 model", "breast cancer (0.9312)|ovarian cancer (0.8807) open [{"mention": ...}]". An
    eighth column would be plainer, but other readers of the format refuse it. Whether the text
    denies what it names has no place in the format.
    Mentions without a prediction, relations and lines that were not understood stand as they
    were read. Line breaks and NUL in a text, and bars in an id, become blanks; a discontinuous
    mention is written as the stretch of text that covers it.
    For the arguments see `linker.outputs.Writer`.

    Raises:
        LinkerError: there is no document, or it has no text, or a mention has no span.
    """
    document = with_text(document, "pubtator")
    text = document.text.translate(_LINE_BREAKS)
    owner = document.id.translate(BREAKS).replace("|", " ")
    lines = [
        *_text_lines(document, owner, text),
        *("\t".join(_annotation(owner, *each, text)) for each in paired(document, predictions)),
        *("\t".join(_relation(owner, relation)) for relation in document.relations),
    ]
    if "pubtator:lines" in document.metadata:
        lines.append(document.metadata["pubtator:lines"])
    return "\n".join(lines) + "\n\n"


def _text_lines(document: Document, owner: str, text: str) -> Iterator[str]:
    """The first passage and the rest; the format puts one character between them."""
    passages = document.passages
    kinds = [passage.metadata.get("type") for passage in passages]
    first, second = "at" if kinds in (["abstract"], ["abstract", "title"]) else "ta"
    end = len(text)  # passages that touch go on one line, so that the offsets hold
    if len(passages) > 1 and passages[1].offset > passages[0].offset + len(passages[0].text):
        end = passages[1].offset - 1
    yield f"{owner}|{first}|{text[:end]}"
    if end < len(text):
        yield f"{owner}|{second}|{text[end + 1 :]}"


def _annotation(
    owner: str, mention: Mention, prediction: Prediction | None, text: str
) -> list[str]:
    if not mention.spans:
        raise LinkerError(
            f"document {owner}: the mention {mention.text!r} has no span, which pubtator needs; "
            "choose bioc or jsonl"
        )
    start, end = min(start for start, _ in mention.spans), max(end for _, end in mention.spans)
    name = mention.text if len(mention.spans) == 1 else text[start:end]
    columns = [owner, str(start), str(end), name.translate(BREAKS), mention.type.translate(BREAKS)]
    if prediction is not None:
        texts = [_confidences(prediction.parts), prediction.state]
        if prediction.decisions:
            texts.append(decisions_text(prediction.decisions).translate(BREAKS))
        return [*columns, joined_ids(prediction), " ".join(filter(None, texts))]
    metadata = mention.metadata
    read = [metadata[key] for key in ("pubtator:id", "pubtator:parts") if key in metadata]
    if not read and mention.gold is not None:
        read = [format_gold(mention.gold)]
    return columns + read


def _confidences(parts: Sequence[Part]) -> str:
    """How the seventh column begins; empty for one part without a confidence."""
    shares = [decimals(part.confidence) for part in parts]
    if len(parts) == 1:
        return shares[0]
    texts = [part.text.translate(BREAKS) for part in parts]
    return "|".join(f"{text} ({share or '-'})" for text, share in zip(texts, shares, strict=True))


def _relation(owner: str, relation: Relation) -> list[str]:
    arguments = [identifier.translate(BREAKS) for _, identifier in relation.arguments]
    columns = [owner, relation.type.translate(BREAKS), *arguments]
    more = relation.metadata.get("pubtator:columns")
    return columns if more is None else [*columns, more]
