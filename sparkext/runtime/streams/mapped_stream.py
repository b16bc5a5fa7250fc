"""A stream of rows: a mapping says which quads a row, which is one element, stands for."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkext.argument_checks import check
from sparkext.errors import StreamElementError
from sparkext.r2r.leaves.scopes import RecordTriple
from sparkext.runtime.lateness.stream_lateness import StreamLateness
from sparkext.runtime.streams.given_rows import table_of
from sparkext.runtime.streams.mapped_columns import columns_of, row_block
from sparkext.runtime.streams.numbered_batches import Taking
from sparkext.runtime.streams.push_report import Evaluations, PushReport
from sparkext.runtime.streams.stream import Stream
from sparkext.runtime.streams.stream_mapping import ElementMapping
from sparkext.s2r.watermark import StreamWatermark
from static_data.files.on_error import OnError
from static_data.jvm import extension
from static_data.mappings.rows import ArrowRows, JsonRows, along
from static_data.terms import Iri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext.runtime.parts.engine_parts import EngineParts

logger = logging.getLogger(__name__)

_BLOCK_ROWS = 1 << 18


class MappedStream(Stream):
    """A stream that is registered with a mapping; its elements are rows, pushed as tables or read from a source.

    The element of a row has the quads that the mapping stands for on a table of this row alone, with the rows of other
    sources that it joins with. A row of which a term cannot be made, or that has no time, is set aside or an error, as
    the stream's `on_error` has it. Elements may be pushed as triples, too.
    """

    def __init__(
        self,
        parts: EngineParts,
        iri: str,
        watermark: StreamWatermark,
        evaluations: Evaluations,
        derived: Container[str],
        on_error: OnError,
        mapping: ElementMapping,
        lateness: StreamLateness | None = None,
    ) -> None:
        super().__init__(parts, iri, watermark, evaluations, derived, on_error, lateness)
        self.mapping = mapping
        self.record_layout = hashlib.sha256(mapping.program.json.encode()).hexdigest()
        distinct = parts.settings.duplicates == "bag"
        made = extension(parts.spark).mapped.MappedStream(self._log, mapping.program.json, distinct)
        self._mapped: Any = made
        # Those of which a row may have several are left out.
        self.record_stars = tuple(
            tuple(RecordTriple(Iri(predicate[1:-1]), term, bare) for predicate, term, bare in star)
            for star in json.loads(self._log.recordStars())
        )

    def push_table(
        self, table: object, *, position: object = None, **columns: object
    ) -> PushReport:
        """Push the rows of a table, one element each.

        It is a pyarrow Table or RecordBatch, a pandas, Polars or Spark DataFrame; which columns are read the mapping
        says, so none is named here. Evaluations that become due are run when all
        rows are in. Raises MappingError for a column that is not there, StreamElementError for a row where the stream
        does not set aside what is malformed. For `position` see `Stream.push`.
        """
        if columns:
            raise StreamElementError(
                f"{', '.join(columns)}: which columns of <{self.iri}> are read, its mapping says"
            )
        return self._push(self._arrow_rows(table), position)

    def push_rows(self, rows: Iterable[Any], position: object = None) -> PushReport:
        """Push rows that are JSON values, such as dictionaries with lists and dictionaries in them; see `push_table`.

        Of a mapping with an iterator they are the documents that it iterates over.
        """
        if isinstance(rows, str | bytes | dict) or not isinstance(rows, Iterable):
            raise check.wrong("rows", "a list of dictionaries", rows)
        return self._push(self._json_rows(list(rows)), position)

    def push_columns(self, columns: pa.Table) -> PushReport:
        """Push rows as `mapped_columns.columns_of` leaves them, the rows of one element together."""
        with self._fed():
            return self._take_rows([columns])

    def sequence(self, number: int, name: str, in_time_order: bool, look_ahead: int) -> Any:
        """A file of rows that is replayed as stream `number`, block by block; see RowSequence.scala."""
        return self._mapped.sequence(number, name, in_time_order, look_ahead)

    def read(
        self,
        frame: DataFrame,
        checkpoint: str | None = None,
        format: str = "auto",
        real_time: str | None = None,
    ) -> StreamingQuery:
        """Feed the stream from a streaming DataFrame with the columns that the mapping reads."""
        from sparkext.runtime.streams.structured_source import read_rows

        if checkpoint is not None:
            checkpoint = str(check.path("checkpoint", checkpoint))
        if format != "auto":
            raise StreamElementError(f"format: what rows of <{self.iri}> are, its mapping says")
        if real_time is not None:
            raise StreamElementError(
                f"real_time: rows of <{self.iri}>, which has a mapping, are read in micro-batches"
            )
        self._parts.check_open()
        self._check_nobody_makes_it()
        return read_rows(self, frame, checkpoint)

    def batch_of_rows(self, source: Hashable, number: int, batch: DataFrame) -> Taking:
        """As `batch`, of rows that the mapping reads."""
        parts = list(self._columns(self._arrow_rows(batch.toArrow())))
        return self._once(source, number, lambda: self._take_rows(parts))

    def _arrow_rows(self, given: object) -> ArrowRows | JsonRows:
        table = table_of("table", given)
        source = self.mapping.rows.source
        if source.iterator:
            return self._json_rows(table.to_pylist())
        return ArrowRows(table, source, source.place)

    def _json_rows(self, documents: Sequence[Any]) -> JsonRows:
        source = self.mapping.rows.source
        if source.iterator:
            documents = [row for document in documents for row in along(document, source.iterator)]
        return JsonRows(documents, source)

    def _push(self, rows: ArrowRows | JsonRows, position: object) -> PushReport:
        if position is not None:
            check.plain("position", position)
        parts = list(self._columns(rows))
        with self._fed(position):
            return self._take_rows(parts)

    def _columns(self, rows: ArrowRows | JsonRows) -> Iterator[pa.Table]:
        """What the JVM reads of the rows, in blocks; all in one where one that is malformed refuses all."""
        step = _BLOCK_ROWS if self.on_error is OnError.SKIP else max(1, len(rows))
        for first in range(0, len(rows), step):
            part = rows.slice(first, step)
            yield columns_of(part, self.mapping.program.columns, self.mapping.time, first)

    def _take_rows(self, parts: Iterable[pa.Table]) -> PushReport:
        handover = self._parts.room.handover
        whole = self.on_error is not OnError.SKIP

        def take(rules: str) -> Iterator[str]:
            for part in parts:
                length = handover.write(row_block(part))
                yield handover.answer(self._mapped.take(handover.jvm, length, whole, rules))

        self.hand_over()
        return self._taken(take)
