"""Durations and instants of window clauses, as whole milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

_UNITS_MS: Final = {
    **dict.fromkeys(("", "ms", "msec", "msecs", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_NUMBER_AND_UNIT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE | re.ASCII)
_XSD_DURATION: Final = re.compile(
    r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_DATETIME: Final = re.compile(
    r"(-?\d{4,})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST: Final = 200
# As for the times of elements: room is left for the arithmetic of windows.
_GREATEST_MS: Final = (1 << 53) - 1


class DurationError(ValueError):
    """A text that is not a duration, or one without a fixed whole number of milliseconds."""


def parse_duration_ms(text: str) -> int:
    """Return the milliseconds of an xsd:duration, of a number with a unit, or of a plain number of
    milliseconds.

    Months and years have no fixed length and raise `DurationError`, as do fractions of a
    millisecond.

    >>> [parse_duration_ms(text) for text in ("PT30S", "30s", "30 seconds", "30000", "P1DT0.5S")]
    [30000, 30000, 30000, 30000, 86400500]
    >>> parse_duration_ms("P1M")
    Traceback (most recent call last):
    sparkext.language.durations.DurationError: 'P1M' has months or years, which have no fixed length
    """
    stripped = _short(text)
    if number := _NUMBER_AND_UNIT.fullmatch(stripped):
        amount, unit = number.groups()
        if unit.lower() not in _UNITS_MS:
            raise DurationError(f"{text!r} has the unknown unit {unit!r} (known: ms, s, min, h, d)")
        return _whole(Decimal(amount) * _UNITS_MS[unit.lower()], text)
    match = _XSD_DURATION.fullmatch(stripped)
    if match is None or stripped.upper() == "P":
        raise DurationError(
            f"{text!r} is not a duration (write PT30S, 30s, 30 seconds or milliseconds)"
        )
    years, months, days, _, hours, minutes, seconds = match.groups()
    if int(years or 0) or int(months or 0):
        raise DurationError(f"{text!r} has months or years, which have no fixed length")
    total = (
        Decimal(days or 0) * 86_400_000
        + Decimal(hours or 0) * 3_600_000
        + Decimal(minutes or 0) * 60_000
        + Decimal(seconds or 0) * 1_000
    )
    return _whole(total, text)


def parse_instant_ms(text: str) -> int:
    """Return the milliseconds since the epoch of an xsd:dateTime (no zone: UTC) or of an integer.

    Raises `DurationError` for anything else.

    >>> parse_instant_ms("1970-01-01T01:00:00+01:00"), parse_instant_ms("1970-01-01T00:00:01.5")
    (0, 1500)
    """
    stripped = _short(text)
    if re.fullmatch(r"[+-]?\d+", stripped, re.ASCII):
        return _whole(Decimal(stripped), text)
    match = _DATETIME.fullmatch(stripped)
    if match is None:
        raise DurationError(f"{text!r} is not an instant (write an xsd:dateTime or milliseconds)")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, zone = match.group(7), match.group(8)
    try:
        moment = datetime(year, month, day, hour % 24, minute, second, tzinfo=UTC)
        if hour == 24 and minute == 0 and second == 0:
            moment += timedelta(days=1)
        elif hour > 23:
            raise ValueError("hour must be in 0..23")
    except (ValueError, OverflowError) as error:
        raise DurationError(f"{text!r} is not an instant: {error}") from error
    milliseconds = Decimal((moment - _EPOCH) // timedelta(milliseconds=1))
    milliseconds += Decimal(fraction or 0) * 1_000
    if zone is not None and zone != "Z":
        offset = int(zone[1:3]) * 60 + int(zone[4:6])
        milliseconds -= (offset if zone[0] == "+" else -offset) * 60_000
    return _whole(milliseconds, text)


def _short(text: str) -> str:
    """The text without what is around it; one of more digits than any time has costs no more than a look at it."""
    stripped = text.strip()
    if len(stripped) > _LONGEST:
        raise DurationError(
            f"{stripped[:20]!r}... is out of range: it has {len(stripped)} characters"
        )
    return stripped


def _whole(milliseconds: Decimal, text: str) -> int:
    if abs(milliseconds) > _GREATEST_MS:
        raise DurationError(f"{text!r} is out of range: milliseconds are counted up to 2^53")
    if milliseconds != int(milliseconds):
        raise DurationError(f"{text!r} is not a whole number of milliseconds")
    return int(milliseconds)
