"""Files of rows that are replayed into mapped streams: read block by block, no further ahead than the replay needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

from sparkext.bridge.handover import Handover
from sparkext.runtime.streams.mapped_columns import columns_of, row_block
from static_data.jvm import extension
from static_data.mappings.source_rows import row_blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.streams.mapped_stream import MappedStream
    from sparkext.runtime.streams.stream_mapping import ElementMapping

_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class RowsFile:
    """A file of rows, CSV, JSON or Parquet: what a user calls it, and where it is."""

    name: str
    path: Path

    @property
    def size(self) -> int:
        """In bytes."""
        return self.path.stat().st_size


def check_rows(file: RowsFile, mapping: ElementMapping, lenient: bool) -> None:
    """Read the beginning of a file; raises MappingError or MissingFileError for what is found wrong there."""
    program, time = mapping.program, mapping.time
    for place, rows in enumerate(row_blocks(file.path, mapping.rows.source, lenient)):
        columns_of(rows, program.columns, time)
        if place == 1:
            break


class RowFeed:
    """Reads the rows of a file on a thread of its own, as a RowSequence of the JVM takes them; see `row_blocks`.

    `rows_read` is how many have been read. The thread waits where the replay has not come near; it ends with the file,
    or once `sequence` is closed.
    """

    def __init__(
        self,
        sequence: Any,
        file: RowsFile,
        mapping: ElementMapping,
        handover: Handover,
        lenient: bool,
    ):
        self.rows_read = 0
        self.problem: Exception | None = None
        self._sequence = sequence
        self._file = file
        self._mapping = mapping
        self._handover = handover
        self._lenient = lenient
        self._thread = Thread(target=self._run, name="cqels-rows", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()
        self._handover.jvm.close()
        self._handover.close()

    def _run(self) -> None:
        try:
            self._read()
            self._sequence.end(None)
        except Exception as error:  # raised where the replay comes to it
            self.problem = error
            self._sequence.end(str(error))

    def _read(self) -> None:
        size, position = self._file.size, 0
        for rows in row_blocks(self._file.path, self._mapping.rows.source, self._lenient):
            for first in range(0, max(1, len(rows)), _BLOCK_ROWS):
                part = rows.slice(first, _BLOCK_ROWS)
                columns = columns_of(
                    part, self._mapping.program.columns, self._mapping.time, self.rows_read
                )
                self.rows_read += len(part)
                # About: texts take as much in a table as in a file.
                position = min(size, position + columns.nbytes)
                length = self._handover.write(row_block(columns))
                if not self._sequence.put(self._handover.jvm, length, position):
                    return


@contextmanager
def row_feeds(
    spark: SparkSession,
    files: Mapping[int, tuple[MappedStream, Sequence[RowsFile]]],
    in_time_order: bool,
    look_ahead: int,
    lenient: bool,
) -> Iterator[tuple[list[Any], list[RowFeed]]]:
    """The files of streams, by their numbers, as sequences of the JVM, and who feeds these; all end with the block."""
    sequences: list[Any] = []
    feeds: list[RowFeed] = []
    with TemporaryDirectory(prefix="cqels-rows-") as folder:
        try:
            for number, (stream, named) in files.items():
                for file in named:
                    sequence = stream.sequence(number, file.name, in_time_order, look_ahead)
                    sequences.append(sequence)
                    handover = _handover(spark, Path(folder) / f"block{len(feeds)}")
                    feeds.append(RowFeed(sequence, file, stream.mapping, handover, lenient))
            yield sequences, feeds
        finally:
            for sequence in sequences:
                sequence.close()
            for feed in feeds:
                feed.join()


def _handover(spark: SparkSession, path: Path) -> Handover:
    java: Any = spark._jvm
    place = java.java.io.File(str(path)).toPath()
    return Handover(path, extension(spark).ingest.Handover(place))
