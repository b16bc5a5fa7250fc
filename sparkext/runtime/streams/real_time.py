"""Spark's real-time mode as a source: each row goes to the stream as it comes, not with the end of a batch.

Tasks hand rows over within the driver's process, and a thread has the stream take in what waits, so that its windows
move within milliseconds. Where tasks run in other processes there is no such way: that is refused. A long batch of
Spark's ends when the stream has taken in all of its rows.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Protocol

from sparkext.errors import CqelsError, first_line
from sparkext.runtime.streams.numbered_batches import AppliedBatches, BegunBatch
from sparkext.runtime.streams.structured_source import (
    TERM_COLUMNS,
    StreamSourceError,
    checked_format,
    drop_unfinished,
    unfinished_batch,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext.bridge.engine_room import EngineRoom

logger = logging.getLogger(__name__)

# How long a thread may not see that its query has ended.
_LOOK_MS = 200


class LiveStream(Protocol):
    """A stream that takes rows which tasks have handed over."""

    iri: str
    batches: AppliedBatches
    sources: list[StreamingQuery]

    def take_live(self, source: Hashable, rows: Any) -> int: ...

    def wait_kept(self) -> None: ...

    def begun_by(self, source: Hashable) -> tuple[int, BegunBatch]: ...


def read_real_time(
    stream: LiveStream,
    frame: DataFrame,
    room: EngineRoom,
    duration: str,
    checkpoint: str | None = None,
) -> StreamingQuery:
    """Feed `stream` from a streaming DataFrame in real-time mode, with long batches of `duration` ("5 minutes").

    The DataFrame has the columns subject, predicate, object, time and, if wanted, graph, as `read_stream` has them.
    Each row is an element, or part of one with those of the same graph and time that came since the last look.

    Raises StreamSourceError: for other columns, on a cluster, whose tasks run elsewhere, and with a checkpoint for rows
    that are shuffled, joined or aggregated before, and for a micro-batch that has not ended.
    """
    if checked_format(frame, "columns") != "columns":  # pragma: no cover
        raise StreamSourceError("real_time: a source of columns is wanted")
    if room.executors_apart:
        raise StreamSourceError(
            "real_time: tasks of a cluster run in other processes than the stream; read it in"
            " micro-batches, or use a local master"
        )
    # Without a checkpoint no batch is read again.
    if checkpoint is not None and (mixing := room.jvm.mixesRows(frame._jdf)) is not None:
        raise StreamSourceError(
            f"real_time with a checkpoint: {mixing} mixes the rows of partitions, so that none is"
            " known when it is read again"
        )
    named = [name for name in TERM_COLUMNS if name in frame.columns]
    writer: Any = frame.select(*named, "time").writeStream.outputMode("update")
    # The JVM's own: Python's trigger(realTime=...) came with Spark 4.2, a version later than the mode.
    triggers: Any = getattr(frame.sparkSession._jvm, "org.apache.spark.sql.streaming.Trigger")
    writer._jwrite.trigger(triggers.RealTime(duration))
    if checkpoint is not None:
        drop_unfinished(frame.sparkSession, checkpoint)
        _check_ended(stream, frame, checkpoint)
        writer = writer.option("checkpointLocation", checkpoint)
    rows = room.live_rows(named)
    try:
        writer._jwrite.foreach(rows.writer())
        query: StreamingQuery = writer.start()
    except BaseException:
        rows.close()
        raise
    threads = stream.batches.threads
    given = (stream, query, rows, threads.get(query.id))
    thread = threading.Thread(target=_feed, args=given, name=f"real-time {stream.iri}", daemon=True)
    threads[query.id] = thread
    thread.start()
    stream.sources.append(query)
    return query


def _check_ended(stream: LiveStream, frame: DataFrame, checkpoint: str) -> None:
    """Spark would forget the offsets of a micro-batch that has come in and has not ended, and read it with others."""
    found = unfinished_batch(frame.sparkSession, checkpoint)
    if found is None:
        return
    source, number = found
    if source not in stream.batches.begun and stream.batches.has(source, number):
        raise StreamSourceError(
            f"real_time: batch {number} in {checkpoint} was begun as a micro-batch, and can only end as one"
        )


def _feed(
    stream: LiveStream, query: StreamingQuery, rows: Any, before: threading.Thread | None
) -> None:
    """Have the stream take in what waits until its query has ended, after a thread that did so for this source."""
    try:
        if before is not None:
            before.join()
        number, begun = stream.begun_by(query.id)
        had = ",".join(f"{partition},{count}" for partition, count in begun.rows.items())
        rows.begin(number, begun.partitions, begun.ended, had)
        taken, active = 0, True
        while active:
            active = query.isActive  # what comes before it has ended is taken in
            while getattr(rows, "await")(_LOOK_MS):
                taken += stream.take_live(query.id, rows)
                if rows.isEnding():
                    stream.wait_kept()
                    rows.tookIn(taken)
                    taken = 0
    except Exception as error:
        if not isinstance(error, CqelsError):
            logger.exception("stream <%s>: real-time rows are taken in no more", stream.iri)
        rows.fail(first_line(error))
    finally:
        rows.close()
        if stream.batches.threads.get(query.id) is threading.current_thread():
            del stream.batches.threads[query.id]
