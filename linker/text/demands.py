"""What a text demands of its answer: to share its gene, or not to be what "non-" negates.

Names that are alike in letters are often the opposite: "non-diabetic nephropathy" is no Diabetic
Nephropathy, and the disease of another gene is no answer for "CFTR variant".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_MAYBE = (
    "non",
    "variant",
    "mutat",
    "gene",
    "relat",
    "associat",
    "haploins",
    "delet",
    "duplic",
    "carrier",
    "positiv",
    "polymorph",
    "patho",
)
"""Letters, some of which a text that demands something has, so that others cost nothing."""
_NEGATED = re.compile(r"\bnon(?:\s*[-‐–]\s*|\s+)?([^\W\d_]{2,})", re.IGNORECASE)
_SHORTEST = 4  # letters that two words of one root begin with, at least
_ENDING = 3  # letters of the shorter one that may differ
_TOKEN = re.compile(r"[^\W_]+")
_GENE = re.compile(  # "CFTR", "Scn1a", "C9orf72", "brca1", "cftr"
    r"[A-Z][A-Z0-9]+|[A-Z][a-z]*\d\w*|[a-z]{2,6}\d+[a-z0-9]*|[b-df-hj-np-tv-xz]{3,6}"
)
_INHERITED = re.compile(
    r"variants?|mutat\w*|mutants?|genes?|genetic|deletions?|duplications?|polymorphisms?"
    r"|haploinsufficiency|exon|rearrangement|amplification|fusion|expansion",
    re.IGNORECASE,
)
"""Words that say that a short form beside them is a gene, not a disease."""
_BESIDE_GENES = re.compile(
    rf"{_INHERITED.pattern}|related|associated|linked|disorders?|diseases?|conditions?|syndromes?"
    "|spectrum|phenotypes?|pathogenic|likely|benign|vus|uncertain|significance|heterozygous"
    "|homozygous|hemizygous|compound|biallelic|monoallelic|germline|somatic|novel|known|carriers?"
    "|positive|negative|detected|found|status|missense|nonsense|frameshift|truncating|loss|gain"
    "|function|de|novo|in|of|on|to|the|an?|and|or|with",
    re.IGNORECASE,
)
"""Words beside the name of a gene that name no disease."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What the answer for a text must fulfil.

    Attributes:
        genes: of which one name of the answer must have one; each in words of the normal form.
        negated: words that "non-" stands before.
        rest: the words of the text without these.
    """

    genes: frozenset[tuple[str, ...]] = frozenset()
    negated: tuple[str, ...] = ()
    rest: frozenset[str] = frozenset()

    def allows(self, preferred: str, matched: str, names: Callable[[], Iterable[str]]) -> bool:
        """Whether a concept may be the answer.

        Args:
            preferred: its preferred name, in normal form, as all are.
            matched: the name that is like the text.
            names: gives all its names, where they are needed.
        """
        if self.genes:
            words_of_names = (set(name.split()) for name in names())
            return any(words.issuperset(gene) for words in words_of_names for gene in self.genes)
        return all(self._allows(word, preferred, matched, names) for word in self.negated)

    def _allows(
        self, word: str, preferred: str, matched: str, names: Callable[[], Iterable[str]]
    ) -> bool:
        """Whether a concept may be the answer for a text that negates a word."""
        is_affirmed = _affirms(preferred.split(), word)
        if not is_affirmed and not _affirms(matched.split(), word):
            return True
        is_rest = False
        for name in names():
            words = name.split()
            if _denies(words, word):
                return True
            is_rest = is_rest or self.rest == set(words)
        return is_rest and not is_affirmed


def demand_of(text: str, expand: Callable[[str], str]) -> Demand | None:
    """What a text that is no name demands; None where it is nothing, as of most.

    Args:
        text: as it is written.
        expand: gives a text with its short forms expanded.
    """
    lowered = text.lower()
    if not any(map(lowered.__contains__, _MAYBE)):
        return None
    if genes := _genes(text):
        is_gene = any(map(_INHERITED.fullmatch, _TOKEN.findall(text)))
        return Demand(genes if is_gene else genes | _genes(expand(text).upper()))
    negated = [match[1] for match in _NEGATED.finditer(text)]
    if not negated:
        return None
    words = [word.lower() for word in (*negated, *map(expand, negated)) if " " not in word]
    rest = _TOKEN.findall(_NEGATED.sub(" ", text).lower())
    return Demand(negated=tuple(dict.fromkeys(words)), rest=frozenset(rest))


def _genes(text: str) -> frozenset[tuple[str, ...]]:
    """The genes of a text that names nothing else, each in words: "NKX2-1" has two."""
    genes: list[tuple[str, ...]] = []
    for token in _TOKEN.findall(text):
        if _BESIDE_GENES.fullmatch(token):
            continue
        if token.isdigit() and genes:
            genes[-1] += (token,)
        elif _GENE.fullmatch(token):
            genes.append((token.lower(),))
        else:
            return frozenset()
    return frozenset(genes)


def _affirms(words: Sequence[str], word: str) -> bool:
    """Whether a name has a word, or one of its root, without a "non" before it."""
    return any(
        _is_one_root(other, word) and (place == 0 or words[place - 1] != "non")
        for place, other in enumerate(words)
    )


def _denies(words: Sequence[str], word: str) -> bool:
    """Whether a name has a word, or one of its root, with a "non" before it."""
    return any(
        (other == "non" and _is_one_root(behind, word))
        or (other.startswith("non") and _is_one_root(other[3:], word))
        for other, behind in zip(words, [*words[1:], ""], strict=True)
    )


def _is_one_root(first: str, second: str) -> bool:
    """Whether two words are equal, or begin alike: "diabetic" and "diabetes"."""
    shorter = min(len(first), len(second))
    least = max(_SHORTEST, shorter - _ENDING)
    return first == second or (shorter >= least and first[:least] == second[:least])
