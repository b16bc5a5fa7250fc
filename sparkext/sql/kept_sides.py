"""What the extension keeps of the static data of unchanged streaming jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sparkext.session import require_extension
from static_data.jvm import extension

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class KeptSide:
    """A static side of joins with streams, read once for all micro-batches that find the same data.

    `bytes` counts its rows and indexes; `uses` the plans of micro-batches that it served; `queries` are the ids of the
    streaming queries that it served last.
    """

    side: str
    rows: int
    bytes: int
    read_ms: int
    since: datetime
    uses: int
    queries: tuple[str, ...]


def kept_sides(spark: SparkSession) -> list[KeptSide]:
    """The static sides that the application of `spark` keeps, the least recently used first.

    Raises ArgumentError when `spark` is no session, SessionError when it lacks the extension.
    """
    require_extension(spark)
    report = extension(spark).kept.KeptSidesReport
    return [
        KeptSide(
            side=one["side"],
            rows=one["rows"],
            bytes=one["bytes"],
            read_ms=one["read_ms"],
            since=datetime.fromtimestamp(one["since_ms"] / 1000, tz=UTC),
            uses=one["uses"],
            queries=tuple(one["queries"]),
        )
        for one in json.loads(report.listed(spark._jsparkSession))
    ]
