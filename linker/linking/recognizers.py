"""Named entity recognisers of other packages, as finders of mentions."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from linker.errors import LinkerError, needing
from linker.linking.documents import FindSpans
from linker.linking.requests import FoundSpan

_LABELS = ("Disease",)  # what GLiNER looks for where nobody says
_WINDOW = 1_000  # characters that GLiNER reads at once; it cuts off what is longer
_END = re.compile(r"(?<=[.!?])\s+|\n+")  # of a sentence


def create(spec: str, labels: Sequence[str] = ()) -> FindSpans:
    """Make a finder of mentions.

    Args:
        spec: `spacy:MODEL` or `gliner:MODEL`, with the name or the folder of a model.
        labels: of the entities that count; none: all that spaCy finds, and diseases for GLiNER.

    Raises:
        LinkerError: there is no such recogniser, it is not installed, or its model cannot be read.
    """
    kind, _, model = spec.partition(":")
    if kind not in _MAKERS or not model:
        raise LinkerError(f"{spec!r} is no recogniser; expected: spacy:MODEL or gliner:MODEL")
    return _MAKERS[kind](model, labels)


def _package(name: str) -> ModuleType:
    with needing(f"the recogniser {name}", name):
        return importlib.import_module(name)


def _spacy(model: str, labels: Sequence[str]) -> FindSpans:
    """The entities of a spaCy pipeline (https://spacy.io)."""
    spacy = _package("spacy")
    try:
        pipeline: Any = spacy.load(model)
    except (OSError, ValueError) as error:
        raise LinkerError(
            f"spaCy cannot load the model {model!r} ({str(error).splitlines()[0]}); "
            f"give a folder, or fetch it: python -m spacy download {model}"
        ) from None

    def find(text: str) -> Iterator[FoundSpan]:
        pipeline.max_length = max(pipeline.max_length, len(text) + 1)
        for entity in pipeline(text).ents:
            if not labels or entity.label_ in labels:
                yield FoundSpan(entity.start_char, entity.end_char, type=entity.label_)

    return find


def _gliner(model: str, labels: Sequence[str]) -> FindSpans:
    """The entities that a GLiNER model finds (Zaratiana et al. 2024)."""
    gliner = _package("gliner")
    try:
        recogniser: Any = gliner.GLiNER.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise LinkerError(f"GLiNER cannot load the model {model!r}: {error}") from None
    wanted = list(labels or _LABELS)

    def find(text: str) -> Iterator[FoundSpan]:
        for start, end in windows(text, _WINDOW):
            for entity in recogniser.predict_entities(text[start:end], wanted):
                yield FoundSpan(
                    start + int(entity["start"]),
                    start + int(entity["end"]),
                    float(entity["score"]),
                    str(entity["label"]),
                )

    return find


def windows(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Cut a text into stretches of whole sentences.

    Args:
        text: the text.
        size: characters of a stretch, at most; a longer sentence is cut at this length.
    """
    start = end = 0
    for sentence_end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        if sentence_end - start > size and end > start:
            yield start, end
            start = end
        while sentence_end - start > size:
            yield start, start + size
            start += size
        end = sentence_end
    if end > start:
        yield start, end


_MAKERS: dict[str, Callable[[str, Sequence[str]], FindSpans]] = {
    "spacy": _spacy,
    "gliner": _gliner,
}
