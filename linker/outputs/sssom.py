"""Mappings from mentions to concepts, as SSSOM in tab-separated values.

A mention has no id: it is a literal subject, whose label is the mention. Comments above the table
hold the metadata: the prefixes of ids, the dictionary and its release.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable
from typing import Protocol, TextIO
from urllib.parse import quote

from linker.ids import namespace, parse_gold
from linker.outputs import BREAKS, Item, Vocabulary, best
from linker.outputs.tsv import row_writer
from linker.types import Candidate, Document, Mention, Part, Prediction
from linker.version import NAME, VERSION

COLUMNS = (
    "subject_label",
    "predicate_id",
    "object_id",
    "object_label",
    "mapping_justification",
    "subject_type",
    "mapping_tool",
    "mapping_tool_version",
    "confidence",
    "comment",
)
CURATED_COLUMNS = (
    "subject_label",
    "predicate_id",
    "predicate_modifier",
    "object_id",
    "object_label",
    "mapping_justification",
    "author_label",
    "subject_type",
    "object_source_version",
    "mapping_date",
    "comment",
)
_LITERAL = "rdfs literal"
_NOTHING = "sssom:NoTermFound"
_ONE, _ONE_OF_SEVERAL = "skos:exactMatch", "skos:relatedMatch"
_BY_HAND = "semapv:ManualMappingCuration"
_LICENSE = "https://w3id.org/sssom/license/unspecified"
_SETS = "https://w3id.org/sssom/mappings/"
_DECISION = "decision"  # the source of a candidate that a curator chose
_LOCAL = "local"  # the prefix of ids that have none, or one that is no name
_OBO = "http://purl.obolibrary.org/obo/"
_IRIS = {
    _LOCAL: "http://local.invalid/",
    "MESH": "http://id.nlm.nih.gov/mesh/",
    "OMIM": "https://omim.org/entry/",
    "UMLS": "https://uts.nlm.nih.gov/uts/umls/concept/",
    "ORPHA": "http://www.orpha.net/ORDO/Orphanet_",
    "Orphanet": "http://www.orpha.net/ORDO/Orphanet_",
    "SNOMEDCT": "http://snomed.info/id/",
    **{name: f"{_OBO}{name}_" for name in ("DOID", "HP", "MONDO", "NCIT", "CHEBI", "GO", "MP")},
}
_PREFIX = re.compile(r"(?!https?\Z|urn\Z|file\Z)[A-Za-z_][\w.-]*", re.ASCII)
_PLAIN = re.compile(  # what YAML reads as this very text without quotes
    r"(?!(?i:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z_](?:[\w./#%+-]|:(?=\S))*", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?=T|\Z| )", re.ASCII)


class Curated(Protocol):
    """What a curator decided for a mention, as `linker.decisions.records.Decision` has it."""

    @property
    def mention(self) -> str:
        """Its text."""

    @property
    def concept_id(self) -> str:
        """Its concept; the parts of a composite are joined by `|`; empty for no concept."""

    @property
    def accepted(self) -> bool:
        """Whether the concept is right; False: it is wrong."""

    @property
    def scope(self) -> str:
        """The id of the document that the decision is for; empty for all."""

    @property
    def reviewer(self) -> str:
        """The curator."""

    @property
    def time(self) -> str:
        """When it was decided, in ISO 8601."""

    @property
    def release(self) -> str:
        """The release of the dictionary."""


def write(
    items: Iterable[Item],
    file: TextIO,
    *,
    documents: bool | None = None,
    sources: bool = False,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Write a mapping for each part of each mention: to its best concept, or to none.

    The predicate is `skos:exactMatch`; for a part of a composite mention, of which the whole
    means more than one concept, it is `skos:relatedMatch`, and the comment has the text of the
    part. A part without a concept is mapped to `sssom:NoTermFound`; its confidence is the
    probability that the rejected candidate is wrong, which is the most that the probability of no
    concept can be. Where a person decided, there is none. The comment also says where the mention
    stands.

    For `items`, `file`, `documents`, `sources` and `vocabulary` see `linker.outputs.Writer`.
    """
    vocabulary = vocabulary or Vocabulary(prefixes=tuple(_IRIS))
    _write_head(file, vocabulary)
    write_row = row_writer(file)
    write_row(COLUMNS)
    prefixes = frozenset(vocabulary.prefixes)
    for document, predictions in items:
        for prediction in predictions:
            for part in prediction.parts:
                write_row(_row(document, prediction, part, prefixes))


