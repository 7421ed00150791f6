"""The page in a real browser: what curators do, bad input, accessibility and its strict policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.service.app import create
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")
from starlette.responses import JSONResponse  # noqa: E402

from .browser import (  # noqa: E402
    agree,
    drop,
    is_too_wide,
    needs_browser,
    opened,
    problems,
    serving,
)
from .fake import Fake  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser
TEXT = "Sisters with ataxia telangiectasia (A-T) and breast and ovarian cancer had leukaemia."


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
    expect(page.locator("#status")).to_contain_text(text)


def heading(page: Any, mention: str) -> None:
    expect(page.locator("#answer")).to_have_text(f"“{mention}”")


def marked(page: Any) -> list[str]:
    """The texts of the mentions' links, in order."""
    return page.locator("#results a[data-anchor]").all_text_contents()


# what users do


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


def test_a_text_is_read_by_keyboard_alone(page: Any, fake: Fake) -> None:
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
    press("a")  # nothing is decided here
    expect(page.locator("#accept")).to_be_hidden()
    expect(page.get_by_role("button", name="Choose")).to_have_count(0)

    press("/")
    page.keyboard.type("D001943")
    expect(page.locator("#found li")).to_have_count(1)
    press("Escape")
    expect(page.locator('#results [data-anchor="0"]')).to_be_focused()
    press("Enter")
    expect(page.locator("#answer")).to_be_focused()
    press("e")
    expect(page.locator("#reasons-body")).to_contain_text(
        "Confidence from the ranker as it is shipped, fitted to"
    )
    press("?")
    expect(page.locator("#help")).to_be_visible()
    press("j")  # keys do nothing behind a dialog
    heading(page, "ataxia telangiectasia")
    press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    assert fake.decisions == []


def test_single_keys_can_be_switched_off(page: Any) -> None:
    link(page, TEXT)
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    heading(page, "ataxia telangiectasia")


def test_what_was_decided_elsewhere_is_shown(page: Any, fake: Fake) -> None:
    decision = {"mention": "leukaemia", "accepted": True, "scope": "", "reviewer": "Ada"}
    fake.decisions = [{**decision, "concept_id": "MESH:D007938"}]
    link(page, "leukaemia\nlymphoma")
    expect(page.locator("#results [data-state=accepted]")).to_have_text("leukaemia")
    expect(page.locator("#decisions li")).to_contain_text("Leukemia MESH:D007938 by Ada")
    expect(page.locator("#decisions button")).to_have_count(0)


def test_a_reload_links_the_same_text(page: Any) -> None:
    link(page, TEXT)
    page.reload()
    status(page, "4 mentions linked")
    expect(page.locator("#input")).to_have_value(TEXT)


def test_a_file_becomes_a_project(page: Any) -> None:
    drop(page, "names.txt", "leukaemia\nlymphoma\n")
    agree(page)
    expect(page.locator("#project-name")).to_have_text("names")


def test_a_service_without_decisions_takes_no_files(linker: Linker, context: Any) -> None:
    app = create(Service(Settings("sample"), linker))
    with serving(app) as address, opened(context, address) as page:
        expect(page.locator("#model")).to_contain_text("346 concepts")
        expect(page.locator("#keep")).to_be_hidden()
        drop(page, "names.txt", "leukaemia\n")
        expect(page.locator("#problem")).to_contain_text("--decisions FILE")


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


def test_names_and_texts_are_told_apart_as_by_the_service(page: Any) -> None:
    prose = json.loads((Path(__file__).parents[2] / "data" / "prose.json").read_text("utf-8"))
    for kind, texts in (("names", prose["lists"]), ("text", prose["texts"])):
        for name, text in texts.items():
            found = page.evaluate(
                "async (text) => (await import('./static/text.js')).kindOf(text)", text
            )
            assert (name, found) == (name, kind)


# bad input


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


def test_of_many_names_the_first_are_linked(page: Any) -> None:
    names = "Array.from({ length: 2000 }, (_, number) => `leukaemia ${number}`)"
    page.evaluate(f"document.getElementById('input').value = {names}.join('\\n')")
    page.click("#link")
    status(page, "200 mentions linked, read as a list of names. The other 1,800 are linked in a")
    expect(page.locator("#results tbody tr")).to_have_count(200)


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
    expect(page.locator("#query")).to_be_focused()
    expect(page.locator("#query")).to_have_value("leuke")


def test_offline(page: Any, context: Any) -> None:
    context.set_offline(True)
    page.click("#link")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    status(page, "linked")
    expect(page.locator("#problem")).to_be_hidden()


# looks


@pytest.mark.parametrize("look", ["light", "narrow"])
def test_looks_and_accessibility(page: Any, pictures: Path, look: str) -> None:
    page.emulate_media(color_scheme="light" if look == "light" else "dark")
    if look == "narrow":
        page.set_viewport_size({"width": 400, "height": 800})
    page.click("#link")
    status(page, "linked")
    page.locator("#results").get_by_text("hereditary breast and ovarian cancer").click()
    page.click("#reasons > summary")
    expect(page.locator("#reasons-body")).to_contain_text("Confidence from")
    if look == "narrow":  # the whole page, without the line of its foot in the middle
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": 400, "height": height})
    page.screenshot(path=pictures / f"{look}.png")
    assert not is_too_wide(page)
    assert problems(page) == ""


@pytest.mark.parametrize("name", ["who", "which-key", "which-column", "reading", "help"])
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
