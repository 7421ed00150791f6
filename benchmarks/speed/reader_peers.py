"""Other systems read an ontology; `readers.py` runs this script in an environment with them.

python benchmarks/speed/reader_peers.py SYSTEM PATH    prints seconds, memory, terms and names
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")


def pronto(path: str) -> tuple[int, int]:
    """The terms of pronto, and their names."""
    import pronto

    terms = list(pronto.Ontology(path).terms())
    return len(terms), sum((term.name is not None) + len(term.synonyms) for term in terms)


def fastobo(path: str) -> tuple[int, int]:
    """The frames of fastobo, and their names."""
    import fastobo

    terms = [frame for frame in fastobo.load(path) if isinstance(frame, fastobo.term.TermFrame)]
    kinds = (fastobo.term.NameClause, fastobo.term.SynonymClause)
    return len(terms), sum(isinstance(clause, kinds) for frame in terms for clause in frame)


def oaklib(path: str) -> tuple[int, None]:
    """The classes of oaklib's own readers; to ask for names one by one takes it hours."""
    from oaklib import get_adapter
    from oaklib.datamodels.vocabulary import OWL_CLASS

    kind = "obograph" if path.endswith(".json") else "simpleobo"
    adapter: Any = get_adapter(f"{kind}:{path}")
    return sum(1 for _ in adapter.entities(owl_type=OWL_CLASS, filter_obsoletes=False)), None


SYSTEMS: dict[str, Callable[[str], tuple[int, int | None]]] = {
    "pronto": pronto,
    "fastobo": fastobo,
    "oaklib": oaklib,
}


def main() -> None:
    """Read a file, and print the figures in JSON."""
    start = time.perf_counter()
    terms, names = SYSTEMS[sys.argv[1]](sys.argv[2])
    seconds = round(time.perf_counter() - start, 2)
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
    cpu = round(time.process_time(), 2)
    figures = {"concepts": terms, "names": names, "seconds": seconds, "cpu_seconds": cpu}
    print(json.dumps({**figures, "peak_mb": peak}))


if __name__ == "__main__":
    main()
