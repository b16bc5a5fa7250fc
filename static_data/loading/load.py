"""RDF files to encoded quads: line-based files by Spark's own readers, others through Python
workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from static_data.errors import MalformedRdfError
from static_data.files.on_error import Skipped
from static_data.files.packings import ByteStream, Compression, Opener, open_unpacked, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat
from static_data.files.rdf_reader import Entry, entries_of
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading
from static_data.jvm import extension
from static_data.loading.python_workers import driver_python
from static_data.loading.resuming import Resuming
from static_data.loading.source_files import SourceFile
from static_data.loading.statements import as_skipped, malformed, skipped_problems

logger = logging.getLogger(__name__)

_UNPACKED = 20  # times the size of a packed file, in bytes of text: RDF repeats itself

_LINES_PER_BATCH = 8192
_ENDINGS_FOR_SPARK = {Compression.NONE: "", Compression.GZIP: ".gz", Compression.BZIP2: ".bz2"}
_PACKED_FOR_SPARK = (".deflate", ".lz4", ".snappy", ".zst", ".gz", ".bz2")
_PARSED_SCHEMA = (
    "file INT, line STRING, error_line INT, error_column INT, error STRING, fatal BOOLEAN"
)
_PARSED_ARROW = pa.schema(
    [
        ("file", pa.int32()),
        ("line", pa.string()),
        ("error_line", pa.int32()),
        ("error_column", pa.int32()),
        ("error", pa.string()),
        ("fatal", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class LoadReport:
    """What one load did: statements read, quads that were new, terms that were new.

    A graph that is in no file counts as one, of the bytes of its N-Quads. `skipped` counts what was left out as
    malformed, with places and reasons in `skipped_file`; `resumed` the parts of files that an earlier load, which was
    broken off, had encoded.
    """

    files: int
    bytes: int
    statements: int
    quads_added: int
    terms: int
    seconds: float
    skipped: int = 0
    skipped_file: str | None = None
    resumed: int = 0

    @property
    def duplicates(self) -> int:
        """Statements that added nothing: repeated, or there before."""
        return self.statements - self.quads_added

    def __str__(self) -> str:
        left_out = f", {self.skipped:,} skipped ({self.skipped_file})" if self.skipped else ""
        resumed = f", {self.resumed:,} part(s) encoded before" if self.resumed else ""
        return (
            f"{self.statements:,} statements in {self.files} file(s), {self.bytes:,} bytes:"
            f" {self.quads_added:,} new quads, {self.duplicates:,} duplicates,"
            f" {self.terms:,} terms{left_out}{resumed}, {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class LoadedBlocks:
    """What one load has encoded, the extension's StaticLoad in `blocks`; of how many files and bytes, and what it left
    out.
    """

    blocks: Any
    files: int
    bytes: int
    skipped: Callable[[], Iterable[Skipped]]

    def report(
        self, quads_added: int, seconds: float, skipped: int, skipped_file: str | None
    ) -> LoadReport:
        """The report once the quads are stored."""
        statements, terms = self.blocks.statements(), self.blocks.termCount()
        report = LoadReport(
            self.files,
            self.bytes,
            statements,
            quads_added,
            terms,
            seconds,
            skipped,
            skipped_file,
            self.blocks.resumedParts(),
        )
        if skipped:
            logger.warning("skipped %d malformed statement(s), see %s", skipped, skipped_file)
        logger.info("loaded %s", report)
        return report


def encode_sources(
    spark: SparkSession,
    dictionary: Any,
    files: Sequence[SourceFile],
    scopes: Sequence[str],
    graph: str | None,
    base_iri: str | None,
    reading: Reading,
    one_graph: bool,
    driver_bytes: int,
    resuming: Resuming | None = None,
) -> Any:
    """As `encode_files`, on the driver where the files are local and have no more bytes together."""
    inputs = (spark, dictionary, files, scopes, graph, base_iri, reading, one_graph)
    if sum(map(_text_bytes, files)) <= driver_bytes and all(file.local_path for file in files):
        encoded = encode_small_files(*inputs)
        if encoded is not None:
            return encoded
    return encode_files(*inputs, resuming)


def _text_bytes(file: SourceFile) -> int:
    """About how many bytes a file unpacks to."""
    return file.size * (_UNPACKED if file.format.compression is not Compression.NONE else 1)


def encode_files(
    spark: SparkSession,
    dictionary: Any,
    files: Sequence[SourceFile],
    scopes: Sequence[str],
    graph: str | None,
    base_iri: str | None,
    reading: Reading,
    one_graph: bool = False,
    resuming: Resuming | None = None,
) -> Any:
    """Read and encode files; their terms are in `dictionary` afterwards.

    `scopes` holds a blank node prefix per file, `graph` the canonical text of the graph for triples
    without one, `base_iri` replaces the files' own IRIs as the base of relative ones; with `one_graph`
    a statement that names a graph is malformed. With `resuming`, encoded parts stay in its folder, and those of an
    earlier load are taken from there.
    Returns the extension's StaticLoad, to be written and then closed. Raises MalformedRdfError for
    the first malformed file, with nothing changed.
    """
    line_files = [i for i, file in enumerate(files) if _read_by_spark(file)]
    others = [(i, file) for i, file in enumerate(files) if not _read_by_spark(file)]
    parsed = _parsed_lines(spark, others, base_iri, reading)
    load = extension(spark).loading.StaticLoader.load(
        spark._jsparkSession,
        dictionary,
        [_hadoop_path(file) for file in files],
        list(scopes),
        [_names_graphs(file, one_graph) for file in files],
        [_strict(file, reading) for file in files],
        line_files,
        parsed._jdf if parsed is not None else None,
        graph,
        reading.on_error.value,
        float(reading.most_expansion),
        resuming.of_load(files, base_iri, reading, one_graph) if resuming is not None else None,
    )
    problem = load.problem()
    if problem is not None:
        file = files[problem.file()]
        raise malformed(file.name, file.format.rdf, problem)
    return load


def encode_small_files(
    spark: SparkSession,
    dictionary: Any,
    files: Sequence[SourceFile],
    scopes: Sequence[str],
    graph: str | None,
    base_iri: str | None,
    reading: Reading,
    one_graph: bool = False,
) -> Any:
    """As `encode_files`, for a few local files that fit into memory, without a Spark job.

    None when something is wrong with a file: `encode_files` says what, and where.
    """
    texts = []
    for file in files:
        path = file.local_path
        assert path is not None

        def opener(path: Path = path, packing: Compression = file.format.compression) -> ByteStream:
            return open_unpacked(path, packing, reading.most_expansion)

        lines = []
        try:
            for entry in entries_of(file.name, file.format, base_iri or file.uri, opener, reading):
                if not isinstance(entry, str):
                    return None
                lines.append(entry)
        except MalformedRdfError:
            return None
        texts.append("\n".join(lines))
    load = extension(spark).loading.StaticLoader.loadHere(
        spark._jsparkSession,
        dictionary,
        texts,
        list(scopes),
        [_names_graphs(file, one_graph) for file in files],
        [_strict(file, reading) for file in files],
        graph,
        reading.on_error.value,
    )
    return load if load.problem() is None else None


def skipped_of(load: Any, files: Sequence[SourceFile]) -> Iterator[Skipped]:
    """What a load left out, in the order of the files."""
    for problem in skipped_problems(load):
        file = files[problem.file()]
        error = malformed(file.name, file.format.rdf, problem)
        yield as_skipped(error, problem.text())


def _names_graphs(file: SourceFile, one_graph: bool) -> bool:
    """Whether lines may name a graph: those of N-Triples cannot, those made of other formats can."""
    return not one_graph and file.format.rdf is not RdfFormat.N_TRIPLES


def _strict(file: SourceFile, reading: Reading) -> bool:
    """Whether lines hold triple terms in RDF 1.2's form only; ours of other formats are always RDF-star."""
    return reading.version is RdfVersion.RDF_1_2 and file.format.rdf.line_based


