"""Short forms without a text: how sure answers are, with limits of their confidence and without.

python benchmarks/accuracy/short_forms.py

Writes results/short_forms.json. The MEDIC of 2017 with static vectors, with the mentions of the
training documents and without, by a ranker that starts from the other corpus. Asked are the
distinct development mentions of two to five capitals, as a list, and all development mentions in
their documents (protocol strict, everything answered).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, medic
from linker import Linker, Mention, matching
from linker.dictionary.finding import doubt
from linker.evaluation import run
from linker.linking import engine

SURE = 0.8
FORM = re.compile("[A-Z]{2,5}")
Answer = tuple[str, float, bool]  # what is known of a short form, its confidence, whether right


def listed(linker: Linker, mentions: list[Mention]) -> Iterator[Answer]:
    """What is answered to short forms without a text."""
    dictionary = linker.dictionary
    for prediction in linker.link(mentions, k=1, threshold=0.0):
        ids = [[part.best.concept_id] if part.best else [] for part in prediction.parts]
        gold = prediction.mention.gold or ()
        right = matching.strict_rank(ids, gold, dictionary.resolve) == 1
        reason = None
        if ids[0]:
            reason = doubt(dictionary, prediction.mention.text, dictionary.rows(ids[0][0])[0])
        confidence = min(part.confidence or 0.0 for part in prediction.parts)
        yield str(reason), confidence, right


def counts(found: list[Answer]) -> dict[str, int]:
    """How many are right, and how many are surely answered."""
    sure = [right for _, confidence, right in found if confidence >= SURE]
    right = sum(right for *_, right in found)
    return {"n": len(found), "right": right, "sure": len(sure), "sure_right": sum(sure)}


def asked(linker: Linker, texts: list[Any], mentions: list[Mention]) -> dict[str, Any]:
    """The figures of a linker."""
    found = list(listed(linker, mentions))
    figures = run.evaluate(texts, linker, "strict", (1,), threshold=0.0).record
    return {
        "list": counts(found),
        "annotated": counts([one for one in found if one[0] == "annotated short form"]),
        "documents": {"acc": figures["acc"]["1"]}
        | {name: figures["calibration"][name] for name in ("ece", "auroc")},
    }


def rows() -> Iterator[dict[str, Any]]:
    """Each corpus, by what was learnt."""
    unlimited = dict.fromkeys(engine.LIMITS, 1.0)
    for corpus in TITLES:
        texts = documents(corpus, "devel")
        of_all = (mention for document in texts for mention in document.mentions)
        distinct = {(m.text, m.gold) for m in of_all if m.gold and FORM.fullmatch(m.text)}
        mentions = [Mention(text, gold=gold) for text, gold in sorted(distinct, key=str)]
        for learnt in (False, True):
            known = documents(corpus, "train") if learnt else []
            linker = trained(corpus, medic("2017"), "static", known)
            row = {"corpus": corpus, "mentions": learnt, "with": asked(linker, texts, mentions)}
            with mock.patch.dict(engine.LIMITS, unlimited):
                yield row | {"without": asked(linker, texts, mentions)}


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    results.save("short_forms", {"rows": list(rows())}, seed=0)
