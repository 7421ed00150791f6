"""Data: the dictionaries and corpora in $LINKER_DATA, else in shared/data beside the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.lib.results import ROOT
from linker import Dictionary
from linker.io import mentions
from linker.io.files import read_lines

DATA = Path(os.environ.get("LINKER_DATA", ROOT.parent / "shared" / "data"))
MEDIC = {
    "2012": "medic/medic_06Jul2012.txt.gz",
    "2017": "medic/CTD_diseases_2017-06-06.tsv.gz",
    "2026": "medic/CTD_diseases_2026-04-30.csv.gz",
}
CORPORA = {  # corpus -> split -> file, in the order in which splits are trained on
    "ncbi": {
        "train": "ncbi-disease/NCBI_train.pubtator.txt.gz",
        "devel": "ncbi-disease/NCBI_devel.pubtator.txt.gz",
        "test": "ncbi-disease/NCBI_test.pubtator.txt.gz",
    },
    "bc5cdr": {
        "train": "bc5cdr/CDR_TrainingSet.PubTator.txt.gz",
        "devel": "bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz",
        "test": "bc5cdr/CDR_TestSet.PubTator.txt.gz",
    },
}
TITLES = {"ncbi": "NCBI Disease", "bc5cdr": "BC5CDR"}


def locate(name: str) -> Path:
    """The place of a file or folder of the data; the program ends where it is not there."""
    path = DATA / name
    if not path.exists():
        sys.exit(f"{path} is not there; set LINKER_DATA to the folder that holds medic/ and others")
    return path


def medic(year: str) -> Dictionary:
    """A release of MEDIC; that of 2012, which has names only, borrows the parents of 2017."""
    hierarchy = locate(MEDIC["2017"]) if year == "2012" else None
    return Dictionary.read(locate(MEDIC[year]), hierarchy=hierarchy)


def documents(corpus: str, *splits: str) -> list[Any]:
    """The documents of some splits of a corpus, with their mentions of diseases."""
    paths = [locate(CORPORA[corpus][split]) for split in splits]
    return [document for path in paths for document in mentions.read(path, type="Disease")]


def development() -> list[Any]:
    """The development documents of both corpora."""
    return [document for corpus in CORPORA for document in documents(corpus, "devel")]


def medmentions() -> list[str]:
    """The mentions of the development and test documents of MedMentions, with repetitions."""
    files = [locate(f"medmentions/{split}.txt.gz") for split in ("dev", "test")]
    lines = (line.split("\t") for file in files for _, line in read_lines(file))
    return [cells[1] for cells in lines if len(cells) > 2 and cells[1].strip()]
