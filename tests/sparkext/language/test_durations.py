"""Durations and instants, as milliseconds."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.language.durations import DurationError, parse_duration_ms, parse_instant_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0),
        ("250", 250),
        ("250 ms", 250),
        ("0.5s", 500),
        ("2 MINUTES", 120_000),
        ("1.5 h", 5_400_000),
        ("3d", 259_200_000),
        ("PT0.25S", 250),
        ("P1DT2H3M4S", 93_784_000),
        ("P0Y0M1D", 86_400_000),
        ("pt1m", 60_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1", "1 fortnight", "s", "P1Y", "P2M", "0.5", "PT0.0001S", "-PT1S", "1,5s"],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(DurationError):
        parse_duration_ms(text)


@settings(derandomize=True, max_examples=100)
@given(
    st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),
    st.integers(min_value=-840, max_value=840),
)
def test_instants_agree_with_the_calendar(moment: datetime, offset: int) -> None:
    zone = timezone(timedelta(minutes=offset))
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=zone)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert parse_instant_ms(moment.isoformat()) == (moment - epoch) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "text", ["", "now", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T25:00:00", "1.5"]
)
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(DurationError):
        parse_instant_ms(text)


def test_midnight_may_be_written_as_24_hours() -> None:
    assert parse_instant_ms("1970-01-01T24:00:00Z") == 86_400_000
