"""Kafka as a data source of PySpark's, for sessions without Spark's own connector: `confluent-kafka` in Python workers.

Offsets are those of Kafka, by topic and partition, in Spark's checkpoint; no consumer group is committed to. A broker
that does not answer ends nothing: no new messages are seen until it does, and tasks wait for what they were to read.
"""

from __future__ import annotations

import json
import logging
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import Row, StructType

from sparkext.errors import SourceError
from sparkext.s2r.event_time import GREATEST_TIME
from sparkext.sources.extras import library
from sparkext.sources.kafka_offsets import Offsets, begin_of, begun_anew, dealt

logger = logging.getLogger(__name__)

SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,"
    " timestampType INT"
)
_TYPES = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
_WHAT = "the Kafka source"
_EARLIEST, _LATEST = -2, -1
_ASK_SECONDS = 10.0
_POLL_SECONDS = 1.0
_QUICK_SECONDS = 5.0
_BLOCK = 2000
# How long a task waits for messages that are there, while nothing comes.
_PATIENCE_SECONDS = 600.0
# Kafka's types of a message's time (none, of its making, of its being appended), as Spark numbers them.
_NO_TIME = -1


class KafkaDataSource(DataSource):
    """The format "cqels-kafka": options are named as those of Spark's connector."""

    @classmethod
    def name(cls) -> str:
        return "cqels-kafka"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> KafkaStreamReader:  # noqa: N802
        return KafkaStreamReader(dict(self.options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> KafkaStreamWriter:  # noqa: N802
        return KafkaStreamWriter(dict(self.options), schema)


@dataclass
class TopicRange(InputPartition):
    """The messages of a partition from an offset up to another."""

    topic: str
    partition: int
    begin: int
    end: int


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Which messages there are, dealt to micro-batches and read by tasks."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {key.lower(): value for key, value in options.items()}
        self._topics = [t for t in given.get("subscribe", "").split(",") if t]
        self._starting = given.get("startingoffsets", "latest")
        self._most = int(given["maxoffsetspertrigger"]) if "maxoffsetspertrigger" in given else None
        self._fails = given.get("failondataloss", "true") != "false"
        self._settings = client_settings(given)
        self._final: Offsets | None = None
        self._asking: Any = None
        self._unanswered = 0

    # ---- on the driver

    def initialOffset(self) -> Offsets:  # noqa: N802
        kafka = _kafka()
        begun = clock.monotonic()
        while True:
            try:
                return self._initial()
            except kafka.KafkaException as problem:
                error = problem.args[0]
                unknown = error.code() == kafka.KafkaError.UNKNOWN_TOPIC_OR_PART
                if unknown or clock.monotonic() - begun > _PATIENCE_SECONDS:
                    said = "no such topic" if unknown else "Kafka does not answer"
                    raise SourceError(f"{', '.join(self._topics)}: {said}: {error.str()}") from None
                logger.warning("Kafka does not answer, asked again: %s", error.str())
                clock.sleep(_POLL_SECONDS)

    def _initial(self) -> Offsets:
        stated = json.loads(self._starting) if self._starting.startswith("{") else {}
        found: Offsets = {}
        for topic, partition, low, high in self._bounds():
            wanted = stated.get(topic, {}).get(str(partition))
            if wanted is None:
                wanted = _EARLIEST if self._starting == "earliest" or stated else _LATEST
            at = low if wanted == _EARLIEST else high if wanted == _LATEST else int(wanted)
            found.setdefault(topic, {})[str(partition)] = at
        return found

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self._most is None else ReadMaxRows(self._most)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        there = self._final if self._final is not None else self._asked(start)
        for topic, partition, known, until in begun_anew(start, there):
            said = (
                f"{topic}/{partition}: ends at offset {until}, before offset {known} up to which it was read:"
                " messages were deleted, or the topic was begun anew"
            )
            if self._fails:
                raise SourceError(f"{said} (failOnDataLoss=false goes on from its first message)")
            logger.warning("%s; it is read from its first message", said)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return there if most is None else dealt(start, there, most)

    def _asked(self, start: Offsets) -> Offsets:
        """What is new, nothing if no broker answers: it will be asked again, and a query that waits is not ended."""
        begun = clock.monotonic()
        while True:
            try:
                found = self._newest(start)
                if any(begun_anew(start, found)) and clock.monotonic() - begun < _QUICK_SECONDS:
                    clock.sleep(_POLL_SECONDS / 4)  # a new leader may not know all yet
                    continue
            except _kafka().KafkaException as error:
                if clock.monotonic() - begun < _QUICK_SECONDS:
                    clock.sleep(_POLL_SECONDS / 4)  # a leader is being chosen, for example
                    continue
                self._unanswered += 1
                if self._unanswered in (1, 10, 100):
                    logger.warning(
                        "Kafka does not answer, what is new will be asked again: %s", error
                    )
                return start
            self._unanswered = 0
            return found

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._final = self._newest({})

    def reportLatestOffset(self) -> Offsets | None:  # noqa: N802
        return None

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[TopicRange]:
        ranges = []
        for topic, ends in end.items():
            for partition, until in ends.items():
                begin = begin_of(start, topic, partition, until)
                if begin < until:
                    ranges.append(TopicRange(topic, int(partition), begin, until))
        return ranges

    def _newest(self, start: Offsets) -> Offsets:
        found: Offsets = {topic: dict(by) for topic, by in start.items()}
        for topic, partition, _, high in self._bounds():
            found.setdefault(topic, {})[str(partition)] = high
        return found

    def _bounds(self) -> Iterator[tuple[str, int, int, int]]:
        """Topic, partition, first offset and the one after the last, of all partitions."""
        kafka = _kafka()
        if self._asking is None:
            self._asking = kafka.Consumer(self._settings, logger=logger)
        for topic in self._topics:
            told = self._asking.list_topics(topic, timeout=_ASK_SECONDS).topics[topic]
            if told.error is not None:
                raise kafka.KafkaException(told.error)
            for partition in sorted(told.partitions):
                place = kafka.TopicPartition(topic, partition)
                low, high = self._asking.get_watermark_offsets(place, timeout=_ASK_SECONDS)
                yield topic, partition, low, high

    def stop(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_asking": None}  # a client lives in one process

    # ---- in tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TopicRange)
        kafka = _kafka()
        place = f"{partition.topic}/{partition.partition}"
        consumer = kafka.Consumer(self._settings, logger=logger)
        try:
            at = partition.begin
            consumer.assign([kafka.TopicPartition(partition.topic, partition.partition, at)])
            heard = clock.monotonic()
            while at < partition.end:
                came = consumer.consume(min(_BLOCK, partition.end - at), _POLL_SECONDS)
                block: list[Any] = []
                for message in came:
                    error = message.error()
                    if error is None:
                        if at == partition.begin < message.offset() and not block:
                            self._check_begin(consumer, partition, message.offset())
                        at = message.offset() + 1
                        if message.offset() < partition.end:
                            block.append(message)
                    elif error.code() == kafka.KafkaError._PARTITION_EOF:
                        # What is left of the range holds no messages: it was compacted, or is of a transaction.
                        at = max(at, partition.end if message.offset() >= partition.end else at)
                    elif error.code() in (
                        kafka.KafkaError.OFFSET_OUT_OF_RANGE,
                        kafka.KafkaError._AUTO_OFFSET_RESET,
                    ):
                        at = self._after_loss(consumer, partition, at)
                    elif error.fatal() or not _may_pass(kafka, error):
                        raise SourceError(f"{place}: {error.str()}")
                if came and any(m.error() is None for m in came):
                    heard = clock.monotonic()
                elif clock.monotonic() - heard > _PATIENCE_SECONDS:
                    raise SourceError(
                        f"{place}: offset {at} did not come within {_PATIENCE_SECONDS:g} seconds"
                    )
                if block:
                    yield _batch(block)
        finally:
            consumer.close()

    def _check_begin(self, consumer: Any, partition: TopicRange, found: int) -> None:
        """Whether messages before the first one that came have been deleted, and are no gap of a compacted topic."""
        place = _kafka().TopicPartition(partition.topic, partition.partition)
        low, _ = consumer.get_watermark_offsets(place, timeout=_ASK_SECONDS)
        if low > partition.begin:
            self._lost(partition, low)

    def _after_loss(self, consumer: Any, partition: TopicRange, at: int) -> int:
        place = _kafka().TopicPartition(partition.topic, partition.partition)
        low, high = consumer.get_watermark_offsets(place, timeout=_ASK_SECONDS)
        self._lost(partition, low)
        begin = max(at, low) if low <= high and at <= high else partition.end
        if begin < partition.end:
            place.offset = begin
            consumer.assign([place])
        return begin

    def _lost(self, partition: TopicRange, low: int) -> None:
        said = (
            f"{partition.topic}/{partition.partition}: messages from offset {partition.begin} on were deleted before"
            f" they were read; the first that is there has {low}"
        )
        if self._fails:
            raise SourceError(f"{said} (failOnDataLoss=false goes on)")
        logger.error("%s", said)


class _Sent(WriterCommitMessage):
    """A task has sent its rows."""


class KafkaStreamWriter(DataSourceStreamWriter):
    """Sends rows with a `value` and, if wanted, a `key` and a `topic`; at least once, as Spark's connector does."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        given = {key.lower(): value for key, value in options.items()}
        self._settings = producer_settings(given)
        self._topic = given.get("topic")
        self._names = schema.names
        if "value" not in self._names or (self._topic is None and "topic" not in self._names):
            raise SourceError("rows for Kafka need a column value, and a column or option topic")

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        producer = _kafka().Producer(self._settings, logger=logger)
        failed: list[str] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error.str())

        for row in iterator:
            told = row.asDict()
            topic = told.get("topic") or self._topic
            while True:
                try:
                    producer.produce(
                        topic,
                        _content(told["value"]),
                        _content(told.get("key")),
                        on_delivery=delivered,
                    )
                    break
                except BufferError:  # its queue is full
                    producer.poll(_POLL_SECONDS)
            producer.poll(0)
        producer.flush()
        if failed:
            raise SourceError(f"{len(failed)} message(s) were not taken by Kafka: {failed[0]}")
        return _Sent()


def client_settings(given: Mapping[str, str]) -> dict[str, Any]:
    """Settings of a consumer of confluent-kafka, of options in lower case."""
    return {
        "group.id": "cqels",  # asked for by the library; nothing is committed to it
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "allow.auto.create.topics": False,
        "isolation.level": "read_committed",
        **_stated(given),
    }


def producer_settings(given: Mapping[str, str]) -> dict[str, Any]:
    """Settings of a producer of confluent-kafka: no message of a call is doubled or out of order."""
    return {"enable.idempotence": True, "linger.ms": 5, **_stated(given)}


def _stated(given: Mapping[str, str]) -> dict[str, str]:
    prefix = "kafka."
    return {k.removeprefix(prefix): v for k, v in given.items() if k.startswith(prefix)}


def _batch(block: Sequence[Any]) -> pa.RecordBatch:
    times = [message.timestamp() for message in block]
    columns = [
        [message.key() for message in block],
        [message.value() for message in block],
        [message.topic() for message in block],
        [message.partition() for message in block],
        [message.offset() for message in block],
        # One that no timestamp holds, such as of nanoseconds, is none: all would fail with it, each time.
        [ms * 1000 if kind and abs(ms) <= GREATEST_TIME else None for kind, ms in times],
        [kind - 1 if kind else _NO_TIME for kind, _ in times],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _TYPES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_TYPES)


def _content(value: object) -> object:
    return bytes(value) if isinstance(value, bytearray) else value


def _may_pass(kafka: Any, error: Any) -> bool:
    """Whether an error is of a broker that may come back."""
    if error.retriable():
        return True
    passing = ("_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE", "_TIMED_OUT", "_MAX_POLL_EXCEEDED")
    return error.code() in {getattr(kafka.KafkaError, name) for name in passing}


def _kafka() -> Any:
    return library("confluent_kafka", "kafka", _WHAT)
