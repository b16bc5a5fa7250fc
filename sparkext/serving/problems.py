"""What went wrong with a request, as RFC 9457 writes it: never a stack trace."""

from __future__ import annotations

import logging
import uuid
from pathlib import PurePath
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sparkext.errors import (
    ClosedEngineError,
    CqelsError,
    DuplicateNameError,
    EvaluationError,
    LimitError,
    QuerySyntaxError,
    RecursiveQueryError,
    UnknownGraphError,
    UnknownQueryError,
    UnknownStreamError,
    UnknownWindowError,
    UnsupportedFeatureError,
)
from static_data.errors import (
    MalformedRdfError,
    MissingFileError,
    StaticDataError,
    StoreConflictError,
    UnsupportedFormatError,
)

logger = logging.getLogger(__name__)

_TITLES = {
    400: "The request cannot be understood",
    401: "A token is missing or wrong",
    403: "Not allowed",
    404: "There is no such thing",
    405: "Not with this method",
    406: "Not in this format",
    408: "The request took too long",
    409: "In conflict with what there is",
    413: "Too large",
    415: "Not of this media type",
    422: "Understood, but it cannot be done",
    429: "Too much for now",
    500: "The server failed",
    503: "Not now",
}
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (ClosedEngineError, 503),
    (DuplicateNameError, 409),
    (StoreConflictError, 409),
    (UnsupportedFormatError, 415),
    (MissingFileError, 404),
    (UnknownQueryError, 404),
    (LimitError, 422),
    (RecursiveQueryError, 422),
    (UnknownGraphError, 422),
    (UnknownStreamError, 422),
    (UnsupportedFeatureError, 422),
    (EvaluationError, 422),
    (CqelsError, 400),
    (StaticDataError, 400),
)


class ProblemError(CqelsError):
    """A request that is refused with a status; `headers` go with it, `more` are members of the problem."""

    def __init__(
        self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}
        self.more = more


def problem_response(
    status: int, detail: str, headers: dict[str, str] | None = None, **more: Any
) -> Response:
    """A problem in JSON."""
    title = _TITLES.get(status, "The request failed")
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return JSONResponse(content, status, headers=headers, media_type="application/problem+json")


def problem_of(error: Exception) -> Response:
    """The problem that an error of this project is, with its place in a query or document."""
    if isinstance(error, ProblemError):
        return problem_response(error.status, str(error), error.headers, **error.more)
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    more: dict[str, Any] = {"error": type(error).__name__}
    detail = str(error)
    if isinstance(error, QuerySyntaxError | UnsupportedFeatureError | MalformedRdfError):
        detail = error.message
    if isinstance(
        error, QuerySyntaxError | UnsupportedFeatureError | UnknownWindowError | MalformedRdfError
    ):
        more |= {"line": error.line, "column": error.column}
    if isinstance(error, MalformedRdfError) and error.file != "body":
        more["file"] = PurePath(error.file).name
    if isinstance(error, QuerySyntaxError) and error.expected:
        more["expected"] = list(error.expected)
    return problem_response(status, detail, None, **more)


async def on_known_error(request: Request, error: Exception) -> Response:
    """An error that this project has raised on purpose."""
    return problem_of(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """An error of HTTP itself, such as a path that leads nowhere."""
    assert isinstance(error, HTTPException)
    detail = error.detail
    if error.status_code == 404:
        detail = "nothing is at this path; GET / lists what there is"
    return problem_response(error.status_code, detail, dict(error.headers or {}))


async def on_any_error(request: Request, error: Exception) -> Response:
    """An error that nobody expected: its reference stands in the log, with the rest."""
    reference = uuid.uuid4().hex[:12]
    logger.error(
        "request %s %s failed (reference %s)",
        request.method,
        request.url.path,
        reference,
        exc_info=error,
    )
    detail = "something failed that should not; the server's log has more under the reference"
    return problem_response(500, detail, None, reference=reference)
