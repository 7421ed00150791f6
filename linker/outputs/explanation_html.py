"""Explanations as a piece of HTML, to be put into any page; it has no script."""

from __future__ import annotations

from linker.explanation import Explanation
from linker.outputs.explanation import rendered


def to_html(explanation: Explanation) -> str:
    """A `section` element; all texts are escaped, and signs that cannot be printed are visible."""
    return rendered("explanation.html.jinja", explanation).rstrip("\n")
