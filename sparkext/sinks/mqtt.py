"""Answers as messages of an MQTT topic, at least once."""

from __future__ import annotations

import contextlib
import ssl
from threading import RLock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError, SourceError
from sparkext.runtime.answering.closed_sink import ClosedSink
from sparkext.sinks.payloads import checked_format, payload
from sparkext.sources.live_source import parts_of_url
from sparkext.sources.mqtt import connect, mqtt_client

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

_SECONDS = 30.0
_EXPIRY = 3600


class MqttSink(ClosedSink):
    """Publishes the answers of each evaluation as one message; `query.subscribe(MqttSink("mqtt://host/answers"))`.

    `format` is "json" or, for CONSTRUCT, "nquads" or "trig". At quality of service 1, it returns when the broker has
    the message; one whose acknowledgement was lost may come twice. `client_id` names the session.
    """

    def __init__(
        self,
        url: str,
        format: str = "json",
        client_id: str = "cqels-sink",
        qos: int = 1,
        retain: bool = False,
        version: str = "3.1.1",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._parts = parts_of_url(url, "mqtt", "mqtts", path=True)
        self._topic = unquote(self._parts.path[1:])
        if "+" in self._topic or "#" in url:
            raise ArgumentError("url", f"{url!r}: a message goes to one topic, without + and #")
        self._format = checked_format(format)
        if not check.text("client_id", client_id):
            raise ArgumentError("client_id", "must not be empty")
        if check.whole("qos", qos) not in (0, 1, 2):
            raise ArgumentError("qos", f"must be 0, 1 or 2, not {qos}")
        check.flag("retain", retain)
        if check.text("version", version) not in ("3.1.1", "5"):
            raise ArgumentError("version", f"must be '3.1.1' or '5', not {version!r}")
        if tls is not None and not isinstance(tls, ssl.SSLContext):
            raise check.wrong("tls", "an SSLContext, or None", tls)
        self._qos, self._retain, self._version = qos, retain, version
        self._made = (url, client_id, version, (None, None), tls)
        self._client: Any = None
        self._lock = RLock()

    def __call__(self, answers: Answers) -> None:
        """Publish the answers of one evaluation; raises SourceError where the broker does not take them."""
        text = payload(answers, self._format)
        if not text:
            return
        with self._lock:
            self._publish(text)

    def _publish(self, text: str) -> None:
        try:
            client = self._connected()
            sent = client.publish(self._topic, text.encode(), self._qos, self._retain)
            sent.wait_for_publish(_SECONDS)
            done = sent.is_published()
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            raise SourceError(f"{self._topic}: {error}") from error
        if not done:
            self.close()  # what was not acknowledged is published anew by whoever calls again
            raise SourceError(f"{self._topic}: the broker did not answer in {_SECONDS:g} s")

    def _connected(self) -> Any:
        if self._client is not None and not self._client.is_connected():
            self.close()
        if self._client is None:
            client = mqtt_client(*self._made)
            connect(client, self._parts, self._version, 65535, _EXPIRY)
            client.loop_start()
            self._client = client
        return self._client

    def close(self) -> None:
        """End the connection."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.disconnect()
                client.loop_stop()
