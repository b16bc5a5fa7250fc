"""/ and /page: the live page; /state, /vocabulary, /check and a query's history: what it asks for."""

from __future__ import annotations

import json
import time
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sparkext.errors import CqelsError
from sparkext.page.held_windows import held
from sparkext.page.page_files import HEADERS, page_files
from sparkext.page.query_check import checked
from sparkext.page.query_story import story
from sparkext.page.vocabulary import vocabulary
from sparkext.serving.guards import asks_for_page
from sparkext.serving.problems import ProblemError, problem_of
from sparkext.serving.query_limits import check_query_text
from sparkext.serving.routes import health, queries, streams
from sparkext.serving.routes.requests import named, only, served_by
from sparkext.serving.routes.streams import json_fields
from sparkext.serving.served_engine import ServedEngine, ServedQuery
from sparkext.sql.kept_sides import kept_sides

_FRESH_SECONDS = 0.4


async def front(request: Request) -> Response:
    """The page for browsers, for others what paths there are."""
    if asks_for_page(request.scope):
        return _file("index.html")
    return await health.index(request)


async def page_file(request: Request) -> Response:
    """A file of the page."""
    return _file(named(request, "file"))


def _file(name: str) -> Response:
    found = page_files().get(name)
    if found is None:
        raise HTTPException(404)
    content, kind = found
    return Response(content, headers={**HEADERS, "Content-Type": kind})


class State:
    """How everything stands, found at most a few times a second, however many pages ask."""

    def __init__(self, served: ServedEngine) -> None:
        self._served = served
        self._found: dict[str, Any] = {}
        self._until = 0.0

    async def told(self) -> dict[str, Any]:
        """Server, queries, streams with their windows, and kept static sides of unchanged jobs."""
        if time.monotonic() >= self._until:
            server = await health.standing(self._served)
            self._found = {**server, **await self._served.working(self._find)}
            self._until = time.monotonic() + _FRESH_SECONDS
        return self._found

    def _find(self) -> dict[str, Any]:
        served = self._served
        windows = held(served.engine)
        return {
            "now": round(time.time(), 3),
            "overload": health.about_overload(served),
            "subscribers": served.subscribers,
            "queries": [_query(query) for query in list(served.queries.values())],
            "streams": [
                {
                    **streams.described(stream),
                    **windows.get(stream.iri, {}),
                    "reasons": list(stream.set_aside)[-5:],
                }
                for stream in list(served.engine.streams.values())
            ],
            "kept_sides": _kept_sides(served),
        }


def _query(query: ServedQuery) -> dict[str, Any]:
    registered = query.registered
    return {
        **queries.standing(query),
        "form": query.form,
        "evaluation": registered.evaluation,
        "execution": registered.execution,
        "switches": len(registered.history()),
    }


def _kept_sides(served: ServedEngine) -> list[dict[str, Any]]:
    return [
        {
            "side": one.side,
            "rows": one.rows,
            "bytes": one.bytes,
            "read_ms": one.read_ms,
            "since": one.since.isoformat(timespec="milliseconds"),
            "uses": one.uses,
            "queries": list(one.queries),
        }
        for one in kept_sides(served.engine.spark)
    ]


async def state(request: Request) -> Response:
    """How everything stands, for the page."""
    only(request, ())
    found: State = request.app.state.standing
    return JSONResponse(await found.told())


async def words(request: Request) -> Response:
    """Prefixes, predicates, graphs and streams, for completion."""
    only(request, ())
    served = served_by(request)
    return JSONResponse(await served.waiting(vocabulary, served.engine))


async def check(request: Request) -> Response:
    """What is wrong with a query, with line and column, or what it is: JSON with `query`."""
    only(request, ())
    served = served_by(request)
    text = (await json_fields(request, ("query",))).text("query")
    return JSONResponse(await served.working(_checked, served, text))


def _checked(served: ServedEngine, text: str) -> dict[str, Any]:
    try:
        check_query_text(text, served.options.limits)
        return {"ok": True, **checked(served.engine, text)}
    except RecursionError:
        flaw: Exception = ProblemError(422, "the query is nested too deeply")
    except CqelsError as error:
        flaw = error
    return {"ok": False, "problem": json.loads(bytes(problem_of(flaw).body))}


async def history(request: Request) -> Response:
    """The newest evaluations of a query and every change of its join orders."""
    only(request, ())
    served = served_by(request)
    query = served.query(named(request, "name"))
    return JSONResponse(await served.working(story, query.registered))


def routes() -> list[Route]:
    """What is at these paths."""
    return [
        Route("/", front, methods=["GET"]),
        Route("/page/{file}", page_file, methods=["GET"]),
        Route("/state", state, methods=["GET"]),
        Route("/vocabulary", words, methods=["GET"]),
        Route("/check", check, methods=["POST"]),
        Route("/queries/{name}/history", history, methods=["GET"]),
    ]
