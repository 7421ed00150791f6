"""Records of files: what readers share that check and parse them one by one."""

from __future__ import annotations

import contextlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast, get_args

from linker.errors import InputError, LinkerError, OnError, RecordError, ignore, shorten
from linker.ids import NO_CONCEPT, namespace
from linker.io import files
from linker.io.files import MENTION_LIMIT, NAME_LIMIT, Pathlike, parse_json, read_lines, read_text
from linker.io.rows import TableRow
from linker.records import (
    IN_BULK,
    NAME_KINDS,
    SELECTION,
    Concept,
    Name,
    NameKind,
    Selection,
    Span,
    State,
)

_BLOCK = 1 << 16  # bytes read at a time
# what parsing a record raises that is not as its format has it
_BAD = (ValueError, AttributeError, LookupError, TypeError, RecursionError, SyntaxError)

_Place = TypeVar("_Place", int, None)
_Raw = TypeVar("_Raw")
_Parsed = TypeVar("_Parsed")


def parse_each(
    path: Pathlike,
    records: Iterable[tuple[_Place, _Raw]],
    parse: Callable[[_Place, _Raw], _Parsed | None],
    on_error: OnError,
    *,
    expected: str = "",
) -> Iterator[_Parsed]:
    """Parse the records of a file, and yield what is not None.

    Args:
        path: the file, for messages.
        records: each with the number of its line, or None where it has no line.
        parse: is given number and record; it raises `RecordError` for a bad one, or whatever a
            record leads to that is not as it should be.
        on_error: what to do with a bad one; returns to skip it.
        expected: what should stand there, where the error does not say it.
    """
    for number, record in records:
        try:
            parsed = parse(number, record)
        except _BAD as error:
            on_error(record_error(error, record, expected).at(path, number))
        else:
            if parsed is not None:
                yield parsed


def record_error(error: BaseException, record: Any, expected: str) -> RecordError:
    """What is wrong with a record, given what parsing it raised."""
    if isinstance(error, RecordError):
        return error
    if isinstance(record, Mapping | list):
        record = json.dumps(record, ensure_ascii=False, default=str)
    value = str(record) if isinstance(record, str) else None  # of rdflib, too
    return RecordError(_words(error), value, expected=expected)


def _words(error: BaseException) -> str:
    """What an error of Python or of a library says, with its kind where that says more."""
    is_plain = isinstance(error, ValueError) and str(error)
    return str(error) if is_plain else f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def parsing(path: Pathlike, form: str, line: int | None = None) -> Iterator[None]:
    """Say of whatever a parser of a whole file raises where it is and what should stand there."""
    try:
        yield
    except (LinkerError, MemoryError):
        raise
    except Exception as error:  # libraries raise what they meet
        line = line or getattr(error, "lineno", None)
        remedy = "fetch or write the file again, or name its format"
        raise InputError(
            path, f"is no {form} ({_words(error)})", line=line, remedy=remedy
        ) from None


def read_json(path: Pathlike) -> dict[str, Any]:
    """Read a file that holds one object of JSON.

    Raises:
        InputError: it is not JSON, or not an object.
    """
    with parsing(path, "object of JSON"):
        value = parse_json(read_text(path))
        if not isinstance(value, dict):
            raise ValueError("it has no braces around it")
        return value


def json_version(path: Pathlike) -> str:
    """The first version that a file of JSON states; empty where it states none."""
    match = re.search(r'"version"\s*:\s*"([^"]+)"', read_text(path))
    return match[1] if match else ""


def elements(path: Pathlike, file: BinaryIO, form: str, root: str, tag: str) -> Iterator[Any]:
    """Yield the elements of a tag below the root as they are complete; one at a time is in memory.

    Entities are left as they are, DTDs are not read, and nothing is fetched.

    Args:
        path: the file, for messages.
        file: it, open.
        form: the name of the format.
        root: the tag that the element around all others must have.
        tag: of the elements.

    Raises:
        InputError: the XML is broken, its root is another one, or an element, or what stands
            before it, has more bytes than a line may have.
    """
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLPullParser(
        events=("end",), tag=tag, resolve_entities=False, no_network=True, load_dtd=False
    )

    def check_root(element: Any) -> None:
        if element.tag != root:
            raise ValueError(f"<{element.tag}> stands where <{root}> should")

    size = 0  # of what is in memory
    with parsing(path, f"{form} XML"):
        while block := file.read(_BLOCK):
            parser.feed(block)
            size += len(block)
            for _, element in parser.read_events():
                size = 0
                parent = element.getparent()
                check_root(element if parent is None else parent)
                yield element
                element.clear()
                while (old := element.getprevious()) is not None and old.tag == tag:
                    parent.remove(old)
            files.check_size(path, size, files.LONG_LINE, f"a {tag}, or what stands before it")
        check_root(parser.close())


