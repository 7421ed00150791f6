"""Mappings in SSSOM's TSV format: between vocabularies they are read, from mentions written.

A mention has no id: it is a literal subject, whose label is the mention. Comments above the table
hold the metadata: the prefixes of ids, the dictionary and its release.

A comment of metadata may stand above the header. The columns `subject_id`, `predicate_id` and
`object_id` are needed, unless a type says that texts stand there, which have no id;
`subject_label`, `object_label`, `predicate_modifier`, `subject_type`, `object_type`,
`mapping_justification`, `mapping_tool` and `comment` are read where they are there, in any order,
and other columns are passed over.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, dropwhile
from typing import TextIO
from urllib.parse import quote, unquote

from linker.errors import InputError, OnError, RecordError, stop
from linker.ids import VOCABULARIES, namespace, normalized, of_prefix, part_ids
from linker.io.files import Pathlike, read_lines
from linker.io.outputs import BREAKS, Layout, ObjectSource, owner_of, spans_text, text_of
from linker.io.parsing import by_column, comments, numbered, parse_each
from linker.io.rows import TableRow, read_rows, titles_of
from linker.records import (
    IN_BULK,
    Candidate,
    Decision,
    Document,
    IdMapping,
    Part,
    Predicate,
    Prediction,
)
from linker.version import NAME, VERSION

logger = logging.getLogger(__name__)

_NEEDED = ("subject_id", "predicate_id", "object_id")
_METADATA = ("curie_map:", "mapping_set_id:")  # keys that every comment of metadata has
_VERSION = "mapping_set_version:"
_NOTHING = "sssom:NoTermFound"  # stands for an id where the other vocabulary has none
_LITERAL = "rdfs literal"  # the type of a subject or object that is a text without an id
COLUMNS = (
    *("subject_label", "predicate_id", "object_id", "object_label", "mapping_justification"),
    *("subject_type", "mapping_tool", "mapping_tool_version", "confidence", "comment"),
)
CURATED_COLUMNS = (
    *("subject_label", "predicate_id", "predicate_modifier", "object_id", "object_label"),
    *("mapping_justification", "author_label", "subject_type", "object_source_version"),
    *("mapping_date", "comment"),
)
MIXED_COLUMNS = (*CURATED_COLUMNS[:-1], *COLUMNS[-4:])
"""Of a file in which people decided about some mentions, and the model about others."""
PREDICATES: Mapping[Predicate, str] = {
    "": "skos:exactMatch",
    **{kind: f"skos:{kind}Match" for kind in ("broad", "narrow", "related")},
}
"""What SSSOM calls the predicates of decisions: the mention is the subject."""
_ONE, _ONE_OF_SEVERAL = PREDICATES[""], PREDICATES["related"]
_UNSPECIFIED = "semapv:UnspecifiedMatching"
_BY_HAND = "semapv:ManualMappingCuration"
_JUSTIFIED_IN_BULK = _UNSPECIFIED  # nobody looked at it, and how it matched is not kept
_LICENSE = "https://w3id.org/sssom/license/unspecified"
FOOTER = ""
_SETS = "https://w3id.org/sssom/mappings/"
_LOCAL = "local"  # the prefix of ids that have none, or one that is no name
_LOCAL_IRI = "http://local.invalid/"
_UNKNOWN = ObjectSource(
    prefixes=tuple(name for v in VOCABULARIES if v.iri for name in (v.prefix, *v.aliases))
)
_PREFIX = re.compile(r"(?!https?\Z|urn\Z|file\Z)[A-Za-z_][\w.-]*", re.ASCII)
_PLAIN = re.compile(  # what YAML reads as this very text without quotes
    r"(?!(?i:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z_](?:[\w./#%+-]|:(?=\S))*", re.ASCII
)
_CHARACTERS = re.compile(r", characters [\d;-]+\Z", re.ASCII)  # where a mention stands
# what stands in our comments of decisions that hold in one document only
_OF_ONE_DOCUMENT = re.compile(r"(?:\A|; )document ")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?=T|\Z| )", re.ASCII)


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines are metadata of mappings, or name the columns of mappings."""
    header = next((line for line in head if not line.startswith("#")), "")
    return ("\t" in header and not _absent(titles_of(header))) or any(
        line.startswith("#") and line.lstrip("# ").startswith(_METADATA) for line in head
    )