def _read_by_spark(file: SourceFile) -> bool:
    name = file.name.rsplit("/", 1)[-1]
    # Hadoop skips files with such names as hidden ones, and knows packings by lower-case endings.
    hidden = name.startswith(("_", "."))
    packing = file.format.compression
    known = packing in _ENDINGS_FOR_SPARK and name.endswith(_ENDINGS_FOR_SPARK[packing])
    # A name may look packed without being so.
    plain = packing is not Compression.NONE or not name.endswith(_PACKED_FOR_SPARK)
    return file.format.rdf.line_based and not hidden and known and plain


def _hadoop_path(file: SourceFile) -> str:
    path = file.local_path
    return file.uri if path is None else f"file://{path.absolute()}"


@dataclass(frozen=True)
class _ParseTask:
    """One file for a Python worker, plain data."""

    index: int
    name: str
    base_iri: str
    format: FileFormat
    reading: Reading


def _parsed_lines(
    spark: SparkSession,
    files: Sequence[tuple[int, SourceFile]],
    base_iri: str | None,
    reading: Reading,
) -> DataFrame | None:
    """The lines of files that Python workers parse, in parallel over files."""
    frames = []
    local = [
        _ParseTask(i, str(f.local_path.absolute()), base_iri or f.uri, f.format, reading)
        for i, f in files
        if f.local_path
    ]
    if local:
        # Large files first would need sizes on the workers; one task a file keeps cores busy well
        # enough.
        tasks = spark.range(0, len(local), 1, numPartitions=min(len(local), 1000))
        with driver_python(spark):
            frames.append(tasks.mapInArrow(_local_parser(local), _PARSED_SCHEMA))
    remote = [
        _ParseTask(i, f.name, base_iri or f.uri, f.format, reading)
        for i, f in files
        if not f.local_path
    ]
    for task in remote:
        content = spark.read.format("binaryFile").load(task.name).select("content")
        with driver_python(spark):
            frames.append(content.mapInArrow(_content_parser(task), _PARSED_SCHEMA))
    if not frames:
        return None
    frame = frames[0]
    for other in frames[1:]:
        frame = frame.unionAll(other)
    return frame


