"""The page's editor in a browser: what it marks, what it completes, and what becomes of the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.page.page_world import QUERY, Pages
from tests.sparkext.serving.serving_world import NT, E, S

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Nothing is about time: a busy machine may take long for anything.
expect.set_options(timeout=60_000)
DEMO = "https://example.org/demo/"
MEASURED = f"""PREFIX : <{DEMO}>
REGISTER RSTREAM :this AS SELECT ?a
FROM NAMED WINDOW :w ON <{S}> [RANGE 10]
WHERE {{ WINDOW :w {{ ?a :temperature ?b }} }}"""


def editor(pages: Pages, static: str) -> Page:
    """The editor, with the caret in its text, where this triple is the static data and its words have come."""
    pages.world.ask("PUT", "/static/graph?default", static, NT)
    page = pages.open("#/editor")
    expect(page.locator("#problems")).to_contain_text("A continuous SELECT query")
    page.locator("#query-text").fill("")
    return page


def test_the_editor_marks_flaws_completes_words_registers_and_asks(pages: Pages) -> None:
    pages.world.ask(
        "PUT", "/static/graph?default", f"<{E}x> <{E}knows> <{E}y> .", "application/n-triples"
    )
    pages.query("known")
    pages.push('"1"')
    page = pages.open("#/editor")
    area = page.locator("#query-text")
    area.fill(f"PREFIX : <{E}>\nSELECT * WHERE {{ ?s :knows }}")
    expect(page.locator("#problems")).to_contain_text("line 2, column 28")
    expect(page.locator(".write mark")).to_have_text("}")
    page.get_by_role("button", name="line 2, column 28").click()
    expect(area).to_be_focused()
    assert area.evaluate("one => one.selectionStart") == len(f"PREFIX : <{E}>\n") + 27
    area.fill("")
    page.keyboard.type(f"PREFIX : <{E}>\nSELECT * WHERE {{ ?s :kn")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.type(" ?o }")
    expect(page.locator("#problems")).to_contain_text("asked once")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#result")).to_contain_text(re.compile(f"(:|{E})y"))
    area.fill("SELECT * WHERE { ?s p")
    area.press("End")
    page.keyboard.press("Control+Space")
    page.get_by_role("option", name=":p in a stream").wait_for()
    area.fill(QUERY.replace(":this", ":new").replace(":s ", ":fresh "))
    page.get_by_role("button", name=f"Register the stream {E}fresh").click()
    expect(page.get_by_role("button", name=f"Register the stream {E}fresh")).to_have_count(0)
    page.keyboard.press("Control+Enter") if area.evaluate(
        "one => one === document.activeElement"
    ) else page.locator("#register").click()
    expect(page.get_by_role("heading", name=f"{E}new")).to_be_visible()
    page.get_by_role("button", name="Drop this query").click()
    expect(page.locator("#query-list li")).to_have_count(1)
    assert pages.dialogs == [f"End the query {E}new?"]


@pytest.mark.parametrize(
    ("declared", "label", "before"),
    [
        ("", ":temperature", f"PREFIX : <{DEMO}>\n"),
        ("PREFIX : <http://example.org/>\n", f"<{DEMO}temperature>", ""),
        (f"PREFIX : <http://example.org/> PREFIX d: <{DEMO}>\n", "d:temperature", ""),
        (
            f"PREFIX e: <http://example.org/#> PREFIX : <{DEMO}> # PREFIX : <e>\n",
            ":temperature",
            "",
        ),
    ],
)
def test_a_completed_name_means_what_was_offered(
    pages: Pages, declared: str, label: str, before: str
) -> None:
    pages.query("measured", MEASURED)
    page = editor(pages, f'<{E}x> <{DEMO}temperature> "1" .')
    page.locator("#query-text").fill(f"{declared}SELECT * WHERE {{ ?s ")
    page.locator("#query-text").press("Control+End")
    page.keyboard.type("temp")
    expect(page.get_by_role("option")).to_have_text(f"{label} 1 triples")
    page.keyboard.press("Enter")
    expect(page.locator("#query-text")).to_have_value(
        f"{before}{declared}SELECT * WHERE {{ ?s {label}"
    )


def test_what_is_offered_goes_when_the_caret_does(pages: Pages) -> None:
    page = editor(pages, f"<{E}x> <{E}knows> <{E}y> .")
    text, area = "SELECT * WHERE { ?s kn", page.locator("#query-text")
    for keys, place in ((("ArrowLeft", "ArrowLeft"), len(text) - 2), (("Home",), 0)):
        area.fill("")
        page.keyboard.type(text)
        expect(page.get_by_role("option")).to_have_count(1)
        for key in keys:
            page.keyboard.press(key)
        expect(page.locator("#complete")).to_be_hidden()
        page.keyboard.press("Enter")
        expect(area).to_have_value(f"{text[:place]}\n{text[place:]}")
    assert pages.dialogs == []


def test_a_mark_behind_an_emoji_is_where_the_flaw_is(pages: Pages) -> None:
    page = editor(pages, f"<{E}x> <{E}knows> <{E}y> .")
    before = 'SELECT ("\N{GRINNING FACE}" AS ?x) WHERE { ?s ?p '
    page.locator("#query-text").fill(before + "}")
    place = page.get_by_role("button", name=f"line 1, column {len(before) + 1}")
    expect(place).to_be_visible()
    expect(page.locator(".write mark")).to_have_text("}")
    place.click()
    units = len(before.encode("utf-16-le")) // 2
    assert page.locator("#query-text").evaluate("one => one.selectionStart") == units
