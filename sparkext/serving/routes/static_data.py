"""/static and /sparql: static graphs loaded, changed and asked, as SPARQL's protocols have it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.language import parse_query
from sparkext.language.query import DatasetClause, Query
from sparkext.serving.bodies import instant, media_type, text_of, triples_text
from sparkext.serving.event_stream import accepted_format
from sparkext.serving.problems import ProblemError
from sparkext.serving.query_limits import check_query_text
from sparkext.serving.routes.requests import body_of, kept, only, parameter, served_by
from sparkext.serving.routes.streams import json_fields
from sparkext.serving.served_engine import ServedEngine
from static_data.terms import Iri

_ON_ERROR = ("fail", "accept")
_FORM = "application/x-www-form-urlencoded"
_QUERY = "application/sparql-query"
_PROTOCOL = ("query", "default-graph-uri", "named-graph-uri")


async def list_graphs(request: Request) -> Response:
    """The graphs of the static data, and how many triples each has."""
    only(request, ())
    served = served_by(request)
    return JSONResponse({"graphs": await served.waiting(_graphs, served)})


def _graphs(served: ServedEngine) -> list[dict[str, Any]]:
    store = served.engine.store
    with served.engine.parts.in_use():
        return [
            {
                "graph": name.text
                if name.text is None
                else name.text.removeprefix("<").removesuffix(">"),
                "triples": store.row_count(name.id),
            }
            for name in store.graphs()
        ]


async def load_files(request: Request) -> Response:
    """Load files of --data-dir: JSON with `files`, and perhaps `graph` and `format`."""
    only(request, ())
    served = served_by(request)
    fields = await json_fields(request, ("files", "graph", "format", "on_error"))
    files = [await served.working(served.file, name) for name in fields.texts("files")]
    on_error = fields.text_or_none("on_error") or "fail"
    if on_error not in _ON_ERROR:
        raise ProblemError(400, f"on_error: {' or '.join(_ON_ERROR)}, not {on_error!r:.60}")
    load = partial(
        served.engine.load_static,
        files,
        graph=fields.text_or_none("graph"),
        format=fields.text_or_none("format"),
        progress=False,
        on_error=on_error,
    )
    report = await served.waiting(load)
    return JSONResponse({"statements": report.statements, "skipped": report.skipped})


async def change_graph(request: Request) -> Response:
    """Change a graph: PUT replaces it, POST inserts, DELETE empties it, `.../removals` takes triples out.

    `?graph=IRI` or `?default` says which (SPARQL 1.1 Graph Store HTTP Protocol), `?at=TIME` from which time on.
    """
    only(request, ("graph", "default", "at"))
    served = served_by(request)
    graph = _graph(request)
    at = parameter(request, "at")
    moment = None if at is None else instant(at, "at")
    content = await body_of(request)
    engine = served.engine
    removes = request.url.path.endswith("/removals")
    if request.method == "DELETE":
        text = "\n"
    else:
        kind = media_type(request.headers.get("content-type"))
        text = await served.working(triples_text, kind, content, engine.parts.rdf)
    if request.method in ("PUT", "DELETE"):
        change = partial(engine.replace_graph, graph, text, at=moment)
    else:
        change = partial(engine.remove if removes else engine.insert, text, graph=graph, at=moment)
    await served.in_turn(change, 0, len(content))
    return Response(status_code=204)


def _graph(request: Request) -> str | None:
    graph, default = parameter(request, "graph"), parameter(request, "default")
    if (graph is None) == (default is None):
        raise ProblemError(400, "?graph=IRI, or ?default for the default graph")
    if default:
        raise ProblemError(400, f"default: without a value, not {default!r:.60}")
    return None if graph is None else _iri("graph", graph)


def _iri(name: str, text: str) -> str:
    try:
        return check.iri(name, text)
    except ArgumentError as error:
        raise ProblemError(400, str(error)) from None


async def query(request: Request) -> Response:
    """An ordinary query over the static data (SPARQL 1.1 Protocol, the query operation)."""
    served = served_by(request)
    text, dataset = await _operation(request)
    parsed = await served.working(_parsed, served, text, dataset)
    triples = parsed.form in ("CONSTRUCT", "DESCRIBE")
    format, media = accepted_format(request.headers.get("accept"), triples)
    answers = await served.waiting(_answer, served, parsed)
    return Response(await served.working(answers.to_text, format), media_type=media)


async def _operation(request: Request) -> tuple[str, DatasetClause | None]:
    pairs = list(request.query_params.multi_items())
    text: str | None = None
    if request.method == "POST":
        kind = media_type(request.headers.get("content-type"))
        content = text_of(await body_of(request))
        if kind == _QUERY:
            text = content
        elif kind == _FORM:
            if pairs:
                raise ProblemError(400, "parameters are in the body, none after the question mark")
            try:
                pairs = parse_qsl(
                    content, keep_blank_values=True, errors="strict", max_num_fields=1000
                )
            except ValueError as error:
                raise ProblemError(400, f"no form: {error}") from None
        else:
            raise ProblemError(415, f"Content-Type: {_QUERY} or {_FORM}, not {kind!r:.60}")
    for name, _ in pairs:
        if name not in _PROTOCOL:
            raise ProblemError(
                400, f"{name!r:.60}: there is no such parameter; known: {', '.join(_PROTOCOL)}"
            )
    texts = [value for name, value in pairs if name == "query"]
    if text is not None:
        texts.append(text)
    if len(texts) != 1:
        raise ProblemError(400, f"query: exactly one, not {len(texts)}")
    default, named = (
        tuple(Iri(_iri(which, value)) for name, value in pairs if name == which)
        for which in _PROTOCOL[1:]
    )
    return texts[0], DatasetClause(default, named) if default or named else None


def _parsed(served: ServedEngine, text: str, dataset: DatasetClause | None) -> Query:
    check_query_text(text, served.options.limits)
    parsed = parse_query(text, rdf=served.engine.parts.rdf)
    if parsed.windows or parsed.registration is not None:
        raise ProblemError(400, "a query with windows is continuous: POST it to /queries")
    return parsed if dataset is None else replace(parsed, dataset=dataset)


def _answer(served: ServedEngine, parsed: Query) -> Any:
    try:
        selected = served.engine.select(parsed)
    except RecursionError:
        raise ProblemError(422, "the query is nested too deeply") from None
    try:
        return selected.answer()
    finally:
        with served.engine.parts.lock:
            selected.close()


def routes() -> list[Route]:
    """What is at /static, and /sparql."""
    return [
        Route("/static", list_graphs, methods=["GET"]),
        Route("/static/load", kept(load_files), methods=["POST"]),
        Route("/static/graph", kept(change_graph), methods=["PUT", "POST", "DELETE"]),
        Route("/static/graph/removals", kept(change_graph), methods=["POST"]),
        Route("/sparql", query, methods=["GET", "POST"]),
    ]
