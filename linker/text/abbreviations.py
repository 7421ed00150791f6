"""Short forms that a text defines ("ataxia telangiectasia (AT)"), and their expansion in mentions.

A definition is found as in Schwartz and Hearst (2003), around brackets, but the letters of the short form are laid over
the words of the long form at the least cost instead of greedily from the right.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linker.text import layout
from linker.text.layout import PIECE, QUOTES, STOP, is_balanced

_REVERSED = 1.15  # share of the limit for "SF (long form)", whose long form has certain ends
_PERMUTED = 0.9  # cost of the initials in another order
_LETTERS = re.compile(r"[^\W\d_]{3}")
_SENTENCE = re.compile(r"[.!?]\s+(?=[A-Z\"])|[;:]\s|\n")
_REST = re.compile(
    r"\s*(?:;|,\s|:\s|\b(?:and|or)\b).*", re.DOTALL
)  # what may follow a short form inside its brackets
_LATIN = frozenset(
    {"i.e.", "i.e", "e.g.", "e.g", "cf.", "vs.", "viz.", "p.o.", "i.v.", "i.p.", "s.c."}
)
_LONGEST = 300  # characters in brackets, and before them, that are looked at


@dataclass(frozen=True, slots=True)
class Definition:
    """A short form with the long form that the text gives for it; spans are [start, end) in characters of the text."""

    short: str
    long: str
    short_span: tuple[int, int]
    long_span: tuple[int, int]


def find(text: str, *, permuted: bool = False) -> list[Definition]:
    """Find the short forms that a document defines, "long form (SF)" and "SF (long form)", in order of appearance.

    Args:
        text: one document.
        permuted: whether initials may stand in another order, "myotonic dystrophy (DM)".
    """
    starts = [0, *(m.end() for m in _SENTENCE.finditer(text))]
    found = []
    for opening, closing in sorted(_brackets(text)):
        start = max(starts[bisect_right(starts, opening) - 1], opening - _LONGEST)
        found += _defined(text, start, opening, closing, permuted)
    return found


def table(definitions: Iterable[Definition]) -> dict[str, str]:
    """Map each short form to its long form; the first definition of a short form counts."""
    result: dict[str, str] = {}
    for definition in definitions:
        result.setdefault(definition.short, definition.long)
    return result


def compounds(definitions: Mapping[str, str]) -> dict[str, str]:
    """The parts of compound short forms: "HPT-JT", hyperparathyroidism-jaw tumor, also says what HPT and JT are.

    Args:
        definitions: short form -> long form; those that are defined themselves are left out of the result.
    """
    found: dict[str, str] = {}
    for short, long in definitions.items():
        for sign in "-/":
            pairs = list(zip(short.split(sign), long.split(sign), strict=False))
            if short.count(sign) == long.count(sign) > 0 and all(_is_part(*pair) for pair in pairs):
                found |= {part: whole for part, whole in pairs if part not in definitions}
    return found


def _is_part(short: str, long: str) -> bool:
    """Whether a part of a compound short form stands for a part of the long form by itself."""
    capitals = len(short) > 1 and short.isalpha() and short.isupper()
    return capitals and _is_pair(short, long) and layout.cost(long, short) <= layout.limit(short)


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield (position of the opening, of the closing bracket) of every balanced pair that is not too long."""
    stack: list[int] = []
    for match in re.finditer(r"[()\[\]]", text):
        if match.group() in "([":
            stack.append(match.start())
        elif stack and match.start() - (opening := stack.pop()) <= _LONGEST:
            yield opening, match.start()


def _defined(text: str, start: int, opening: int, closing: int, permuted: bool) -> list[Definition]:
    """The definitions around one pair of brackets; `start` is where its sentence, or what is looked at of it, begins."""
    inner = text[opening + 1 : closing]
    kept = _REST.sub("", inner)
    short = _at(text, opening + 1, opening + 1 + len(kept))
    found = (
        []
        if _is_word(text[slice(*short)], inner)
        else _forward(text, start, opening, short, permuted)
    )
    found = found or _reversed(text, start, opening, closing)
    if not found and (comma := re.search(r"[,;]\s+(\S+)$", inner)):
        place = opening + 1 + comma.start()
        found = _forward(
            text, opening + 1, place, (opening + 1 + comma.start(1), closing), permuted
        )
    return found


def _is_word(short: str, inner: str) -> bool:
    """Whether what stands in brackets is a word, or the start of a phrase, rather than a short form."""
    phrase = re.search(r"\s(?:and|or)\s", inner) is not None
    return short in STOP or (phrase and (short.islower() or len(short) < 2))


