"""What annotation tools share: the XML that they send, and an answer as they show it."""

from __future__ import annotations

from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from linker.errors import LinkerError, shorten
from linker.outputs import ASSERTED
from linker.types import Prediction


def parse(text: str, what: str) -> Any:
    """Parse XML that somebody else wrote, and return its root.

    Args:
        text: of the XML.
        what: it is, for messages.

    Raises:
        LinkerError: it is no XML, or declares a document type, which may name files to read, or
            entities that grow without end.
    """
    # whatever encoding it declares; entities are never replaced
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
        raise LinkerError(f"the {what} is no XML: {shorten(str(error), 200)}") from None
    if root.getroottree().docinfo.doctype:
        raise LinkerError(f"the {what} declares a document type (<!DOCTYPE); leave it out")
    return root


def names_of(prediction: Prediction) -> str:
    """The preferred names of an answer; empty without a concept.

    Behind each stands what the text says of it where that is not present: "Gout (denied)".
    """
    answered = [(part.best.name, part.assertion) for part in prediction.parts if part.best]
    return " | ".join(f"{name} ({ASSERTED[a]})" if a in ASSERTED else name for name, a in answered)
