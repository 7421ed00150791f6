"""The encoders of name_encoders.py, what they are compared with, and the papers' figures."""

from __future__ import annotations

import dataclasses
from typing import Any

from benchmarks.lib.vectors import WORDS
from linker.encoders.bne import BneOptions
from linker.encoders.dan import DanOptions
from linker.options import LinkerOptions, preset


def _grounding(options: LinkerOptions, epochs: int = 0, **recipe: Any) -> LinkerOptions:
    """Other epochs, where given, and fields of the recipe."""
    ground = dataclasses.replace(options.ground, epochs=epochs or options.ground.epochs)
    other = dataclasses.replace(options.recipe, **recipe)
    return dataclasses.replace(options, ground=ground, recipe=other)


EFFECTS = (  # an encoder, and what it is compared with
    ("CCA", "word mean"),
    ("CCA + DAN", "word mean"),
    ("CCA + DAN", "DAN"),
    ("CCA + DAN", "BNE words"),
    ("CCA + DAN", "BNE words, triplets"),
    ("CCA + DAN, triplets", "BNE words, triplets"),
)
# retrieval gains from more, linking does not
_DAN = preset("default", "dan")
_GROUND = _grounding(_DAN, epochs=20)
_TRIPLETS = _grounding(_DAN, epochs=10, loss="triplet", batch_size=64)
_SHORT = _grounding(_DAN, epochs=3, patience=1_000_000)
_BNE, _BNE_WORDS = preset("default", "bne"), preset("default", "bne-words")
_PAPER_BNE_WORDS = _grounding(_TRIPLETS, anchors="context concept", clip=_BNE_WORDS.recipe.clip)
_PAPER_BNE = _grounding(preset("paper-bne"), epochs=8)
_SYN = _grounding(_PAPER_BNE, anchors="")
_PLAIN = BneOptions(normalize=False)
ENCODERS: dict[str, tuple[DanOptions | BneOptions, LinkerOptions, str]] = {
    # name -> the network, how it is grounded, the word vectors
    "word mean": (DanOptions(cca=False, hidden=0), _GROUND, "fastText"),
    "CCA": (DanOptions(hidden=0), _GROUND, "fastText"),
    "DAN": (DanOptions(cca=False), _GROUND, "fastText"),
    "CCA + DAN": (DanOptions(), _GROUND, "fastText"),
    "CCA + DAN, triplets": (DanOptions(), _TRIPLETS, "fastText"),  # the paper's loss
    "CCA + DAN, 3 epochs": (DanOptions(), _SHORT, "fastText"),
    # the paper's width
    "CCA + DAN, 3 epochs, 38,400 units": (DanOptions(hidden=38_400), _SHORT, "fastText"),
    "BNE": (_BNE.encoder, _BNE, "fastText"),
    "BNE words": (_BNE_WORDS.encoder, _BNE_WORDS, "fastText"),
    # as Fivez et al. compare with
    "BNE words, triplets": (_BNE_WORDS.encoder, _PAPER_BNE_WORDS, "fastText"),
    "BNE + SG_W": (_PLAIN, _PAPER_BNE, "SG_W"),  # the paper's losses
    "BNE + SG_S.C": (_PLAIN, _PAPER_BNE, "SG_S.C"),
    "BNE + SG_S.C, L_syn": (_PLAIN, _SYN, "SG_S.C"),
}
BASELINES = ("Jaccard", *WORDS, "SG_W + WMD")
# the others are trained on fine classes only, once
EVERYWHERE = ("word mean", "CCA", "DAN", "CCA + DAN")
PARTS, SCORES = ("train", "test", "zero_shot"), ("map", "acc", "mrr")
PUBLISHED = {
    # mAP, Acc and MRR on train, test and zero-shot names; the papers' coarse and fine classes are
    # those of ICD-10 and SNOMED-CT
    "coarse": {
        "word mean": (0.38, 0.56, 0.65, 0.43, 0.66, 0.74, 0.56, 0.83, 0.87),
        "CCA": (0.42, 0.59, 0.68, 0.47, 0.70, 0.76, 0.61, 0.85, 0.89),
        "CCA + DAN": (0.99, 0.99, 0.99, 0.79, 0.77, 0.80, 0.67, 0.87, 0.90),
        "DAN": (0.98, 0.97, 0.98, 0.76, 0.75, 0.79, 0.65, 0.86, 0.89),
    },
    "fine": {
        "word mean": (0.59, 0.55, 0.64, 0.56, 0.68, 0.76, 0.71, 0.75, 0.82),
        "CCA": (0.62, 0.57, 0.67, 0.59, 0.70, 0.78, 0.73, 0.76, 0.83),
        "CCA + DAN": (0.99, 0.99, 0.99, 0.84, 0.81, 0.85, 0.81, 0.85, 0.89),
        "DAN": (0.94, 0.91, 0.94, 0.78, 0.78, 0.83, 0.79, 0.84, 0.88),
        "BNE words": (0.68, 0.63, 0.72, 0.63, 0.73, 0.80, 0.75, 0.80, 0.85),
    },
    "MedMentions": {
        "word mean": (0.41, 0.51, 0.61, 0.51, 0.70, 0.76, 0.43, 0.61, 0.68),
        "CCA": (0.44, 0.53, 0.63, 0.53, 0.72, 0.77, 0.45, 0.62, 0.70),
        "CCA + DAN": (0.88, 0.89, 0.93, 0.70, 0.73, 0.77, 0.45, 0.60, 0.67),
        "DAN": (0.83, 0.85, 0.90, 0.67, 0.71, 0.76, 0.43, 0.59, 0.67),
    },
}
