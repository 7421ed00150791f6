"""The page of projects in a real browser: queue, decisions at once, several reviewers, looks."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.service.app import create
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from .browser import (  # noqa: E402
    agree,
    asked,
    drop,
    held_back,
    is_too_wide,
    needs_browser,
    opened,
    problems,
    serving,
    wait_until_linked,
)
from .conftest import TABLE, Make, Open  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser


@contextlib.contextmanager
def listed(context: Any, address: str) -> Iterator[Any]:
    """The list of projects, which takes files."""
    with opened(context, address, "review") as page:
        page.locator("#project-list > *").wait_for()
        yield page


def heading(page: Any, mention: str) -> None:
    expect(page.locator("#answer")).to_have_text(f"“{mention}”")


def progress(page: Any, text: str) -> None:
    expect(page.locator("#progress-words")).to_contain_text(text)


def status(page: Any, text: str) -> None:
    expect(page.locator("#status")).to_contain_text(text)


def names(page: Any) -> list[str]:
    """The mentions of the rows in sight, in their order."""
    rows = page.locator("#rows .row")
    places = rows.evaluate_all(
        "rows => rows.map((row) => [+row.dataset.place, row.querySelector('.name').textContent])"
    )
    return [name for _, name in sorted(places)]


def test_files_of_all_kinds_become_projects_of_their_kinds(
    address: str, context: Any, make: Make, tmp_path: Path
) -> None:
    texts = {
        "a.txt": "He has leukaemia.\nAnd gout.",
        "b.tsv": "mention\tward\ngout\t1\n",
        "c.json": "{}",
        "d.txt": "Lymphoma was seen.\nIt went.",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    with listed(context, address) as page:
        page.fill("#reviewer", "Ada")
        page.set_input_files("#file", [tmp_path / name for name in texts])
        expect(page.locator("#readings fieldset")).to_have_count(4)
        agree(page)
        rows = page.locator("#project-list tbody tr")
        expect(rows).to_have_count(2)
        expect(page.locator("#project-notes")).to_contain_text(
            re.compile(r"Made: 2 files of [\d :-]+, b\.")
        )
        expect(page.locator("#project-notes")).to_contain_text(
            "Not taken: c.json. c.json, line 1: the object has"
        )
    projects = asked(f"{address}projects")["projects"]
    assert sorted((project["name"][:12], project["kind"]) for project in projects) == [
        ("2 files of 2", "documents"),
        ("b", "table"),
    ]
    (documents,) = (project["id"] for project in projects if project["name"] != "b")
    assert asked(f"{address}projects/{documents}")["documents"] == 2


def test_a_pasted_text_has_an_id_of_its_own(address: str, context: Any, make: Make) -> None:
    with listed(context, address) as page:
        page.fill("#reviewer", "Ada")
        page.get_by_text("Or paste names or a text").click()
        page.fill("#new-text", "He has leukaemia.\nIt was found in May.")
        page.click("#paste")
        agree(page)
        page.locator("#rows .row").first.wait_for()
        project = page.url.split("project=")[1].split("&")[0]
    (document,) = asked(f"{address}projects/{project}/documents")["documents"]
    assert re.fullmatch("pasted-[0-9a-f]{8}", document["id"])


def test_what_a_file_is_read_as_is_shown_and_may_be_changed(
    address: str, context: Any, make: Make, pictures: Path
) -> None:
    names = [*(f"diagnosis {number}" for number in range(299)), "He was seen in May."]
    with listed(context, address) as page:
        page.fill("#reviewer", "Ada")
        drop(page, "diagnoses.txt", "\n".join(names))
        kind, count = page.locator("#readings select").first, page.locator("#readings .note")
        expect(kind).to_have_value("list")
        expect(count).to_have_text("300 names")
        expect(page.locator("#readings li")).to_have_text(names[:3])
        page.screenshot(path=pictures / "reading.png")
        assert problems(page) == ""
        kind.select_option("documents")
        expect(count).to_have_text("1 document")
        page.click("#reading .cancel")
        status(page, "Nothing was kept.")
        assert asked(f"{address}projects")["projects"] == []
        drop(page, "diagnoses.txt", "\n".join(names))
        kind.select_option("documents")
        expect(count).to_have_text("1 document")
        kind.select_option("list")
        expect(count).to_have_text("300 names")
        agree(page)
        expect(page.locator("#project-name")).to_have_text("diagnoses")
    (project,) = asked(f"{address}projects")["projects"]
    assert (project["kind"], project["mentions"]) == ("list", 300)


def test_a_text_that_is_added_is_read_as_the_project_is(
    address: str, make: Make, show: Open, pictures: Path
) -> None:
    project = make("He has leukaemia. It was found in May.", "first.txt", "")
    page = show(project)
    heading(page, "leukaemia")
    drop(page, "note.txt", "Patient with gout")  # which alone would be a name
    kind, count = page.locator("#readings select").first, page.locator("#readings .note")
    expect(kind).to_have_value("documents")
    expect(count).to_have_text("1 document")
    expect(page.locator("#reading .main")).to_be_focused()
    page.screenshot(path=pictures / "reading-added.png")
    assert problems(page) == ""
    page.click("#reading .cancel")
    status(page, "Nothing was kept.")
    assert asked(f"{address}{project}")["documents"] == 1
    drop(page, "note.txt", "Patient with gout")
    agree(page)
    status(page, "note.txt was added.")
    assert asked(f"{address}{project}")["documents"] == 2


def test_many_files_have_one_choice_and_few_are_read_before(
    address: str, context: Any, make: Make, tmp_path: Path, pictures: Path
) -> None:
    notes = [tmp_path / f"note {number}.txt" for number in range(4)]
    for number, note in enumerate(notes):
        note.write_text(f"Patient {number} with gout", "utf-8")
    mixed = [tmp_path / f"seen {number}.text" for number in range(4)]
    for number, text in enumerate(("Gout", "He has gout. It was found in May.", "Gout", "Gout")):
        mixed[number].write_text(text, "utf-8")
    table = tmp_path / "b.csv"
    table.write_text("mention,ward\ngout,1\n", "utf-8")
    with listed(context, address) as page:
        previews = list[str]()
        page.on("request", lambda r: previews.append(r.url) if "/preview" in r.url else None)
        page.fill("#reviewer", "Ada")
        page.set_input_files("#file", [*notes, table])
        expect(page.locator("#readings legend")).to_have_text(["4 files .txt", "b.csv"])
        expect(page.locator("#readings fieldset").first.locator("li")).to_have_text(
            [f"Patient {number} with gout" for number in range(3)]
        )
        assert len(previews) == 4
        page.screenshot(path=pictures / "reading-many.png")
        assert problems(page) == ""
        page.click("#reading .cancel")
        status(page, "Nothing was kept.")
        page.set_input_files("#file", mixed)
        expect(page.locator("#readings select").first).to_have_value("documents")
        expect(page.locator("#readings .note")).to_contain_text(
            "1 document, 1 document, 1 document"
        )
        page.click("#reading .cancel")
        status(page, "Nothing was kept.")
        page.set_input_files("#file", [*notes, table])
        page.locator("#readings select").first.select_option("documents")
        expect(page.locator("#readings .note").first).to_contain_text("1 document, 1 document")
        agree(page)
        expect(page.locator("#project-list tbody tr")).to_have_count(2)
    projects = asked(f"{address}projects")["projects"]
    assert sorted(project["kind"] for project in projects) == ["documents", "table"]
    (documents,) = (project["id"] for project in projects if project["kind"] == "documents")
    assert asked(f"{address}projects/{documents}")["documents"] == 4


def test_another_column_may_be_chosen(address: str, context: Any, make: Make) -> None:
    with listed(context, address) as page:
        page.fill("#reviewer", "Ada")
        drop(page, "findings.csv", "seen,finding\nfever,gout\ncough,lupus\n")
        column = page.locator("#readings select").last
        expect(column).to_have_value("")  # which nobody could know
        agree(page)
        expect(page.locator("#reading")).to_be_visible()
        column.select_option("finding")
        expect(page.locator("#readings li")).to_have_text(["gout", "lupus"])
        column.select_option("seen")
        expect(page.locator("#readings li")).to_have_text(["fever", "cough"])
        agree(page)
        expect(page.locator("#rows")).to_contain_text("cough")


def test_an_encoding_may_be_named(address: str, context: Any, tmp_path: Path) -> None:
    (tmp_path / "others.csv").write_bytes("mention;ward\nświnka;x\n".encode("windows-1250"))
    with listed(context, address) as page:
        page.get_by_label("Encoding").fill("windows-1250")
        page.set_input_files("#file", [tmp_path / "others.csv"])
        page.locator("#readings select").last.select_option("mention")
        agree(page)
        expect(page.locator("#rows")).to_contain_text("świnka")


def test_decisions_of_before_are_taken_again_where_somebody_says_so(
    address: str, make: Make, show: Open
) -> None:
    project = make()
    with urllib.request.urlopen(f"{address}{project}/export") as answer:
        table = answer.read().decode()
    filled = table.replace(",model,", ",accepted,", 1)
    reviewer = f"Eve of {project}"  # who has decided nothing before
    page = show(project, reviewer)
    notes = page.locator("#project-notes")
    again = notes.get_by_role("button", name="Take these decisions again")
    drop(page, "back.csv", filled)
    expect(page.locator("#readings select").last).to_have_value("finding")  # of the project
    agree(page)
    expect(notes).to_contain_text("Decisions read: 1; of them new: 1.")
    expect(again).to_have_count(0)
    progress(page, "2 of 6 decided")
    asked(f"{address}{project}/undo", {"reviewer": reviewer})
    drop(page, "back.csv", filled)
    agree(page)
    expect(notes).to_contain_text("replaced or withdrawn since, passed over: 1.")
    progress(page, "0 of 6 decided")
    again.click()
    expect(notes).to_contain_text("Decisions read: 1; of them new: 1.")
    expect(again).to_have_count(0)
    progress(page, "2 of 6 decided")


def test_from_a_file_to_decisions_by_keyboard(address: str, context: Any, make: Make) -> None:
    with listed(context, address) as page:
        press = page.keyboard.press
        page.fill("#reviewer", "Ada")
        drop(page, "findings.csv", TABLE)
        expect(page.locator("#readings select").last).to_have_value("finding")
        expect(page.locator("#reading .main")).to_be_focused()
        press("Enter")
        expect(page.locator("#project-name")).to_have_text("findings")
        progress(page, "0 of 6 decided")
        page.select_option("[name=sort]", "frequency")
        heading(page, "leukaemia")
        expect(page.locator("#rows .row").first).to_contain_text("×2")
        expect(page.locator("#places")).to_contain_text("Row 2")
        expect(page.locator("#places .cells").first).to_contain_text("age3")
        concept = page.locator("#concept")
        expect(concept.get_by_role("button", name="Choose this concept")).to_be_visible()
        expect(concept).not_to_contain_text("Why not this one?")  # it is the answer
        page.focus("#rows")

        press("a")  # and on to the next row
        heading(page, "lymphoma")
        status(page, "leukaemia: MESH:D007938.")
        progress(page, "2 of 6 decided")
        press("n")
        heading(page, "breast cancers")
        progress(page, "3 of 6 decided")
        press("k")
        heading(page, "lymphoma")
        expect(page.locator("#candidates")).to_contain_text("a reviewer decided so")
        press("u")
        status(page, "Taken back: lymphoma: no concept")
        progress(page, "2 of 6 decided")
        press("r")  # a rejection decides nothing: the row stays
        status(page, "lymphoma: not MESH:D008223.")
        heading(page, "lymphoma")
        expect(page.locator("#accept")).to_be_disabled()
        press("a")  # which is not to say that there is no concept
        status(page, "There is no concept to accept")
        progress(page, "2 of 6 decided")
        expect(page.locator("#queue-summary")).to_contain_text("4 rows · 4 mentions")
        press("f")
        status(page, "Flagged.")
        press("t")
        page.keyboard.type("ask Bob")
        press("Enter")
        status(page, "The note is kept.")
        press("Escape")
        expect(page.locator("#rows")).to_be_focused()
        page.reload()
        heading(page, "lymphoma")
        expect(page.locator("#rows [aria-selected=true]")).to_contain_text("lymphoma")
        expect(page.locator("#rows [aria-selected=true]")).to_contain_text("⚑ ✎")
        expect(page.locator("[name=sort]")).to_have_value("frequency")
        expect(page.locator("#note")).to_have_value("ask Bob")


def test_keys_that_come_fast_decide_one_row_each(make: Make, show: Open, address: str) -> None:
    project = make()
    page = show(project, sort="document")
    for _ in range(3):
        page.keyboard.press("a")
    heading(page, "tall stature")
    progress(page, "4 of 6 decided")  # leukaemia is there twice
    decided = {d["mention"] for d in asked(f"{address}decisions")["decisions"]}
    assert decided == {"leukaemia", "lymphoma", "breast cancers"}
    page.uncheck("#advance")
    page.keyboard.press("n")
    status(page, "tall stature: no concept.")
    heading(page, "tall stature")


def test_a_project_of_another_release_is_linked_anew(
    linker: Linker, tmp_path: Path, context: Any
) -> None:
    service = Service(Settings("sample", str(tmp_path / "projects.sqlite")), linker)
    with serving(create(service)) as address:
        asked(f"{address}projects?file=a.txt", b"leukaemia\nlymphoma\n")
        wait_until_linked(f"{address}projects/1")
        assert service.store
        with service.store.transaction() as connection:
            connection.execute("UPDATE projects SET release = '2017'")
        with opened(context, address, "review?project=1&sort=alphabet") as page:
            expect(page.locator("#project-problem")).to_contain_text("of the dictionary of 2017")
            heading(page, "leukaemia")
            page.get_by_role("button", name="Link anew").click()
            expect(page.locator("#project-problem")).to_be_hidden()
            status(page, "The project is being linked anew")
            expect(page.locator("#linking-words")).to_have_text("")  # it is done
            expect(page.locator("#rows .row")).to_have_count(2)
            heading(page, "leukaemia")
            expect(page.locator("#rows")).to_be_focused()


def test_what_is_denied_has_a_word_and_is_in_no_bulk(
    make: Make, show: Open, deny: Callable[..., None]
) -> None:
    deny("leukaemia")
    page = show(make(), show="all", sort="alphabet")
    expect(page.locator("#rows .asserted")).to_have_text("denied")
    row = page.locator("#rows .row", has_text="leukaemia")
    expect(row).to_have_accessible_name(re.compile("^leukaemia; 2 times; denied; "))
    row.click()
    expect(page.locator("#place .asserted")).to_have_text("denied")
    page.fill("#above", "0.9")
    expect(page.locator("#accept-all")).to_contain_text("Accept 3 mentions")  # of 5
    assert problems(page) == ""
    text = "1|t|No leukaemia, but lymphoma\n1|a|\n1\t3\t12\tleukaemia\tDisease\n"
    page = show(make(text + "1\t18\t26\tlymphoma\tDisease\n\n", "a.pubtator.txt", ""), show="all")
    page.click("#show-document")
    said = page.locator("#document [data-asserted]")
    expect(said).to_have_text(["leukaemia"])
    assert said.get_attribute("data-asserted") == "denied"


def test_filters_and_all_in_bulk(make: Make, show: Open) -> None:
    page = show(make(), show="all", sort="alphabet")
    assert names(page) == [
        "Ataxia Telangiectasia", "breast cancers", "leukaemia", "lymphoma", "tall stature",
    ]  # fmt: skip
    page.fill("[name=q]", "leukae")
    expect(page.locator("#rows .row")).to_have_count(1)
    page.fill("[name=q]", "")
    expect(page.locator("#rows .row")).to_have_count(5)
    page.fill("[name=below]", "abc")
    page.press("[name=below]", "Tab")
    expect(page.locator("[name=below]:invalid")).to_have_count(1)
    page.fill("[name=below]", "50 %")
    page.press("[name=below]", "Tab")
    expect(page.locator("[name=below]:invalid")).to_have_count(0)
    expect(page.locator("#rows .row")).to_have_count(1)
    heading(page, "tall stature")
    page.fill("[name=below]", "")
    page.click("#under")
    page.fill("#branch-query", "neoplasms")
    expect(page.locator("#branch-found .choose").first).to_have_accessible_name("Choose Neoplasms")
    page.press("#branch-query", "Enter")
    expect(page.locator("#under")).to_have_text("Neoplasms")
    expect(page.locator("#rows .row")).to_have_count(3)  # tall stature has no answer

    page.fill("#above", "0.9")
    button = page.locator("#accept-all")
    expect(button).to_contain_text("Accept 4 mentions, hardly any wrong")
    page.focus("#rows")
    page.keyboard.press("b")
    expect(page.locator("#bulk-words")).to_contain_text("above 0.9 of 4 mentions in 3 rows?")
    page.keyboard.press("Escape")
    status(page, "Nothing was accepted.")
    expect(page.locator("#problem")).to_be_hidden()
    page.focus("#rows")
    page.keyboard.press("b")
    expect(page.locator("#bulk")).to_be_visible()
    page.keyboard.press("Enter")
    status(page, "4 mentions accepted, hardly any wrong.")
    progress(page, "4 of 6 decided")
    expect(page.locator("#rows [data-state=accepted]")).to_have_count(3)
    expect(page.locator("#rows .row").first).to_contain_text("accepted in bulk · ")
    page.locator("#rows [data-state=accepted]").first.click()
    expect(page.locator("#place")).to_contain_text("accepted in bulk")
    expect(button).to_contain_text("Nothing to accept")
    page.click("#status button")  # one undo for all of them
    status(page, "Taken back: accepted 4 mentions in 3 rows in bulk")
    progress(page, "0 of 6 decided")


def test_reviewers_disagree_and_a_third_settles(make: Make, show: Open) -> None:
    project = make()
    ada, bob = show(project, "Ada", sort="document"), show(project, "Bob", sort="document")
    ada.keyboard.press("a")
    status(ada, "leukaemia: MESH:D007938.")
    progress(bob, "2 of 6 decided")  # what Ada decided comes to Bob by itself
    bob.select_option("[name=show]", "all")
    bob.locator("#rows .row").first.click()
    heading(bob, "leukaemia")
    expect(bob.locator("#decisions")).to_contain_text("Leukemia MESH:D007938 by Ada")
    bob.keyboard.press("n")
    expect(bob.locator("#rows [data-state=disputed]")).to_contain_text("Ada, Bob")
    expect(ada.locator("#show-disagreements")).to_contain_text("(1)")
    bob.locator("#rows .row").first.click()
    heading(bob, "leukaemia")
    expect(bob.locator("#accept")).to_be_disabled()
    bob.keyboard.press("a")  # the model's answer is none of those that they discuss
    status(bob, "Reviewers disagree: choose an answer by its number")

    ada.keyboard.press("c")
    others = ada.locator("#disagreements-view")
    expect(others).to_contain_text("Reviewers disagree on 1 row")
    expect(others).to_contain_text("Leukemia MESH:D007938 by Ada")
    expect(others).to_contain_text("no concept by Bob")
    ada.fill("#reviewer", "Cid")
    others.get_by_role("button", name="Settle leukaemia as no concept").click()
    expect(others).to_contain_text("Reviewers disagree nowhere.")
    expect(bob.locator("#rows .row").first).to_contain_text("∅ no concept · Cid")
    bob.locator("#rows .row").first.click()
    expect(bob.locator("#decisions")).to_contain_text("settles what was said by Ada, Bob")


def test_a_table_comes_out_as_it_came_in(make: Make, show: Open, tmp_path: Path) -> None:
    page = show(make(), sort="document")
    page.keyboard.press("a")
    status(page, "leukaemia: MESH:D007938.")
    expect(page.locator("#format option[value=pubtator]")).to_be_disabled()
    with page.expect_download() as waiting:
        page.click("#download")
    assert waiting.value.suggested_filename == "findings.reviewed.csv"
    waiting.value.save_as(file := tmp_path / "file.csv")
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [row["patient"] for row in rows] == list("123456")
    assert [row["reviewer"] for row in rows] == ["Ada", "", "Ada", "", "", ""]
    assert rows[0]["concept_id"] == "MESH:D007938"
    page.select_option("#format", "plain")
    with page.expect_download() as waiting:
        page.click("#download")
    assert waiting.value.suggested_filename == "findings.linked.csv"
    waiting.value.save_as(file)
    header, first = file.read_text().splitlines()[:2]
    assert header == "patient,finding,age,concept_id,name,state"
    assert first == "1,leukaemia,3,MESH:D007938,Leukemia,accepted"


def test_three_thousand_rows_are_shown_as_they_come_into_sight(make: Make, show: Open) -> None:
    rows = "".join(f"{n},leukaemia x{n}\n" for n in range(3000))
    page = show(make("n,finding\n" + rows), show="all", sort="document")
    expect(page.locator("#queue-summary")).to_contain_text("3,000 rows · 3,000 mentions")
    assert page.locator("#rows .row").count() < 50
    page.keyboard.press("End")
    heading(page, "leukaemia x2999")
    last = page.locator("#rows [aria-selected=true]")
    expect(last).to_have_attribute("aria-posinset", "3000")
    expect(last).to_have_attribute("aria-setsize", "3000")
    expect(last).to_be_in_viewport(ratio=0.98)  # places of scrolling are whole pixels
    page.reload()
    expect(last).to_contain_text("leukaemia x2999")
    expect(last).to_be_in_viewport(ratio=0.98)
    page.evaluate("document.getElementById('rows').scrollTop = 0")
    expect(page.get_by_text("leukaemia x0", exact=True)).to_be_in_viewport()
    assert page.locator("#rows .row").count() < 50


def test_markup_is_text(make: Make, show: Open, address: str) -> None:
    markup = "<img src=x onerror=alert(1)> leukaemia"
    page = show(make(f"what,finding\n<b>bold</b>,{markup}\n", f"{markup}.csv"))
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    heading(page, markup)
    expect(page.locator("#project-name")).to_have_text(markup)
    expect(page.locator(".cells")).to_contain_text("<b>bold</b>")
    page.keyboard.press("t")
    page.keyboard.type(markup)
    page.keyboard.press("Enter")
    status(page, "The note is kept.")
    page.goto(f"{address}review")
    expect(page.locator("#project-list th a")).to_have_text(markup)
    assert page.locator("main img, #projects img").count() == 0


def test_what_is_linked_on_the_first_page_is_kept(address: str, context: Any, make: Make) -> None:
    with opened(context, address) as page:
        page.fill("#reviewer", "Ada")
        page.fill("#input", "leukaemia\nlymphoma")
        page.click("#link")
        status(page, "2 mentions linked")
        page.click("#keep")
        agree(page)
        expect(page.locator("#project-name")).to_contain_text("pasted of 20")
        expect(page.locator("#rows .row")).to_have_count(2)
        page.click("#to-projects")
        page.get_by_role("button", name="Delete pasted of").click()
        page.click("#deleting .main")
        status(page, "is deleted.")
        expect(page.locator("#project-list")).to_contain_text("There are none yet.")


@pytest.mark.parametrize("look", ["light", "narrow"])  # and that is dark
def test_looks_and_accessibility(
    make: Make, show: Open, address: str, pictures: Path, look: str
) -> None:
    page = show(make(), show="all", sort="frequency")
    page.emulate_media(color_scheme="light" if look == "light" else "dark")
    page.keyboard.press("a")
    progress(page, "2 of 6")
    if look == "narrow":
        page.set_viewport_size({"width": 400, "height": 800})
    for name, act in (
        ("queue", lambda: None),
        ("bulk", lambda: page.keyboard.press("b")),
        ("disagreements", lambda: page.keyboard.press("c")),
        ("failures", lambda: page.click("#show-failures")),
        ("projects", lambda: page.goto(f"{address}review")),
    ):
        page.keyboard.press("Escape")
        act()
        page.wait_for_timeout(300)
        page.screenshot(path=pictures / f"review-{name}-{look}.png")
        assert not is_too_wide(page)
        assert problems(page) == ""


def test_accept_agrees_that_there_is_no_concept(make: Make, show: Open, address: str) -> None:
    page = show(make("n,finding\n1,zzzz\n2,leukaemia\n"), sort="doubt")
    heading(page, "zzzz")
    row = page.locator("#rows .row", has_text="zzzz")
    expect(row).to_have_attribute("data-state", "none")
    expect(page.locator("#accept")).to_contain_text("Accept “no concept”")
    page.keyboard.press("a")
    status(page, "zzzz: no concept.")
    expect(row).to_contain_text("∅ no concept · Ada")
    heading(page, "leukaemia")
    expect(page.locator("#accept")).to_have_text("Accept a")
    (decision,) = asked(f"{address}decisions")["decisions"]
    found = [decision[key] for key in ("mention", "concept_id", "accepted", "reviewer")]
    assert found == ["zzzz", None, True, "Ada"]
    page.keyboard.press("u")
    status(page, "Taken back: zzzz: no concept")
    expect(row).to_have_attribute("data-state", "none")
    assert asked(f"{address}decisions")["decisions"] == []


def test_who_decides_is_asked_at_the_first_decision(address: str, context: Any, make: Make) -> None:
    with listed(context, address) as page:
        page.fill("#reviewer", "")
        drop(page, "findings.csv", TABLE)
        expect(page.locator("#reading .main")).to_be_focused()
        page.keyboard.press("Enter")
        page.locator("#remarks").wait_for()
        expect(page.locator("#who")).to_be_hidden()
        page.focus("#rows")
        page.keyboard.press("n")
        expect(page.locator("#who")).to_be_visible()
        page.keyboard.type("Ada")
        page.keyboard.press("Enter")
        status(page, "no concept.")
        expect(page.locator("#reviewer")).to_have_value("Ada")
        (decision,) = asked(f"{address}decisions")["decisions"]
        assert decision["reviewer"] == "Ada"
        page.fill("#reviewer", "")
        page.press("#reviewer", "Tab")
        said = "decision,mention,concept_id,accepted,reviewer\n,lymphoma,MESH:D008223,yes,\n"
        drop(page, "decisions.csv", said)  # which names nobody
        agree(page)
        expect(page.locator("#who")).to_be_visible()
        page.keyboard.type("Bob")
        page.keyboard.press("Enter")
        status(page, "decisions.csv was added.")
        found = {d["mention"]: d["reviewer"] for d in asked(f"{address}decisions")["decisions"]}
        assert found["lymphoma"] == "Bob"


def test_what_is_typed_into_forms_decides_nothing(make: Make, show: Open) -> None:
    page = show(make(), sort="alphabet")
    press = page.keyboard.press
    page.locator("#rows .row").first.click()
    press("t")
    page.keyboard.type("ask the ward")
    press("Enter")
    status(page, "The note is kept.")
    progress(page, "0 of 6 decided")


def test_what_is_typed_while_the_row_is_fetched_stays(make: Make, show: Open) -> None:
    page = show(make(), sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    with held_back(page, "**/groups/*"):
        page.keyboard.press("End")  # whose row was not fetched ahead
        expect(page.locator("#rows .row[aria-selected=true]")).to_contain_text("tall stature")
        page.keyboard.press("/")
        page.keyboard.type("tall")
    heading(page, "tall stature")
    expect(page.locator("#query")).to_have_value("tall")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    heading(page, "lymphoma")
    expect(page.locator("#query")).to_have_value("")


def test_a_decision_is_on_the_row_that_was_selected_before_it(make: Make, show: Open) -> None:
    page = show(make(), sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    with held_back(page, "**/groups/*"):
        page.keyboard.press("End")
        expect(page.locator("#rows .row[aria-selected=true]")).to_contain_text("tall stature")
        page.keyboard.press("n")
        heading(page, "Ataxia Telangiectasia")  # is shown until the other one is there
    status(page, "tall stature: no concept.")
    expect(page.locator("#rows .row").first).not_to_contain_text("∅")
