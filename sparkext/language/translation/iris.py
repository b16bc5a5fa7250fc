"""IRIs of a query text: BASE, PREFIX and relative references (RFC 3986, section 5.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

# RFC 3986, appendix B: scheme, authority, path, query, fragment.
_PARTS: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_LOCAL_ESCAPE: Final = re.compile(r"\\(.)")


class UndeclaredPrefixError(LookupError):
    """A prefixed name whose prefix has no PREFIX declaration."""


class Prologue:
    """The base IRI and the prefixes in force at a point of the text.

    >>> prologue = Prologue("http://example.org/dir/file", {"dc": "http://purl.org/dc/elements/1.1/"})
    >>> prologue.expand("dc:creator"), prologue.resolve("../x")
    ('http://purl.org/dc/elements/1.1/creator', 'http://example.org/x')
    """

    def __init__(
        self, base_iri: str | None = None, prefixes: Mapping[str, str] | None = None
    ) -> None:
        self.base_iri = base_iri
        self.prefixes = dict(prefixes or {})

    def declare_base(self, reference: str) -> None:
        """Take a BASE declaration into account."""
        self.base_iri = self.resolve(reference)

    def declare_prefix(self, prefix: str, reference: str) -> None:
        """Take a PREFIX declaration (prefix without its colon) into account; a later one replaces
        an earlier one.
        """
        self.prefixes[prefix] = self.resolve(reference)

    def resolve(self, reference: str) -> str:
        """Return the absolute IRI of a reference; without a base, relative references stay as they
        are.
        """
        return reference if self.base_iri is None else resolve_iri(self.base_iri, reference)

    def expand(self, prefixed_name: str) -> str:
        """Return the IRI of a prefixed name; raises `UndeclaredPrefixError`."""
        prefix, _, local = prefixed_name.partition(":")
        if prefix not in self.prefixes:
            raise UndeclaredPrefixError(f"prefix '{prefix}:' is not declared")
        return self.prefixes[prefix] + (_LOCAL_ESCAPE.sub(r"\1", local) if "\\" in local else local)


def resolve_iri(base: str, reference: str) -> str:
    """Resolve a reference against a base IRI (RFC 3986, section 5.2.2).

    >>> [resolve_iri("http://a/b/c/d;p?q", reference) for reference in ("g", "?y", "..", "//g")]
    ['http://a/b/c/g', 'http://a/b/c/d;p?y', 'http://a/b/', 'http://g']
    """
    scheme, authority, path, query, fragment = _split(reference)
    if scheme is not None:
        return reference
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    if authority is None:
        authority = base_authority
        if not path:
            path = base_path
            query = base_query if query is None else query
        elif path.startswith("/"):
            path = _remove_dot_segments(path)
        else:
            directory = (
                "/"
                if base_authority is not None and not base_path
                else base_path[: base_path.rfind("/") + 1]
            )
            path = _remove_dot_segments(directory + path)
    else:
        path = _remove_dot_segments(path)
    return "".join(
        (
            f"{base_scheme}:" if base_scheme is not None else "",
            f"//{authority}" if authority is not None else "",
            path,
            f"?{query}" if query is not None else "",
            f"#{fragment}" if fragment is not None else "",
        )
    )


def _split(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    match = _PARTS.fullmatch(iri)
    assert (
        match is not None
    )  # every text matches: all parts are optional and the path takes the rest
    scheme, authority, path, query, fragment = match.groups()
    return scheme, authority, path, query, fragment


def _remove_dot_segments(path: str) -> str:
    segments = path.split("/")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            # The empty first segment of an absolute path is its root and never goes.
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)
