"""The tables of text, of attacks, of ties, and of the encoder that held-out names choose."""

from __future__ import annotations

from typing import Any

from benchmarks.lib import results
from benchmarks.pages.tables import gain, table

TOOLS = {"linker": "linker", "pyab3p": "Ab3P (pyab3p)", "schwartz_hearst": "Schwartz-Hearst"}


def text() -> str:
    """Abbreviations, composites and the agreement with BioSyn's preprocessing."""
    pairs, split = results.figures("abbreviations"), results.figures("composites")
    lines = [
        [f"abbreviation pairs, {name}", f"{TOOLS[tool]}: {_rates(gold[tool])}"]
        for name, gold in (("Ab3P gold", pairs["ab3p"]), ("SH gold", pairs["sh"]))
        for tool in TOOLS
        if tool in gold
    ]
    one_way, trained = split["of_texts_annotated_one_way"], split["dev_trained_on_train"]
    lines += [
        _composites("NCBI train + dev", split),
        _composites("its texts that are annotated one way", one_way),
        _composites("dev alone, with the names of the training mentions", trained),
    ]
    agreement = results.figures("preprocessing") | results.figures("preprocessing_test")
    for name, part in agreement.items():
        counts = f"{part['equal']:,} of {part['mentions']:,} mentions ({part['agreement']:.2%})"
        without = f"{part['agreement_without_spelling']:.2%}"
        figure = f"{counts}; {without} without the spelling pair tumour/tumor"
        lines.append([f"agreement with BioSyn's preprocessing, {name}", figure])
    return table("task | figure", lines)


def _rates(figures: dict[str, float]) -> str:
    return f"precision {figures['precision']:.3f}, recall {figures['recall']:.3f}"


def _composites(name: str, part: dict[str, Any]) -> list[str]:
    right = f"{part['composites_split_right']} of {part['composites']} composites"
    rates = f"(recall {part['recall']:.3f}, precision {part['precision']:.3f})"
    single = f"{part['single_split']} of {part['single']:,} single mentions split"
    figure = f"{right} split into the right number of parts {rates}; {single}"
    what = f"composites without gold, {name}"
    return [what, f"{figure} ({part['single_split_share']:.2%})"]


def attacked() -> str:
    """What was tried, and what failed before and after."""
    before, lines = results.figures("attacks_before"), []
    for kind, row in results.figures("attacks").items():
        failed = [
            f"{figures['failed']:,} of {figures['tried']:,}" if figures else "not tried"
            for figures in (before.get(kind), row)
        ]
        lines.append([kind, row["what"], *failed])
    return table("kind | what | failed before | failed now", lines)


def ties() -> str:
    """What decides between equal scores."""
    lines = []
    for corpus, figures in results.figures("ties").items():
        for order, row in figures["orders"].items():
            change = "" if order == "kind" else gain([row["difference"], *row["interval"]])
            moved = [
                f"{row[way]['mentions']:,} ({row[way]['distinct']:,} distinct)"
                for way in ("better", "worse")
            ]
            cells = [corpus, f"{figures['mentions']:,}", order, f"{row['acc1']:.4f}"]
            lines.append([*cells, change, *moved])
    to_kind = "to kind alone (95% interval)"
    return table(f"corpus | mentions | order | Acc@1 | {to_kind} | better | worse", lines)


BLOCKS = (text, attacked, ties)
