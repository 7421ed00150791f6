"""An earlier commit of linker beside the present one, so that both are measured in one run."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from benchmarks.lib.results import ROOT, WORK


def library(commit: str) -> Path:
    """A folder with the package `linker` of a commit; made on first use, in benchmarks/work."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", f"{commit}^{{commit}}"]
    short = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    folder = WORK / "earlier" / short
    if not folder.exists():
        archive = ["git", "-C", str(ROOT), "archive", short, "linker"]
        packed = subprocess.run(archive, capture_output=True, check=True).stdout
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
    return folder
