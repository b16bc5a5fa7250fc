"""Answers as messages of a Kafka topic, by transactions each instant of a query once."""

from __future__ import annotations

import hashlib
import logging
import time as clock
import zlib
from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError, SourceError
from sparkext.runtime.answering.closed_sink import ClosedSink
from sparkext.runtime.answering.delivered import Delivered, revision_of
from sparkext.sinks.payloads import checked_format, payload
from sparkext.sources.extras import library
from sparkext.sources.kafka import checked_servers, client_settings, topics_of

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

logger = logging.getLogger(__name__)

_WHAT = "a Kafka sink"
_SECONDS = 60.0
_PAUSE_SECONDS = 0.2
_WHERE = 0  # the partition at which a query's place is noted
_MOST_NOTED = 4096  # bytes: a broker's offset.metadata.max.bytes, unless it is told otherwise


class KafkaSink(ClosedSink):
    """Sends the answers of each evaluation as one message; `query.subscribe(KafkaSink("host:9092", "answers"))`.

    `format` is "json" or, for CONSTRUCT, "nquads" or "trig": an element of an RDF stream, none for no triples. The key
    is the query and the instant; headers tell `query`, `time`, `sequence` and `revision`. Messages of a query are in
    order, in one partition. It returns when the broker has them.

    With `exactly_once`, each is a transaction that also notes, as the offset of a consumer group of its own, which
    instant of the query it was. A sink that is made anew with the same `name` reads that, and sends no instant again:
    consumers that read committed messages see each (query, instant) once. No two processes may use one name at a time:
    the older one fails then. Without it, messages may come twice, with the same key.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        format: str = "json",
        exactly_once: bool = True,
        name: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        (self._topic,) = topics_of(check.text("topic", topic))
        self._format = checked_format(format)
        check.flag("exactly_once", exactly_once)
        self._exact = exactly_once
        self._name = check.text("name", f"cqels-sink-{topic}" if name is None else name)
        if not self._name:
            raise ArgumentError("name", "must not be empty")
        self._kafka = library("confluent_kafka", "kafka", _WHAT)
        errors = self._kafka.KafkaError
        self._passing = {
            errors.NOT_COORDINATOR,
            errors.COORDINATOR_NOT_AVAILABLE,
            errors.COORDINATOR_LOAD_IN_PROGRESS,
        }
        self._settings = {
            "bootstrap.servers": checked_servers(servers),
            # A transaction of librdkafka's never ends where it looks all brokers up anew in the midst of it.
            "metadata.recovery.strategy": "none",
            **client_settings(options),
        }
        self._producer: Any = None
        self._replaced: str | None = None
        self._members: dict[str, Any] = {}
        self._partitions = 1
        self._delivered: dict[str, Delivered] = {}
        self._lock = RLock()  # a producer has one transaction at a time

    def __call__(self, answers: Answers) -> None:
        """Send the answers of one evaluation; raises SourceError where the broker does not take them."""
        text = payload(answers, self._format)
        if not text and not answers.revision:
            return
        if self._replaced is not None:
            raise SourceError(self._replaced)
        with self._lock:
            self._send(answers, text)

    def _send(self, answers: Answers, text: str) -> None:
        try:
            self._open()
            if not self._exact:
                self._produce(answers, text)
                if self._producer.flush(_SECONDS):
                    raise SourceError(f"{self._topic}: the broker did not answer in {_SECONDS:g} s")
                self._check()
                return
            known = self._known(answers.query)
            if not known.has(answers.time, revision_of(answers)):
                self._transact(answers, text)
        except self._kafka.KafkaException as problem:
            error = problem.args[0]
            if error.fatal():
                self._producer = None
            if error.code() in (
                self._kafka.KafkaError._FENCED,
                self._kafka.KafkaError.PRODUCER_FENCED,
            ):
                # A new producer would end the other one in turn.
                self._replaced = f"{self._topic}: another sink has the name {self._name}"
                raise SourceError(self._replaced) from None
            raise SourceError(f"{self._topic}: {error.str()}") from None

    def _open(self) -> None:
        if self._producer is not None:
            return
        settings = {"enable.idempotence": True, "linger.ms": 0, **self._settings}
        if self._exact:
            settings["transactional.id"] = self._name
        producer = self._kafka.Producer(settings, logger=logger)
        if self._exact:
            producer.init_transactions(_SECONDS)
            self._delivered.clear()  # another sink of the name may have sent more meanwhile
        told = producer.list_topics(self._topic, _SECONDS).topics[self._topic]
        if told.error is not None:
            raise self._kafka.KafkaException(told.error)
        self._partitions = len(told.partitions)
        self._producer = producer

    def _produce(self, answers: Answers, text: str) -> None:
        self._failed: list[str] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                self._failed.append(error.str())

        numbers = ("time", "sequence", "revision")
        headers = [("query", answers.query.encode())]
        headers += [(name, str(getattr(answers, name)).encode()) for name in numbers]
        self._producer.produce(
            self._topic,
            text.encode(),
            f"{answers.query} {answers.time}".encode(),
            partition=zlib.crc32(answers.query.encode()) % self._partitions,
            headers=headers,
            on_delivery=delivered,
        )

    def _check(self) -> None:
        if self._failed:
            raise SourceError(f"{self._topic}: {self._failed[0]}")

    def _transact(self, answers: Answers, text: str) -> None:
        # Beforehand, as after a failure all that is known is asked for anew.
        noted = self._delivered[answers.query]
        noted.note(answers.time, revision_of(answers))
        place = self._kafka.TopicPartition(
            self._topic, _WHERE, max(0, answers.sequence), noted.text(_MOST_NOTED)
        )
        producer = self._producer
        try:
            producer.begin_transaction()
            self._produce(answers, text)
            producer.send_offsets_to_transaction([place], self._member(answers.query), _SECONDS)
            producer.commit_transaction(_SECONDS)
        except BaseException as problem:
            # Whether it was committed is not known where the broker went away: a new producer settles that, and asks.
            self._producer = None
            told = isinstance(problem, self._kafka.KafkaException)
            if told and problem.args[0].txn_requires_abort():
                producer.abort_transaction(_SECONDS)
            raise

    def _known(self, query: str) -> Delivered:
        known = self._delivered.get(query)
        if known is None:
            known = self._delivered[query] = self._noted(query)
        return known

    def _noted(self, query: str) -> Delivered:
        """What the consumer group of a query tells."""
        settings = {**self._settings, "group.id": self._group(query), "enable.auto.commit": False}
        consumer = self._kafka.Consumer(settings, logger=logger)
        try:
            place = self._kafka.TopicPartition(self._topic, _WHERE)
            begun = clock.monotonic()
            while True:
                try:
                    (told,) = consumer.committed([place], _SECONDS)
                    return Delivered.of_text(told.metadata or ";")
                except self._kafka.KafkaException as problem:
                    # Who coordinates a group is being settled, on a cluster that has just begun for example.
                    waited = clock.monotonic() - begun > _SECONDS
                    if waited or problem.args[0].code() not in self._passing:
                        raise
                    clock.sleep(_PAUSE_SECONDS)
        finally:
            consumer.close()

    def _member(self, query: str) -> Any:
        """What stands for the consumer group of a query in a transaction."""
        if query not in self._members:
            settings = {**self._settings, "group.id": self._group(query)}
            consumer = self._kafka.Consumer(settings, logger=logger)
            try:
                self._members[query] = consumer.consumer_group_metadata()
            finally:
                consumer.close()
        return self._members[query]

    def _group(self, query: str) -> str:
        return f"{self._name}.{hashlib.sha256(query.encode()).hexdigest()[:16]}"

    def close(self) -> None:
        """Let go of the connection; all that was sent has arrived."""
        self._producer = None
