"""Turtle and TriG with their odd IRIs hidden from the parser (see `static_data.files.odd_iris`), as a stream.

Only what may hold a `<` that begins no IRI is told apart: strings, comments and IRIs. Places stay, but
for what follows an escaped odd character in a line.
"""

from __future__ import annotations

import io
import re
from typing import Any, cast

from static_data.files.odd_iris import hide
from static_data.files.packings import ByteStream

_SEGMENT = 1 << 20
_ESCAPE = re.compile(r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}")
# `open` is what the end of the segment cuts off: it is looked at again with what follows.
_TOKEN = re.compile(
    r"""
    (?P<iri><(?:[^<>"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*+>)
  | (?P<name>[A-Za-z0-9_:.\-]\\\#)
  | \\.
  | \"{3}(?:[^"\\]++|\\.|\"{1,2}(?!\"))*+\"{3} | '{3}(?:[^'\\]++|\\.|'{1,2}(?!'))*+'{3}
  | (?P<open>(?:\"{3}(?:[^"\\]++|\\.|\"{1,2}(?!\"))*+\\?\"{0,2} | '{3}(?:[^'\\]++|\\.|'{1,2}(?!'))*+\\?'{0,2}
      | "(?:[^"\\\r\n]++|\\.)*+\\? | '(?:[^'\\\r\n]++|\\.)*+\\?
      | <(?:[^<>"{}|^`\\\x00-\x20]|\\[uU0-9A-Fa-f]*+)*+ | \#[^\r\n]*+
      | \"{1,2} | '{1,2} | [A-Za-z0-9_:.\-]*\\?)\Z)
  | "(?:[^"\\\r\n]++|\\.)*+" | '(?:[^'\\\r\n]++|\\.)*+'
  | \#[^\r\n]*+
    """,
    re.VERBOSE | re.DOTALL,
)


def hidden(text: str) -> str:
    r"""A whole text with its odd IRIs hidden.

    >>> text = '<http://e/[s]> <http://e/p> "<http://e/[o]>" . # <http://e/[c]>'
    >>> [a == b for a, b in zip(text.split(" "), hidden(text).split(" "))]
    [False, True, True, True, True, True]
    """
    return _TOKEN.sub(_changed, text)


def _changed(match: re.Match[str]) -> str:
    token = match.group()
    if match.lastgroup == "iri":
        written = _unescaped(token[1:-1]) if "\\" in token else token[1:-1]
        hiding = hide(written)
        return token if hiding == written else f"<{hiding}>"
    if match.lastgroup == "name":
        # An escaped # of a local name may be the second of the IRI.
        return token[:-2] + chr(0xD0023)
    return token


def _unescaped(iri: str) -> str:
    """Without numeric escapes; with one for a character that an escape does not make allowed, as it is."""
    codes = {found: int(found[2:], 16) for found in _ESCAPE.findall(iri)}
    allowed = all(
        0x20 < code <= 0x10FFFF and not 0xD800 <= code < 0xE000 and chr(code) not in '<>"{}|^`\\'
        for code in codes.values()
    )
    return _ESCAPE.sub(lambda found: chr(codes[found.group()]), iri) if allowed else iri


def hidden_stream(stream: ByteStream) -> ByteStream:
    """A stream of UTF-8 with its odd IRIs hidden; bytes that are not UTF-8 stay."""
    return cast(ByteStream, io.BufferedReader(cast(Any, _Hidden(stream)), _SEGMENT))


class _Hidden(io.RawIOBase):
    def __init__(self, stream: ByteStream) -> None:
        super().__init__()
        self._text = io.TextIOWrapper(cast(Any, stream), "utf-8", "surrogateescape", newline="")
        self._tail = ""
        self._done = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._done and not self._ended:
            self._advance()
        part = self._done[: len(buffer)]
        self._done = self._done[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def _advance(self) -> None:
        more = self._text.read(max(_SEGMENT, len(self._tail)))
        text = self._tail + more
        self._ended = not more
        changed, self._tail = _changed_until_open(text) if more else (hidden(text), "")
        self._done = changed.encode("utf-8", "surrogateescape")


def _changed_until_open(text: str) -> tuple[str, str]:
    """The text with odd IRIs hidden, up to a token that the end cuts off, and the rest as it is."""
    parts = []
    done = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "open":
            parts.append(text[done : match.start()])
            return "".join(parts), text[match.start() :]
        if match.lastgroup is not None:
            parts += text[done : match.start()], _changed(match)
            done = match.end()
    return "".join((*parts, text[done:])), ""
