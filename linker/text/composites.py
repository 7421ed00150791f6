"""Coordinated mentions ("breast and ovarian cancer") and the names that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial
from itertools import product

from linker.text.languages import LANGUAGES, Language

IsName = Callable[[str], bool]
"""Answers whether a text, however it is written, is a name of the dictionary."""

_ENGLISH = LANGUAGES["en"]
_TOKEN = re.compile(r"[^\s,/&]+|[,/&]")
_LONGEST = 200  # characters of a mention that is looked at
_WIDEST = 8  # words before the first, or behind the last, coordinated name that may belong to all
_HYPHENATED = 3  # letters of a compound before and behind the place where it is cut, at least
_HEREDITARY = re.compile(r"\b(?:familial|inherited|genetic)\b", re.IGNORECASE)
_SYNONYMS = (  # last words of names that are used for one another
    frozenset({"cancer", "carcinoma", "neoplasm", "tumor", "tumour", "malignancy"}),
    frozenset({"abnormality", "anomaly", "defect", "disease", "disorder", "malformation"}),
)
_TURNED = re.compile(r"(.+?) (?:of|in) (?:the )?(.+)")
_OPPOSED = re.compile(  # adjectives that name kinds of one disease rather than diseases
    r"(?:non|un|bi|in)[a-z-]+|sporadic|familial|hereditary|inherited|classical|partial|complete"
    r"|total|subtotal",
    re.IGNORECASE,
)


def split(mention: str, is_name: IsName, languages: Sequence[Language] = (_ENGLISH,)) -> list[str]:
    """Split a coordinated mention into the names that it stands for, without looking at gold ids.

    A name consists of words that all names share and of words of its own. The mention is split
    where all names are names of the dictionary, in the singular or plural or with a usual synonym
    of their last word, or where some are and the others are very similar. Any other mention is
    returned whole, as is a mention that is a name of the dictionary itself.

    Args:
        mention: as it is written.
        is_name: tells the names of the dictionary.
        languages: that the mention may be in; the first in which it can be split counts.

    >>> split("breast and ovarian cancer", {"breast cancer", "ovarian cancer"}.__contains__)
    ['breast cancer', 'ovarian cancer']
    """
    return Coordination(mention, is_name, languages).split()


class Coordination:
    """A mention that may coordinate names, and the ways to split it; arguments as of `split`."""

    def __init__(
        self, mention: str, is_name: IsName, languages: Sequence[Language] = (_ENGLISH,)
    ) -> None:
        self._mention = mention
        self._is_name = is_name
        # the ways of each language that has some, and what tells names in its forms
        self._ways: list[tuple[Language, list[list[_Part]], IsName]] = []
        for language in languages:
            if ways := _ways(mention, language):
                is_known = lru_cache(None)(partial(_is_known, is_name=is_name, language=language))
                self._ways.append((language, ways, is_known))

    def split(self) -> list[str]:
        """See the function `split`."""
        for language, ways, is_known in self._ways:
            if not _is_known_whole(self._mention, self._is_name, language):
                for parts in ways:
                    if _is_plausible(parts, is_known):
                        return _joined(parts)
        return [self._mention]

    def bold_split(self) -> list[str]:
        """Split a mention that `split` leaves whole, or splits in another way.

        It may be a name as a whole ("breast and ovarian cancer"). It is split in the way that gives
        the most names of the dictionary; it stays whole where no way gives one.
        """
        every: list[list[_Part]] = []
        known: list[int] = []
        for _, ways, is_known in self._ways:
            for parts in ways:
                every.append(parts)
                of_parts = sum(_is_known_part(part, is_known) for part in parts)
                known.append(_is_plausible(parts, is_known) + of_parts)
        return _joined(every[known.index(max(known))]) if any(known) else [self._mention]


def _ways(mention: str, language: Language) -> list[list[_Part]]:
    """The ways to split a mention; none where it names one thing, or is too long to look at."""
    if len(mention) > _LONGEST or "(" in mention or "[" in mention:
        return []
    if not language.may_join(mention) or not language.sign.search(mention):
        return []
    return [way for text in _written_out(mention, language) for way in _ways_of(text, language)]


def _ways_of(mention: str, language: Language) -> Iterator[list[_Part]]:
    members = _members(mention, language)
    if len(members) > 1:
        for left, right in _frames(members, "/" in _tokens(mention, language), language):
            yield _parts(members, left, right, language)


def _written_out(mention: str, language: Language) -> list[str]:
    """What a mention may be with the parts of compounds that its hyphens stand for.

    "Leber- und Nierenversagen" is written with each end of its last word, one of which makes it
    "Leberversagen und Nierenversagen"; "Nierenzysten und -steine" with each beginning of its first.
    """
    words = _tokens(mention, language)
    ahead = [i for i, word in enumerate(words) if word[1:].endswith("-")]
    behind = [i for i, word in enumerate(words) if i and word[0] == "-" != word]
    if not language.hyphens or not (ahead or behind):
        return [mention]
    others = words[ahead[-1] + 1 :] if ahead else words[: behind[0]][::-1]
    whole = next((word for word in others if word.lower() not in language.conjunctions), "")
    return [
        " ".join(
            word[:-1] + whole[cut:]
            if i in ahead
            else whole[:cut] + word[1:]
            if i in behind
            else word
            for i, word in enumerate(words)
        )
        for cut in range(_HYPHENATED, len(whole) - _HYPHENATED + 1)
    ]


def _joined(parts: Sequence[_Part]) -> list[str]:
    """The names as texts."""
    return [" ".join((*before, *words, *after)) for before, words, after in parts]


def _members(mention: str, language: Language) -> list[list[str]]:
    """The words between the commas, slashes and conjunctions of a mention.

    There are none where the mention has no coordination, or more than one.
    """
    members: list[list[str]] = [[]]
    joined = closed = False
    closing = {*language.conjunctions, "&"}
    for written in _tokens(mention, language):
        word = written.lower() if len(written) > 1 else written  # "hepatitis E": no conjunction
        is_last = word in closing or word == "/"
        if not is_last and word != ",":
            members[-1].append(written)
            continue
        if closed and (members[-1] or word == ","):
            return []  # of two coordinations nobody knows what belongs to what
        joined = joined or is_last
        closed = word in closing
        if members[-1]:
            members.append([])
    return members if joined and members[-1] else []


def _tokens(mention: str, language: Language) -> list[str]:
    return _TOKEN.findall(language.both.sub(language.conjunctions[0], mention))


def _frames(
    members: Sequence[Sequence[str]], slash: bool, language: Language
) -> Iterator[tuple[int, int]]:
    """Yield how many words at the left and at the right may be shared by all names.

    Shared words on one side come before those on both, and fewer words before more. With a slash,
    words at the left must be shared ("hepatitis B/C"): others mostly are two names of one thing.
    """
    lefts, rights = range(min(len(members[0]), _WIDEST)), range(min(len(members[-1]), _WIDEST))
    for left, right in sorted(
        product(lefts, rights),
        key=lambda frame: (frame[0] > 0 and frame[1] > 0, frame == (0, 0), sum(frame)),
    ):
        if (left or not slash) and members[0][left].lower() not in language.prepositions:
            yield left, right


_Part = tuple[Sequence[str], Sequence[str], Sequence[str]]
"""A name in words: those shared at its left, those of its own, those shared at its right."""


def _parts(
    members: Sequence[Sequence[str]], left: int, right: int, language: Language
) -> list[_Part]:
    """The names that the members stand for, without articles before their own words.

    Args:
        members: the words between commas, slashes and conjunctions.
        left: how many words of the first member are shared.
        right: how many words of the last member are shared.
        language: of the articles.
    """
    first, *middle, last = members
    end = len(last) - right
    return [
        (first[:left], _bare(words, language.articles), last[end:])
        for words in (first[left:], *middle, last[:end])
    ]


def _bare(words: Sequence[str], articles: AbstractSet[str]) -> Sequence[str]:
    """Words without the articles and numbers that they begin with; a last number stays."""
    for i, word in enumerate(words):
        is_article = word != "A" and word.lower() in articles
        is_count = word.isdigit() and i + 1 < len(words)
        if not is_article and not is_count:
            return words[i:]
    return []


def _is_plausible(parts: list[_Part], is_known: IsName) -> bool:
    """Whether the parts of a mention are names, or enough of them are."""
    known = sum(_is_known_part(part, is_known) for part in parts)
    if known == len(parts):
        return True
    before, _, after = parts[0]
    if len(parts) > 2:
        return 2 * known >= len(parts) and bool(before or after)
    if not known or not after or not is_known(" ".join(after)):
        return False
    return _are_alike([words for _, words, _ in parts])


def _are_alike(members: Sequence[Sequence[str]]) -> bool:
    """Whether two members are adjectives with one ending ("atrophic or hypertrophic")."""
    if any(len(words) != 1 or _OPPOSED.fullmatch(words[0]) for words in members):
        return False
    return members[0][0][-2:].lower() == members[1][0][-2:].lower()


def _is_known_whole(mention: str, is_name: IsName, language: Language) -> bool:
    """Whether a whole mention is a name.

    It may be one with "syndrome" behind it, another conjunction, or another word for "hereditary".
    """
    text = language.last.sub(f" {language.conjunctions[0]} ", mention)
    forms = {mention, text, _HEREDITARY.sub("hereditary", text)}
    numbers = _numbers if language.endings is None else language.singular
    return any(is_name(v) or is_name(f"{v} syndrome") for form in forms for v in numbers(form))


def _is_known_part(part: _Part, is_known: IsName) -> bool:
    """Whether a part is a name, with all shared words at its left or only the last of them.

    Without any of these it may be a name too where words at its right are shared.
    """
    before, words, after = part
    if not words:
        return bool(after) and is_known(" ".join(after))
    return any(
        is_known(" ".join((*before[i:], *words, *after)))
        for i in range(len(before) + (1 if after or not before else 0))
    )


def _is_known(text: str, is_name: IsName, language: Language) -> bool:
    """Whether a text, in one of its forms, is a name."""
    forms = _forms(text) if language.endings is None else language.singular(text)
    return any(map(is_name, forms))


def _forms(text: str) -> Iterator[str]:
    """An English text in both numbers, with synonyms of its last word, and "X of Y" as "Y X"."""
    yield from _headed(text)
    if turned := _TURNED.fullmatch(text):
        head, rest = turned.groups()
        for noun in _numbers(rest):
            yield from (f"{other} of {noun}" for other in _headed(head))
            yield from (f"{noun} {other}" for other in _headed(head))


def _headed(text: str) -> Iterator[str]:
    """A text with its last word in both numbers, and with synonyms of this word."""
    yield from _numbers(text)
    modifiers, _, head = text.rpartition(" ")
    for group in _SYNONYMS:
        if group & set(_numbers(head.lower())):
            for other in group:
                yield from _numbers(f"{modifiers} {other}".strip())


def _numbers(text: str) -> list[str]:
    """A text, and what its singular or plural may be."""
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