def _at(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a span until it neither starts nor ends with white space or a quotation mark."""
    while start < end and text[start] in QUOTES:
        start += 1
    while start < end and text[end - 1] in QUOTES:
        end -= 1
    return start, end


def _forward(
    text: str, start: int, end: int, short_span: tuple[int, int], permuted: bool
) -> list[Definition]:
    """A long form that ends at `end`, for the short form behind it."""
    short = text[slice(*short_span)]
    start, stop = _at(text, start, end)
    if not _is_short(short) or start == stop:
        return []
    attached = stop == end and text[end] in "(["
    cost, place = layout.best_start(text[start:stop], short)
    other = layout.permuted_start(text[start:stop], short)
    if other is not None and cost > _PERMUTED:
        if not permuted:
            return []
        cost, place = _PERMUTED, other
    span = (start + place, stop)
    limit = layout.limit(short) * (0.5 if attached else 1)
    if cost > limit or (attached and len(short) < 3) or not _is_pair(short, text[slice(*span)]):
        return []
    return [Definition(short, text[slice(*span)], short_span, span)]


def _reversed(text: str, start: int, opening: int, closing: int) -> list[Definition]:
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
        if layout.cost(long, short) <= layout.limit(short) * _REVERSED and _is_pair(short, long):
            return [Definition(short, long, short_span, span)]
    return []


def _is_short(text: str) -> bool:
    """Whether a text can be a short form: at most two words and 12 characters, a letter, and no plain lower-case phrase."""
    words = text.split()
    if (
        len(text) > 12
        or not 1 <= len(words) <= 2
        or words[0].isdigit()
        or not any(c.isalpha() for c in text)
        or "=" in text
    ):
        return False
    return (text[0].isalnum() or text[0] in "([") and not (
        text.islower() and (len(text) == 1 or len(words) > 1 or text in _LATIN)
    )


def _is_pair(short: str, long: str) -> bool:
    """Whether a long form is longer than its short form, does not hold it as a word, and has balanced brackets."""
    if (
        len(long) <= len(short)
        or short in long.split()
        or not _LETTERS.search(long)
        or not is_balanced(long)
    ):
        return False
    if " " in long:
        return True
    return short.lower() not in (
        long.lower() if any(c.isdigit() for c in short) else PIECE.findall(long.lower())
    )


def expand(mention: str, definitions: Mapping[str, str]) -> str:
    """Replace the short forms in a mention by their long forms, as often as new ones come in, each at most once.

    Short forms are taken as the document writes them (case matters), alone, in the plural, or between hyphens, slashes and
    other signs; one that the mention itself defines is dropped.

    >>> expand("AT/NBS patients", {"AT": "ataxia telangiectasia", "NBS": "Nijmegen breakage syndrome"})
    'ataxia telangiectasia/Nijmegen breakage syndrome patients'
    """
    mention = _drop_defined(mention, definitions)
    used: set[str] = set()
    while shorts := [
        s for s in definitions if s in mention and s not in used and (len(s) > 1 or s == mention)
    ]:
        pattern = "|".join(map(re.escape, sorted(shorts, key=len, reverse=True)))
        found: set[str] = set()

        def replace(match: re.Match[str], found: set[str] = found) -> str:
            found.add(match.group(1))
            long = definitions[match.group(1)]
            return long if long.endswith("s") else long + match.group(2)

        mention = re.sub(rf"(?<![^\W_])({pattern})(s?)(?![^\W_])", replace, mention)
        used |= found
        if not found or len(mention) > _LONGEST:
            break
    return mention


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
            at = (
                match.start()
                if (match := re.search(re.escape(written), mention, re.IGNORECASE))
                else -1
            )
            if at >= 0 and short in mention[at : at + len(written)]:
                kept = at if written.startswith(long) else at + len(short) + 2
                mention = (
                    mention[:at] + mention[kept : kept + len(long)] + mention[at + len(written) :]
                )
    return mention


def expand_tokens(mention: str, definitions: Mapping[str, str]) -> str:
    """Replace short forms as BioSyn (Sung et al., 2020) does: words between white space, parts between slashes, words before a comma.

    White space is collapsed. The replacement is repeated until nothing changes, a cycle closes, or the text grows too long.
    """
    seen = {mention}
    while True:
        mention = " ".join(_expand_token(token, definitions) for token in mention.split())
        if mention in seen or len(mention) > 10 * _LONGEST:
            return mention
        seen.add(mention)


def _expand_token(token: str, definitions: Mapping[str, str]) -> str:
    if "/" in token:
        token = "/".join(definitions.get(part, part) for part in token.split("/"))
    if token.endswith(","):
        word = token.replace(",", "")
        return definitions.get(word, word) + ","
    return definitions.get(token, token)
