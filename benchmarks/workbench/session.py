"""A curator's sessions in the real page: keys and seconds for what becomes right.

python benchmarks/workbench/session.py --model DIR

Writes results/session.json, after each session, and results/plots/session.png; a second call makes
what is missing. Chromium opens the page of `linker serve`
with a project, and what the annotators said is the curator: the first 200 development documents of
BC5CDR, or a table of 2,000 of its development mentions, which stand there without their texts. A
row of the queue, which may be several mentions, is decided as the first of them is annotated:

* `a` accepts the answer, a number chooses another candidate, `n` says that there is no concept;
* else `/`, the letters of the preferred name, four at a time, until the list has the concept,
  arrows down to it, and Enter;
* else `f` flags the row, and `j` goes on: nobody can say it here, such as two concepts where the
  answer has one part.

The queue is in the order of documents, or by doubt; or all above 0.98 is accepted first, by a key
and Enter; or a new model is taken after each hundred rows that were decided, by three clicks, which
count as keys. The accuracy of the whole is the share of all mentions that are right in the file
that the page exports, by `linker.matching` (strict); that of the rest is of those that nobody
looked at. Seconds are those that the page needs from the first key of a row until the next one is
shown, beside the service on two cores; a person reads and thinks besides.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import CORPORA, documents, locate
from benchmarks.service.load import Server
from linker import Dictionary, Linker, matching
from linker.types import Gold
from tests.service.browser import BROWSER, SWITCHES

DOCUMENTS, ROWS, SEED = 200, 2_000, 1
EACH, CHECKED, SURE = 100, 50, "0.98"  # rows until a training, and until the file is checked
LETTERS = 4  # that are typed before the list is looked at
PATIENCE = 20_000  # milliseconds that the page may take
TRAINING = 600_000  # and a training
REACHED = (0.9, 0.95, 0.98)
WAYS = {  # sort, whether all above is accepted first, whether new models are taken
    "in order": ("document", False, False),
    "by doubt": ("doubt", False, False),
    "all above 0.98, then by doubt": ("doubt", True, False),
    "by doubt, trained again": ("doubt", False, True),
}
ANSWER = """() => [...document.querySelectorAll("#candidates .part")].map((part) => ({
    none: Boolean(part.querySelector("p.none")),
    ids: [...part.querySelectorAll("ol.candidates > li code")].map((code) => code.textContent),
}))"""
"""What the page shows of the answer."""
NEXT = """(key) => {
    const selected = new URLSearchParams(location.search).get("key");
    const shown = document.querySelector("#answer").dataset.key;
    const said = document.querySelector("#status").textContent;
    return (shown === selected && shown !== key) || /Nothing undecided|last row/.test(said);
}"""
"""Whether the page shows another row's answer, or says that there is none."""
SAID = "() => document.querySelector('#status').textContent !== ''"
"""Whether the page says that a decision is kept; then it has gone on past all that it decides."""
LISTED = "(text) => document.querySelector('#found').dataset.text === text"
"""Whether the concepts are listed that a text finds."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, with what the annotators said of its mentions."""

    name: str
    content: bytes
    golds: dict[tuple[str, str], Gold]  # by document id and spans, or by "" and the row
    texts: dict[tuple[str, str], Gold]  # of the first mention of a text, by document id


def sources() -> dict[str, Source]:
    """The files of the two projects."""
    read = documents("bc5cdr", "devel")
    texts = gzip.decompress(locate(CORPORA["bc5cdr"]["devel"]).read_bytes()).decode()
    some = "\n\n".join(texts.strip().split("\n\n")[:DOCUMENTS]) + "\n\n"
    marked = [(d.id, mention) for d in read[:DOCUMENTS] for mention in d.mentions]
    mentions = [mention for document in read for mention in document.mentions]
    random.Random(SEED).shuffle(mentions)
    rows = list(enumerate(mentions[:ROWS], 2))  # numbers of the file's lines
    table = "patient\tdiagnosis\n" + "".join(f"{n}\t{mention.text}\n" for n, mention in rows)
    return {
        "documents": Source(
            "documents.pubtator.txt",
            some.encode(),
            {(owner, json.dumps(mention.spans)): mention.gold for owner, mention in marked},
            {(owner, mention.text): mention.gold for owner, mention in reversed(marked)},
        ),
        "table": Source("table.tsv", table.encode(), {("", str(n)): m.gold for n, m in rows}, {}),
    }


