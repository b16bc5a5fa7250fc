"""Structured Streaming as a source of rows: batches of a streaming DataFrame of any columns, for a mapped stream."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import DataFrame

from sparkext.runtime.streams.structured_source import Batched, StreamSourceError, fed_by_batches

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class FedRows(Batched, Protocol):
    """A stream that takes batches of rows with a number, each once."""

    def apply_rows(self, source: Hashable, batch_id: int, batch: DataFrame) -> bool: ...


def read_rows(stream: FedRows, frame: DataFrame, checkpoint: str | None = None) -> StreamingQuery:
    """Feed `stream` from a streaming DataFrame whose columns a mapping reads; the result starts at once.

    For `checkpoint` and for what becomes of errors see `structured_source`. Raises StreamSourceError.
    """
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        said = "one that is not streaming" if isinstance(frame, DataFrame) else type(frame).__name__
        raise StreamSourceError(
            f"a source is a streaming DataFrame, not {said}: push_table takes tables"
        )
    return fed_by_batches(stream, frame, checkpoint, stream.apply_rows)
