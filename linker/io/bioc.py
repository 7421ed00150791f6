"""BioC, XML and JSON.

These metadata are reserved for writing the same structure again; all others are infons:

- `bioc:in` of a mention or relation: the number of its passage; empty for the document;
- `bioc:source`, `bioc:date`, `bioc:key` and `bioc:infon:…` of a document: the fields of its
  collection.

What stands in a sentence is read as if it stood in its passage.

The infons `linker:under`, `linker:not_under`, `linker:types` and `linker:namespaces` of a document
or an annotation are lists with commas: the `Selection` that it is linked within.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO
from xml.sax.saxutils import escape, quoteattr

import bioc
from bioc import biocjson, biocxml
from bioc.biocxml.encoder import encode_document
from lxml import etree  # type: ignore[import-untyped]

from linker.errors import InputError, OnError, RecordError, stop
from linker.ids import Identify, curie, format_gold, normalized, not_known, parse_gold
from linker.io import files
from linker.io.files import Pathlike, open_binary, parse_json, reading
from linker.io.outputs import (
    DECISION,
    INFONS,
    Layout,
    decisions_text,
    joined_ids,
    paired,
    with_text,
)
from linker.io.parsing import (
    check_spans,
    elements,
    is_guess,
    parse_each,
    parse_selection,
    parsing,
    pieces_at,
)
from linker.records import (
    SELECTION,
    Document,
    Mention,
    Passage,
    Prediction,
    Relation,
    Selection,
    check_offsets,
)

FOOTER = "</collection>\n"
# characters that XML cannot hold
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RESERVED = ("bioc:", "pubtator:", "concept:")  # metadata that are not infons
_OF_ANSWERS = {*(field.name for field in INFONS), "state", "decisions"} - {"source", "assertion"}
# infons of ids; the first that is there counts
_IDENTIFIERS = ("identifier", "MESH", "concept_id", "Identifier")
_FIELDS = ("source", "date", "key")  # of a collection
_DOCUMENTS = ("documents", "PubTator3")  # the lists of a collection, and of an export of PubTator
_NESTED = ("passages", "sentences", "annotations", "relations")
# what PubTator leaves out, or writes as null, where it is empty
_EMPTY = dict.fromkeys((*_NESTED, "locations", "nodes"), ()) | {"id": "", "text": "", "infons": {}}
_EXPECTED = (
    "BioC: a document with an id, passages with offsets, "
    "annotations with an id, a text and locations"
)

_RawDocument = tuple[dict[str, str], Any, bool]
"""The fields of the collection of a document, itself, as XML or JSON, and whether PubTator exported
it."""


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Document]:
    """Yield the documents of BioC; XML is read document by document, a collection in JSON at once.

    An export of PubTator is read, too: `{"PubTator3": […]}`, or a document a line. It normalises
    the texts of annotations (TNF-a for TNF-α), so that the text at their offsets counts.

    Gold ids come from the infon `identifier`, `MESH`, `concept_id` or `Identifier`; without any, a
    mention is not annotated, nor is one whose ids linker wrote and no person confirmed, see
    `records.is_guess`. External entities of XML are never resolved. A damaged file stops the
    reading whatever `on_error` does.

    Raises:
        InputError: the file is not XML or JSON, or not BioC.
    """
    with open_binary(path) as file, reading(path):
        if not (start := file.peek()):
            return
        is_json = start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"
        raw = _json(path, file, on_error) if is_json else _xml(path, file)

        def parse(line: int, of: _RawDocument) -> Document:
            def skip(error: RecordError) -> None:
                on_error(error.at(path, line))

            return _document(*of, skip, identify)

        yield from parse_each(path, raw, parse, on_error, expected=_EXPECTED)


def _xml(path: Pathlike, file: BinaryIO) -> Iterator[tuple[int, _RawDocument]]:
    """Yield the documents of a collection as they are complete; one at a time is in memory."""
    for element in elements(path, file, "BioC", "collection", "document"):
        parent = element.getparent()
        fields = {key: parent.findtext(key) for key in _FIELDS}
        infons = {infon.get("key"): infon.text or "" for infon in parent.findall("infon")}
        yield element.sourceline, (_collection(fields, infons), element, False)


def _json(path: Pathlike, file: BinaryIO, on_error: OnError) -> Iterator[tuple[int, _RawDocument]]:
    """Yield the documents of the file, which is an object, or has one in each line."""
    content = file.read(files.WHOLE + 1)
    files.check_size(path, len(content))
    content = content.removeprefix(codecs.BOM_UTF8)
    lines = [(n, line) for n, line in enumerate(content.splitlines(), 1) if line.strip()]
    with contextlib.suppress(ValueError):
        parse_json(lines[0][1])  # else the first line is no object
        content = b""
    for number, text in lines if not content else [(1, content)]:
        try:
            with parsing(path, "BioC JSON", None if content else number):
                value = parse_json(text)
                name = next((name for name in _DOCUMENTS if name in value), None)
                documents = value[name] if name else [value] if "passages" in value else None
                if not isinstance(documents, list):
                    raise ValueError("it has no list of documents")
        except InputError as error:
            if content:
                raise
            on_error(error)
            continue
        infons = value.get("infons")
        kept = _collection(value, _infons(infons) if isinstance(infons, dict) else {})
        is_export = name != "documents"
        for document in documents:
            yield number, ({} if is_export else kept, document, is_export)


def _collection(fields: Mapping[str, Any], infons: Mapping[str, str]) -> dict[str, str]:
    """What is kept of a collection with each of its documents."""
    kept = {f"bioc:{key}": str(fields[key]) for key in _FIELDS if fields.get(key)}
    return kept | {f"bioc:infon:{key}": value for key, value in infons.items()}


def _parsed(document: Any, is_export: bool) -> Any:
    """A document of the package bioc."""
    if isinstance(document, etree._Element):
        # alone, a document has no DTD: an entity that was not resolved is an error here
        text = etree.tostring(document, encoding="unicode", with_tail=False)
        return biocxml.loads(f"<collection>{text}</collection>").documents[0]
    if is_export:
        identifier = document.get("id") or document.get("pmid") or document.get("_id", "")
        document = _filled(document) | {"id": str(identifier).partition("|")[0]}
    return biocjson.fromJSON(document, "BioCDocument")


def _filled(value: dict[str, Any]) -> dict[str, Any]:
    """An object of an export with all that BioC has."""
    filled = {**_EMPTY, **{key: part for key, part in value.items() if part is not None}}
    return filled | {key: [_filled(inner) for inner in filled[key]] for key in _NESTED}


def _document(
    collection: dict[str, str],
    document: Any,
    is_export: bool,
    skip: Callable[[RecordError], None],
    identify: Identify,
) -> Document:
    raw = _parsed(document, is_export)
    if not raw.id:
        raise ValueError("the document has no id")
    owner = Document(
        str(raw.id), tuple(_passage(*numbered) for numbered in enumerate(raw.passages, 1))
    )
    _check_order(owner.passages, "passage")
    text = owner.text
    mentions, relations = [], []
    for place, holder in _holders(raw):
        relations += [_relation(relation, place) for relation in holder.relations]
        for annotation in holder.annotations:
            mention = _mention(annotation, place, owner.id, text, identify)
            if is_export and (pieces := pieces_at(mention.spans, text)):
                mention = replace(mention, text=" ".join(pieces))
            try:
                if mention.spans:
                    check_spans(mention.text, mention.spans, text, owner=owner.id)
                mentions.append(mention)
            except RecordError as error:
                skip(error)
    infons = _infons(raw.infons)
    annotated = owner.id, owner.passages, tuple(mentions), tuple(relations)
    return Document(*annotated, infons | collection, _selection(infons))


def _holders(raw: Any) -> Iterator[tuple[str, Any]]:
    """Yield the document, its passages and their sentences, each with its place (`bioc:in`)."""
    yield "", raw
    for i, passage in enumerate(raw.passages):
        yield from ((str(i), holder) for holder in (passage, *passage.sentences))


def _passage(number: int, raw: Any) -> Passage:
    metadata, offset = _infons(raw.infons), _whole(raw.offset)
    sentences = tuple(Passage(s.text or "", _whole(s.offset) - offset) for s in raw.sentences)
    _check_order(sentences, f"in passage {number}, counted from its start, sentence")
    return Passage(raw.text or Document("", sentences).text, offset, metadata)


def _check_order(passages: Sequence[Passage], what: str) -> None:
    """Check that offsets are possible and rise from text to text; texts may overlap in part."""
    check_offsets(passages, what)
    offsets = [passage.offset for passage in passages if passage.text]
    if sorted(set(offsets)) != offsets:
        raise ValueError(f"the offsets of texts do not rise, {what} by {what}: {offsets}")


def _whole(value: Any) -> int:
    """Convert to a whole number; JSON files may have it as a text."""
    if isinstance(value, float | bool):
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def _mention(raw: Any, place: str, owner: str, text: str, identify: Identify) -> Mention:
    infons = _infons(raw.infons)
    places = [(_whole(location.offset), _whole(location.length)) for location in raw.locations]
    spans = tuple((start, start + length) for start, length in places)
    name = raw.text or " ".join(pieces_at(spans, text))
    if not isinstance(name, str):
        raise ValueError(f"the text of annotation {raw.id} is {name!r}")
    key = next((key for key in _IDENTIFIERS if key in infons), None)
    spell = curie if key == "MESH" else normalized  # a key that says which ids are bare
    is_annotated = key is not None and not is_guess(infons.get("state", "").lower())
    gold = parse_gold(infons[key], identify, spell) if key and is_annotated else None
    kind, metadata = infons.get("type", ""), infons | {"bioc:in": place}
    within = _selection(infons)
    return Mention(name, spans, gold, kind, owner, str(raw.id or ""), metadata, within)


def _selection(infons: Mapping[str, str]) -> Selection | None:
    """The selection that a document or a mention is linked within."""
    keys = {name: f"linker:{name}" for name in SELECTION}
    return parse_selection(
        {name: infons[key].split(",") for name, key in keys.items() if key in infons}
    )


def _relation(raw: Any, place: str) -> Relation:
    infons = _infons(raw.infons)
    nodes = tuple((str(node.role or ""), str(node.refid or "")) for node in raw.nodes)
    return Relation(infons.get("type", ""), nodes, str(raw.id or ""), infons | {"bioc:in": place})


def _infons(raw: Any) -> dict[str, str]:
    """Infons as texts; JSON files have numbers, lists and nulls among them."""
    values = {str(key): "" if value is None else value for key, value in (raw or {}).items()}
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in values.items()
    }


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

    `identifier` has the best id of each part, joined by `|` (-1: no concept). The infons of
    `outputs.INFONS` have the values of the parts in the same way (`-`: none), and are absent if all
    of them would be `-`. `state` is what people said of the mention, "model" where nobody did, and
    `decisions` has what they decided, as JSON.
    Relations and other infons stand as they were read. A character that XML cannot hold
    becomes a blank. For the arguments see `linker.io.outputs.Writer`.

    Raises:
        LinkerError: there is no document, or it has no text.
    """
    document = with_text(document, "bioc")
    result, holders = _written_document(document)
    for i, (mention, prediction) in enumerate(paired(document, predictions)):
        place = _place(mention, document, holders)
        holders[place].add_annotation(_annotation(mention, prediction, str(i)))
    text: str = etree.tostring(encode_document(result), encoding="unicode")
    return text + "\n"


