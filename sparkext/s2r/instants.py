"""The evaluation instants of one query: which are due, in order, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from sparkext.errors import UnknownStreamError
from sparkext.s2r.arrivals import arrivals_of
from sparkext.s2r.report import ReportPolicy, ReportPolicyError, Strategy
from sparkext.s2r.rule_search import RuleSearch
from sparkext.s2r.stream_times import SeenTimes, StreamTimes
from sparkext.s2r.watermark import (
    FOREVER,
    NEVER,
    Arrivals,
    StreamWatermark,
    complete_up_to,
    milliseconds_now,
)
from sparkext.s2r.windows import WindowSpec


class InstantScheduler:
    """Finds the evaluation instants of one query from what arrived on its streams.

    An instant is due when every stream that is not idle is complete up to it (`watermark`), and is
    never looked at before. Empty stretches are jumped over: the work is bounded by the elements
    that arrived and the instants that are due, so years without an element cost as much as a second
    (`steps` counts it). Under WC without NC, and under P, the instants run from the first element's
    time, of any stream, to the close of the last window that holds an element (for a window that
    never closes: to its last element); those of an empty stretch come out when an element after it
    is complete, so that the instants do not depend on how the input was cut into batches.

    `windows` lists (stream IRI, window) in the order the policy refers to. With `watermarks` the
    streams are shared with other queries: then `add` takes what their owner found on time. Without,
    the scheduler keeps its own, fed by `push`. With `times`, too, their owner adds what arrives to
    these, and has them forget what no scheduler needs any more (`needed_after`).

    >>> from sparkext.s2r.report import default_policy
    >>> from sparkext.s2r.windows import SlidingWindow
    >>> window = SlidingWindow(width=5, slide=2, start=1)
    >>> query = InstantScheduler([("s", window)], default_policy([window]))
    >>> _ = query.push("s", [2, 5, 7, 12]); list(query.due())
    [6, 8, 10]
    >>> query.finish(); list(query.due())
    [12, 14, 16]
    """

    def __init__(
        self,
        windows: Sequence[tuple[str, WindowSpec]],
        policy: ReportPolicy,
        watermarks: Mapping[str, StreamWatermark] | None = None,
        times: Mapping[str, StreamTimes] | None = None,
        *,
        allowed_lateness: int = 0,
        idle_timeout: int | None = None,
        clock: Callable[[], int] = milliseconds_now,
    ) -> None:
        unknown = [place for place in policy.windows() if not 0 <= place < len(windows)]
        if unknown:
            raise ReportPolicyError(
                f"the report policy names window {unknown[0]} of {len(windows)}"
            )
        self.windows = tuple(windows)
        self.policy = policy
        self.late_count = 0
        streams = list(dict.fromkeys(stream for stream, _ in windows))
        if watermarks is None:
            self.watermarks = {
                stream: StreamWatermark(allowed_lateness, idle_timeout, clock) for stream in streams
            }
        else:
            self.watermarks = {stream: watermarks[stream] for stream in streams}
        # Whether a stream may be passed over, as the clock has it.
        self.clocked = len(streams) > 1 and any(
            mark.idle_timeout is not None for mark in self.watermarks.values()
        )
        self._owned = times is None
        self._times = {
            stream: StreamTimes() if times is None else times[stream] for stream in streams
        }
        self._seen = {
            stream: SeenTimes(kept, self.watermarks[stream].final.complete_up_to)
            for stream, kept in self._times.items()
        }
        self._arrivals = [arrivals_of(window, self._seen[stream]) for stream, window in windows]
        self._search = RuleSearch(self._arrivals)
        self._first: int | None = None
        self._last = NEVER  # at which a window, by what arrived so far, still holds an element
        self._settled = NEVER
        self._changed = True
        self._next_change: int | None = None  # after the settled instant; None: not known
        self._unsure_until = NEVER
        self._looked_at: list[int] = []

    # ---- what arrives

    def push(
        self, stream: str, times: Iterable[int], counts: Sequence[int] | None = None
    ) -> Arrivals:
        """Take in elements of a stream, move its watermark, and say which came too late.

        A sorted batch is judged by the watermark before it. `counts` gives the number of elements
        of each time.
        """
        # An idle stream is not waited for, so it may be behind the instants already evaluated.
        arrivals = self._watermark(stream).observe(times, counts, self._settled)
        self.late_count += arrivals.late_elements
        self._take(stream, zip(arrivals.on_time, arrivals.on_time_counts, strict=True))
        return arrivals

    def add(
        self, stream: str, times: Iterable[int], counts: Sequence[int] | None = None
    ) -> list[int]:
        """Take in times that a shared watermark found on time; gives back those that lie in an
        instant already decided.

        That happens only to a stream that was idle. They are counted in `late_count` and must not
        enter the query's windows.
        """
        self._watermark(stream)
        late = []
        on_time = []
        for place, time in enumerate(times):
            count = 1 if counts is None else counts[place]
            if time <= self._settled:
                self.late_count += count
                late.append(time)
            else:
                on_time.append((time, count))
        self._take(stream, on_time)
        return late

    def advance_to(self, t: int, stream: str | None = None) -> None:
        """Promise that no element of time `t` or earlier is to come, on one stream or on all."""
        for watermark in self.watermarks.values() if stream is None else [self._watermark(stream)]:
            watermark.advance_to(t)

    def finish(self, stream: str | None = None) -> None:
        """Say that one stream, or all, have ended; at the end of all, every window that holds an
        element closes."""
        for watermark in self.watermarks.values() if stream is None else [self._watermark(stream)]:
            watermark.finish()

    # ---- what is due

    @property
    def steps(self) -> int:
        """How many instants have been looked at."""
        return self._search.steps

    def pause_by(self, pause: Callable[[], None]) -> None:
        """Have `pause` called once in a while in the midst of a long search, which it may end by an exception."""
        self._search.pause = pause

    @property
    def settled_up_to(self) -> int:
        """The greatest time such that every evaluation to come lies after it."""
        return self._settled

    @property
    def decided_up_to(self) -> int:
        """As `settled_up_to`, but beyond it where no evaluation can come any more; to be asked when none is due.

        What is complete is decided, with two exceptions: a stream that was idle may come back with elements of the time
        since, and under a rule that needs no element the instants of an empty stretch come with the element after it.

        >>> from sparkext.s2r.report import periodic
        >>> from sparkext.s2r.windows import SlidingWindow
        >>> query = InstantScheduler([("s", SlidingWindow(width=10, slide=10))], periodic(10))
        >>> _ = query.push("s", [5]); query.advance_to(50); list(query.due()), query.decided_up_to
        ([10], 10)
        >>> _ = query.push("s", [55]); list(query.due()), query.decided_up_to
        ([20, 30, 40, 50], 54)
        """
        complete = complete_up_to(self.watermarks.values())
        decided = min([complete, *(w.complete_up_to for w in self.watermarks.values() if w.idle)])
        self._look()
        goes_on = self._first is not None and complete < FOREVER
        if goes_on and not all(rule.needs_element for rule in self.policy.rules):
            decided = NEVER
        return max(self._settled, decided)

    @property
    def emptied_up_to(self) -> int:
        """The greatest time such that an evaluation to come lies after it, or shows nothing of what has come but
        what stays for ever.

        Where all that has come is gone, that is as far as the streams are complete: `settled_up_to` waits for an
        element that some window shows, which may never come.
        """
        self._look()
        if self._last > self._settled:
            return self._settled
        return max(self._settled, complete_up_to(self.watermarks.values()))

    def due(self) -> Iterator[int]:
        """Yield the instants that are due, in order; an instant counts as evaluated once it has
        been yielded."""
        while (instant := self.next_due()) is not None:
            self.settle(instant)
            yield instant

    def next_due(self) -> int | None:
        """The first instant that is due; where none is, what is complete is settled.

        The same is found again until `settle` is called. It must not be called between that and the
        evaluation of the instant.
        """
        self._look()
        if self._first is None:
            return None
        complete = complete_up_to(self.watermarks.values())
        start = max(self._settled + 1, self._first)
        found: int | None = None
        for rule in self.policy.rules:
            limit = min(complete, self._last + rule.tells_loss)
            if limit < start:
                continue
            instant = self._search.first(rule, start, limit if found is None else found - 1)
            found = found if instant is None else instant
        if found is None:
            self.settle(min(complete, self._last))
            self._forget_own()
        return found

    def settle(self, instant: int) -> None:
        """Say that an instant is to be evaluated now, and none before it any more."""
        if instant <= self._settled:
            return
        self._changed = self._changed or self._changes_until(instant)
        self._settled = instant
        for arrivals in self._arrivals:
            arrivals.settle(instant)

    def branch(self, watermarks: Mapping[str, StreamWatermark]) -> InstantScheduler:
        """One that has come as far and goes on by itself, over the same times with other watermarks."""
        self._look()
        made = copy(self)
        made.watermarks = {stream: watermarks[stream] for stream in self.watermarks}
        made._seen = {stream: seen.copy() for stream, seen in self._seen.items()}
        made._arrivals = [
            arrivals.over(made._seen[stream])
            for (stream, _), arrivals in zip(self.windows, self._arrivals, strict=True)
        ]
        made._search = RuleSearch(made._arrivals)
        made._search.pause = self._search.pause
        made._changed, made._next_change = True, None
        return made

    def pass_over(self, t: int) -> None:
        """Say that instants up to `t` are decided, whichever they are."""
        self._look()
        self.settle(t)

    def waits_for(self) -> dict[str, int]:
        """Where no instant is due: the streams whose news may make one due, each with the least `complete_up_to` at
        which they may, whatever elements are still to come.

        >>> from sparkext.s2r.report import default_policy
        >>> from sparkext.s2r.windows import NowWindow, SlidingWindow
        >>> windows = [SlidingWindow(10, 10), NowWindow()]
        >>> query = InstantScheduler([("a", windows[0]), ("b", windows[0])], default_policy(windows[:1]))
        >>> _ = query.push("a", [3, 45]); _ = query.push("b", [8]); query.next_due(), query.waits_for()
        (None, {'b': 10})

        A stream that is ahead of another is not waited for. One that must bring another element, whatever the
        others do, is with a time that any element takes it to.
        """
        self._look()
        coming = {stream: mark.complete_up_to + 1 for stream, mark in self.watermarks.items()}
        firsts = [*coming.values(), *([] if self._first is None else [self._first])]
        start = max(self._settled + 1, min(firsts))
        to_windows = [coming[stream] for stream, _ in self.windows]
        instant = min(self._search.bound(rule, start, to_windows) for rule in self.policy.rules)
        if instant >= FOREVER:
            return {}
        slowest = min(coming, key=lambda stream: coming[stream])
        if coming[slowest] <= instant:
            return dict.fromkeys(coming, instant) if self.clocked else {slowest: instant}
        # All are complete up to there, so no window holds an element then, and one is waited for.
        bounds: dict[str, int] = {}
        for stream, window in self.windows:
            held = window.held_from(coming[stream])
            if held < FOREVER:
                reached = held - 1 - self.watermarks[stream].allowed_lateness
                bounds[stream] = min(reached, bounds.get(stream, FOREVER))
        return bounds

    def needed_after(self, stream: str) -> int:
        """The time up to which elements of a stream matter no more for the instants to come; to be asked when none is
        due."""
        self._look()
        passed = self._settled
        if self._last <= passed:
            passed = max(passed, min(mark.complete_up_to for mark in self.watermarks.values()))
            # What leaves by then cannot be seen to leave afterwards.
            self._changed = self._changed or self._changes_until(passed)
        needed = [
            arrivals.needed_after(passed)
            for (name, _), arrivals in zip(self.windows, self._arrivals, strict=True)
            if name == stream
        ]
        after = min(passed, *needed)
        self._seen[stream].pass_over(after)
        return after

    @property
    def changed(self) -> bool:
        """Whether a window's content at the instant yielded last may differ from what it was when `note_content` was
        called; where it does not, nothing has entered or left any window since. The first content is a change.

        >>> from sparkext.s2r.report import periodic
        >>> from sparkext.s2r.windows import RangeWindow
        >>> query = InstantScheduler([("s", RangeWindow(10))], periodic(5))
        >>> _ = query.push("s", [5, 40]); query.finish()
        >>> [(t, query.changed, query.note_content()) for t in query.due()][:4]
        [(5, True, None), (10, False, None), (15, True, None), (20, False, None)]
        """
        return self._changed

    def note_content(self) -> None:
        """Say that the content at the instant yielded last has been seen."""
        self._changed = False

    def began_with(self, stream: str, newest: int) -> None:
        """Say that windows on a stream began with elements of times up to `newest` that are not told of here."""
        for name, window in self.windows:
            if name == stream:
                ends = (window.enters_at(newest), window.leaves_at(newest))
                self._unsure_until = max(
                    [self._unsure_until, newest, *(end for end in ends if end is not None)]
                )

    def state(self) -> dict[str, Any]:
        """As plain data, what `restore` has a scheduler go on with that is made of the same windows and times."""
        seen = {stream: seen.state() for stream, seen in self._seen.items()}
        numbers = [self._first, self._last, self._settled, self._unsure_until]
        arrivals = [arrivals.state() for arrivals in self._arrivals]
        return {"numbers": numbers, "changed": self._changed, "seen": seen, "arrivals": arrivals}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the one was whose state this is."""
        self._first, self._last, self._settled, self._unsure_until = state["numbers"]
        self._changed = state["changed"]
        for stream, seen in self._seen.items():
            seen.restore(state["seen"][stream])
        for arrivals, known in zip(self._arrivals, state["arrivals"], strict=True):
            arrivals.restore(known)
        self._next_change = None
        self._looked_at = []

    def _forget_own(self) -> None:
        if self._owned:
            for stream, kept in self._times.items():
                if kept.crowded():
                    kept.forget(self.needed_after(stream))

    def _changes_until(self, t: int) -> bool:
        """Whether a window may change at an instant after the settled one, up to `t`."""
        if self._settled < self._unsure_until:
            return True
        if self._next_change is None or self._next_change <= self._settled:
            strict = Strategy.STRICT_CONTENT_CHANGE
            changes = [kept.next_holding(strict, self._settled + 1) for kept in self._arrivals]
            self._next_change = min([FOREVER, *(at for at in changes if at is not None)])
        return self._next_change <= t

    def _look(self) -> None:
        """Take up what has arrived since the last time."""
        versions = [kept.version for kept in self._times.values()]
        if versions == self._looked_at:
            return
        for arrivals in self._arrivals:
            arrivals.look()
            if arrivals.latest is not None:
                self._last = max(self._last, arrivals.window.last_instant(arrivals.latest))
        if self._first is None or self._settled < self._first:
            firsts = [self._first, *(seen.first(self._settled) for seen in self._seen.values())]
            self._first = min((time for time in firsts if time is not None), default=None)
        self._next_change = None
        self._looked_at = versions

    def _take(self, stream: str, on_time: Iterable[tuple[int, int]]) -> None:
        arrived: dict[int, int] = {}
        for time, count in on_time:
            arrived[time] = arrived.get(time, 0) + count
        if arrived:
            times = sorted(arrived)
            self._times[stream].add(times, [arrived[time] for time in times])

    def _watermark(self, stream: str) -> StreamWatermark:
        try:
            return self.watermarks[stream]
        except KeyError:
            raise UnknownStreamError(stream, list(self.watermarks)) from None
