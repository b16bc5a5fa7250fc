"""The statements of a Turtle or TriG document that are well-formed, each whole; the others are told."""

from __future__ import annotations

import re
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pyoxigraph as ox

from static_data.files.trig_blocks import Block, BlockKind, split_blocks
from static_data.limits.nesting import NestingError, check_turtle, parsed

_PIECE = 256
_ANONYMOUS = re.compile(r"^(\s*(?:GRAPH\s*)?)\[\s*\]", re.IGNORECASE)

Report = Callable[[int, int, str], None]
"""Takes line, column and message of a statement that is left out."""


def sound_quads(
    document: str,
    format: Any,
    base_iri: str,
    report: Report,
    check: Callable[[list[Any]], None] = lambda quads: None,
) -> Iterator[Any]:
    """The quads of all statements that are well-formed; lone surrogates stand for bytes that are not UTF-8.

    `check` raises SyntaxError for quads of statements that some rule beyond the grammar refuses.
    """
    return _Document(document, format, base_iri, report, check).quads()


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement as it is parsed: `lead` characters in one line come before what starts at `start`."""

    text: str
    start: int
    lead: int = 0
    may_be_taken_apart: bool = False


class _Document:
    def __init__(
        self,
        text: str,
        format: Any,
        base_iri: str,
        report: Report,
        check: Callable[[list[Any]], None],
    ) -> None:
        self._check = check
        self._text = text
        self._format = format
        self._base_iri = base_iri
        self._report = report
        self._prologue = ""
        self._line_starts = [0, *(i + 1 for i, c in enumerate(text) if c == "\n")]

    def quads(self) -> Iterator[Any]:
        """All that is sound, in order; the rest is reported as it is come to."""
        waiting: list[_Part] = []
        for block in split_blocks(self._text):
            if block.kind is BlockKind.DIRECTIVE or len(waiting) == _PIECE:
                yield from self._sound(waiting)
                waiting = []
            if block.kind is BlockKind.DIRECTIVE:
                self._directive(block)
            else:
                is_graph = block.kind is BlockKind.GRAPH
                waiting.append(_Part(block.text, block.start, may_be_taken_apart=is_graph))
        yield from self._sound(waiting)

    def _directive(self, block: Block) -> None:
        # In one line, so that places count from the line after it.
        text = " ".join(block.text.split("\n"))
        try:
            self._parsed(f"{self._prologue}{text}\n")
        except SyntaxError as error:
            self._say(_Part(text, block.start, len(self._prologue)), error, 1)
        else:
            self._prologue = f"{self._prologue}{text} "

    def _sound(self, parts: Sequence[_Part]) -> Iterator[Any]:
        if not parts:
            return
        text = "\n".join(part.text for part in parts)
        try:
            quads = self._parsed(f"{self._prologue}\n{text}\n")
        except SyntaxError as error:
            if len(parts) > 1:
                half = len(parts) // 2
                yield from self._sound(parts[:half])
                yield from self._sound(parts[half:])
            elif len(inner := _statements_of_graph(parts[0])) > 1:
                yield from self._sound(inner)
            else:
                self._say(parts[0], error, 2)
        else:
            yield from quads

    def _say(self, part: _Part, error: SyntaxError, first_line: int) -> None:
        begin = bisect_right(self._line_starts, part.start)
        down = max((error.lineno or first_line) - first_line, 0)
        column = error.offset or 1
        if down == 0:
            column = max(column - part.lead, 1) + part.start - self._line_starts[begin - 1]
        self._report(begin + down, column, error.msg)

    def _parsed(self, text: str) -> list[Any]:
        content = text.encode("utf-8", "surrogateescape")
        try:
            check_turtle(BytesIO(content), lambda: BytesIO(content))
        except NestingError as problem:
            raise SyntaxError(str(problem)) from None
        quads = list(parsed(ox.parse(content, format=self._format, base_iri=self._base_iri)))
        self._check(quads)
        return quads


def _statements_of_graph(part: _Part) -> list[_Part]:
    """The statements of a graph block, each as a graph block of its own; none of any other part."""
    opening, closing = part.text.find("{"), part.text.rfind("}")
    if not part.may_be_taken_apart or closing < opening:
        return []
    head = " ".join(part.text[: opening + 1].split("\n"))
    # All are in one graph, which has the label that the parser would have made up.
    head = _ANONYMOUS.sub(rf"\g<1>_:f{uuid.uuid4().hex[1:]}", head)
    inner = split_blocks(part.text[opening + 1 : closing])
    begin = part.start + opening + 1
    return [_Part(f"{head}{b.text}\n}}", begin + b.start, len(head)) for b in inner]
