"""BC5CDR, diseases, with the MEDIC of 2017: trained on its training set, evaluated on development.

python benchmarks/accuracy/bc5cdr.py            the default, and sparse only, five runs each
python benchmarks/accuracy/bc5cdr.py --table    runs nothing, puts together what is kept

Writes results/bc5cdr_devel_dense.json; the runs are kept in results/runs/bc5cdr-devel.jsonl.gz.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import configurations
from benchmarks.lib import dense_tables, results
from benchmarks.lib.dense_runs import Task

if __name__ == "__main__":
    parser = results.parser(__doc__)
    dense_tables.add_options(parser)
    rows = [*configurations.bc5cdr()]
    dense_tables.main(parser.parse_args(), rows, Task("bc5cdr", "devel"), {})
