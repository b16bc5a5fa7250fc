"""/health, /metrics, /status and what is at /: how the server stands."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sparkext import __version__
from sparkext.serving.routes import queries, streams
from sparkext.serving.routes.requests import only, served_by
from sparkext.serving.served_engine import ServedEngine

_PATIENCE = 5.0
_PATHS = {
    "/queries": "GET lists, POST registers continuous queries",
    "/queries/{name}": "GET shows, DELETE ends one",
    "/queries/{name}/explanation": "GET: the plan and its reasons",
    "/queries/{name}/history": "GET: its evaluations and changes of join orders",
    "/queries/{name}/answers": "GET: answers as server-sent events",
    "/queries/{name}/answers/latest": "GET: the newest answers",
    "/streams": "GET lists, POST registers streams",
    "/streams/{iri}": "GET shows one",
    "/streams/{iri}/elements": "POST pushes elements or rows",
    "/streams/{iri}/advance": "POST promises a time",
    "/advance": "POST promises a time for all streams",
    "/finish": "POST ends all streams",
    "/static": "GET lists the graphs of the static data",
    "/static/load": "POST loads files of --data-dir",
    "/static/graph": "PUT replaces, POST inserts into, DELETE empties a graph",
    "/static/graph/removals": "POST takes triples out of a graph",
    "/sparql": "GET, POST: SPARQL 1.1 Protocol, query operation",
    "/status": "GET: all of this in numbers",
    "/state": "GET: the same with windows and plans' changes, for the live page, which browsers get at /",
    "/vocabulary": "GET: prefixes, predicates, graphs and streams, to complete queries with",
    "/check": "POST: what is wrong with a query, with its place, or what it is",
    "/demo": "GET shows, POST begins, DELETE ends a small world to try out",
    "/metrics": "GET: Prometheus metrics",
    "/health/live": "GET: whether the process answers (no token)",
    "/health/ready": "GET: whether it takes requests (no token)",
}


async def index(request: Request) -> Response:
    """What paths there are."""
    return JSONResponse({"name": "cqels", "version": __version__, "paths": _PATHS})


async def live(request: Request) -> Response:
    """That the process answers."""
    return JSONResponse({"status": "live"})


async def ready(request: Request) -> Response:
    """Whether the engine is there and pushes are taken in; 503 where not."""
    flaw = await _flaw(served_by(request))
    if flaw is None:
        return JSONResponse({"status": "ready"})
    return JSONResponse({"status": "not ready", "detail": flaw}, 503)


async def _flaw(served: ServedEngine) -> str | None:
    if served.stopping:
        return "shutting down"
    if not served.ready:
        return "starting"
    if not served.intake.alive:
        return "pushes are not taken in any more"
    try:
        async with asyncio.timeout(_PATIENCE):
            stopped = await served.working(_spark_stopped, served)
    except TimeoutError:
        return f"the JVM does not answer within {_PATIENCE:g} s"
    except Exception:  # whatever py4j raises where there is no JVM any more
        return "the JVM is gone"
    return "Spark has been stopped" if stopped else None


def _spark_stopped(served: ServedEngine) -> bool:
    context: Any = served.engine.spark.sparkContext._jsc
    return bool(context.sc().isStopped())


async def status(request: Request) -> Response:
    """How server, streams and queries stand."""
    only(request, ())
    served = served_by(request)
    listed = list(served.queries.values())
    return JSONResponse(
        {
            **await standing(served),
            "overload": about_overload(served),
            "subscribers": served.subscribers,
            "streams": [streams.described(one) for one in list(served.engine.streams.values())],
            "queries": [queries.standing(one) for one in listed],
        }
    )


async def standing(served: ServedEngine) -> dict[str, Any]:
    """Whether the server is ready, and since when it is there."""
    flaw = await _flaw(served)
    return {
        "version": __version__,
        "status": "ready" if flaw is None else "not ready",
        "detail": flaw,
        "up_seconds": round(time.time() - served.started, 1),
    }


def about_overload(served: ServedEngine) -> dict[str, Any]:
    """How far pushes are behind, and what has become of those that came too fast."""
    intake, overload = served.intake, served.options.overload
    return {
        "policy": overload.policy,
        "fraction": overload.fraction,
        "overloaded": intake.overloaded,
        "behind_seconds": round(intake.behind, 3),
        "waiting": intake.waiting,
        "refused": intake.refused,
        "sampled_out": intake.sampled_out,
    }


async def metrics(request: Request) -> Response:
    """All metrics, in the text format of Prometheus or OpenMetrics by Accept."""
    served = served_by(request)
    registry: CollectorRegistry = request.app.state.registry
    encode, media = choose_encoder(request.headers.get("accept", ""))
    return Response(await served.working(encode, registry), headers={"Content-Type": media})


def routes() -> list[Route]:
    """What is at these paths."""
    return [
        Route("/health/live", live, methods=["GET"]),
        Route("/health/ready", ready, methods=["GET"]),
        Route("/status", status, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
    ]
