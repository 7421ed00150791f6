"""Results: what a benchmark found, in benchmarks/results/<name>.json, with how it was found."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PLOTS = RESULTS / "plots"
WORK = ROOT / "benchmarks" / "work"  # checkpoints and word vectors, not in version control
_PACKAGES = (
    *("concept-linker", "numpy", "scipy", "scikit-learn", "sparse-dot-topn", "pyab3p"),
    *("torch", "transformers", "tokenizers"),
)


def parser(description: str | None) -> argparse.ArgumentParser:
    """The parser of a script, whose help begins with the docstring of the script."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def only_table(description: str | None) -> bool:
    """Whether the one option of a script, --table, is given."""
    arguments = parser(description)
    arguments.add_argument("--table", action="store_true", help="run nothing")
    return bool(arguments.parse_args().table)


def exists(name: str) -> bool:
    """Whether a benchmark has a result yet."""
    return _path(name).exists()


def figures(name: str) -> dict[str, Any]:
    """The figures that a benchmark found."""
    values: dict[str, Any] = json.loads(_path(name).read_text(encoding="utf-8"))["figures"]
    return values


def save(name: str, figures: dict[str, Any], *, seed: int | None = None) -> None:
    """Write the result of a benchmark."""
    text = json.dumps(record(name, figures, seed), indent=1, ensure_ascii=False)
    _path(name).write_text(text + "\n", encoding="utf-8")
    print(f"wrote {_path(name)}", file=sys.stderr)


@contextlib.contextmanager
def plotted(name: str, **layout: Any) -> Iterator[Any]:
    """The axes of a plot, one or several, which is written into the folder of plots."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(**layout)
    yield axes
    PLOTS.mkdir(parents=True, exist_ok=True)
    about = {"dpi": 110, "bbox_inches": "tight", "metadata": {"Software": None}}
    canvas.savefig(PLOTS / f"{name}.png", **about)
    pyplot.close(canvas)


def record(name: str, figures: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """Figures with the command, versions, seed, machine and date that they come from."""
    script = Path(sys.argv[0]).resolve()
    place = script.relative_to(ROOT) if script.is_relative_to(ROOT) else script.name
    return {
        "benchmark": name,
        "command": " ".join(["python", str(place), *map(_public, sys.argv[1:])]),
        "date": datetime.date.today().isoformat(),
        "commit": _commit(),
        "seed": seed,
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version()} | {p: version(p) for p in _PACKAGES},
        "figures": figures,
    }


def _public(argument: str) -> str:
    """An argument without the folders of this machine: of an absolute path its last part."""
    name, equals, value = argument.rpartition("=")
    return name + equals + (Path(value).name if Path(value).is_absolute() else value)


def _path(name: str) -> Path:
    return RESULTS / f"{name}.json"


def version(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str:
    """The commit, marked where the code has changed since."""
    git = ["git", "-C", str(ROOT)]
    describe = [*git, "describe", "--always"]
    commit = subprocess.run(describe, capture_output=True, text=True, check=False).stdout.strip()
    changed = [*git, "diff", "--quiet", "HEAD", "--", "linker", "benchmarks/**.py"]
    return commit + "-dirty" * bool(subprocess.run(changed, check=False).returncode)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())