class Session:
    """A project in the page, and who decides in it.

    Args:
        page: of the browser.
        url: of the service.
        number: of the project.
        source: with what the annotators said.
        dictionary: of the model; its ids and preferred names.
    """

    def __init__(
        self, page: Page, url: str, number: int, source: Source, dictionary: Dictionary
    ) -> None:
        self._page, self._dictionary = page, dictionary
        self._golds, self._texts = source.golds, source.texts
        self._project = f"{url}/projects/{number}"
        self._url = f"{url}/review?project={number}&show=undecided"
        self.keys, self.rows = 0, 0
        self.seconds, self.kinds = list[float](), dict[str, int]()
        self.curve = list[dict[str, Any]]()

    def run(self, sort: str, at_once: bool, learns: bool) -> None:
        """Decide until the queue is empty, and note after some rows what the file has."""
        self._url += f"&sort={sort}"
        self._open()
        self._note()
        if at_once:
            self._accept_at_once()
        while self._decide():
            if self.rows % CHECKED == 0:
                self._note()
            if learns and self.rows % EACH == 0:
                self._learn()
        self._note()

    def _open(self) -> None:
        """Open the queue at its top."""
        self._page.goto(self._url)
        self._wait(NEXT)

    def _wait(self, condition: str, of: str | None = None) -> None:
        self._page.wait_for_function(condition, arg=of, timeout=PATIENCE)

    @property
    def _key(self) -> str:
        """The key of the selected row."""
        return parse_qs(urlsplit(self._page.url).query).get("key", [""])[0]

    def _press(self, key: str) -> None:
        self._page.keyboard.press(key)
        self.keys += 1

    def _decide(self) -> bool:
        """Decide on the selected row; whether there is a further one."""
        key = self._key
        gold = self._gold(key)
        start = time.perf_counter()
        kind = self._act(self._page.evaluate(ANSWER), gold)
        try:
            self._wait(NEXT, key)
            self.seconds.append(time.perf_counter() - start)
            if kind != "flagged":
                self._wait(SAID)
        except Exception:
            print(f"stuck at {key} after {kind}", file=sys.stderr)
            raise
        self.rows += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return self._key != key

    def _act(self, parts: list[dict[str, Any]], gold: Gold) -> str:
        """Press what decides on an answer; what that was."""
        resolve = self._dictionary.resolve
        answers = [[] if part["none"] else part["ids"][:1] for part in parts]
        if not gold:
            self._press("n")
            return "no concept"
        if matching.strict_rank(answers, gold, resolve) == 1:
            self._press("a")
            return "accepted"
        if len(parts) == 1:
            for number, identifier in enumerate(parts[0]["ids"][:9], 1):
                if matching.strict_rank([[identifier]], gold, resolve) == 1:
                    self._press(str(number))
                    return "chosen"
            if len(gold) == 1 and self._searched(gold[0].ids[0]):
                return "searched"
        if self._page.get_attribute("#flag", "aria-pressed") == "false":  # not an earlier time
            self._press("f")
            self._page.wait_for_selector("#flag[aria-pressed=true]", timeout=PATIENCE)
        self._press("j")
        return "flagged"

    def _searched(self, identifier: str) -> bool:
        """Search for a concept and choose it; whether the search lists it."""
        rows = self._dictionary.rows(identifier)
        if not rows:
            return False
        wanted, name = self._dictionary.ids[rows[0]], self._dictionary.preferred_name(rows[0])
        self._press("/")
        for first in range(0, len(name), LETTERS):
            listed = self._typed(name[: first + LETTERS], name[first : first + LETTERS])
            if wanted in listed:
                for _ in range(listed.index(wanted) + 1):
                    self._press("ArrowDown")
                self._press("Enter")
                return True
        self._press("Escape")
        return False

    def _typed(self, text: str, letters: str) -> list[str]:
        """Type the next letters of a text into the search box; the concepts that it lists then."""
        self._page.keyboard.type(letters)
        self.keys += len(letters)
        self._wait(LISTED, text.strip())
        return self._page.locator("#found li code").all_text_contents()

    def _accept_at_once(self) -> None:
        self._page.fill("#above", SURE)
        self._page.wait_for_selector("#accept-all:not([disabled])", timeout=PATIENCE)
        self._page.focus("#rows")
        self._press("b")
        self._page.wait_for_selector("#bulk[open]", timeout=PATIENCE)
        self._press("Enter")
        self._page.wait_for_selector("#status .notice", timeout=PATIENCE)
        self._note()

    def _learn(self) -> None:
        """Train again, and take the new model."""
        page = self._page
        page.click("#learn")
        page.get_by_role("button", name="Train", exact=True).click()
        page.get_by_role("button", name="Use the new model").click(timeout=TRAINING)
        page.get_by_text("The new model answers from now on").wait_for(timeout=TRAINING)
        page.keyboard.press("Escape")
        self.keys += 3
        while self._asked()["linked"] < 1:
            time.sleep(0.2)
        self._open()
        self._note()

    def _asked(self, path: str = "") -> Any:
        """What the service says of the project."""
        return httpx.get(self._project + path).raise_for_status().json()

    def _gold(self, key: str) -> Gold:
        """What the annotators said of the first mention of a row."""
        place = self._asked(f"/groups/{key}")["places"][0]
        if place["document"]:
            return self._texts[place["document_id"], place["text"]]
        return self._golds["", str(place["row"])]

    def _note(self) -> None:
        """Note how many mentions of the exported file are right."""
        exported = httpx.get(f"{self._project}/export?format=jsonl", timeout=120)
        rows = [json.loads(line) for line in exported.text.splitlines()]
        if len(rows) == len(self._golds) and not rows[0]["document_id"]:
            golds = list(self._golds.values())
        else:
            rows = [r for r in rows if (r["document_id"], json.dumps(r["spans"])) in self._golds]
            golds = [self._golds[r["document_id"], json.dumps(r["spans"])] for r in rows]
        assert len(rows) == len(self._golds)
        right, left = 0, list[bool]()
        for row, gold in zip(rows, golds, strict=True):
            parts = row["parts"]
            answers = [
                [] if part["nil"] else [c["concept_id"] for c in part["candidates"][:1]]
                for part in parts
            ]
            is_right = matching.strict_rank(answers, gold, self._dictionary.resolve) == 1
            right += is_right
            if row["state"] not in ("accepted", "no concept"):
                left.append(is_right)
        self.curve.append(
            {
                "rows": self.rows,
                "keys": self.keys,
                "accuracy": round(right / len(rows), 4),
                "left": len(left),
                "accuracy_of_left": round(sum(left) / len(left), 4) if left else None,
            }
        )
        print(self.curve[-1], file=sys.stderr)

    def figures(self) -> dict[str, Any]:
        """What the session took."""

        def keys_until(share: float) -> int | None:
            return next((p["keys"] for p in self.curve if p["accuracy"] >= share), None)

        return {
            "mentions": len(self._golds),
            "rows": self.rows,
            "keys": self.keys,
            "keys_per_mention": round(self.keys / len(self._golds), 2),
            "seconds_per_row": round(statistics.median(self.seconds), 3),
            "seconds_per_mention": round(sum(self.seconds) / len(self._golds), 3),
            "slowest": round(max(self.seconds), 2),
            "kinds": self.kinds,
            "keys_until": {str(share): keys_until(share) for share in REACHED},
            "curve": self.curve,
        }


