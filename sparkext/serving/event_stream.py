"""Answers as server-sent events (HTML, section 9.2): those of a ring, written to one client for as long as it reads."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sparkext.answers import AnswerFormatError
from sparkext.serving.answer_ring import AnswerRing, Entry, about
from sparkext.serving.options import Kept
from sparkext.serving.problems import ProblemError

logger = logging.getLogger(__name__)


def event(kind: str, data: str, id: str | None = None) -> bytes:
    r"""One event; a line of data each line.

    >>> event("answers", "a\nb\n", "7")
    b'event: answers\nid: 7\ndata: a\ndata: b\n\n'
    """
    lines = [f"event: {kind}", *([] if id is None else [f"id: {id}"])]
    text = data.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    lines += [f"data: {line}" for line in text.split("\n")]
    return ("\n".join(lines) + "\n\n").encode()


async def events_of(
    ring: AnswerRing,
    place: int,
    gap: dict[str, object] | None,
    format: str,
    empty: bool,
    heartbeat: float,
    stopping: Callable[[], bool],
) -> AsyncIterator[bytes]:
    """What is in a ring from a place on, as events, to the end of its query or of the server.

    Events: `answers`; `instant` before those in another format than JSON; `gap` where some are kept no more; `overload`
    and `failure`, as notices say; `overrun` and `end` are the last ones.
    """
    yield b"retry: 2000\n\n"
    if gap is not None:
        yield event("gap", json.dumps(gap))
    while True:
        try:
            entry = ring.at(place)
        except LookupError as error:
            ring.on_cut_off()
            lost = error.args[0] - place
            said = f"{lost} event(s) are gone: too slow; come back with the last id"
            yield event("overrun", json.dumps({"lost": lost, "detail": said}))
            return
        if entry is not None:
            place = entry.place + 1
            if entry.answers is None or empty or not entry.answers.empty:
                yield await asyncio.to_thread(_written, ring, entry, format)
            continue
        if stopping():
            yield event("end", json.dumps({"reason": "the server is shutting down"}))
            return
        if ring.ended is not None:
            yield event("end", json.dumps({"reason": ring.ended}))
            return
        if not await ring.wait(place, heartbeat, stopping):
            yield b": \n\n"


def _written(ring: AnswerRing, entry: Entry, format: str) -> bytes:
    if entry.answers is None:
        return event(entry.kind, ring.text(entry, format))
    try:
        text = ring.text(entry, format)
    except AnswerFormatError as error:  # such as a character that XML cannot hold
        failed = {**about(entry.answers), "detail": str(error)}
        return event("unwritable", json.dumps(failed), entry.id)
    before = b"" if format == "json" else event("instant", json.dumps(about(entry.answers)))
    return before + event("answers", text, entry.id)


class EventStream(Response):
    """A response of events that ends when the client leaves, or takes nothing for `kept.stalled` seconds."""

    media_type = "text/event-stream"

    def __init__(self, ring: AnswerRing, events: AsyncIterator[bytes], kept: Kept) -> None:
        self._ring = ring
        self._events = events
        self._kept = kept
        self.status_code = 200
        self.background = None
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until one of them is the last."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        self._ring.subscribers += 1
        gone = asyncio.ensure_future(_left(receive))
        try:
            while True:
                coming = asyncio.ensure_future(anext(self._events, None))
                await asyncio.wait((coming, gone), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    return
                chunk = coming.result()
                body = {
                    "type": "http.response.body",
                    "body": chunk or b"",
                    "more_body": chunk is not None,
                }
                async with asyncio.timeout(self._kept.stalled):
                    await send(body)
                if chunk is None:
                    return
        except TimeoutError:
            # The HTTP server closes the connection: the response has no end.
            self._ring.on_cut_off()
            logger.warning("a client took nothing for %g s: cut off", self._kept.stalled)
        except OSError:
            return
        finally:
            gone.cancel()
            self._ring.subscribers -= 1


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


RESULT_TYPES = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "nt": "application/n-triples",
    "nq": "application/n-quads",
}
_ALSO = {
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
    "text/turtle": "nt",
}


def accepted_format(accept: str | None, triples: bool) -> tuple[str, str]:
    """Result format and media type for an Accept header, of a graph or of solutions; ProblemError 406 for none.

    >>> accepted_format("text/csv;q=0.5, application/xml", False)
    ('xml', 'application/xml')
    """
    known = {media: name for name, media in RESULT_TYPES.items()} | _ALSO
    fitting = {m: n for m, n in known.items() if (n in ("nt", "nq")) == triples}
    default = "nt" if triples else "json"
    wanted: list[tuple[float, int, str]] = []
    for number, part in enumerate((accept or "*/*").split(",")):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = next((p[2:].strip() for p in parameters if p.startswith("q=")), "1")
        try:
            wanted.append((-float(quality), number, media))
        except ValueError:
            raise ProblemError(400, f"Accept: {part.strip()!r:.60}") from None
    for quality_, _, media in sorted(wanted):
        if quality_ == 0:
            continue
        if media in fitting:
            return fitting[media], media
        if media in ("*/*", f"{RESULT_TYPES[default].split('/')[0]}/*"):
            return default, RESULT_TYPES[default]
        if media == "text/*":
            name = "nt" if triples else "csv"
            return name, "text/turtle" if triples else "text/csv"
    raise ProblemError(406, f"Accept: one of {', '.join(fitting)}")
