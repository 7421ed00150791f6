"""What a new release changes of decisions: by HTTP, and in a real browser."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linker import Decision, Dictionary, Linker
from linker.desk.decisions.store import releases
from linker.desk.decisions.updating import Names
from linker.training.pipeline import train

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the extra test is not installed")

from fastapi.testclient import TestClient

from linker.desk.service.app import create
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service

from .browser import asked, needs_browser, opened, problems, serving, wait_until_linked

HEADER = "id\tname\tsynonyms\talt_ids"
OLD = ("D:1\tGout\t\t", "D:9\tOld\t\t", "D:2\tFoot Pain\t\t", "D:77\tGone\t\t")
RELEASE = (
    "D:1\tGout\tpodagra\tD:9",  # D:9 was merged into it
    "D:2\tFoot Pain\tsore foot|wet foot|FAP\t",
    "D:3\tTea Allergy\t\t",
)
DECISIONS = [
    Decision("gout", "D:1", reviewer="Bob"),  # stays
    Decision("toe trouble", "D:9", reviewer="Bob"),
    Decision("sore foot", "D:1", reviewer="Bob"),
    Decision("tea allergy", "D:1", reviewer="Bob", predicate="broad"),
    Decision("unheard", "D:77", reviewer="Bob"),
    Decision("podagra", "", reviewer="Bob"),
    Decision("wet foot", "D:1", reviewer="Bob", scope="7"),
]


def dictionary(folder: Path, *rows: str) -> Dictionary:
    path = folder / "d.tsv"
    path.write_text("\n".join((HEADER, *rows)) + "\n")
    return Dictionary.read(path)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    return train(dictionary(tmp_path_factory.mktemp("release"), *RELEASE), encoder="tfidf")


@pytest.fixture
def service(release: Linker, tmp_path: Path) -> Service:
    before = tmp_path / "before"
    dictionary(tmp_path, *OLD).save(before)
    settings = Settings("release", str(tmp_path / "decisions.sqlite"), before=str(before))
    service = Service(settings, release)
    assert service.store
    service.store.add(DECISIONS)
    return service


@pytest.fixture
def client(service: Service) -> Any:
    with TestClient(create(service)) as client:
        assert client.get("/model").json()["before"] is True
        yield client


def changes(client: Any) -> tuple[int, dict[str, tuple[int, int]], list[int]]:
    """How many decisions stay; of each kind how many change, and are accepted by it; which."""
    found = client.get("/decisions/changes").json()
    kinds = {k["kind"]: (k["count"], k["acceptable"]) for k in found["kinds"] if k["count"]}
    return found["current"], kinds, [change["id"] for change in found["changes"]]


def accept(client: Any, *words: str | int, **more: Any) -> Any:
    return client.post("/decisions/changes", json={"accept": words, "reviewer": "Ann"} | more)


FIRST = (
    1,
    {"merged": (1, 0), "moved": (3, 2), "exact now": (1, 1), "unknown": (1, 0)},
    [2, 3, 4, 5, 6, 7],
)


def test_changes_are_listed_and_nothing_is_written(client: Any, service: Service) -> None:
    assert changes(client) == FIRST
    found = client.get("/decisions/changes").json()["changes"]
    gout, foot = ({"concept_id": i, "name": n} for i, n in (("D:1", "Gout"), ("D:2", "Foot Pain")))
    about = "id", "mention", "reviewer", "kind", "acceptable", "before", "now"
    said = [3, "sore foot", "Bob", "moved", True, [gout], [foot]]
    assert [found[1][name] for name in about] == said
    assert (found[0]["before"], found[0]["now"]) == ([{"concept_id": "D:9", "name": "Old"}], [gout])
    assert (found[3]["now"], found[3]["acceptable"]) == ([], False)
    assert (found[4]["before"], found[5]["scope"]) == ([], "7")
    assert service.store
    assert len(service.store.list()) == len(DECISIONS)


def test_changes_are_accepted_by_number_and_by_kind(client: Any, service: Service) -> None:
    answer = accept(client, 3)
    assert answer.status_code == 201
    (new,) = answer.json()["decisions"]
    assert (new["mention"], new["concept_id"], new["reviewer"]) == ("sore foot", "D:2", "Ann")
    assert (new["settles"], new["bulk"]) == (["Bob"], False)
    assert new["release"] == releases(service.linker.dictionary)
    rest = {"merged": (1, 0), "moved": (2, 1), "exact now": (1, 1), "unknown": (1, 0)}
    second = 2, rest, [2, 4, 5, 6, 7]
    assert changes(client) == second
    project = client.post("/projects?file=names.txt", content=b"podagra\n").json()["id"]
    more = {"count": 2, "project": project}
    answer = accept(client, "moved", "exact now", **more).json()
    assert [(d["mention"], d["concept_id"], d["bulk"]) for d in answer["decisions"]] == [
        ("podagra", "D:1", True),
        ("tea allergy", "D:3", True),
    ]
    assert len({d["step"] for d in answer["decisions"]}) == 1
    assert changes(client) == (4, {"merged": (1, 0), "moved": (1, 0), "unknown": (1, 0)}, [2, 5, 7])
    undone = client.post(f"/projects/{project}/undo", json={"reviewer": "Ann"}).json()
    assert undone["words"] == "podagra: D:1; tea allergy: D:3"
    assert changes(client) == second
    assert accept(client, 7).json()["decisions"][0]["scope"] == "7"


@pytest.mark.parametrize(
    ("words", "more", "status", "where"),
    [
        (["merged"], {}, 422, "accept"),
        ([1], {}, 422, "accept"),  # is no change
        ([3, 5], {}, 422, "accept"),  # has nothing that could be accepted
        ([], {}, 422, "accept"),
        (["moved"], {"count": 3}, 409, None),
        (["moved"], {"project": 9}, 404, None),
    ],
)
def test_what_cannot_be_accepted(
    words: list[str | int], more: Any, status: int, where: str | None, client: Any
) -> None:
    refused = accept(client, *words, **more)
    assert (refused.status_code, refused.json()["where"]) == (status, where)
    assert changes(client) == FIRST


def test_names_are_made_once_for_each_dictionary(
    client: Any, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Dictionary] = []
    make = Names.__init__

    def counted(self: Names, dictionary: Dictionary) -> None:
        made.append(dictionary)
        make(self, dictionary)

    monkeypatch.setattr(Names, "__init__", counted)
    assert changes(client) == FIRST
    accept(client, 3)
    assert changes(client) != FIRST
    assert len(made) == 2
    service.model = replace(service.model, names_made=None)  # as one that is loaded anew
    changes(client)
    assert made[2:] == [service.linker.dictionary]


def test_without_a_change_of_a_kind_nothing_is_accepted(client: Any) -> None:
    accept(client, "exact now")
    assert accept(client, "exact now").status_code == 409


@pytest.mark.parametrize(
    ("before", "status", "words"), [(None, 409, "--before"), ("nowhere", 422, "nowhere")]
)
def test_the_earlier_dictionary_is_needed(
    before: str | None, status: int, words: str, release: Linker, tmp_path: Path
) -> None:
    settings = Settings("release", str(tmp_path / "decisions.sqlite"), before=before)
    with TestClient(create(Service(settings, release))) as client:
        assert client.get("/model").json()["before"] is bool(before)
        for answer in (client.get("/decisions/changes"), accept(client, "moved")):
            assert answer.status_code == status
            assert words in answer.json()["error"]


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    with serving(create(service)) as address:
        yield address


FAP = Decision("FAP", "D:1", reviewer="Bob")


def test_a_short_form_is_accepted_by_its_number_alone(client: Any, service: Service) -> None:
    assert service.store
    (added,) = service.store.add([FAP])
    found = client.get("/decisions/changes").json()["changes"]
    assert [c["mention"] for c in found if c["one_by_one"]] == ["wet foot", "FAP"]
    answer = accept(client, "moved", count=2)
    assert [d["mention"] for d in answer.json()["decisions"]] == ["sore foot", "podagra"]
    (by_number,) = accept(client, added.id).json()["decisions"]
    assert (by_number["mention"], by_number["bulk"]) == ("FAP", False)


def test_a_rejection_whose_id_was_merged_is_accepted_by_its_number_alone(
    client: Any, service: Service
) -> None:
    assert service.store
    (added,) = service.store.add([Decision("toe sore", "D:9", False, reviewer="Bob")])
    (change,) = (
        c for c in client.get("/decisions/changes").json()["changes"] if c["kind"] == "open"
    )
    about = change["id"], change["acceptable"], bool(change["one_by_one"])
    assert about == (added.id, True, True)
    project = client.post("/projects?file=names.txt", content=b"toe sore\n").json()["id"]
    while client.get(f"/projects/{project}").json()["linked"] < 1:
        time.sleep(0.02)
    (row,) = client.get(f"/projects/{project}/queue").json()["rows"]
    shown = client.get(f"/projects/{project}/groups/{row['key']}").json()["prediction"]
    said = [(d["concept_id"], d["said"], d["accepted"]) for d in shown["decisions"]]
    assert said == [("D:1", "D:9", False)]
    assert accept(client, "open").status_code == 422
    (taken,) = accept(client, added.id).json()["decisions"]
    assert (taken["concept_id"], taken["accepted"], taken["bulk"]) == ("D:1", True, False)
    assert "open" not in changes(client)[1]


@needs_browser
def test_a_short_form_is_listed_apart_on_the_page(
    service: Service, address: str, context: Any
) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    assert service.store
    service.store.add([FAP])
    asked(f"{address}projects?file=names.txt", b"podagra\ngout\n")
    with opened(context, address, "review?project=1") as page:
        page.fill("#reviewer", "Ann")
        page.click("#show-release")
        view, status = page.locator("#release-view"), page.locator("#status")
        moved = view.locator("h4", has_text="moved")
        expect(moved).to_have_text("moved: 4 decisions")
        expect(view.locator("h5")).to_have_text(["One by one: 2 decisions"])
        apart = view.locator("h5 + ul > li")
        expect(apart).to_have_count(2)
        expect(apart.last).to_contain_text("the mention is a short form")
        view.get_by_role("button", name="Accept all 2 (moved)").click()
        page.get_by_role("dialog").get_by_role("button", name="Accept them").click()
        expect(status).to_contain_text("2 decisions accepted.")
        expect(moved).to_have_text("moved: 2 decisions")
        view.get_by_role("button", name="Accept Foot Pain for FAP").click()
        expect(status).to_contain_text("1 decision accepted.")
        expect(apart).to_have_count(1)
    decided = [(d.mention, d.bulk) for d in service.store.list() if d.reviewer == "Ann"]
    assert decided == [("sore foot", True), ("podagra", True), ("FAP", False)]


@needs_browser
def test_changes_are_accepted_on_the_page(address: str, context: Any) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    asked(f"{address}projects?file=names.txt", b"podagra\ngout\n")
    with opened(context, address, "review?project=1") as page:
        page.fill("#reviewer", "Ann")
        page.click("#show-release")
        view, status = page.locator("#release-view"), page.locator("#status")
        expect(view.locator("h3")).to_have_text("The new release changes 6 decisions")
        expect(view.locator("h4")).to_have_text(
            [
                "moved: 3 decisions",
                "exact now: 1 decision",
                "merged: 1 decision",
                "unknown: 1 decision",
            ]
        )
        expect(view).to_contain_text("sore foot by Bob Accept")
        expect(view).to_contain_text("Gout D:1 → Foot Pain D:2")
        expect(view).to_contain_text("Gout D:1 (broader than it) → Tea Allergy D:3")
        assert problems(page) == ""
        view.get_by_role("button", name="Accept Foot Pain for sore foot").click()
        expect(status).to_contain_text("1 decision accepted.")
        expect(view.locator("h4").first).to_have_text("moved: 2 decisions")
        bulk = page.get_by_role("dialog", name="Accept all?")
        view.get_by_role("button", name="Accept all 1 (moved)").click()
        expect(bulk).to_contain_text("Accept the new concepts of 1 decision (moved)")
        bulk.get_by_role("button", name="Cancel").click()
        expect(status).to_have_text("Nothing was accepted.")
        view.get_by_role("button", name="Accept all 1 (moved)").click()
        bulk.get_by_role("button", name="Accept them").click()
        expect(view.locator("h3")).to_have_text("The new release changes 4 decisions")
        status.get_by_role("button", name="Undo").click()
        expect(view.locator("h3")).to_have_text("The new release changes 5 decisions")
        expect(status).to_contain_text("Taken back: podagra: D:1")


@needs_browser
def test_keys_go_by_the_changes_that_are_seen(address: str, context: Any) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    asked(f"{address}projects?file=names.txt", b"podagra\ngout\n")
    before = {d["id"] for d in asked(f"{address}decisions")["decisions"]}
    with opened(context, address, "review?project=1&show=all") as page:
        page.fill("#reviewer", "Ann")
        page.focus("#rows")
        page.locator("#remarks").wait_for()
        page.click("#show-release")
        changes = page.locator("#release-view li")
        selected = page.locator("#release-view [aria-current=true]")
        status = page.locator("#status")
        expect(page.locator("#answer")).to_have_text("No mention is selected")
        expect(selected).to_have_text(changes.nth(0).text_content())
        page.keyboard.press("n")  # on no row of the queue, which is hidden
        expect(status).to_contain_text("Here a accepts a change")
        page.keyboard.press("j")
        second, third = changes.nth(1).text_content(), changes.nth(2).text_content()
        expect(selected).to_have_text(second)
        expect(selected).to_be_focused()
        page.keyboard.press("a")
        expect(status).to_contain_text("1 decision accepted.")
        expect(selected).to_have_text(third)
        expect(page.locator("#release-view")).not_to_contain_text(second)
        made = [d for d in asked(f"{address}decisions")["decisions"] if d["id"] not in before]
        assert [(d["mention"], d["reviewer"]) for d in made] == [
            (second.partition(" by ")[0], "Ann")
        ]


@needs_browser
def test_no_key_accepts_a_change_that_is_folded_away(
    service: Service, address: str, context: Any
) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    assert service.store
    scopes = [str(number) for number in range(100, 203)]
    service.store.add(Decision("sore foot", "D:1", reviewer="Bob", scope=of) for of in scopes)
    asked(f"{address}projects?file=names.txt", b"podagra\ngout\n")
    with opened(context, address, "review?project=1&show=all") as page:
        page.fill("#reviewer", "Ann")
        page.focus("#rows")
        page.locator("#remarks").wait_for()
        page.click("#show-release")
        selected = page.locator("#release-view [aria-current=true]")
        status = page.locator("#status")
        details = page.locator("#release-view details")
        folded = details.locator("li")
        expect(folded).to_have_count(4)
        expect(selected).to_contain_text("sore foot")
        for _ in range(102):  # two that are accepted together, and a hundred that are seen
            page.keyboard.press("j")
        expect(selected).to_contain_text("tea allergy")
        expect(selected).to_be_visible()
        page.keyboard.press("a")
        expect(status).to_contain_text("1 decision accepted.")
        expect(selected).to_contain_text("toe trouble")
        details.locator("summary").click()
        expect(folded.last).to_be_visible()
        page.keyboard.press("k")
        expect(selected).to_have_text(folded.last.text_content())
        expect(selected).to_be_focused()
        page.keyboard.press("k")
        expect(selected).to_have_text(folded.nth(2).text_content())
        page.keyboard.press("a")
        expect(folded).to_have_count(3)
        expect(folded.last).to_be_visible()  # the list was drawn anew, and is unfolded still
        expect(selected).to_have_text(folded.last.text_content())
        details.locator("summary").click()
        expect(selected).not_to_be_visible()
        page.keyboard.press("a")
        expect(status).to_contain_text("This one has no Accept")
    made = [d for d in service.store.list() if d.reviewer == "Ann"]
    assert [(d.mention, d.scope) for d in made] == [("tea allergy", ""), ("sore foot", "201")]


@needs_browser
def test_undo_among_changes_selects_none_by_the_number_of_a_row(
    service: Service, address: str, context: Any
) -> None:
    """The keys of rows are numbers of mentions, and those of changes of decisions."""
    expect = pytest.importorskip("playwright.sync_api").expect
    assert service.store
    names = [*(f"name {number}" for number in range(5)), "sore foot"]
    project = asked(f"{address}projects?file=names.txt", "\n".join(names).encode())["id"]
    wait_until_linked(f"{address}projects/{project}")
    rows = asked(f"{address}projects/{project}/queue?show=all&sort=document")["rows"]
    (key,) = (row["key"] for row in rows if row["mention"] == "sore foot")
    (same,) = (d for d in service.store.list() if str(d.id) == key)
    assert same.mention == "podagra"  # its change is listed, too
    with opened(context, address, "review?project=1&show=all") as page:
        page.fill("#reviewer", "Ann")
        page.focus("#rows")
        page.locator("#remarks").wait_for()
        page.click("#show-release")
        selected = page.locator("#release-view [aria-current=true]")
        status = page.locator("#status")
        expect(selected).to_contain_text("sore foot")
        page.keyboard.press("a")
        expect(status).to_contain_text("1 decision accepted.")
        page.keyboard.press("j")
        expect(selected).to_contain_text("wet foot")
        page.keyboard.press("u")
        expect(status).to_contain_text("Taken back: sore foot")
        expect(selected).to_contain_text("wet foot")
        page.keyboard.press("a")
        expect(status).to_contain_text("1 decision accepted.")
    made = [d.mention for d in service.store.list() if d.reviewer == "Ann"]
    assert made == ["wet foot"]
