"""Words that say of a disease how bad it is, how it runs, since when and where: "acute", "left"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from linker.text.composites import IsName
from linker.text.normalize import rows_of

_JOINING = frozenset({"and", "or", "to", "on", "und", "oder", "bis", "et", "ou", "y", "o"})
"""Words between modifiers: "relapsed or refractory", "mild to moderate"."""


@lru_cache(maxsize=1)
def _shipped() -> tuple[str, ...]:
    """The modifiers of modifiers.tsv."""
    return tuple(text for _, text in rows_of("modifiers.tsv")[1:])


class Modifiers:
    """Tells modifiers.

    Args:
        normalize: gives the normal form of a text.
        names_beside: given the normal forms of modifiers, gives all names of the concepts that one
            of them is the preferred name of.
    """

    def __init__(
        self,
        normalize: Callable[[str], str],
        names_beside: Callable[[frozenset[str]], Iterable[str]] = lambda _: (),
    ) -> None:
        self._normalize = normalize
        shipped = frozenset(map(normalize, _shipped()))
        self._forms = shipped.union(names_beside(shipped))
        self._words = _JOINING.union(form for form in self._forms if " " not in form)

    def __contains__(self, text: object) -> bool:
        """Whether a text is a modifier, or several, and nothing else."""
        form = self._normalize(str(text))
        return form in self._forms or (bool(form) and self._words.issuperset(form.split()))

    def begins_or_ends(self, form: str) -> bool:
        """Whether the first or the last word of a text in normal form is a modifier."""
        words = form.split()
        return bool(words) and not self._forms.isdisjoint((words[0], words[-1]))

    def left_out(self, form: str) -> str:
        """A text in normal form without the words that are modifiers."""
        return " ".join(word for word in form.split() if word not in self._words)


def kept_together(pieces: Sequence[str], is_modifier: IsName) -> list[str]:
    """Pieces of a text, of which a modifier stays with the piece before it, or else behind it.

    >>> kept_together(["asthma", "severe", "gout"], {"severe"}.__contains__)
    ['asthma, severe', 'gout']
    """
    joined: list[str] = []
    waiting: list[str] = []
    for piece in pieces:
        if not is_modifier(piece):
            joined.append(", ".join([*waiting, piece]))
            waiting = []
        elif joined:
            joined[-1] += f", {piece.strip()}"
        else:
            waiting.append(piece.strip())
    return joined + waiting
