"""Sources whose connections are encrypted, by an authority of the tests' own: read with its file, refused without."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import sources
from sparkext.sources.backoff import Backoff
from sparkext.sources.by_url import source_of
from sparkext.sources.live_source import LiveSource
from tests.sparkext.listening import S, settings
from tests.sparkext.sources.messages import document, reading, until, values
from tests.sparkext.sources.servers import MqttBroker, event_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

QUICK = Backoff(0.05, 0.2)


@dataclass(frozen=True)
class Authority:
    """Files in PEM: the authority's certificate, that of 127.0.0.1 with its chain, and its key in PKCS #8."""

    ca: Path
    cert: Path
    key: Path

    @property
    def serving(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    trustme = pytest.importorskip("trustme")
    from cryptography.hazmat.primitives import serialization

    folder = tmp_path_factory.mktemp("tls")
    made = Authority(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    issuer = trustme.CA()
    issued = issuer.issue_cert("127.0.0.1")
    issuer.cert_pem.write_to_path(made.ca)
    for blob in issued.cert_chain_pems:
        blob.write_to_path(made.cert, append=True)
    # As Java wants it.
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return made


def with_backoff(source: object) -> LiveSource:
    assert isinstance(source, LiveSource)
    object.__setattr__(source, "backoff", QUICK)
    return source


def check_read(engine: Engine, url: str, ca: Path, expected: list[int]) -> None:
    """What a server sends comes with the authority's file, and not with those of the system."""
    refused = engine.register_stream(f"{S}-refused")
    without = with_backoff(source_of(url, {}, "without"))
    feed = without.feed(refused)
    until(lambda: feed.reconnects or not feed.connected, "an attempt")
    stream = engine.register_stream(S)
    seen = values(engine)
    reader = with_backoff(source_of(url, {"ca": str(ca)}, "reader")).feed(stream)
    until(lambda: stream.accepted_count >= len(expected), "the readings")
    feed.stop()
    reader.stop()
    assert (feed.received, feed.reconnects, refused.accepted_count) == (0, 0, 0)
    assert seen() == expected


def test_events_over_https(engine: Engine, authority: Authority) -> None:
    events = [(f"e{n}", reading(n)) for n in (1, 2, 3)]
    with event_server(events, 3, authority.serving) as (url, _):
        check_read(engine, f"sse+{url}", authority.ca, [1, 2, 3])


@contextmanager
def web_socket_server(tls: ssl.SSLContext, *messages: str) -> Iterator[str]:
    server = pytest.importorskip("websockets.sync.server")
    end = threading.Event()

    def serve(connection: object) -> None:
        for message in messages:
            connection.send(message)  # type: ignore[attr-defined]
        end.wait(60)

    with server.serve(serve, "127.0.0.1", 0, ssl=tls) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"wss://127.0.0.1:{made.socket.getsockname()[1]}"
        end.set()
        made.shutdown()
        thread.join()


def test_a_web_socket_over_tls(engine: Engine, authority: Authority) -> None:
    with web_socket_server(authority.serving, reading(1), reading(2)) as url:
        check_read(engine, url, authority.ca, [1, 2])


def test_mqtt_over_tls(engine: Engine, authority: Authority, tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt", reason="the extra mqtt is not installed")
    certificates = f"certfile {authority.cert}\nkeyfile {authority.key}"
    broker = MqttBroker(tmp_path, certificates)
    broker.start()
    try:
        stream = engine.register_stream(f"{S}-session")
        url = f"{broker.tls_url}/readings"
        session = with_backoff(source_of(url, {"ca": str(authority.ca)}, "reader")).feed(stream)
        until(lambda: session.connected, "a subscription")
        session.stop()
        broker.publish("readings", reading(1), reading(2))
        check_read(engine, url, authority.ca, [1, 2])
    finally:
        broker.stop()


def test_kafka_over_tls(spark: SparkSession, authority: Authority, tmp_path: Path) -> None:
    from sparkext import Engine
    from tests.sparkext.sources.kafka_broker import running_kafka

    chain = tmp_path / "chain.pem"
    chain.write_bytes(authority.key.read_bytes() + authority.cert.read_bytes())
    given = {"security.protocol": "SSL", "ssl.ca.location": str(authority.ca)}
    with (
        settings(spark, allowedLateness="PT1H"),
        closing(Engine(spark)) as engine,
        contextmanager(running_kafka)(tmp_path, chain) as broker,
    ):
        topic = broker.topic(1)
        broker.send(topic, document(1, 2))
        frame = sources.kafka(
            spark,
            broker.tls_servers,
            topic,
            starting="earliest",
            options=given,
            connector="python",
        )
        stream = engine.register_stream(S, source=frame)
        seen = values(engine)
        stream.sources[0].processAllAvailable()
        assert seen() == [1, 2]
