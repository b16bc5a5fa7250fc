"""What all sources have in common whose messages are pushed into a stream as they come."""

from __future__ import annotations

import ssl
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.recorded_streams import TIME_PROPERTIES
from sparkext.runtime.streams.stream import Stream
from sparkext.sources.backoff import Backoff
from sparkext.sources.feed import Connection, Feed, Reading
from sparkext.sources.rdf_messages import AUTO, RdfMessages
from sparkext.sources.row_messages import FORMATS, RowMessages, checked_columns

MOST_BYTES = 16 << 20
"""Of one message, unless said otherwise: what is longer is set aside."""


@dataclass(frozen=True, kw_only=True)
class LiveSource(ABC):
    """How messages are read: see `sparkext.sources.elements` for `format`, `time`, `time_properties` and `contexts`.

    These messages carry no time of their own, so `time` is "payload" or "now". For a stream with a mapping, `format` is
    "json", "csv" with its `columns`, or "avro" with its `schema`, perhaps behind Confluent's prefix (`wire`). At most
    `buffer` messages wait to be taken in; `backoff` is what is waited before a connection is made anew.
    """

    format: str = AUTO
    time: str = "payload"
    time_properties: Collection[str] = TIME_PROPERTIES
    contexts: Mapping[str, str | Path] | None = None
    columns: Sequence[str] = ()
    schema: str | Path | dict[str, Any] | None = None
    wire: bool = False
    buffer: int = 1000
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        if self.time == "broker":
            raise ArgumentError("time", "these messages carry no time: payload or now")
        if self.schema is not None and self.format != "avro":
            raise ArgumentError("schema", "only messages of Avro have one")
        checked_columns(self.columns, self.wire)
        Reading.checked(self._messages(), self.buffer, self.backoff)

    def feed(self, stream: Stream) -> Feed:
        """Begin to feed a stream; the result runs until it is stopped, or the engine closed. Raises SourceError."""
        if not isinstance(stream, Stream):
            raise check.wrong("stream", "a stream, as register_stream gives it", stream)
        messages = self._messages(stream)
        return Feed(self.connection(), stream, Reading(messages, self.buffer, self.backoff))

    @abstractmethod
    def connection(self) -> Connection:
        """What a feed reads from."""

    def _messages(self, stream: Stream | None = None) -> RdfMessages | RowMessages:
        if self.format in FORMATS:
            return RowMessages.checked(self.format, self.columns, self.schema, self.wire)
        given = (self.format, self.time, self.time_properties, self.contexts)
        if stream is None:
            return RdfMessages.checked(*given)
        return RdfMessages.checked(*given, stream.rdf, stream.accepts)


def parts_of_url(url: object, *schemes: str, path: bool = False) -> SplitResult:
    """A URL's parts; raises ArgumentError for another scheme, without a host, or without a needed path."""
    wanted = f"a URL such as {schemes[0]}://host:port{'/name' if path else ''}"
    text = check.text("url", url, wanted)
    try:
        parts = urlsplit(text)
        sound = parts.scheme in schemes and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        sound = False
    if not sound or (path and not parts.path.strip("/") and "#" not in text):
        raise check.wrong("url", wanted, text)
    return parts


def texts_by_name(name: str, value: object) -> None:
    """Texts by name, such as headers."""
    if not isinstance(value, Mapping):
        raise check.wrong(name, "texts by name", value)
    for key, text in value.items():
        check.text(name, key)
        check.text(name, text, "texts by name")


def several_texts(name: str, value: object) -> None:
    """A list of texts."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise check.wrong(name, "a list of texts", value)
    for text in value:
        check.text(name, text, "a list of texts")


def seconds(name: str, value: object) -> float | None:
    """Seconds above 0, or None for ever."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise check.wrong(name, "seconds above 0, or None", value)
    return float(value)


def tls_context(tls: object) -> ssl.SSLContext | None:
    """What encrypts a connection: the system's authorities, a context as it is given, or nothing."""
    if isinstance(tls, ssl.SSLContext):
        return tls
    check.flag("tls", tls)
    return ssl.create_default_context() if tls else None
