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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import results
from benchmarks.lib.data import documents, medic
from linker import Dictionary, Document, Linker, matching
from linker.decisions import exchange
from linker.decisions.applying import Decided
from linker.ids import format_gold
from linker.outputs import DECISION
from linker.readers import tsv
from linker.text.mentions import definitions_of
from linker.types import Decision, Mention, Prediction

K, EACH = 5, 100
WAYS = {"no memory": (False, False), "memory": (True, False), "memory, retrained": (True, True)}
KINDS = ("remembered", "confirmed", "chosen", "searched")  # by clicks
STEP = 50  # mentions between two points of the curve in the results


class Session:
    """A curator at work.

    Args:
        dictionary: what is linked to.
        before: mentions that the model has learnt from before.
        remembers: whether decisions are applied to later mentions.
        retrains: whether they are learnt from, too.
    """

    def __init__(
        self, dictionary: Dictionary, before: Sequence[Any], remembers: bool, retrains: bool
    ) -> None:
        self._dictionary, self._before = dictionary, list(before)
        self._remembers, self._retrains = remembers, retrains
        self.decisions: list[Decision] = []
        self.linker = self._trained(self._before)
        self._decided = Decided([], self.linker)

    def _trained(self, mentions: Sequence[Any]) -> Linker:
        """Train on some mentions."""
        return trained("ncbi", self._dictionary, "tfidf", mentions, say=lambda _: None)

    def clicks(self, prediction: Prediction, document: Document) -> int:
        """The clicks that a mention takes; its decision is remembered."""
        mention = prediction.mention
        gold = mention.gold or ()
        answer = prediction
        if self._remembers:
            definitions = definitions_of(document, self.linker.options.text)
            ruling = self._decided.on_mention(mention, document, definitions)
            answer = self._decided.apply(prediction, ruling, self.linker.linkable, k=K)
        parts = [[candidate.concept_id for candidate in part.candidates] for part in answer.parts]
        rank = matching.strict_rank(parts, gold, self.linker.dictionary.resolve)
        if rank == 1 and answer.source == DECISION:
            return 0
        self.decisions.append(Decision(mention.text, format_gold(gold)))
        if self._remembers:
            self._decided = Decided(self.decisions, self.linker)
        return 3 if rank is None else min(rank, 2)

    def learn(self) -> None:
        """Train again on all decisions."""
        mentions = [*self._before, *learnt(self.decisions)]
        self.linker = self._trained(mentions)
        self._decided = Decided(self.decisions, self.linker)

    def run(self, items: Sequence[Document]) -> list[int]:
        """The clicks of each mention."""
        clicks, learnt_from = [], 0
        for document in items:
            if self._retrains and len(self.decisions) >= learnt_from + EACH:
                learnt_from = len(self.decisions) // EACH * EACH
                self.learn()
            for prediction in self.linker.link([document], k=K, threshold=0.0):
                clicks.append(self.clicks(prediction, document))
        return clicks


def learnt(decisions: Sequence[Decision]) -> list[Mention]:
    """The decisions as mentions, as linker decisions export writes them for training."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mentions.tsv"
        with path.open("w", encoding="utf-8") as file:
            exchange.write_mentions(decisions, file)
        return list(tsv.read(path))


def figures_of(clicks: Sequence[int], usual: Sequence[int]) -> dict[str, Any]:
    """The figures of a session; `usual`: the clicks of the one without memory."""
    curve = [sum(clicks[:end]) for end in [*range(STEP, len(clicks), STEP), len(clicks)]]
    kinds = Counter(KINDS[count] for count in clicks)
    return {
        "clicks": sum(clicks),
        "saved": round(1 - sum(clicks) / sum(usual), 4),
        "mentions": {kind: kinds[kind] for kind in KINDS},
        "curve": curve,
    }


def plot(sessions: dict[str, dict[str, list[int]]]) -> None:
    """Draw the clicks against the mentions, a panel for each start."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    figure, panels = plt.subplots(1, len(sessions), figsize=(10, 4), sharey=True)
    for panel, (start, ways) in zip(panels, sessions.items(), strict=True):
        for way, clicks in ways.items():
            panel.plot(np.cumsum(clicks), label=way)
        panel.set_title(f"model of {start}")
        panel.set_xlabel("mentions of NCBI development, in order")
    panels[0].set_ylabel("clicks")
    panels[0].legend()
    figure.tight_layout()
    figure.savefig(results.PLOTS / "curation.png", dpi=100)


def main() -> None:
    results.parser(__doc__).parse_args()
    dictionary, items = medic("2017"), documents("ncbi", "devel")
    starts = {"MEDIC alone": [], "MEDIC and training mentions": documents("ncbi", "train")}
    sessions: dict[str, dict[str, list[int]]] = {}
    for start, before in starts.items():
        sessions[start] = {}
        for way, settings in WAYS.items():
            clicks = sessions[start][way] = Session(dictionary, before, *settings).run(items)
            print(start, way, sum(clicks), file=sys.stderr)
    figures: dict[str, Any] = {
        start: {way: figures_of(clicks, ways["no memory"]) for way, clicks in ways.items()}
        for start, ways in sessions.items()
    }
    mentions = len(next(iter(sessions.values()))["memory"])
    settings = {"documents": len(items), "mentions": mentions, "shown": K, "step": STEP}
    results.save("curation", settings | {"sessions": figures})
    plot(sessions)


if __name__ == "__main__":
    main()
