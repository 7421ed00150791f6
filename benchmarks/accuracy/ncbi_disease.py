"""NCBI Disease by score, without a ranker: n-grams, encoders, and BioSyn's own predictions.

python benchmarks/accuracy/ncbi_disease.py --choose    the sparse grid, trained on train, on dev
python benchmarks/accuracy/ncbi_disease.py             BioSyn's sparse scores and predictions, test
python benchmarks/accuracy/ncbi_disease.py --encoder transformer       MiniLM, five runs each
python benchmarks/accuracy/ncbi_disease.py --encoder dan               of word vectors

Writes results/ncbi_disease_choice.json, ncbi_disease.json, ncbi_test_dense.json and
ncbi_test_dan.json. The dense runs take hours on two cores: each is kept in results/runs/, a second
call makes those that are missing, and --table makes none. BCNH's Table 3 has 10 epochs, which take
--epochs 10 and a day for each seed. linker as it ships is in accuracy/shipped.py.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import configurations
from benchmarks.accuracy.configurations import BASE
from benchmarks.lib import dense, results
from benchmarks.lib.data import documents, locate, medic
from benchmarks.lib.dense import Task
from benchmarks.lib.linkers import by_score
from linker.encoders.tfidf import TfidfOptions
from linker.evaluation import predictions, protocols, report
from linker.evaluation.protocols import Outcome
from linker.io import mentions

KS = (1, 5, 10, 20)
GRID = [
    TfidfOptions(analyzer, low, high, sublinear)
    for analyzer, (low, high), sublinear in itertools.product(
        ("char", "char_wb"), ((1, 2), (1, 3), (2, 3), (2, 4), (1, 4), (3, 3), (2, 5)), (False, True)
    )
]
RELEASE = {"biosyn": "2012", "strict": "2017"}  # of MEDIC, by protocol
PUBLISHED = {  # BCNH (Yan et al. 2021), Table 3: Acc@1 and Acc@5 with BioBERT, ten seeds
    "BioSyn": [0.8988, 0.9382],
    "BioSyn + norm": [0.9007, 0.9418],
    "BCNH list-wise": [0.9055, 0.9481],
    "BCNH list-wise + norm": [0.9061, 0.9500],
}


def choose() -> None:
    """Evaluate the grid on development mentions, trained on the training mentions alone."""
    train, dev = documents("ncbi", "train"), documents("ncbi", "devel")
    names = {protocol: medic(year) for protocol, year in RELEASE.items()}
    rows = []
    for sparse in GRID:
        row: dict[str, Any] = dataclasses.asdict(sparse)
        for protocol, dictionary in names.items():
            options = dataclasses.replace(BASE[protocol], sparse=sparse)
            linker = by_score(dictionary, "tfidf", train, options)
            outcomes = list(getattr(protocols, protocol)(linker, dev, max(KS)))
            row[protocol] = report.figures(outcomes, KS, intervals=False)
        rows.append(row)
        print(f"{sparse} biosyn {row['biosyn']}  strict {row['strict']}", flush=True)
    best = {p: max(rows, key=lambda r: (r[p]["mrr"], r[p]["acc"]["1"])) for p in RELEASE}
    choice = {"criterion": "MRR, then Acc@1", "best": best, "grid": rows}
    results.save("ncbi_disease_choice", choice)


def test() -> None:
    """Evaluate BioSyn's sparse scores, and its own predictions, on test mentions."""
    known = documents("ncbi", "train", "devel")
    linker = by_score(medic("2012"), "tfidf", known, BASE["biosyn"])
    sparse = protocols.biosyn(linker, documents("ncbi", "test"), max(KS))
    rows = {"TF-IDF as BioSyn's": [*sparse], "BioSyn's published predictions": published()}
    about = {"medic": "2012", "protocol": "biosyn"}
    every = [{"configuration": n} | about | report.summary(of, KS) for n, of in rows.items()]
    results.save("ncbi_disease", {"rows": every})


def published() -> list[Outcome]:
    """BioSyn's own predictions by our rule, against its own test mentions."""
    folder = locate("biosyn-ncbi-disease")
    with (
        tempfile.TemporaryDirectory() as extracted,
        tarfile.open(folder / "ncbi-disease.tar.gz") as archive,
    ):
        members = [member for member in archive if "processed_test" in member.name]
        archive.extractall(extracted, members, filter="data")
        items = mentions.read(Path(extracted) / "ncbi-disease" / "processed_test")
        gold = [mention for mention, _ in mentions.flatten(items)]
    path = folder / "biosyn_predictions_test.json.gz"
    return list(predictions.outcomes(path, gold, "biosyn", None))


def runs_of(given: argparse.Namespace) -> None:
    """The runs with a transformer, or with word vectors."""
    task = Task("ncbi", "test")
    if given.encoder == "dan":
        return dense.main(given, [*configurations.words()], task, {}, "dan")
    rows = [*configurations.ablation(given.epochs), *configurations.ours()]
    return dense.main(given, rows, task, PUBLISHED)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    add = parser.add_argument
    add("--choose", action="store_true", help="evaluate the sparse grid on development data")
    add("--encoder", choices=("tfidf", "transformer", "dan"), default="tfidf")
    epochs = "transformer: of the papers' settings, 10 in the papers"
    add("--epochs", type=int, default=3, help=epochs)
    dense.add_options(parser)
    given = parser.parse_args()
    runs_of(given) if given.encoder != "tfidf" else choose() if given.choose else test()
