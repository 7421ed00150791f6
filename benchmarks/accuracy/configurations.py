"""The configurations of the accuracy tables: what each row changes in the presets of linker."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.lib import results
from benchmarks.lib.dense import Configuration
from linker import LinkerOptions
from linker.encoders.tfidf import TfidfOptions
from linker.linking import options as records
from linker.linking.options import preset

Change = Mapping[str, Mapping[str, Any]]  # options, and fields of the recipe


def changed(options: LinkerOptions, change: Change) -> LinkerOptions:
    """Options by a change."""
    return records._with_recipe(options, dict(change), "")


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
}
WORD_ENCODERS = {"CCA + DAN": "dan", "CCA + DAN, level 4": "dan-higher", "few-shot": "fewshot"}
WORD_ENCODERS |= {"BNE": "bne"}  # row -> encoder
NOT_RANKED: Change = {"training": {"epochs": 0}}
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
        yield Configuration(name, "2012", changed(options, change), over=over)


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


def words() -> Iterator[Configuration]:
    """Encoders of word vectors, after lists."""
    for name, encoder in WORD_ENCODERS.items():
        yield Configuration(name, "2012", as_biosyn(encoder), encoder=encoder)
