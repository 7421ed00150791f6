"""A curator's session, simulated: how many clicks the memory of decisions saves, and retraining.

python benchmarks/curation/session.py

Writes results/curation.json and results/plots/curation.png. A curator goes through the development
documents of NCBI Disease in their order, and decides for each mention what the annotators did.
Five candidates are shown. It takes

* no click where a decision that was taken before answers the mention rightly,
* one click to confirm the first candidate,
* two to choose another one that is shown,
* three to search for the concept.

A composite mention counts as one. There are three ways: without memory; with decisions that are
remembered and hold everywhere; and with these and a model that is trained again after each hundred
decisions, on them and what it was trained on before. The model links by characters to the MEDIC of
2017, and has seen no development mention; it is trained on the dictionary alone, or on the training
mentions of the corpus, too.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import results
from benchmarks.lib.data import documents, medic
from linker import Linker, matching
from linker.decisions import exchange
from linker.ids import format_gold
from linker.linking.decided import Decided
from linker.readers import tsv
from linker.text.mentions import definitions_of
from linker.types import Decision, Mention

K, EACH = 5, 100
WAYS = {"no memory": (False, False), "memory": (True, False), "memory, retrained": (True, True)}
KINDS = ("remembered", "confirmed", "chosen", "searched")  # by clicks
STEP = 50  # mentions between two points of the curve in the results


def linker_of(mentions: Sequence[Any]) -> Linker:
    """The model that has learnt some mentions."""
    return trained("ncbi", medic("2017"), "tfidf", mentions, say=lambda _: None)


def session(before: Sequence[Any], remembers: bool, retrains: bool) -> list[int]:
    """The clicks of each mention.

    Args:
        before: mentions that the model has learnt from before.
        remembers: whether decisions are applied to later mentions.
        retrains: whether they are learnt from, too.
    """
    linker, decisions = linker_of(before), list[Decision]()
    decided, clicks, learnt_from = Decided([], linker), list[int](), 0
    for document in documents("ncbi", "devel"):
        if retrains and len(decisions) >= learnt_from + EACH:
            learnt_from = len(decisions) // EACH * EACH
            linker = linker_of([*before, *learnt(decisions)])
            decided = Decided(decisions, linker)
        definitions = definitions_of(document, linker.options.text)
        for answer in linker.link([document], k=K, threshold=0.0):
            mention, gold = answer.mention, answer.mention.gold or ()
            if remembers:
                ruling = decided.on_mention(mention, document, definitions)
                answer = decided.apply(answer, ruling, linker.linkable, k=K)
            parts = [[c.concept_id for c in part.candidates] for part in answer.parts]
            rank = matching.strict_rank(parts, gold, linker.dictionary.resolve)
            if rank == 1 and answer.state != "model":
                clicks.append(0)
                continue
            clicks.append(3 if rank is None else min(rank, 2))
            decisions.append(Decision(mention.text, format_gold(gold)))
            if remembers:
                decided = Decided(decisions, linker)
    return clicks


def learnt(decisions: Sequence[Decision]) -> list[Mention]:
    """The decisions as mentions, as linker review export writes them for training."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mentions.tsv"
        with path.open("w", encoding="utf-8") as file:
            exchange.export(decisions, "mentions", file)
        return list(tsv.read(path))


def figures_of(clicks: Sequence[int], usual: Sequence[int]) -> dict[str, Any]:
    """The figures of a session; `usual`: the clicks of the one without memory."""
    kinds = Counter(KINDS[count] for count in clicks)
    return {
        "clicks": sum(clicks),
        "saved": round(1 - sum(clicks) / sum(usual), 4),
        "mentions": {kind: kinds[kind] for kind in KINDS},
        "curve": [sum(clicks[:end]) for end in [*range(STEP, len(clicks), STEP), len(clicks)]],
    }


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    starts = {"MEDIC alone": [], "MEDIC and training mentions": documents("ncbi", "train")}
    sessions = {
        start: {way: session(before, *settings) for way, settings in WAYS.items()}
        for start, before in starts.items()
    }
    figures = {
        start: {way: figures_of(clicks, ways["no memory"]) for way, clicks in ways.items()}
        for start, ways in sessions.items()
    }
    results.save("curation", {"shown": K, "step": STEP, "sessions": figures})
    with results.plotted("curation", ncols=len(sessions), figsize=(10, 4), sharey=True) as panels:
        for panel, (start, ways) in zip(panels, sessions.items(), strict=True):
            for way, clicks in ways.items():
                panel.plot(np.cumsum(clicks), label=way)
            panel.set(title=f"model of {start}", xlabel="mentions of NCBI development, in order")
        panels[0].set_ylabel("clicks")
        panels[0].legend()
