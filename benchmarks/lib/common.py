"""What every benchmark shares: where the data is, and how a result is written."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from linker import Dictionary

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("LINKER_DATA", ROOT.parent / "shared" / "data"))
if not DATA.is_dir():
    sys.exit(
        f"the data is not at {DATA}; set LINKER_DATA to the folder that holds medic/, ncbi-disease/ and the others"
    )
RESULTS = ROOT / "benchmarks" / "results"
MEDIC = {
    "2012": DATA / "medic" / "medic_06Jul2012.txt.gz",
    "2017": DATA / "medic" / "CTD_diseases_2017-06-06.tsv.gz",
    "2026": DATA / "medic" / "CTD_diseases_2026-04-30.csv.gz",
}
_DENSE = ("torch", "transformers", "tokenizers", "accelerate")
_PACKAGES = (
    "concept-linker",
    "numpy",
    "scipy",
    "scikit-learn",
    "sparse-dot-topn",
    "pyab3p",
    *_DENSE,
)


def medic(year: str) -> Dictionary:
    """A release of MEDIC; that of 2012, which has names only, borrows the parents of 2017."""
    return Dictionary.read(MEDIC[year], hierarchy=MEDIC["2017"] if year == "2012" else None)


def save(name: str, figures: dict[str, Any], *, seed: int | None = None) -> Path:
    """Write benchmarks/results/<name>.json: the figures with command, versions, seed, machine and date."""
    record = {
        "benchmark": name,
        "command": " ".join(
            ["python", Path(sys.argv[0]).resolve().relative_to(ROOT).as_posix(), *sys.argv[1:]]
        ),
        "date": datetime.date.today().isoformat(),
        "commit": _commit(),
        "seed": seed,
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version()} | {p: _version(p) for p in _PACKAGES},
        "figures": figures,
    }
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)
    return path


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str:
    """The commit, marked where the code has changed since."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run(
        [*git, "describe", "--always"], capture_output=True, text=True, check=False
    ).stdout.strip()
    changed = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", "linker", "benchmarks/*.py"], check=False
    ).returncode
    return commit + "-dirty" * bool(changed)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )
