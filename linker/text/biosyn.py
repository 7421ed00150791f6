"""What the published BioSyn code does to a mention before it is linked, for comparison with its figures."""

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
    """Preprocess a mention as BioSyn (Sung et al., 2020) does: short forms, composites by their gold ids, spelling, normal form.

    Args:
        mention: the text as annotated.
        definitions: short forms of its document and their long forms.
        ids: the gold ids as CURIEs; those of OMIM do not count where others are there.
        corrections: a spelling list.

    Returns:
        The normalised names, one, or one for each gold id of a composite that could be split.
    """
    expanded = expand_tokens(mention, definitions)
    parts = split_by_gold(expanded, count_ids(ids))
    return [
        normalize(correct(part.lower(), corrections or {}), PRESETS["biosyn"]) for part in parts
    ]


def count_ids(ids: Sequence[str]) -> int:
    """Count the ids that BioSyn's rule splits by: ids of OMIM are left out where there are others too."""
    others = sum(namespace(i) != "OMIM" for i in ids)
    return others or len(ids)