def numbered(rows: Iterable[TableRow]) -> Iterator[tuple[int, TableRow]]:
    """The rows that are not blank, with their numbers, for `parse_each`."""
    return ((row.number, row) for row in rows if row.line.strip())


def by_column(row: TableRow, columns: Sequence[str]) -> Mapping[str, str]:
    """The cells of a row by their columns; empty for a column that the table does not have.

    Raises:
        RecordError: the row has more cells or fewer.
    """
    if len(row.cells) != len(columns):
        expected = f"{len(columns)}, as in the header"
        raise RecordError(f"{len(row.cells)} columns", row.line, expected=expected)
    return defaultdict(str, zip(columns, map(str.strip, row.cells), strict=True))


def comments(path: Pathlike) -> Iterator[str]:
    """The comments that a file begins with, without their signs."""
    lines = (line for _, line in read_lines(path, on_error=ignore))
    return (line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))


def make_concept(
    identifier: str,
    name: str,
    synonyms: Mapping[str, NameKind],
    *,
    language: str = "",
    **fields: Any,
) -> Concept:
    """Check a concept's id and names, and make it; repeated names are left out.

    Args:
        identifier: its id.
        name: its preferred name.
        synonyms: its other names, with their kinds.
        language: of the names.
        fields: other fields of `Concept`.

    Raises:
        RecordError: the id or a name is empty, the id says that there is no concept, or a name is
            too long.
    """
    check_concept(identifier, (name, *synonyms))
    kinds: dict[str, NameKind] = {name: "preferred", **synonyms}
    kinds[name] = "preferred"
    names = tuple([Name(text, identifier, kind, language) for text, kind in kinds.items()])
    return Concept(identifier, name, names, namespace=namespace(identifier), **fields)


def check_concept(identifier: str, names: Iterable[str]) -> None:
    """Check a concept's id and names, the preferred one first; see `make_concept`."""
    if not identifier or identifier.endswith(":") or identifier.lower() in NO_CONCEPT:
        expected = "an identifier such as MESH:D001260"
        raise RecordError("the concept id is empty", identifier or None, expected=expected)
    for name in names:
        if not name:
            raise RecordError("the concept name is empty", identifier, expected="a name")
        if len(name) > NAME_LIMIT:
            expected = f"at most {NAME_LIMIT:,} characters"
            raise RecordError("the name is too long", name, expected=expected)


def check_mention(text: str) -> str:
    """Strip a loose mention and return it; empty for a blank one, which keeps its row.

    Raises:
        RecordError: it is longer than `MENTION_LIMIT`.
    """
    text = text.strip()
    if len(text) > MENTION_LIMIT:
        problem = f"the mention has {len(text):,} characters"
        raise RecordError(problem, text, expected=f"a name of at most {MENTION_LIMIT:,}")
    return text


def check_spans(text: str, spans: Sequence[Span], whole: str, *, owner: str) -> None:
    """Check that the text of a mention stands in the document at its offsets.

    White space may differ (NCBI Disease has mentions with blanks behind them). The pieces of a
    discontinuous mention are compared by letters and digits alone, since files join them in several
    ways.

    Args:
        text: the mention as the file writes it.
        spans: its offsets in characters.
        whole: the document's text.
        owner: the document's id, for the message.

    Raises:
        RecordError: the texts differ, or a span is empty or lies outside the text.
    """
    pieces = pieces_at(spans, whole)
    if len(pieces) == 1 and pieces[0].split() == text.split():
        return
    if len(pieces) > 1 and _letters("".join(pieces)) == _letters(text):
        return
    where = shorten(", ".join(f"{start}-{end}" for start, end in spans))
    there = " … ".join(shorten(whole[start:end]) for start, end in spans)
    raise RecordError(
        f"the text of document {owner} at {where} is {there!r}, not the mention",
        text,
        expected="offsets in characters from the start of the document, "
        "one for the break after the title",
    )


