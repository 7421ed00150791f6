"""Encoding names with MiniLM on a CPU in fp32, bf16 and int8: names a second, and accuracy.

    python benchmarks/speed/precisions.py --model DIR

The model is one of `linker train --encoder transformer`; the ways take turns over the same names,
in one process. Accuracy is strict Acc@1 on the development mentions of NCBI Disease and of BC5CDR.
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.data import documents
from benchmarks.lib.results import parser, save
from linker import Linker
from linker.encoders.transformer import TransformerEncoder, processor_flags
from linker.evaluation.quantization import encoder_of, quantize, strict_accuracy

PRECISIONS = ("fp32", "bf16", "int8")
NATIVE = ("avx512_vnni", "avx_vnni", "amx_int8", "avx512_bf16", "amx_bf16")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--model", required=True)
    arguments.add_argument("--names", type=int, default=2000, help="of the dictionary, encoded")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    linker = Linker.load(given.model)
    encoder = encoder_of(linker)
    development = {corpus: documents(corpus, "devel") for corpus in ("ncbi", "bc5cdr")}
    both = [document for corpus in development.values() for document in corpus]
    measured = quantize(linker, both, largest_loss=1)
    texts = linker.generator.table.texts
    names = [texts[row] for row in range(0, len(texts), max(1, len(texts) // given.names))]
    rates = speeds(encoder, names, given.rounds)
    figures: dict[str, Any] = {
        "names": len(names),
        "processor": sorted(processor_flags() & set(NATIVE)),
        "auto": encoder.use("auto"),
        "names_per_second": medians(rates, "wall"),
        "names_per_cpu_second": medians(rates, "cpu"),
        "times_fp32": times(rates),
        "strict_acc1": {
            corpus: {p: strict_accuracy(linker, items, p) for p in PRECISIONS}
            for corpus, items in development.items()
        },
        "both": measured | {"loss_points": round(100 * (measured["fp32"] - measured["int8"]), 3)},
    }
    save("precisions", figures)


def speeds(encoder: TransformerEncoder, names: list[str], rounds: int) -> dict[str, Any]:
    """Names a second of wall and of processor time, by precision, for each round."""
    encoders = {precision: copy.copy(encoder) for precision in PRECISIONS}
    for precision, one in encoders.items():
        one.use(precision)
        one.encode(names)  # compiles the graphs
    rates: dict[str, Any] = {p: {"wall": [], "cpu": []} for p in PRECISIONS}
    for _ in range(rounds):
        for precision, one in encoders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            one.encode(names)
            rates[precision]["wall"].append(len(names) / (time.perf_counter() - wall))
            rates[precision]["cpu"].append(len(names) / (time.process_time() - cpu))
    return rates


def medians(rates: dict[str, Any], clock: str) -> dict[str, float]:
    """The median rate of each precision by one clock."""
    return {precision: round(statistics.median(r[clock]), 1) for precision, r in rates.items()}


def times(rates: dict[str, Any]) -> dict[str, float]:
    """How many times as fast as fp32 each precision is, by processor time, round by round."""
    first = rates["fp32"]["cpu"]
    pairs = {p: zip(r["cpu"], first, strict=True) for p, r in rates.items()}
    return {p: round(statistics.median(a / b for a, b in pair), 2) for p, pair in pairs.items()}


if __name__ == "__main__":
    main()
