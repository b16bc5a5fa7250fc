"""What stands before all routes: the token, readiness, paths as they were written, a line of the log for each."""

from __future__ import annotations

import hmac
import logging
import time
from typing import Protocol

from prometheus_client import Counter
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparkext.serving.problems import on_any_error, problem_response

logger = logging.getLogger("sparkext.serving.access")

OPEN_PATHS = frozenset({"/health/live", "/health/ready"})
PAGE_FOLDER = "/page/"
_TOLD_BEFORE = frozenset({"/status", "/metrics"})  # they tell how far the start has come
_RETRY_SECONDS = "2"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


def asks_for_page(scope: Scope) -> bool:
    """Whether a request for / comes from a browser that wants the page, not the list of paths."""
    accepted = [value for name, value in scope["headers"] if name == b"accept"]
    return scope["path"] == "/" and any(b"text/html" in value.lower() for value in accepted)


def is_open(scope: Scope) -> bool:
    """Whether a request needs no token: health, and the page's own files, in which there is nothing of the engine."""
    path: str = scope["path"]
    return path in OPEN_PATHS or path.startswith(PAGE_FOLDER) or asks_for_page(scope)


class PathsAsWritten:
    """Has routes see paths before %2F and the like are undone, so that an IRI is one part of a path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        if scope["type"] == "http" and scope.get("raw_path"):
            scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        await self._app(scope, receive, send)


class TokenRequired:
    """Refuses requests without the token, but for those that ask for health or for the page's files."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, or refuse it."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and is_open(scope)):
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        if self._admits(scope):
            await self._app(scope, receive, send)
            return
        said = "Authorization: Bearer TOKEN, with the token that the server was started with"
        refused = problem_response(401, said, {"WWW-Authenticate": "Bearer"})
        await refused(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        # Compared in any case, in a time that does not tell how much of it is right.
        same = hmac.compare_digest(token.strip(), self._token)
        return scheme.lower() == b"bearer" and same


class Standing(Protocol):
    """Whether what is served is prepared, or about to end."""

    ready: bool
    stopping: bool


class ReadyRequired:
    """Refuses requests while what the server begins with is not all there, but for those that ask how it stands.

    What they change would not be kept, what they ask be answered from a part of the data.
    """

    def __init__(self, app: ASGIApp, served: Standing) -> None:
        self._app = app
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, or refuse it."""
        served = self._served
        others = scope["type"] != "http"
        if served.ready or others or is_open(scope) or scope["path"] in _TOLD_BEFORE:
            await self._app(scope, receive, send)
            return
        said = "the server is shutting down" if served.stopping else "the server is starting"
        refused = problem_response(503, said, {"Retry-After": _RETRY_SECONDS})
        await refused(scope, receive, send)


class Noted:
    """Counts requests and their statuses, writes a line of the log for each, and adds headers of safety.

    What nobody expected to go wrong is a problem, too.
    """

    def __init__(self, app: ASGIApp, requests: Counter) -> None:
        self._app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name for name, _ in message["headers"]}
                more = [header for header in _HEADERS if header[0] not in there]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:  # a response that has begun can only be broken off
            failed = await on_any_error(Request(scope), error)
            if not status:
                await failed(scope, receive, noted)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._requests.labels(method, str(status)).inc()
            client = scope.get("client") or ("-", 0)
            logger.info(
                "%s %s",
                method,
                scope["path"],
                extra={
                    "status": status,
                    "seconds": round(time.monotonic() - began, 6),
                    "client": client[0],
                },
            )