def pieces_at(spans: Sequence[Span], whole: str) -> list[str]:
    """The pieces of a text at spans; none where one is empty or outside, or all are longer."""
    if not all(0 <= start < end <= len(whole) for start, end in spans):
        return []
    if sum(end - start for start, end in spans) > len(whole):
        return []
    return [whole[start:end] for start, end in spans]


def parse_selection(lists: Mapping[str, Any]) -> Selection | None:
    """Read the selection of a document or a mention.

    Args:
        lists: a text or a list of texts for each of `under`, `not_under`, `types` and `namespaces`
            that is there; null is none, and other keys are ignored.

    Raises:
        ValueError: a value is something else, or a text is blank.
    """
    selection = {}
    for name in SELECTION:
        value = lists.get(name)
        texts = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(texts, list) or not all(
            isinstance(text, str) and text.strip() for text in texts
        ):
            raise ValueError(f"{name!r} is neither a text nor a list of texts")
        selection[name] = tuple(text.strip() for text in texts)
    return Selection(**selection) or None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


STATES = (*get_args(State), IN_BULK)
"""The states of annotations, as linker writes them."""


def is_guess(state: str) -> bool:
    """Whether linker wrote the ids of an annotation and no person looked at them: no gold.

    Args:
        state: what people said of it, as linker writes it; anything else is not of linker.
    """
    return state in STATES and state not in ("accepted", "no concept")


class Statement(NamedTuple):
    """What a file says of a concept."""

    field: str  # a kind of name, or a field of `Concept`; "obsolete": that is its status
    value: str  # a text or an id
    language: str = ""  # its tag
    source: str = ""  # of a name


ENGLISH = ("en",)
"""What is kept where no language is chosen."""

# ISO 639-1, and what ISO 639-2 and the UMLS write for it
_CODES: dict[str, str] = dict(
    re.findall(
        r"(\w{3})=(\w\w)",
        "ara=ar baq=eu eus=eu bul=bg cat=ca chi=zh zho=zh cze=cs ces=cs dan=da dut=nl nld=nl "
        "eng=en est=et fin=fi fre=fr fra=fr ger=de deu=de gre=el ell=el heb=he hrv=hr scr=hr "
        "hun=hu ice=is isl=is ita=it jpn=ja kor=ko lav=lv lit=lt nor=no pol=pl por=pt rum=ro "
        "ron=ro rus=ru slo=sk slk=sk slv=sl spa=es swe=sv tur=tr ukr=uk",
    )
)


@lru_cache(maxsize=1 << 10)
def language_code(tag: str) -> str:
    """The language of a tag without its region, in two letters where it has such a code.

    >>> language_code("en-US"), language_code("ENG"), language_code("fre")
    ('en', 'en', 'fr')
    """
    first = re.split("[-_]", tag.strip().lower())[0]
    return _CODES.get(first, first)


# ISO 639-1
_TWO_LETTERS = frozenset(
    re.findall(
        r"\w\w",
        "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv "
        "cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr "
        "ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw "
        "ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv "
        "ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq "
        "sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh "
        "yi yo za zh zu",
    )
)
_TAGGED = re.compile(r"(.+?)\s?@([a-z]{2,3})(-[A-Za-z]{2,4})?", re.DOTALL)
_IN_QUOTES = re.compile(r'"(.*)"', re.DOTALL)


def split_language(text: str) -> tuple[str, str]:
    """Split the tag of a language off the end of a name, as Uberon and results of SPARQL have it.

    >>> split_language("pectoral fin@en"), split_language('"Gicht"@de-AT'), split_language("IGH@")
    (('pectoral fin', 'en'), ('Gicht', 'de-AT'), ('IGH@', ''))
    """
    tagged = _TAGGED.fullmatch(text) if "@" in text else None
    if not tagged or (tagged[2] not in _CODES and tagged[2] not in _TWO_LETTERS):
        return text, ""
    name = tagged[1].strip()
    quoted = _IN_QUOTES.fullmatch(name)
    name = quoted[1].strip() if quoted else name
    return name, tagged[2] + (tagged[3] or "")