def write_curated(
    rows: Iterable[Curated],
    file: TextIO,
    *,
    name: Callable[[str], str] | None = None,
    vocabulary: Vocabulary | None = None,
) -> int:
    """Write a mapping for each concept that curators accepted or rejected.

    A rejected concept has the predicate modifier `Not`. SSSOM cannot say that a mention does have
    some concept, nor that several concepts are not meant together: such rows are left out.

    Args:
        rows: what was decided.
        file: where to write.
        name: gives the name of a concept id; empty for an unknown one. None: no names.
        vocabulary: the dictionary.

    Returns:
        The number of rows that were left out.
    """
    decided = [(row, _ids(row)) for row in rows]
    kept = [(row, ids) for row, ids in decided if row.accepted or len(ids) == 1]
    prefixes = frozenset(namespace(identifier) for _, ids in kept for identifier in ids)
    _write_head(file, Vocabulary(vocabulary.name if vocabulary else "", "", tuple(prefixes)))
    write_row = row_writer(file)
    write_row(CURATED_COLUMNS)
    for row, ids in kept:
        for identifier in ids or [""]:
            label = name(identifier) if name and identifier else ""
            write_row(_curated_row(row, len(ids), _curie(identifier, prefixes), label))
    return len(decided) - len(kept)


def _ids(row: Curated) -> list[str]:
    """The concepts of a decision."""
    return [identifier for group in parse_gold(row.concept_id) for identifier in group.ids]


def _curated_row(row: Curated, count: int, identifier: str, label: str) -> tuple[str, ...]:
    """The cells of `CURATED_COLUMNS`.

    Args:
        row: the decision.
        count: how many concepts it names.
        identifier: one of them, as it is written; `sssom:NoTermFound` for no concept.
        label: its name.
    """
    return (
        row.mention,
        _ONE_OF_SEVERAL if count > 1 else _ONE,
        "" if row.accepted else "Not",
        identifier,
        label,
        _BY_HAND,
        _escaped(row.reviewer),
        _LITERAL,
        row.release,
        match[0] if (match := _DATE.match(row.time)) else "",
        f"document {row.scope}" if row.scope else "",
    )


def _write_head(file: TextIO, vocabulary: Vocabulary) -> None:
    """Write the metadata. The id of the set depends on them alone, so that it can be repeated."""
    declared = {_LOCAL, *filter(_PREFIX.fullmatch, vocabulary.prefixes)}
    iris = {prefix: _IRIS.get(prefix, f"https://bioregistry.io/{prefix}:") for prefix in declared}
    lines = ["curie_map:"]
    lines += [f"  {_scalar(prefix)}: {_scalar(iri)}" for prefix, iri in sorted(iris.items())]
    source = []
    if vocabulary.name:
        source.append(f"object_source: {_curie(vocabulary.name, frozenset())}")
    if vocabulary.release:
        source.append(f"object_source_version: {_scalar(vocabulary.release)}")
    seed = "\n".join([*lines, *source, VERSION])
    lines.append(f"mapping_set_id: {_SETS}{uuid.uuid5(uuid.NAMESPACE_URL, seed)}")
    lines += [f"license: {_LICENSE}", *source]
    file.writelines(f"#{line}\n" for line in lines)


def _row(
    document: Document | None, prediction: Prediction, part: Part, prefixes: frozenset[str]
) -> tuple[str, ...]:
    """The cells of `COLUMNS` for a part."""
    mention, chosen = prediction.mention, best(part)
    is_manual = (chosen or prediction).source == _DECISION
    return (
        mention.text,
        _ONE_OF_SEVERAL if len(prediction.parts) > 1 else _ONE,
        _curie(chosen.concept_id if chosen else "", prefixes),
        chosen.name if chosen else "",
        _BY_HAND if is_manual else _justification(part),
        _LITERAL,
        "" if is_manual else NAME,
        "" if is_manual else VERSION,
        "" if is_manual and not chosen else _confidence(part),
        _comment(document, mention, part),
    )


def _justification(part: Part) -> str:
    """Why a part has its concept or none: equal names, similar vectors or similar characters."""
    candidate: Candidate | None = part.best or part.rejected
    if candidate is None:
        return "semapv:UnspecifiedMatching"
    if (part.expanded or part.text).casefold() == candidate.matched_name.casefold():
        return "semapv:LexicalMatching"
    kind = "Lexical" if candidate.dense_score is None else "Semantic"
    return f"semapv:{kind}SimilarityThresholdMatching"


def _confidence(part: Part) -> str:
    """The confidence of the mapping with three decimals; empty where the model has none."""
    if part.confidence is None:
        return ""
    value = part.confidence if best(part) else 1 - part.confidence
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _comment(document: Document | None, mention: Mention, part: Part) -> str:
    """How the part is read, if it is not the mention as it stands, and where the mention is."""
    read, texts = part.expanded or part.text, []
    if read != mention.text:
        texts.append(f"read as {read}")
    owner = document.id if document is not None else mention.document_id
    if owner is not None:
        spans = ";".join(f"{start}-{end}" for start, end in mention.spans)
        texts.append(f"document {owner}" + (f", characters {spans}" if spans else ""))
    return "; ".join(texts)


def _curie(identifier: str, prefixes: frozenset[str]) -> str:
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


def _escaped(text: str) -> str:
    r"""One value of a column of lists: bars and backslashes have a backslash before them."""
    return re.sub(r"([\\|])", r"\\\1", text.translate(BREAKS))
