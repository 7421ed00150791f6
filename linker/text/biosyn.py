"""The preprocessing of the published BioSyn code, for comparison with its figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from linker.ids import namespace
from linker.text.normalize import PRESETS, normalize
from linker.text.spelling import correct

_LONGEST_EXPANDED = 3000  # characters
_LONGEST_SPLIT = 200
_OF = re.compile(
    r"([A-Za-z-]+ of) (?:both )?(?:the )?((?:[A-Za-z-]+ )+)"
    r"(?:and|or) (?:the )?([A-Za-z-][A-Za-z -]*)"
)
_NESTED = re.compile(r"((?:[A-Za-z-]+,? )+)(?:and/or|and|or) ([A-Za-z-]+ and [A-Za-z-]+) (.*)")
_LIST = re.compile(r"((?:[A-Za-z-]+,? )+)(?:and/or|and|or) ((?:the )?[A-Za-z-]+) (.*)")


def biosyn_parts(
    mention: str,
    definitions: Mapping[str, str],
    ids: Sequence[str],
    corrections: Mapping[str, str] | None = None,
) -> list[str]:
    """Preprocess a mention as BioSyn (Sung et al., 2020) does.

    Short forms are expanded, composites are split by their gold ids, spelling is corrected, and the
    rest is normalised.

    Args:
        mention: the text as annotated.
        definitions: short forms of its document and their long forms.
        ids: the gold ids as CURIEs; those of OMIM do not count where others are there.
        corrections: a spelling list, see `spelling.read`.

    Returns:
        The normalised name, or for a composite that could be split one for each gold id.
    """
    expanded = expand_tokens(mention, definitions)
    parts = split_by_gold(expanded, count_ids(ids))
    return [
        normalize(correct(part.lower(), corrections or {}), PRESETS["biosyn"]) for part in parts
    ]


def count_ids(ids: Sequence[str]) -> int:
    """Count gold ids as BioSyn does: those of OMIM do not count where there are others."""
    others = sum(namespace(i) != "OMIM" for i in ids)
    return others or len(ids)


def expand_tokens(mention: str, definitions: Mapping[str, str]) -> str:
    """Replace short forms as BioSyn (Sung et al., 2020) does.

    Replaced are words between white space, parts of words between slashes, and words before a
    comma. White space is collapsed. The replacement is repeated until the text comes back to what
    it was before, or grows too long.
    """
    seen = {mention}
    while True:
        mention = " ".join(_expand_token(token, definitions) for token in mention.split())
        if mention in seen or len(mention) > _LONGEST_EXPANDED:
            return mention
        seen.add(mention)


def _expand_token(token: str, definitions: Mapping[str, str]) -> str:
    if "/" in token:
        token = "/".join(definitions.get(part, part) for part in token.split("/"))
    if token.endswith(","):
        word = token.replace(",", "")
        return definitions.get(word, word) + ","
    return definitions.get(token, token)


def split_by_gold(mention: str, parts: int) -> list[str]:
    """Split a mention into as many names as it has gold ids, as BioSyn does (Sung et al., 2020).

    A mention that cannot be split into so many names is returned whole.

    Args:
        mention: the text after its short forms are expanded, before it is normalised.
        parts: how many gold ids there are, see `count_ids`.
    """
    mention = mention.strip()
    if parts < 2 or len(mention) > _LONGEST_SPLIT:
        return [mention]
    names = _gold_parts(mention, parts)
    return names if len(names) == parts else [mention]


def _gold_parts(mention: str, parts: int) -> list[str]:
    """The names that the first fitting pattern splits a mention into, maybe not `parts` of them."""
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
