"""Kafka as a streaming DataFrame, by Spark's own connector where the session has it, else by a data source of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError, SourceError
from sparkext.sources.extras import library
from sparkext.sources.frames import elements, rows
from sparkext.sources.rdf_messages import TIMES
from static_data.jvm import java_class
from static_data.loading.python_workers import driver_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

NAME = "cqels-kafka"
_SPARK_S_OWN = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
ROWS = ("json", "csv", "avro")
# What is read by the JVM as it is.
DOCUMENTS = ("documents", "nquads", "trig")


def kafka(
    spark: SparkSession,
    servers: str,
    topics: str | Sequence[str],
    *,
    format: str | None = None,
    time: str = "payload",
    schema: str | StructType | None = None,
    starting: str | Mapping[str, Mapping[int, int]] = "latest",
    max_records: int | None = None,
    fail_on_data_loss: bool = True,
    connector: str = "auto",
    options: Mapping[str, str] | None = None,
    avro_schema: str | Path | dict[str, Any] | None = None,
    wire: bool = False,
) -> DataFrame:
    """The messages of topics as a streaming DataFrame that can feed a stream: `register_stream(iri, source=...)`.

    Without `format` it has Kafka's columns: key, value, topic, partition, offset, timestamp, timestampType; values are
    then documents of N-Quads or TriG. With a format of RDF see `elements`, and for `time`; with "json", "csv" or
    "avro", for a stream with a mapping, see `rows`, and for `schema`, `avro_schema` and `wire`.

    `starting` is where a query without a checkpoint begins: "earliest", "latest", or offsets by topic and partition
    (-2: earliest, -1: latest). A batch has `max_records` at most. Where messages were deleted before they were read,
    the query ends, unless not `fail_on_data_loss`. `options` are settings of the client ("security.protocol", ...).
    `connector` is "spark" (spark-sql-kafka-0-10 must be in the session), "python" (needs confluent-kafka, and Spark 4.2
    or newer) or "auto". Raises ArgumentError, MissingLibraryError, SourceError.
    """
    if not isinstance(spark, SparkSession):
        raise check.wrong("spark", "a Spark session", spark)
    named = topics_of(topics)
    checked_servers(servers)
    if max_records is not None and check.whole("max_records", max_records) < 1:
        raise ArgumentError("max_records", f"must be above 0, not {max_records}")
    check.flag("fail_on_data_loss", fail_on_data_loss)
    check.flag("wire", wire)
    if format is not None:
        check.text("format", format)
    if check.text("time", time) not in TIMES:
        raise ArgumentError("time", f"must be one of {', '.join(TIMES)}, not {time!r}")
    if format not in ROWS and not (schema is None and avro_schema is None):
        wrong = "schema" if schema is not None else "avro_schema"
        raise ArgumentError(wrong, f"for rows: format {', '.join(ROWS)}")
    settings = client_settings(options)
    chosen = kafka_connector(spark, connector)
    reader = spark.readStream.format("kafka" if chosen == "spark" else NAME)
    reader = reader.option("kafka.bootstrap.servers", servers).option("subscribe", ",".join(named))
    reader = reader.option("startingOffsets", _starting(starting))
    reader = reader.option("failOnDataLoss", str(fail_on_data_loss).lower())
    if max_records is not None:
        reader = reader.option("maxOffsetsPerTrigger", str(max_records))
    for key, value in settings.items():
        reader = reader.option(f"kafka.{key}", value)
    frame = reader.load()
    if format in ROWS:
        if schema is None:
            raise ArgumentError("schema", f"rows of {format} need columns and their types")
        return rows(frame, format, schema, avro_schema=avro_schema, wire=wire)
    if format is None or (format in DOCUMENTS and time == "payload"):
        return frame
    return elements(frame, format, time)


def topics_of(topics: object) -> list[str]:
    """Names of topics, of one name or several."""
    wanted = "the name of a topic, or a list of names"
    given = [topics] if isinstance(topics, str) else topics
    if not isinstance(given, Sequence) or isinstance(given, bytes) or not given:
        raise check.wrong("topics", wanted, topics)
    for name in given:
        # What Kafka itself allows.
        if re.fullmatch(r"[A-Za-z0-9._-]{1,249}", check.text("topics", name, wanted)) is None:
            raise ArgumentError("topics", f"{name!r} cannot be the name of a topic")
    return list(given)


def checked_servers(servers: object) -> str:
    """Addresses of brokers, divided by commas."""
    wanted = "addresses such as host:9092, divided by commas"
    text = check.text("servers", servers, wanted)
    if re.fullmatch(r"[^\s,]+(,[^\s,]+)*", text) is None:
        raise check.wrong("servers", wanted, text)
    return text


def client_settings(options: object) -> dict[str, str]:
    """Settings of a client of Kafka, without the prefix "kafka."."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise check.wrong("options", "settings of the client by name", options)
    return {
        check.text("options", key).removeprefix("kafka."): str(value)
        for key, value in options.items()
    }


def kafka_connector(spark: SparkSession, connector: str = "auto") -> str:
    """Whose connector a session uses, "spark" or "python", which is registered in it then.

    Raises ArgumentError, MissingLibraryError, SourceError.
    """
    check.text("connector", connector)
    if connector not in ("auto", "spark", "python"):
        raise ArgumentError("connector", f"must be auto, spark or python, not {connector!r}")
    has_own = has_spark_connector(spark)
    if connector == "spark" and not has_own:
        raise SourceError(
            "the session has no spark-sql-kafka-0-10: start it with spark.jars.packages="
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}, where there is one"
        )
    if connector == "spark" or (connector == "auto" and has_own):
        return "spark"
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 2):
        raise SourceError(
            f"on Spark {spark.version}, Kafka needs Spark's own connector: start the session with"
            f" spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
        )
    library("confluent_kafka", "kafka", "a Kafka source without Spark's own connector")
    from sparkext.sources.kafka_reader import KafkaDataSource

    with driver_python(spark), _active(spark):
        spark.dataSource.register(KafkaDataSource)
    return "python"


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Spark looks in the active session, not in this one, whether a name is taken."""
    sessions = java_class(spark.sparkContext._jvm, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def has_spark_connector(spark: SparkSession) -> bool:
    """Whether the session can load Spark's own connector."""
    jvm: Any = spark._jvm
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    try:
        loader.loadClass(_SPARK_S_OWN)
    except Exception:  # py4j's, of a class that is not found
        return False
    return True


def _starting(starting: object) -> str:
    if starting in ("earliest", "latest"):
        return str(starting)
    wanted = 'earliest, latest, or offsets such as {"topic": {0: 17}}'
    if not isinstance(starting, Mapping) or not starting:
        raise check.wrong("starting", wanted, starting)
    for topic, offsets in starting.items():
        topics_of(topic)
        if not isinstance(offsets, Mapping):
            raise check.wrong(f"starting[{topic!r}]", "offsets by partition", offsets)
        for partition, offset in offsets.items():
            check.whole(f"starting[{topic!r}]", partition)
            check.whole(f"starting[{topic!r}][{partition}]", offset)
    return json.dumps({t: {str(p): o for p, o in by.items()} for t, by in starting.items()})
