"""The files of the page, as they lie in the package, and what browsers are told of them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types cqels",
    )
)
"""The Content-Security-Policy: nothing from elsewhere, no script in markup, and no text made into markup."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of each file of the page, by name."""
    folder = files("sparkext.page") / "web"
    found = {}
    for file in folder.iterdir():
        kind = MEDIA_TYPES.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None:
            found[file.name] = (file.read_bytes(), kind)
    return found
