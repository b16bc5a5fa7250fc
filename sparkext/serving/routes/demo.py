"""/demo: a small world to try out, made by the server itself on request, and ended again."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sparkext.errors import CqelsError
from sparkext.page.demo_world import (
    GRAPH,
    QUERIES,
    STREAM,
    readings,
    stations,
    stations_text,
)
from sparkext.serving.problems import ProblemError
from sparkext.serving.routes.requests import body_of, kept, only, served_by
from sparkext.serving.routes.streams import json_fields
from sparkext.serving.served_engine import ServedEngine

logger = logging.getLogger(__name__)

_STEP = 0.25
_MOST_RATE, _MOST_SECONDS = 10_000, 3600


class Demo:
    """The demo of one server: its stream is pushed into for a while, its queries are there meanwhile."""

    def __init__(self, served: ServedEngine) -> None:
        self._served = served
        self._task: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()
        self._stations = stations()
        self.rate = 0
        self.pushed = 0
        self.until = 0.0

    @property
    def runs(self) -> bool:
        """Whether readings come now."""
        return self._task is not None and not self._task.done()

    def told(self) -> dict[str, Any]:
        """How it stands."""
        left = max(0.0, self.until - time.monotonic()) if self.runs else 0.0
        return {
            "runs": self.runs,
            "rate": self.rate,
            "pushed": self.pushed,
            "seconds_left": round(left, 1),
            "stream": STREAM,
            "graph": GRAPH,
            "queries": list(QUERIES),
        }

    async def start(self, rate: int, seconds: int) -> None:
        """Have so many readings a second come for so long; one that runs goes on with these."""
        async with self._changing:
            await self._end_task()
            await self._served.waiting(self._prepare)
            self.rate, self.pushed, self.until = rate, 0, time.monotonic() + seconds
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End the readings, and the queries with them."""
        async with self._changing:
            await self._end_task()
            for name in QUERIES:
                if name in self._served.queries:
                    await self._served.waiting(self._served.drop, name)

    async def _end_task(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _prepare(self) -> None:
        served = self._served
        streams = served.engine.streams
        if STREAM not in streams and len(streams) >= served.options.limits.streams:
            raise ProblemError(429, f"{len(streams)} streams are registered; no more are let in")
        served.engine.register_stream(STREAM)
        served.engine.replace_graph(GRAPH, stations_text(self._stations))
        for name, text in QUERIES.items():
            if name not in served.queries:
                served.register(text, name)

    async def _run(self) -> None:
        served = self._served
        began = time.monotonic()
        stream = served.engine.streams[STREAM]
        try:
            while time.monotonic() < self.until:
                count = round((time.monotonic() - began) * self.rate) - self.pushed
                if count > 0:
                    now = time.time_ns() // 1_000_000
                    elements = readings(self._stations, self.pushed, count, now)
                    self.pushed += count
                    if served.intake.kept(count) is None:
                        work = partial(served.evaluated, partial(stream.push_elements, elements))
                        await served.in_turn(work, count)
                await asyncio.sleep(_STEP)
        except ProblemError as error:  # the server ends, or has too much to do
            logger.warning("the demo ends: %s", error)
        except CqelsError:
            logger.exception("the demo ends")


async def show(request: Request) -> Response:
    """How the demo stands."""
    only(request, ())
    return JSONResponse(_demo(request).told())


async def start(request: Request) -> Response:
    """Begin: JSON with `rate` (readings a second, 20) and `seconds` (600), or nothing."""
    only(request, ())
    rate, seconds = 20, 600
    if int(request.headers.get("content-length", "0") or "0"):
        fields = await json_fields(request, ("rate", "seconds"))
        rate = _whole("rate", fields.value("rate"), rate, _MOST_RATE)
        seconds = _whole("seconds", fields.value("seconds"), seconds, _MOST_SECONDS)
    else:
        await body_of(request)
    demo = _demo(request)
    await demo.start(rate, seconds)
    return JSONResponse(demo.told(), 201)


async def stop(request: Request) -> Response:
    """End it."""
    only(request, ())
    await _demo(request).stop()
    return Response(status_code=204)


def _whole(name: str, given: object, default: int, most: int) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= most:
        raise ProblemError(400, f"{name}: a whole number from 1 to {most}, not {given!r:.60}")
    return given


def _demo(request: Request) -> Demo:
    app = request.app
    if not hasattr(app.state, "demo"):
        app.state.demo = Demo(served_by(request))
    demo: Demo = app.state.demo
    return demo


def routes() -> list[Route]:
    """What is at /demo."""
    return [
        Route("/demo", show, methods=["GET"]),
        Route("/demo", kept(start), methods=["POST"]),
        Route("/demo", kept(stop), methods=["DELETE"]),
    ]
