"""The page in a real browser: what curators do, bad input, accessibility and its strict policy."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.outputs import jsonl

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")
from starlette.responses import JSONResponse  # noqa: E402

from .browser import drop, is_too_wide, needs_browser, opened, problems, serving  # noqa: E402
from .fake import Fake  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser
TEXT = "Sisters with ataxia telangiectasia (A-T) and breast and ovarian cancer had leukaemia."
NESTED = (
    "7|t|Breast and ovarian cancer\n7|a|\n7\t0\t25\tBreast and ovarian cancer\tDisease\n"
    "7\t11\t25\tovarian cancer\tDisease\n7\t11\t25\tovarian cancer\tDisease\n"
)


@pytest.fixture(scope="module")
def server(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Fake, str]]:
    fake = Fake(linker, tmp_path_factory.mktemp("decisions") / "decisions.sqlite")
    with serving(fake) as address:
        yield fake, address


@pytest.fixture
def fake(server: tuple[Fake, str]) -> Fake:
    server[0].decisions, server[0].fail, server[0].asked = [], [], []
    return server[0]


@pytest.fixture
def page(server: tuple[Fake, str], fake: Fake, context: Any) -> Iterator[Any]:
    with opened(context, server[1]) as page:
        expect(page.locator("#model")).to_contain_text("346 concepts")
        yield page


def link(page: Any, text: str) -> None:
    if not page.locator("#input").is_visible():
        page.click("#source > summary")
    page.fill("#input", text)
    page.click("#link")
    status(page, "linked")


def status(page: Any, text: str) -> None:
    expect(page.locator("#status")).to_contain_text(text, timeout=20_000)


def heading(page: Any, mention: str) -> None:
    expect(page.locator("#answer")).to_have_text(f"“{mention}”")


def search(page: Any, query: str, name: str) -> None:
    """Search the dictionary, and choose a concept by its name."""
    page.fill("#query", query)
    page.locator("#found").get_by_role("button", name=f"Choose {name}", exact=True).click()


def disagree(fake: Fake) -> None:
    """Let Ada and Bob disagree on leukaemia."""
    decision = {"mention": "leukaemia", "accepted": True, "scope": ""}
    decision["time"] = "2026-01-02T03:04:05+00:00"
    fake.decisions = [
        {**decision, "reviewer": "Ada", "concept_id": "MESH:D007938"},
        {**decision, "reviewer": "Bob", "concept_id": None},
    ]


def decide(fake: Fake) -> None:
    """Let Ada accept a concept of the example of names, reject one, and say that one has none."""
    decisions = (
        ("breast cancers", "MESH:D001943", True),
        ("bilateral Wilms tumour", "MESH:D009396", False),
        ("tall stature", None, True),
    )
    fake.decisions = [
        {"mention": m, "concept_id": c, "accepted": a, "scope": "", "reviewer": "Ada"}
        for m, c, a in decisions
    ]


def hold(page: Any, path: str) -> Callable[[], None]:
    """Hold the next answer to a request for a path; returns a function that lets it through."""
    held: list[tuple[Any, Any]] = []

    def hold_first(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route(path, hold_first)  # it stays, since routes that are held go on without it

    def release() -> None:
        route, response = held[0]
        with page.expect_response(path):
            route.fulfill(response=response)
        page.wait_for_timeout(50)  # what the page makes of it

    return release


def saved(page: Any, folder: Path, format: str) -> Path:
    """Download in a format."""
    page.select_option("#format", format)
    with page.expect_download() as waiting:
        page.click("#download")
    waiting.value.save_as(file := folder / waiting.value.suggested_filename)
    return file


def focused(page: Any) -> str:
    """The id or the text of what has the focus."""
    return page.evaluate("document.activeElement.id || document.activeElement.textContent")


def marked(page: Any) -> list[str]:
    """The texts of the mentions' links, in order."""
    return page.locator("#results a[data-anchor]").all_text_contents()


# what curators do


def test_the_example_is_linked_and_explained(page: Any) -> None:
    page.click("#link")
    status(page, "13 mentions linked, read as a text.")
    expect(page.locator("#summary")).to_contain_text("13 mentions")
    heading(page, "ataxia telangiectasia")
    page.locator("#results").get_by_text("immunodeficiency", exact=True).click()
    heading(page, "immunodeficiency")
    best = page.locator(".candidates li.best")
    expect(best).to_contain_text("Immunologic Deficiency Syndromes")
    expect(best).to_contain_text("MESH:D007153")
    expect(best.locator("meter")).to_have_count(1)
    expect(best).to_contain_text("probably right")
    tree = page.locator("ul.tree")
    expect(tree.locator("> li > button")).to_have_text("Diseases")
    expect(tree.locator("> li > ul > li > button")).to_have_text("Immune System Diseases")
    expect(tree.locator("[aria-current]")).to_have_text("Immunologic Deficiency Syndromes")
    public = page.get_by_role("link", name="public page")
    assert "D007153" in public.get_attribute("href")
    assert public.get_attribute("rel") == "noopener noreferrer"
    tree.get_by_role("button", name="HIV Infections").click()
    expect(page.locator("#concept h3")).to_have_text("HIV Infections")
    page.click("#reasons > summary")
    reasons = page.locator("#reasons-body")
    expect(reasons).to_contain_text(
        "It is called so: “immunodeficiency” is a synonym of Immunologic Deficiency Syndromes."
        "How sure it is: probably right"
    )
    expect(reasons.get_by_text("the first candidate is the answer")).to_be_hidden()
    reasons.locator("summary").click()
    expect(reasons.get_by_text("the first candidate is the answer")).to_be_visible()
    page.get_by_role("button", name="Why not this one?").click()
    expect(page.locator("#reasons-body")).to_contain_text("Why not MESH:D015658?")
    expect(page.locator("#reasons-body")).to_contain_text("HIV Infections has rank")
    expect(page.locator("#reasons-body")).to_contain_text("it lost because")


