"""MQTT as a source: a persistent session, quality of service 1, messages acknowledged when they have been taken in."""

from __future__ import annotations

import contextlib
import ssl
import threading
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError, SourceError
from sparkext.sources.extras import library
from sparkext.sources.feed import Connection, ConnectionLostError, Message, Put
from sparkext.sources.live_source import LiveSource, parts_of_url

_WHAT = "MQTT"
_CONNECT_SECONDS = 30.0
_LOOK_SECONDS = 0.5
_KEEP_ALIVE = 60
# What a broker says of a name, a password or rights will not change by asking again.
_FINAL = ("bad user name", "not authorized", "identifier", "protocol version", "banned")


@dataclass(frozen=True)
class MqttSource(LiveSource):
    """Subscribes to topics of a broker, "mqtt://host:port/topic/#" or "mqtts://..."; `MqttSource(...).feed(stream)`.

    `client_id` names the session that the broker keeps while there is no connection: the same one in each run, and in
    no other process. What is published meanwhile at quality of service 1 or 2 comes later, if `qos` is 1. A message is
    acknowledged when its elements have been taken in; one that was not comes again, so an element may come twice. With
    `version` "5" the broker holds back what is more than the `buffer`; with "3.1.1" it has limits of its own. The
    session ends after `expiry` seconds without a connection (with "3.1.1" when the broker has it, but for 0: with the
    connection). Name and password stand in the URL, or are given.
    """

    url: str
    client_id: str
    qos: int = 1
    version: str = "3.1.1"
    username: str | None = None
    password: str | None = None
    expiry: int = 7 * 24 * 3600
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parts_of_url(self.url, "mqtt", "mqtts", path=True)
        if not check.text("client_id", self.client_id):
            raise ArgumentError("client_id", "a persistent session needs a name")
        if check.whole("qos", self.qos) == 2:
            # The library takes a message over (PUBREC) before anybody sees it, and forgets it with the client.
            raise ArgumentError(
                "qos", "must be 0 or 1 (2 would lose messages where a connection breaks: use 1)"
            )
        if self.qos not in (0, 1):
            raise ArgumentError("qos", f"must be 0 or 1, not {self.qos}")
        check.text("version", self.version)
        if self.version not in ("3.1.1", "5"):
            raise ArgumentError("version", f"must be '3.1.1' or '5', not {self.version!r}")
        for name in ("username", "password"):
            if getattr(self, name) is not None:
                check.text(name, getattr(self, name))
        if not 0 <= check.whole("expiry", self.expiry) < 1 << 32:
            raise ArgumentError("expiry", f"must be seconds below 2^32, not {self.expiry}")
        if self.tls is not None and not isinstance(self.tls, ssl.SSLContext):
            raise check.wrong("tls", "an SSLContext, or None", self.tls)
        library("paho.mqtt.client", "mqtt", _WHAT)

    def connection(self) -> MqttConnection:
        return MqttConnection(self)


