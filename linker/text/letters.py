"""The cost of matching the letters of a short form with the words of a long form, in order.

It is 0 where each letter is the first one of a word, and each word has a letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache

_NEVER = 99.0  # cost of what cannot be
_COST = {  # of one step; what is matched at its first letter is free (a word) or cheap (a piece)
    "piece": 0.25,  # a letter at the start of a piece inside a word: "non-Hodgkin" for NH
    "stem": 0.2,  # a letter at the start of a common stem: "immunodeficiency" for ID
    "next": 0.35,  # a letter right behind the last one
    "inner": 0.7,  # a letter anywhere else behind the first
    "unopened": 1.35,  # the first letter of a word passed over, a later one used
    "number": 0.31,  # a digit for a word: "two-dimensional" for 2D
    "digit": 1.6,  # a digit without counterpart
    "tail": 0.65,  # a final s or p of the short form without counterpart
    "skip": 1.0,  # a word without a letter of the short form
    "stop": 0.15,  # the same for "of", "the", …
    "and": 1.28,  # "and" or "or"
    "skip_piece": 0.19,  # a piece without a letter
    "end": 0.66,  # a last word without a letter
    "end_stop": 1.5,  # the same, a word such as "of"
    "start_piece": 0.38,  # the long form starts inside a hyphenated word
    "prefix": 0.51,  # the short form leaves out a prefix of the long one: "7,12-dimethyl…"
    "start_stop": 1.3,  # the long form starts with a stop word
    "start_letter": 0.3,  # the long form starts with a single letter
}
_LIMIT_BASE, _LIMIT_LETTER = 0.55, 0.4  # highest cost of a definition: base + letters × this
_SINGLE = 0.1  # limit for a short form of one letter
STOP = frozenset(
    ["a", "an", "and", "as", "at", "by", "de", "des", "for", "from", "in", "is", "la", "le"]
) | frozenset(["of", "on", "or", "per", "the", "to", "with", "versus", "vs", "via"])
_STEM = re.compile(
    "acet|acid|aff|amin|androst|angi|ataxi|benz|blast|butyl|carbo|card|carp|cerebr|chlor|cholin"
    "|chondr|crani|cyan|cyclo|cyt|dehydro|dent|deoxy|derm|electr|emia|emul|enceph|epilep|ester"
    "|ethanol|ethyl|fib|fluor|form|gastr|gen|glob|glyc|gram|graph|hepat|hydr|ichthy|immun|inosit"
    "|intest|iso|kerat|leuk|lymph|mandib|meth|morph|mucop|myel|myo|nephr|neur|nucl|ophthalm|oste"
    "|oxid|oxy|pancrea|path|penia|pept|phen|phosph|plas|plegi|poly|prop|prot|psor|pyr|ren|retin|rib"
    "|sacchar|scop|ser|skelet|spondyl|sulf|sulph|telang|tens|ther|thio|thromb|toc|trans|tri|trich"
    "|troph|type|uri|vasc|vent|vir"
)
_NUMBERS = {
    "0": "zero",
    "1": "one first mono i uni",
    "2": "two second bi di ii double",
    "3": "three third tri iii",
    "4": "four tetra quad iv",
    "5": "five fifth penta v",
    "6": "six hexa vi",
    "7": "seven hepta",
    "8": "eight octa",
    "9": "nine ninth",
}
# a gene or protein that is fused to the named one
_NAME = re.compile(r"(?=\w*[A-Z])(?=\w*[A-Z\d]\w*[A-Z\d])\w{4,}-")
PIECE = re.compile(r"[^\W_]+")
_DENIAL = re.compile(r"\W*(non|anti)-", re.IGNORECASE)
_LOCANTS = re.compile(r"\b(?:\d+'*, ?)+$")  # "1, 3-propanediol"
_LONGEST_WORD = 80  # letters of a word that are looked at
QUOTES = "\"'“”‘’ "


def limit(short: str) -> float:
    """The maximum cost at which a short form is taken to stand for a long form."""
    letters = sum(c.isalnum() for c in short)
    return _LIMIT_BASE + _LIMIT_LETTER * letters if letters > 1 else _SINGLE


def is_balanced(text: str) -> bool:
    """Whether a text closes as many brackets as it opens."""
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


def cost(long: str, short: str, stop: AbstractSet[str] = STOP) -> float:
    """The minimum cost of matching a short form with all words of a long form."""
    return min(_matched(_words(long.split()), form, stop) + extra for form, extra in _forms(short))


def best_start(before: str, short: str, stop: AbstractSet[str] = STOP) -> tuple[float, int]:
    """Find where the long form of a short form starts.

    Args:
        before: the text before the short form; the long form ends where it ends.
        short: the short form.
        stop: words that need no letter.

    Returns:
        The minimum cost, and the position in `before` where it is reached.
    """
    best = (_NEVER, 0)
    tokens = list(re.finditer(r"\S+", before))
    words = _words([t.group() for t in tokens])
    for form, extra in _forms(short):
        first = max(0, len(tokens) - min(len(form) + 7, 2 * len(form) + 2))
        for i in range(len(tokens) - 1, first - 1, -1):
            starts = _starts(tokens[i].group(), words[i + 1 :], form, stop)
            places = [(price, tokens[i].start() + at) for price, at in starts]
            for price, place in (*places, *_numbered(tokens, words, i, form, stop)):
                if price + extra < best[0] - 1e-9 and is_balanced(before[place:]):
                    best = (price + extra, place)
    locants = _LOCANTS.search(before[: best[1]]) if before[best[1] :][:1].isdigit() else None
    return best[0], locants.start() if locants else best[1]


def permuted_start(before: str, short: str) -> int | None:
    """Find a long form whose initials are the letters of a short form in any order.

    Args:
        before: the text before the short form; the long form ends where it ends.
        short: the short form, of which only two or three capitals are looked at.

    Returns:
        Where the long form starts, or None.
    """
    if len(short) not in (2, 3) or not short.isupper():
        return None
    last = list(re.finditer(r"\S+", before))[-len(short) :]
    initials = sorted(token.group()[0].upper() for token in last)
    return last[0].start() if initials == sorted(short) else None


def _forms(short: str) -> Iterator[tuple[str, float]]:
    """The letters and digits of a short form, and those without a final s or p, with their cost.

    An s at the end may be a plural, and a p behind a digit a protein.
    """
    letters = "".join(PIECE.findall(short.lower()))
    yield letters, 0.0
    if re.search(r"\w([A-Z]s|\d[ps])$", short):
        yield letters[:-1], _COST["tail"]


def _words(tokens: list[str]) -> list[str]:
    """Lower-case words without quotation marks and commas."""
    return [token.lower().strip("\"'“”").rstrip(",") for token in tokens]


def _starts(
    token: str, rest: list[str], form: str, stop: AbstractSet[str]
) -> Iterator[tuple[float, int]]:
    """Yield the cost of each long form that starts in a word, and where in the word it starts.

    It starts with the word, unless what stands before the matched piece denies it ("non-"), splits
    the word, or names another gene.

    Args:
        token: the word.
        rest: the words behind it, in lower case.
        form: letters and digits of the short form.
        stop: words that need no letter.
    """
    for piece in PIECE.finditer(token, 0, _LONGEST_WORD):
        if piece.group()[0].lower() != form[0] and form[0] not in _NUMBERS:
            continue
        at, before = piece.start(), token[: piece.start()]
        is_apart = "/" in before or "--" in before or _DENIAL.fullmatch(before)
        start = at
        if not is_apart and not _NAME.fullmatch(before):
            start = len(token) - len(token.lstrip(QUOTES + "(["))
        opened = token[at:].lower().rstrip(",")
        price = _matched([opened, *rest], form, stop)
        price += _COST["start_stop"] * (opened in stop) + _COST["start_letter"] * (len(opened) == 1)
        if start < at:
            price += _COST["prefix"]
        elif before.strip(QUOTES + "(["):
            price += _COST["start_piece"]
        yield price, start


def _numbered(
    tokens: list[re.Match[str]], words: list[str], i: int, form: str, stop: AbstractSet[str]
) -> Iterator[tuple[float, int]]:
    """Yield the cost and place of a long form that starts with the last digits of its short form.

    "Type 1 protein phosphatase" is such a long form, of PP1; the word behind the number is `i`.
    """
    letters = form.rstrip("0123456789")
    digits = form[len(letters) :]
    if i and digits and letters and words[i][:1] == letters[0]:
        number = words[i - 1]
        is_word = len(digits) == 1 and _is_number(number, 0, digits)
        if is_word or re.match(rf"{digits}(?!\d)", number):
            start = i - 2 if i > 1 and words[i - 2] == "type" else i - 1
            yield _matched(words[i:], letters, stop) + _COST["number"], tokens[start].start()


def _matched(words: list[str], form: str, stop: AbstractSet[str]) -> float:
    """The minimum cost of matching a short form with words, its first letter with the first word.

    Args:
        words: all words of the long form, in lower case.
        form: letters and digits of the short form.
        stop: words that need no letter.
    """
    costs = [0.0] + [_NEVER] * len(form)  # by letters used up
    for index, word in enumerate(words):
        skip = _COST["stop" if word in stop or len(word) == 1 else "skip"]
        skip = _COST["and"] if word in ("and", "or") else skip
        last, spelled = _COST["end_stop" if word in stop else "end"], _spell(word, form)
        new = [_NEVER] * (len(form) + 1)
        for used, cost in enumerate(costs):
            if cost >= _NEVER:
                continue
            if index:
                new[used] = min(new[used], cost + (skip if used < len(form) else last))
            for end, price in spelled.get(used, ()):
                new[end] = min(new[end], cost + price)
        for used in range(1, len(form)):
            if form[used].isdigit():
                new[used + 1] = min(new[used + 1], new[used] + _COST["digit"])
        costs = new
    return costs[-1]


@lru_cache(maxsize=1 << 12)
def _spell(word: str, form: str) -> dict[int, list[tuple[int, float]]]:
    """How many letters of a short form one word can be matched with, at which cost.

    Returns:
        For each position in the short form where the word may begin: the positions behind its last
        letter that the word can reach, each with the minimum cost.
    """
    word, skipped = word[:_LONGEST_WORD], _COST["skip_piece"]
    starts = [m.start() for m in PIECE.finditer(word)]  # of its pieces
    stems = {m.start() for m in _STEM.finditer(word)}
    result = {}
    for begin in range(len(form)):
        layer = _open(word, form[begin], starts)  # positions of the last letter, with their costs
        ends = []
        for end in range(begin + 1, len(form) + 1):
            if not layer:
                break
            price = min(c + skipped * sum(s > at for s in starts) for at, c in layer.items())
            ends.append((end, price))
            if end < len(form):
                layer = _step(word, form[end], layer, starts, stems)
        if ends:
            result[begin] = ends
    return result


def _open(word: str, sign: str, starts: list[int]) -> dict[int, float]:
    """The positions in a word that its first matched letter may have, with their costs."""
    layer = {}
    for at, letter in enumerate(word):
        is_first, is_start = starts[:1] == [at], at in starts
        if letter == sign:
            inner = _COST["piece"] + _COST["start_piece"] if is_start else _COST["unopened"]
            layer[at] = 0.0 if is_first else inner
        elif is_start and _is_number(word, at, sign):
            layer[at] = _COST["number"] + (0.0 if is_first else _COST["piece"])
    return layer


def _step(
    word: str, sign: str, layer: dict[int, float], starts: list[int], stems: set[int]
) -> dict[int, float]:
    """The positions that the next matched letter of the same word may have, with minimum costs.

    Args:
        word: the word, in lower case.
        sign: the letter or digit of the short form.
        layer: the positions of the letter before it, with their costs.
        starts: where the pieces of the word start.
        stems: where common stems start.
    """
    new: dict[int, float] = {}
    for at, letter in enumerate(word):
        is_start, is_letter = at in starts, letter == sign
        if not is_letter and not (is_start and _is_number(word, at, sign)):
            continue
        for last, cost in layer.items():
            if last >= at:
                break
            price = _COST["piece"] + (0.0 if is_letter else _COST["number"])
            if not is_start:
                price = _COST["next" if at == last + 1 else "inner"]
                price = _COST["stem"] if at in stems else price
            price += cost + _COST["skip_piece"] * sum(last < s < at for s in starts)
            new[at] = min(new.get(at, _NEVER), price)
    return new


def _is_number(word: str, at: int, sign: str) -> bool:
    """Whether a word says a digit at a position: "two" or "di" for 2."""
    return sign in _NUMBERS and any(
        word.startswith(n, at) and (len(n) > 2 or word == n) for n in _NUMBERS[sign].split()
    )
