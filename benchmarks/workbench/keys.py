"""A curator's rows by keys, in a real browser: is a decision stored that no key made?

python benchmarks/workbench/keys.py --model linker-model [--rows 300]

Writes results/keys.json. The rows are cells out of the annotated mentions of the development
documents: composite mentions, cells that name two diseases of a document ("gout; asthma"), and
plain ones. A curator presses keys that are drawn by chance on the page of their project in headless
Chromium, until every row is decided: accept, a candidate by its number, reject, no concept, another
part, undo, the row before and behind, more candidates, a search, and two numbers faster than the
service answers. Before each key is written down what the page shows: the mention, its parts, their
candidates, and the part in use. What each key decides follows from that alone, and is compared with
the file of decisions at the end, entry by entry. So are the answers of all rows, part by part.
"""

from __future__ import annotations

import csv
import io
import random
import shutil
import sys
import tempfile
import urllib.parse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import development
from benchmarks.service.load import Server
from linker.desk.projects.filters import DECIDED
from linker.ids import OPEN, join_ids, part_ids
from linker.linking.decisions import form_everywhere
from linker.linking.decisions_file import DecisionsFile

SEED = 0
COMPOSITES, PAIRS = 0.25, 0.25  # shares of the rows
REVIEWER = "Ann"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MOST_KEYS = 10  # for each row, after which the curator gives up
WEIGHTS = {  # how often each key is pressed, where it can be
    **{"a": 40, "number": 20, "n": 10, "r": 6, "p": 5, "u": 5, "j": 4, "k": 2, "m": 2, "/": 4},
    "two numbers": 20,
}
SHOWN = """() => {
    const parts = [...document.querySelectorAll("#candidates .part")].map((part) => ({
        ids: [...part.querySelectorAll("li code")].map((code) => code.textContent),
        best: part.querySelector("li.best code")?.textContent ?? null,
        isInUse: part.classList.contains("in-use"),
        isDecided: Boolean(part.querySelector("h3 .badge")),
    }));
    const answer = document.getElementById("answer");
    return {
        key: answer.dataset.key,
        mention: answer.textContent.slice(1, -1),
        parts,
        canAccept: !document.getElementById("accept").disabled,
    };
}"""
IS_SAID = """() => {
    const words = document.getElementById("status").textContent;
    return words && !words.startsWith("Asking") && !words.includes("found.");
}"""
IS_SHOWN = "(key) => document.getElementById('answer').dataset.key !== key"
SAY_NOTHING = "() => { document.getElementById('status').textContent = ''; }"


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision: that a key made, or that is stored."""

    form: str  # of the mention, with its own short forms written out, as decisions are kept
    ids: str  # of each part, as the store has them
    is_accepted: bool = True
    is_withdrawn: bool = False


@dataclass(slots=True)
class Curator:
    """Presses keys, and writes down what each decides.

    Args:
        page: of the project, in the browser.
        draw: by chance.
    """

    page: Any
    draw: random.Random
    log: list[Entry] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # the entries that can be undone, the last last
    keys: Counter[str] = field(default_factory=Counter)

    def press_one(self) -> bool:
        """Press a key, and wait for what becomes of it; whether something is left below."""
        shown = self.page.evaluate(SHOWN)
        key = self._next(shown)
        self.keys[key] += 1
        self.page.evaluate(SAY_NOTHING)
        if key == "p":
            self.page.keyboard.press("p")
            return True
        if key in ("j", "k"):
            self.page.keyboard.press(key)
            moved_or_not = f"(key) => ({IS_SHOWN})(key) || ({IS_SAID})()"
            self.page.wait_for_function(moved_or_not, arg=shown["key"])
            return True
        place = place_in_use(shown)
        if key == "number":
            self._choose(shown, place)
        elif key == "two numbers":
            self._choose_twice(shown)
        elif key == "/":
            self._decided(shown, place, self._search(shown["parts"][place]["ids"]))
        else:
            self.page.keyboard.press(key)
            self._write_down(key, shown, place)
        self.page.wait_for_function(IS_SAID)
        return "Nothing undecided is below" not in self.page.text_content("#status")

    def _next(self, shown: Any) -> str:
        """The key that is pressed next, given what is shown."""
        weights, parts = dict(WEIGHTS), shown["parts"]
        if len(parts) == 1:
            del weights["p"]
        is_new = not any(part["isDecided"] or not part["ids"] for part in parts)
        if len(parts) != 2 or place_in_use(shown) or not is_new:
            del weights["two numbers"]
        return self.draw.choices(list(weights), list(weights.values()))[0]

    def _choose(self, shown: Any, place: int) -> None:
        """Press the number of a candidate, or one behind the last."""
        ids = shown["parts"][place]["ids"]
        number = self.draw.randint(1, min(9, len(ids) + 1))
        self.page.keyboard.press(str(number))
        if number <= len(ids):
            self._decided(shown, place, ids[number - 1])

    def _choose_twice(self, shown: Any) -> None:
        """Choose the first candidate of one part and of the next, faster than anybody answers."""
        for place, part in enumerate(shown["parts"]):
            self._decided(shown, place, part["ids"][0])
        self.page.keyboard.press("1")
        self.page.keyboard.press("1")
        self._wait_for("part 2")

    def _write_down(self, key: str, shown: Any, place: int) -> None:
        """Write down what a key makes of a part."""
        best = shown["parts"][place]["best"]
        if key == "a" and shown["canAccept"]:
            self._decided(shown, place, best)
        elif key == "n":
            self._decided(shown, place, None)
        elif key == "r" and best:
            self._add(Entry(form_everywhere(shown["mention"]), join_ids([[best]]), False))
        elif key == "u" and self.steps:
            last = self.steps.pop()
            self.log[last] = replace(self.log[last], is_withdrawn=True)

    def _wait_for(self, words: str) -> None:
        """Wait until the page says something of the second of two keys."""
        said = "(words) => document.getElementById('status').textContent.includes(words + ' is ')"
        self.page.wait_for_function(said, arg=words)

    def _search(self, ids: Sequence[str]) -> str:
        """Search for the last candidate, or for gout, and choose the first that is found."""
        self.page.keyboard.press("/")
        text = ids[-1] if ids else "gout"
        self.page.keyboard.type(text)
        first = self.page.locator(f'#found[data-text="{text}"] li code').first
        first.wait_for()
        identifier: str = first.text_content()
        self.page.evaluate(SAY_NOTHING)
        self.page.keyboard.press("Enter")
        return identifier

    def _decided(self, shown: Any, place: int, identifier: str | None) -> None:
        """Write down that a part was decided; None: that it has no concept."""
        ids: list[list[str] | None] = [None] * len(shown["parts"])
        ids[place] = [identifier] if identifier else []
        is_none = len(ids) == 1 and not identifier
        self._add(Entry(form_everywhere(shown["mention"]), "" if is_none else join_ids(ids)))

    def _add(self, entry: Entry) -> None:
        self.steps.append(len(self.log))
        self.log.append(entry)


def place_in_use(shown: Any) -> int:
    """The place of the part on which keys act."""
    return next(place for place, part in enumerate(shown["parts"]) if part["isInUse"])


def cells(count: int, draw: random.Random) -> list[str]:
    """Different cells of the annotated mentions of the development documents."""
    composites, pairs, plain = list[str](), list[str](), list[str]()
    for document in development():
        mentions = [m for m in document.mentions if m.gold]
        composites += [m.text for m in mentions if m.gold and len(m.gold) > 1]
        plain += [m.text for m in mentions]
        if len(mentions) > 1:
            pairs.append("; ".join(m.text for m in draw.sample(mentions, 2)))
    chosen = dict[str, str]()
    for texts, most in (
        (composites, count * COMPOSITES),
        (pairs, count * (COMPOSITES + PAIRS)),
        (plain, count),
    ):
        draw.shuffle(texts)
        for text in texts:
            if len(chosen) < most and "\n" not in text:
                chosen.setdefault(form_everywhere(text), text)
    rows = list(chosen.values())
    draw.shuffle(rows)
    return rows


def answered(log: Sequence[Entry]) -> dict[str, list[str | None]]:
    """What keys said of the parts of each mention, in the end."""
    said: dict[str, list[str | None]] = {}
    for entry in log:
        if entry.is_withdrawn:
            continue
        ids, before = part_ids(entry.ids), said.get(entry.form, [])
        if not entry.is_accepted:
            said[entry.form] = [None if part in ids else part for part in before]
        elif len(before) == len(ids):
            pairs = zip(ids, before, strict=True)
            said[entry.form] = [old if new is None else new for new, old in pairs]
        else:
            said[entry.form] = ids
    return said


def stored(path: Path) -> list[Entry]:
    """The decisions in a file, in order."""
    entries = []
    with DecisionsFile(path, read_only=True) as file:
        for past in file.history():
            form, ids = form_everywhere(past.decision.mention), past.decision.concept_id
            is_withdrawn = past.state == "withdrawn"
            entries.append(Entry(form, ids, past.decision.accepted, is_withdrawn))
    return entries


def project(server: Server, rows: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of the project as they are now."""
    query = {"show": "all", "sort": "document", "limit": len(rows)}
    address = f"{server.url}/projects/1/queue?{urllib.parse.urlencode(query)}"
    found: list[dict[str, Any]] = httpx.get(address, timeout=60).json()["rows"]
    return found


