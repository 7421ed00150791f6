"""BC5CDR, diseases, with the MEDIC of 2017: trained on its training set, judged on its development set.

python benchmarks/accuracy/bc5cdr.py            the default, and sparse only, five runs each -> results/bc5cdr_devel_dense.json
python benchmarks/accuracy/bc5cdr.py --table    put together what is kept in results/runs/
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import dense_accuracy
from linker import LinkerOptions

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs of each configuration")
    parser.add_argument(
        "--seed", type=int, action="append", help="run this one; may be given again"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="run this configuration; may be given again"
    )
    parser.add_argument("--medic", metavar="YEAR", help="run those with this release")
    parser.add_argument(
        "--table", action="store_true", help="run nothing, put together what is kept"
    )
    default = dense_accuracy.fixed(LinkerOptions())
    configurations = [
        *dense_accuracy.both(
            dense_accuracy.Configuration("default", "2017", default, over=("sparse only",))
        ),
        dense_accuracy.Configuration("sparse only", "2017", default, encoder="tfidf"),
    ]
    dense_accuracy.main(
        parser.parse_args(), configurations, dense_accuracy.Task("bc5cdr", "devel"), {}
    )
