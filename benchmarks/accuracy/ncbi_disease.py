"""NCBI Disease with MEDIC: choose the settings on development data, then report the test set.

python benchmarks/accuracy/ncbi_disease.py --choose     the sparse grid, trained on train, judged on dev -> results/ncbi_disease_choice.json
python benchmarks/accuracy/ncbi_disease.py              the chosen sparse settings on test               -> results/ncbi_disease.json
python benchmarks/accuracy/ncbi_disease.py --encoder transformer               dense: five runs of each configuration, on test
python benchmarks/accuracy/ncbi_disease.py --encoder transformer --on devel    dense: the levers, trained on train, judged on dev
python benchmarks/accuracy/ncbi_disease.py --encoder dan                       encoders made of word vectors, alone and hybrid

The dense runs take hours on two cores. Each is kept in results/runs/, a second call makes those that are missing, and --table makes
none; the table is results/ncbi_test_dense.json (ncbi_devel_dense.json), the plots are in results/plots/. BCNH's Table 3 has 10 epochs,
which take --epochs 10 and a day for each seed.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.common import DATA, RESULTS, medic, save
from linker import Linker, LinkerOptions
from linker.encoders.tfidf import TfidfOptions
from linker.evaluation import predictions, protocols, report
from linker.options import PRESETS
from linker.readers import mentions

KS = (1, 5, 10, 20)
GRID = [
    TfidfOptions(analyzer, low, high, sublinear)
    for analyzer, (low, high), sublinear in itertools.product(
        ("char", "char_wb"), ((1, 2), (1, 3), (2, 3), (2, 4), (1, 4), (3, 3), (2, 5)), (False, True)
    )
]
BASE = {"biosyn": PRESETS["paper-biosyn"], "strict": LinkerOptions()}
RESULT, CHOICE = "ncbi_disease", "ncbi_disease_choice"


def corpus(*splits: str) -> list[Any]:
    """The documents of train, devel or test."""
    paths = [DATA / "ncbi-disease" / f"NCBI_{split}.pubtator.txt.gz" for split in splits]
    return [document for path in paths for document in mentions.read(path)]


def choose() -> None:
    """Judge the grid on development mentions, trained on the training mentions alone."""
    train, dev = corpus("train"), corpus("devel")
    names = {year: medic(year) for year in ("2012", "2017")}
    rows = []
    for options in GRID:
        row: dict[str, Any] = dataclasses.asdict(options)
        for protocol, year in (("biosyn", "2012"), ("strict", "2017")):
            linker = Linker.train(
                names[year],
                mentions=train,
                options=dataclasses.replace(BASE[protocol], sparse=options),
            )
            row[protocol] = scores(linker, dev, protocol)
        rows.append(row)
        print(f"{options} biosyn {row['biosyn']}  strict {row['strict']}", flush=True)
    best = {
        p: max(rows, key=lambda r: (r[p]["mrr"], r[p]["acc"]["1"])) for p in ("biosyn", "strict")
    }
    save(CHOICE, {"criterion": "MRR, then Acc@1", "best": best, "grid": rows})


def scores(linker: Linker, items: list[Any], protocol: str) -> dict[str, Any]:
    """Acc@k and MRR, without intervals."""
    outcomes = list(getattr(protocols, protocol)(linker, items, max(KS)))
    return report.figures(outcomes, KS, intervals=False)


def chosen(protocol: str) -> LinkerOptions:
    """The options that development data chose for a protocol."""
    best = json.loads((RESULTS / f"{CHOICE}.json").read_text(encoding="utf-8"))["figures"]["best"][
        protocol
    ]
    sparse = TfidfOptions(
        **{field.name: best[field.name] for field in dataclasses.fields(TfidfOptions)}
    )
    return dataclasses.replace(BASE[protocol], sparse=sparse)


def test() -> None:
    """Judge the fixed configurations on the test mentions, once."""
    known, items = corpus("train", "devel"), corpus("test")
    rows = []
    for name, year, protocol, options, training in configurations(known):
        linker = Linker.train(medic(year), mentions=training, options=options)
        outcomes = list(getattr(protocols, protocol)(linker, items, max(KS)))
        row = {
            "configuration": name,
            "medic": year,
            "protocol": protocol,
            "names": len(linker.generator.table),
        }
        rows.append(
            row | {"options": dataclasses.asdict(options)} | report.summary(outcomes, KS, linker)
        )
        print(f"{name}, MEDIC {year}, {protocol}\n{report.table(rows[-1])}\n", flush=True)
    rows.append(
        {"configuration": "BioSyn's published predictions", "medic": "2012", "protocol": "biosyn"}
        | published()
    )
    save(RESULT, {"rows": rows})


def configurations(known: list[Any]) -> Iterator[tuple[str, str, str, LinkerOptions, list[Any]]]:
    """Name, MEDIC, protocol, options and training mentions of each row."""
    yield "TF-IDF as BioSyn's, dictionary names only", "2012", "biosyn", PRESETS["paper-biosyn"], []
    yield "TF-IDF as BioSyn's", "2012", "biosyn", PRESETS["paper-biosyn"], known
    yield "TF-IDF, chosen on dev", "2012", "biosyn", chosen("biosyn"), known
    for year in ("2017", "2026"):
        yield "linker's default, dictionary names only", year, "strict", LinkerOptions(), []
        yield "linker's default", year, "strict", LinkerOptions(), known


def published() -> dict[str, Any]:
    """BioSyn's own predictions, judged by our rule against its own test mentions."""
    folder = DATA / "biosyn-ncbi-disease"
    with (
        tempfile.TemporaryDirectory() as extracted,
        tarfile.open(folder / "ncbi-disease.tar.gz") as archive,
    ):
        archive.extractall(
            extracted, [m for m in archive if "processed_test" in m.name], filter="data"
        )
        items = mentions.read(Path(extracted) / "ncbi-disease" / "processed_test")
        gold = [mention for mention, _ in mentions.flatten(items)]
    path = folder / "biosyn_predictions_test.json.gz"
    return report.summary(
        list(predictions.outcomes(path, gold, "biosyn", lambda i: frozenset((i,)))), KS
    )


