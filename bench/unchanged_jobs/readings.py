"""Which readings the job in real-time mode is given."""

from __future__ import annotations


def sensor_of(number: int, rows: int) -> int:
    """The sensor of a reading: all of so many sensors in turn, neighbours far from each other.

    >>> sensor_of(1, 2_000_000), sensor_of(300, 2_000_000)
    (7919, 375700)
    """
    return number * 7919 % rows
