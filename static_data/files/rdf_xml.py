"""RDF/XML as the parser can read it safely: UTF-8, no document type, entities expanded within bounds.

The XML is read by expat, which knows encodings and where in the file it is, and written again piece by
piece, so that an error of the RDF parser, which knows no places, can be told the one it has come to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from xml.parsers import expat

import pyoxigraph as ox

from static_data.files.odd_iris import hide
from static_data.files.packings import ByteStream
from static_data.limits.nesting import parsed

MOST_ENTITY_TEXT = 100_000
"""Characters that one entity may expand to."""

_MOST_TEXT = 10_000_000
_MOST_GROWTH = 100

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PROLOGUE = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s++|<\?(?:[^?]++|\?(?!>))*+\?>|<!--(?:[^-]++|-(?!->))*+-->)*+"
)
_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]*?encoding\s*=\s*[\"']([^\"']*)[\"']")
_REFERENCE = re.compile(r"&([^#;&][^;&]*);")
_RAW_REFERENCE = re.compile(rb"&([^#;&\s<>\"']{1,200});")
_PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})
_SPECIAL = re.compile(r"[&<>\"\r\n\t]")
_WHITE_VALUE = re.compile(rb"=\s*+(?:\"[^\"<\t\n]*+[\t\n]|'[^'<\t\n]*+[\t\n])")
_TAG = re.compile(rb"<[^<>\"']*+(?:(?:\"[^\"<]*+\"|'[^'<]*+')[^<>\"']*+)*+>")
_OTHER_PARSE_TYPES = frozenset({"Resource", "Collection", "Triple"})
_LONGEST_PROLOGUE = 1 << 20
_CHUNK = 1 << 16
_SCAN = 1 << 20


class XmlError(Exception):
    """What is wrong with a document, and where, counted from 1."""

    def __init__(self, line: int, column: int, message: str) -> None:
        self.line = line
        self.column = column
        self.message = message
        super().__init__(f"line {line}, column {column}: {message}")


def is_plain(stream: ByteStream) -> bool:
    """Whether a document has no document type, says, or leaves it at, UTF-8, and no white space is to be normalised."""
    head = stream.read(_CHUNK)
    while len(head) < _LONGEST_PROLOGUE:
        prologue = _PROLOGUE.match(head)
        assert prologue is not None
        if re.match(rb"<[A-Za-z_:\x80-\xff]", head[prologue.end() :]):
            declared = _DECLARATION.match(head.removeprefix(b"\xef\xbb\xbf"))
            name = b"utf-8" if declared is None else declared.group(1).lower()
            return name in (b"utf-8", b"utf8", b"us-ascii", b"ascii") and _is_normal(head, stream)
        if head[prologue.end() :].startswith((b"<!D", b"\xff", b"\xfe")):
            return False
        more = stream.read(_CHUNK)
        if not more:
            return False
        head += more
    return False


def _is_normal(head: bytes, stream: ByteStream) -> bool:
    """Whether line ends and attributes are as XML 1.0 has them read (2.11, 3.3.3); perhaps false where they are."""
    text = head
    while b"\r" not in text and _WHITE_VALUE.search(text) is None:
        more = stream.read(_SCAN)
        if not more:
            return True
        # A tag that is cut off is looked at again; there is no < in what it holds.
        at = text.rfind(b"<")
        text = (b"" if at < 0 or _TAG.match(text, at) else text[at:]) + more
    return False


def parse_whole(stream: ByteStream, base_iri: str, lenient: bool) -> Iterator[Any]:
    """The quads of a document; raises XmlError for the first error."""
    reader = _XmlReader(stream, not lenient)
    feed: Any = _Feed(reader.pieces())
    try:
        yield from parsed(
            ox.parse(feed, format=ox.RdfFormat.RDF_XML, base_iri=base_iri, lenient=lenient)
        )
    except SyntaxError as error:
        if feed.problem is not None:
            raise feed.problem from None
        raise XmlError(feed.line, feed.column, error.msg) from None
    if feed.problem is not None:
        raise feed.problem


def parse_by_nodes(
    stream: ByteStream, base_iri: str, report: Callable[[XmlError], None]
) -> Iterator[Any]:
    """The quads of a document without those of top-level node elements that are malformed, which are reported.

    Where the XML is not well-formed, the rest of the document is left out, and so is the element it is in.
    """
    reader = _XmlReader(stream, True)
    try:
        for opening, content, closing in _top_level(reader.pieces()):
            feed: Any = _Feed(iter([opening, *content, closing]))
            try:
                found = ox.parse(feed, format=ox.RdfFormat.RDF_XML, base_iri=base_iri)
                quads = list(parsed(found))
            except SyntaxError as error:
                report(XmlError(feed.line, feed.column, error.msg))
            else:
                yield from quads
    except XmlError as problem:
        report(problem)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A tag, text or comment as it is written again, and where it was; `depth` is that of what it is in."""

    text: str
    line: int
    column: int
    depth: int
    is_root_of_rdf: bool = False


