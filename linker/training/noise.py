"""Mentions as people write them in cells, and texts that are no disease, to fit the ranker to.

Annotated mentions stand in running text as annotators mark them. In cells more stands beside a
name, and has typing errors; and much of what is pasted in names no disease at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from itertools import combinations

import numpy as np

from linker.readers.mentions import flatten
from linker.text.composites import IsName
from linker.text.find import is_short_form
from linker.types import Document, Mention

WRAPPED = (  # what may stand beside a name and is not always a mark; {} is the name
    (
        "mild {}",
        "moderate {}",
        "severe {}",
        "{}, mild",
        "{} - moderate",
        "{} (severe)",
        "{} severe",
    ),
    ("left {}", "right {}", "bilateral {}", "{}, left", "{} (right)", "{} left side", "{} R"),
    ("{}, stage II", "{} stage 3", "{} (stage IV)", "{} grade 1", "{} gr 2", "{}, class III"),
    ("{}, well controlled", "uncontrolled {}", "recurrent {}", "{}, relapsed", "{} - stable"),
    ("{} on steroids", "{} on methotrexate", "{} treated with surgery", "{}, for transplant"),
    ("{} with complications", "{} w/ pain", "{} requiring oxygen", "{} due to trauma"),
    ("{} (mother is carrier)", "{} (proven on biopsy)", "{} [see report]", "{} (mutation found)"),
    ("{} - seen in clinic", "{}, under Dr Jones", "{}: seen 3/12 ago", "{} / review", "{} ++"),
)
"""Wrappings by kind; each kind is as frequent."""

ERRORS = {"transposed": 0.5, "dropped": 0.2, "doubled": 0.1, "replaced": 0.2}
"""The shares of typing errors."""

_SHORTEST = 5  # letters of a word that has a typing error
_PHRASES = 8  # of each document
_WORD = re.compile(r"[^\W_][\w-]*[^\W_]|[^\W_]")
_KEYS = "abcdefghijklmnopqrstuvwxyz"
_STOPS = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "been", "by", "for", "from", "had", "has"),
        *("have", "in", "is", "it", "its", "not", "of", "on", "or", "our", "that", "the", "their"),
        *("these", "this", "to", "was", "we", "were", "which", "with"),
    }
)


def noisy(items: Iterable[Mention | Document], random: np.random.Generator) -> list[Mention]:
    """The annotated mentions of some items once in a wrapping, and once with a typing error.

    Mentions without a concept, short forms, and texts that were annotated in several ways are left
    out; each text is taken once.
    """
    golds: dict[str, set[object]] = {}
    first: dict[str, Mention] = {}
    for mention, _ in flatten(items):
        if mention.gold and not is_short_form(mention.text):
            golds.setdefault(mention.text.lower(), set()).add(mention.gold)
            first.setdefault(mention.text.lower(), mention)
    result = []
    for text, mention in first.items():
        if len(golds[text]) > 1:
            continue
        kind = WRAPPED[random.integers(len(WRAPPED))]
        texts = [kind[random.integers(len(kind))].format(mention.text)]
        texts += misspelt(mention.text, random)
        result += [Mention(noise, gold=mention.gold) for noise in texts]
    return result


def misspelt(text: str, random: np.random.Generator) -> Iterator[str]:
    """A text with a typing error in one of its long words; nothing where it has none."""
    words = [m.span() for m in re.finditer(rf"[a-zA-Z]{{{_SHORTEST},}}", text)]
    if not words:
        return
    start, end = words[random.integers(len(words))]
    at = int(random.integers(start + 1, end - 1))
    kind = random.choice(list(ERRORS), p=list(ERRORS.values()))
    letters = {
        "transposed": text[at + 1] + text[at],
        "dropped": text[at + 1],
        "doubled": text[at] + text[at : at + 2],
        "replaced": _KEYS[random.integers(len(_KEYS))] + text[at + 1],
    }[str(kind)]
    if (error := text[:at] + letters + text[at + 2 :]) != text:
        yield error


def no_disease(
    items: Sequence[Mention | Document], is_name: IsName, random: np.random.Generator
) -> list[Mention]:
    """Texts that are no disease: of our table, and phrases that documents have beside mentions.

    Args:
        items: annotated documents; mentions without a text give nothing.
        is_name: tells the names of the dictionary, which are left out with all that holds one.
        random: the source of all samples.
    """
    documents = [item for item in items if isinstance(item, Document) and item.passages]
    texts = [*table(), *(text for d in documents for text in _phrases(d, random))]
    return [
        Mention(text, gold=()) for text in dict.fromkeys(texts) if not holds_name(text, is_name)
    ]


@lru_cache(maxsize=1)
def table() -> tuple[str, ...]:
    """What comes with linker of texts that are no disease."""
    text = (resources.files("linker.training") / "no_disease.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return tuple(row[0] for row in rows[1:])


def _phrases(document: Document, random: np.random.Generator) -> Iterator[str]:
    """Phrases of one to three words beside the annotated mentions of a document."""
    text, taken = document.text, [span for m in document.mentions for span in m.spans]
    words = [m.span() for m in _WORD.finditer(text)]
    for first in random.permutation(len(words))[:_PHRASES].tolist():
        last = min(first + int(random.integers(3)), len(words) - 1)
        start, end = words[first][0], words[last][1]
        phrase = text[start:end]
        is_apart = all(end <= a or b <= start for a, b in taken)
        ends = {phrase.split()[0].lower(), phrase.split()[-1].lower()}
        if is_apart and not ends & _STOPS and not re.search(r"[^\w\s-]", phrase):
            yield phrase


def holds_name(text: str, is_name: IsName) -> bool:
    """Whether some words of a text, one behind another, are a name."""
    words = text.split()
    pairs = combinations(range(len(words) + 1), 2)
    return any(is_name(" ".join(words[a:b])) for a, b in pairs)
