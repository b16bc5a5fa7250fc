"""Structured Streaming as a source of rows: batches of a streaming DataFrame of any columns, for a mapped stream."""

from __future__ import annotations

import logging
from collections.abc import Hashable
from threading import Event
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import DataFrame

from sparkext.errors import EvaluationError
from sparkext.runtime.streams.structured_source import StreamSourceError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

logger = logging.getLogger(__name__)


class FedRows(Protocol):
    """A stream that takes batches of rows with a number, each once."""

    iri: str
    sources: list[StreamingQuery]

    def is_applied(self, source: Hashable, batch_id: int) -> bool: ...
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
    options = {} if checkpoint is None else {"checkpointLocation": checkpoint}
    feed = _Feed(stream)
    query = frame.writeStream.foreachBatch(feed).options(**options).start()
    feed.begin(query.id)
    stream.sources.append(query)
    return query


class _Feed:
    """What is called with each micro-batch of one source."""

    def __init__(self, stream: FedRows) -> None:
        self._stream = stream
        self._source = ""
        self._begun = Event()

    def begin(self, query_id: str) -> None:
        """Let the first batch in; the id is kept in the checkpoint, and another one in another checkpoint."""
        self._source = query_id
        self._begun.set()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        stream = self._stream
        self._begun.wait()  # the query may be faster than who starts it
        if stream.is_applied(self._source, batch_id):
            logger.info("stream <%s>: batch %d is known, left out", stream.iri, batch_id)
            return
        try:
            stream.apply_rows(self._source, batch_id, batch)
        except EvaluationError as error:
            # The elements are in; the failing query counts it, and must not take the stream from the others.
            logger.error("stream <%s>, batch %d: %s", stream.iri, batch_id, error)
