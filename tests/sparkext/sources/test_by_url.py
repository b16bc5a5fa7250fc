"""Live sources by their URL and options as texts; errors name the option."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from sparkext.errors import ArgumentError
from sparkext.recorded_streams import TIME_PROPERTIES
from sparkext.sources import EventSource, LineSource, MqttSource, WebSocketSource
from sparkext.sources.by_url import KafkaTopics, source_of


def test_each_scheme_has_its_source() -> None:
    mqtt = source_of("mqtt://broker/rooms/#", {"format": "turtle", "qos": "0"}, "mine")
    assert isinstance(mqtt, MqttSource)
    assert (mqtt.client_id, mqtt.format, mqtt.qos) == ("mine", "turtle", 0)
    other = source_of("mqtt://broker/rooms", {"client_id": "theirs"}, "mine")
    assert isinstance(other, MqttSource) and other.client_id == "theirs"
    events = source_of("sse+https://e/x?y=1", {"header.Cookie": "a=b", "events": "a,b"}, "mine")
    assert isinstance(events, EventSource)
    assert (events.url, events.headers, events.events) == (
        "https://e/x?y=1",
        {"Cookie": "a=b"},
        ["a", "b"],
    )
    hello = '{"subscribe": ["rooms", "doors"]}'
    socket = source_of("ws://e/live", {"greeting": hello, "time": "now"}, "mine")
    assert isinstance(socket, WebSocketSource) and socket.greeting == [hello]
    lines = source_of("tls://e:7000", {"ends": "blank line"}, "mine")
    assert isinstance(lines, LineSource) and (lines.url, lines.tls) == ("tcp://e:7000", True)


def test_a_scheme_in_capitals_is_the_same(tmp_path: Path) -> None:
    import trustme

    file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(file)
    lines = source_of("TLS://e:7000", {}, "mine")
    assert isinstance(lines, LineSource) and (lines.url, lines.tls) == ("tcp://e:7000", True)
    plain = source_of("Tcp://e:7000", {}, "mine")
    assert isinstance(plain, LineSource) and (plain.url, plain.tls) == ("tcp://e:7000", False)
    for url, same in (
        ("MQTTS://e/Rooms", "mqtts://e/Rooms"),
        ("WSS://e/Live", "wss://e/Live"),
        ("SSE+HTTPS://e/X", "https://e/X"),
        ("TLS://e:7000", "tcp://e:7000"),
    ):
        found = source_of(url, {"ca": str(file)}, "mine")
        assert isinstance(found, MqttSource | WebSocketSource | EventSource | LineSource)
        assert found.url == same
        assert isinstance(found.tls, ssl.SSLContext) and len(found.tls.get_ca_certs()) == 1


def test_kafka_s_url_has_brokers_and_topics() -> None:
    options = {"kafka.security.protocol": "SSL", "starting": "earliest", "max_records": "10"}
    found = source_of("kafka://a:9092,b:9092/readings,doors", options, "mine")
    assert isinstance(found, KafkaTopics)
    assert (found.servers, found.topics) == ("a:9092,b:9092", ["readings", "doors"])
    assert found.given == {
        "starting": "earliest",
        "max_records": 10,
        "options": {"security.protocol": "SSL"},
    }


def test_a_session_without_a_name_is_its_own_and_ends() -> None:
    first, second = (source_of("mqtt://broker/rooms", {}, None) for _ in range(2))
    assert isinstance(first, MqttSource) and isinstance(second, MqttSource)
    assert first.client_id != second.client_id
    assert (first.expiry, second.expiry) == (0, 0)
    named = source_of("mqtt://broker/rooms", {"client_id": "theirs"}, None)
    assert isinstance(named, MqttSource) and (named.client_id, named.expiry > 0) == ("theirs", True)


def test_what_is_said_of_all_streams_reaches_them(tmp_path: Path) -> None:
    context = tmp_path / "c.jsonld"
    context.write_text('{"@context": {"at": "http://e/at"}}')
    given: dict[str, Any] = {
        "time_properties": ["http://e/at"],
        "contexts": {"http://e/c": context},
    }
    lines = source_of("tcp://e:7000", {}, "mine", **given, accept_iris=True)
    assert isinstance(lines, LineSource) and lines.contexts == {"http://e/c": context}
    assert [*lines.time_properties] == [*TIME_PROPERTIES, "http://e/at"]
    topics = source_of("kafka://e:9092/t", {"format": "trig"}, "mine", **given, accept_iris=True)
    assert isinstance(topics, KafkaTopics)
    assert topics.messages == {
        "time_properties": (*TIME_PROPERTIES, "http://e/at"),
        "contexts": {"http://e/c": context},
        "accept_iris": True,
    }
    with pytest.raises(ArgumentError, match="format: must be nquads, trig or"):
        source_of("kafka://e:9092/t", {}, "mine", **given)


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("ftp://e/x", {}, "url: 'ftp://e/x' begins with none of kafka, mqtt"),
        ("https://e/x", {}, r"url: .*\(server-sent events: sse\+https://"),
        ("rooms.trig", {}, "url: 'rooms.trig' begins with none of"),
        ("kafka://a:9092", {}, "url: must be a URL such as kafka://host:9092/topic"),
        ("kafka://me@a:9092/t", {}, "url: .* accounts are options"),
        ("kafka://a:9092/a b", {}, "topics: 'a b' cannot be the name of a topic"),
        ("mqtt://broker", {}, "url: must be a URL such as mqtt://host:port/name"),
        ("mqtt://broker/t", {"qos": "two"}, "qos: must be a whole number, not 'two'"),
        ("mqtt://broker/t", {"starting": "latest"}, "starting: is no option of mqtt, which has fo"),
        ("mqtt://broker/t", {"kafka.acks": "1"}, "kafka.acks: is no option of mqtt"),
        ("ws://e/live", {"wire": "perhaps"}, "wire: must be true or false, not 'perhaps'"),
        ("sse+http://e/x", {"silence": "long"}, "silence: must be a number, not 'long'"),
        ("wss://e/live", {"ca": "/none.pem"}, "ca: no such file: /none.pem"),
        ("tcp://e", {}, "url: must be a URL such as tcp://host:port"),
    ],
)
def test_what_is_wrong_is_said(url: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        source_of(url, options, "mine")


def test_files_of_certificates_are_read(tmp_path: Path) -> None:
    import trustme

    authority = trustme.CA()
    file, rubbish = tmp_path / "ca.pem", tmp_path / "rubbish.pem"
    authority.cert_pem.write_to_path(file)
    rubbish.write_text("no certificate")
    found = source_of("wss://e/live", {"ca": str(file)}, "mine")
    assert isinstance(found, WebSocketSource) and found.tls is not None
    assert len(found.tls.get_ca_certs()) == 1
    with pytest.raises(ArgumentError, match="ca: cannot be read"):
        source_of("wss://e/live", {"ca": str(rubbish)}, "mine")
    with pytest.raises(ArgumentError, match="ca: 'ws://e/live' is not encrypted"):
        source_of("ws://e/live", {"ca": str(file)}, "mine")
    with pytest.raises(ArgumentError, match="key: is that of a cert"):
        source_of("wss://e/live", {"key": str(file)}, "mine")
