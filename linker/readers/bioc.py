"""BioC, XML and JSON.

These metadata are reserved for writing the same structure again; all others are infons:

- `bioc:in` of a mention or relation: the number of its passage, and behind a point that of its
  sentence; empty for the document;
- `bioc:sentences` of a passage: offset, length and infons of each sentence;
- `bioc:source`, `bioc:date`, `bioc:key` and `bioc:infon:…` of a document: the fields of its
  collection.

The infons `linker:under`, `linker:not_under`, `linker:types` and `linker:namespaces` of a document
or an annotation are lists with commas: the `Selection` that it is linked within.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from bioc import biocjson, biocxml
from lxml import etree  # type: ignore[import-untyped]

from linker import files
from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike, check_whole, open_binary, parse_json, reading
from linker.ids import Identify, curie, normalized, not_known, parse_gold
from linker.readers.records import (
    check_spans,
    elements,
    is_guess,
    parse_selection,
    pieces_at,
)
from linker.types import SELECTION, Document, Mention, Passage, Relation, Selection, check_offsets

# infons of ids; the first that is there counts
_IDENTIFIERS = ("identifier", "MESH", "concept_id", "Identifier")
_FIELDS = ("source", "date", "key")  # of a collection
_NO_BIOC = (
    *(AttributeError, KeyError, TypeError, ValueError, RecursionError),
    etree.XMLSyntaxError,
)
_DOCUMENTS = ("documents", "PubTator3")  # the lists of a collection, and of an export of PubTator
_NESTED = ("passages", "sentences", "annotations", "relations")
# what PubTator leaves out, or writes as null, where it is empty
_EMPTY = dict.fromkeys((*_NESTED, "locations", "nodes"), ()) | {"id": "", "text": "", "infons": {}}
_EXPECTED = (
    "BioC: a document with an id, passages with offsets, "
    "annotations with an id, a text and locations"
)

_RawDocument = tuple[str, int | None, dict[str, str], Callable[[], Any], bool]
"""A document: its name for messages, line, fields of its collection, what parses it, and whether
PubTator exported it."""


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
        for name, line, collection, parse, is_export in raw:
            try:
                document = _document(path, line, parse(), collection, on_error, identify, is_export)
            except _NO_BIOC as error:
                reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                problem = f"document {name} is not BioC ({reason})"
                remedy = "mend it, or skip it with --on-error skip"
                on_error(InputError(path, problem, line=line, expected=_EXPECTED, remedy=remedy))
            else:
                yield document


def _xml(path: Pathlike, file: BinaryIO) -> Iterator[_RawDocument]:
    """Yield the documents of a collection as they are complete; one at a time is in memory."""
    for element in elements(path, file, "BioC", "collection", "document"):
        parent = element.getparent()
        name = element.findtext("id") or "without id"
        fields = {key: parent.findtext(key) for key in _FIELDS}
        infons = {infon.get("key"): infon.text or "" for infon in parent.findall("infon")}
        yield (
            name,
            element.sourceline,
            _collection(fields, infons),
            partial(_from_xml, element),
            False,
        )


def _collection(fields: Mapping[str, Any], infons: Mapping[str, str]) -> dict[str, str]:
    """What is kept of a collection with each of its documents."""
    kept = {f"bioc:{key}": str(fields[key]) for key in _FIELDS if fields.get(key)}
    return kept | {f"bioc:infon:{key}": value for key, value in infons.items()}


def _from_xml(element: Any) -> Any:
    # alone, a document has no DTD: an entity that was not resolved is an error here
    text = etree.tostring(element, encoding="unicode", with_tail=False)
    return biocxml.loads(f"<collection>{text}</collection>").documents[0]


def _json(path: Pathlike, file: BinaryIO, on_error: OnError) -> Iterator[_RawDocument]:
    for line, value in _objects(path, file, on_error):
        name = next((name for name in _DOCUMENTS if name in value), "")
        documents = value.get(name, [value] if "passages" in value else None)
        if not isinstance(documents, list):
            problem, remedy = "the JSON is no BioC: it has no list of documents", "name its format"
            on_error(InputError(path, problem, line=line, expected="BioC JSON", remedy=remedy))
            continue
        is_export, infons = name != "documents", value.get("infons")
        kept = _collection(value, _infons(infons) if isinstance(infons, dict) else {})
        for number, document in enumerate(documents, 1):
            parse = partial(_from_export if is_export else _from_json, document)
            yield str(number), line, {} if is_export else kept, parse, is_export


def _objects(
    path: Pathlike, file: BinaryIO, on_error: OnError
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the object that is the file, or the one of each line, with the number of the line."""
    most = files.WHOLE + 1
    lines = enumerate(iter(partial(file.readline, most), b""), 1)
    number, first = next((n, line) for n, line in lines if line.strip())
    check_whole(path, len(first))
    try:
        value = _object(first)
    except ValueError:
        content = b"\n" * (number - 1) + first + file.read(most)
        check_whole(path, len(content))
        try:
            yield None, _object(content)
        except ValueError as error:
            raise _broken(path, error, getattr(error, "lineno", None)) from None
        return
    yield number, value
    for number, line in lines:
        if line.strip():
            check_whole(path, len(line))
            try:
                value = _object(line)
            except ValueError as error:
                on_error(_broken(path, error, number))
            else:
                yield number, value


