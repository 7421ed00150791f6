"""What people said of mentions: in stores, in outputs, and whether the store has what these claim."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sqlite3
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linker import Dictionary
from linker.ids import curie
from linker.linking.decisions import form_of, parts_of
from linker.types import Decision

from .core import Failed

BY_PEOPLE = ("semapv:ManualMappingCuration", "semapv:MappingReview")
LONG_FORMS = {"a t": "ataxia telangiectasia"}  # that a document of `decisions` defines
_BLANKS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ufffe\uffff]+")
_SKIPPED = re.compile(r"^linker: skipped: (?:.*?, line (\d+))?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Said:
    """A decision, without who took it and when."""

    mention: str  # blanks of any kind are one blank
    ids: tuple[str, ...]  # of its parts, sorted; "" for no concept
    accepted: bool

    @classmethod
    def of(cls, mention: str, concept: str, accepted: bool = True) -> Said:
        """What is said of a mention with "A|B" or -1."""
        ids = tuple(sorted(i and curie(i) for i in parts_of(Decision(mention, concept))))
        return cls(spaced(mention), ids if any(ids) else ("",), accepted)


def spaced(text: str) -> str:
    """A text as it may be read again: what cannot stand in a table is a blank."""
    return _BLANKS.sub(" ", text).strip()


def letters(text: str) -> str:
    """Its plain letters and digits, small."""
    return "".join(sign for sign in text.lower() if sign.isalnum() and sign.isascii())


def as_now(said: Said, dictionary: Dictionary) -> Said:
    """What is said, with the ids that a dictionary has now."""
    ids = (next(iter(dictionary.resolve(i)), i) if i else "" for i in said.ids)
    return replace(said, ids=tuple(sorted(ids)))


def kept(path: Path) -> list[Said]:
    """The decisions that a file holds in rows of the right types; none where it is none."""
    query = "SELECT mention, concept_id, accepted FROM decisions WHERE accepted IN (0, 1) AND "
    query += "typeof(mention) || typeof(concept_id) || typeof(accepted) = 'texttextinteger'"
    return [Said.of(mention, concept, bool(a)) for mention, concept, a in selected(path, query)]


def selected(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query; none where SQLite refuses it."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            return connection.execute(query).fetchall()
    except (sqlite3.Error, OverflowError, ValueError):
        return []


def skipped(messages: str) -> tuple[int, set[int]]:
    """How many records a command said to have skipped, and the lines that it named."""
    found = _SKIPPED.findall(messages)
    return len(found), {int(line) for line in found if line}


def expect(
    kept: Iterable[Said],
    required: Iterable[Said],
    allowed: Iterable[Said],
    dictionary: Dictionary | None = None,
) -> None:
    """Check what was kept against what was said, in ids that a dictionary has now."""
    if dictionary is not None:
        kept, required, allowed = (
            [as_now(said, dictionary) for said in some] for some in (kept, required, allowed)
        )
    kept = list(kept)
    for strange in set(kept) - set(allowed):
        kind = "an accepted decision" if strange.accepted else "a rejection"
        raise Failed(f"{kind} that nobody took: {strange}")
    forms = {(form_of(said.mention), said.ids, said.accepted) for said in kept}
    for said in required:
        if (form_of(said.mention), said.ids, said.accepted) not in forms:
            raise Failed(f"a decision was lost: {said}")


@dataclass(frozen=True, slots=True)
class Claim:
    """What an output says of a mention."""

    mention: str
    state: str
    ids: tuple[str, ...] | None  # of its parts; None: the format does not say
    decisions: list[Any]  # as in JSON
    is_by_decision: bool = False  # whether it names "decision" as the source of its answer


def claims(form: str, text: str) -> Iterator[Claim]:
    """What an output in some format says of its mentions, one after the other."""
    return _CLAIMS[form](text)


def _of_table(text: str, delimiter: str) -> Iterator[Claim]:
    for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter):
        if row.get("rank", "1") not in ("", "1"):
            continue
        ids = tuple((row.get("linker_concept_id") or row["concept_id"] or "").split("|"))
        found = None if "part" in row else ids  # a row is a part alone
        said, sources = json.loads(row["decisions"] or "[]"), (row.get("source") or "").split("|")
        yield Claim(row["mention"], row["state"] or "model", found, said, "decision" in sources)


def _of_jsonl(text: str) -> Iterator[Claim]:
    for line in text.split("\n")[:-1]:
        record = json.loads(line)
        best = [([] if p["nil"] else p["candidates"])[:1] for p in record["parts"]]
        ids = tuple(one[0]["concept_id"] if one else "" for one in best)
        by_decision = any(one and one[0].get("source") == "decision" for one in best)
        yield Claim(record["mention"], record["state"], ids, record["decisions"], by_decision)


def _of_pubtator(text: str) -> Iterator[Claim]:
    pattern = r"(?:.*? )?(accepted|no concept|rejected|open|disputed) (\[\{.*\}\])"
    for cells in (line.split("\t") for line in text.split("\n")):
        if len(cells) < 6:
            continue
        match = re.fullmatch(pattern, cells[-1])
        ids = tuple("" if i == "-1" else i for i in cells[5].split("|"))
        state, said = (match[1], json.loads(match[2])) if match else ("model", [])
        yield Claim(cells[3], state, ids, said)


def _of_bioc(text: str) -> Iterator[Claim]:
    for annotation in ET.fromstring(text).iter("annotation"):
        infons = {one.get("key"): one.text or "" for one in annotation.iter("infon")}
        ids = tuple("" if i == "-1" else i for i in infons.get("identifier", "-1").split("|"))
        said, mention = json.loads(infons.get("decisions", "[]")), annotation.findtext("text") or ""
        by_decision = "decision" in infons.get("source", "").split("|")
        yield Claim(mention, infons.get("state", "model"), ids, said, by_decision)


_CLAIMS: dict[str, Callable[[str], Iterator[Claim]]] = {
    "csv": lambda text: _of_table(text, ","),
    "tsv": lambda text: _of_table(text, "\t"),
    "jsonl": _of_jsonl,
    "pubtator": _of_pubtator,
    "bioc": _of_bioc,
}


def check_claims(claims: Iterable[Claim], standing: Iterable[Said], dictionary: Dictionary) -> None:
    """Check that a store has a decision for each judgement that an output claims."""
    standing = [as_now(said, dictionary) for said in standing]
    for claim in claims:
        forms = {form_of(claim.mention), LONG_FORMS.get(form_of(claim.mention))}
        on = [said for said in standing if form_of(said.mention) in forms]
        for one in claim.decisions:
            said = Said.of(one["mention"], one["concept_id"] or "", one["accepted"])
            if as_now(said, dictionary) not in on:
                raise Failed(f"an output claims a decision that nobody took: {one} on {claim}")
        if claim.state == "model" and (claim.decisions or claim.is_by_decision):
            raise Failed(f"an output claims a decision on an answer of the model: {claim}")
        if not _is_founded(claim, on):
            raise Failed(f"an output claims a state that no decision gives: {claim}")


def _is_founded(claim: Claim, on: Iterable[Said]) -> bool:
    accepted = [said.ids for said in on if said.accepted]
    if claim.state == "accepted":
        if claim.ids is None:
            return any(any(ids) for ids in accepted)
        return tuple(sorted(claim.ids)) in accepted
    if claim.state == "no concept":
        return any(not any(ids) for ids in accepted)
    if claim.state in ("rejected", "open"):
        return any(not said.accepted for said in on)
    return claim.state == "model" or (claim.state == "disputed" and bool(claim.decisions))


def mappings(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of mappings in SSSOM, with the numbers of their lines."""
    header: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if line.count('"') % 2 == 0:
            (cells,) = csv.reader([line.rstrip("\r")], "excel-tab")
        if header:
            yield number, dict(zip(header, map(str.strip, cells), strict=False))
        header = header or cells


def check_mappings(text: str, standing: Iterable[Said], dictionary: Dictionary) -> None:
    """Check that a store has a decision for each mapping that is said to be curated by a person."""
    standing = [one for said in standing for one in (said, as_now(said, dictionary))]
    for _, row in mappings(text):
        if row.get("mapping_justification") not in BY_PEOPLE:
            continue
        identifier = row["object_id"].replace("sssom:NoTermFound", "")
        wanted = spaced(row["subject_label"]), row["predicate_modifier"] != "Not"
        on = [said for said in standing if (said.mention, said.accepted) == wanted]
        is_coded = identifier.startswith("local:") or "%" in identifier
        if not any(identifier in said.ids or is_coded for said in on):
            raise Failed(f"a mapping claims a curation that nobody did: {row}")
