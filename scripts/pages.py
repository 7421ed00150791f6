"""A hook of MkDocs: files of the repository outside docs/ become pages, and links to them work."""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

logger = logging.getLogger("mkdocs.pages")  # whose warnings fail a strict build

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {  # path in the repository -> path in the site
    "README.md": "index.md",
    "dictionaries/README.md": "dictionaries.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CITATION.cff": "CITATION.cff",
    "LICENSE": "LICENSE",
    "Containerfile": "Containerfile",
    "benchmarks/service/load.py": "load.py",
    "benchmarks/service/uploads.py": "uploads.py",
} | {
    plot.relative_to(ROOT).as_posix(): f"plots/{plot.name}"
    for plot in sorted((ROOT / "benchmarks" / "results" / "plots").glob("*.png"))
}
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")
_ADDRESS_IN_HTML = re.compile(r'\b(src|srcset|href)="(?!\w+:|#)([^"]+)"')


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs/ to those of the site."""
    for source, target in OUTSIDE.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn the relative links of a page from paths in the repository into paths in the site.

    MkDocs goes on with the links of Markdown, and checks them; those in HTML it leaves as they are.
    """
    target = page.file.src_uri
    source = {site: path for path, site in OUTSIDE.items()}.get(target, f"docs/{target}")

    def path_in_site(link: str) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        return OUTSIDE.get(path) or path.removeprefix("docs/")

    def site_link(match: re.Match[str]) -> str:
        linked = path_in_site(match[1])
        return f"]({posixpath.relpath(linked, posixpath.dirname(target) or '.')}{match[2] or ''})"

    def site_address(match: re.Match[str]) -> str:
        file = files.get_file_from_path(path_in_site(match[2]))
        if file is None:
            logger.warning("%s: %s is not there; mend its path", source, match[0])
            return match[0]
        return f'{match[1]}="{file.url_relative_to(page.file)}"'

    return _ADDRESS_IN_HTML.sub(site_address, _LINK.sub(site_link, markdown))