def _absent(columns: Sequence[str]) -> set[str]:
    """The columns that mappings need and that are not there.

    What a text without an id matches says the type in the place of the id.
    """
    replaced = {f"{name}_id" for name in ("subject", "object") if f"{name}_type" in columns}
    return {*_NEEDED} - {*columns} - replaced


def release(path: Pathlike) -> str:
    """The version of the mappings that the metadata states; empty where they state none."""
    stated = (line for line in comments(path) if line.startswith(_VERSION))
    return next(stated, "").removeprefix(_VERSION).strip().strip("\"'")


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[IdMapping]:
    """Yield the mappings of a file, in its order.

    Rows that say that two ids do not match, or that there is no match, are passed over. So are, and
    a warning counts them, rows without an id that do not call it a text, and texts that linker
    mapped and no person confirmed, or that are right in one document only.

    Raises:
        InputError: there is no header with the columns that are needed, or what `on_error` raises.
    """
    lines = read_lines(path, keep_ends=True, on_error=on_error)
    table = dropwhile(lambda line: line[1].startswith("#") or not line[1].strip(), lines)
    rows = read_rows(path, table, "\t", on_error)
    header = next(rows, None)
    columns = [cell.strip() for cell in header.cells] if header else []
    if _absent(columns) or len(set(columns)) < len(columns):
        raise InputError(
            path,
            "no line names the columns of mappings",
            line=header.number if header else None,
            value=header.line if header else None,
            expected=f"{', '.join(_NEEDED)}, each once and with tabs between them",
            remedy="name a file of mappings in SSSOM's TSV format",
        )

    is_ours = _is_ours(path)
    without: list[int] = []  # lines without an id
    unconfirmed: list[int] = []

    def parse(number: int, row: TableRow) -> IdMapping | None:
        cells = by_column(row, columns)
        mapping = _mapping(number, cells, row.line, is_ours)
        if mapping and mapping.is_literal:
            if not _is_text_of_an_id(mapping, cells):
                without.append(number)
                return None
            if not _is_confirmed(cells, is_ours):
                unconfirmed.append(number)
                return None
        return mapping

    yield from parse_each(path, numbered(rows), parse, on_error)
    for lines_left_out, what in (
        (without, "without an id"),
        (unconfirmed, "of linker, which no person confirmed, or for one document"),
    ):
        if lines_left_out:
            count = f"{len(lines_left_out):,} {what}, the first in line {lines_left_out[0]}"
            logger.warning("%s: rows that are left out: %s", path, count)


def concept_id(cell: str) -> str:
    """The id in a cell, without the prefix that we give to ids that have none; empty for none."""
    identifier = cell.strip()
    is_nothing = identifier.lower() == _NOTHING.lower()
    return "" if is_nothing else unquote(identifier.removeprefix("local:"))


def _is_ours(path: Pathlike) -> bool:
    """Whether linker wrote the mappings: their metadata declare the prefix that only we give."""
    return f"{_LOCAL}: {_LOCAL_IRI}" in map(str.strip, comments(path))


def _mapping(number: int, cells: Mapping[str, str], line: str, is_ours: bool) -> IdMapping | None:
    """The mapping of a row; None where the row says that there is none."""
    if cells["predicate_modifier"].lower() == "not":
        return None
    if not cells["predicate_id"]:
        expected = "such as skos:exactMatch"
        raise RecordError("the column 'predicate_id' is empty", line, expected=expected)
    if _NOTHING.lower() in (cells["subject_id"].lower(), cells["object_id"].lower()):
        return None
    return IdMapping(
        _id(cells, "subject", is_ours),
        cells["subject_label"],
        cells["predicate_id"],
        _id(cells, "object", is_ours),
        cells["object_label"],
        number,
    )


