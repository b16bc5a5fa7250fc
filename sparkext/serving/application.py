"""The application that a server runs: all routes, behind the guards."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from sparkext.errors import CqelsError
from sparkext.serving.guards import Noted, PathsAsWritten, ReadyRequired, TokenRequired
from sparkext.serving.problems import on_http_error, on_known_error
from sparkext.serving.routes import demo, health, page, queries, static_data, streams
from sparkext.serving.routes.served_counts import ServedCounts
from sparkext.serving.served_engine import ServedEngine
from static_data.errors import StaticDataError


def application(served: ServedEngine) -> Starlette:
    """The ASGI application over what is served. There is no CORS: browsers let no other site's page read answers."""
    app = Starlette(
        routes=[
            *page.routes(),
            *health.routes(),
            *queries.routes(),
            *streams.routes(),
            *static_data.routes(),
            *demo.routes(),
        ],
        middleware=[
            Middleware(PathsAsWritten),
            Middleware(Noted, requests=served.observed.requests),
            Middleware(TokenRequired, token=served.options.token),
            Middleware(ReadyRequired, served=served),
        ],
        exception_handlers={
            CqelsError: on_known_error,
            StaticDataError: on_known_error,
            HTTPException: on_http_error,
        },
    )
    app.router.redirect_slashes = False
    app.state.served = served
    app.state.standing = page.State(served)
    app.state.registry = served.observed.registry
    served.observed.registry.register(ServedCounts(served))
    return app
