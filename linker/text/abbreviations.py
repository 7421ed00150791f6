"""Short forms that a text defines ("ataxia telangiectasia (AT)"), and their expansion in mentions.

A definition is found around brackets, as by Schwartz and Hearst (2003). But the letters of the
short form are matched with the words of the long form at the minimum cost (see `letters`), instead
of greedily from the right.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from linker.errors import check_wanted
from linker.records import Span
from linker.text import letters
from linker.text.languages import Language, without_accents
from linker.text.letters import PIECE, QUOTES, STOP, is_balanced

_REVERSED = 1.15  # factor of the limit for "SF (long form)": where the long form ends is certain
_PERMUTED = 0.9  # cost of the initials in another order
_LETTERS = re.compile(r"[^\W\d_]{3}")
_SENTENCE = re.compile(r"[.!?]\s+(?=[A-Z\"])|[;:]\s|\n")
# what may follow a short form inside its brackets
_REST = re.compile(r"\s*(?:;|,\s|:\s|\b(?:and|or)\b).*", re.DOTALL)
_LATIN = frozenset(
    {"i.e.", "i.e", "e.g.", "e.g", "cf.", "vs.", "viz.", "p.o.", "i.v.", "i.p.", "s.c."}
)
_LONGEST = 300  # characters in brackets, and before them, that are looked at


@dataclass(frozen=True, slots=True)
class Definition:
    """A short form with the long form that a text gives for it."""

    short: str
    long: str
    short_span: Span
    long_span: Span


Pair = tuple[str, str]
"""A short form and its long form."""


def find(
    text: str, *, permuted: bool = False, languages: Iterable[Language] = ()
) -> list[Definition]:
    """Find the short forms that a document defines: "long form (SF)" or "SF (long form)".

    Args:
        text: one document.
        permuted: whether initials may stand in another order, "myotonic dystrophy (DM)".
        languages: that it may be in, beside English. In others than English accents do not count:
            "État de mal (EM)".

    Returns:
        The definitions in the order of the text.
    """
    stop = letters.STOP.union(*(language.stops for language in languages))
    plain = text if stop == letters.STOP else without_accents(text)
    starts = [0, *(m.end() for m in _SENTENCE.finditer(text))]
    definitions = []
    for opening, closing in sorted(_brackets(text)):
        check_wanted()
        start = max(starts[bisect_right(starts, opening) - 1], opening - _LONGEST)
        definitions += _defined(plain, start, opening, closing, permuted, stop)
    return [
        replace(found, short=text[slice(*found.short_span)], long=text[slice(*found.long_span)])
        for found in definitions
    ]


def table(definitions: Iterable[Definition]) -> dict[str, str]:
    """Map each short form to its long form; the first definition of a short form counts."""
    result: dict[str, str] = {}
    for definition in definitions:
        result.setdefault(definition.short, definition.long)
    return result


def compounds(definitions: Mapping[str, str]) -> dict[str, str]:
    """Map the parts of compound short forms to those of their long forms.

    "HPT-JT", hyperparathyroidism-jaw tumor, also says what HPT and JT are.

    Args:
        definitions: short form -> long form. Parts that are short forms of it themselves are left
            out of the result.
    """
    parts: dict[str, str] = {}
    for short, long in definitions.items():
        for sign in "-/":
            pairs = list(zip(short.split(sign), long.split(sign), strict=False))
            if short.count(sign) == long.count(sign) > 0 and all(_is_part(*pair) for pair in pairs):
                parts |= {part: whole for part, whole in pairs if part not in definitions}
    return parts


def _is_part(short: str, long: str) -> bool:
    """Whether a part of a compound short form stands for a part of the long form by itself."""
    capitals = len(short) > 1 and short.isalpha() and short.isupper()
    return capitals and _is_pair(short, long) and letters.cost(long, short) <= letters.limit(short)


def _brackets(text: str) -> Iterator[Span]:
    """Yield the positions of the opening and the closing bracket of each pair, unless too long."""
    stack: list[int] = []
    for match in re.finditer(r"[()\[\]]", text):
        if match.group() in "([":
            stack.append(match.start())
        elif stack and match.start() - (opening := stack.pop()) <= _LONGEST:
            yield opening, match.start()


def _defined(
    text: str, start: int, opening: int, closing: int, permuted: bool, stop: AbstractSet[str]
) -> list[Definition]:
    """The definitions around one pair of brackets.

    Args:
        text: the document.
        start: where the long form may begin at the earliest.
        opening: position of the opening bracket.
        closing: position of the closing bracket.
        permuted: see `find`.
        stop: words that need no letter.
    """
    inner = text[opening + 1 : closing]
    kept = _REST.sub("", inner)
    span = _at(text, opening + 1, opening + 1 + len(kept))
    short = text[slice(*span)]
    starts_phrase = re.search(r"\s(?:and|or)\s", inner) and (short.islower() or len(short) < 2)
    is_word = starts_phrase or short in STOP
    definitions = [] if is_word else _forward(text, start, opening, span, permuted, stop)
    definitions = definitions or _reversed(text, start, opening, closing, stop)
    if not definitions and (comma := re.search(r"[,;]\s+(\S+)$", inner)):  # "(long form, SF)"
        begin = opening + 1
        span = begin + comma.start(1), closing
        definitions = _forward(text, begin, begin + comma.start(), span, permuted, stop)
    return definitions


def _at(text: str, start: int, end: int) -> Span:
    """Shrink a span until it neither starts nor ends with white space or a quotation mark."""
    start = end - len(text[start:end].lstrip(QUOTES))
    return start, start + len(text[start:end].rstrip(QUOTES))


def _forward(
    text: str, start: int, end: int, short_span: Span, permuted: bool, stop: AbstractSet[str]
) -> list[Definition]:
    """A long form that ends at `end`, for the short form behind it."""
    short = text[slice(*short_span)]
    bracket = end
    start, end = _at(text, start, end)
    if not _is_short(short) or start == end:
        return []
    attached = end == bracket and text[end] in "(["
    cost, place = letters.best_start(text[start:end], short, stop)
    other = letters.permuted_start(text[start:end], short)
    if other is not None and cost > _PERMUTED:
        if not permuted:
            return []
        cost, place = _PERMUTED, other
    span = (start + place, end)
    limit = letters.limit(short) * (0.5 if attached else 1)
    if cost > limit or (attached and len(short) < 3) or not _is_pair(short, text[slice(*span)]):
        return []
    return [Definition(short, text[slice(*span)], short_span, span)]


def _reversed(
    text: str, start: int, opening: int, closing: int, stop: AbstractSet[str]
) -> list[Definition]:
    """A long form inside the brackets, for the short form of one or two words before them."""
    end = opening + 1 + len(text[opening + 1 : closing].partition(";")[0])
    span = _at(text, opening + 1, end)
    long = text[slice(*span)]
    if not re.search(r"[\s-]", long) or text[closing + 1 : closing + 2].isalnum():
        return []
    for words in (r"\S+\s*$", r"[^\s/-]+\s*$", r"\S+\s+\S+\s*$"):
        match = re.search(words, text[start:opening])
        short_span = _at(text, start + match.start(), opening) if match else (0, 0)
        short = text[slice(*short_span)]
        if (
            len(short) < 2
            or not _is_short(short)
            or short.islower()
            or long.lower().startswith(short.lower())
        ):
            continue
        is_near = letters.cost(long, short, stop) <= letters.limit(short) * _REVERSED
        if is_near and _is_pair(short, long):
            return [Definition(short, long, short_span, span)]
    return []


def _is_short(text: str) -> bool:
    """Whether a text can be a short form.

    It has at most two words and 12 characters, a letter, and is no phrase in lower case.
    """
    words = text.split()
    if len(text) > 12 or not 1 <= len(words) <= 2 or words[0].isdigit() or "=" in text:
        return False
    if not any(c.isalpha() for c in text) or not (text[0].isalnum() or text[0] in "(["):
        return False
    return not (text.islower() and (len(text) == 1 or len(words) > 1 or text in _LATIN))


def _is_pair(short: str, long: str) -> bool:
    """Whether a text can be the long form of a short form.

    It is longer, does not hold the short form as a word, and has balanced brackets.
    """
    if len(long) <= len(short) or short in long.split():
        return False
    if not _LETTERS.search(long) or not is_balanced(long):
        return False
    if " " in long:
        return True
    has_digit = any(c.isdigit() for c in short)
    return short.lower() not in (long.lower() if has_digit else PIECE.findall(long.lower()))


def expand(mention: str, definitions: Mapping[str, str]) -> str:
    """Replace the short forms in a mention by their long forms.

    >>> expand("AT/FRDA patients", {"AT": "ataxia telangiectasia", "FRDA": "Friedreich ataxia"})
    'ataxia telangiectasia/Friedreich ataxia patients'
    """
    return expansion(mention, definitions)[0]


def expansion(mention: str, definitions: Mapping[str, str]) -> tuple[str, tuple[Pair, ...]]:
    """A mention with its short forms replaced by their long forms, and those that were.

    Short forms are recognised as the document writes them (case matters), alone, in the plural, or
    between hyphens, slashes and other signs. A short form that the mention itself defines is
    dropped. Short forms in what was put in are replaced too, each short form at most once.
    """
    mention = _drop_defined(mention, definitions)
    used: dict[str, str] = {}
    while shorts := [
        s for s in definitions if s in mention and s not in used and (len(s) > 1 or s == mention)
    ]:
        pattern = "|".join(map(re.escape, sorted(shorts, key=len, reverse=True)))
        replaced: dict[str, str] = {}

        def replace(match: re.Match[str], replaced: dict[str, str] = replaced) -> str:
            long = replaced[match[1]] = definitions[match[1]]
            return long if long.endswith("s") else long + match[2]

        mention = re.sub(rf"(?<![^\W_])({pattern})(s?)(?![^\W_])", replace, mention)
        used |= replaced
        if not replaced or len(mention) > _LONGEST:
            break
    return mention, tuple(used.items())


def _drop_defined(mention: str, definitions: Mapping[str, str]) -> str:
    """Drop the short form, and the brackets, of every definition inside a mention."""
    if "(" not in mention and "[" not in mention:
        return mention
    for short, long in [*definitions.items(), *table(find(mention)).items()]:
        for written in (
            f"{long} ({short})",
            f"{long} [{short}]",
            f"{short} ({long})",
            f"{short} [{long}]",
        ):
            match = re.search(re.escape(written), mention, re.IGNORECASE)
            if match and short in match.group():
                start = 0 if written.startswith(long) else len(short) + 2
                kept = match.group()[start : start + len(long)]
                mention = mention[: match.start()] + kept + mention[match.end() :]
    return mention