def _id(cells: Mapping[str, str], side: str, is_ours: bool) -> str:
    """The id of a side of a mapping; empty where it has none, or is a text."""
    cell = cells[f"{side}_id"].strip()
    if is_ours:
        cell = concept_id(cell)
    return "" if _is_text(cells, side) or cell.endswith(":") else normalized(cell)


def _is_text(cells: Mapping[str, str], side: str) -> bool:
    return cells[f"{side}_type"].lower() == _LITERAL


def _is_text_of_an_id(mapping: IdMapping, cells: Mapping[str, str]) -> bool:
    """Whether one side of a mapping is called a text and is one, and the other has an id."""
    if mapping.object_id:
        return _is_text(cells, "subject") and bool(mapping.subject_label)
    has_text = _is_text(cells, "object") and bool(mapping.object_label)
    return has_text and bool(mapping.subject_id)


def _is_confirmed(cells: Mapping[str, str], is_ours: bool) -> bool:
    """Whether what a text is mapped to is no guess of linker, and right in every document."""
    if is_ours and _OF_ONE_DOCUMENT.search(cells["comment"]):
        return False
    is_by_hand = cells["mapping_justification"] == _BY_HAND
    return is_by_hand or (cells["mapping_tool"] != NAME and IN_BULK not in cells["comment"])