def undecided(server: Server, rows: Sequence[str]) -> list[dict[str, Any]]:
    """The rows that wait for a decision."""
    return [row for row in project(server, rows) if row["state"] not in DECIDED]


def decide_all(server: Server, rows: Sequence[str], draw: random.Random) -> Curator:
    """Press keys until each row is decided."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1366, "height": 820})
        page.set_default_timeout(60_000)
        curator = Curator(page, draw)
        is_left = False
        while curator.keys.total() < MOST_KEYS * len(rows):
            if not is_left:
                if not undecided(server, rows):
                    break
                page.goto(f"{server.url}/review?project=1&sort=document&show=undecided")
                page.fill("#reviewer", REVIEWER)
                page.wait_for_function("() => document.getElementById('answer').dataset.key")
                page.focus("#rows")
            is_left = curator.press_one()
            if curator.keys.total() % 50 == 0:
                print(f"{curator.keys.total()} keys, {len(curator.log)} decisions", file=sys.stderr)
        browser.close()
    return curator


def main() -> None:
    """Measure, and write the result."""
    parser = results.parser(__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rows", type=int, default=300)
    arguments = parser.parse_args()
    draw = random.Random(SEED)
    rows = cells(arguments.rows, draw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.sqlite"
        server = Server(arguments.model, "--decisions", str(path))
        table = io.StringIO()
        csv.writer(table).writerows([["mention"], *([row] for row in rows)])
        query = urllib.parse.urlencode({"file": "cells.csv", "column": "mention"})
        with httpx.Client(base_url=server.url, timeout=300) as client:
            client.post(f"/projects?{query}", content=table.getvalue().encode()).raise_for_status()
            while client.get("/projects/1").json()["linked"] < 1:
                pass
        curator = decide_all(server, rows, draw)
        there = project(server, rows)
        server.end()
        kept = stored(path)
    log, said = curator.log, answered(curator.log)
    wrong = [
        row["mention"]
        for row in there
        if differs(row, said.get(form_everywhere(row["mention"]), []))
    ]
    figures = {
        "rows": len(rows),
        "rows_in_parts": sum(len(part_ids(row["ids"])) > 1 for row in there),
        "keys": dict(sorted(curator.keys.items())),
        "decisions_of_keys": len(log),
        "of_one_part": sum(OPEN in entry.ids for entry in log),
        "withdrawn": sum(entry.is_withdrawn for entry in log),
        "stored": len(kept),
        "stored_that_no_key_made": len(Counter(kept) - Counter(log)),
        "made_and_not_stored": len(Counter(log) - Counter(kept)),
        "in_the_same_order": kept == log,
        "rows_decided": sum(row["state"] in DECIDED for row in there),
        "rows_with_a_part_that_no_key_decided": len(wrong),
    }
    for entry in [*(Counter(kept) - Counter(log)), *(Counter(log) - Counter(kept))]:
        print(entry, file=sys.stderr)
    print(wrong, file=sys.stderr)
    results.save("keys", figures, seed=SEED)


def differs(row: dict[str, Any], said: Sequence[str | None]) -> bool:
    """Whether a row is decided, and not as keys decided each of its parts."""
    if row["state"] not in DECIDED:
        return False
    if row["state"] == "no concept":
        return not said or any(said) or None in said
    return part_ids(row["ids"]) != list(said)


if __name__ == "__main__":
    main()