def _top_level(pieces: Iterable[_Piece]) -> Iterator[tuple[_Piece, list[_Piece], _Piece]]:
    """Each top-level node element between the tags of the root; the root alone where it is one itself."""
    nothing = opening = closing = _Piece("", 1, 1, 0)
    content: list[_Piece] = []
    for piece in pieces:
        if piece.is_root_of_rdf:
            name = re.match(r"<([^\s>]+)", piece.text)
            assert name is not None
            opening, closing = piece, replace(piece, text=f"</{name.group(1)}>")
            # An element like any other: its own attributes may be wrong.
            yield opening, [], closing
            continue
        inside = opening is not nothing
        if inside and piece.depth == 0:
            continue
        if not content and not piece.text.startswith("<"):
            if not piece.text.isspace():
                yield opening, [piece], _at(closing, piece)
            continue
        content.append(piece)
        if piece.text.startswith("</") and piece.depth == int(inside):
            yield opening, content, _at(closing, piece)
            content = []


def _at(piece: _Piece, place: _Piece) -> _Piece:
    return replace(piece, line=place.line, column=place.column)


class _Feed:
    """Pieces as a file that is read one piece at a time; knows where the piece that was read last is."""

    def __init__(self, pieces: Iterator[_Piece]) -> None:
        self._pieces = pieces
        self._rest = b""
        self.line = 1
        self.column = 1
        self.problem: XmlError | None = None

    def read(self, size: int = -1) -> bytes:
        if not self._rest and self.problem is None:
            try:
                piece = next(self._pieces)
            except StopIteration:
                return b""
            except XmlError as problem:
                self.problem = problem
                return b""
            self._rest = piece.text.encode()
            if piece.text:
                self.line, self.column = piece.line, piece.column
            else:
                return self.read(size)
        part = self._rest if size < 0 else self._rest[:size]
        self._rest = self._rest[len(part) :]
        return part