def header(first: Document | None, layout: Layout) -> str:
    """The metadata and the names of the columns; see `linker.io.outputs.Writer`."""
    columns = MIXED_COLUMNS if layout.decisions else COLUMNS
    return _metadata(layout.vocabulary or _UNKNOWN) + text_of([columns])


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A mapping for each part of each mention: to its best concept, or to none.

    The predicate is `skos:exactMatch`; for a part of a composite mention, of which the whole
    means more than one concept, it is `skos:relatedMatch`, and the comment has the text of the
    part. A mention of one part with a broader concept is mapped to this, too, by `skos:broadMatch`.
    Any other part without a concept is mapped to `sssom:NoTermFound`; its confidence is the
    probability that the rejected candidate is wrong, which is the most that the probability of no
    concept can be. The comment also says where the mention stands.

    What the text denies, doubts, or says of the past or of a relative is left out: a mapping would
    say that "no gout" is gout.

    What people decided is written as `write_curated` does it, in place of the model's answer where
    they accepted a concept or none; so of a part, where they left others open. A part that is open
    and has no answer has the mappings of its rejected concepts alone, since nobody found that it
    has none.

    For the arguments see `linker.io.outputs.Writer`.
    """
    columns = MIXED_COLUMNS if layout.decisions else COLUMNS
    prefixes = (layout.vocabulary or _UNKNOWN).prefixes
    rows = chain.from_iterable(_rows(document, each, prefixes) for each in predictions)
    return text_of([row.get(column, "") for column in columns] for row in rows)


def write_curated(
    rows: Iterable[Decision],
    file: TextIO,
    *,
    name: Callable[[str], str] = lambda _: "",
    vocabulary: ObjectSource | None = None,
) -> None:
    """Write a mapping for each concept that people accepted or rejected.

    A rejected concept has the predicate modifier `Not`; a mention, or a part of one, that has no
    concept is mapped to `sssom:NoTermFound`, and a part that is open has no mapping. The predicate
    is what the person said; the whole is
    `skos:relatedMatch` to the concept of a part of it where that was just right. Whether a person
    called the concepts related says the comment, for one of them by "part 1 of 1".

    Args:
        rows: what was decided.
        file: where to write.
        name: gives the name of a concept id; empty for an unknown one.
        vocabulary: the dictionary.
    """
    rows = list(rows)
    ids: list[str] = []
    for row in rows:
        ids += filter(None, _written_ids(row))
    prefixes = tuple(dict.fromkeys(map(namespace, ids)))
    file.write(_metadata(ObjectSource(vocabulary.name if vocabulary else "", "", prefixes)))
    mappings = (cells for row in rows for cells in _curated_rows(row, prefixes, name))
    table = [[cells[column] for column in CURATED_COLUMNS] for cells in mappings]
    file.write(text_of([CURATED_COLUMNS, *table]))


def _curated_rows(
    row: Decision, prefixes: Sequence[str], name: Callable[[str], str], where: str = ""
) -> Iterator[dict[str, str]]:
    """The mappings of a decision: one for each concept that it names.

    Args:
        row: the decision.
        prefixes: those that are declared.
        name: gives the name of a concept id; empty for an unknown one.
        where: where the mention stands to which the decision was applied, for the comment.
    """
    ids = _written_ids(row)
    default: Predicate = "related" if len(ids) > 1 else ""
    match = _DATE.match(row.time)
    scope = f"document {row.scope}" if row.scope else ""
    if _CHARACTERS.search(scope):
        scope += ", characters -"  # so that who reads it cuts this, and not a part of the id
    # a value of a column of lists: bars and backslashes have a backslash before them
    author = re.sub(r"([\\|])", r"\\\1", row.reviewer.translate(BREAKS))
    for number, identifier in enumerate(ids, 1):
        if identifier is None:
            continue
        bulk = IN_BULK if row.bulk else ""  # by whom it does not say
        comment = (_place(number, len(ids), row.predicate), bulk, where, scope)
        yield {
            "subject_label": row.mention,
            "predicate_id": PREDICATES[row.predicate or default],
            "predicate_modifier": "" if row.accepted else "Not",
            "object_id": _curie(identifier, prefixes),
            "object_label": name(identifier) if identifier else "",
            "mapping_justification": _JUSTIFIED_IN_BULK if row.bulk else _BY_HAND,
            "author_label": "" if row.bulk else author,
            "subject_type": _LITERAL,
            "object_source_version": row.release,
            "mapping_date": match[0] if match else "",
            "comment": "; ".join(filter(None, comment)),
        }


def _written_ids(row: Decision) -> list[str | None]:
    """The ids of a decision; of a rejection as they were said, since nobody rejected what they
    stand for now."""
    return part_ids(row.concept_id if row.accepted else row.said or row.concept_id)


def _metadata(vocabulary: ObjectSource) -> str:
    """The metadata. The id of the set depends on them alone, so that it can be repeated."""
    declared = filter(_PREFIX.fullmatch, vocabulary.prefixes)
    iris = {p: of_prefix(p).iri or f"https://bioregistry.io/{p}:" for p in declared}
    iris[_LOCAL] = _LOCAL_IRI
    lines = ["curie_map:"]
    lines += [f"  {_scalar(prefix)}: {_scalar(iri)}" for prefix, iri in sorted(iris.items())]
    source = []
    if vocabulary.name:
        source.append(f"object_source: {_curie(vocabulary.name, ())}")
    if vocabulary.release:
        source.append(f"object_source_version: {_scalar(vocabulary.release)}")
    seed = "\n".join([*lines, *source, VERSION])
    lines.append(f"mapping_set_id: {_SETS}{uuid.uuid5(uuid.NAMESPACE_URL, seed)}")
    return "".join(f"#{line}\n" for line in (*lines, f"license: {_LICENSE}", *source))


def _rows(
    document: Document | None, prediction: Prediction, prefixes: Sequence[str]
) -> Iterator[dict[str, str]]:
    """The mappings of a mention, by the names of the columns."""
    candidates = [c for part in prediction.parts for c in (*part.candidates, part.rejected) if c]
    names = {candidate.concept_id: candidate.name for candidate in candidates}
    denied = {p.best.concept_id if p.best else "" for p in prediction.parts if _is_denied(p)}
    for decision in (d for d in prediction.decisions if not d.bulk):
        where = _where(document, prediction, decision)
        rows = _curated_rows(decision, prefixes, lambda i: names.get(i, ""), where)
        decided = [part for part in part_ids(decision.concept_id) if part is not None]
        for row, identifier in zip(rows, decided, strict=True):
            if not (decision.accepted and identifier in denied):
                yield row
    if prediction.state in ("accepted", "no concept"):
        return
    for number, part in enumerate(prediction.parts, 1):
        if prediction.has_open_part and not part.is_open:
            continue
        if _is_denied(part) or (prediction.state == "open" and part.best is None):
            continue
        chosen, place = part.best, _place(number, len(prediction.parts))
        row = {
            "subject_label": prediction.mention.text,
            "predicate_id": _ONE_OF_SEVERAL if place else _ONE,
            "object_id": _curie(chosen.concept_id if chosen else "", prefixes),
            "object_label": chosen.name if chosen else "",
            "mapping_justification": _justification(part),
            "subject_type": _LITERAL,
            "mapping_tool": NAME,
            "mapping_tool_version": VERSION,
            "confidence": _confidence(part),
            "comment": _comment(document, prediction, part, place),
        }
        broader = None if place else part.broader
        if broader:  # first: of rows that a person took over, the last one counts
            yield row | {
                "predicate_id": PREDICATES["broad"],
                "object_id": _curie(broader.concept_id, prefixes),
                "object_label": broader.name,
                "mapping_justification": _UNSPECIFIED,
                "confidence": _three(broader.confidence),
            }
        if chosen or not broader:
            yield row


def _is_denied(part: Part) -> bool:
    """Whether the text says anything else of a part than that it is present."""
    return part.assertion != "present"


def _justification(part: Part) -> str:
    """Why a part has its concept or none: equal names, similar vectors or similar characters."""
    candidate: Candidate | None = part.best or part.rejected
    if candidate is None:
        return _UNSPECIFIED
    if (part.expanded or part.text).casefold() == candidate.matched_name.casefold():
        return "semapv:LexicalMatching"
    kind = "Lexical" if candidate.dense_score is None else "Semantic"
    return f"semapv:{kind}SimilarityThresholdMatching"


def _confidence(part: Part) -> str:
    """The confidence of the mapping with three decimals; empty where the model has none."""
    if part.confidence is None:
        return ""
    return _three(part.confidence if part.best else 1 - part.confidence)


def _three(value: float) -> str:
    """A number with three decimals, of which no zeros end it."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _where(document: Document | None, prediction: Prediction, decision: Decision) -> str:
    """What a decision was applied to: the state of the mention, and where it stands."""
    mention = prediction.mention
    texts = [f"state {prediction.written_state}"]
    if mention.text != decision.mention:
        texts.append(f"written {mention.text}")
    if owner := owner_of(document, mention):
        texts.append(f"in {owner}" + (f" at {spans_text(mention)}" if mention.spans else ""))
    return _listed(texts)


