"""The model card: what is in a model folder, for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linker.confidence.calibration import FIGURES, Calibration
from linker.confidence.spans import SpanModel
from linker.version import VERSION


def text(
    config: Mapping[str, Any], calibration: Calibration | None, spans: SpanModel | None
) -> str:
    """The card of a model, in Markdown.

    Args:
        config: of the model folder: `encoder`, `dictionary`, `options`.
        calibration: of its answers.
        spans: which names in texts are mentions.
    """
    taught = (
        f"learnt from {spans.documents:,} annotated documents"
        if spans
        else "chosen by rules, since no annotated documents were learnt"
    )
    dictionary = config["dictionary"]
    sources = "\n".join(
        f"- `{source['file']}` ({source['format']}"
        + (f", {source['release']}" if source["release"] else "")
        + f"): {source['concepts']:,} concepts"
        for source in dictionary["sources"]
    )
    return f"""# A model of linker

Links names of concepts, as people write them, to the identifiers of a dictionary.
Made by concept-linker {VERSION}; use it with `linker link MENTIONS --model FOLDER`.

## Dictionary

{dictionary["concepts"]:,} concepts, {dictionary["names"]:,} distinct names.

{sources}

## Encoder

`{config["encoder"]}`; its options are in `config.json`.

## Confidence

{described(calibration)}

## Mentions in texts

`linker annotate` finds names, and which of them are mentions is {taught}.
"""


def described(calibration: Calibration | None) -> str:
    """What a calibration was fitted to, and what its threshold costs and gains there."""
    if calibration is None:
        return "none, since there was too little to fit it to; answers have a score only"
    facts = calibration.provenance
    fitted = f"fitted to {facts.get('mentions', 'some')} {facts.get('fitted_to', 'mentions')}"
    if not calibration.threshold:
        return f"{fitted}; everything is answered by default, since no threshold has more right"
    named = {name: float(facts.get(name, "nan")) for name in FIGURES}
    return (
        f"{fitted}; threshold {calibration.threshold:.3f} by default, by which "
        f"{named['lost']:.2%} of them lose a right answer and {named['gained']:.2%} that have no "
        f"concept get none (strict accuracy {named['accuracy_without_threshold']:.4f}, with it "
        f"{named['accuracy_with_threshold']:.4f})"
    )
