"""Numbers by long keys."""

from __future__ import annotations

import random

import pytest

from tests.sparkext.engine_room.live_room import LiveRoom

ABSENT = -1
LEAST, MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_found_by_their_keys(live: LiveRoom, seed: int) -> None:
    slots, rng = live.cqels.memory.LongSlots(), random.Random(seed)
    expected: dict[int, int] = {}
    # Keys whose low or high bits are all equal, small ones of both signs, and the ends.
    keys = [n << 40 for n in range(60)] + list(range(-60, 60)) + [LEAST, MOST]
    for _ in range(400):
        key = rng.choice(keys)
        # Any number but that of what is absent may be kept.
        number = rng.choice([rng.randrange(0, 1 << 62), -2 - rng.randrange(1 << 30), LEAST])
        slots.put(key, number)
        expected[key] = number
    assert slots.size() == len(expected)
    assert {key: slots.get(key) for key in keys} == {k: expected.get(k, ABSENT) for k in keys}
    assert slots.get(61 << 40) == ABSENT
    # Room for half as many again, and no more than twice that.
    assert 24 * len(expected) <= slots.memoryBytes() <= 48 * len(expected) + 16
    fewer = live.cqels.memory.LongSlots()
    assert [fewer.get(key) for key in (0, LEAST, MOST)] == [ABSENT] * 3
