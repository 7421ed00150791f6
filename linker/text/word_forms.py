"""Which words are spellings and forms of one word, and which differ, however alike their letters.

"anaemic" and "anemia" are one word; "enema" and "edema", "glucagon" and "glucagonoma" are not, so
that none of these is a typing error of the other. The rules are in word_forms.tsv; common_words.txt
has common English and medical words, in the order of the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import product

from linker.text.british import american
from linker.text.composites import IsName
from linker.text.normalize import rows_of

_SHORTEST = 4  # letters of a word that has a plural s
_SHORTEST_SPELT = 3  # letters of a word that is compared with those of a name
_SHORTEST_STEM = 4  # letters of what two words have in common before their endings
_LONGEST_TAIL = 2  # letters that a word has where another has an ending: "cystine", "cystinosis"
_REMEMBERED = 30_000  # words and pairs whose forms are kept


@cache
def common_words() -> frozenset[str]:
    """The common words of English and of medicine, in lower case."""
    path = resources.files("linker.text") / "common_words.txt"
    return frozenset(path.read_text("utf-8").split())


def is_common(word: str) -> bool:
    """Whether a word in lower case is a common one, or the plural of one."""
    return common_form(word) in common_words()


def common_form(word: str) -> str:
    """A common word as it is known: itself, or its singular."""
    return word if word in common_words() else singular(word)


def singular(word: str) -> str:
    """A word without the s of its plural, or of its possessive."""
    if len(word) < _SHORTEST or word.endswith(("ss", "us", "is")) or not word.endswith("s"):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word[:-1]


@lru_cache(_REMEMBERED)
def is_same_word(first: str, second: str) -> bool:
    """Whether two words are spellings of one, its singular and plural, or noun and adjective."""
    first = _base(first)
    second = _base(second)
    if first == second:
        return True
    cut = _SHORTEST_STEM
    while first[:cut] == second[:cut] and cut <= min(len(first), len(second)):
        if (first[cut:], second[cut:]) in _inflections():
            return True
        cut += 1
    return False


@lru_cache(_REMEMBERED)
def _base(word: str) -> str:
    """The singular of a word in American spelling."""
    return singular(american(word))


def nouns_of(word: str) -> Iterator[str]:
    """The nouns that a word may be an adjective or the plural of; itself, too."""
    for one in dict.fromkeys((word, singular(word))):
        yield one
        for noun, other in _pairs("inflection"):
            if other and one.endswith(other) and len(one) - len(other) >= _SHORTEST_STEM:
                yield one[: -len(other)] + noun


@lru_cache(_REMEMBERED)
def is_another_word(word: str, other: str) -> bool:
    """Whether a word as it is written cannot be a typing error of another.

    Args:
        word: as it is written, in lower case.
        other: what it may be.

    Returns:
        True where it is a common word, or differs in a telling prefix or ending, and the two are no
        forms of one word.
    """
    if is_same_word(word, other):
        return False
    return is_common(word) or differ_in_affix(word, other)


def of_eponym(form: str, is_name: IsName) -> str:
    """The name that an eponym alone stands for: "wilson s disease" for "wilsons" and "wilson s".

    One without its s may be a common word, so that the name must be known in both forms: "hashimoto
    s disease" and "hashimoto disease", but not "hemoglobin s disease".

    Args:
        form: a text in normal form; one of several words is an eponym only if the last one is "s".
        is_name: tells the names of the dictionary in normal form.

    Returns:
        The first name, or an empty text where there is none.
    """
    eponym = form.removesuffix(" s")
    if " " in eponym:
        return ""
    has_apostrophe = eponym != form
    is_possessive = has_apostrophe or form.endswith("s")
    name = eponym if has_apostrophe or not is_possessive else form[:-1]
    is_free = has_apostrophe or form not in common_words()
    for head in _all("eponym"):
        full = f"{name} s {head}"
        if is_name(full) and (is_possessive or is_free or is_name(f"{name} {head}")):
            return full
    if not (is_possessive and is_free):
        return ""
    names = (f"{one} {head}" for one in (name, form) for head in _all("eponym"))
    return next(filter(is_name, names), "")


def are_other_words(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether words are like those of a name by their letters alone, and each is another word.

    Args:
        words: of a text in normal form.
        others: of a name in normal form.

    Returns:
        False where one of the words may be one of the name's, or is unknown and like none of them.
    """
    is_any_alike = False
    for word in words:
        if len(word) < _SHORTEST_SPELT:
            continue
        alike = [other for other in others if _are_alike(word, other)]
        if not alike and not is_common(word):
            return False
        if not all(is_another_word(word, other) for other in alike):
            return False
        is_any_alike = is_any_alike or bool(alike)
    return is_any_alike


