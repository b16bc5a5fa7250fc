"""A TriG document cut into its top-level statements, so that a malformed one can be left out.

The cutting knows strings, IRIs, comments, names, braces and annotations, no more; what is inside a
statement is the parser's business. It never fails: a string that does not end ends with its line,
and a graph block that never closes ends before the next one begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+ | \#[^\r\n]*)
  | (?P<string>\"{3}(?:\"{0,2}(?:[^\"\\]|\\.))*\"{3} | '{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3}
        | "(?:[^"\\\r\n]|\\.)*"? | '(?:[^'\\\r\n]|\\.)*'?)
  | (?P<iri><(?:[^\x00-\x20<>"{}|^`\\]|\\[uU][0-9A-Fa-f]+)*>)
  | (?P<annotation>\{\| | \|\})
  | (?P<open>\{) | (?P<close>\}) | (?P<dot>\.)
  | (?P<word>(?:[^\s<>"'{}()\[\];,.\#\\|] | \\. | \.+(?=[^\s<>"'{}()\[\];,.\#\\|]))+)
  | (?P<anonymous>\[(?:[ \t\r\n]++ | \#[^\r\n]*+)*+\])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class BlockKind(Enum):
    """What a top-level statement is."""

    DIRECTIVE = "directive"
    GRAPH = "graph"
    TRIPLES = "triples"


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level statement: text, first line (1-based), the term it is about, as written, and where it starts.

    The term is a graph block's name or the first term of a statement of the default graph; empty
    where there is none, or a blank node without a label.
    """

    kind: BlockKind
    text: str
    line: int
    name: str
    start: int


def split_blocks(document: str) -> Iterator[Block]:
    """The top-level statements of a TriG document, in order.

    >>> [block.name for block in split_blocks('BASE <http://e/> :g { :a :b "}" } :g :at 5 .')]
    ['', ':g', ':g']
    >>> [block.text for block in split_blocks(':g { :a :b :c {| :d 1|} . :x :y :z } [ ] { }')]
    [':g { :a :b :c {| :d 1|} . :x :y :z }', '[ ] { }']
    """
    cut = _Cutter(document)
    for match in _TOKEN.finditer(document):
        yield from cut.token(match.lastgroup or "other", match.group(), match.start())
    yield from cut.statement_end(len(document))


class _Cutter:
    def __init__(self, document: str) -> None:
        self._document = document
        self._line = 1
        self._counted = 0
        self._reset()

    def _reset(self) -> None:
        self._start: int | None = None
        self._tokens: list[str] = []
        self._depth = 0
        # The last two names with their places: what would name a block that begins now.
        self._label: list[tuple[str, int]] = []

    def token(self, kind: str, text: str, at: int) -> Iterator[Block]:
        if kind == "space":
            return
        if self._start is None:
            self._start = at
        if kind == "open":
            if self._depth == 1 or not self._is_graph_label():
                # A block in a block, the outer one was never closed; or triples without a dot.
                yield from self._cut_before_label(at)
            self._depth = 1
        elif kind == "close" or (kind == "dot" and self._depth == 0):
            yield from self.statement_end(at + 1)
            return
        if self._depth == 0 or kind == "open":
            self._tokens.append(text)
        if kind in ("iri", "word", "anonymous"):
            self._label = [*self._label[-1:], (text, at)]
        elif kind != "open":
            self._label = []
        if self._depth == 0 and self._ends_sparql_directive():
            yield from self.statement_end(at + len(text))

    def statement_end(self, end: int) -> Iterator[Block]:
        if self._start is not None:
            yield self._block(self._start, end, self._tokens)
        self._reset()

    def _ends_sparql_directive(self) -> bool:
        word = self._tokens[0].upper()
        return (word == "PREFIX" and len(self._tokens) == 3) or (
            word == "BASE" and len(self._tokens) == 2
        )

    def _is_graph_label(self) -> bool:
        graph = bool(self._tokens) and self._tokens[0].upper() == "GRAPH"
        return len(self._tokens) <= 1 + graph

    def _cut_before_label(self, at: int) -> Iterator[Block]:
        label = self._label
        if len(label) == 2 and label[0][0].upper() != "GRAPH":
            label = label[1:]
        begin = label[0][1] if label else at
        assert self._start is not None
        yield self._block(self._start, begin, self._tokens)
        self._reset()
        self._start = begin
        self._tokens = [text for text, _ in label]

    def _block(self, start: int, end: int, tokens: list[str]) -> Block:
        self._line += self._document.count("\n", self._counted, start)
        self._counted = start
        first = tokens[0] if tokens else ""
        text = self._document[start:end]
        if first.lower() in ("@prefix", "@base", "@version") or first.upper() in ("PREFIX", "BASE"):
            return Block(BlockKind.DIRECTIVE, text, self._line, "", start)
        if "{" in tokens:
            names = [token for token in tokens if token != "{" and token.upper() != "GRAPH"]
            first = names[0] if names else ""
            return Block(BlockKind.GRAPH, text, self._line, _label(first), start)
        return Block(BlockKind.TRIPLES, text, self._line, _label(first), start)


def _label(token: str) -> str:
    return "" if token.startswith("[") else token
