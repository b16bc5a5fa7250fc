"""Requests as the routes read them: bodies within limits, and what is named in paths and after the question mark."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sparkext.serving.problems import ProblemError
from sparkext.serving.served_engine import ServedEngine


def served_by(request: Request) -> ServedEngine:
    """What is served here."""
    served: ServedEngine = request.app.state.served
    return served


def kept(
    endpoint: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint whose changes are in the engine's checkpoint, if it has one, when it answers."""

    async def answering(request: Request) -> Response:
        response = await endpoint(request)
        if response.status_code < 400:
            await served_by(request).keep()
        return response

    answering.__name__, answering.__doc__ = endpoint.__name__, endpoint.__doc__
    return answering


async def body_of(request: Request) -> bytes:
    """The whole body, if it is not too large and comes within its time; it must not be packed."""
    limits = served_by(request).options.limits
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed != "identity":
        raise ProblemError(415, f"Content-Encoding {packed!r:.40}: bodies are read as they are")
    too_large = ProblemError(413, f"the body is larger than {limits.body_bytes} bytes")
    stated = request.headers.get("content-length", "0")
    if not stated.isascii() or not stated.isdigit() or int(stated[:19]) > limits.body_bytes:
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body_bytes:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise ProblemError(408, f"the body did not come within {limits.body_seconds:g} s") from None
    except ClientDisconnect:
        raise ProblemError(400, "the client left before its request was complete") from None
    return b"".join(parts)


def named(request: Request, part: str) -> str:
    """What a part of the path names, such as an IRI, in which slashes are written %2F."""
    try:
        return unquote_to_bytes(request.path_params[part]).decode("utf-8")
    except UnicodeDecodeError:
        raise ProblemError(400, f"the {part} in the path is not UTF-8") from None


def parameter(request: Request, name: str) -> str | None:
    """A parameter after the question mark, None where it is missing; ProblemError 400 where it is there twice."""
    found = request.query_params.getlist(name)
    if len(found) > 1:
        raise ProblemError(400, f"{name}: given {len(found)} times")
    return found[0] if found else None


def only(request: Request, known: Collection[str]) -> None:
    """Refuse parameters that nobody reads."""
    for name in request.query_params:
        if name not in known:
            said = f"known: {', '.join(known)}" if known else "there are none"
            raise ProblemError(400, f"{name!r:.60}: there is no such parameter; {said}")


def flag(request: Request, name: str, default: bool) -> bool:
    """A parameter that is true or false."""
    text = parameter(request, name)
    if text is None:
        return default
    if text not in ("true", "false"):
        raise ProblemError(400, f"{name}: true or false, not {text!r:.60}")
    return text == "true"
