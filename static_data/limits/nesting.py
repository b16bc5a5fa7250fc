"""How deep documents may nest: parsers go down by recursion, and one that goes too deep takes the process along.

Documents are looked through before they are parsed, as bytes, in blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Final, TypeVar

import numpy as np

MOST_QUOTED: Final = 500
"""Quoted triples, or annotations, in one another; the reader of N-Triples in the JVM has the same number."""

MOST_JSON: Final = 128
"""Arrays and objects of a JSON-LD document in one another."""

T = TypeVar("T")
_BLOCK = 1 << 20
_LONGEST_TOKEN = 1 << 25  # the parser gives up before
_JSON_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_DEEPER = np.zeros(256, np.int8)
_DEEPER[list(b"[{")] = 1
_DEEPER[list(b"]}")] = -1
_TURTLE_TOKEN = re.compile(
    rb"""
    <(?:[^<>"{}|^`\\\x00-\x20]|\\[uU][0-9A-Fa-f]++)*+>
  | \\.
  | \"{3}(?:[^"\\]++|\\.|\"{1,2}(?!\"))*+\"{3} | '{3}(?:[^'\\]++|\\.|'{1,2}(?!'))*+'{3}
  | (?P<open>(?:\"{3}(?:[^"\\]++|\\.|\"{1,2}(?!\"))*+\\?\"{0,2} | '{3}(?:[^'\\]++|\\.|'{1,2}(?!'))*+\\?'{0,2}
      | "(?:[^"\\\r\n]++|\\.)*+\\? | '(?:[^'\\\r\n]++|\\.)*+\\?
      | <(?:[^<>"{}|^`\\\x00-\x20]|\\[uU0-9A-Fa-f]*+)*+ | \#[^\r\n]*+ | [<>{|\\"'])\Z)
  | "(?:[^"\\\r\n]++|\\.)*+" | '(?:[^'\\\r\n]++|\\.)*+'
  | \#[^\r\n]*+
  | (?P<down><<|\{\|) | (?P<up>>>|\|\})
    """,
    re.VERBOSE | re.DOTALL,
)


class NestingError(Exception):
    """A document that nests too deep."""


def check_json(stream: IO[bytes]) -> None:
    """Raise NestingError for JSON, or what is near it, that nests deeper than `MOST_JSON`.

    >>> from io import BytesIO
    >>> check_json(BytesIO(b'{"a": [1, "' + b"[" * 1000 + b'"]}'))
    >>> check_json(BytesIO(b"[" * 1000))
    Traceback (most recent call last):
    static_data.limits.nesting.NestingError: arrays and objects more than 128 deep
    """
    depth = 0
    tail = b""
    while block := stream.read(_BLOCK):
        text = tail + block
        # A string that the block cuts off goes on in the next; what is in it does not matter.
        bare, tail = _without_strings(text)
        steps = _DEEPER[np.frombuffer(bare, np.uint8)]
        if steps.size:
            depths = np.cumsum(steps, dtype=np.int64) + depth
            if int(depths.max()) > MOST_JSON:
                raise NestingError(f"arrays and objects more than {MOST_JSON} deep")
            # What closes more than was open is malformed, and the parser says so.
            depth = max(0, int(depths[-1]))


def _without_strings(text: bytes) -> tuple[bytes, bytes]:
    """JSON without its strings, and the beginning of one that the end cuts off, empty but for a last escape."""
    bare = _JSON_STRING.sub(b"", text)
    opening = bare.find(b'"')
    if opening < 0:
        return bare, b""
    escapes = len(text) - len(text.rstrip(b"\\"))
    return bare[:opening], b'"' + b"\\" * (escapes % 2)


def check_turtle(stream: IO[bytes], opens_again: Callable[[], IO[bytes]]) -> None:
    """Raise NestingError for Turtle or TriG with more than `MOST_QUOTED` quoted triples in one another.

    Where there are no more marks of them than that, wherever they are, none can be; else it matters what is in strings,
    and the document is read again.

    >>> from io import BytesIO
    >>> deep, flat = b"<< :s :p " * 1000, b'<< :s :p "<<" >> :q 1 .' * 1000
    >>> check_turtle(BytesIO(flat), lambda: BytesIO(flat))
    >>> check_turtle(BytesIO(deep), lambda: BytesIO(deep))
    Traceback (most recent call last):
    static_data.limits.nesting.NestingError: more than 500 quoted triples in one another
    """
    if _has_many_marks(stream):
        with opens_again() as again:
            if any(depth > MOST_QUOTED for depth in _depths(again)):
                raise NestingError(f"more than {MOST_QUOTED} quoted triples in one another")


def _has_many_marks(stream: IO[bytes]) -> bool:
    marks = 0
    tail = b""
    while marks <= MOST_QUOTED and (block := stream.read(_BLOCK)):
        text = tail + block
        marks += text.count(b"<<") + text.count(b"{|")
        tail = text[-1:] if text.endswith((b"<", b"{")) else b""
    return marks > MOST_QUOTED


def _depths(stream: IO[bytes]) -> Iterator[int]:
    """The depth at each mark that opens something."""
    depth = 0
    tail = b""
    while len(tail) < _LONGEST_TOKEN and (block := stream.read(max(_BLOCK, len(tail)))):
        text = tail + block
        tail = b""
        for token in _TURTLE_TOKEN.finditer(text):
            if token.lastgroup == "down":
                depth += 1
                yield depth
            elif token.lastgroup == "up":
                depth = max(0, depth - 1)
            elif token.lastgroup == "open":
                tail = text[token.start() :]
                break


def parsed(quads: Iterable[T]) -> Iterator[T]:
    """What a parser gives, whose buffer has an end: a token that does not fit is a SyntaxError without a place."""
    try:
        yield from quads
    except MemoryError:
        raise SyntaxError("a term, string or comment is longer than 16 MiB") from None
