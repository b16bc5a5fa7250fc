"""The badge sightings of people who move between rooms, mostly with their research group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROOMS = 100
MEAN_STAY_SECONDS = 240
MINIMUM_STAY_SECONDS = 60
FOLLOWS_GROUP = 0.8
LATECOMER_SECONDS = 20


@dataclass(frozen=True)
class Sightings:
    """A recorded stream: element i is person[i] seen in room[i] at second time[i], 0 first.

    `time` is sorted, int32; `person` and `room` are int32 numbers of the world's people and rooms.
    """

    rate: int
    seconds: int
    time: np.ndarray
    person: np.ndarray
    room: np.ndarray

    def __len__(self) -> int:
        return len(self.time)


class Movement:
    """Where every badge holder is at every second.

    A group stays at least MINIMUM_STAY_SECONDS, MEAN_STAY_SECONDS in the mean, then goes to another
    room. For each stay a member goes along with probability FOLLOWS_GROUP, arriving up to
    LATECOMER_SECONDS late, or picks a room of its own.
    """

    def __init__(self, group: np.ndarray, seconds: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 2])
        groups, member_of = np.unique(group, return_inverse=True)
        holders = len(group)
        stays = seconds // MINIMUM_STAY_SECONDS + 2
        extra = rng.exponential(MEAN_STAY_SECONDS - MINIMUM_STAY_SECONDS, (stays, len(groups)))
        length = MINIMUM_STAY_SECONDS + extra
        # Groups do not start together: the first stay began before second 0.
        begin = np.cumsum(length, axis=0) - length - rng.random(len(groups)) * length[0]
        room = np.cumsum(rng.integers(1, ROOMS, (stays, len(groups))), axis=0) % ROOMS
        late = rng.integers(0, LATECOMER_SECONDS + 1, (stays, holders))
        alone = rng.random((stays, holders)) >= FOLLOWS_GROUP
        arrival = np.floor(begin[:, member_of]).astype(np.int64) + late
        arrival[0] = 0
        chosen = np.where(alone, rng.integers(0, ROOMS, (stays, holders)), room[:, member_of])
        # The minimum stay exceeds the lateness, so each holder's arrivals are sorted.
        self._span = int(arrival.max()) + seconds + 1
        key = np.maximum(arrival, 0) + np.arange(holders) * self._span
        self._key = key.T.ravel()
        self._room = chosen.T.ravel()

    def rooms_at(self, holder: np.ndarray, time: np.ndarray | int) -> np.ndarray:
        """Rooms (int32) of the holders (indices into the group array) at the given seconds."""
        key = holder.astype(np.int64) * self._span + time
        stay = np.searchsorted(self._key, key, side="right") - 1
        return self._room[stay].astype(np.int32)


def record(holders: np.ndarray, group: np.ndarray, seed: int, rate: int, seconds: int) -> Sightings:
    """The sightings of `seconds` seconds, exactly `rate` in each, spread evenly over the holders.

    Up to as many sightings a second as holders, nobody is sighted twice in a second; above that,
    everybody is sighted equally often, give or take one.
    """
    if rate < 1 or seconds < 1:
        raise ValueError(f"rate and seconds must be at least 1, not {rate} and {seconds}")
    movement = Movement(group, seconds, seed)
    rng = np.random.default_rng([seed, 3, rate])
    everybody = np.tile(np.arange(len(holders)), rate // len(holders))
    seen = np.empty((seconds, rate), dtype=np.int64)
    for second in range(seconds):
        some = rng.permutation(len(holders))[: rate % len(holders)]
        seen[second] = rng.permutation(np.concatenate([everybody, some]))
    index = seen.ravel()
    time = np.repeat(np.arange(seconds, dtype=np.int32), rate)
    room = movement.rooms_at(index, time)
    return Sightings(rate, seconds, time, holders[index].astype(np.int32), room)
