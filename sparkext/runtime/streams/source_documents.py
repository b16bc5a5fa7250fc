"""The documents of RDF of a source, read by the tasks of its micro-batches.

N-Quads(-star) is read in the JVM. TriG(-star) is brought into lines of it first, by Python workers beside the tasks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from sparkext.recorded_streams import TIME_PROPERTIES
from sparkext.recorded_streams.recording_files import NotedLines
from sparkext.recorded_streams.trig_statements import read_trig
from static_data.files.packings import Compression, unpacked
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading
from static_data.loading.python_workers import driver_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.bridge.engine_room import EngineRoom

# Strings, IRIs and comments: braces in them open no graph.
_OPAQUE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|<[^<>\s]*>|#[^\n]*", re.DOTALL)
_TIMES = tuple(f"<{iri}>" for iri in TIME_PROPERTIES)


class SourceDocuments:
    """How the documents of one source are read, batch by batch; `format` is ``nquads``, ``trig`` or ``auto``.

    `reading` tells how quoted triples are read, and whether IRIs are taken as they stand. With ``auto``, from the first
    document on that is TriG all go through Python workers, since the next ones are likely to be TriG, too.
    """

    def __init__(self, format: str, reading: Reading) -> None:
        self._format = format
        self._has_trig = False
        self._reading = reading

    def prepared(self, frame: DataFrame) -> DataFrame:
        """What batches are to be taken of, of a DataFrame with a column `value`."""
        given = frame.select("value")
        return in_lines(given, True, self._reading) if self._format == "trig" else given

    def read(self, room: EngineRoom, batch: DataFrame) -> Any:
        """The documents of a batch of what is `prepared`, read by tasks; see DocumentBatch.scala."""
        strict, accepts = self._reading.version is RdfVersion.RDF_1_2, self._reading.accepts
        rows = None
        if not self._has_trig:
            no_trig = self._format == "auto"
            rows = room.read_documents(batch, _TIMES, no_trig, strict, accepts)
        if rows is None:
            self._has_trig = True
            lines = in_lines(batch, False, self._reading)
            rows = room.read_documents(lines, _TIMES, False, strict, accepts)
        return rows


def in_lines(batch: DataFrame, all_trig: bool, reading: Reading) -> DataFrame:
    """Documents, TriG or without `all_trig` N-Quads too, as lines: `value`, and whether it has notes (`noted`)."""
    frame = batch.select(F.col("value").cast("binary"))
    with driver_python(batch.sparkSession):
        return frame.mapInArrow(_writer_of_lines(all_trig, reading), "value BINARY, noted BOOLEAN")


def _writer_of_lines(
    all_trig: bool, reading: Reading
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            documents: list[bytes | None] = batch.column(0).to_pylist()
            noted = [
                one is not None and (all_trig or document_format(one) is RdfFormat.TRIG)
                for one in documents
            ]
            lines = [
                noted_lines(one, reading) if is_trig and one is not None else one
                for one, is_trig in zip(documents, noted, strict=True)
            ]
            columns = [pa.array(lines, pa.binary()), pa.array(noted, pa.bool_())]
            yield pa.RecordBatch.from_arrays(columns, ["value", "noted"])

    return write


def noted_lines(trig: bytes, reading: Reading) -> bytes:
    """A document of TriG as lines that LineStatements.scala reads, with notes about what is malformed."""
    out = StringIO()
    target = NotedLines("document", out)
    read_trig(lambda: unpacked(trig, Compression.NONE), "urn:document", target, reading)
    return out.getvalue().encode("utf-8", "replace")


def document_format(content: bytes) -> RdfFormat:
    """TriG when there is a graph block, else N-Quads: in TriG an element needs one.

    >>> document_format(b'<http://e/g> { <http://e/s> <http://e/p> 1 }').name
    'TRIG'
    >>> document_format(b'<http://e/s> <http://e/p> "{" <http://e/g> .').name
    'N_QUADS'
    """
    if b"{" not in content:
        return RdfFormat.N_QUADS
    text = content.decode("utf-8", "surrogateescape")
    return RdfFormat.TRIG if "{" in _OPAQUE.sub("", text) else RdfFormat.N_QUADS
