"""The server itself: listens, serves until it is told to end, and then ends in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn
from py4j.protocol import Py4JError
from uvicorn.protocols.http.h11_impl import H11Protocol

from sparkext.engine import Engine
from sparkext.errors import ConfigurationError
from sparkext.serving.application import application
from sparkext.serving.options import ServeOptions
from sparkext.serving.served_engine import ServedEngine

logger = logging.getLogger(__name__)

_PATIENCE_S = 30.0  # between two looks whether a client has done anything
_CANCEL_S = 0.2


class Server:
    """Serves an engine by HTTP; until `prepare`, called with what is served, has returned, requests get a 503.

    `run` blocks until `stop` is called, or the process gets SIGTERM or SIGINT. What `prepare` has not done by then is
    given up: its Spark jobs are cancelled, and the engine refuses more. The engine is closed at the end.
    `started` is told the URL once requests are taken; `listener` is what `listening` has given, if it was asked before.
    """

    def __init__(
        self,
        engine: Engine,
        options: ServeOptions,
        prepare: Callable[[ServedEngine], object] = lambda served: None,
        started: Callable[[str], object] = lambda url: None,
        listener: socket.socket | None = None,
    ) -> None:
        self._engine = engine
        self._options = options
        self._prepare = prepare
        self._started = started
        self._tag = f"cqels-{secrets.token_hex(8)}"  # of the Spark jobs of `prepare`
        self._server: _Uvicorn | None = None
        self._socket = listener or listening(options)
        self.served: ServedEngine | None = None
        scheme, _, rest = options.url.partition("://")
        self.url = f"{scheme}://{rest.rpartition(':')[0]}:{self._socket.getsockname()[1]}"

    def run(self) -> None:
        """Serve to the end; raises what `prepare` does."""
        asyncio.run(self._run())

    def stop(self) -> None:
        """Have `run` return; from any thread."""
        if self._server is not None:
            self._server.should_exit = True

    def _told_to_end(self) -> None:
        """A signal: the first ends the server in order, the second waits for no request."""
        if self._server is not None:
            self._server.force_exit = self._server.should_exit
            self._server.should_exit = True

    async def _run(self) -> None:
        options = self._options
        loop = asyncio.get_running_loop()
        served = self.served = ServedEngine(self._engine, options, loop)
        config = uvicorn.Config(
            application(served),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            http=_Connection,
            proxy_headers=False,
            limit_concurrency=options.limits.connections,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=max(1, round(options.shutdown_seconds)),
            h11_max_incomplete_event_size=64 << 10,
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
        )
        config.load()
        if config.ssl is not None:
            config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        server = self._server = _Uvicorn(config, served)
        if threading.current_thread() is threading.main_thread():
            for signal_ in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(signal_, self._told_to_end)
        preparing = asyncio.ensure_future(served.waiting(self._prepared, served))
        try:
            serving = asyncio.ensure_future(server.serve([self._socket]))
            await asyncio.wait((serving, preparing), return_when=asyncio.FIRST_COMPLETED)
            prepared = preparing.done()
            if prepared and preparing.exception() is None:
                served.ready = True
                self._started(self.url)
            elif prepared:
                server.should_exit = True
            await serving
            if prepared:
                preparing.result()
        finally:
            served.stopping = True
            closing = loop.run_in_executor(None, served.close)
            await self._give_up(preparing)
            await closing
            self._socket.close()

    def _prepared(self, served: ServedEngine) -> None:
        # The thread is the server's own, and the tag goes with it.
        self._engine.spark.sparkContext.addJobTag(self._tag)
        self._prepare(served)

    async def _give_up(self, preparing: asyncio.Future[None]) -> None:
        """Have what the server was to begin with end, if it has not: no more Spark jobs run for it."""
        while not preparing.done():
            with contextlib.suppress(Py4JError):  # without a JVM it ends by itself
                self._engine.spark.sparkContext.cancelJobsWithTag(self._tag)
            await asyncio.wait((preparing,), timeout=_CANCEL_S)
        if not preparing.cancelled():
            preparing.exception()  # who ended the server need not hear of it


class _Connection(H11Protocol):
    """A connection that is closed when its client leaves it waiting for long, be it for a request or to be read.

    uvicorn waits for the first request for ever, for the rest of one that has begun, and for all to be read that is in
    the buffer of a connection that it closes.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """As there."""
        super().connection_made(transport)
        self._waited_for: object = None
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """As there."""
        self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close it where it waits for the same as at the last look."""
        before, self._waited_for = self._waited_for, self._waits_for()
        self._next_look = self.loop.call_later(_PATIENCE_S, self._look)
        if before is None or before != self._waited_for:
            return
        if self.transport.is_closing():
            self.transport.abort()
        else:
            self.timeout_keep_alive_handler()

    def _waits_for(self) -> tuple[str, object] | None:
        if self.transport.is_closing():
            return "to be read", self.transport.get_write_buffer_size()
        if self.cycle is None or self.cycle.response_complete:
            return "a request after", self.cycle
        return None


class _Uvicorn(uvicorn.Server):
    """Has those who follow queries know at once that the server is to end: it waits for their responses."""

    def __init__(self, config: uvicorn.Config, served: ServedEngine) -> None:
        super().__init__(config)
        self._served = served

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever runs the server: uvicorn would raise them again before the engine is closed."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As there."""
        self._served.stopping = True
        for query in list(self._served.queries.values()):
            query.ring.end("the server is shutting down")
        await super().shutdown(sockets)


def listening(options: ServeOptions) -> socket.socket:
    """A socket at the address, bound; raises ConfigurationError where that cannot be, or the certificate is none."""
    if options.tls_cert is not None:
        _check_certificate(options.tls_cert, options.tls_key)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((options.host, options.port))
        made.set_inheritable(False)
    except (OSError, OverflowError) as error:
        made.close()
        said = getattr(error, "strerror", None) or str(error)
        where = f"{options.host}:{options.port}"
        raise ConfigurationError("--host, --port", f"cannot listen on {where}: {said}") from None
    return made


def _check_certificate(cert: Path, key: Path | None) -> None:
    try:
        # An encrypted key would ask for its password at a terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, lambda: "")
    except (ssl.SSLError, OSError) as error:
        said = error.strerror or str(error)
        message = f"no certificate with its key: {said}"
        raise ConfigurationError("--tls-cert, --tls-key", message) from None
