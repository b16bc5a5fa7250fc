"""Recorded stream files read into elements: TriG(-star) or N-Quads(-star), plain or packed.

A malformed statement costs the element it belongs to and no other; what is set aside is listed with
its reason. A file that cannot be read at all is an InputFileError.
"""

from __future__ import annotations

import gc
import heapq
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from sparkext.argument_checks import check
from sparkext.errors import InputFileError
from sparkext.recorded_streams.elements import (
    TIME_PROPERTIES,
    ElementAssembler,
    SetAside,
    StreamElement,
)
from sparkext.recorded_streams.nquads_lines import MalformedLineError, parse_line
from sparkext.recorded_streams.trig_statements import read_trig
from static_data.errors import MalformedRdfError, UnsupportedFormatError
from static_data.files.format_sniffing import told_format_here
from static_data.files.on_error import OnError
from static_data.files.packings import BROKEN, PACKED_ENDINGS, Compression, open_unpacked, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading
from static_data.limits.expansion import MOST_EXPANSION

_TRIG = ("trig", "trigs", "trigstar")
_NQUADS = ("nq", "nqs", "nquads", "nqstar")
# At the end of a malformed line the name of its graph may still be legible, at its beginning its
# subject.
_TAIL = re.compile(r"(<[^<>\s]*>|_:[^\s<>\"]*[^\s<>\".])\s*\.\s*(?:#.*)?$")
_HEAD = re.compile(r"\s*(<[^<>\s]*>|_:[^\s<>\"]+)")


@dataclass(slots=True)
class RecordedStream:
    """What the files of one stream hold.

    `elements` are in time order, those of equal time in file order (or all in file order, if so
    asked for); `ignored_triples` counts triples of default graphs that are about no element.
    """

    elements: list[StreamElement] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    ignored_triples: int = 0


def read_recorded_stream(
    files: str | Path | Sequence[str | Path],
    time_properties: Collection[str] = TIME_PROPERTIES,
    *,
    in_time_order: bool = True,
    scope: str = "",
    version: RdfVersion = RdfVersion.STAR,
    on_error: OnError = OnError.SKIP,
    most_expansion: float = MOST_EXPANSION,
) -> RecordedStream:
    """Read the files of one stream.

    `time_properties` are the IRIs of the predicates that give an element its time. `scope`, letters
    and digits, keeps the blank nodes of several streams apart. `version` tells how quoted triples are
    read. `on_error` says what becomes of elements that are malformed: they are set aside, or the first one is
    an InputFileError (OnError.FAIL), or their IRIs are taken as they stand and what is malformed even so is an
    error. Packed files may unpack to `most_expansion` times their size. Raises InputFileError also for a file that is
    missing, packed wrongly or of another format.
    """
    named = check.paths("files", files)
    check.text("scope", scope)
    check.flag("in_time_order", in_time_order)
    if isinstance(time_properties, str | bytes) or not isinstance(time_properties, Collection):
        raise check.wrong("time_properties", "a list of IRIs", time_properties)
    for iri in time_properties:
        check.text("time_properties", iri)
    stream = RecordedStream()
    used_names: set[str] = set()
    for file in named:
        assembler = ElementAssembler(
            str(file), time_properties, used_names, scope, len(stream.elements)
        )
        kind, content = _load(Path(file), most_expansion)
        with _no_garbage_collection():
            reading = Reading(version, on_error)
            _read(content, kind, Path(file).absolute().as_uri(), assembler, reading)
            elements, set_aside = assembler.finish()
        if set_aside and on_error is not OnError.SKIP:
            first = min(set_aside, key=lambda one: one.line or 0)
            graph = "" if first.graph is None else f"{first.graph}: "
            raise InputFileError(str(file), first.line, None, graph + first.reason)
        stream.elements += elements
        stream.set_aside += set_aside
        stream.ignored_triples += assembler.ignored_triples
    if in_time_order:
        stream.elements.sort(key=attrgetter("time_ms"))
    return stream


def read_document(
    content: bytes,
    kind: RdfFormat,
    name: str,
    time_properties: Collection[str] = TIME_PROPERTIES,
    version: RdfVersion = RdfVersion.STAR,
    on_error: OnError = OnError.SKIP,
    default_time: int | None = None,
) -> tuple[list[StreamElement], list[SetAside]]:
    """The elements of one document of N-Quads(-star) or TriG(-star), and what was set aside.

    `name` stands for the document in the reasons, `version` tells how quoted triples are read, `on_error` whether
    IRIs are taken as they stand; `default_time` is the time of elements that have none.
    """
    assembler = ElementAssembler(name, time_properties, default_time=default_time)
    _read(content, kind, "urn:document", assembler, Reading(version, on_error))
    return assembler.finish()