PUBLISHED = {  # BCNH (Yan et al. 2021), Table 3: Acc@1 and Acc@5 with BioBERT, ten seeds
    "BioSyn": [0.8988, 0.9382],
    "BioSyn + norm": [0.9007, 0.9418],
    "BCNH list-wise": [0.9055, 0.9481],
    "BCNH list-wise + norm": [0.9061, 0.9500],
}


def dense(arguments: argparse.Namespace) -> None:
    """The runs with a transformer, or with word vectors."""
    from benchmarks.lib import dense_accuracy

    task = dense_accuracy.Task("ncbi", arguments.on)
    if arguments.encoder == "dan":
        levers = dense_accuracy.word_levers(chosen("biosyn")) if arguments.on == "devel" else ()
        return dense_accuracy.main(
            arguments, [*dense_accuracy.words(chosen("biosyn")), *levers], task, {}, "dan"
        )
    studied = dense_accuracy.levers if arguments.on == "devel" else dense_accuracy.ours
    configurations = [*dense_accuracy.ablation(arguments.epochs), *studied(chosen("biosyn"))]
    dense_accuracy.main(arguments, configurations, task, PUBLISHED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--choose", action="store_true", help="judge the sparse grid on development data"
    )
    parser.add_argument("--encoder", choices=("tfidf", "transformer", "dan"), default="tfidf")
    parser.add_argument(
        "--on", choices=("devel", "test"), default="test", help="dense: what is judged"
    )
    parser.add_argument(
        "--epochs",
        type=int,
        default=3,
        help="transformer: of the papers' settings, 10 in the papers",
    )
    parser.add_argument("--seeds", type=int, default=5, help="dense: runs of each configuration")
    parser.add_argument(
        "--seed", type=int, action="append", help="dense: run this one; may be given again"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="dense: run this configuration; may be given again",
    )
    parser.add_argument("--medic", metavar="YEAR", help="dense: run those with this release")
    parser.add_argument(
        "--table", action="store_true", help="dense: run nothing, put together what is kept"
    )
    given = parser.parse_args()
    dense(given) if given.encoder != "tfidf" else choose() if given.choose else test()