def _local_parser(
    tasks: Sequence[_ParseTask],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                task = tasks[number]

                def opener(
                    path: str = task.name,
                    packing: Compression = task.format.compression,
                    most: float = task.reading.most_expansion,
                ) -> ByteStream:
                    return open_unpacked(Path(path), packing, most)

                yield from _line_batches(task, opener)

    return parse


def _content_parser(
    task: _ParseTask,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for content in batch.column(0).to_pylist():

                def opener(content: bytes = content) -> ByteStream:
                    return unpacked(content, task.format.compression, task.reading.most_expansion)

                yield from _line_batches(task, opener)

    return parse


def _line_batches(task: _ParseTask, opener: Opener) -> Iterator[pa.RecordBatch]:
    """Lines as Arrow batches, with rows that say what was left out; a file that fails ends with such a row."""
    batch: list[Entry] = []
    try:
        for entry in entries_of(task.name, task.format, task.base_iri, opener, task.reading):
            batch.append(entry)
            if len(batch) == _LINES_PER_BATCH:
                yield _batch(task.index, batch)
                batch = []
    except MalformedRdfError as error:
        yield _batch(task.index, [error], fatal=True)
        return
    if batch:
        yield _batch(task.index, batch)


def _batch(index: int, entries: Sequence[Entry], fatal: bool = False) -> pa.RecordBatch:
    errors = [None if isinstance(entry, str) else entry for entry in entries]
    columns: list[list[Any]] = [
        [index] * len(entries),
        [entry if isinstance(entry, str) else None for entry in entries],
        [error and error.line for error in errors],
        [error and error.column for error in errors],
        [error and error.message for error in errors],
        [fatal] * len(entries),
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _PARSED_ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_PARSED_ARROW)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._start
