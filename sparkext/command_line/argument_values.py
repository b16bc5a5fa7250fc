"""What stands behind the options of `cqels`: IRIs, files, times and durations; what is none is wrong usage."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from dataclasses import dataclass

from sparkext.s2r.event_time import parse_date_time
from sparkext.setting_types import read_duration

_LIVE = re.compile(r"(?s)(.+?)=((?i:kafka|mqtts?|sse\+https?|https?|wss?|tcp|tls)://.*)")
_OPTION = re.compile(r"(?s)(?:(.+?)=)??([A-Za-z_][A-Za-z0-9_.\-]*)=(.*)")
_ABSOLUTE_IRI = re.compile(r"<?([A-Za-z][A-Za-z0-9+.\-]*:[^\s<>\"{}|\\^`]*)>?")
WAYS_OF_LATE = ("hold", "correct")


def named_file(text: str) -> tuple[str, str]:
    """IRI and file of an argument ``IRI=FILE``, split at the last ``=``.

    >>> named_file("http://example.org/s?x=1=readings.trig")
    ('http://example.org/s?x=1', 'readings.trig')
    """
    iri, sign, file = text.rpartition("=")
    if not sign or not iri or not file:
        raise ArgumentTypeError(f"{text!r} is not IRI=FILE")
    return absolute_iri(iri), file


def named_input(text: str) -> tuple[str, str]:
    """IRI and file or URL of an argument ``IRI=FILE`` or ``IRI=URL``; what is a URL begins with the scheme of one.

    >>> named_input("http://example.org/s=sse+https://example.org/events?for=me")
    ('http://example.org/s', 'sse+https://example.org/events?for=me')
    >>> named_input("http://example.org/s?x=1=readings.trig")
    ('http://example.org/s?x=1', 'readings.trig')
    """
    match = _LIVE.fullmatch(text)
    return named_file(text) if match is None else (absolute_iri(match.group(1)), match.group(2))


def is_url(text: str) -> bool:
    """Whether what `named_input` gave beside an IRI is a URL.

    >>> is_url("mqtt://broker/rooms/#"), is_url("rooms.trig")
    (True, False)
    >>> is_url("TLS://host:7000")  # schemes have no case
    True
    """
    return _LIVE.fullmatch(f"urn:s={text}") is not None


def source_option(text: str) -> tuple[str | None, str, str]:
    """IRI, name and value of an argument ``[IRI=]NAME=VALUE``; None without an IRI.

    >>> source_option("format=turtle"), source_option("http://example.org/s=header.Cookie=a=b")
    ((None, 'format', 'turtle'), ('http://example.org/s', 'header.Cookie', 'a=b'))
    """
    match = _OPTION.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not [IRI=]NAME=VALUE")
    iri, name, value = match.groups()
    return (None if iri is None else absolute_iri(iri)), name, value


def time_span(text: str) -> int:
    """Milliseconds of an argument DURATION."""
    try:
        return read_duration(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: it {error}") from None


def instant(text: str) -> int:
    """Milliseconds of an argument TIME, an xsd:dateTime or milliseconds.

    >>> instant("1970-01-01T00:00:01Z"), instant("1000")
    (1000, 1000)
    """
    try:
        return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else parse_date_time(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is neither an xsd:dateTime nor a number of milliseconds"
        ) from None


def perhaps_named(text: str) -> tuple[str | None, str]:
    """IRI and value of an argument ``[IRI=]VALUE``, split at the last ``=``; None without an IRI.

    >>> perhaps_named("http://example.org/s=m.ttl"), perhaps_named("m.ttl")
    (('http://example.org/s', 'm.ttl'), (None, 'm.ttl'))
    """
    iri, sign, value = text.rpartition("=")
    match = _ABSOLUTE_IRI.fullmatch(iri) if sign else None
    if not value:
        raise ArgumentTypeError(f"{text!r} is not [IRI=]VALUE")
    return (None, text) if match is None else (match.group(1), value)


def port(text: str) -> int:
    """The number of a port, 0 for any that is free.

    >>> port("8890")
    8890
    """
    if not text.isascii() or not text.isdigit() or int(text[:9]) > 65535:
        raise ArgumentTypeError(f"{text!r} is no port, a whole number from 0 to 65535")
    return int(text)


def lateness(text: str) -> tuple[str | None, int]:
    """IRI and milliseconds of an argument ``[IRI=]DURATION``.

    >>> lateness("http://example.org/s=PT10S"), lateness("250")
    (('http://example.org/s', 10000), (None, 250))
    """
    iri, value = perhaps_named(text)
    try:
        return iri, read_duration(value)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: it {error}") from None


def way_of_late(text: str) -> tuple[str | None, str]:
    """IRI and way of an argument ``[IRI=]WAY``, hold or correct."""
    iri, way = perhaps_named(text)
    if way not in WAYS_OF_LATE:
        raise ArgumentTypeError(f"{text!r} is neither {' nor '.join(WAYS_OF_LATE)}")
    return iri, way


def absolute_iri(text: str) -> str:
    """An absolute IRI, with or without angle brackets."""
    match = _ABSOLUTE_IRI.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not an absolute IRI")
    return match.group(1)


@dataclass(frozen=True)
class StaticChange:
    """A graph (None: the default graph) that consists of a file's triples from a time on, in milliseconds."""

    time: int
    graph: str | None
    file: str


def static_change(text: str) -> StaticChange:
    """The change of an argument ``TIME,IRI=FILE``: TIME is an xsd:dateTime or milliseconds, IRI may be DEFAULT.

    >>> static_change("1970-01-01T00:00:01Z,DEFAULT=people.ttl")
    StaticChange(time=1000, graph=None, file='people.ttl')
    """
    time, _, rest = text.partition(",")
    iri, sign, file = rest.rpartition("=")
    if not (time and sign and iri and file):
        raise ArgumentTypeError(f"{text!r} is not TIME,IRI=FILE")
    return StaticChange(instant(time), None if iri == "DEFAULT" else absolute_iri(iri), file)


def setting(text: str) -> tuple[str, str]:
    """Key and value of an argument ``KEY=VALUE``, split at the first ``=``."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value.strip()