def _written_document(document: Document) -> tuple[Any, dict[str, Any]]:
    """A document without annotations, and what may hold these by the names of their places."""
    result = bioc.BioCDocument()
    result.id, result.infons = _clean(document.id), _written_infons(document.metadata)
    holders: dict[str, Any] = {"": result}
    for i, passage in enumerate(document.passages):
        holders[str(i)] = written = bioc.BioCPassage.of_text(_clean(passage.text), passage.offset)
        written.infons = _written_infons(passage.metadata)
        result.add_passage(written)
    for i, relation in enumerate(document.relations):
        place = relation.metadata.get("bioc:in", "")
        holders[place if place in holders else ""].add_relation(
            _written_relation(relation, f"R{i}")
        )
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


def _annotation(mention: Mention, prediction: Prediction | None, number: str) -> Any:
    result = bioc.BioCAnnotation()
    result.id, result.text = _clean(mention.annotation_id or number), _clean(mention.text)
    result.infons = _written_infons(mention.metadata)
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
    infons = {field.name: _clean(field.joined(prediction, "-")) for field in INFONS}
    # by the confidence readers know an answer of linker
    infons["confidence"] = infons["confidence"] or "|".join("-" for _ in prediction.parts)
    infons = {name: text for name, text in infons.items() if text}
    infons["state"] = prediction.written_state
    if prediction.decisions:
        infons["decisions"] = _clean(decisions_text(prediction.decisions))
    return infons


def _written_relation(relation: Relation, number: str) -> Any:
    result = bioc.BioCRelation()
    result.id, result.infons = _clean(relation.id or number), _written_infons(relation.metadata)
    if relation.type:
        result.infons["type"] = _clean(relation.type)
    for role, identifier in relation.arguments:
        result.add_node(bioc.BioCNode(_clean(identifier), _clean(role)))
    return result


def _written_infons(metadata: Mapping[str, str]) -> dict[str, str]:
    return {
        _clean(key): _clean(value)
        for key, value in metadata.items()
        if not key.startswith(_RESERVED)
    }


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(" ", text)