def _place(number: int, count: int, predicate: Predicate = "") -> str:
    """Which of several parts a mapping is of, so that those of one mention are known; and whether a
    person called the concepts related."""
    if predicate != "related":
        return f"part {number} of {count}" if count > 1 else ""
    return f"part {number} of {count}" + ", related" * (count > 1)


def _comment(document: Document | None, prediction: Prediction, part: Part, place: str) -> str:
    """How the part is read, if it is not the mention as it stands, that the answer was accepted in
    bulk, if it was, and where the mention is."""
    mention = prediction.mention
    read, texts = part.expanded or part.text, [place] if place else []
    if prediction.written_state == IN_BULK:
        texts.append(f"state {IN_BULK}")
    if read != mention.text:
        texts.append(f"read as {read}")
    owner = owner_of(document, mention)
    where = f"document {owner}" + (f", characters {spans_text(mention)}" if mention.spans else "")
    return "; ".join(filter(None, (_listed(texts), "" if owner is None else where)))


def _listed(texts: Iterable[str]) -> str:
    """Texts of a comment, in which a semicolon stands between them alone."""
    return "; ".join(text.replace(";", ",") for text in texts)


def _curie(identifier: str, prefixes: Sequence[str]) -> str:
    """A concept id as CURIE: escaped as in IRIs, with `local` for a prefix that is not declared.

    No id stands for no concept.
    """
    if not identifier:
        return _NOTHING
    prefix = namespace(identifier)
    if prefix in prefixes and _PREFIX.fullmatch(prefix):
        return f"{prefix}:{quote(identifier[len(prefix) + 1 :])}"
    return f"{_LOCAL}:{quote(identifier, safe='')}"


def _scalar(text: str) -> str:
    """A text as YAML, in quotes where it must be."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
