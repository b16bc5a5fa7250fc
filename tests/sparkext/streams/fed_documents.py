"""Documents of RDF into a stream, as a micro-batch of a streaming DataFrame brings them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkext.runtime.streams.numbered_batches import Entry
from sparkext.runtime.streams.source_documents import SourceDocuments
from static_data.files.on_error import OnError
from static_data.files.reading import Reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.streams.stream import Stream

_BATCHES = count()


def feed(
    spark: SparkSession,
    stream: Stream,
    documents: Sequence[bytes | None],
    format: str = "auto",
    parts: int = 1,
) -> None:
    """Push documents as one batch, in so many partitions."""
    table = pa.table({"value": pa.array(documents, pa.binary())})
    batch = spark.createDataFrame(table).coalesce(parts)
    on_error = OnError.ACCEPT if stream.accepts else OnError.SKIP
    source = SourceDocuments(format, Reading(stream.rdf, on_error))
    batch = source.prepared(batch)
    taking = stream.batch("source", next(_BATCHES), lambda room: source.read(room, batch))
    assert taking(Entry())
