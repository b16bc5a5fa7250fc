"""TriG(-star) as statements for an assembler of elements; a malformed statement costs the element it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from sparkext.recorded_streams.nquads_lines import parse_line
from static_data.errors import MalformedRdfError
from static_data.files.on_error import OnError
from static_data.files.packings import Compression, Opener, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat
from static_data.files.rdf_reader import lines_of
from static_data.files.reading import Reading
from static_data.files.trig_blocks import Block, BlockKind, split_blocks

_GENERATED = re.compile(r"_:anon-(\d+)")
_PIECE = 256


class Statements(Protocol):
    """Who takes the statements of a file."""

    file: str

    def quad(
        self, subject: str, predicate: str, object_: str, graph: str | None, line: int | None
    ) -> None: ...
    def spoil(self, graph: str | None, reason: str, line: int | None) -> None: ...
    def clear(self) -> None: ...


def read_trig(opener: Opener, base: str, target: Statements, reading: Reading) -> None:
    """Give a document's statements to `target`, and what was malformed.

    A document without a flaw is read as a stream; of any other, `target` is to forget all, and it is read into memory.
    `opener` may be called twice.
    """
    # Elements, not statements, are what is left out here.
    whole = replace(reading, on_error=OnError.ACCEPT if reading.accepts else OnError.FAIL)
    try:
        _take(_trig_lines(opener, base, target.file, whole), target)
    except MalformedRdfError:
        target.clear()
        with opener() as stream:
            text = stream.read().decode("utf-8", "surrogateescape")
        _read_in_pieces(text, _Pieces(base, target, whole))


def _trig_lines(opener: Opener, base: str, file: str, reading: Reading) -> Iterator[str]:
    return lines_of(file, FileFormat(RdfFormat.TRIG, Compression.NONE), base, opener, reading)


def _take(lines: Iterable[str], target: Statements, line: int | None = None) -> None:
    for text in lines:  # in canonical form, which is RDF-star's
        # IRIs have been judged by the reader.
        statement = parse_line(text, accepts=True)
        if statement is not None:
            target.quad(*statement, line)


class _Pieces:
    """Parses runs of statements, halving a run that fails until the malformed statement stands
    alone."""

    def __init__(self, base: str, target: Statements, reading: Reading) -> None:
        self.base = base
        self.target = target
        self.reading = reading
        self.prologue = ""
        self.parsed = 0

    def directive(self, block: Block) -> None:
        text = " ".join(block.text.split("\n"))
        try:
            self._lines(f"{self.prologue}{text}\n")
        except MalformedRdfError as error:
            self.target.spoil(None, error.message, block.line)
        else:
            self.prologue = f"{self.prologue}{text} "

    def take(self, blocks: Sequence[Block]) -> None:
        if not blocks:
            return
        text = "\n".join(block.text for block in blocks)
        try:
            lines = self._lines(f"{self.prologue}\n{text}\n")
        except MalformedRdfError as error:
            if len(blocks) == 1:
                self._spoil(blocks[0], error)
            else:
                half = len(blocks) // 2
                self.take(blocks[:half])
                self.take(blocks[half:])
            return
        # Labels made up in different runs must not meet in one element.
        self.parsed += 1
        fresh = rf"_:anon-{self.parsed}-\1"
        made_up = (_GENERATED.sub(fresh, line) if "_:anon-" in line else line for line in lines)
        _take(made_up, self.target, blocks[0].line if len(blocks) == 1 else None)

    def _spoil(self, block: Block, error: MalformedRdfError) -> None:
        # The prologue takes the first line.
        line = block.line + max((error.line or 2) - 2, 0)
        graph = None
        if block.name:
            probe = f"{self.prologue}\n{block.name} <urn:x:p> <urn:x:o> .\n"
            try:
                statement = parse_line(self._lines(probe)[0], accepts=True)
            except MalformedRdfError:
                statement = None
            graph = None if statement is None else statement[0]
        self.target.spoil(graph, f"malformed: {error.message}", line)

    def _lines(self, document: str) -> list[str]:
        content = document.encode("utf-8", "surrogateescape")
        return list(
            _trig_lines(
                lambda: unpacked(content, Compression.NONE),
                self.base,
                self.target.file,
                self.reading,
            )
        )


def _read_in_pieces(text: str, pieces: _Pieces) -> None:
    waiting: list[Block] = []
    for block in split_blocks(text):
        if block.kind is BlockKind.DIRECTIVE or len(waiting) == _PIECE:
            pieces.take(waiting)
            waiting = []
        if block.kind is BlockKind.DIRECTIVE:
            pieces.directive(block)
        else:
            waiting.append(block)
    pieces.take(waiting)
