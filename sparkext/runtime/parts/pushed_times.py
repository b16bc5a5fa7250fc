"""Times as callers give them: of elements, and of promises that nothing before is to come."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from numbers import Integral

from sparkext.errors import StreamElementError
from sparkext.s2r.event_time import GREATEST_TIME
from sparkext.s2r.time_horizon import TimeHorizon
from sparkext.setting_types import show_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WholeNumber = int | Integral  # numpy's are Integral


class ArrivalClock:
    """The machine's time, which goes on from where it was where the machine's clock is set back.

    Else all that comes would be too late until the clock is there again. One that is set forwards is followed. `wall`
    and `steady` give nanoseconds.

    >>> times = iter([100, 120, 80, 90])
    >>> clock = ArrivalClock(lambda: next(times) * 10**6, iter(range(0, 10**9, 10**7)).__next__)
    >>> clock.now(), clock.now(), clock.now()
    (120, 130, 140)
    """

    def __init__(
        self,
        wall: Callable[[], int] = clocks.time_ns,
        steady: Callable[[], int] = clocks.monotonic_ns,
    ) -> None:
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()

    def now(self) -> int:
        """Milliseconds since the epoch."""
        steady = self._steady()
        self._ahead = max(self._ahead, self._wall() - steady)
        return (steady + self._ahead) // 1_000_000


_arrivals = ArrivalClock()


def milliseconds(time: int | datetime | None, name: str = "time") -> int:
    """A time in milliseconds since the epoch, from these or a datetime (UTC where it has no zone); None is now.

    What is finer than a millisecond is cut off, as in texts.

    >>> milliseconds(datetime(1970, 1, 1, 0, 0, 1, 999_999))
    1999

    Raises StreamElementError for anything else, also for a number beyond GREATEST_TIME; `name` is what the argument is
    called.
    """
    if time is None:
        return _arrivals.now()
    if isinstance(time, datetime):
        try:
            aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
            return int((aware - _EPOCH) // timedelta(milliseconds=1))
        except (ValueError, OverflowError, TypeError):  # such as pandas' NaT, which is a datetime
            raise StreamElementError(f"{name}: a time is a moment, not {time!r}") from None
    flaw = time_flaw(time)
    if flaw is not None:
        raise StreamElementError(f"{name}: {flaw}")
    return int(time)


def promised_time(time: int | datetime, horizon: TimeHorizon) -> int:
    """The milliseconds of a promise that nothing of a time or before is to come.

    Raises StreamElementError for a time that cannot be right: all that came after the promise would be too late.
    """
    if time is None:
        raise StreamElementError("time: a promise is of a time, not of None")
    moment = milliseconds(time)
    if not horizon.passes(moment):
        raise StreamElementError(f"time: advance_to {moment} ms: {ahead_of(horizon)}")
    return moment


def ahead_of(horizon: TimeHorizon) -> str:
    """What is wrong with a time beyond the horizon."""
    return (
        f"more than {show_duration(horizon.max_ahead)} (spark.cqels.maxAhead) after {horizon.reference}:"
        " not milliseconds?"
    )


def time_flaw(time: object) -> str | None:
    """Why something is no time in milliseconds, None if it is one."""
    if isinstance(time, bool) or not isinstance(time, _WholeNumber):
        return f"a time is a whole number of milliseconds or a datetime, not {time!r:.60}"
    if abs(int(time)) > GREATEST_TIME:
        return f"{time} is no number of milliseconds since the epoch: out of range"
    return None
