"""A live source by its URL and options as texts, as a command line gives them."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sparkext.errors import ArgumentError
from sparkext.recorded_streams import TIME_PROPERTIES
from sparkext.sources.frames import elements
from sparkext.sources.kafka import DOCUMENTS, ROWS, checked_servers, kafka, topics_of
from sparkext.sources.line_socket import LineSource
from sparkext.sources.live_source import LiveSource
from sparkext.sources.mqtt import MqttSource
from sparkext.sources.server_events import EventSource
from sparkext.sources.web_socket import WebSocketSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EVENTS, _HEADER, _CLIENT = "sse+", "header.", "kafka."
_TLS = ("ca", "cert", "key")
_Read = Callable[[str], object]


def _whole(text: str) -> int:
    return int(text)


def _flag(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _texts(text: str) -> list[str]:
    return text.split(",")


def _one_text(text: str) -> list[str]:
    """A list of one: what a server is greeted with may have commas, as JSON has."""
    return [text]


_MESSAGES: dict[str, _Read] = {
    "format": str,
    "time": str,
    "columns": _texts,
    "schema": str,
    "wire": _flag,
}
_LIVE: dict[str, _Read] = {**_MESSAGES, "buffer": _whole}
_KINDS: dict[str, dict[str, _Read]] = {
    "kafka": {
        **{name: read for name, read in _MESSAGES.items() if name != "columns"},
        "avro_schema": str,
        "starting": str,
        "max_records": _whole,
        "fail_on_data_loss": _flag,
        "connector": str,
    },
    "mqtt": {
        **_LIVE,
        "client_id": str,
        "qos": _whole,
        "version": str,
        "username": str,
        "password": str,
        "expiry": _whole,
    },
    "sse": {**_LIVE, "events": _texts, "last_event_id": str, "silence": float},
    "ws": {**_LIVE, "greeting": _one_text, "most_bytes": _whole},
    "tcp": {**_LIVE, "ends": str, "silence": float, "most_bytes": _whole},
}
_WANTED = {float: "a number", _whole: "a whole number", _flag: "true or false"}
_KIND_OF = {
    "kafka": "kafka",
    "mqtt": "mqtt",
    "mqtts": "mqtt",
    "sse+http": "sse",
    "sse+https": "sse",
    "ws": "ws",
    "wss": "ws",
    "tcp": "tcp",
    "tls": "tcp",
}
SCHEMES = tuple(_KIND_OF)


@dataclass(frozen=True)
class KafkaTopics:
    """Topics of a cluster, kafka://host:9092,host2:9092/topic,topic2, and how `sources.kafka` reads them.

    `messages` is what else `sources.elements` is told, where it decodes them.
    """

    servers: str
    topics: list[str]
    given: Mapping[str, Any] = field(default_factory=dict)
    messages: Mapping[str, Any] = field(default_factory=dict)

    def frame(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame of them."""
        format, time = self.given.get("format"), self.given.get("time", "payload")
        of_spark = (
            format in DOCUMENTS and time == "payload" and "time_properties" not in self.messages
        )
        if not self.messages or format is None or format in ROWS or of_spark:
            return kafka(spark, self.servers, self.topics, **self.given)
        plain = {name: what for name, what in self.given.items() if name not in ("format", "time")}
        frame = kafka(spark, self.servers, self.topics, **plain)
        return elements(frame, format, time, **self.messages)


