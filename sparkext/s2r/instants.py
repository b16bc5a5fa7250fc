"""The evaluation instants of one query: which are due, in order, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sparkext.errors import UnknownStreamError
from sparkext.s2r.arrivals import arrivals_of
from sparkext.s2r.report import ReportPolicy, ReportPolicyError, Rule, Strategy
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
    the scheduler keeps its own, fed by `push`.

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
        self.steps = 0
        self.late_count = 0
        streams = list(dict.fromkeys(stream for stream, _ in windows))
        if watermarks is None:
            self.watermarks = {
                stream: StreamWatermark(allowed_lateness, idle_timeout, clock) for stream in streams
            }
        else:
            self.watermarks = {stream: watermarks[stream] for stream in streams}
        self._arrivals = [arrivals_of(window) for _, window in windows]
        self._first: int | None = None
        self._settled = NEVER
        self._changed = True
        self._unsure_until = NEVER

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
        self._take(stream, arrivals.on_time, arrivals.on_time_counts)
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
        arrived = list(times)
        late = [place for place, time in enumerate(arrived) if time <= self._settled]
        self.late_count += sum(1 if counts is None else counts[place] for place in late)
        on_time = [place for place, time in enumerate(arrived) if time > self._settled]
        self._take(
            stream,
            [arrived[place] for place in on_time],
            None if counts is None else [counts[place] for place in on_time],
        )
        return [arrived[place] for place in late]

    def classify(self, stream: str, time: int) -> str:
        """``"late"`` for a time that this query can no longer take in from the stream, else
        ``"on_time"``."""
        late = time <= self._settled or self._watermark(stream).is_late(time)
        return "late" if late else "on_time"

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
        if self._last_instant() > self._settled:
            return self._settled
        return max(self._settled, complete_up_to(self.watermarks.values()))

    def reads(self, stream: str) -> bool:
        """Whether a window of the query looks at the stream."""
        return any(name == stream for name, _ in self.windows)

    def due(self) -> Iterator[int]:
        """Yield the instants that are due, in order; an instant counts as evaluated once it has
        been yielded."""
        while (instant := self._next_due()) is not None:
            self._settle(instant)
            yield instant

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

    def _changes_until(self, t: int) -> bool:
        """Whether a window may change at an instant after the settled one, up to `t`."""
        if self._settled < self._unsure_until:
            return True
        for arrivals in self._arrivals:
            change = arrivals.next_holding(Strategy.STRICT_CONTENT_CHANGE, self._settled + 1)
            if change is not None and change <= t:
                return True
        return False

    def _next_due(self) -> int | None:
        complete = complete_up_to(self.watermarks.values())
        last = self._last_instant()
        if self._first is None:
            return None
        start = max(self._settled + 1, self._first)
        found: int | None = None
        for rule in self.policy.rules:
            limit = min(complete, last + rule.tells_loss)
            if limit < start:
                continue
            instant = self._next_of(rule, start, limit if found is None else found - 1)
            found = found if instant is None else instant
        if found is None and min(complete, last) > self._settled:
            self._settle(min(complete, last))
        return found

    def _next_of(self, rule: Rule, start: int, limit: int) -> int | None:
        """The first instant in [start, limit] at which all of the rule holds: each condition in
        turn moves the candidate on."""
        t, agreed, place = start, 0, 0
        parts = len(rule.conditions) + (rule.every is not None)
        while t <= limit:
            self.steps += 1
            if place < len(rule.conditions):
                condition = rule.conditions[place]
                moved = self._arrivals[condition.window].next_holding(condition.strategy, t)
            else:
                moved = self._next_period(rule, t)
            if moved is None:
                return None
            agreed = agreed + 1 if moved == t else 1
            t = moved
            if agreed == parts and t <= limit:
                return t
            place = (place + 1) % parts
        return None

    def _next_period(self, rule: Rule, t: int) -> int:
        assert rule.every is not None
        return t + (rule.start - t) % rule.every

    def _last_instant(self) -> int:
        """The last instant at which a window, by what arrived so far, still holds an element."""
        return max(
            (
                arrivals.window.last_instant(arrivals.latest)
                for arrivals in self._arrivals
                if arrivals.latest is not None
            ),
            default=NEVER,
        )

    def _settle(self, t: int) -> None:
        self._changed = self._changed or self._changes_until(t)
        self._settled = t
        for arrivals in self._arrivals:
            arrivals.forget(t)

    def _take(self, stream: str, on_time: list[int], counts: Sequence[int] | None) -> None:
        if not on_time:
            return
        earliest = min(on_time)
        self._first = earliest if self._first is None else min(self._first, earliest)
        for (name, _), arrivals in zip(self.windows, self._arrivals, strict=True):
            if name == stream:
                arrivals.add(on_time, counts)

    def _watermark(self, stream: str) -> StreamWatermark:
        try:
            return self.watermarks[stream]
        except KeyError:
            raise UnknownStreamError(stream, list(self.watermarks)) from None