def merge_streams(
    streams: Mapping[str, Iterable[StreamElement]],
) -> Iterator[tuple[str, StreamElement]]:
    """The elements of several streams, each in time order, as one sequence in time order.

    The merge is stable: at equal times the streams come in the order of the mapping.
    """

    def named(
        stream: str, elements: Iterable[StreamElement]
    ) -> Iterator[tuple[str, StreamElement]]:
        return ((stream, element) for element in elements)

    parts = [named(stream, elements) for stream, elements in streams.items()]
    return heapq.merge(*parts, key=lambda part: part[1].time_ms)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Hold the collector back: it would walk again and again over elements that all stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def format_of(path: Path) -> FileFormat:
    """How a recorded file is written and packed; raises InputFileError where it is none, or missing."""
    name = path.name.lower()
    for packing in PACKED_ENDINGS:
        name = name.removesuffix(f".{packing}")
    extension = name.rpartition(".")[2] if "." in name.lstrip(".") else ""
    if extension not in (*_TRIG, *_NQUADS, ""):
        known = ", ".join(f".{known}" for known in (_TRIG[0], _NQUADS[0]))
        packed = ", ".join(f".{packing}" for packing in PACKED_ENDINGS)
        message = f"a recorded stream is TriG or N-Quads ({known}, each also with {packed})"
        raise InputFileError(str(path), None, None, message)
    stated = RdfFormat.TRIG if extension in _TRIG else RdfFormat.N_QUADS
    with reading_file(path, Compression.NONE):
        kind = told_format_here(str(path), stated if extension else None)
        if kind.rdf not in (RdfFormat.TRIG, RdfFormat.N_QUADS):
            message = f"a recorded stream is TriG or N-Quads, not .{kind.rdf.value}"
            raise InputFileError(str(path), None, None, message)
    return kind


@contextmanager
def reading_file(path: Path, packing: Compression) -> Iterator[None]:
    """Have what goes wrong in reading a file be an InputFileError."""
    try:
        yield
    except FileNotFoundError:
        raise InputFileError(str(path), None, None, "no such file") from None
    except (MalformedRdfError, UnsupportedFormatError) as error:
        raise InputFileError(str(path), None, None, str(error).removeprefix(f"{path}: ")) from None
    except BROKEN as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputFileError(str(path), None, None, error.strerror) from error
        message = f"broken .{packing.value} file: {error}"
        raise InputFileError(str(path), None, None, message) from error


def _load(path: Path, most: float) -> tuple[RdfFormat, bytes]:
    kind = format_of(path)
    with (
        reading_file(path, kind.compression),
        open_unpacked(path, kind.compression, most) as stream,
    ):
        return kind.rdf, stream.read()


def _read(
    content: bytes, kind: RdfFormat, base: str, assembler: ElementAssembler, reading: Reading
) -> None:
    if kind is RdfFormat.N_QUADS:
        _read_nquads(content, assembler, reading)
    else:
        read_trig(lambda: unpacked(content, Compression.NONE), base, assembler, reading)


def _read_nquads(content: bytes, assembler: ElementAssembler, reading: Reading) -> None:
    # Bytes that are not UTF-8 become lone surrogates, which the reader of lines refuses.
    text = content.decode("utf-8", "surrogateescape")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    malformed: list[tuple[int, str, str, str | None]] = []
    between: list[int] = []
    known_to_be_in: dict[int, str] = {}
    quad = assembler.quad
    for number, line in enumerate(text.split("\n"), 1):
        try:
            statement = parse_line(line, reading.version, reading.accepts)
        except MalformedLineError as error:
            reason = f"column {error.column}: {error.message}"
            malformed.append((number, line, reason, assembler.open_graph))
            between.append(len(malformed) - 1)
            continue
        if statement is None:
            continue
        subject, predicate, object_, graph = statement
        if between and graph is not None:
            known_to_be_in.update((i, graph) for i in between if malformed[i][3] == graph)
            between.clear()
        quad(subject, predicate, object_, graph, number)
    for i, (number, line, reason, _) in enumerate(malformed):
        owner = _owner(line, assembler) or known_to_be_in.get(i)
        assembler.spoil(owner, reason, number)


def _owner(line: str, assembler: ElementAssembler) -> str | None:
    """The element a malformed line names as its graph, or else as its subject."""
    for match in (_TAIL.search(line), _HEAD.match(line)):
        if match is not None and assembler.knows(match.group(1)):
            return match.group(1)
    return None
