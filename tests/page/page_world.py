"""A server with a stream that tests push rows into, and pages of it."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparkext.recorded_streams import StreamElement
from tests.sparkext.serving.serving_world import TOKEN, E, S, World

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

QUERY = f"""PREFIX : <{E}>
REGISTER RSTREAM :this AS SELECT ?a ?b
FROM NAMED WINDOW :w ON :s [RANGE 10]
WHERE {{ WINDOW :w {{ ?a :p ?b }} }}"""
_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


@dataclass
class Pages:
    """The server, a browser, and the contexts of the pages that are open."""

    world: World
    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    times: Any = field(default_factory=lambda: itertools.count(1_000_000, 20))

    def open(
        self,
        path: str = "",
        url: str | None = None,
        token: str = TOKEN,
        state: str = "live",
        **options: Any,
    ) -> Page:
        """A page of its own, with nothing that others have left, in this state of connection; a token of "" is none."""
        context = self.browser.new_context(
            viewport=options.pop("viewport", {"width": 1200, "height": 800}), **options
        )
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.accept())[-1])
        page.on("pageerror", lambda error: self.dialogs.append(f"error: {error}"))
        base = url or self.world.server.url
        page.goto(f"{base}/#token={token}" if token else f"{base}/")
        if token:
            page.locator(f"#connection[data-state={state}]").wait_for()
        if path:
            page.evaluate("path => { location.hash = path }", path)
        return page

    def follow(self, name: str, **options: Any) -> Page:
        """A page that follows a query."""
        page = self.open(f"#/queries/{name.replace(':', '%3A').replace('/', '%2F')}", **options)
        page.locator("#answers").wait_for(state="attached")
        return page

    def query(self, name: str, text: str = QUERY) -> Counted:
        """A query that is registered, `:this` in its text by its name, and what it answers counted."""
        served = self.world.served.register(text.replace(":this", f":{name}"))
        counted = Counted(served.registered.name)
        served.registered.subscribe(lambda answers: counted.add(len(answers)))
        return counted

    def push(self, *objects: str) -> None:
        """Push one element, a triple for each object in N-Triples syntax; it is answered with the next one."""
        lines = tuple(f"<{E}s{n}> <{E}p> {one} ." for n, one in enumerate(objects))
        self.world.engine.stream(S).push_elements(
            [StreamElement(next(self.times), None, lines, None, ())]
        )

    def stream_rows(self, seconds: float, a_second: int, evaluations: int = 10) -> threading.Thread:
        """Push so many rows a second for a while, from a thread that has begun."""
        rows = a_second // evaluations

        def work() -> None:
            began = time.monotonic()
            for turn in range(round(seconds * evaluations)):
                self.push(*(f'"{turn * rows + n}"^^<{_INTEGER}>' for n in range(rows)))
                time.sleep(max(0.0, began + (turn + 1) / evaluations - time.monotonic()))

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def leave(self) -> None:
        """Close all pages and end all queries."""
        while self.contexts:
            self.contexts.pop().close()
        for name in list(self.world.served.queries):
            self.world.served.drop(name)


@dataclass
class Counted:
    """How many evaluations and answers a query has had."""

    name: str
    evaluations: int = 0
    answers: int = 0

    def add(self, answers: int) -> None:
        """One more evaluation."""
        self.evaluations += 1
        self.answers += answers
