"""Answers to Kafka and MQTT, with real brokers: each instant once by transactions, and a broker that goes away."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.errors import ArgumentError, SourceError
from sparkext.sinks import KafkaSink, MqttSink, RetryingSink
from sparkext.sources.backoff import Backoff
from tests.sparkext.sinks.answering import OTHER, Q, construct, select
from tests.sparkext.sources.servers import MqttBroker

if TYPE_CHECKING:
    from tests.sparkext.sources.kafka_broker import KafkaBroker


def keys(kafka: KafkaBroker, topic: str) -> list[tuple[str, str]]:
    """Keys and revisions of the committed messages, those of a query in their order."""
    found = []
    for message in kafka.messages(topic):
        headers = dict(message.headers())
        assert message.key().decode().startswith(headers["query"].decode())
        found.append((message.key().decode(), headers["revision"].decode()))
    return sorted(found, key=lambda one: one[0].split()[0])


def test_each_instant_once_by_a_sink_that_is_made_anew(kafka: KafkaBroker) -> None:
    topic = kafka.topic(2)
    sink = KafkaSink(kafka.servers, topic)
    for answers in (select(1000, "a"), select(1000, "x", query=OTHER), select(2000, sequence=2)):
        sink(answers)
    again = KafkaSink(kafka.servers, topic)  # after a restart
    for answers in (
        select(1000, "a"),
        select(2000, sequence=2),
        select(3000, "c", sequence=3),
        select(1000, "b", revision=1),
        select(1000, "x", query=OTHER),
        select(1000, "b", revision=1),
    ):
        again(answers)
    assert keys(kafka, topic) == [
        (f"{OTHER} 1000", "0"),
        (f"{Q} 1000", "0"),
        (f"{Q} 2000", "0"),
        (f"{Q} 3000", "0"),
        (f"{Q} 1000", "1"),
    ]
    told = json.loads(kafka.messages(topic)[0].value())
    assert (told["query"], told["sequence"]) in [(Q, 1), (OTHER, 1)]
    # The first has been replaced: it must not send beside the other.
    with pytest.raises(SourceError, match="another sink has the name"):
        sink(select(4000, "d"))
    with pytest.raises(SourceError, match="another sink has the name"):
        sink(select(4000, "d"))
    again(select(4000, "d"))
    assert keys(kafka, topic)[-1] == (f"{Q} 4000", "0")


def test_queries_that_tell_a_sink_at_a_time_take_turns(kafka: KafkaBroker) -> None:
    topic = kafka.topic(1)
    sink = KafkaSink(kafka.servers, topic)
    begin = Barrier(2)

    def tell(query: str) -> None:
        begin.wait()
        for number in range(1, 21):
            sink(select(number * 1000, "a", query=query))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(tell, (OTHER, Q)))
    expected = [(f"{query} {number}000", "0") for query in (OTHER, Q) for number in range(1, 21)]
    assert keys(kafka, topic) == expected


def test_all_that_a_late_element_changed_once(kafka: KafkaBroker) -> None:
    """More than the broker notes, of which a sink that is made anew knows the newest."""
    topic = kafka.topic(1)
    sink = KafkaSink(kafka.servers, topic)
    times = [1_700_000_000_000 + second * 1000 for second in range(400)]
    for time in (*times, *times):
        sink(select(time, "b", revision=1))
    again = KafkaSink(kafka.servers, topic)
    for time in times[-250:]:
        again(select(time, "b", revision=1))
    assert keys(kafka, topic) == [(f"{Q} {time}", "1") for time in times]


def test_a_broker_that_goes_away_gets_each_instant_once(kafka: KafkaBroker) -> None:
    topic = kafka.topic(1)
    sink = RetryingSink(KafkaSink(kafka.servers, topic), attempts=None, backoff=Backoff(0.2, 1))
    for number in range(1, 11):
        if number == 5:
            kafka.stop(kill=True)
            kafka.start()
        sink(select(number * 1000, "a", sequence=number))
    assert keys(kafka, topic) == [(f"{Q} {number}000", "0") for number in range(1, 11)]


def test_elements_without_transactions(kafka: KafkaBroker) -> None:
    topic = kafka.topic(1)
    with KafkaSink(kafka.servers, topic, format="nquads", exactly_once=False) as sink:
        sink(construct(1000, "a"))
        sink(construct(2000))  # no triples, no element
        sink(construct(1000, "a"))
    first, second = kafka.messages(topic)
    assert first.value() == second.value()
    assert first.key() == second.key()
    assert first.value().decode().splitlines() == [
        f"<http://e/a> <http://e/p> _:b <{Q}#1000> .",
        f'<{Q}#1000> <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:01.000Z"'
        "^^<http://www.w3.org/2001/XMLSchema#dateTime> .",
    ]


def test_a_topic_that_is_not_there_is_told(kafka: KafkaBroker) -> None:
    sink = KafkaSink(kafka.servers, "not.there", options={"allow.auto.create.topics": "false"})
    with pytest.raises(SourceError, match=r"not\.there: "):
        sink(select(1000, "a"))


def test_answers_are_published(tmp_path: Any) -> None:
    pytest.importorskip("paho.mqtt", reason="the extra mqtt is not installed")
    from paho.mqtt.subscribe import simple

    broker = MqttBroker(tmp_path)
    broker.start()
    with MqttSink(f"{broker.url}/answers", retain=True) as sink:
        sink(select(1000, "a"))
        broker.stop()
        with pytest.raises(SourceError, match="answers: "):
            sink(select(2000, "b"))
        broker.start()
        sink(select(2000, "b"))
    message = simple("answers", hostname="127.0.0.1", port=broker.port)
    assert json.loads(message.payload)["time"] == "1970-01-01T00:00:02.000Z"
    broker.stop()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KafkaSink("h:1", "a b"), "topics: 'a b' cannot"),
        (lambda: KafkaSink("h:1", "t", format="xml"), "format: must be one of json, nquads, trig"),
        (lambda: KafkaSink(5, "t"), "servers: must be"),  # type: ignore[arg-type]
        (lambda: KafkaSink("h:1", "t", exactly_once=1), "exactly_once: must be True"),  # type: ignore[arg-type]
        (lambda: MqttSink("mqtt://h"), "url: must be a URL such as mqtt://host:port/name"),
        (lambda: MqttSink("mqtt://h/a/#"), "url: .* without"),
        (lambda: MqttSink("mqtt://h/a", qos=5), "qos: must be"),
    ],
)
def test_odd_arguments_are_refused(make: Any, message: str) -> None:
    pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")
    with pytest.raises(ArgumentError, match=message):
        make()
