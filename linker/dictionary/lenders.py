"""Reading the files that lend names: dictionaries, and mappings with their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from linker import files
from linker.dictionary.building import checksum, refuse_pipes
from linker.dictionary.joins import is_used
from linker.errors import OnError, ignore, shown, stop
from linker.ids import namespace
from linker.readers import dictionaries, sssom
from linker.types import Concept, IdMapping, Name, Source, Status

NAMES_ONLY = ", names only"  # behind the format of a source that lends names
_OBSOLETE = "obsolete "  # how the label of an obsolete term begins in OBO ontologies


@dataclass(frozen=True, slots=True)
class Lender:
    """A file that lends names.

    The concepts of a file of mappings are its ids; those with a label have it as their name.
    """

    path: str
    source: Source
    concepts: tuple[Concept, ...]  # obsolete ones included
    mappings: tuple[IdMapping, ...] = ()  # those with a predicate that joins
    unused: int = 0  # mappings with another predicate
    is_mappings: bool = False  # whether it is a file of mappings


def read(path: files.Pathlike, *, on_error: OnError = stop) -> Lender:
    """Read a dictionary file or an SSSOM file of mappings, whichever it is by its content.

    Raises:
        LinkerError: the file cannot be read, is neither, or what `on_error` raises.
    """
    refuse_pipes([path])
    if not files.is_folder(path) and sssom.recognises(path, files.head(path, on_error=ignore)):
        return _read_mappings(path, on_error)
    format = dictionaries.detect(path)
    concepts = tuple(dictionaries.read(path, format, on_error=on_error))
    return Lender(
        str(path), _source(path, format, dictionaries.release(path, format), concepts), concepts
    )


def _read_mappings(path: files.Pathlike, on_error: OnError) -> Lender:
    rows = list(sssom.read(path, on_error=on_error))
    used = tuple(filter(is_used, rows))
    labels: dict[str, dict[str, None]] = {}
    for mapping in used:
        labels.setdefault(mapping.subject_id, {})[mapping.subject_label] = None
        labels.setdefault(mapping.object_id, {})[mapping.object_label] = None
    concepts = tuple(
        _labelled(identifier, filter(None, texts)) for identifier, texts in labels.items()
    )
    source = _source(path, "sssom", sssom.release(path), concepts)
    return Lender(str(path), source, concepts, used, len(rows) - len(used), True)


def _labelled(identifier: str, labels: Iterable[str]) -> Concept:
    """An id of a file of mappings as a concept."""
    names = tuple(Name(label, identifier, "preferred") for label in labels)
    name = names[0].text if names else ""
    status: Status = "obsolete" if name.startswith(_OBSOLETE) else "current"
    return Concept(identifier, name, names, namespace=namespace(identifier), status=status)


def _source(path: files.Pathlike, format: str, release: str, concepts: Iterable[Concept]) -> Source:
    """What the file is; how many of its concepts lend names is not known yet."""
    prefixes = Counter(concept.namespace for concept in concepts).most_common(1)
    return Source(
        shown(Path(path).name),
        f"{format}{NAMES_ONLY}",
        prefixes[0][0] if prefixes else "",
        release,
        checksum(path),
        0,
    )
