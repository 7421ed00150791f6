"""Encoding in eight bits: measures what a model needs for it, and what it loses by it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.candidates.hybrid import HybridGenerator
from linker.encoders.base import Precision
from linker.encoders.bert import Quantization
from linker.encoders.transformer import TransformerEncoder
from linker.errors import LinkerError
from linker.evaluation.run import evaluate
from linker.linking.linker import Linker
from linker.types import Document, Mention

LARGEST_LOSS = 0.003  # of strict Acc@1, on development data
_NAMES = 2000  # names of the dictionary that the ranges are measured on
_TEXTS = 64  # texts that are encoded at once


def quantize(
    linker: Linker, items: Sequence[Mention | Document], largest_loss: float = LARGEST_LOSS
) -> dict[str, Any]:
    """Let the encoder of a model encode mentions in eight bits, where it loses little by it.

    The ranges of what goes into its linear maps are measured on names of the dictionary, in fp32.
    The encoder has them from then on (`TransformerEncoder.use`), and is saved with them. The
    vectors of the names stay those of fp32.

    Args:
        linker: of a transformer, as it is loaded on a machine without a GPU.
        items: annotated mentions that the model was not trained on, or documents that hold them.
        largest_loss: of strict Acc@1, 0.003 are 0.3 points.

    Returns:
        Strict Acc@1 in fp32 and in int8, and the number of mentions.

    Raises:
        LinkerError: the encoder is no BERT that links without torch, OpenVINO is not installed, or
            int8 loses more.
    """
    encoder = encoder_of(linker)
    before = encoder.precision
    encoder.quantization = Quantization.of(encoder.bert, _batches(encoder, linker))
    fp32 = strict_accuracy(linker, items, "fp32")
    int8 = strict_accuracy(linker, items, "int8")
    encoder.use(before if before != "int8" else "fp32")
    loss = fp32["acc1"] - int8["acc1"]
    if loss > largest_loss:
        encoder.quantization = None
        raise LinkerError(
            f"int8 loses {100 * loss:.2f} points of strict Acc@1 on {int8['n']:,} mentions; "
            f"allowed are {100 * largest_loss:.2f}; take bf16 or fp32"
        )
    measured = {"n": fp32["n"], "fp32": fp32["acc1"], "int8": int8["acc1"]}
    encoder.quantization = dataclasses.replace(encoder.quantization, measured=measured)
    return measured


def encoder_of(linker: Linker) -> TransformerEncoder:
    """The encoder of a model, which can encode in several precisions.

    Raises:
        LinkerError: it is of another kind.
    """
    generator = linker.generator
    encoder = generator.encoder if isinstance(generator, HybridGenerator) else None
    if not isinstance(encoder, TransformerEncoder):
        raise LinkerError(
            f"the encoder {linker.encoder} of this model encodes in one precision; "
            "others are for a BERT that was loaded from a model folder on a machine without a GPU"
        )
    return encoder


def strict_accuracy(
    linker: Linker, items: Sequence[Mention | Document], precision: Precision
) -> dict[str, Any]:
    """Strict Acc@1 with mentions encoded in a precision, and the number of mentions.

    Args:
        linker: the model.
        items: annotated mentions.
        precision: the encoder keeps it.
    """
    encoder_of(linker).use(precision)
    record = evaluate(items, linker, "strict", [1]).record
    return {"n": record["n"], "acc1": record["acc"]["1"]}


def _batches(encoder: TransformerEncoder, linker: Linker) -> Iterator[NDArray[np.int64]]:
    """Names of the dictionary, evenly spread, as tokens; those of a batch have one length."""
    texts = linker.generator.table.texts
    rows = np.unique(np.linspace(0, len(texts) - 1, _NAMES).astype(np.int64))
    ids = sorted(encoder.tokenize([texts[row] for row in rows.tolist()]), key=len)
    lengths = np.array([len(one) for one in ids])
    for length in np.unique(lengths):
        alike = [ids[row] for row in np.flatnonzero(lengths == length)]
        for i in range(0, len(alike), _TEXTS):
            yield np.array(alike[i : i + _TEXTS], np.int64)
