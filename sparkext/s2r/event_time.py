"""Event time: xsd:dateTime texts and milliseconds since the epoch, one in terms of the other."""

from __future__ import annotations

import re
from functools import lru_cache

# Of a stream's element or instant, either side of the epoch; beyond it, window bounds would not fit the engine's
# 64-bit arithmetic with room to spare.
GREATEST_TIME = (1 << 53) - 1

_DATE_TIME = re.compile(
    r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
    r"T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))?"
)
_DAY = 86_400_000
_DAYS_IN_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parse_date_time(lexical: str) -> int:
    """Milliseconds since the epoch of an xsd:dateTime; a missing zone is UTC.

    What is finer than a millisecond is cut off. Raises ValueError for any other text (XSD 1.1,
    section 3.3.7).

    >>> parse_date_time("1970-01-01T01:00:00.5+01:00")
    500
    """
    match = _DATE_TIME.fullmatch(lexical)
    if match is None:
        raise ValueError(f"{lexical!r} is not an xsd:dateTime")
    year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = match.groups()
    days = _days_since_epoch(int(year), int(month), int(day))
    h, m, s = int(hour), int(minute), int(second)
    millis = int(f"{fraction}00"[:3]) if fraction else 0
    end_of_day = h == 24 and not (m or s or int(fraction or 0))
    if days is None or m > 59 or s > 59 or (h > 23 and not end_of_day):
        raise ValueError(f"{lexical!r} is not an xsd:dateTime")
    time = days * _DAY + ((h * 60 + m) * 60 + s) * 1000 + millis
    if sign is None:
        return time
    offset = int(zone_hour) * 60 + int(zone_minute)
    if int(zone_minute) > 59 or offset > 840:
        raise ValueError(f"{lexical!r} has a zone beyond 14 hours")
    return time - offset * 60_000 if sign == "+" else time + offset * 60_000


def format_date_time(time: int) -> str:
    """The xsd:dateTime text, in UTC with three digits of a second, of milliseconds since the epoch.

    >>> format_date_time(1769853600000)
    '2026-01-31T10:00:00.000Z'
    """
    days, rest = divmod(time, _DAY)
    year, month, day = _civil(days)
    rest, millis = divmod(rest, 1000)
    rest, second = divmod(rest, 60)
    hour, minute = divmod(rest, 60)
    years = f"{year:04d}" if year >= 0 else f"-{-year:04d}"
    return f"{years}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{millis:03d}Z"


@lru_cache(maxsize=1024)
def _days_since_epoch(year: int, month: int, day: int) -> int | None:
    """Day number in the proleptic Gregorian calendar, which has a year 0; None for no such day."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS_IN_MONTH[month - 1]:
        return None
    if month == 2 and day == 29 and not leap:
        return None
    # Years are counted from March, so that the leap day is the last day of a year.
    march_year = year - (month <= 2)
    era, year_of_era = divmod(march_year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, day
