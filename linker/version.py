"""The version of linker, the name of its distribution, and the command that installs one of its extras."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

VERSION = "0.1.0"
NAME = "concept-linker"  # as in setup.cfg; `linker` on the package index is another project
_COMMAND = "linker.cli:main"  # what only this distribution has as its command


def install_hint(extra: str) -> str:
    """The command that adds an extra of setup.cfg to this installation.

    What came from a folder, a repository or an archive is installed from there again: on the package index the name may be that of
    another project.
    """
    import importlib.metadata  # not needed unless something is missing

    root = Path(__file__).parent.parent
    if (root / "setup.cfg").is_file():  # a checkout
        pinned = (
            f"-c {shlex.quote(str(root / 'constraints.txt'))} "
            if (root / "constraints.txt").is_file()
            else ""
        )
        return f"pip install {pinned}-e {shlex.quote(f'{root}[{extra}]')}"
    points = importlib.metadata.entry_points(group="console_scripts")
    found = next((point.dist for point in points if point.value == _COMMAND and point.dist), None)
    wanted = f"{found.metadata['Name'] if found else NAME}[{extra}]"
    origin = (
        json.loads(found.read_text("direct_url.json") or "null") if found else None
    )  # PEP 610; nothing for what came from an index
    if origin:
        vcs = origin.get("vcs_info")
        wanted += (
            f" @ {vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else f" @ {origin['url']}"
        )
    return f"pip install {shlex.quote(wanted)}"