class _XmlReader:
    """A document's tags and texts, written as UTF-8 without a document type; odd IRIs hidden if asked for."""

    def __init__(self, stream: ByteStream, hides: bool) -> None:
        self._stream = stream
        self._hides = hides
        self._pieces: list[_Piece] = []
        self._prefixes: dict[str, str] = {}
        # What each open element has declared, as it was before.
        self._declared: list[dict[str, str | None]] = []
        self._literal: int | None = None  # the depth of the element whose content is XML
        self._entities: dict[str, str] = {}
        self._declares_elsewhere = False
        self._read = 0
        self._written = 0
        parser = self._parser = expat.ParserCreate()
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartDoctypeDeclHandler = self._document_type
        parser.EndDoctypeDeclHandler = self._end_of_document_type
        parser.EntityDeclHandler = self._entity
        parser.ExternalEntityRefHandler = self._external
        parser.SkippedEntityHandler = self._skipped

    def pieces(self) -> Iterator[_Piece]:
        """The pieces in order; raises XmlError."""
        tail = b""
        while True:
            chunk = self._stream.read(_CHUNK)
            self._read += len(chunk)
            problem = None
            try:
                self._parser.Parse(chunk, not chunk)
                if self._declares_elsewhere:
                    self._check_references(tail + chunk)
                    tail = chunk[-200:]
            except expat.ExpatError as error:
                message = expat.ErrorString(error.code)
                problem = XmlError(error.lineno, error.offset + 1, message)
            except (LookupError, ValueError) as error:
                problem = self._problem(f"cannot be decoded: {error}")
            except XmlError as found:
                problem = found
            pieces, self._pieces = self._pieces, []
            yield from pieces
            if problem is not None:
                raise problem
            if not chunk:
                return

    def _problem(self, message: str) -> XmlError:
        parser = self._parser
        return XmlError(parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, message)

    def _add(self, text: str, plain_length: int, depth: int, is_root_of_rdf: bool = False) -> None:
        self._written += plain_length
        if self._written > _MOST_TEXT + _MOST_GROWTH * self._read:
            raise self._problem("its entities expand to more text than is read")
        parser = self._parser
        place = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        self._pieces.append(_Piece(text, *place, depth, is_root_of_rdf))

    def _start(self, name: str, attributes: list[str]) -> None:
        pairs = list(zip(attributes[::2], attributes[1::2], strict=True))
        declared = {k[6:]: v for k, v in pairs if k == "xmlns" or k.startswith("xmlns:")}
        depth = len(self._declared)
        prefixes = self._prefixes
        self._declared.append({key: prefixes.get(key) for key in declared})
        prefixes |= declared
        if self._literal is None and any(_says_xml(key, v, prefixes) for key, v in pairs):
            self._literal = depth
        text = [f"<{name}"]
        for key, value in pairs:
            shown = hide(value) if self._hides and _holds_iri(key, prefixes) else value
            text.append(f' {key}="{_attribute(shown)}"')
        prefix, _, local = name.rpartition(":")
        is_root = depth == 0 and local == "RDF" and prefixes.get(prefix) == _RDF
        self._add("".join(text) + ">", sum(map(len, attributes)), depth, is_root)

    def _end(self, name: str) -> None:
        for key, before in self._declared.pop().items():
            if before is None:
                del self._prefixes[key]
            else:
                self._prefixes[key] = before
        depth = len(self._declared)
        if self._literal == depth:
            self._literal = None
        self._add(f"</{name}>", 0, depth)

    def _text(self, text: str) -> None:
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        self._add(escaped.replace("\r", "&#13;"), len(text), len(self._declared))

    # Elsewhere, comments and instructions say nothing, and the parser takes none within a text.
    def _comment(self, text: str) -> None:
        if self._literal is not None:
            self._add(f"<!--{text}-->", len(text), len(self._declared))

    def _instruction(self, target: str, data: str) -> None:
        if self._literal is not None:
            text = f"<?{target} {data}?>" if data else f"<?{target}?>"
            self._add(text, len(data), len(self._declared))

    # ---- entities --------------------------------------------------------------------------------

    def _document_type(self, name: str, system: str | None, public: str | None, own: int) -> None:
        self._declares_elsewhere = system is not None or public is not None

    def _entity(
        self, name: str, parameter: int, value: str | None, base: Any, system: str | None, *_: Any
    ) -> None:
        if parameter:
            self._declares_elsewhere |= system is not None
        elif value is not None:
            self._entities.setdefault(name, value)

    def _end_of_document_type(self) -> None:
        for name, size in _expanded_sizes(self._entities).items():
            if size > MOST_ENTITY_TEXT:
                limit = f"{MOST_ENTITY_TEXT:,} characters"
                raise self._problem(f"the entity &{name}; expands to more than {limit}")

    def _external(self, context: str, base: Any, system: str | None, public: Any) -> int:
        raise self._problem(
            f"the external entity {system or public} is not read: write its text into the file"
        )

    def _skipped(self, name: str, parameter: int) -> None:
        if not parameter:
            raise self._problem(
                f"the entity &{name}; is not declared in the file; others are not read"
            )

    def _check_references(self, data: bytes) -> None:
        # In an attribute expat leaves out an entity that may be declared elsewhere, and says nothing.
        for found in _RAW_REFERENCE.findall(data.replace(b"\0", b"")):
            name = found.decode("utf-8", "replace")
            if name not in self._entities and name not in _PREDEFINED:
                self._skipped(name, 0)


def _expanded_sizes(entities: dict[str, str]) -> dict[str, int]:
    """Characters of each entity when all that it refers to is expanded; a cycle ends where it is met again.

    >>> _expanded_sizes({"a": "xx&b;&b;", "b": "yyy&c;", "c": "z"})
    {'c': 1, 'b': 7, 'a': 22}
    """
    uses = {name: _REFERENCE.findall(value) for name, value in entities.items()}
    sizes: dict[str, int] = {}
    begun: set[str] = set()
    waiting = [*entities]
    while waiting:
        name = waiting[-1]
        missing = [u for u in uses[name] if u in entities and u not in begun]
        if name in sizes or not missing:
            waiting.pop()
            own = len(entities[name])
            sizes.setdefault(name, own + sum(sizes.get(u, 0) for u in uses[name]))
        else:
            waiting += missing
        begun.add(name)
    return sizes


def _holds_iri(key: str, prefixes: dict[str, str]) -> bool:
    prefix, colon, local = key.rpartition(":")
    if prefix == "xmlns" or key in ("xmlns", "xml:base"):
        return True
    named = local in ("about", "resource", "datatype", "type")
    return bool(colon) and named and prefixes.get(prefix) == _RDF


def _says_xml(key: str, value: str, prefixes: dict[str, str]) -> bool:
    """Whether an attribute makes the content of its element a literal: any parse type but three."""
    prefix, colon, local = key.rpartition(":")
    return (
        bool(colon)
        and local == "parseType"
        and value not in _OTHER_PARSE_TYPES
        and prefixes.get(prefix) == _RDF
    )


def _attribute(value: str) -> str:
    if not _SPECIAL.search(value):
        return value
    return _SPECIAL.sub(lambda found: f"&#{ord(found.group())};", value)
