"""Pages of a server that is away: it still loads what it begins with and refuses all (503), or cannot be reached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from sparkext.serving.beginnings import Beginnings, QueryToBe, StaticFile, StreamToBe
from sparkext.serving.server import Server, listening
from tests.page.browsing import Cable
from tests.page.page_world import Pages
from tests.sparkext.serving.serving_world import OPTIONS, QUERY, Client, E, S, World, serving

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

    from sparkext.serving.served_engine import ServedEngine

# Nothing is about time: a busy machine may take long for anything.
expect.set_options(timeout=60_000)


@contextmanager
def starting(
    spark: SparkSession, browser: Browser, begins: Beginnings
) -> Iterator[tuple[Pages, Callable[[], None]]]:
    """Pages of a server that begins with nothing until it is told to go on."""
    told = threading.Event()

    def prepare(served: ServedEngine) -> None:
        assert told.wait(120)
        begins.prepare(served)

    engine, listener = Engine(spark), listening(OPTIONS)
    listener.listen()
    server = Server(engine, OPTIONS, prepare, listener=listener)
    thread = threading.Thread(target=server.run)
    thread.start()
    pages = Pages(World(server, engine, Client(server.url)), browser)
    try:
        yield pages, told.set
    finally:
        pages.leave()
        told.set()
        server.stop()
        thread.join(60)
    assert not thread.is_alive() and engine.closed


def test_pages_have_all_once_the_server_is_ready(
    spark: SparkSession, browser: Browser, tmp_path: Path
) -> None:
    """What is asked for once, not again and again: prefixes, words to complete, the text of the query."""
    static = tmp_path / "static.nt"
    static.write_text(f"<{E}x> <{E}knows> <{E}y> .\n")
    begins = Beginnings(
        static=[StaticFile(str(static))], streams=[StreamToBe(S)], queries=[QueryToBe(QUERY, "q")]
    )
    with starting(spark, browser, begins) as (pages, go_on):
        editor = pages.open("#/editor", state="lost")
        query = pages.follow(f"{E}q", state="lost")
        expect(editor.locator("#connection")).to_have_attribute("title", "the server is starting")
        expect(editor.locator("#problems")).to_be_empty()
        go_on()
        for page in (editor, query):
            expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        # What is there is checked for the first time when its words have come.
        expect(editor.locator("#problems")).to_contain_text("A continuous SELECT query")
        editor.locator("#query-text").fill("")
        editor.locator("#query-text").focus()
        editor.keyboard.type("SELECT * WHERE { ?s know")
        expect(editor.get_by_role("option")).to_have_text(":knows 1 triples")
        expect(query.locator("#query-source")).to_have_text(QUERY)
        pages.push('"1"')
        pages.push('"2"')
        expect(query.locator("#answers tbody td:nth-child(2)").first).to_have_text(":s0")
        assert pages.dialogs == []


def test_a_server_that_could_not_be_reached_is_asked_anew(pages: Pages) -> None:
    served, name = pages.world.served, f"{E}q"
    served.register(QUERY)
    cable = Cable(pages.world.server.url)
    try:
        page = pages.follow(name, url=cable.url)
        expect(page.locator("#query-source")).to_have_text(QUERY)
        # That answers broke off would not do: these may go on before the next poll, as if nothing had been.
        with page.expect_event("requestfailed", lambda asked: asked.url.endswith("/state")):
            cable.cut()
        served.drop(name)
        changed = QUERY.replace("?a ?b\n", "?b ?a\n")
        served.register(changed)
        cable.mend()
        expect(page.locator("#query-source")).to_have_text(changed)
    finally:
        cable.close()


def test_a_server_that_comes_back_with_another_token(pages: Pages, spark: SparkSession) -> None:
    pages.query("q")
    cable, token = Cable(pages.world.server.url), "another-token-0123456789"
    try:
        with serving(spark, token=token) as world:
            page = pages.follow(f"{E}q", url=cable.url)
            there = Pages(world, pages.browser)
            fresh = there.query("fresh")
            cable.cut()
            cable.mend(world.server.url)
            expect(page.get_by_label("Token of this server")).to_be_visible()
            page.evaluate("token => { location.hash = `#token=${token}` }", token)
            expect(page.locator("#token-dialog")).to_be_hidden()
            expect(page.get_by_role("heading", name=fresh.name)).to_be_visible()
            there.push('"1"')
            there.push('"2"')
            expect(page.locator("#answers tbody td:nth-child(2)").first).to_have_text(":s0")
            expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    finally:
        cable.close()
