"""/streams: register and list streams, push elements and rows, promise times and ends."""

from __future__ import annotations

import time as clock
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sparkext.runtime.streams.mapped_stream import MappedStream
from sparkext.runtime.streams.push_report import PushReport
from sparkext.runtime.streams.stream import Stream
from sparkext.s2r.event_time import format_date_time
from sparkext.s2r.watermark import FOREVER, NEVER
from sparkext.serving.bodies import Fields, Pushed, instant, json_of, media_type, pushed, text_of
from sparkext.serving.problems import ProblemError
from sparkext.serving.routes.requests import body_of, kept, named, only, parameter, served_by
from sparkext.serving.served_engine import ServedEngine


async def list_streams(request: Request) -> Response:
    """All streams, with what has become of their elements."""
    only(request, ())
    streams = list(served_by(request).engine.streams.values())
    return JSONResponse({"streams": [described(stream) for stream in streams]})


async def register_stream(request: Request) -> Response:
    """Register a stream: JSON with `iri`, `on_error`, and for rows a `mapping` (a file of --data-dir) and `time`."""
    only(request, ())
    served = served_by(request)
    fields = await json_fields(request, ("iri", "on_error", "mapping", "time"))
    iri = fields.text("iri")
    mapping = fields.text_or_none("mapping")
    file = None if mapping is None else await served.working(served.file, mapping)
    streams = served.engine.streams
    new = iri not in streams
    if new and len(streams) >= served.options.limits.streams:
        raise ProblemError(429, f"{len(streams)} streams are registered; no more are let in")
    given: dict[str, Any] = {
        "on_error": fields.text_or_none("on_error") or "skip",
        "mapping": file,
        "time": fields.text_or_none("time"),
    }
    stream = await served.waiting(partial(served.engine.register_stream, iri, **given))
    place = {"Location": f"/streams/{quote(iri, safe='')}"}
    return JSONResponse(described(stream), 201 if new else 200, place)


async def show_stream(request: Request) -> Response:
    """One stream."""
    only(request, ())
    stream = served_by(request).stream(named(request, "iri"))
    return JSONResponse({**described(stream), "newest_reasons": list(stream.set_aside)[-10:]})


async def push(request: Request) -> Response:
    """Push elements or rows; the answer comes when they are in and what became due is evaluated."""
    only(request, ("time", "graph", "position"))
    began = clock.monotonic()
    served = served_by(request)
    stream = served.stream(named(request, "iri"))
    kind = media_type(request.headers.get("content-type"))
    time, graph = parameter(request, "time"), parameter(request, "graph")
    content = await body_of(request)
    found = await served.working(pushed, stream, kind, content, time, graph)
    kept = served.intake.kept(len(found))
    sampled_out = 0
    if kept is not None:
        sampled_out = kept.count(False)
        found = found.sample(kept)
    work = partial(_push, served, stream, found, parameter(request, "position"))
    outcome = await served.in_turn(work, len(found), len(content))
    served.observed.pushes.observe(clock.monotonic() - began)
    if kept is not None:
        outcome |= {"sampled_out": sampled_out, "fraction": served.options.overload.fraction}
    return JSONResponse(outcome)


def _push(
    served: ServedEngine, stream: Stream, given: Pushed, position: str | None
) -> dict[str, Any]:
    before = PushReport(stream.accepted_count, stream.malformed_count, stream.late_count)

    report: PushReport | None = None

    def work() -> None:
        nonlocal report
        if given.rows is None:
            with stream.turn() as earliest:
                report = stream.push_elements(given.in_turn(earliest), position=position)
        else:
            assert isinstance(stream, MappedStream)
            report = stream.push_rows(given.rows, position=position)

    failed = served.evaluated(work) if len(given) or position is not None else None
    if report is None:  # an evaluation failed, or there was nothing
        report = PushReport(
            stream.accepted_count - before.accepted,
            stream.malformed_count - before.malformed,
            stream.late_count - before.late,
        )
    malformed = report.malformed + len(given.malformed)
    outcome: dict[str, Any] = {
        "accepted": report.accepted,
        "malformed": malformed,
        "late": report.late,
    }
    if malformed:
        reasons = [*given.malformed, *stream.set_aside]
        outcome["reasons"] = reasons[-min(malformed, 10) :]
    if failed is not None:
        outcome["failed_evaluations"] = failed
    return outcome


async def advance_stream(request: Request) -> Response:
    """Promise that no element of a time or an earlier one is to come to a stream."""
    served = served_by(request)
    stream = served.stream(named(request, "iri"))
    return await _promise(request, stream.advance_to)


async def advance_all(request: Request) -> Response:
    """Promise the same for all streams."""
    return await _promise(request, served_by(request).engine.advance_to)


async def finish_all(request: Request) -> Response:
    """Say that all streams have ended."""
    only(request, ())
    served = served_by(request)
    await body_of(request)
    work = partial(served.evaluated, served.engine.finish)
    return _promised(await served.in_turn(work))


async def _promise(request: Request, advance: Any) -> Response:
    only(request, ("time",))
    served = served_by(request)
    time = parameter(request, "time")
    content = await body_of(request)
    if time is None:
        time = Fields(json_of(text_of(content)) if content else {}, ("time",)).value("time")
    moment = instant(time)
    work = partial(served.evaluated, partial(advance, moment))
    return _promised(await served.in_turn(work))


def _promised(failed: str | None) -> Response:
    return JSONResponse({} if failed is None else {"failed_evaluations": failed})


async def json_fields(request: Request, known: tuple[str, ...]) -> Fields:
    """The members of a body in JSON."""
    kind = media_type(request.headers.get("content-type"))
    if kind != "application/json":
        raise ProblemError(415, f"Content-Type: application/json, not {kind!r:.60}")
    return Fields(json_of(text_of(await body_of(request))), known)


def described(stream: Stream) -> dict[str, Any]:
    """A stream in numbers."""
    complete = stream.watermark.complete_up_to
    return {
        "iri": stream.iri,
        "elements": stream.accepted_count,
        "late": stream.late_count,
        "malformed": stream.malformed_count,
        "on_error": stream.on_error.value,
        "rows": isinstance(stream, MappedStream),
        "sources": len(stream.sources),
        "newest": _shown(stream.newest_time),
        "complete_up_to": _shown(complete),
        "finished": complete >= FOREVER,
        "position": stream.position,
    }


def _shown(time: int) -> str | None:
    return format_date_time(time) if NEVER < time < FOREVER else None


def routes() -> list[Route]:
    """What is at /streams, and /advance and /finish for all of them."""
    one = "/streams/{iri}"
    return [
        Route("/streams", list_streams, methods=["GET"]),
        Route("/streams", kept(register_stream), methods=["POST"]),
        Route(one, show_stream, methods=["GET"]),
        Route(f"{one}/elements", kept(push), methods=["POST"]),
        Route(f"{one}/advance", kept(advance_stream), methods=["POST"]),
        Route("/advance", kept(advance_all), methods=["POST"]),
        Route("/finish", kept(finish_all), methods=["POST"]),
    ]