def reviewed(model: str, source: Source, how: tuple[str, bool, bool]) -> dict[str, Any]:
    """What a session in a project took."""
    dictionary = Linker.load(model).dictionary
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        copied = shutil.copytree(model, f"{folder}/model")  # which a session may replace
        server = Server(str(copied), "--decisions", f"{folder}/decisions.sqlite")
        opened.callback(server.end)
        asked = {"name": "a", "file": source.name, "reviewer": "annotators"}
        if not source.texts:
            asked["column"] = "diagnosis"
        address = f"{server.url}/projects"
        made = httpx.post(address, params=asked, content=source.content, timeout=60).json()
        while httpx.get(f"{address}/{made['id']}").json()["linked"] < 1:
            time.sleep(0.2)
        driver = opened.enter_context(sync_playwright())
        switches = [f"--{switch}" for switch in SWITCHES]
        browser = driver.chromium.launch(executable_path=BROWSER, args=switches)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.add_init_script("localStorage.setItem('linker.reviewer', 'annotators')")
        session = Session(page, server.url, made["id"], source, dictionary)
        session.run(*how)
        browser.close()
    return session.figures()


def plot(found: dict[str, Any]) -> None:
    """Draw the accuracy of the whole against the keys."""
    layout = {"ncols": len(found), "figsize": (5.5 * len(found), 4), "sharey": True}
    with results.plotted("session", squeeze=False, **layout) as ((*axes,),):
        for axis, (kind, ways) in zip(axes, found.items(), strict=True):
            for way, figures in ways.items():
                curve = figures["curve"]
                axis.plot([p["keys"] for p in curve], [p["accuracy"] for p in curve], label=way)
            axis.set_xlabel("keys")
            axis.set_title("200 abstracts" if kind == "documents" else "a table of 2,000 rows")
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("mentions that are right")
        axes[-1].legend()


def run(model: str, anew: bool) -> None:
    """Make the sessions that the result lacks, and write it after each."""
    found: dict[str, Any] = (
        {} if anew or not results.exists("session") else results.figures("session")
    )
    for kind, source in sources().items():
        for way, how in WAYS.items():
            if way in found.setdefault(kind, {}):
                continue
            print(f"{kind}, {way}", file=sys.stderr)
            found[kind][way] = reviewed(model, source, how)
            results.save("session", found, seed=SEED)
            plot(found)


if __name__ == "__main__":
    arguments = results.parser(__doc__)
    arguments.add_argument("--model", required=True, help="a model of MEDIC; it stays as it is")
    arguments.add_argument("--anew", action="store_true", help="also the sessions that are there")
    given = arguments.parse_args()
    run(given.model, given.anew)
