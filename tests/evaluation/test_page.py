"""report.html: one file, everything in it, nothing that could run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from linker import Dictionary, Linker, Mention
from linker.evaluation import protocols, report, run
from linker.ids import parse_gold
from linker.linking.ranker import Ranker
from linker.training.pipeline import train

EVIL = "<script>alert('x')</script>"
ITEMS = [Mention("abcd", gold=parse_gold("D:1")), Mention("www", gold=parse_gold("D:2"))]


class Parsed(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def headings(html: str) -> list[str]:
    return re.findall("<h2.*>(.*)</h2>", html)


def test_the_page_has_every_section_and_no_resources(tiny: Linker, tmp_path: Path) -> None:
    result = run.evaluate(ITEMS, tiny.with_ranker(Ranker.shipped()), ks=(1, 5))
    run.write(tmp_path, result.record, result.outcomes)
    html = (tmp_path / "report.html").read_text("utf-8")
    parsed = Parsed(html)
    names = {tag for tag, _ in parsed.elements}
    assert not {"script", "link", "img", "iframe", "object", "a"} & names
    assert not re.search(r"https?://|url\(|@import|javascript:|\bon\w+=", html)
    labels = [a["aria-labelledby"] or "" for _, a in parsed.elements if a.get("role") == "img"]
    assert len(labels) == 5
    assert headings(html) == [
        "Accuracy",
        "Seen and unseen",
        "Kinds of errors",
        "Calibration",
        "Accuracy by coverage",
        "Confidence, missing answers and composites",
    ]


def test_what_the_data_holds_is_escaped_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    image = 'x"><img src=x onerror=alert(1)>'
    path.write_text(f"id\tname\tparents\nD:0\troot\t\nD:1\t{EVIL}\tD:0\nD:2\t{image}\tD:0\n")
    linker = train(Dictionary.read(path), encoder="tfidf")
    mention = Mention(f"{EVIL}\\x00", gold=parse_gold("D:2"))
    result = run.evaluate([mention], linker, "strict", (1,))
    evil = f"{EVIL}\x00\x1b[31m\u202e {{{{ 7 * 7 }}}}"
    html = report.render(result.record | {"mentions": evil, "predictions": image})
    parsed = Parsed(html)
    assert not {"script", "img", "i"} & {tag for tag, _ in parsed.elements}
    assert not [name for _, values in parsed.elements for name in values if name[:2] == "on"]
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\\x00\\x1b[31m\\u202e" in html
    assert "{{ 7 * 7 }}" in html  # and no template
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", html)
    assert any("onerror=alert(1)" in text for text in parsed.texts)


@pytest.mark.parametrize("protocol", protocols.PROTOCOLS)
def test_a_page_without_confidences_leaves_their_charts_out(tiny: Linker, protocol: str) -> None:
    html = report.render(run.evaluate(ITEMS, tiny, protocol, (1,)).record)
    assert not {"Calibration", "Accuracy by coverage"} & {*headings(html)}
