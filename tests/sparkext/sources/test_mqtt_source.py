"""MQTT as a source, with a real broker: acknowledged when taken in, a session that outlives connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from sparkext.errors import ArgumentError
from sparkext.sources import MqttSource
from sparkext.sources.backoff import Backoff
from tests.sparkext.listening import S, settings
from tests.sparkext.sources.messages import ALL, reading, until, values
from tests.sparkext.sources.servers import MqttBroker, MqttScripts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

QUICK = Backoff(0.05, 0.2)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttBroker]:
    pytest.importorskip("paho.mqtt", reason="the extra mqtt is not installed")
    made = MqttBroker(tmp_path_factory.mktemp("mqtt"))
    made.start()
    yield made
    made.stop()


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_messages_come_also_those_of_the_time_between(
    engine: Engine, broker: MqttBroker, version: str
) -> None:
    stream = engine.register_stream(S)
    seen = values(engine)
    topic = f"between/{version}"
    source = MqttSource(
        f"{broker.url}/{topic}/#", f"between {version}", version=version, backoff=QUICK
    )
    feed = source.feed(stream)
    until(lambda: feed.connected, "a subscription")
    broker.publish(f"{topic}/a", reading(1), "rubbish", reading(2))
    until(lambda: stream.accepted_count == 2, "two readings")
    feed.stop()
    broker.publish(f"{topic}/b", *(reading(n) for n in range(3, 40)))
    feed = source.feed(stream)
    until(lambda: stream.accepted_count >= 39, "what the broker has kept")
    feed.stop()
    assert stream.malformed_count == 1
    assert stream.set_aside[0].startswith(f"message on {topic}/a: line 1, ")
    assert seen() == list(range(1, 40))


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_a_session_may_end_with_its_connection(
    engine: Engine, broker: MqttBroker, version: str
) -> None:
    stream = engine.register_stream(S)
    seen = values(engine)
    topic = f"brief/{version}"
    source = MqttSource(
        f"{broker.url}/{topic}", f"brief {version}", version=version, expiry=0, backoff=QUICK
    )
    first = source.feed(stream)
    until(lambda: first.connected, "a subscription")
    broker.publish(topic, reading(1))
    until(lambda: stream.accepted_count == 1, "the first")
    first.stop()
    broker.publish(topic, reading(2))
    second = source.feed(stream)
    until(lambda: second.connected, "a subscription")
    broker.publish(topic, reading(3))
    until(lambda: stream.accepted_count >= 2, "the third")
    second.stop()
    assert seen() == [1, 3]


def test_what_was_not_taken_in_comes_again(engine: Engine, broker: MqttBroker) -> None:
    stream = engine.register_stream(S)
    seen = values(engine)
    source = MqttSource(f"{broker.url}/again", "again", backoff=QUICK)
    feed = source.feed(stream)
    until(lambda: feed.connected, "a subscription")
    stopping = None
    with engine.lock:  # messages are received, and cannot be taken in
        broker.publish("again", *(reading(n) for n in range(1, 6)))
        until(lambda: feed.received > 0, "a message")
        # As if the process had died: the connection goes, without an acknowledgement.
        feed._connection._client.socket().close()  # type: ignore[attr-defined]
        stopping = feed
    until(lambda: stream.accepted_count >= 5, "all five")
    stopping.stop()
    assert seen() == [1, 2, 3, 4, 5]


class Flushed:
    """A sink whose flush fails a number of times."""

    def __init__(self, failing: int) -> None:
        self.failing, self.asked = failing, 0

    def __call__(self, answers: Answers) -> None:
        pass

    def flush(self) -> None:
        self.asked += 1
        if self.asked <= self.failing:
            raise OSError("no space is left")


def test_a_commit_that_fails_is_made_again(
    spark: SparkSession, broker: MqttBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = MqttSource(f"{broker.url}/kept", "kept", backoff=QUICK)
    with (
        settings(spark, **{"checkpoint.interval": "1h"}),
        closing(Engine(spark, checkpoint=tmp_path / "c")) as engine,
    ):
        stream = engine.register_stream(S)
        sink = Flushed(70)  # more than there may be segments that are not written
        engine.register_query(ALL).subscribe(sink)
        feed = MqttSource(f"{broker.url}/kept", "kept", backoff=Backoff(0.005, 0.01)).feed(stream)
        until(lambda: feed.connected, "a subscription")
        broker.publish("kept", reading(1), reading(2))
        until(lambda: sink.asked > sink.failing, "a commit")
        broker.publish("kept", reading(3))
        until(lambda: stream.accepted_count >= 3, "the third")
        feed.stop()
        assert feed.exception() is None
        feed = source.feed(stream)
        until(lambda: feed.connected, "a subscription")
        broker.publish("kept", reading(4))
        until(lambda: stream.accepted_count >= 4, "the fourth")
        feed.stop()
        # All has been acknowledged, and nothing was taken in twice.
        assert (feed.received, stream.accepted_count) == (1, 4)
        said = [
            r.getMessage() for r in caplog.records if "waits, and tries again" in r.getMessage()
        ]
        assert 1 <= len(said) <= 2


def test_a_broker_that_comes_back_goes_on(engine: Engine, broker: MqttBroker) -> None:
    stream = engine.register_stream(S)
    seen = values(engine)
    feed = MqttSource(f"{broker.url}/back", "back", backoff=QUICK).feed(stream)
    until(lambda: feed.connected, "a subscription")
    broker.publish("back", reading(1))
    until(lambda: stream.accepted_count == 1, "the first")
    broker.stop()
    until(lambda: not feed.connected, "the end of the connection")
    broker.start()
    broker.publish("back", reading(2))
    until(lambda: stream.accepted_count >= 2, "the second")
    assert feed.reconnects >= 1
    feed.stop()
    assert seen() == [1, 2]


def test_a_topic_and_a_packet_that_are_none_do_not_end_a_feed(engine: Engine) -> None:
    pytest.importorskip("paho.mqtt", reason="the extra mqtt is not installed")
    say = MqttScripts.message
    no_packet = b"\x32\x01\x00"  # a message that is shorter than the length of its topic
    server = MqttScripts(
        say(b"\xff", 1, reading(1)) + say(b"t", 2, reading(2)) + no_packet,
        say(b"t", 3, reading(3)),
    )
    stream = engine.register_stream(S)
    seen = values(engine)
    feed = MqttSource(f"{server.url}/t", "odd", backoff=QUICK).feed(stream)
    until(lambda: stream.accepted_count == 2, "two readings")
    until(lambda: 3 in server.acknowledged, "the last acknowledgement")
    assert feed.reconnects == 1
    feed.stop()
    server.close()
    assert list(stream.set_aside) == ["message: the name of its topic is not UTF-8"]
    assert seen() == [2, 3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"url": "mqtt://h"}, "url: must be a URL such as mqtt://host:port/name"),
        ({"client_id": ""}, "client_id: a persistent session needs a name"),
        ({"qos": 3}, "qos: must be 0 or 1, not 3"),
        ({"qos": 2}, r"qos: must be 0 or 1 \(2 would lose messages"),
        ({"version": "4"}, "version: must be '3.1.1' or '5'"),
        ({"expiry": -1}, "expiry: must be seconds"),
        ({"tls": True}, "tls: must be an SSLContext"),
    ],
)
def test_odd_arguments_are_refused(given: dict[str, object], message: str) -> None:
    pytest.importorskip("paho.mqtt", reason="the extra mqtt is not installed")
    arguments = {"url": "mqtt://h/t", "client_id": "c", **given}
    with pytest.raises(ArgumentError, match=message):
        MqttSource(**arguments)  # type: ignore[arg-type]
