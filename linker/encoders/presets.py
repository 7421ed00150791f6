"""Settings that the encoders made of word vectors share; importing them needs no torch."""

from __future__ import annotations

from linker.encoders.base import Changes

# The defaults of encoders that are made from word vectors. λ is large here, and would take long to
# grow. A word of a single name identifies its concept, so that no word is too rare.
OF_WORDS: Changes = {
    "words": {"min_count": 1},
    "align": {"epochs": 0},
    "training": {"epochs": 10, "batch_size": 64, "learning_rate": 1e-3, "sparse_weight": 8},
}
# Names stay near the vectors of the name and of the concept that they start from.
ANCHORED: Changes = {"ground": {"prototype_weight": 0, "context_weight": 1, "concept_weight": 1}}
# No training on lists: it would separate the concepts of one large class.
LARGE_CLASSES: Changes = {"training": {"dictionary_queries": 0}}
# What the papers on encoders made from word vectors share: triplets of all names, Adam at a
# constant rate, no annotated mentions.
FIVEZ: Changes = {
    "words": {"dim": 300, "max_n": 6, "buckets": 200_000},
    "align": {"epochs": 0},
    "ground": {
        "loss": "triplet",
        "epochs": 100,
        "patience": 1,
        "triplets": 0,
        "pool": 0,
        "prototype_names": 0,
        "prototype_weight": 1,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "warmup": 0,
    },
    "training": {"epochs": 0},
}
