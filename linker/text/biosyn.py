"""The preprocessing of the published BioSyn code, for comparison with its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linker.ids import namespace
from linker.text.abbreviations import expand_tokens
from linker.text.composites import split_by_gold
from linker.text.normalize import PRESETS, normalize
from linker.text.spelling import correct


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
