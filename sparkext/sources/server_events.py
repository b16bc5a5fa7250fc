"""HTTP's server-sent events as a source: the data of each event is a message."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkext.argument_checks import check
from sparkext.errors import SourceError
from sparkext.sources.extras import library
from sparkext.sources.feed import Connection, ConnectionLostError, Message, Put
from sparkext.sources.live_source import (
    LiveSource,
    parts_of_url,
    seconds,
    several_texts,
    texts_by_name,
)

logger = logging.getLogger(__name__)

_WHAT = "a source of server-sent events"
_CONNECT_SECONDS = 30.0
_GONE = 204
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True)
class EventSource(LiveSource):
    """Reads the events of a URL, http or https; `EventSource(url).feed(stream)`.

    `events` names the types of events that are messages (all, if empty); `headers` go with each request. Each request
    says the id of the last event that came (Last-Event-ID), so that a server that keeps events sends what was missed;
    before there is one, `last_event_id`, or after `engine.restore()` that of the engine's checkpoint. Where
    nothing comes for `silence` seconds, not even a comment, the connection is made anew. A status of 204 ends the feed,
    and one of 400 to 499 (but 408 and 429) is its error. `tls` is for https.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[str] = ()
    last_event_id: str | None = None
    silence: float | None = 300.0
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parts_of_url(self.url, "http", "https")
        texts_by_name("headers", self.headers)
        several_texts("events", self.events)
        if self.last_event_id is not None:
            check.text("last_event_id", self.last_event_id)
        seconds("silence", self.silence)
        if self.tls is not None and not isinstance(self.tls, ssl.SSLContext):
            raise check.wrong("tls", "an SSLContext, or None", self.tls)
        library("httpx_sse", "http", _WHAT)

    def connection(self) -> EventConnection:
        return EventConnection(self)


class EventConnection(Connection):
    """One request after the other."""

    def __init__(self, source: EventSource) -> None:
        self.name = source.url
        self._source = source
        self.last_event_id = source.last_event_id or ""
        self._socket: Any = None

    def run(self, put: Put, connected: Callable[[], None], stopping: threading.Event) -> None:
        httpx, sse = library("httpx", "http", _WHAT), library("httpx_sse", "http", _WHAT)
        source = self._source
        wait = httpx.Timeout(_CONNECT_SECONDS, read=source.silence)
        headers = {**source.headers, "Cache-Control": "no-store", **self._last_event()}

        def note(event: str, told: dict[str, Any]) -> None:
            # Already before there is an answer, for which `silence` seconds are waited.
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                self._socket = told["return_value"].get_extra_info("socket")
                if stopping.is_set():
                    self.interrupt()

        try:
            with (
                httpx.Client(
                    timeout=wait, follow_redirects=True, verify=source.tls or True
                ) as client,
                sse.connect_sse(
                    client, "GET", source.url, headers=headers, extensions={"trace": note}
                ) as answer,
            ):
                self._check(answer.response, stopping)
                if not stopping.is_set():
                    connected()
                    self._receive(answer, put)
        except (httpx.HTTPError, httpx.StreamError, sse.SSEError) as error:
            raise ConnectionLostError(str(error) or type(error).__name__) from error
        finally:
            self._socket = None

    def _last_event(self) -> dict[str, bytes]:
        """The header that says it, as browsers write it: UTF-8, without spaces around it."""
        name = self.last_event_id.strip(" \t")
        if _CONTROL.search(name):
            logger.warning("%s: no header holds the id %r, which is left out", self.name, name)
            return {}
        return {"Last-Event-ID": name.encode()} if name else {}

    def _check(self, response: Any, stopping: threading.Event) -> None:
        status = response.status_code
        if status == _GONE:
            stopping.set()
        elif 400 <= status < 500 and status not in (408, 429):
            raise SourceError(f"{self.name}: status {status} {response.reason_phrase}".rstrip())
        elif status != 200:
            raise ConnectionLostError(f"status {status}")

    def _receive(self, answer: Any, put: Put) -> None:
        events = self._source.events
        for event in answer.iter_sse():
            # Only a comment, a time to wait or an id may have come, which make no message.
            if event.data and (not events or event.event in events):
                name = f"event {event.id}" if event.id else "event"
                if not put(Message(event.data.encode(), token=event.id, name=name)):
                    return
            # What is in the buffer will be taken in: it need not come again. Each connection begins without an id.
            if event.id:
                self.last_event_id = event.id

    def interrupt(self) -> None:
        used = self._socket
        if used is not None:  # closed, it would go on waiting for what comes
            with contextlib.suppress(OSError):
                used.shutdown(socket.SHUT_RDWR)

    def begin(self, position: object) -> None:
        if isinstance(position, str) and self._source.last_event_id is None:
            self.last_event_id = position

    def position(self, messages: Sequence[Message]) -> object:
        return next((message.token for message in reversed(messages) if message.token), None)
