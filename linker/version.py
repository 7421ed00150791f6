"""The version of linker, the name of its distribution, and how to install one of its extras."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

VERSION = "0.1.0"
NAME = "concept-linker"  # as in setup.cfg; `linker` on the package index is another project
_COMMAND = "linker.cli:main"  # the entry point by which this distribution is recognised


def install_hint(extra: str) -> str:
    """The command that adds an extra of setup.cfg to this installation.

    An installation from a folder, a repository or an archive is repeated from there: on the package
    index the name may be that of another project.
    """
    import importlib.metadata  # not needed unless something is missing
    from urllib.request import url2pathname

    root = Path(__file__).parent.parent
    if (root / "setup.cfg").is_file():
        return _of_folder(root, extra, "-e ")
    points = importlib.metadata.entry_points(group="console_scripts")
    dist = next((point.dist for point in points if point.value == _COMMAND and point.dist), None)
    if dist is None:
        return f"pip install {shlex.quote(f'{NAME}[{extra}]')}"
    wanted = f"{dist.metadata['Name']}[{extra}]"
    # where it came from (PEP 610); null for the package index
    if origin := json.loads(dist.read_text("direct_url.json") or "null"):
        if "dir_info" in origin:
            return _of_folder(url2pathname(origin["url"].removeprefix("file://")), extra)
        vcs = origin.get("vcs_info")
        url = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else origin["url"]
        wanted += f" @ {url}"
    return f"pip install {shlex.quote(wanted)}"


def _of_folder(root: str | Path, extra: str, editable: str = "") -> str:
    """The command for a checkout, with the versions that were tested."""
    constraints = Path(root, "constraints.txt")
    pinned = f"-c {shlex.quote(str(constraints))} " if constraints.is_file() else ""
    return f"pip install {pinned}{editable}{shlex.quote(f'{root}[{extra}]')}"
