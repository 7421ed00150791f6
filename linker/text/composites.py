"""Coordinated mentions ("breast and ovarian cancer") and the names that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product

IsName = Callable[[str], bool]
"""Answers whether a text, however it is written, is a name of the dictionary."""

_SIGN = re.compile(r"\b(?:and|or)\b|[/&]", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s,/&]+|[,/&]")
_EITHER = re.compile(r"\b(?:and/or|or/and)\b", re.IGNORECASE)
_CLOSING = frozenset({"and", "or", "&"})
_LAST = _CLOSING | {"/"}  # what stands before the last name of a coordination
_PREPOSITIONS = frozenset(["of", "in", "to", "for", "from", "by", "with", "due"])
_LONGEST = 200  # characters of a mention that is looked at
_WIDEST = 8  # words before the first, or behind the last, coordinated name that may belong to all
_ARTICLES = frozenset(["the", "a", "an", "both", "other", "some", "any", "either", "all"])
_HEREDITARY = re.compile(r"\b(?:familial|inherited|genetic)\b", re.IGNORECASE)
_SYNONYMS = (  # heads that dictionaries and texts use for one another
    frozenset({"cancer", "carcinoma", "neoplasm", "tumor", "tumour", "malignancy"}),
    frozenset({"abnormality", "anomaly", "defect", "disease", "disorder", "malformation"}),
)
_TURNED = re.compile(r"(.+?) (?:of|in) (?:the )?(.+)")
_OPPOSED = re.compile(  # what tells kinds of one thing apart rather than things
    r"(?:non|un|bi|in)[a-z-]+|sporadic|familial|hereditary|inherited|classical|partial|complete|total|subtotal",
    re.IGNORECASE,
)


def split(mention: str, is_name: IsName) -> list[str]:
    """Split a coordinated mention into the names it stands for, looking at no gold; any other mention stays whole.

    Each name is made of the words that all share and those of one member: all must be names, in the singular or plural and
    with usual synonyms of their head, or the others so like one that is. What is itself a name stays whole.

    >>> split("breast and ovarian cancer", {"breast cancer", "ovarian cancer"}.__contains__)
    ['breast cancer', 'ovarian cancer']
    """
    if not _SIGN.search(mention) or len(mention) > _LONGEST or "(" in mention or "[" in mention:
        return [mention]
    members = _members(mention)
    if len(members) < 2 or _is_known_whole(mention, is_name):
        return [mention]
    for left, right in _frames(members, slash="/" in _tokens(mention)):
        parts = _parts(members, left, right)
        if _is_plausible(parts, is_name):
            return [" ".join((*before, *own, *after)) for before, own, after in parts]
    return [mention]


def _members(mention: str) -> list[list[str]]:
    """The words between the commas, slashes and conjunctions of a mention that has one coordination; else nothing."""
    members: list[list[str]] = [[]]
    joined = closed = False
    for written in _tokens(mention):
        word = written.lower()
        if word not in _LAST and word != ",":
            members[-1].append(written)
            continue
        if closed and (members[-1] or word == ","):
            return []  # two coordinations: it cannot be told what belongs to what
        joined = joined or word in _LAST
        closed = word in _CLOSING
        if members[-1]:
            members.append([])
    return members if joined and members[-1] else []


def _tokens(mention: str) -> list[str]:
    return _TOKEN.findall(_EITHER.sub("or", mention))


def _frames(members: Sequence[Sequence[str]], slash: bool) -> Iterator[tuple[int, int]]:
    """How many words at the left and at the right may be shared by all: one side before both, fewer words before more.

    A slash joins what follows a shared word ("hepatitis B/C"); before one it mostly joins two names of one thing.
    """
    lefts, rights = range(min(len(members[0]), _WIDEST)), range(min(len(members[-1]), _WIDEST))
    for left, right in sorted(
        product(lefts, rights),
        key=lambda frame: (frame[0] > 0 and frame[1] > 0, frame == (0, 0), sum(frame)),
    ):
        if (left or not slash) and members[0][left].lower() not in _PREPOSITIONS:
            yield left, right


_Part = tuple[Sequence[str], Sequence[str], Sequence[str]]


def _parts(members: Sequence[Sequence[str]], left: int, right: int) -> list[_Part]:
    """(shared words before, own words, shared words behind) of each member; articles before own words are left out."""
    before, after = members[0][:left], members[-1][len(members[-1]) - right :]
    own = [members[0][left:], *members[1:-1], members[-1][: len(members[-1]) - right]]
    return [(before, _bare(words), after) for words in own]


def _bare(words: Sequence[str]) -> Sequence[str]:
    """Words without leading articles and counts, as far as something is left."""
    at = next(
        (
            i
            for i, w in enumerate(words)
            if (w == "A" or w.lower() not in _ARTICLES) and not (w.isdigit() and i + 1 < len(words))
        ),
        len(words),
    )
    return words[at:]


def _is_plausible(parts: list[_Part], is_name: IsName) -> bool:
    known = sum(_is_known_part(part, is_name) for part in parts)
    if known == len(parts):
        return True
    before, _, after = parts[0]
    if len(parts) > 2:
        return 2 * known >= len(parts) and bool(before or after)
    head = " ".join(after)
    return (
        known > 0
        and bool(head)
        and _is_known(head, is_name)
        and _are_alike([own for _, own, _ in parts])
    )


def _are_alike(owns: Sequence[Sequence[str]]) -> bool:
    """Whether two members are single adjectives of one make ("atrophic or hypertrophic"), and no opposites."""
    if any(len(own) != 1 or _OPPOSED.fullmatch(own[0]) for own in owns):
        return False
    return owns[0][0][-2:].lower() == owns[1][0][-2:].lower()


def _is_known_whole(mention: str, is_name: IsName) -> bool:
    """Whether the whole is a name, also as a syndrome, with another conjunction, or with another word for hereditary."""
    text = re.sub(r"\s*(?:and/or|\bor\b|/|&)\s*", " and ", mention)
    forms = {mention, text, _HEREDITARY.sub("hereditary", text)}
    return any(is_name(v) or is_name(f"{v} syndrome") for form in forms for v in _numbers(form))


def _is_known_part(part: _Part, is_name: IsName) -> bool:
    """Whether a part is a name, with all words before it or the last of them (none, where words behind it are shared too)."""
    before, own, after = part
    if not own:
        return bool(after) and _is_known(" ".join(after), is_name)
    return any(
        _is_known(" ".join((*before[i:], *own, *after)), is_name)
        for i in range(len(before) + (1 if after or not before else 0))
    )


def _is_known(text: str, is_name: IsName) -> bool:
    """Whether a text is a name in the singular or plural, with a synonym of its head, or turned from "X of Y" into "Y X"."""
    return any(is_name(form) for form in _forms(text))


def _forms(text: str) -> Iterator[str]:
    yield from _headed(text)
    if turned := _TURNED.fullmatch(text):
        head, rest = turned.groups()
        for noun in _numbers(rest):
            yield from (f"{h} of {noun}" for h in _headed(head))
            yield from (f"{noun} {h}" for h in _headed(head))


def _headed(text: str) -> Iterator[str]:
    """A text with its last word in both numbers, and with the synonyms of that word."""
    yield from _numbers(text)
    modifiers, _, head = text.rpartition(" ")
    for group in _SYNONYMS:
        if group & set(_numbers(head.lower())):
            for other in group:
                yield from _numbers(f"{modifiers} {other}".strip())


def _numbers(text: str) -> list[str]:
    """A text as it is, and what its other number may be."""
    forms = [text]
    if text.endswith("ies"):
        forms.append(text[:-3] + "y")
    elif text.endswith("s"):
        forms.append(text[:-1])
        if text.endswith("es"):
            forms.append(text[:-2])
    else:
        forms += [text[:-1] + "ies"] if text.endswith("y") else [text + "s"]
    return forms


_OF = re.compile(
    r"([A-Za-z-]+ of) (?:both )?(?:the )?((?:[A-Za-z-]+ )+)(?:and|or) (?:the )?([A-Za-z-][A-Za-z -]*)"
)
_NESTED = re.compile(r"((?:[A-Za-z-]+,? )+)(?:and/or|and|or) ([A-Za-z-]+ and [A-Za-z-]+) (.*)")
_LIST = re.compile(r"((?:[A-Za-z-]+,? )+)(?:and/or|and|or) ((?:the )?[A-Za-z-]+) (.*)")


def split_by_gold(mention: str, parts: int) -> list[str]:
    """Split a mention into as many names as it has gold ids, by BioSyn's rule (Sung et al., 2020); whole where that fails.

    Args:
        mention: the text after its short forms are expanded, before it is normalised.
        parts: how many gold ids there are (those of OMIM not counted where others are there).
    """
    mention = mention.strip()
    if parts < 2 or len(mention) > _LONGEST:
        return [mention]
    found = _gold_parts(mention, parts)
    return found if len(found) == parts else [mention]


def _gold_parts(mention: str, parts: int) -> list[str]:
    if match := _OF.match(mention):
        head, first, second = match.groups()
        return [f"{head} {first.strip()}", f"{head} {second.strip()}"]
    if match := _NESTED.match(mention) or _LIST.match(mention):
        first, last, stem = match.groups()
        return [f"{name.strip()} {stem}" for name in [*first.strip().split(","), last] if name]
    if "/" in mention and "and/or" not in mention:
        before, _, second = mention.rpartition("/")
        head, _, first = before.rpartition(" ")
        return [f"{head} {name.strip()}".strip() for name in (first, second)]
    words = mention.split()
    return words if len(words) == parts else [mention]
