"""The configurations of the accuracy tables: what each row changes in the presets of linker."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.lib import results
from benchmarks.lib.dense_runs import FROM_WORDS, OURS, Configuration
from linker import LinkerOptions
from linker import options as records
from linker.encoders.tfidf import TfidfOptions
from linker.options import preset
from linker.training import ground, listwise, losses

# options, fields of the recipe, and `constants` (see `Configuration`)
Change = Mapping[str, Mapping[str, Any]]


def changed(options: LinkerOptions, change: Change) -> LinkerOptions:
    """Options by a change, without its constants."""
    own = {group: values for group, values in change.items() if group != "constants"}
    return records._with_recipe(options, own, "")


def ours_but(**rules: Any) -> Change:
    """Another rule of the list-wise phase."""
    rules = {"keep_best": False, **rules}
    return {"constants": {OURS: dataclasses.replace(listwise._OURS, **rules)}}


def contrast_but(**rules: Any) -> Change:
    """Another rule of grounding by contrast."""
    other = dataclasses.replace(ground._RULES["contrast"], **rules)
    return {"constants": {"linker.training.ground._RULES": ground._RULES | {"contrast": other}}}


def tenth_of_norm(*tensors: Any) -> Any:
    """A tenth of the norm loss."""
    return 0.1 * _norm(*tensors)


_norm = losses.hypernym_norm
_TRAINABLE, _RECIPE = "linker.encoders.trainable.TrainableEncoder", "linker.encoders.base.Recipe"
BASE = {"biosyn": preset("paper-biosyn", "tfidf"), "strict": LinkerOptions()}  # by protocol

ABLATION: Mapping[str, tuple[str, tuple[str, ...], Change]] = {
    # BCNH's Table 3: row -> preset, the rows that it is compared with, what it changes
    "BioSyn": ("paper-biosyn", (), {"training": {"hypernym_norm": False}}),
    "BioSyn + norm": ("paper-biosyn", ("BioSyn",), {"training": {"hypernym_norm": True}}),
    "BCNH list-wise": ("paper-bcnh", ("BioSyn",), {"training": {"hypernym_norm": False}}),
    "BCNH list-wise + norm": (
        "paper-bcnh",
        ("BioSyn", "BCNH list-wise"),
        {"training": {"hypernym_norm": True}},
    ),
    # the published code sums the list losses of 10 mentions and averages the norm loss
    "BCNH list-wise + norm, as coded": (
        "paper-bcnh",
        ("BCNH list-wise",),
        {
            "training": {"hypernym_norm": True},
            "constants": {"linker.training.losses.hypernym_norm": tenth_of_norm},
        },
    ),
}
LEVERS: Mapping[str, Change] = {  # after one epoch of the list-wise phase
    "without alignment": {"align": {"epochs": 0}},
    "two passes of alignment": {"align": {"epochs": 2}},
    "random negatives": {"constants": {f"{_TRAINABLE}.hard_negatives": False}},
    "marginal": {"training": {"loss": "marginal"}},
    "target temperature 1": ours_but(relevance_temperature=1),
    "without frequency": {"constants": {f"{_RECIPE}.frequency_weight": 0.0}},
    "scale 40": {"constants": {f"{_RECIPE}.scale": lambda *_: 40.0}},
    "all candidates dense": {"training": {"dense_ratio": 1}},
    "40 candidates": {"training": {"top_k": 40}},
    "batch 32": {"training": {"batch_size": 32}},
    "learning rate 5e-5": {"training": {"learning_rate": 5e-5}},
    "starting at λ 2": {"recipe": {"sparse_weight": 2}},
    "first token": {"transformer": {"pooling": "cls"}},
    "norm loss, any length": {
        "transformer": {"normalize": False},
        "training": {"hypernym_norm": True},
    },
}
_TRIPLETS = {"loss": "triplet", "batch_size": 64}
WORD_LEVERS: Mapping[str, tuple[str, Mapping[str, Change]]] = {  # row -> encoder, changes
    "CCA + DAN": (
        "dan",
        {
            "without grounding": {"ground": {"epochs": 0}},
            "3 epochs of grounding": {"ground": {"epochs": 3}},
            "12 epochs of grounding": {"ground": {"epochs": 12}},
            "grounding at a constant 0.003": contrast_but(warmup=0),
            "grounding at a constant 0.001": contrast_but(warmup=0, learning_rate=1e-3),
            "triplets": {"recipe": _TRIPLETS},
            "marginal": {"training": {"loss": "marginal"}},
            "lists at 0.002": {"training": {"learning_rate": 2e-3}},
            "lists at 0.0005": {"training": {"learning_rate": 5e-4}},
            "20 epochs of lists": {"training": {"epochs": 20}},
            "starting at λ 4": {"recipe": {"sparse_weight": 4}},
            "starting at λ 12": {"recipe": {"sparse_weight": 12}},
            "without frequency": {"constants": {f"{_RECIPE}.frequency_weight": 0.0}},
        },
    ),
    "BNE": ("bne", {"lists at 0.0003": {"training": {"learning_rate": 3e-4}}}),
}
WORD_ENCODERS: Mapping[str, tuple[str, Change]] = {  # row -> encoder, what it changes
    "word mean": ("dan", {"dan": {"cca": False, "hidden": 0}}),
    "CCA": ("dan", {"dan": {"hidden": 0}}),
    "CCA + DAN": ("dan", {}),
    "DAN": ("dan", {"dan": {"cca": False}}),
    "CCA + DAN, level 4": ("dan-higher", {}),
    "few-shot": ("fewshot", {}),
    "BNE": ("bne", {}),
    "MiniLM": ("transformer", {}),
}
UNTRAINED = ("word mean", "CCA")  # of these nothing is trained
# λ before the list-wise phase: half of the scale of the dense score
UNTRAINED_WEIGHT = 10
FIXED = {"linker.training.encoder._SPARSE_RATE": 0}  # λ
ALONE: Change = {"recipe": {"sparse_weight": 0}, "constants": FIXED}
NOT_RANKED: Change = {"training": {"epochs": 0}}
NOT_RANKED_HYBRID: Change = {
    "training": {"epochs": 0},
    "recipe": {"sparse_weight": UNTRAINED_WEIGHT},
}
SPARSE_ONLY = "sparse only, no mentions"


def chosen(protocol: str) -> LinkerOptions:
    """The options that development data chose for a protocol (ncbi_disease.py --choose)."""
    best = results.figures("ncbi_disease_choice")["best"][protocol]
    fields = {field.name: best[field.name] for field in dataclasses.fields(TfidfOptions)}
    return dataclasses.replace(BASE[protocol], sparse=TfidfOptions(**fields))


def as_biosyn(encoder: str = "transformer") -> LinkerOptions:
    """The same with names normalized and joined as the protocol `biosyn` wants."""
    options, sparse = preset("default", encoder), chosen("biosyn")
    text = dataclasses.replace(options.text, biosyn=True)
    return dataclasses.replace(options, normalize=sparse.normalize, sparse=sparse.sparse, text=text)


def ablation(epochs: int) -> Iterator[Configuration]:
    """The systems of BCNH's Table 3 and what they start from, which ranks by untrained vectors.

    In the papers' settings but for the encoder, the number of epochs (10 there) and bf16.
    """
    yield Configuration(
        "untrained", "2012", changed(preset("paper-biosyn", "transformer"), NOT_RANKED)
    )
    for name, (base, over, change) in ABLATION.items():
        options = changed(
            preset(base, "transformer"), {"training": {"epochs": epochs, "precision": "auto"}}
        )
        constants = change.get("constants", {})
        yield Configuration(name, "2012", changed(options, change), constants=constants, over=over)


def ours() -> Iterator[Configuration]:
    """Our default: with the names of 2012 as `biosyn` wants them, and on later releases."""
    default, biosyn = preset("default", "transformer"), as_biosyn()
    yield Configuration("default", "2012", biosyn)
    yield Configuration("default", "2017", default)
    yield Configuration("default", "2026", default)
    yield sparse_only()
    name = "default, no mentions"
    yield Configuration(name, "2017", default, mentions=False, over=(SPARSE_ONLY,))


def sparse_only() -> Configuration:
    """Ranking by characters alone, trained on no mentions."""
    return Configuration(
        SPARSE_ONLY, "2017", preset("default", "transformer"), mentions=False, encoder="tfidf"
    )


def levers() -> Iterator[Configuration]:
    """Our default, and with one thing changed at a time after one epoch of the list-wise phase."""
    yield from ours()
    short = changed(as_biosyn(), {"training": {"epochs": 1}})
    yield Configuration("one epoch", "2012", short)
    for name, change in LEVERS.items():
        about: Any = {"constants": change.get("constants", {}), "over": ("one epoch",)}
        yield Configuration(f"one epoch, {name}", "2012", changed(short, change), **about)


def words() -> Iterator[Configuration]:
    """Encoders of word vectors, and MiniLM: alone (λ = 0) and hybrid, before and after lists."""
    for part, (encoder, change) in WORD_ENCODERS.items():
        default = changed(as_biosyn(encoder), change)
        before = "" if part in UNTRAINED else ", before lists"
        rows = {
            f"{part} alone{before}": changed(changed(default, ALONE), NOT_RANKED),
            f"{part}{before}": changed(default, NOT_RANKED_HYBRID),
        }
        if part not in UNTRAINED and encoder in FROM_WORDS:  # the others of MiniLM are in `ours`
            rows |= {f"{part} alone": changed(default, ALONE), part: default}
        for name, options in rows.items():
            over = ("word mean",) if options is default else ()
            about: Any = {"constants": FIXED if " alone" in name else {}, "over": over}
            yield Configuration(name, "2012", options, encoder=encoder, **about)
    yield sparse_only()
    for text in (True, False):
        row = Configuration("CCA + DAN", "2017", preset("default", "dan"), encoder="dan", text=text)
        row = row if text else dataclasses.replace(row, name="CCA + DAN, no text")
        yield row
        name = f"{row.name}, no mentions"
        yield dataclasses.replace(row, name=name, mentions=False, over=(SPARSE_ONLY,))


def word_levers() -> Iterator[Configuration]:
    """Our defaults of encoders made of word vectors, with one thing changed at a time."""
    for row, (encoder, changes) in WORD_LEVERS.items():
        default = as_biosyn(encoder)
        for name, change in changes.items():
            options = changed(default, change)
            about: Any = {"constants": change.get("constants", {}), "over": (row,)}
            yield Configuration(f"{row}, {name}", "2012", options, encoder=encoder, **about)


def bc5cdr() -> Iterator[Configuration]:
    """Our default beside ranking by characters."""
    yield Configuration("default", "2017", preset("default", "transformer"), over=("sparse only",))
    yield Configuration("sparse only", "2017", preset("default", "transformer"), encoder="tfidf")