def has_other_word(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a text differs from a name in a word that has another telling prefix or ending.

    Args:
        words: of the text in normal form: "nonalcoholic fatty liver".
        others: of the name: "alcoholic fatty liver".
    """
    own = _lacking(words, others)
    if not own:
        return False
    pairs = product(own, _lacking(others, words))
    return any(_are_alike(word, other) and differ_in_affix(word, other) for word, other in pairs)


def shares_words(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a text has at least half of the words of a name, in whatever form."""
    return bool(others) and 2 * len(_lacking(others, words)) <= len(others)


def _lacking(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Those of some words that are none of the others, in whatever form."""
    different = [word for word in words if word not in others]
    return [word for word in different if not any(is_same_word(word, one) for one in others)]


def _are_alike(word: str, other: str) -> bool:
    """Whether half of the letters of the shorter of two words stand in both without a gap."""
    least = max(_SHORTEST_SPELT, min(len(word), len(other)) // 2)
    return any(word[start : start + least] in other for start in range(len(word) - least + 1))


def differ_in_affix(word: str, other: str) -> bool:
    """Whether two words differ in a prefix or an ending that makes another word."""
    word = american(word)
    other = american(other)
    return _differ_in_prefix(word, other) or _differ_in_ending(word, other)


def _differ_in_prefix(word: str, other: str) -> bool:
    """Whether a word is another one with a telling prefix, or has a different one before a word."""
    rests = _without_prefix(word)
    others = {rest for rest in _without_prefix(other) if is_common(rest)}
    return any(is_same_word(rest, other) or rest in others for rest in rests)


@lru_cache(_REMEMBERED)
def _without_prefix(word: str) -> list[str]:
    """What a word is without each of the prefixes that it has."""
    rests = [word[len(prefix) :] for prefix in _all("prefix") if word.startswith(prefix)]
    return [rest for rest in rests if len(rest) >= _SHORTEST_STEM]


def _differ_in_ending(word: str, other: str) -> bool:
    """Whether one stem has a telling ending in one word, and none or another one in the other."""
    stems = _without_ending(word)
    other_stems = _without_ending(other)
    if stems and other_stems and not set(stems.values()).isdisjoint(other_stems.values()):
        return set(stems) != set(other_stems)
    return _has_ending_beside(stems, other) or _has_ending_beside(other_stems, word)


@lru_cache(_REMEMBERED)
def _without_ending(word: str) -> dict[str, str]:
    """What a word is without each of the endings that it has, and without a vowel before it."""
    word = singular(word)
    stems = {
        ending: word.removesuffix(ending).rstrip("aio")
        for ending in _all("ending")
        if word.endswith(ending)
    }
    return {ending: stem for ending, stem in stems.items() if len(stem) >= _SHORTEST_STEM}


def _has_ending_beside(stems: dict[str, str], bare: str) -> bool:
    """Whether a word is one of some stems, alone or with a tail that is no part of its ending.

    Args:
        stems: of the other word, by the ending that it has behind each.
        bare: the word.
    """
    for ending, stem in stems.items():
        tail = bare.removeprefix(stem)
        is_cut = len(tail) == len(ending) - 1 and set(tail) <= set(ending)  # "melanma"
        if bare.startswith(stem) and len(tail) <= _LONGEST_TAIL and not is_cut:
            return True
    return False


@cache
def _pairs(kind: str) -> tuple[tuple[str, str], ...]:
    """The pairs of one kind in the table."""
    return tuple((row[1], row[2]) for row in rows_of("word_forms.tsv") if row[0] == kind)


@cache
def _inflections() -> frozenset[tuple[str, str]]:
    """The pairs of endings of one word, in both orders."""
    pairs = _pairs("inflection")
    return frozenset([*pairs, *((second, first) for first, second in pairs)])


@cache
def _all(kind: str) -> tuple[str, ...]:
    """The prefixes, or the endings, of the table."""
    return tuple(row[1] for row in rows_of("word_forms.tsv") if row[0] == kind)