def _object(content: bytes) -> dict[str, Any]:
    value = parse_json(content.decode("utf-8-sig"))
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def _broken(path: Pathlike, error: Exception, line: int | None) -> InputError:
    return InputError(
        path,
        f"the JSON is broken ({error})",
        line=line,
        expected="BioC JSON",
        remedy="fetch or write the file again",
    )


def _from_json(document: Any) -> Any:
    return biocjson.fromJSON(document, "BioCDocument")


def _from_export(document: Any) -> Any:
    identifier = document.get("id") or document.get("pmid") or document.get("_id", "")
    return _from_json(_filled(document) | {"id": str(identifier).partition("|")[0]})


def _filled(value: dict[str, Any]) -> dict[str, Any]:
    """An object of an export with all that BioC has."""
    filled = {**_EMPTY, **{key: part for key, part in value.items() if part is not None}}
    return filled | {key: [_filled(inner) for inner in filled[key]] for key in _NESTED}


def _document(
    path: Pathlike,
    line: int | None,
    raw: Any,
    collection: dict[str, str],
    on_error: OnError,
    identify: Identify,
    is_export: bool,
) -> Document:
    if not raw.id:
        raise ValueError("it has no id")
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
                on_error(error.at(path, line))
    infons = _infons(raw.infons)
    annotated = owner.id, owner.passages, tuple(mentions), tuple(relations)
    return Document(*annotated, infons | collection, _selection(infons))


def _holders(raw: Any) -> Iterator[tuple[str, Any]]:
    """Yield the document, its passages and their sentences, each with its place (`bioc:in`)."""
    yield "", raw
    for i, passage in enumerate(raw.passages):
        yield str(i), passage
        for j, sentence in enumerate(passage.sentences):
            yield f"{i}.{j}", sentence


def _passage(number: int, raw: Any) -> Passage:
    metadata, offset = _infons(raw.infons), _whole(raw.offset)
    sentences = tuple(
        Passage(s.text or "", _whole(s.offset) - offset, _infons(s.infons)) for s in raw.sentences
    )
    _check_order(sentences, f"in passage {number}, counted from its start, sentence")
    if sentences:
        metadata["bioc:sentences"] = json.dumps(
            [[s.offset + offset, len(s.text), s.metadata] for s in sentences]
        )
    return Passage(raw.text or Document("", sentences).text, offset, metadata)


def _check_order(passages: Sequence[Passage], what: str) -> None:
    """Check that offsets are possible and rise from text to text; texts may overlap in part."""
    check_offsets(passages, what)
    last = -1
    for number, passage in enumerate(passages, 1):
        if passage.text and passage.offset <= last:
            raise ValueError(
                f"{what} {number} begins at character {passage.offset}, "
                f"not behind the one before it at {last}"
            )
        last = passage.offset if passage.text else last


def _whole(value: Any) -> int:
    """Convert to a whole number; JSON files may have it as a text."""
    if isinstance(value, float | bool):
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def _mention(raw: Any, place: str, owner: str, text: str, identify: Identify) -> Mention:
    infons = _infons(raw.infons)
    places = [(_whole(location.offset), _whole(location.length)) for location in raw.locations]
    spans = tuple((start, start + length) for start, length in places)
    if not raw.text and sum(abs(length) for _, length in places) > len(text):
        raise ValueError(
            f"annotation {raw.id} has no text, and its locations are longer than the document"
        )
    name = raw.text or " ".join(text[start:end] for start, end in spans)
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
