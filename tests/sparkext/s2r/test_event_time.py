"""xsd:dateTime against the standard library, and what it does not cover."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.s2r.event_time import format_date_time, parse_date_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.datetimes(), st.integers(-840, 840))
def test_times_agree_with_datetime(moment: datetime, offset: int) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    zone = timezone(timedelta(minutes=offset))
    expected = (moment.replace(tzinfo=zone) - EPOCH) // timedelta(milliseconds=1)
    sign, hours, minutes = "-" if offset < 0 else "+", *divmod(abs(offset), 60)
    text = moment.isoformat(timespec="milliseconds")
    assert parse_date_time(f"{text}{sign}{hours:02d}:{minutes:02d}") == expected
    plain = parse_date_time(text)
    assert plain == parse_date_time(text + "Z")
    assert format_date_time(plain) == text + "Z"


def test_what_datetime_cannot_hold() -> None:
    assert parse_date_time("1969-12-31T24:00:00Z") == 0
    assert parse_date_time("1970-01-01T00:00:00.0019") == 1
    assert parse_date_time("1969-12-31T23:59:59.9999Z") == -1
    for text in (
        "-0001-03-01T00:00:00.000Z",
        "0000-02-29T12:00:00.000Z",
        "12026-01-01T00:00:00.000Z",
    ):
        assert format_date_time(parse_date_time(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31",
        "2026-02-29T00:00:00",
        "2026-13-01T00:00:00",
        "2026-01-01T24:00:01",
        "2026-01-01T00:60:00",
        "2026-01-01T00:00:60",
        "2026-01-01T00:00:00+14:01",
        "2026-01-01T00:00:00+01:60",
        "02026-01-01T00:00:00",
        "2026-01-01 00:00:00",
        "2026-01-01T00:00:00Z ",
        "",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an xsd:dateTime|beyond 14 hours"):
        parse_date_time(text)
