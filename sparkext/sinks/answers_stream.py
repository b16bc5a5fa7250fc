"""The answers of a query as a streaming DataFrame, for jobs of Structured Streaming."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from sparkext.argument_checks import check
from sparkext.runtime.answering.sinks import ParquetSink
from sparkext.runtime.registered_query import RegisteredQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def answers_stream(spark: SparkSession, query: RegisteredQuery, folder: str | Path) -> DataFrame:
    """A streaming DataFrame of the answers of a query from now on, by way of a folder of Parquet files.

    Its columns are the instant `time` and an N-Triples text for each variable (`boolean` for ASK). A `writeStream`
    of it with a checkpoint has each instant once. The folder grows; Spark's option cleanSource can empty it.
    """
    if not isinstance(spark, SparkSession):
        raise check.wrong("spark", "a Spark session", spark)
    if not isinstance(query, RegisteredQuery):
        raise check.wrong("query", "a continuous query, as register_query gives it", query)
    place = Path(
        check.path("folder", folder)
    ).absolute()  # Spark may have another working directory
    sink = ParquetSink(place)
    if query.query.form == "ASK":
        columns = ["boolean BOOLEAN"]
    else:
        columns = [f"`{'?time' if v == 'time' else v}` STRING" for v in query.variables]
    reader = spark.readStream.schema(", ".join(["time TIMESTAMP", *columns]))
    frame = reader.parquet(f"file://{place}")  # not as_uri: Spark would take %20 for the name
    query.subscribe(sink)
    return frame
