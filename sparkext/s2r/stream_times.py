"""The times of a stream's elements, kept once for all windows over the stream."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from copy import copy
from typing import Any

from sparkext.s2r.watermark import FOREVER, NEVER

_WORTH_FORGETTING = 64


class StreamTimes:
    """The distinct times of a stream's elements that some window still needs, in order, and how many are of each.

    They come in blocks, most of them after what there is: a list to which they are appended is the sorted container
    that serves this best, and a late one moves only what is newer than it.

    >>> stream = StreamTimes()
    >>> stream.add([3, 5, 9], [1, 1, 2]); stream.add([4, 9], [1, 1])
    >>> stream.times, stream.counts[9]
    ([3, 4, 5, 9], 3)
    """

    def __init__(self) -> None:
        self.times: list[int] = []
        self.counts: dict[int, int] = {}
        self.version = 0  # another one after each arrival
        self._crowd = _WORTH_FORGETTING

    def add(self, times: Sequence[int], counts: Sequence[int]) -> None:
        """Take in elements of these times, which are distinct and in order, so many of each."""
        known = self.counts
        if not known:  # a million at once, after a restart
            self.times += times
            known.update(zip(times, counts, strict=True))
            self.version += 1
            return
        fresh = [time for time in times if time not in known]
        for time, count in zip(times, counts, strict=True):
            known[time] = known.get(time, 0) + count
        if fresh:
            place = bisect_left(self.times, fresh[0])
            if place == len(self.times):
                self.times += fresh
            else:  # two runs: sorted() merges them
                self.times[place:] = sorted(self.times[place:] + fresh)
        self.version += 1

    def crowded(self, readers: int = 1) -> bool:
        """Whether it pays to ask that many readers what they need no more."""
        return len(self.times) > self._crowd + readers

    def forget(self, until: int) -> None:
        """Drop the times up to one, as no reader needs them any more."""
        gone = bisect_right(self.times, until)
        for time in self.times[:gone]:
            del self.counts[time]
        del self.times[:gone]
        self._crowd = max(_WORTH_FORGETTING, 2 * len(self.times))


class SeenTimes:
    """What one query sees of a stream's times: those of the elements that came after it began.

    It begins when the stream is complete up to `complete`, so that older elements cannot come any more; what there is
    of newer times is counted, and does not count for it.

    >>> stream = StreamTimes(); stream.add([3, 8, 9], [1, 1, 1])
    >>> late = SeenTimes(stream, 5)
    >>> stream.add([7, 9, 11], [1, 2, 1])
    >>> late.first(0), late.first(7), late.last(10), late.count(9)
    (7, 9, 9, 2)
    """

    def __init__(self, stream: StreamTimes, complete: int) -> None:
        self.stream = stream
        self._after = complete if stream.times else NEVER
        newer = stream.times[bisect_right(stream.times, complete) :]
        self._before = {time: stream.counts[time] for time in newer}
        self._sure_after = newer[-1] if newer else NEVER

    def copy(self) -> SeenTimes:
        """What another query sees that began with this one and has passed the same times."""
        made = copy(self)
        made._before = dict(self._before)
        return made

    @property
    def sure_after(self) -> int:
        """The time after which it has seen all elements."""
        return self._sure_after

    def count(self, time: int) -> int:
        """How many elements of a time it has seen; there must be some of it in the stream."""
        count = self.stream.counts[time]
        return count if time > self._sure_after else count - self._before.get(time, 0)

    def pass_over(self, until: int) -> None:
        """Say that times up to one do not matter any more."""
        self._after = max(self._after, until)
        if until >= self._sure_after:
            self._before.clear()

    def state(self) -> list[Any]:
        """What `restore` has another one see that is made of the same times."""
        return [self._after, self._sure_after, [list(item) for item in self._before.items()]]

    def restore(self, state: Sequence[Any]) -> None:
        """See what the one saw whose state this is."""
        self._after, self._sure_after = state[0], state[1]
        self._before = dict(state[2])

    def first(self, after: int) -> int | None:
        """The first time after `after`."""
        times = self.stream.times
        for place in range(bisect_right(times, max(after, self._after)), len(times)):
            if times[place] > self._sure_after or self.count(times[place]):
                return times[place]
        return None

    def last(self, until: int = FOREVER) -> int | None:
        """The last time up to `until`."""
        times = self.stream.times
        for place in range(bisect_right(times, until) - 1, -1, -1):
            time = times[place]
            if time <= self._after:
                return None
            if time > self._sure_after or self.count(time):
                return time
        return None

    def between(self, after: int, until: int) -> list[int]:
        """The times of the stream in ``(after, until]``, those of which `count` is 0 among them."""
        times = self.stream.times
        return times[bisect_right(times, max(after, self._after)) : bisect_right(times, until)]