class Languages:
    """The languages of the names to keep; it remembers the tags that it is asked for.

    A name without a tag, also behind an @ at its end, is kept, and counts as English.

    Args:
        wanted: codes in two or three letters, with a region or without, the one first in which
            concepts are to be called; all languages where empty.
    """

    def __init__(self, wanted: Iterable[str] = ENGLISH) -> None:
        self.wanted = tuple(wanted)
        self._places: dict[str, tuple[int, int] | None] = {}

    def place(self, tag: str) -> tuple[int, int] | None:
        """Where the language of a tag stands among those wanted; None for one to leave out.

        The second number is 0 for the tag as it is wanted, 1 without a region, else 2.
        """
        if tag not in self._places:
            self._places[tag] = self._place(tag)
        return self._places[tag]

    def _place(self, tag: str) -> tuple[int, int] | None:
        code, wanted = language_code(tag or ENGLISH[0]), self.wanted or ENGLISH
        region = 1 if not re.search("[-_]", tag) else 2
        for place, other in enumerate(wanted):
            if language_code(other) == code:
                is_same = tag.lower().replace("_", "-") == other.lower().replace("_", "-")
                return place, 0 if is_same else region
        return (len(wanted), region) if not tag or not self.wanted else None

    def concept(
        self, identifier: str, statements: Iterable[Statement], *, source: str = "", **fields: Any
    ) -> Concept:
        """Make a concept of what is stated on it, with the names in these languages, or none.

        It is called by its preferred name in the first language that it has. The names that other
        languages prefer are exact.

        Args:
            identifier: its id.
            statements: with names and definitions in any language.
            source: of names that state none.
            fields: other fields of `Concept`.

        Raises:
            RecordError: see `linker.io.parsing.check_concept`.
        """
        kept, described = list[tuple[tuple[int, int], Name]](), list[tuple[tuple[int, int], str]]()
        lists: dict[str, dict[str, None]] = defaultdict(dict)
        for field, value, tag, origin in statements:
            if field in NAME_KINDS and not tag:
                value, tag = split_language(value.strip())
            if field == "obsolete":
                fields["status"] = field
            elif field not in NAME_KINDS and field != "definition":
                lists[field][value] = None
            elif (place := self.place(tag)) and field == "definition":
                described.append((place, value.strip()))
            elif place:
                kept.append(
                    (
                        place,
                        Name(
                            value.strip(), identifier, cast(NameKind, field), tag, origin or source
                        ),
                    )
                )
        fields |= {field: tuple(values) for field, values in lists.items()}
        fields["namespace"] = namespace(identifier)
        if not kept and fields.get("status", "current") != "current":
            kept = [((0, 0), Name(identifier, identifier))]  # only its id will be used
        if not kept:
            check_concept(identifier, ())
            return Concept(identifier, "", **fields)
        _, best = min(kept, key=lambda k: (k[0][0], k[1].kind != "preferred", k[0][1]))
        unique: dict[str, Name] = {}
        for name in (best, *(name for _, name in kept)):
            kind = "exact" if unique and name.kind == "preferred" else name.kind
            unique.setdefault(name.text, replace(name, kind=kind if unique else "preferred"))
        check_concept(identifier, unique)
        if described:
            fields["definition"] = min(described, key=lambda d: d[0])[1]
        return Concept(identifier, best.text, tuple(unique.values()), **fields)

    def check(self, where: object) -> None:
        """Check that there are names in every language that is wanted.

        Args:
            where: the files that were read, for the message.

        Raises:
            LinkerError: there are none in one of them.
        """
        tags = sorted(filter(None, self._places))
        codes = {language_code(tag or ENGLISH[0]) for tag in self._places}
        missing = [tag for tag in self.wanted if language_code(tag) not in codes]
        if missing and (tags or self.wanted != ENGLISH):
            there = f"the languages are {', '.join(tags)}" if tags else "no name says its language"
            raise LinkerError(
                f"{where}: there are no names in {', '.join(missing)}; {there}; "
                "choose of these with --languages"
            )