class MqttConnection(Connection):
    """A client whose session outlives its connections."""

    waits_for_checkpoint = True

    def __init__(self, source: MqttSource) -> None:
        parts = parts_of_url(source.url, "mqtt", "mqtts", path=True)
        self.name = f"{parts.scheme}://{parts.hostname}{parts.path}"
        self._source = source
        self._topic = unquote(parts.path[1:]) + (f"#{parts.fragment}" if "#" in source.url else "")
        self._client: Any = None
        self._lost = threading.Event()
        self._network: threading.Thread | None = None  # the client's, from the broker's answer on
        self._reason = ""
        self._final: str | None = None

    def run(self, put: Put, connected: Callable[[], None], stopping: threading.Event) -> None:
        self._lost.clear()
        self._network = None
        self._reason, self._final = "", None
        client = mqtt_client(
            self._source.url,
            self._source.client_id,
            self._source.version,
            (self._source.username, self._source.password),
            self._source.tls,
            manual_ack=True,
            lasting=self._source.expiry > 0,
        )

        def on_connect(used: Any, _: object, __: object, reason: Any, ___: object) -> None:
            if reason.is_failure:
                self._end(str(reason))
                return
            self._network = threading.current_thread()
            used.subscribe(self._topic, qos=self._source.qos)

        def on_subscribe(_: object, __: object, ___: object, reasons: Any, ____: object) -> None:
            refused = [str(reason) for reason in reasons if reason.is_failure]
            if refused:
                self._final = f"the broker refuses {self._topic}: {refused[0]}"
                self._lost.set()
            else:
                connected()

        def on_disconnect(_: object, __: object, ___: object, reason: Any, ____: object) -> None:
            self._end(str(reason))

        def on_message(_: object, __: object, came: Any) -> None:
            token = (client, came.mid, came.qos)
            # While this waits for room, the client reads nothing: so does the broker's queue wait.
            try:
                put(Message(came.payload, token=token, name=f"message on {came.topic}"))
            except UnicodeDecodeError:  # an error here would end the client's thread
                put(Message(b"", token=token, flaw="the name of its topic is not UTF-8"))

        client.on_connect, client.on_disconnect = on_connect, on_disconnect
        client.on_subscribe, client.on_message = on_subscribe, on_message
        self._client = client
        parts = parts_of_url(self._source.url, "mqtt", "mqtts")
        try:
            connect(client, parts, self._source.version, self._source.buffer, self._source.expiry)
            client.loop_start()
            begun = clock.monotonic()
            while not stopping.is_set() and not self._lost.wait(_LOOK_SECONDS):
                # What a broker sends may end the client's thread, which tells nobody.
                if self._network is None:
                    dead = clock.monotonic() - begun > _CONNECT_SECONDS
                else:
                    dead = not self._network.is_alive()
                if dead and not self._lost.is_set():
                    self._end("the broker does not answer, or not as MQTT has it")
        except (OSError, ValueError) as error:
            raise ConnectionLostError(str(error)) from error
        finally:
            if not stopping.is_set():
                self._close(client)
        if self._final is not None:
            raise SourceError(f"{self.name}: {self._final}")
        if self._lost.is_set():
            raise ConnectionLostError(self._reason)

    def _end(self, reason: str) -> None:
        self._reason = self._reason or reason
        if any(part in reason.lower() for part in _FINAL):
            self._final = reason
        self._lost.set()

    @staticmethod
    def _close(client: Any) -> None:
        with contextlib.suppress(Exception):
            client.disconnect()
            client.loop_stop()

    def finish(self) -> None:
        # Only now: what waited has been acknowledged. The broker keeps the session.
        if self._client is not None:
            self._close(self._client)

    def acknowledge(self, messages: Sequence[Message]) -> None:
        for message in messages:
            client, number, qos = message.token
            # Of a connection that is gone: the broker sends it again, on the next one.
            if client is self._client and qos:
                client.ack(number, qos)


def mqtt_client(
    url: str,
    client_id: str,
    version: str,
    account: tuple[str | None, str | None],
    tls: ssl.SSLContext | None,
    manual_ack: bool = False,
    lasting: bool = True,
) -> Any:
    """A client of the library, not connected; name and password of the URL count where none are given.

    `lasting`: its session outlives its connection (3.1.1; in 5, `connect` says for how long).
    """
    mqtt = library("paho.mqtt.client", "mqtt", _WHAT)
    enums = library("paho.mqtt.enums", "mqtt", _WHAT)
    parts = parts_of_url(url, "mqtt", "mqtts")
    five = version == "5"
    client = mqtt.Client(
        enums.CallbackAPIVersion.VERSION2,
        client_id=client_id,
        protocol=mqtt.MQTTv5 if five else mqtt.MQTTv311,
        clean_session=None if five else not lasting,
        reconnect_on_failure=False,
        manual_ack=manual_ack,
    )
    name, password = account
    name = name or (None if parts.username is None else unquote(parts.username))
    password = password or (None if parts.password is None else unquote(parts.password))
    if name is not None:
        client.username_pw_set(name, password)
    if tls is not None or parts.scheme == "mqtts":
        client.tls_set_context(tls or ssl.create_default_context())
    client.connect_timeout = _CONNECT_SECONDS
    return client


def connect(client: Any, parts: Any, version: str, most: int, expiry: int) -> None:
    """Connect; raises OSError where nobody answers."""
    port = parts.port or (8883 if parts.scheme == "mqtts" else 1883)
    if version != "5":
        client.connect(parts.hostname, port, _KEEP_ALIVE)
        return
    packets = library("paho.mqtt.packettypes", "mqtt", _WHAT)
    made = library("paho.mqtt.properties", "mqtt", _WHAT).Properties(packets.PacketTypes.CONNECT)
    made.SessionExpiryInterval = expiry
    made.ReceiveMaximum = min(max(most, 1), 65535)
    client.connect(parts.hostname, port, _KEEP_ALIVE, clean_start=False, properties=made)