def source_of(
    url: str,
    options: Mapping[str, str],
    session: str | None,
    *,
    time_properties: Sequence[str] = (),
    contexts: Mapping[str, str] | None = None,
    accept_iris: bool = False,
) -> LiveSource | KafkaTopics:
    """The source of a URL; raises ArgumentError for one that is none, and for options that its kind has not.

    Options are arguments of the sources by name; `header.NAME` of HTTP and WebSocket, `kafka.NAME` of Kafka's client,
    and where a connection is encrypted the files `ca` of authorities, `cert` and `key`. `session` is what MQTT's
    session is called where there is no `client_id`; None is one of its own, which ends with its connection.
    `time_properties` are predicates of times beside the usual ones; for them, `contexts` and `accept_iris` see
    `elements`. (What feeds push, the stream accepts, or not.)
    """
    scheme, sign, rest = url.partition("://")
    scheme = scheme.lower()  # as RFC 3986 has it: TLS:// is tls://, and encrypted
    kind = _KIND_OF.get(scheme)
    if not sign or kind is None:
        hint = " (server-sent events: sse+https://...)" if scheme in ("http", "https") else ""
        raise ArgumentError("url", f"{url!r} begins with none of {', '.join(SCHEMES)}{hint}")
    url = f"{scheme}://{rest}"
    given = _read_options(kind, url, options)
    messages: dict[str, Any] = {}
    if time_properties:
        messages["time_properties"] = (*TIME_PROPERTIES, *time_properties)
    if contexts:
        messages["contexts"] = contexts
    if kind == "kafka":
        if time_properties and given.get("format") in (None, "documents"):
            said = "must be nquads, trig or another one of RDF, where a property of times is given"
            raise ArgumentError("format", said)
        return _kafka(url, given, messages | ({"accept_iris": True} if accept_iris else {}))
    given = messages | given
    context = given.pop("tls", None)
    if context is not None and scheme not in ("mqtts", "wss", "sse+https", "tls"):
        raise ArgumentError("ca", f"{url!r} is not encrypted")
    if kind == "mqtt":
        own: dict[str, Any] = {"client_id": session}
        if session is None and "client_id" not in given:
            own = {"client_id": f"cqels-{token_hex(8)}", "expiry": 0}
        return MqttSource(url=url, **{**own, **given}, tls=context)
    if kind == "sse":
        return EventSource(url=url.removeprefix(_EVENTS), **given, tls=context)
    if kind == "ws":
        return WebSocketSource(url=url, **given, tls=context)
    plain = url if scheme == "tcp" else f"tcp{url[len(scheme) :]}"
    return LineSource(url=plain, **given, tls=context or scheme == "tls")


def _read_options(kind: str, url: str, options: Mapping[str, str]) -> dict[str, Any]:
    known = _KINDS[kind]
    given: dict[str, Any] = {}
    for name, text in options.items():
        if name in known:
            try:
                given[name] = known[name](text)
            except ValueError:
                raise ArgumentError(name, f"must be {_WANTED[known[name]]}, not {text!r}") from None
        elif name.startswith(_HEADER) and kind in ("sse", "ws"):
            given.setdefault("headers", {})[name.removeprefix(_HEADER)] = text
        elif name.startswith(_CLIENT) and kind == "kafka":
            given.setdefault("options", {})[name.removeprefix(_CLIENT)] = text
        elif not (name in _TLS and kind != "kafka"):
            others = [*known, *(_TLS if kind != "kafka" else [f"{_CLIENT}NAME"])]
            others += [f"{_HEADER}NAME"] if kind in ("sse", "ws") else []
            raise ArgumentError(
                name, f"is no option of {url.partition('://')[0]}, which has {', '.join(others)}"
            )
    tls = {name: options[name] for name in _TLS if name in options}
    if tls:
        given["tls"] = _context(tls)
    return given


def _context(files: Mapping[str, str]) -> ssl.SSLContext:
    for name, file in files.items():
        if not Path(file).is_file():
            raise ArgumentError(name, f"no such file: {file}")
    if "key" in files and "cert" not in files:
        raise ArgumentError("key", "is that of a cert, which is not given")
    try:
        context = ssl.create_default_context(cafile=files.get("ca"))
        if "cert" in files:
            context.load_cert_chain(files["cert"], files.get("key"))
    except (ssl.SSLError, OSError) as error:
        raise ArgumentError(next(iter(files)), f"cannot be read: {error}") from None
    return context


def _kafka(url: str, given: dict[str, Any], messages: dict[str, Any]) -> KafkaTopics:
    parts = urlsplit(url)
    wanted = "a URL such as kafka://host:9092/topic"
    if not parts.netloc or not parts.path.strip("/") or parts.query or parts.fragment:
        raise ArgumentError("url", f"must be {wanted}, not {url!r}")
    if "@" in parts.netloc:
        raise ArgumentError("url", f"must be {wanted}; accounts are options (kafka.sasl.username)")
    topics = topics_of(parts.path.strip("/").split(","))
    return KafkaTopics(checked_servers(parts.netloc), topics, given, messages)
