"""Reading dictionaries of each format: seconds and memory, beside other systems on the same files.

The Disease Ontology and HPO are read in every format that the project can write them in; OMOP and
SNOMED CT are generated, since their licences allow no copies here.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.lib import results, vocabularies
from benchmarks.lib.measure import Figures, apart, child, megabytes, peak
from linker import Dictionary
from linker.readers import dictionaries

WORK = results.WORK / "readers"
CONCEPTS = 500_000
PEERS = {".obo": ("pronto", "fastobo", "oaklib"), ".owl": ("pronto",), ".json": ("oaklib",)}
PACKAGES = ("pronto==2.7.4", "fastobo==0.14.2", "oaklib==0.7.4", "setuptools<81")
SCRIPT = str(Path(__file__).with_name("reader_peers.py"))


def readers(given: argparse.Namespace) -> Figures:
    """Each file by `Dictionary.read` and by the systems that read its format."""
    WORK.mkdir(parents=True, exist_ok=True)
    paths = vocabularies.ontologies(WORK)
    count = 5_000 if given.quick else CONCEPTS
    for name, write in (("athena", vocabularies.athena), ("rf2", vocabularies.rf2)):
        paths[name] = folder = WORK / f"{name}-{count}"
        if not folder.exists():
            write(folder, count)
    rows = [row for name, path in paths.items() for row in _measured(name, path)]
    return {"concepts_generated": count, "packages": PACKAGES, "rows": rows}


def _measured(name: str, path: Path) -> list[Figures]:
    size = megabytes(path) if path.is_dir() else round(path.stat().st_size / 1e6, 1)
    head = {"file": name, "megabytes": size}
    rows = [{**head, "system": "linker", **apart(read, str(path))}]
    systems = PEERS.get(path.suffix, ()) if name.count(".") == 1 else ()
    for system in systems:
        try:
            figures = child(SCRIPT, system, str(path), python=_interpreter())
        except subprocess.CalledProcessError:
            figures = {"failed": True}
        rows.append({**head, "system": system, **figures})
    return rows


def read(path: str) -> Figures:
    """Read a dictionary in this process."""
    start = time.perf_counter()
    dictionary = Dictionary.read(path)
    seconds = round(time.perf_counter() - start, 2)
    cpu = round(time.process_time(), 2)
    return {
        "format": dictionaries.detect(path),
        "concepts": len(dictionary) + len(dictionary.old_ids),
        "names": len(dictionary.names),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_mb": round(peak()),
    }


def _interpreter() -> str:
    """The Python of the other systems, whose environment is made on first use."""
    folder = WORK / "venv"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", *PACKAGES], check=True)
        (folder / "complete").touch()
    return str(python)
