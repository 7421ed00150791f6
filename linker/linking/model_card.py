"""The model card: what is in a model folder, for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linker.linking.spans import SpanModel
from linker.ranker.ranker import Ranker
from linker.version import VERSION


def text(config: Mapping[str, Any], ranker: Ranker | None, spans: SpanModel | None) -> str:
    """The card of a model, in Markdown.

    Args:
        config: of the model folder: `encoder`, `dictionary`, `options`.
        ranker: of its candidates.
        spans: which names in texts are mentions.
    """
    taught = (
        f"learnt from {spans.documents:,} annotated documents"
        if spans
        else "chosen by rules, since no annotated documents were learnt"
    )
    dictionary = config["dictionary"]
    sources = "\n".join(
        f"- `{source['file']}` ({source['format']}"
        + (f", {source['release']}" if source["release"] else "")
        + f"): {source['concepts']:,} concepts"
        for source in dictionary["sources"]
    )
    return f"""# A model of linker

Links names of concepts, as people write them, to the identifiers of a dictionary.
Made by concept-linker {VERSION}; use it with `linker link MENTIONS --model FOLDER`.

## Dictionary

{dictionary["concepts"]:,} concepts, {dictionary["names"]:,} distinct names.

{sources}

## Encoder

`{config["encoder"]}`; its options are in `config.json`.

## Ranker

{ranker.described if ranker else "none: candidates stand in the order of their scores"}

## Mentions in texts

`linker annotate` finds names, and which of them are mentions is {taught}.
"""
