"""Documents with their predictions as BioC XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import bioc
from bioc.biocxml.encoder import encode_document
from lxml import etree  # type: ignore[import-untyped]

from linker.ids import format_gold
from linker.outputs import (
    DECISION,
    Layout,
    assertion_of,
    decimals,
    decisions_text,
    joined_ids,
    paired,
    rejected_id,
    source_of,
    with_text,
)
from linker.types import Document, Mention, Passage, Prediction, Relation

FOOTER = "</collection>\n"
# characters that XML cannot hold
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RESERVED = ("bioc:", "pubtator:", "concept:")  # metadata that are not infons
_OF_ANSWERS = ("score", "confidence", "rejected", "state", "decisions")


def header(first: Document | None, layout: Layout) -> str:
    """The beginning of a BioC collection, whose own fields are those of the first document."""
    metadata = first.metadata if first else {}
    lines = [
        f"<{tag}>{escape(_clean(metadata.get(f'bioc:{tag}', '')))}</{tag}>\n"
        for tag in ("source", "date", "key")
    ]
    for name, value in metadata.items():
        if name.startswith("bioc:infon:"):
            key = quoteattr(_clean(name.removeprefix("bioc:infon:")))
            lines.append(f"<infon key={key}>{escape(_clean(value))}</infon>\n")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<collection>\n{"".join(lines)}'


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A document as read, with infons on each predicted mention.

    `identifier` has the best id of each part, joined by `|` (-1: no concept). `score` has their
    scores with 4 decimals (`-` for a part without a concept), and is absent if no part has one.
    Where another vocabulary lent a matched name, `source` has the file of each part in the same way
    (`-` for a name of the dictionary's own). `confidence` has the probability that each id is
    right, also with 4 decimals; for a part without a concept it is that of the best candidate,
    whose id is in `rejected` (`-` for a part with a concept). `assertion` is what the text says of
    each part (`-`: it is present). Each is absent if all of it would be `-`. `state` is what people
    said of the mention, "model" where nobody did, and `decisions` has what they decided, as JSON.
    Sentences, relations and other infons stand as they were read. A character that XML cannot hold
    becomes a blank. For the arguments see `linker.outputs.Writer`.

    Raises:
        LinkerError: there is no document, or it has no text.
    """
    document = with_text(document, "bioc")
    result, holders = _document(document)
    for i, (mention, prediction) in enumerate(paired(document, predictions)):
        place = _place(mention, document, holders)
        holders[place].add_annotation(_annotation(mention, prediction, str(i)))
    text: str = etree.tostring(encode_document(result), encoding="unicode")
    return text + "\n"


def _document(document: Document) -> tuple[Any, dict[str, Any]]:
    """A document without annotations, and what may hold these by the names of their places."""
    result = bioc.BioCDocument()
    result.id, result.infons = _clean(document.id), _infons(document.metadata)
    holders: dict[str, Any] = {"": result}
    for i, passage in enumerate(document.passages):
        holders[str(i)] = _passage(passage)
        result.add_passage(holders[str(i)])
        holders |= {f"{i}.{j}": sentence for j, sentence in enumerate(holders[str(i)].sentences)}
    for i, relation in enumerate(document.relations):
        place = relation.metadata.get("bioc:in", "")
        holders[place if place in holders else ""].add_relation(_relation(relation, f"R{i}"))
    return result, holders


def _place(mention: Mention, document: Document, holders: Mapping[str, Any]) -> str:
    """Where a mention stood when read, else the passage that it begins in, else the document."""
    place = mention.metadata.get("bioc:in")
    if place in holders:
        return str(place)
    start = mention.spans[0][0] if mention.spans else -1
    inside = (
        str(i)
        for i, p in enumerate(document.passages)
        if p.offset <= start < p.offset + len(p.text)
    )
    return next(inside, "")


def _passage(passage: Passage) -> Any:
    result = bioc.BioCPassage()
    result.offset, result.infons = passage.offset, _infons(passage.metadata)
    text = _clean(passage.text)
    sentences = json.loads(passage.metadata.get("bioc:sentences", "[]"))
    for offset, length, infons in sentences:
        start = offset - passage.offset
        sentence = bioc.BioCSentence.of_text(text[start : start + length], offset)
        sentence.infons = _infons(infons)
        result.add_sentence(sentence)
    if not sentences:
        result.text = text
    return result


def _annotation(mention: Mention, prediction: Prediction | None, number: str) -> Any:
    result = bioc.BioCAnnotation()
    result.id, result.text = _clean(mention.annotation_id or number), _clean(mention.text)
    result.infons = _infons(mention.metadata)
    if mention.type:
        result.infons["type"] = _clean(mention.type)
    for start, end in mention.spans:
        result.add_location(bioc.BioCLocation(start, end - start))
    if prediction is not None:
        if "confidence" in result.infons:  # else it is the file's own
            result.infons.pop("assertion", None)
        for key in _OF_ANSWERS:
            result.infons.pop(key, None)  # of an earlier answer
        if DECISION in result.infons.get("source", "").split("|"):
            del result.infons["source"]  # which may also be the file's own
        result.infons |= {"identifier": joined_ids(prediction), **_answer(prediction)}
    elif mention.gold is not None and "bioc:in" not in mention.metadata:
        result.infons["identifier"] = format_gold(mention.gold)
    return result


def _answer(prediction: Prediction) -> dict[str, str]:
    """The infons of an answer beside its ids: mostly a value for each part, joined by `|`."""
    parts = prediction.parts
    values = {
        "score": [decimals(part.best.score) if part.best else "" for part in parts],
        "source": [source_of(prediction, part) for part in parts],
        "confidence": [decimals(part.confidence) for part in parts],
        "rejected": [rejected_id(part) for part in parts],
        "assertion": [assertion_of(part) for part in parts],
    }
    infons = {
        key: _clean("|".join(value or "-" for value in of_parts))
        for key, of_parts in values.items()
        if any(of_parts) or key == "confidence"  # by which readers know an answer of linker
    }
    infons["state"] = prediction.state
    if prediction.decisions:
        infons["decisions"] = _clean(decisions_text(prediction.decisions))
    return infons


def _relation(relation: Relation, number: str) -> Any:
    result = bioc.BioCRelation()
    result.id, result.infons = _clean(relation.id or number), _infons(relation.metadata)
    if relation.type:
        result.infons["type"] = _clean(relation.type)
    for role, identifier in relation.arguments:
        result.add_node(bioc.BioCNode(_clean(identifier), _clean(role)))
    return result


def _infons(metadata: Mapping[str, str]) -> dict[str, str]:
    return {
        _clean(key): _clean(value)
        for key, value in metadata.items()
        if not key.startswith(_RESERVED)
    }


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(" ", text)
