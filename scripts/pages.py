"""A hook of MkDocs: files of the repository outside docs/ become pages, and links to them work."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {  # path in the repository -> path in the site
    "README.md": "index.md",
    "dictionaries/README.md": "dictionaries.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CITATION.cff": "CITATION.cff",
    "LICENSE": "LICENSE",
} | {
    plot.relative_to(ROOT).as_posix(): f"plots/{plot.name}"
    for plot in sorted((ROOT / "benchmarks" / "results" / "plots").glob("*.png"))
}


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs/ to those of the site."""
    for source, target in OUTSIDE.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the relative links of a page from paths in the repository into paths in the site."""
    target = page.file.src_uri
    source = {site: path for path, site in OUTSIDE.items()}.get(target, f"docs/{target}")

    def site_link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        linked = OUTSIDE.get(path) or path.removeprefix("docs/")
        return f"]({posixpath.relpath(linked, posixpath.dirname(target) or '.')}{match[2] or ''})"

    return re.sub(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)", site_link, markdown)
