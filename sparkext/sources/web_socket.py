"""A WebSocket as a source: each message of it, text or binary, is one."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError, SourceError
from sparkext.sources.extras import library
from sparkext.sources.feed import Connection, ConnectionLostError, Message, Put
from sparkext.sources.live_source import (
    MOST_BYTES,
    LiveSource,
    parts_of_url,
    several_texts,
    texts_by_name,
)

_WHAT = "a WebSocket source"
_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class WebSocketSource(LiveSource):
    """Connects to a server, ws or wss, and reads its messages; `WebSocketSource(url).feed(stream)`.

    `headers` go with the request; `greeting` are texts that are sent after each connection, such as a subscription. The
    server is asked every 20 seconds whether it is still there. A message of more than `most_bytes` breaks the
    connection, as the protocol has it. What is sent while there is no connection is lost. `tls` is for wss.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    greeting: Sequence[str] = ()
    most_bytes: int = MOST_BYTES
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parts_of_url(self.url, "ws", "wss")
        texts_by_name("headers", self.headers)
        several_texts("greeting", self.greeting)
        if check.whole("most_bytes", self.most_bytes) < 1:
            raise ArgumentError("most_bytes", f"must be above 0, not {self.most_bytes}")
        if self.tls is not None and not isinstance(self.tls, ssl.SSLContext):
            raise check.wrong("tls", "an SSLContext, or None", self.tls)
        library("websockets.sync.client", "websocket", _WHAT)

    def connection(self) -> WebSocketConnection:
        return WebSocketConnection(self)


class WebSocketConnection(Connection):
    """One connection after the other."""

    def __init__(self, source: WebSocketSource) -> None:
        self.name = source.url
        self._source = source
        self._socket: Any = None

    def run(self, put: Put, connected: Callable[[], None], stopping: threading.Event) -> None:
        client = library("websockets.sync.client", "websocket", _WHAT)
        problems = library("websockets.exceptions", "websocket", _WHAT)
        source = self._source
        options: dict[str, Any] = {} if source.tls is None else {"ssl": source.tls}
        try:
            with client.connect(
                source.url,
                additional_headers=dict(source.headers),
                max_size=source.most_bytes,
                **options,
            ) as self._socket:
                for text in source.greeting:
                    self._socket.send(text)
                connected()
                self._receive(put, stopping)
        except problems.InvalidStatus as error:
            status = error.response.status_code
            if 400 <= status < 500 and status not in (408, 429):
                raise SourceError(f"{self.name}: status {status}") from None
            raise ConnectionLostError(f"status {status}") from error
        except (problems.WebSocketException, OSError, EOFError) as error:
            raise ConnectionLostError(str(error) or type(error).__name__) from error
        finally:
            self._socket = None

    def _receive(self, put: Put, stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                came = self._socket.recv(timeout=_LOOK_SECONDS)
            except TimeoutError:
                continue
            if not put(Message(came.encode() if isinstance(came, str) else bytes(came))):
                return