def test_a_concept_has_its_names_by_kind_and_its_other_ids(page: Any, pictures: Path) -> None:
    exact = [{"text": f"name {n}", "kind": "exact", "source": "", "lent": False} for n in range(14)]
    other = {"predicate": "skos:exactMatch", "source": "m.tsv"}
    concept = {
        **{"id": "X:1", "name": "fever", "status": "current", "asked": "X:1", "url": None},
        "definition": f"It is {'very ' * 100}hot.",
        "types": ["T047"],
        "names": [
            {"text": "fever", "kind": "preferred", "source": "", "lent": False},
            *exact,
            {"text": "ague", "kind": "exact", "source": "d.obo", "lent": True},
            {"text": "name 1", "kind": "training", "source": "", "lent": False},  # known already
            {"text": "heat", "kind": "broad", "source": "", "lent": False},
        ],
        "also": [
            {"id": "DOID:1", "url": "https://a.org/1", **other},
            {"id": "Y:<b>", "url": "javascript:alert(1)", **other},
            {"id": "Z:1", "predicate": "rdfs:sub", "source": "d.obo", "url": None},
        ],
    }
    page.route("**/concepts/*", lambda route: route.fulfill(json=concept))
    link(page, "leukaemia")
    card = page.locator("#concept")
    rows = card.locator("dt")
    expect(rows).to_have_text(["Synonyms", "Broader", "Types", "The same", "rdfs:sub"])
    synonyms = card.locator("dd").first
    expect(synonyms).to_contain_text("name 10 · name 11")
    expect(synonyms).to_contain_text("ague lent by d.obo")
    rest = synonyms.locator("summary")
    expect(rest).to_have_text("2 more names")
    expect(card.get_by_text("name 13")).to_be_hidden()
    rest.click()
    expect(card.get_by_text("name 13")).to_be_visible()
    expect(card.locator("dd").nth(3)).to_contain_text("DOID:1 (opens a new tab) · Y:<b> by m.tsv")
    expect(card.get_by_role("link")).to_have_count(1)
    expect(card.get_by_text("hot.")).to_be_hidden()
    card.get_by_text("The rest of the definition").click()
    expect(card.get_by_text("hot.")).to_be_visible()
    page.set_viewport_size({"width": 400, "height": 800})
    card.screenshot(path=pictures / "card.png")
    assert not is_too_wide(page)
    assert problems(page) == ""


def test_reasons_say_in_words_why_nothing_is_sure(page: Any) -> None:
    link(page, "A-T\nleukaemia and lymphoma\nxqzvw")
    page.click("#reasons > summary")
    reasons = page.locator("#reasons-body")
    short = (
        "“A-T” is a synonym of Ataxia Telangiectasia.How sure it is: a guess (40%), and never surer"
    )
    expect(reasons).to_contain_text(f"It is called so: {short}: it is a short form, and no text")
    expect(page.locator(".candidates li.best")).to_contain_text("40%a guess")
    page.click("[data-anchor='1']")
    expect(reasons).to_contain_text("It is read in parts.“leukaemia”")
    page.click("[data-anchor='2']")
    expect(reasons).to_contain_text("No name of the dictionary is like it.")


def test_a_session_by_keyboard_alone(page: Any, fake: Fake) -> None:
    press = page.keyboard.press
    page.focus("#input")
    press("Control+A")
    page.keyboard.insert_text(TEXT)
    press("Control+Enter")
    status(page, "4 mentions linked")
    heading(page, "ataxia telangiectasia")
    press("j")
    heading(page, "A-T")
    press("ArrowDown")
    heading(page, "breast and ovarian cancer")
    press("k")
    press("ArrowUp")
    press("k")
    status(page, "The first mention.")
    heading(page, "ataxia telangiectasia")

    press("a")  # who decides is asked once
    expect(page.locator("#who")).to_be_visible()
    page.keyboard.type("Ada")
    press("Enter")
    status(page, "ataxia telangiectasia: MESH:D001260.")
    decided = {"mention": "ataxia telangiectasia", "concept_id": "MESH:D001260", "accepted": True}
    decided |= {"scope": "", "reviewer": "Ada"}
    assert fake.decisions[0] == fake.decisions[0] | decided
    expect(page.locator(".candidates li.best .badge")).to_have_text("decided")
    assert page.evaluate("document.activeElement.dataset.anchor") == "0"

    press("j")
    press("j")
    heading(page, "breast and ovarian cancer")
    press("p")  # the second part
    press("2")
    status(page, "breast and ovarian cancer: MESH:D001943 and OMIM:604370.")
    press("u")
    status(page, "Taken back: breast and ovarian cancer")
    assert len(fake.decisions) == 1
    press("j")
    heading(page, "leukaemia")
    press("r")
    status(page, "leukaemia: not MESH:D007938.")
    press("u")
    status(page, "Taken back")
    press("n")
    status(page, "leukaemia: no concept.")
    expect(page.locator("#candidates")).to_contain_text("No concept")
    assert fake.decisions[-1]["concept_id"] is None

    press("/")
    page.keyboard.type("D001943")
    expect(page.locator("#found li")).to_have_count(1)
    press("ArrowDown")
    press("Enter")
    status(page, "leukaemia: MESH:D001943.")
    press("/")
    press("Control+a")
    page.keyboard.type("D009369")
    press("Enter")  # looks for it at once
    expect(page.locator("#found code").first).to_have_text("MESH:D009369")
    press("Enter")  # chooses it
    status(page, "leukaemia: MESH:D009369.")
    press("Escape")
    expect(page.locator('#results [data-anchor="3"]')).to_be_focused()
    press("Enter")
    expect(page.locator("#answer")).to_be_focused()
    press("e")
    expect(page.locator("#reasons-body")).to_contain_text(
        "Confidence from the ranker as it is shipped, fitted to"
    )
    press("?")
    expect(page.locator("#help")).to_be_visible()
    press("j")  # keys do nothing behind a dialog
    heading(page, "leukaemia")
    press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_single_keys_can_be_switched_off(page: Any) -> None:
    link(page, TEXT)
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    heading(page, "ataxia telangiectasia")


