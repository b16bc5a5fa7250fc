"""/queries: register, list, explain, follow and drop continuous queries."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sparkext.serving.answer_ring import about
from sparkext.serving.bodies import Fields, json_of, media_type, text_of
from sparkext.serving.event_stream import (
    RESULT_TYPES,
    EventStream,
    accepted_format,
    events_of,
)
from sparkext.serving.problems import ProblemError
from sparkext.serving.routes.requests import body_of, flag, kept, named, only, parameter, served_by
from sparkext.serving.served_engine import ServedQuery

_QUERY_TYPES = ("application/sparql-query", "text/plain")
_MEMBERS = ("query", "name", "report", "parameters")
_EVENT_STREAM = "text/event-stream"


async def list_queries(request: Request) -> Response:
    """All queries, with how they stand."""
    only(request, ())
    served = served_by(request)
    return JSONResponse({"queries": [standing(query) for query in list(served.queries.values())]})


async def register_query(request: Request) -> Response:
    """Register a query: JSON with `query`, `name`, `report` and `parameters`, or its text and `?name=`."""
    only(request, ("name",))
    served = served_by(request)
    kind = media_type(request.headers.get("content-type"))
    content = await body_of(request)
    if kind in _QUERY_TYPES:
        fields = Fields({"query": text_of(content)}, _MEMBERS)
    elif kind == "application/json":
        fields = Fields(await served.working(json_of, text_of(content)), _MEMBERS)
    else:
        raise ProblemError(
            415, f"Content-Type: application/json or {_QUERY_TYPES[0]}, not {kind!r:.60}"
        )
    name = fields.text_or_none("name")
    if name is None:
        name = parameter(request, "name")
    if name is not None and not 0 < len(name) <= 1000:
        raise ProblemError(400, "name: a text of 1 to 1000 characters")
    report = fields.value("report")
    if report is not None and not isinstance(report, str | dict):
        raise ProblemError(400, "report: a text, or texts by the IRIs of windows")
    given = (fields.text("query"), name, report, fields.mapping("parameters"))
    query = await served.waiting(served.register, *given)
    place = f"/queries/{quote(query.registered.name, safe='')}"
    return JSONResponse(await served.working(described, query), 201, {"Location": place})


async def show_query(request: Request) -> Response:
    """One query: its text, what it reads and when it is evaluated, and how it stands."""
    only(request, ())
    served = served_by(request)
    return JSONResponse(await served.working(described, served.query(named(request, "name"))))


async def drop_query(request: Request) -> Response:
    """End a query."""
    only(request, ())
    served = served_by(request)
    await served.waiting(served.drop, named(request, "name"))
    return Response(status_code=204)


async def explain_query(request: Request) -> Response:
    """The plan of a query with its reasons, in JSON or, by Accept, as text."""
    only(request, ())
    served = served_by(request)
    query = served.query(named(request, "name"))
    explanation = await served.explained(query)
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(await served.working(str, explanation))
    text = await served.working(explanation.to_json)
    return Response(text, media_type="application/json")


async def latest_answers(request: Request) -> Response:
    """The newest answers in a W3C format by Accept; 204 before the first evaluation."""
    only(request, ())
    served = served_by(request)
    query = served.query(named(request, "name"))
    format, media = accepted_format(request.headers.get("accept"), _triples(query))
    answers = query.registered.last_answers
    if answers is None:
        return Response(status_code=204)
    known = about(answers)
    headers = {"CQELS-Time": known["time"], "CQELS-Sequence": str(known["sequence"])}
    text = await served.working(answers.to_text, format)
    return Response(text, 200, headers, media)


async def follow_query(request: Request) -> Response:
    """The answers of a query as they come, as server-sent events."""
    only(request, ("format", "empty", "from", "last", "last_event_id"))
    served = served_by(request)
    query = served.query(named(request, "name"))
    accept = request.headers.get("accept", "*/*")
    if not any(media in accept for media in (_EVENT_STREAM, "*/*", "text/*")):
        raise ProblemError(406, f"Accept: {_EVENT_STREAM} (or .../answers/latest for one result)")
    ring, kept = query.ring, served.options.kept
    last = request.headers.get("last-event-id") or parameter(request, "last_event_id")
    start = parameter(request, "from") or "now"
    if start not in ("now", "oldest"):
        raise ProblemError(400, f"from: now or oldest, not {start!r:.60}")
    newest = parameter(request, "last")
    if newest is not None and not (newest.isascii() and newest.isdigit()):
        raise ProblemError(400, f"last: a whole number, not {newest!r:.60}")
    gap = None
    if last is not None:
        place, gap = ring.place_after(last)
    elif newest is not None:
        place = ring.place_of_newest(int(newest[:18]))
    else:
        place = ring.newest if start == "now" else ring.oldest
    format = _event_format(request, query)
    empty = flag(request, "empty", True)
    if served.subscribers >= served.options.limits.subscribers:
        raise ProblemError(503, f"{served.subscribers} clients follow queries; no more are let in")
    events = events_of(ring, place, gap, format, empty, kept.heartbeat, lambda: served.stopping)
    return EventStream(ring, events, kept)


def _event_format(request: Request, query: ServedQuery) -> str:
    triples = _triples(query)
    fitting = [name for name in RESULT_TYPES if (name in ("nt", "nq")) == triples]
    fitting += ["json"] * triples
    format = parameter(request, "format") or "json"
    if format not in fitting:
        said = ", ".join(fitting)
        raise ProblemError(400, f"format: for {query.form} {said}, not {format!r:.60}")
    return format


def _triples(query: ServedQuery) -> bool:
    return query.form in ("CONSTRUCT", "DESCRIBE")


def standing(query: ServedQuery) -> dict[str, Any]:
    """How a query stands, in numbers."""
    registered, ring = query.registered, query.ring
    progress = registered.progress
    return {
        "name": registered.name,
        "evaluations": progress.evaluations,
        "answers": progress.answers,
        "failures": progress.failures,
        "lag_seconds": round(progress.lag, 3),
        "last_seconds": round(progress.last_seconds, 6),
        "subscribers": ring.subscribers,
        "kept": ring.size[0],
    }


def described(query: ServedQuery) -> dict[str, Any]:
    """All that is told of a query."""
    registered = query.registered
    parsed = registered.query
    progress = registered.progress
    named_counts = ("repeated", "seconds", "window_seconds", "run_seconds", "decode_seconds")
    return {
        **standing(query),
        "query": query.text,
        "form": parsed.form,
        "variables": list(registered.variables),
        "stream_operator": parsed.stream_operator,
        "streams": list(dict.fromkeys(window.stream.value for window in parsed.windows)),
        "policy": policy(registered),
        "evaluation": registered.evaluation,
        "execution": registered.execution,
        "progress": {name: round(getattr(progress, name), 6) for name in named_counts},
    }


def policy(registered: Any) -> list[dict[str, Any]]:
    """When a query is evaluated: where any of these rules holds, each of all of its conditions."""
    windows = list(registered.windows)
    found = []
    for rule in registered.policy.rules:
        conditions = [
            {"window": windows[c.window] or None, "strategy": c.strategy.value}
            for c in rule.conditions
        ]
        found.append({"every_ms": rule.every, "conditions": conditions})
    return found


def routes() -> list[Route]:
    """What is at /queries."""
    one = "/queries/{name}"
    return [
        Route("/queries", list_queries, methods=["GET"]),
        Route("/queries", kept(register_query), methods=["POST"]),
        Route(one, show_query, methods=["GET"]),
        Route(one, kept(drop_query), methods=["DELETE"]),
        Route(f"{one}/explanation", explain_query, methods=["GET"]),
        Route(f"{one}/answers", follow_query, methods=["GET"]),
        Route(f"{one}/answers/latest", latest_answers, methods=["GET"]),
    ]
