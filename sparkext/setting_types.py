"""How values of configuration keys are read from text and shown again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparkext.s2r.event_time import parse_date_time


@dataclass(frozen=True)
class ValueType:
    """How a value is read from text (`read`, raising ValueError) and shown again (`show`)."""

    name: str
    read: Callable[[str], Any]
    show: Callable[[Any], str] = str


def _read_boolean(text: str) -> bool:
    known = {"true": True, "false": False}
    if text.lower() not in known:
        raise ValueError("must be true or false")
    return known[text.lower()]


def whole_number(low: int, high: int | None = None) -> ValueType:
    """Whole numbers from `low` on, up to `high` or else as far as 64 bits go."""
    name = f"whole number, at least {low}" if high is None else f"whole number from {low} to {high}"
    wanted = f"must be a {name} and below 2^63" if high is None else f"must be a {name}"
    greatest = (1 << 63) - 1 if high is None else high

    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or not low <= int(text) <= greatest:
            raise ValueError(wanted)
        return int(text)

    return ValueType(name, read)


def _read_factor(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) <= 0:
        raise ValueError("must be a number above 0")
    return float(text)


# As for the times of elements: room is left for the arithmetic of windows.
_GREATEST_MS = (1 << 53) - 1
_UNITS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?")


def read_duration(text: str) -> int:
    """Milliseconds of a duration: xsd:dayTimeDuration, a number with a unit, or milliseconds.

    >>> read_duration("PT1M30S"), read_duration("2 s"), read_duration("250")
    (90000, 2000, 250)
    """
    iso = _ISO_DURATION.fullmatch(text)
    if iso and any(iso.groups()) and not text.endswith("T"):
        days, hours, minutes, seconds, fraction = iso.groups(default="0")
        whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
        return _in_range(whole * 1_000 + int(fraction.ljust(3, "0")))
    short = re.fullmatch(r"(\d+)\s*(ms|s|min|h|d)?", text)
    if short is None:
        raise ValueError("must be a duration, such as PT30S, 30s, 5min or 250 (milliseconds)")
    return _in_range(int(short.group(1)) * _UNITS[short.group(2) or "ms"])


def _in_range(milliseconds: int) -> int:
    if abs(milliseconds) > _GREATEST_MS:
        raise ValueError("must be less than 2^53 milliseconds")
    return milliseconds


def show_duration(milliseconds: int) -> str:
    """The shortest spelling of a duration that `read_duration` reads.

    >>> show_duration(0), show_duration(90_000), show_duration(7_200_000)
    ('0', '90s', '2h')
    """
    if milliseconds == 0:
        return "0"
    for unit in ("d", "h", "min", "s"):
        if milliseconds % _UNITS[unit] == 0:
            return f"{milliseconds // _UNITS[unit]}{unit}"
    return f"{milliseconds}ms"


def choice(*names: str) -> ValueType:
    """One of some names."""
    shown = " or ".join(names) if len(names) < 3 else f"one of {', '.join(names)}"

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be {shown}")
        return text

    return ValueType(" or ".join(f"`{name}`" for name in names), read)


def read_instant(text: str) -> int:
    """Milliseconds since the epoch of an xsd:dateTime (no zone: UTC) or of a whole number of them.

    >>> read_instant("1970-01-01T00:00:01Z"), read_instant("-5")
    (1000, -5)
    """
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return _in_range(int(text))
    try:
        return parse_date_time(text)
    except ValueError:
        raise ValueError("must be an xsd:dateTime or milliseconds since the epoch") from None


def read_memory(text: str) -> str:
    """A size as Spark writes sizes, or a part of the heap.

    >>> read_memory("512m"), read_memory("30%")
    ('512m', '30%')
    """
    part = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*%", text)
    if re.fullmatch(r"[0-9]+\s*([kmgtp]b?|b)?", text.lower()) or (
        part and float(part.group(1)) <= 100
    ):
        return text
    raise ValueError("must be a size such as 2g, or a part of the heap such as 30%")


_SIZE_UNITS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def read_size(text: str) -> int:
    """Bytes of a size as Spark writes sizes.

    >>> read_size("2g"), read_size("0")
    (2147483648, 0)
    """
    size = re.fullmatch(r"([0-9]{1,12})\s*([kmgt]|)b?", text.lower())
    if size is None:
        raise ValueError("must be a size such as 512m or 2g")
    return int(size.group(1)) << (10 * _SIZE_UNITS[size.group(2)])


def show_size(size: int) -> str:
    """The shortest spelling of a size that `read_size` reads.

    >>> show_size(0), show_size(512 << 20), show_size(1025)
    ('0', '512m', '1025')
    """
    for unit in ("t", "g", "m", "k"):
        if size and not size % (1 << 10 * _SIZE_UNITS[unit]):
            return f"{size >> 10 * _SIZE_UNITS[unit]}{unit}"
    return str(size)


BOOLEAN = ValueType("true or false", _read_boolean, lambda value: str(value).lower())
FACTOR = ValueType("number above 0", _read_factor, lambda value: f"{value:g}")
INSTANT = ValueType("instant", read_instant)
DURATION = ValueType("duration", read_duration, show_duration)
SIZE = ValueType("size", read_size, show_size)
MEMORY = ValueType("size, or a part of the heap", read_memory)