def test_conflicts_are_shown_at_their_mentions(page: Any, fake: Fake) -> None:
    disagree(fake)
    link(page, "Lymphoma, then leukaemia, a tumour of the breast, and Leukaemia.")
    inside = page.locator("#results [data-state=disputed]")
    expect(inside).to_have_text(["leukaemia", "Leukaemia"])
    said = "Leukemia MESH:D007938 by Ada; no concept by Bob"
    assert f"; disputed: {said}" in inside.first.get_attribute("aria-label")
    expect(page.locator("#legend")).to_contain_text("disputed: 2")
    page.keyboard.press("c")
    expect(inside.first).to_be_focused()
    status(page, f"reviewers disagree: {said}")
    expect(page.locator("#decisions li")).to_contain_text(
        [
            "Leukemia MESH:D007938 by Ada, 2026-01-02 03:04 UTC, everywhere",
            "no concept by Bob, 2026-01-02 03:04 UTC, everywhere",
        ]
    )
    page.keyboard.press("c")
    expect(inside.nth(1)).to_be_focused()
    page.keyboard.press("c")  # from the last one to the first
    expect(inside.first).to_be_focused()
    page.fill("#reviewer", "Ada")
    page.get_by_role("button", name="Withdraw no concept of Bob").click()
    expect(page.locator("#results [data-state=accepted]")).to_have_count(2)
    page.locator("#answer").press("c")
    status(page, "No mention is in conflict.")


def test_what_was_decided_is_seen_in_the_list(page: Any) -> None:
    page.fill("#reviewer", "Ada")
    link(page, "leukaemia\nlymphoma\nbreast cancer")
    for mention, key, state in (
        ("leukaemia", "a", "accepted"),
        ("lymphoma", "n", "no concept"),
        ("breast cancer", "r", "open"),
    ):
        page.locator("#results").get_by_text(mention, exact=True).click()
        page.keyboard.press(key)
        expect(page.locator(f"#results [data-state='{state}']")).to_have_text(mention)
        if key == "n":
            expect(page.locator("#candidates")).to_contain_text("a reviewer decided so")
    rows = page.locator("#results tbody tr")
    expect(rows.nth(0)).to_contain_text("Reviewed: Leukemia MESH:D007938 by Ada")
    expect(rows.nth(1)).to_contain_text("Reviewed: no concept by Ada")
    expect(rows.nth(1).locator(".state")).to_have_text("no concept")  # no confidence of the model
    expect(rows.nth(2)).to_contain_text("Reviewed: not Breast Neoplasms MESH:D001943 by Ada")


def test_a_decision_is_withdrawn_in_the_name_of_who_does_it(page: Any, fake: Fake) -> None:
    page.fill("#reviewer", "Ada")
    link(page, "leukaemia")
    page.keyboard.press("Escape")
    for key in "ar":
        page.keyboard.press(key)
        expect(page.locator("#decisions li")).to_contain_text("by Ada")
        expect(page.locator("#status")).to_contain_text("leukaemia: ")
        if key == "a":
            with page.expect_request("**/decisions/*") as sent:
                page.keyboard.press("u")
            assert sent.value.url.endswith("?reviewer=Ada")
            status(page, "Taken back")
    fake.decisions = []  # somebody else withdrew it
    page.keyboard.press("u")
    status(page, "Taken back")
    expect(page.locator("#problem")).to_be_hidden()


def test_the_focus_is_never_lost(page: Any) -> None:
    page.fill("#reviewer", "Ada")
    link(page, "leukaemia\nbreast and ovarian cancer")
    row = page.locator("#results tbody tr").nth(1)
    expect(row).to_contain_text("Breast Neoplasms | Ovarian Neoplasms")
    expect(row).to_contain_text("MESH:D001943 | MESH:D010051")
    page.locator(".candidates li").nth(1).get_by_role("button", name="Choose").click()
    expect(page.locator("#decisions li")).to_have_count(1)
    assert focused(page) == "answer"
    page.locator("#decisions button").click()
    status(page, "withdrawn")
    assert focused(page) == "answer"
    page.locator(".tree button").first.click()
    expect(page.locator("#concept h3")).to_be_focused()
    page.get_by_role("button", name="More candidates").click()
    status(page, "more candidates.")
    assert focused(page) == "answer"
    link(page, "\n".join(f"leukaemia {number}" for number in range(150)))
    page.click("#next-page")  # to the last one, where the button is of no use
    assert focused(page) == "previous-page"


