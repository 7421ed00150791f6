"""Run the steps of Containerfile in folders, by chroot, where no container engine is at hand.

mmdebstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm base
sudo python3 scripts/try_container.py base stages             # builds, then runs linker serve
sudo python3 scripts/try_container.py base stages --version   # builds what is missing

The first folder stands in for the image that FROM names. In the second each stage becomes a copy of
it, in which the command runs as USER says. Variables that begin with PIP_ are those of the caller.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run the steps."""
    base, work, *arguments = sys.argv[1:]
    stages: dict[str, Path] = {}
    stage, is_new, variables, user = Path(), False, dict[str, str](), "root"
    started: dict[str, list[str]] = {}

    def run(*command: str) -> None:
        settings = [f"{name}={value}" for name, value in variables.items()]
        alone = ["unshare", "--pid", "--fork", "--kill-child", f"--mount-proc={stage}/proc"]
        chroot = ["chroot", f"--userspec={user}:{user}", stage, "env", "-i", *settings]
        subprocess.run([*alone, *chroot, *command], check=True)  # noqa: S603

    for line in re.findall(r"(?m)^[A-Z].*", (ROOT / "Containerfile").read_text("utf-8")):
        kind, _, rest = line.partition(" ")
        words = shlex.split(rest, comments=True)
        if kind == "FROM":
            stage = stages[words[-1]] = Path(work, f"stage{len(stages)}")
            is_new, user = not stage.exists(), "root"
            variables = {n: v for n, v in os.environ.items() if n.startswith("PIP_")}
            variables["PATH"] = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            if is_new:
                copy(Path(base), stage)
                shutil.copy("/etc/resolv.conf", stage / "etc")
        elif kind in ("ARG", "ENV"):
            variables |= dict(word.split("=", 1) for word in words)
        elif kind == "USER":
            user = words[0]
        elif kind in ("ENTRYPOINT", "CMD"):
            started[kind] = json.loads(rest)
        elif is_new and kind == "RUN":
            run("sh", "-c", rest)
        elif is_new and kind == "COPY":
            *_, source, place = words
            copy(ROOT if source == "." else stages["build"] / source[1:], stage / place[1:])
    run(*started["ENTRYPOINT"], *(arguments or started["CMD"]))


def copy(source: Path, target: Path) -> None:
    """Copy a folder with its devices and links; of the checkout what .dockerignore lets through."""
    allowed = re.findall(r"(?m)^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"))
    paths = [p for p in source.iterdir() if p.name in allowed or source != ROOT]
    target.mkdir(parents=True)
    subprocess.run(["/bin/cp", "-a", *paths, target], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
