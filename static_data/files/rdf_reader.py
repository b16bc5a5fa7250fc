"""Any RDF file as a stream of canonical N-Quads-star lines.

Turtle, TriG, RDF/XML and JSON-LD are parsed by pyoxigraph, as a stream. Lines of N-Triples and
N-Quads files are passed through as they are: the reader in the JVM validates them. Blank nodes
without a label get labels that are the same at every reading, because Spark may run a task twice.

What is left out of a malformed file when it is to be skipped: a line of N-Triples or N-Quads; the whole
statement of Turtle or TriG, also within a graph; the top-level node element of RDF/XML, and where that
is no XML all from there on; a triple of JSON-LD, and where that is no JSON the whole file.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from static_data.errors import MalformedRdfError, MissingFileError
from static_data.files.format_sniffing import told_format_here
from static_data.files.json_ld_contexts import ContextError, with_contexts
from static_data.files.line_writer import LineWriter, unwritable
from static_data.files.packings import BROKEN, ByteStream, Compression, Opener, open_unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat
from static_data.files.rdf_version import RdfVersion
from static_data.files.rdf_xml import XmlError, is_plain, parse_by_nodes, parse_whole
from static_data.files.reading import Reading
from static_data.files.reifiers import fold_all, fold_stream
from static_data.files.sound_statements import sound_quads
from static_data.files.turtle_text import hidden, hidden_stream
from static_data.limits.expansion import ExpansionError
from static_data.limits.nesting import NestingError, check_json, check_turtle, parsed

_PARSERS = {
    RdfFormat.TURTLE: ox.RdfFormat.TURTLE,
    RdfFormat.TRIG: ox.RdfFormat.TRIG,
    RdfFormat.RDF_XML: ox.RdfFormat.RDF_XML,
    RdfFormat.JSON_LD: ox.RdfFormat.JSON_LD,
}
_SCAN_BYTES = 1 << 20
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")

Entry = str | MalformedRdfError
"""A line, or what was wrong with something that was left out."""


def read_lines(
    file: str | Path,
    format: str | RdfFormat | None = None,
    base_iri: str | None = None,
    version: RdfVersion = RdfVersion.STAR,
    reading: Reading | None = None,
) -> Iterator[str]:
    """Yield the statements of a local file as N-Quads-star lines, without line ends.

    `format` overrides what the name says; `base_iri` defaults to the file's own IRI; `reading` is taken
    in place of `version`. Blank node labels are those of the file: whoever merges files scopes them.
    Raises UnsupportedFormatError, MissingFileError, MalformedRdfError.
    """
    entries = read_entries(file, format, base_iri, reading or Reading(version))
    return (entry for entry in entries if isinstance(entry, str))


def read_entries(
    file: str | Path,
    format: str | RdfFormat | None = None,
    base_iri: str | None = None,
    reading: Reading | None = None,
) -> Iterator[Entry]:
    """As `read_lines`, and among the lines what was wrong with each statement that was left out.

    Lines of N-Triples and N-Quads that are not well-formed are among them: they are not looked at here.
    """
    path = Path(file)
    if not path.is_file():
        raise MissingFileError(str(file), "is a folder" if path.is_dir() else "no such file")
    kind = told_format_here(str(file), format)
    base = path.absolute().as_uri() if base_iri is None else base_iri

    how = reading or Reading()

    def opener() -> ByteStream:
        return open_unpacked(path, kind.compression, how.most_expansion)

    return entries_of(str(file), kind, base, opener, how)


def lines_of(
    name: str,
    kind: FileFormat,
    base_iri: str,
    opener: Opener,
    reading: Reading,
) -> Iterator[str]:
    """Yield N-Quads-star lines from whatever `opener` opens; `name` is for error messages.

    `opener` may be called more than once and must give the same bytes each time. What is left out
    goes unsaid; see `entries_of`.
    """
    for entry in entries_of(name, kind, base_iri, opener, reading):
        if isinstance(entry, str):
            yield entry


def entries_of(
    name: str, kind: FileFormat, base_iri: str, opener: Opener, reading: Reading
) -> Iterator[Entry]:
    """As `lines_of`, and among the lines, when malformed statements are skipped, what was wrong with each."""
    try:
        _check_nesting(kind.rdf, opener)
        if kind.rdf.line_based:
            yield from _raw_lines(name, opener, reading)
        elif kind.rdf is RdfFormat.RDF_XML:
            yield from _rdf_xml(name, base_iri, opener, reading)
        elif kind.rdf is RdfFormat.JSON_LD:
            yield from _json_ld(name, base_iri, opener, reading)
        else:
            yield from _turtle(name, kind.rdf, base_iri, opener, reading)
    except SyntaxError as error:
        raise _malformed(name, error) from None
    except XmlError as problem:
        raise MalformedRdfError(name, problem.line, problem.column, problem.message) from None
    except NestingError as problem:
        raise MalformedRdfError(name, None, None, str(problem)) from None
    except ExpansionError as problem:
        raise MalformedRdfError(name, None, None, str(problem)) from None
    except BROKEN as error:
        if kind.compression is Compression.NONE:
            raise
        packing = kind.compression.value
        raise MalformedRdfError(name, None, None, f"broken .{packing} file: {error}") from None


def _check_nesting(rdf: RdfFormat, opener: Opener) -> None:
    if rdf in (RdfFormat.TURTLE, RdfFormat.TRIG):
        with opener() as stream:
            check_turtle(stream, opener)
    elif rdf is RdfFormat.JSON_LD:
        with opener() as stream:
            check_json(stream)


def _malformed(name: str, error: SyntaxError) -> MalformedRdfError:
    message = re.sub(
        r"^Parser error (at|between) (line \d+ )?(between )?.*?: ", "", error.msg, count=1
    )
    return MalformedRdfError(name, error.lineno, error.offset, message)


def _raw_lines(name: str, opener: Opener, reading: Reading) -> Iterator[Entry]:
    number = 0
    with opener() as stream:
        for raw in stream:
            for line in raw.removesuffix(b"\n").removesuffix(b"\r").split(b"\r"):
                number += 1
                try:
                    yield line.decode("utf-8")
                except UnicodeDecodeError as error:
                    column = len(line[: error.start].decode("utf-8")) + 1
                    problem = MalformedRdfError(name, number, column, "not UTF-8")
                    if not reading.skips:
                        raise problem from None
                    yield problem


# ---- Turtle and TriG -----------------------------------------------------------------------------


def _turtle(
    name: str, rdf: RdfFormat, base_iri: str, opener: Opener, reading: Reading
) -> Iterator[Entry]:
    def lines(hides: bool) -> Iterator[str]:
        with opener() as stream:
            source: Any = hidden_stream(stream) if hides else stream
            quads = ox.parse(
                source, format=_PARSERS[rdf], base_iri=base_iri, lenient=reading.accepts
            )
            yield from _written(_folded(parsed(quads), opener, reading), hides)

    if reading.skips:
        # Nothing of a malformed statement must come out, so it is known before whether there are any.
        sound = next((hides for hides in (False, True) if _is_sound(lines(hides))), None)
        if sound is None:
            yield from _sound_turtle(name, rdf, base_iri, opener, reading)
        else:
            yield from lines(sound)
        return
    done = 0
    try:
        for line in lines(hides=False):
            yield line
            done += 1
    except SyntaxError:
        if reading.accepts:
            raise
        # It may be an IRI that N-Triples allows. The lines so far are the same when it is read again.
        try:
            yield from islice(lines(hides=True), done, None)
        except SyntaxError as error:
            if error.lineno is None:
                found = _sound_turtle(name, rdf, base_iri, opener, reading)
                for entry in found:
                    if not isinstance(entry, str):
                        raise entry from None
            raise


def _is_sound(lines: Iterator[str]) -> bool:
    try:
        deque(lines, maxlen=0)
    except SyntaxError:
        return False
    return True


def _sound_turtle(
    name: str, rdf: RdfFormat, base_iri: str, opener: Opener, reading: Reading
) -> Iterator[Entry]:
    with opener() as stream:
        # Bytes that are not UTF-8 go back to the parser, which says so.
        text = hidden(stream.read().decode("utf-8", "surrogateescape"))
    problems: list[MalformedRdfError] = []

    def report(line: int, column: int, message: str) -> None:
        found = SyntaxError(message)
        found.lineno, found.offset = line, column
        problems.append(_malformed(name, found))

    def check(quads: list[Any]) -> None:
        if reading.version is RdfVersion.STAR and not spelt:
            deque(fold_stream(quads), maxlen=0)

    spelt = _spells_reifiers(opener)
    quads = sound_quads(text, _PARSERS[rdf], base_iri, report, check)
    for line in _written(_folded(quads, opener, reading), reveals=True):
        yield from problems
        problems.clear()
        yield line
    yield from problems


def _folded(quads: Iterable[Any], opener: Opener, reading: Reading) -> Iterable[Any]:
    if reading.version is not RdfVersion.STAR:
        return quads
    if not _spells_reifiers(opener):
        return fold_stream(quads)
    written = {m.decode() for m in _find(opener, rb"_:([a-f][0-9a-f]{20,31})", 64)}
    return fold_all(quads, written)


def _spells_reifiers(opener: Opener) -> bool:
    """Only such a file can use a generated blank node as an explicit reifier."""
    return bool(_find(opener, rb"[:#]reifies\b", 16))


def _find(opener: Opener, pattern: bytes, longest: int) -> set[bytes]:
    """All distinct matches of `pattern` (no longer than `longest` bytes) in the file."""
    found: set[bytes] = set()
    regex = re.compile(pattern)
    with opener() as stream:
        tail = b""
        while block := stream.read(_SCAN_BYTES):
            text = tail + block
            found.update(regex.findall(text))
            tail = text[-longest:]
    return found


def _written(quads: Iterable[Any], reveals: bool, unchecked: bool = False) -> Iterator[str]:
    write = LineWriter(reveals)
    for quad in quads:
        if unchecked and (odd := unwritable(quad, accepts=True)) is not None:
            raise SyntaxError(odd[1])
        yield write.line(quad)


# ---- RDF/XML and JSON-LD -------------------------------------------------------------------------


def _rdf_xml(name: str, base_iri: str, opener: Opener, reading: Reading) -> Iterator[Entry]:
    if reading.skips:
        problems: list[MalformedRdfError] = []

        def report(problem: XmlError) -> None:
            problems.append(MalformedRdfError(name, problem.line, problem.column, problem.message))

        with opener() as stream:
            for line in _written(parse_by_nodes(stream, base_iri, report), reveals=True):
                yield from problems
                problems.clear()
                yield line
        yield from problems
        return
    done = 0
    with opener() as stream:
        plain = is_plain(stream)
    if plain:
        with opener() as stream:
            source: Any = stream
            quads = ox.parse(
                source,
                format=ox.RdfFormat.RDF_XML,
                base_iri=base_iri,
                lenient=reading.accepts,
            )
            try:
                for line in _written(parsed(quads), False, reading.accepts):
                    yield line
                    done += 1
                return
            except SyntaxError:
                # The slower way may read it, and knows places.
                pass
    with opener() as stream:
        whole = parse_whole(stream, base_iri, reading.accepts)
        yield from islice(_written(whole, not reading.accepts, reading.accepts), done, None)


def _json_ld(name: str, base_iri: str, opener: Opener, reading: Reading) -> Iterator[Entry]:
    if reading.skips:
        # JSON has no place to go on from: a file that is malformed is left out whole.
        try:
            for _ in _json_ld_entries(name, base_iri, opener, reading):
                pass
        except MalformedRdfError as error:
            yield error
            return
    yield from _json_ld_entries(name, base_iri, opener, reading)


def _json_ld_entries(name: str, base_iri: str, opener: Opener, reading: Reading) -> Iterator[Entry]:
    with opener() as stream:
        source: Any = stream
        if reading.contexts:
            source = _with_contexts(name, stream.read(), base_iri, reading)
        # Held to RFC 3987, the parser would leave out what is malformed, and say nothing.
        quads = ox.parse(source, format=ox.RdfFormat.JSON_LD, base_iri=base_iri, lenient=True)
        write = LineWriter()
        try:
            for quad in parsed(quads):
                iris = [t.value for t in quad if isinstance(t, ox.NamedNode)]
                if isinstance(quad.object, ox.Literal):
                    iris.append(quad.object.datatype.value)
                # A key that means no IRI is no property, as JSON-LD has it, and such a datatype none.
                if not all(_ABSOLUTE.match(iri) for iri in iris):
                    continue
                odd = unwritable(quad, reading.accepts)
                if odd is None:
                    yield write.line(quad)
                elif reading.skips:
                    yield _placed(name, *odd, opener)
                else:
                    raise _placed(name, *odd, opener)
        except SyntaxError as error:
            if error.lineno is None:
                with opener() as again:
                    _with_contexts(name, again.read(), base_iri, reading)
            raise _malformed(name, error) from None


def _placed(name: str, odd: str, message: str, opener: Opener) -> MalformedRdfError:
    """An error with its place, where the file writes out what is odd."""
    with opener() as stream:
        text = stream.read().decode("utf-8", "replace")
    at = text.find(json.dumps(odd, ensure_ascii=False)[1:-1])
    if at < 0:
        return MalformedRdfError(name, None, None, message)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return MalformedRdfError(name, line, column, message)


def _with_contexts(name: str, content: bytes, base_iri: str, reading: Reading) -> bytes:
    try:
        text = content.decode("utf-8")
        return with_contexts(text, base_iri, reading.contexts).encode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise MalformedRdfError(name, line, None, "not UTF-8") from None
    except ContextError as problem:
        raise MalformedRdfError(name, problem.line, problem.column, problem.message) from None
