"""A server in a thread of the test's process, over an engine of the shared session, and a client of it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import quote, urlsplit

from sparkext import Engine
from sparkext.serving.beginnings import Beginnings, StreamToBe
from sparkext.serving.options import ServeOptions
from sparkext.serving.routes import health
from sparkext.serving.server import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.serving.served_engine import ServedEngine

TOKEN = "a-token-for-tests-0123456789"
E = "http://e/"
S = f"{E}s"
JSON, NT = "application/json", "application/n-triples"
QUERY = f"""PREFIX : <{E}>
REGISTER RSTREAM :q AS SELECT ?a ?b
FROM NAMED WINDOW :w ON :s [RANGE 10]
WHERE {{ WINDOW :w {{ ?a :p ?b }} }}"""
OPTIONS = ServeOptions(token=TOKEN, port=0)


def name(iri: str) -> str:
    """An IRI as a part of a path."""
    return quote(iri, safe="")


ELEMENTS = f"/streams/{name(S)}/elements"


def triple(subject: str, object_: str) -> str:
    return f"<{E}{subject}> <{E}p> <{E}{object_}> ."


@dataclass(frozen=True)
class Answer:
    """What a server answers."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.body)

    def problem(self, status: int) -> dict[str, Any]:
        """The body, which must be a problem of that status (RFC 9457) without any trace of code."""
        assert self.status == status, (self.status, self.body)
        assert self.headers["content-type"] == "application/problem+json"
        found: dict[str, Any] = self.json
        assert found["status"] == status and found["title"] and found["detail"]
        assert b"Traceback" not in self.body and b".py" not in self.body
        return found


@dataclass
class Client:
    """Asks a server, with the token unless told otherwise."""

    url: str
    token: str | None = TOKEN
    context: Any = None

    def connection(self, timeout: float = 60) -> http.client.HTTPConnection:
        """A connection of its own."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=timeout, context=self.context
            )
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def headers(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The headers of a request."""
        own = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {**own, **(more or {})}

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str | None = JSON,
        **headers: str,
    ) -> Answer:
        """Ask; a body that is no text is sent as JSON."""
        content = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        more = {key.replace("_", "-"): value for key, value in headers.items()}
        if content is not None and kind is not None:
            more["Content-Type"] = kind
        connection = self.connection()
        try:
            encoded = content.encode() if isinstance(content, str) else content
            connection.request(method, path, encoded, self.headers(more))
            got = connection.getresponse()
            found = {key.lower(): value for key, value in got.getheaders()}
            return Answer(got.status, found, got.read())
        finally:
            connection.close()

    def push(self, *triples: str, time: int, stream: str = S) -> Answer:
        """Push one element."""
        path = f"/streams/{name(stream)}/elements?time={time}"
        return self("POST", path, "\n".join(triples), NT)

    @contextmanager
    def follow(self, query: str, parameters: str = "", **headers: str) -> Iterator[Iterator[Event]]:
        """The events of a query, as they come."""
        connection = self.connection()
        try:
            path = f"/queries/{name(query)}/answers{parameters}"
            more = {key.replace("_", "-"): value for key, value in headers.items()}
            connection.request("GET", path, None, self.headers(more))
            got = connection.getresponse()
            assert got.status == 200, got.read()
            assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
            yield events(got)
        finally:
            connection.close()


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    kind: str
    data: str
    id: str | None = None

    @property
    def number(self) -> str:
        """Number and revision of the answers: the id without what tells one query from another of its name."""
        return (self.id or "").partition("@")[0]

    @property
    def json(self) -> Any:
        """The data, which is JSON."""
        return json.loads(self.data)


def lines_of(response: http.client.HTTPResponse) -> Iterator[str]:
    """The lines of a response as they come; `readline` of a chunked one reads it byte by byte."""
    rest = b""
    while part := response.read1(1 << 16):
        *whole, rest = (rest + part).split(b"\n")
        yield from (line.decode() for line in whole)


def events(lines: http.client.HTTPResponse) -> Iterator[Event]:
    """Events as a client reads them (HTML, section 9.2.6); a heartbeat is an event of kind "" without data."""
    fields: dict[str, list[str]] = {}
    waited, begun = 0.0, time.monotonic()  # not while nobody asks
    for line in lines_of(lines):
        if line.startswith(":"):
            waited += time.monotonic() - begun
            assert waited < 120, "nothing comes"
            yield Event("", "")
            begun = time.monotonic()
        elif line:
            key, _, value = line.partition(": ")
            fields.setdefault(key, []).append(value)
        else:
            if "data" in fields:
                given = fields.get("id")
                kind = fields.get("event", ["message"])[-1]
                yield Event(kind, "\n".join(fields["data"]), None if given is None else given[-1])
                waited, begun = 0.0, time.monotonic()
            fields.clear()


@dataclass
class World:
    """A server that runs, what it serves, and a client."""

    server: Server
    engine: Engine
    ask: Client

    @property
    def served(self) -> ServedEngine:
        """What the server serves."""
        assert self.server.served is not None
        return self.server.served


@contextmanager
def serving(spark: SparkSession, checkpoint: Path | None = None, **options: Any) -> Iterator[World]:
    """A server over a new engine with the stream `S`, ended and closed on leaving."""
    engine = Engine(spark, checkpoint=checkpoint)
    begins = Beginnings(
        checkpoint=None if checkpoint is None else str(checkpoint), streams=[StreamToBe(S)]
    )
    began = threading.Event()
    server = Server(engine, replace(OPTIONS, **options), begins.prepare, lambda _: began.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert began.wait(60)
        # On a busy machine the JVM may take longer to answer than a server is to be waited for.
        with patch.object(health, "_PATIENCE", 60.0):
            yield World(server, engine, Client(server.url))
    finally:
        server.stop()
        thread.join(60)
    assert not thread.is_alive() and engine.closed
