"""What the words for a confidence are worth: the share of right answers for each of them.

python benchmarks/accuracy/confidence_words.py

Writes results/confidence_words.json. The MEDIC of 2017 with static vectors, with the mentions of
the training documents and without, by a ranker that starts from the other corpus; all development
mentions in their documents (protocol strict, everything answered). The words are those of
linker/desk/page/predictions.js.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, medic
from linker.evaluation import run


def scale() -> list[tuple[float, str]]:
    """The least confidence of each of the words, the surest first."""
    text = (results.ROOT / "linker/desk/page/predictions.js").read_text("utf-8")
    unsure = re.findall(r"UNSURE = ([\d.]+);", text)[0]
    found = re.findall(r'\[([\d.]+|UNSURE), "([^"]+)"\]', text)
    return [(float(least.replace("UNSURE", unsure)), words) for least, words in found]


def rows() -> Iterator[dict[str, Any]]:
    """Each corpus, by what was learnt, and each of the words."""
    for corpus in TITLES:
        texts = documents(corpus, "devel")
        for learnt in (False, True):
            known = documents(corpus, "train") if learnt else []
            linker = trained(corpus, medic("2017"), "static", known)
            outcomes = run.evaluate(texts, linker, "strict", (1,), threshold=0.0).outcomes
            answers = [
                (o.confidence, o.first_is_right) for o in outcomes if o.confidence is not None
            ]
            most = 2.0
            for least, words in scale():
                right = [is_right for value, is_right in answers if least <= value < most]
                row = {"corpus": corpus, "mentions": learnt, "words": words, "least": least}
                yield row | {"n": len(right), "right": sum(right)}
                most = least


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    results.save("confidence_words", {"rows": list(rows())}, seed=0)
