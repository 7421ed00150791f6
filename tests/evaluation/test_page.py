"""report.html: one file, everything in it, nothing that could run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from linker import (
    Candidate,
    Dictionary,
    Document,
    Linker,
    Mention,
)
from linker.evaluation import page, protocols, run
from linker.ids import parse_gold
from linker.io import outputs
from linker.records import Part, Passage, Prediction
from linker.training.pipeline import train

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


def headings(html: str) -> list[str]:
    return re.findall("<h2.*>(.*)</h2>", html)


def evaluated(
    linker: Linker | None, items: list[Any], predictions: list[Prediction], folder: Path
) -> str:
    """The page of an evaluation of predictions."""
    with (folder / "p.jsonl").open("w", encoding="utf-8") as file:
        outputs.write("jsonl", [(None, predictions)], file)
    result = run.evaluate(items, linker, "strict", (1, 5), path=folder / "p.jsonl")
    run.write(folder, result.record, result.outcomes)
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
    names = {tag for tag, _ in parsed.elements}
    assert not {"script", "link", "img", "iframe", "object", "a"} & names
    assert not re.search(r"https?://|url\(|@import|javascript:|\bon\w+=", html)
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    labels = [a["aria-labelledby"] or "" for _, a in parsed.elements if a.get("role") == "img"]
    assert len(labels) == 5
    assert " ".join(labels).split() == ids  # the heading and the text of each chart
    assert headings(html) == [
        "Accuracy",
        "Seen and unseen",
        "Kinds of errors",
        "Calibration",
        "Accuracy by coverage",
        "Confidence, missing answers and composites",
    ]
    assert "prefers-color-scheme: dark" in html


def test_what_the_data_holds_is_escaped_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    image = 'x"><img src=x onerror=alert(1)>'
    path.write_text(f"id\tname\tparents\nD:0\troot\t\nD:1\t{EVIL}\tD:0\nD:2\t{image}\tD:0\n")
    linker = train(Dictionary.read(path), encoder="tfidf")
    mention = Mention(f"{EVIL}\\x00", gold=parse_gold("D:2"))
    result = run.evaluate([mention], linker, "strict", (1,))
    evil = f"{EVIL}\x00\x1b[31m\u202e {{{{ 7 * 7 }}}}"
    html = page.render(result.record | {"mentions": evil, "predictions": image})
    parsed = Parsed(html)
    names = [tag for tag, _ in parsed.elements]
    assert not {"script", "img", "i"} & set(names)
    assert not [
        name for _, attributes in parsed.elements for name in attributes if name[:2] == "on"
    ]
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\\x00\\x1b[31m\\u202e" in html
    assert "{{ 7 * 7 }}" in html  # and no template
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", html)
    assert any("onerror=alert(1)" in text for text in parsed.texts)


@pytest.mark.parametrize("protocol", protocols.PROTOCOLS)
def test_a_page_without_confidences_leaves_their_charts_out(tiny: Linker, protocol: str) -> None:
    items = [Mention("abcd", gold=parse_gold("D:1")), Mention("www", gold=parse_gold("D:6"))]
    result = run.evaluate(items, tiny, protocol, (1,))
    html = page.render(result.record)
    assert not {"Calibration", "Accuracy by coverage"} & {*headings(html)}
    assert ("calibration and coverage are left out" in html) == (protocol == "strict")


def test_a_page_without_a_model(tmp_path: Path) -> None:
    mention = Mention("abcd", gold=parse_gold("D:1"))
    html = evaluated(None, [mention], [answer(mention, "D:2", 0.5)], tmp_path)
    assert headings(html)[:3] == ["Accuracy", "Calibration", "Accuracy by coverage"]
    assert headings(html)[3:] == ["Confidence, missing answers and composites"]


def drawn(html: str, heading: str, tag: str, kind: str | None = None) -> list[dict[str, float]]:
    """The coordinates in percent of the elements of a chart."""
    chart = next(part for part in html.split("<section>") if headings(part) == [heading])
    return [
        {
            name: float(value[:-1])
            for name, value in attributes.items()
            if value and value[-1] == "%"
        }
        for name, attributes in Parsed(chart.partition("</section>")[0]).elements
        if name == tag and attributes.get("class") in (kind, None)
    ]


def test_charts_are_to_scale() -> None:
    bins = [{"n": 1, "confidence": 0.25, "acc": 0.0}, {"n": 4, "confidence": 0.75, "acc": 0.5}]
    steps = {
        "100": {"n": 400, "acc": 0.9, "confidence": 0.5},
        "80": {"n": 320, "acc": 1.0, "confidence": 0.9},
    }
    record: dict[str, Any] = {
        "protocol": "strict",
        "n": 1234,
        "acc": {"1": 0.5},
        "acc_interval": {"1": [0.25, 0.75]},
        "mrr": 1.0,
        "mrr_interval": [1.0, 1.0],
        "errors": {"sibling": 1200, "hypernym": 300},
        "calibration": {"ece": 0.1, "brier": 0.2, "auroc": 0.0, "without_confidence": 2}
        | {"bins": bins},
        "risk_coverage": {"area": 0.05, "coverage": steps},
        "no_answer": {"without_concept": 0, "without_answer": 0},
        "composites": {"composites": 0, "singles": 1, "singles_split": 0},
    }
    html = page.render(record)
    assert [bar["width"] for bar in drawn(html, "Accuracy", "rect", "bar")] == [50, 100]
    whisker, *ends = drawn(html, "Accuracy", "line", "whisker")[:3]
    assert [whisker, *ends] == [{"x1": 25, "x2": 75}, {"x1": 25, "x2": 25}, {"x1": 75, "x2": 75}]
    assert [bar["width"] for bar in drawn(html, "Kinds of errors", "rect", "bar")] == [100, 25]
    assert drawn(html, "Kinds of errors", "line", "whisker") == []
    assert ">1,200</text>" in html
    assert drawn(html, "Calibration", "circle") == [{"cx": 25, "cy": 100}, {"cx": 75, "cy": 50}]
    counts = drawn(html, "Calibration", "rect", "count")
    assert [(count["y"], count["height"]) for count in counts] == [(92.5, 7.5), (70, 30)]
    assert len(drawn(html, "Calibration", "line", "diagonal")) == 1
    assert "right against wrong\n0.0000. Each" in html
    assert "left out: 2." in html
    # the interval of 360 of 400 ends above 0.8, where the axis begins
    assert drawn(html, "Accuracy by coverage", "circle") == [
        {"cx": 100, "cy": pytest.approx(50)},
        {"cx": 80, "cy": 0},
    ]
    (line,) = drawn(html, "Accuracy by coverage", "line", "line")
    assert line == {"x1": 100, "x2": 80, "y1": pytest.approx(50), "y2": 0}
    assert ">0.80</text>" in html