def test_more_candidates_leave_the_answer(page: Any) -> None:
    link(page, TEXT)
    best = page.locator(".candidates li.best")
    before = best.text_content()
    expect(page.locator("#candidates li")).to_have_count(5)
    page.keyboard.press("m")
    status(page, "25 more candidates.")
    expect(page.locator("#candidates li")).to_have_count(30)
    assert best.text_content() == before
    page.keyboard.press("m")
    status(page, "There are no more candidates.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_denied_has_a_word_beside_it(
    page: Any, deny: Callable[..., None], scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    deny("no leukaemia")
    deny("breast cancer", assertion="family")
    link(page, "leukaemia\nno leukaemia")
    word = page.locator("#results .asserted")
    expect(word).to_have_text("denied")
    assert "never in bulk" in word.get_attribute("title")
    denied = page.locator("#results a.mention").nth(1)
    assert denied.get_attribute("aria-label").startswith("no leukaemia, denied: ")
    denied.click()
    expect(page.locator("#place .asserted")).to_have_text("denied")
    assert problems(page) == ""
    link(page, "Her mother had breast cancer. She has leukaemia.")
    said = page.locator("#results [data-asserted]")
    expect(said).to_have_text(["breast cancer"])
    assert said.get_attribute("data-asserted") == "in the family"


def test_a_reading_with_a_rejected_concept_is_not_offered(page: Any, fake: Fake) -> None:
    text = "Ataxia telangiectasia (A-T): A-T was found."
    link(page, text)
    assert marked(page)
    offers = page.evaluate(
        """async () => {
            const { AnswerView } = await import("./static/answer.js");
            const rival = { kind: "whole", confidence: 0.5,
                parts: [{ candidates: [{ concept_id: "X:1", name: "one" }] }] };
            const part = { text: "m", nil: true, candidates: [], rejected: null };
            return [[], [{ accepted: false, concept_id: "X:1" }]].map((decisions) => {
                const state = decisions.length ? "open" : "model";
                const said = { mention: "m", parts: [part], rivals: [rival], state, decisions };
                const answers = new AnswerView({});
                answers.show({ item: { document: null }, prediction: said }, 0, 1);
                return document.querySelectorAll("#candidates .rival").length;
            });
        }"""
    )
    assert offers == [1, 0]


def test_a_part_may_have_no_concept(page: Any, fake: Fake) -> None:
    decision = {"mention": "breast and ovarian cancer", "concept_id": "MESH:D001943|-1"}
    fake.decisions = [{**decision, "accepted": True, "scope": "", "reviewer": "Bob"}]
    page.fill("#reviewer", "Ada")
    link(page, TEXT)
    page.locator("#results").get_by_text("breast and ovarian cancer").click()
    shown = page.locator("#decisions li")
    expect(shown).to_contain_text("Breast Neoplasms MESH:D001943 and no concept by Bob")
    page.keyboard.press("a")  # the same decision, also by Ada
    expect(shown).to_have_count(2)
    assert [d["concept_id"] for d in fake.decisions] == ["MESH:D001943|-1"] * 2


def test_an_edited_text_keeps_its_decisions(page: Any, fake: Fake) -> None:
    page.fill("#reviewer", "Ada")
    link(page, TEXT)
    identifier = page.locator("#document-id").input_value()
    assert identifier.startswith("pasted-")
    page.select_option("#scope", "document")
    page.click("#accept")
    accepted = page.locator("#results [data-state=accepted]")
    expect(accepted).to_have_text(["ataxia telangiectasia", "A-T"])
    link(page, f"{TEXT} They were twins.")
    assert page.locator("#document-id").input_value() == identifier == fake.decisions[0]["scope"]
    expect(accepted).to_have_text(["ataxia telangiectasia", "A-T"])
    page.click("#source > summary")
    page.click("#clear")  # another text comes
    expect(page.locator("#document-id")).to_have_value("")


def test_a_decision_on_a_short_form_is_kept_for_its_long_form(page: Any, fake: Fake) -> None:
    page.fill("#reviewer", "Ada")
    link(page, TEXT)
    page.locator("#results").get_by_text("A-T", exact=True).click()
    note = page.locator(".part .note")
    expect(note).to_contain_text(
        "“A-T” is read as “ataxia telangiectasia”; the decision is kept for the long form"
    )
    page.click("#accept")
    status(page, "ataxia telangiectasia: MESH:D001260.")
    expect(page.locator("#decisions li")).to_contain_text("Ataxia Telangiectasia MESH:D001260")
    expect(page.locator("#results [data-state=accepted]")).to_have_text(
        ["ataxia telangiectasia", "A-T"]
    )
    note.get_by_role("combobox").select_option("“A-T” in this document")
    page.click("#none")
    status(page, "A-T: no concept.")
    expect(page.locator("#results [data-state='no concept']")).to_have_text("A-T")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(note.get_by_role("combobox")).to_have_value("the long form")
    assert [(d["mention"], d["scope"]) for d in fake.decisions] == [
        ("ataxia telangiectasia", ""),
        ("A-T", page.locator("#document-id").input_value()),
    ]


def test_a_contrary_decision_says_what_it_replaces(page: Any, fake: Fake) -> None:
    disagree(fake)
    page.fill("#reviewer", "Ada")
    link(page, "leukaemia")
    page.click("#reject")
    replaced = "You accepted Leukemia MESH:D007938 on 2026-01-02; this replaces it."
    status(page, f"leukaemia: not MESH:D007938. {replaced}")
    page.click("#status button")
    status(page, "Taken back: leukaemia: not MESH:D007938.")
    assert {(d["reviewer"], d["concept_id"], d["accepted"]) for d in fake.decisions} == {
        ("Ada", "MESH:D007938", True),
        ("Bob", None, True),
    }
    page.keyboard.press("1")  # the same once more; the row is disputed
    expect(page.locator("#status")).to_have_text("leukaemia: MESH:D007938.")


def test_a_concept_may_be_broader_than_the_mention(page: Any, fake: Fake) -> None:
    page.fill("#reviewer", "Ada")
    link(page, "leukaemia\nlymphoma")
    page.keyboard.press("x")
    status(page, "The concept that is accepted next is broader than it.")
    page.keyboard.press("a")
    status(page, "leukaemia: MESH:D007938 (broader than it).")
    expect(page.locator("#decisions li")).to_contain_text(
        "Leukemia MESH:D007938 (broader than it) by Ada"
    )
    expect(page.locator(".candidates li.best .badge")).to_have_text("decided")
    page.keyboard.press("a")
    status(page, "You accepted Leukemia MESH:D007938 (broader than it)")
    page.select_option("#predicate", "related to it")
    page.locator("#results").get_by_text("lymphoma", exact=True).click()
    expect(page.locator("#predicate")).to_have_value("")  # of another mention it is not said
    page.select_option("#predicate", "narrower than it")
    page.click("#reject")
    status(page, "lymphoma: not MESH:D008223.")
    assert [(d["mention"], d["predicate"]) for d in fake.decisions] == [
        ("leukaemia", ""),
        ("lymphoma", ""),
    ]


def test_answers_for_an_earlier_mention_are_dropped(page: Any) -> None:
    page.fill("#reviewer", "Ada")
    link(page, "leukaemia\nlymphoma")
    page.fill("#query", "breast")
    expect(page.locator("#found li").first).to_be_visible()
    page.click("#reasons > summary")
    expect(page.locator("#reasons-body")).to_contain_text("“leukaemia”")
    page.click("#reasons > summary")
    page.click("[data-anchor='1']")
    for place in ("#found", "#reasons-body"):
        expect(page.locator(place)).to_be_empty()
    expect(page.locator("#query")).to_have_value("")

    release_hits = hold(page, "**/search?*")
    release_reasons = hold(page, "**/explain")
    page.click("#reasons > summary")
    with page.expect_request("**/search?*"):
        page.fill("#query", "ovarian")
    page.click("#reasons > summary")
    page.click("[data-anchor='0']")
    release_hits()
    release_reasons()
    for place in ("#found", "#reasons-body"):
        expect(page.locator(place)).to_be_empty()


def test_an_answer_from_before_a_decision_does_not_undo_it(page: Any) -> None:
    page.fill("#reviewer", "Ada")
    link(page, "leukaemia\nlymphoma")
    with page.expect_request("**/link"):
        release = hold(page, "**/link")
        page.click("#accept")
    page.click("[data-anchor='1']")
    page.click("#none")
    status(page, "lymphoma: no concept.")
    release()
    expect(page.locator("#results td.state")).to_contain_text(["accepted", "no concept"])


def test_a_reload_loses_nothing(page: Any) -> None:
    page.fill("#reviewer", "Ada")
    page.fill("#document-id", "case 7")
    page.select_option("#read-as", "text")
    link(page, TEXT)
    page.locator("#results").get_by_text("leukaemia").click()
    page.select_option("#scope", "document")
    page.select_option("#format", "jsonl")
    page.reload()
    status(page, "4 mentions linked")
    heading(page, "leukaemia")
    expect(page.locator("#place")).to_contain_text("4 of 4")
    kept = {"input": TEXT, "document-id": "case 7", "reviewer": "Ada", "read-as": "text"}
    for name, value in (kept | {"scope": "document", "format": "jsonl"}).items():
        expect(page.locator(f"#{name}")).to_have_value(value)

    other = page.context.new_page()  # a new tab begins with the same
    other.goto(page.url)
    expect(other.locator("#answer")).to_have_text("“leukaemia”")
    other.close()

    page.click("#source > summary")
    page.click("#clear")
    expect(page.locator("#output")).to_be_hidden()
    expect(page.locator("#answer")).to_have_text("No mention is selected")
    assert focused(page) == "input"
    page.reload()
    expect(page.locator("#model")).to_contain_text("346 concepts")
    expect(page.locator("#document-id")).to_have_value("")
    expect(page.locator("#input")).not_to_have_value(TEXT)
    expect(page.locator("#output")).to_be_hidden()


def test_a_browser_that_keeps_nothing(page: Any, fake: Fake) -> None:
    page.add_init_script(
        """for (const name of ["localStorage", "sessionStorage", "indexedDB"])
            Object.defineProperty(window, name, { get() { throw new Error("refused"); } });"""
    )
    page.reload()
    expect(page.locator("#model")).to_contain_text("346 concepts")  # else its request is refused
    fake.fail = [JSONResponse({"error": "a key"}, 401)]
    page.fill("#reviewer", "Ada")
    page.fill("#input", "leukaemia")
    page.click("#link")
    page.fill("#which-key input", "secret")
    page.click("#which-key .main")
    status(page, "linked")
    page.click("#accept")
    status(page, "leukaemia: MESH:D007938.")


def test_arabic_begins_on_the_right(page: Any) -> None:
    link(page, "سرطان leukaemia.\nThe man had leukaemia.")
    box = page.locator("#results .text").bounding_box()
    right, left = page.locator("#results a").all()
    assert right.bounding_box()["x"] > box["x"] + box["width"] / 2
    assert left.bounding_box()["x"] < box["x"] + box["width"] / 2


# files


def test_nested_mentions_of_a_dropped_file_can_all_be_reached(page: Any) -> None:
    drop(page, "nested.txt", NESTED)
    status(page, "3 mentions linked")
    # the last mention has the same place as the one before, and therefore a sign of its own
    assert marked(page) == ["Breast and ", "ovarian cancer", "+"]
    page.locator("#results").get_by_text("ovarian cancer").click()
    heading(page, "ovarian cancer")
    expect(page.locator("#place")).to_contain_text("3 of 3")
    page.locator("#results").get_by_text("ovarian cancer").click()
    expect(page.locator("#place")).to_contain_text("2 of 3")
    page.locator("#results").get_by_text("ovarian cancer").click()
    heading(page, "Breast and ovarian cancer")
    expect(page.locator("#results .selected")).to_have_text(["Breast and ", "ovarian cancer"])


def test_a_discontinuous_mention_keeps_its_gap(page: Any) -> None:
    # "breast … cancer" and "ovarian cancer" in "breast and ovarian cancer"
    pieces = page.evaluate(
        """async () => {
            const { pieces } = await import("./static/text.js");
            const marks = [{ n: 1, spans: [[0, 6], [19, 25]] }, { n: 2, spans: [[11, 25]] }];
            return pieces(25, marks).map((piece) =>
                [piece.start, piece.end, piece.marks.map(({ n }) => n), piece.anchor?.n ?? null]);
        }"""
    )
    assert pieces == [[0, 6, [1], 1], [6, 11, [], None], [11, 19, [2], 2], [19, 25, [1, 2], None]]


def test_a_table_comes_back_whole(page: Any, tmp_path: Path, pictures: Path) -> None:
    table = "patient_id,finding,age\n7,leukaemia,3\n8,,4\n9,lymphoma,5\n"
    columns = [
        {"name": "patient_id", "samples": ["7", "8", "9"]},
        {"name": "finding", "samples": ["leukaemia", "lymphoma"]},
        {"name": "age", "samples": ["3", "4", "5"]},
    ]
    parsed = {"format": "csv", "columns": columns, "suggested": None, "rows": 3}
    page.route("**/parse?name=table.csv", lambda route: route.fulfill(json=parsed))
    sent = []
    page.route("**/table?*", lambda route: sent.append(route.request) or route.fulfill(body="ok"))
    drop(page, "table.csv", table)
    choices = page.locator("#columns label")
    expect(choices).to_have_count(3)
    expect(choices.nth(1)).to_contain_text("leukaemia · lymphoma")
    expect(page.locator("#columns :checked")).to_have_count(0)
    page.set_viewport_size({"width": 400, "height": 800})
    page.emulate_media(color_scheme="dark")
    page.screenshot(path=pictures / "dialog-columns.png")
    assert not is_too_wide(page)
    assert problems(page) == ""
    page.click("#which-column .main")  # nothing is chosen yet
    expect(page.locator("#which-column")).to_be_visible()
    choices.nth(1).click()
    page.click("#which-column .main")
    status(page, "2 mentions linked")
    page.reload()  # the column is not asked for again
    status(page, "2 mentions linked")
    expect(page.locator("#format")).to_have_value("table")
    expect(page.locator("option[value=csv]")).to_be_disabled()
    file = saved(page, tmp_path, "table")
    assert (file.name, file.read_text()) == ("table.linked.csv", "ok")
    assert sent[0].url.endswith("/table?column=finding&name=table.csv")
    assert sent[0].post_data == table

    parsed["suggested"] = "finding"
    drop(page, "table.csv", table)
    expect(choices.nth(1).locator("input")).to_be_checked()
    page.keyboard.press("Enter")
    status(page, "2 mentions linked")


def test_cells_that_are_too_long_are_told(page: Any) -> None:
    for rows, words in (("leukaemia\n", "1 mention linked"), ("", "No mention is in names.csv")):
        drop(page, "names.csv", f"mention,age\n{'x' * 1_001},3\n{rows}")
        status(page, f"{words}; left out, as too long for a name: 1 cell.")


def test_a_row_of_a_download_says_who_decided(page: Any, fake: Fake, tmp_path: Path) -> None:
    decide(fake)
    link(page, 'breast cancers\ntall stature\nbreast and ovarian "cancer", 2x\nleukaemia')
    expect(page.locator("option[value=pubtator]").last).to_be_disabled()  # it needs documents
    file = saved(page, tmp_path, "csv")
    accepted, nothing, composite, plain = csv.DictReader(io.StringIO(file.read_text()))
    (decision,) = json.loads(accepted["decisions"])
    assert decision.keys() == {
        "mention", "concept_id", "accepted", "predicate", "scope", "reviewer", "time", "id",
    }  # fmt: skip
    wanted = {"mention": "breast cancers", "concept_id": "MESH:D001943", "confidence": "1.0000"}
    wanted |= {"name": "Breast Neoplasms", "matched_name": accepted["matched_name"]}
    wanted |= {
        "rejected": "",
        "assertion": "",
        "source": "decision",
        "state": "accepted",
        "reviewer": "Ada",
    }
    assert accepted == wanted | {name: accepted[name] for name in ("time", "decisions")}
    assert accepted["time"] == decision["time"]
    assert (decision["reviewer"], decision["concept_id"]) == ("Ada", "MESH:D001943")
    assert (nothing["concept_id"], nothing["reviewer"]) == ("", "Ada")
    assert nothing["state"] == "no concept"
    assert composite["mention"] == 'breast and ovarian "cancer", 2x'
    assert (plain["concept_id"], plain["state"]) == ("MESH:D007938", "model")
    assert plain["reviewer"] == plain["time"] == plain["decisions"] == ""


def test_files_may_be_chosen_together(page: Any, tmp_path: Path) -> None:
    (names := tmp_path / "names.txt").write_text("leukaemia\n")
    (documents := tmp_path / "documents.txt").write_text(NESTED)
    page.set_input_files("#file", [names])
    status(page, "1 mention linked")
    page.click("#source > summary")
    page.set_input_files("#file", [names, documents])
    status(page, "4 mentions linked")
    assert marked(page)[:2] == ["leukaemia", "Breast and "]


def test_downloads_hold_all_mentions_and_what_was_decided(page: Any, tmp_path: Path) -> None:
    page.fill("#reviewer", "Ada")
    drop(page, "nested.txt", NESTED + "\n" + NESTED)  # an id twice: two requests, one file
    status(page, "6 mentions linked")
    search(page, "lymphoma", "Lymphoma")
    expect(page.locator("#results [data-state=accepted]")).to_have_count(2)
    expect(page.locator("option[value=csv]")).to_be_disabled()  # it is for names
    for format in ("tsv", "jsonl", "pubtator", "sssom"):
        lines = (file := saved(page, tmp_path, format)).read_text().splitlines()
        whole, part = ("Breast and ovarian cancer", "MESH:D008223"), ("ovarian ca", "MESH:D010051")
        for count, (mention, concept) in ((2, whole), (4, part)):
            assert sum(mention in x and concept in x for x in lines) >= count, (format, mention)
        headers = sum(
            line.startswith(("mention\t", "document_id\t", "subject_label")) for line in lines
        )
        assert headers == (format not in ("pubtator", "jsonl"))
        if format == "jsonl":
            mentions = ["Breast and ovarian cancer", *["ovarian cancer"] * 2] * 2
            assert [p.mention.text for p in jsonl.read(file)] == mentions


# bad input


def test_an_empty_box(page: Any, fake: Fake) -> None:
    page.fill("#input", " \n")
    page.click("#link")
    status(page, "The box is empty")
    assert "/link" not in fake.asked


def test_what_was_typed_comes_back(page: Any) -> None:
    page.fill("#input", "my own text")
    page.click("#clear")
    expect(page.locator("#input")).to_have_value("")
    page.keyboard.press("Control+z")
    expect(page.locator("#input")).to_have_value("my own text")


def test_too_much_is_refused_before_it_is_sent(page: Any, fake: Fake) -> None:
    page.evaluate("document.getElementById('input').value = 'leukaemia '.repeat(500_000)")
    page.click("#link")
    expect(page.locator("#problem")).to_contain_text("5 MB; the service takes 4 MB at once")
    assert "/annotate" not in fake.asked


def test_markup_is_text(page: Any) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(1)> with leukaemia."
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    link(page, text)
    expect(page.locator("#results .text")).to_have_text(text)
    assert page.locator("#results script, #results img").count() == 0
    link(page, "<b onclick=alert(1)>leukaemia</b>")
    heading(page, "<b onclick=alert(1)>leukaemia</b>")


def test_text_of_a_pdf_and_of_other_alphabets(page: Any) -> None:
    text = "𝛼-thalassaemia, 白血病 and cystic ﬁbrosis; the patient’s leukae-\nmia, then lymphoma 😀 and leukaemia."
    link(page, text)
    expect(page.locator("#results .text")).to_have_text(text, use_inner_text=False)
    assert marked(page)[-2:] == ["lymphoma", "leukaemia"]


def test_two_thousand_names_are_shown_by_pages(page: Any) -> None:
    names = "Array.from({ length: 2000 }, (_, number) => `leukaemia ${number}`)"
    page.evaluate(f"document.getElementById('input').value = {names}.join('\\n')")
    page.click("#link")
    status(page, "2,000 mentions linked")
    expect(page.locator("#page-number")).to_have_text("Page 1 of 20")
    expect(page.locator("#results tbody tr")).to_have_count(100)
    page.locator('[data-anchor="99"]').click()
    page.keyboard.press("j")
    expect(page.locator("#page-number")).to_have_text("Page 2 of 20")
    heading(page, "leukaemia 100")


def test_a_long_text_is_shown_whole(page: Any) -> None:
    text = "A long text about leukaemia and lymphoma. " * 1_000
    link(page, text)
    expect(page.locator("#results .text")).to_have_text(text, use_inner_text=False)
    page.locator('[data-anchor="1999"]').click()
    heading(page, "lymphoma")


# failures of the service


def test_a_busy_service_is_asked_again(page: Any, fake: Fake) -> None:
    again = {"Retry-After": "1"}
    fake.fail = [JSONResponse({}, status, again) for status in (429, 503)]
    link(page, TEXT)
    assert fake.asked.count("/annotate") == 3


def test_what_may_have_been_done_is_not_sent_again(page: Any, fake: Fake) -> None:
    fake.fail = [JSONResponse({"error": "the answer took too long"}, 503)]
    page.fill("#input", TEXT)
    page.click("#link")
    said = "The service is busy. The answer took too long. Wait a little, then try again."
    expect(page.locator("#problem p")).to_have_text(said)
    assert fake.asked.count("/annotate") == 1


def test_a_key_is_asked_for(page: Any, fake: Fake) -> None:
    fake.fail = [JSONResponse({"error": "a key"}, 401)] * 2
    page.click("#link")
    expect(page.locator("#wrong-key")).to_be_hidden()
    page.fill("#which-key input", "wrong")
    page.click("#which-key .main")
    expect(page.locator("#wrong-key")).to_be_visible()
    page.fill("#which-key input", "secret")
    page.click("#which-key .main")
    status(page, "linked")


def test_requests_that_are_refused_together_ask_for_one_key(page: Any, fake: Fake) -> None:
    fake.fail = [JSONResponse({"error": "a key"}, 401)] * 2
    page.evaluate(
        """async () => {
            const { getJson } = await import("./static/api.js");
            window.both = Promise.all([getJson("model"), getJson("model")]).then((all) => all.length);
        }"""
    )
    page.fill("#which-key input", "secret")
    page.click("#which-key .main")
    assert page.evaluate("window.both") == 2
    expect(page.locator("#which-key")).to_be_hidden()


def test_a_question_can_be_left(page: Any, fake: Fake) -> None:
    drop(page, "table.csv", "row,what\n1,leukaemia\n")
    page.click("#which-column .cancel")
    status(page, "Nothing was linked")
    link(page, "leukaemia")
    page.click("#accept")
    page.click("#who .cancel")
    status(page, "the name of the reviewer is missing")
    assert fake.decisions == []


def test_an_error_is_in_sight_and_closing_it_goes_back(page: Any, fake: Fake) -> None:
    page.set_viewport_size({"width": 400, "height": 600})
    link(page, TEXT)
    page.fill("#query", "leuk")
    page.wait_for_load_state("networkidle")  # the answer asks for its concept
    fake.fail = [JSONResponse({"error": "the query is odd"}, 422)]
    page.locator("#query").press("e")
    page.locator("#query").press("Enter")
    expect(page.locator("#problem p")).to_have_text("The query is odd.")
    expect(page.locator("#problem")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)  # it would fail again
    page.locator("#problem").get_by_role("button", name="Close").click()
    assert focused(page) == "query"
    expect(page.locator("#query")).to_have_value("leuke")


def test_the_model_is_asked_for_again(page: Any, fake: Fake) -> None:
    fake.fail = [JSONResponse({"error": "a bug"}, 500)]
    page.reload()
    expect(page.locator("#problem")).to_contain_text("A bug.")
    link(page, "leukaemia")
    expect(page.locator("#accept")).to_be_enabled()
    expect(page.locator("#model")).to_contain_text("346 concepts")


def test_offline(page: Any, context: Any) -> None:
    context.set_offline(True)
    page.click("#link")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    status(page, "linked")
    expect(page.locator("#problem")).to_be_hidden()


# looks


@pytest.mark.parametrize("look", ["light", "dark", "narrow", "names"])
def test_looks_and_accessibility(page: Any, fake: Fake, pictures: Path, look: str) -> None:
    page.emulate_media(color_scheme="light" if look == "light" else "dark")
    if look == "narrow":
        page.set_viewport_size({"width": 400, "height": 800})
    if look == "names":
        decide(fake)
        page.fill("#input", "breast cancers\nleukaemia\nbreast and ovarian cancer\ntall stature")
    elif look != "light":
        disagree(fake)
    page.click("#link")
    status(page, "linked")
    if look == "names":
        expect(page.locator("#results [data-state='no concept']")).to_have_text("tall stature")
    else:
        page.locator("#results").get_by_text("hereditary breast and ovarian cancer").click()
        page.click("#reasons > summary")
        expect(page.locator("#reasons-body")).to_contain_text("Confidence from")
    if look == "narrow":  # the whole page, without the line of its foot in the middle
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": 400, "height": height})
    page.screenshot(path=pictures / f"{look}.png")
    assert not is_too_wide(page)
    assert problems(page) == ""


def test_an_answer_is_brought_into_sight_on_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    link(page, TEXT)
    # the heading is inside the window, below the line at its foot
    height = int(page.locator("#answer").bounding_box()["y"]) + 30
    page.set_viewport_size({"width": 400, "height": height})
    page.locator("#results").get_by_text("leukaemia").click()
    heading(page, "leukaemia")
    expect(page.locator("#accept")).to_be_in_viewport(ratio=1)
    page.click("#back")
    expect(page.locator("#results [aria-current]")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("name", ["who", "which-key", "which-column", "help"])
def test_dialogs_are_accessible_on_a_dark_phone(page: Any, pictures: Path, name: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 400, "height": 800})
    page.evaluate(
        """(name) => {
            document.getElementById("wrong-key").hidden = false;
            document.getElementById(name).showModal();
        }""",
        name,
    )
    page.screenshot(path=pictures / f"dialog-{name}.png")
    assert not is_too_wide(page)
    assert problems(page) == ""


def test_nothing_is_wider_than_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    link(page, f"{'x' * 300} leukaemia, {'breast and ovarian cancer ' * 3}.")
    assert not is_too_wide(page)
    link(page, f"{'leukaemia' * 12}\nbreast and ovarian cancer")
    assert not is_too_wide(page)
    page.keyboard.press("?")
    assert not is_too_wide(page)
