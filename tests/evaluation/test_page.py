"""report.html: one file, everything in it, nothing that could run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from linker import Candidate, Dictionary, Document, Linker, Mention
from linker.evaluation import page, protocols, run
from linker.ids import parse_gold
from linker.outputs import jsonl
from linker.types import Part, Passage, Prediction

EVIL = "<script>alert('x')</script>"
VOID = {"meta", "br", "rect", "line", "circle"}


class Parsed(HTMLParser):
    """The elements and texts of a page; fails where an element is closed that is not open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def evaluated(
    linker: Linker | None, items: list[Any], predictions: list[Prediction], folder: Path
) -> str:
    """The page of an evaluation of predictions."""
    with (folder / "p.jsonl").open("w", encoding="utf-8") as file:
        jsonl.write([(None, predictions)], file)
    result = run.evaluate(items, linker, "strict", (1, 5), path=folder / "p.jsonl")
    run.write(folder, result.record, result.outcomes, linker, items)
    return (folder / "report.html").read_text("utf-8")


def answer(mention: Mention, identifier: str, confidence: float | None) -> Prediction:
    candidate = Candidate(identifier, f"name of {identifier}", "x", 1, confidence=confidence)
    return Prediction(mention, (Part(mention.text, candidates=(candidate,)),))


def test_the_page_has_every_section_and_no_resources(tiny: Linker, tmp_path: Path) -> None:
    text = "We saw breast\ncancer twice, and ovarian cancer " + "again " * 30
    mentions = (
        Mention("breast\ncancer", ((7, 20),), parse_gold("D:4"), document_id="7"),
        Mention("ovarian cancer", ((32, 46),), parse_gold("D:4"), document_id="7"),
    )
    document = Document("7", (Passage(text),), mentions)
    loose = Mention("abcd", gold=parse_gold("D:1"))
    predictions = [
        answer(mentions[0], "D:3", 0.75),
        answer(mentions[1], "D:4", 0.875),
        answer(loose, "D:6", 0.5),
    ]
    html = evaluated(tiny, [document, loose], predictions, tmp_path)
    parsed = Parsed(html)
    assert parsed.open == []
    names = [tag for tag, _ in parsed.elements]
    assert not {"script", "link", "img", "iframe", "object", "a"} & set(names)
    assert not re.search(r"https?://|url\(|@import|javascript:|\bon\w+=", html)
    assert names.count("svg") == 6
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) == 12
    headings = re.findall("<h2>(.*)</h2>", html)
    assert headings == [
        "Accuracy",
        "Seen and unseen",
        "Kinds of errors",
        "Calibration",
        "Accuracy by coverage",
        "Branches of the hierarchy",
        "Confidence, missing answers and composites",
        "Examples of errors",
    ]
    assert "prefers-color-scheme: dark" in html
    row = next(row for row in html.split("<tr>") if "<mark>breast cancer</mark>" in row)
    assert "We saw </span><mark>breast cancer</mark><span" in row
    assert "> twice, and ovarian cancer again" in row
    assert "D:4 ovarian cancer" in row  # annotated, with its name
    assert "D:3 name of D:3" in row
    assert "0.7500" in row


def test_what_the_data_holds_is_escaped_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(
        f'id\tname\tparents\nD:0\troot\t\nD:1\t{EVIL}\tD:0\nD:2\tx"><img src=x onerror=alert(1)>\tD:0\n'
    )
    linker = Linker.train(Dictionary.read(path))
    text = f"{EVIL}\x00\x1b[31m\u202e {{{{ 7 * 7 }}}}"
    mention = Mention(text, ((5, 5 + len(text)),), parse_gold("D:2"), document_id="<i>")
    document = Document("<i>", (Passage(f"{EVIL[:4]} {text} {EVIL} </mark>"),), (mention,))
    prediction = answer(mention, "D:1", 0.5)
    html = evaluated(linker, [document], [prediction], tmp_path)
    parsed = Parsed(html)
    names = [tag for tag, _ in parsed.elements]
    assert not {"script", "img", "i"} & set(names)
    assert not [
        name for _, attributes in parsed.elements for name in attributes if name[:2] == "on"
    ]
    assert "<mark>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\\x00\\x1b[31m\\u202e" in html
    assert "{{ 7 * 7 }}" in html  # and no template
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", html)
    assert sum("onerror=alert(1)" in text for text in parsed.texts) >= 2  # in a chart and a table


@pytest.mark.parametrize("protocol", protocols.PROTOCOLS)
def test_a_page_without_confidences_leaves_their_charts_out(tiny: Linker, protocol: str) -> None:
    items = [Mention("abcd", gold=parse_gold("D:1")), Mention("www", gold=parse_gold("D:6"))]
    result = run.evaluate(items, tiny, protocol, (1,))
    html = page.render(result.record, result.outcomes, ["", ""], tiny, items)
    assert "<h2>Calibration</h2>" not in html
    assert "<h2>Accuracy by coverage</h2>" not in html
    assert ("calibration and coverage are left out" in html) == (protocol == "strict")


def test_a_page_without_a_model(tmp_path: Path) -> None:
    mention = Mention("abcd", gold=parse_gold("D:1"))
    html = evaluated(None, [mention], [answer(mention, "D:2", 0.5)], tmp_path)
    assert re.findall("<h2>(.*)</h2>", html) == [
        "Accuracy",
        "Calibration",
        "Accuracy by coverage",
        "Confidence, missing answers and composites",
    ]


def test_what_was_rejected_is_shown(tiny: Linker, tmp_path: Path) -> None:
    mention = Mention("abcd", gold=parse_gold("D:2"))
    rejected = Candidate("D:1", "a name", "x", 1, confidence=0.125)
    prediction = Prediction(mention, (Part("abcd", nil=True, rejected=rejected),))
    html = evaluated(tiny, [mention], [prediction], tmp_path)
    assert "no concept (rejected: D:1 a name)" in html


def test_the_same_error_is_shown_once_and_the_most_confident_first(
    tiny: Linker, tmp_path: Path
) -> None:
    texts = ["one", "two", "two", *(f"m{i}" for i in range(9))]
    mentions = [Mention(text, gold=parse_gold("D:3")) for text in texts]
    given = [0.1, 0.2, 0.2, *(i / 10 for i in range(9))]
    predictions = [answer(m, "D:6", c) for m, c in zip(mentions, given, strict=True)]
    html = evaluated(tiny, mentions, predictions, tmp_path)
    assert re.findall("<mark>(.*)</mark>", html) == ["m8", "m7", "m6", "m5", "m4"]
    assert evaluated(tiny, mentions[:3], predictions[:3], tmp_path).count("<mark>two</mark>") == 1
