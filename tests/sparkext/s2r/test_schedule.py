"""Queries that share their streams' times, and are asked only when they can be due, against queries of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.report import ReportPolicy, default_policy, periodic
from sparkext.s2r.schedule import Schedule
from sparkext.s2r.stream_times import SeenTimes, StreamTimes
from sparkext.s2r.watermark import FOREVER, NEVER, StreamWatermark
from sparkext.s2r.windows import NowWindow, SlidingWindow, WindowSpec
from tests.sparkext.s2r.test_instants import YEAR, queries_with_policies, windows

Asked = tuple[list[tuple[str, WindowSpec]], ReportPolicy]
Told = list[tuple[int, int, bool]]
"""Instants in the order in which they were found: instant, number of the query, whether anything had changed."""


@dataclass
class Straightforward:
    """Each query keeps all times by itself, and is asked after all that happens."""

    marks: dict[str, StreamWatermark]
    queries: dict[int, InstantScheduler] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)  # by queries that have ended

    def add(self, number: int, asked: Asked) -> None:
        self.queries[number] = InstantScheduler(*asked, self.marks)

    def remove(self, number: int) -> None:
        ended = self.queries[number]
        passed = {stream: self.settled(stream) for stream in ended.watermarks}
        del self.queries[number]
        for stream, time in passed.items():
            self.passed[stream] = time if self.reading(stream) else NEVER

    def reading(self, stream: str) -> list[InstantScheduler]:
        return [query for query in self.queries.values() if stream in query.watermarks]

    def settled(self, stream: str) -> int:
        settled = [query.settled_up_to for query in self.reading(stream)]
        return max([self.passed.get(stream, NEVER), *settled])

    def push(self, stream: str, times: list[int]) -> list[int]:
        settled = self.settled(stream)
        on_time = self.marks[stream].observe(sorted(times), None, settled).on_time
        for query in self.reading(stream):
            assert query.add(stream, on_time) == []
        return on_time

    def ask(self) -> Told:
        told = []
        for number, query in self.queries.items():
            for instant in query.due():
                told.append((instant, number, query.changed))
                query.note_content()
        return sorted(told)


@dataclass
class Scheduled:
    """As the engine does it: with `holds`, elements are kept back until they can make something due.

    With `forgets`, times that nobody needs go at once.
    """

    marks: dict[str, StreamWatermark]
    holds: bool
    schedule: Schedule = field(default_factory=Schedule)
    queries: dict[int, InstantScheduler] = field(default_factory=dict)
    held: list[tuple[str, list[int]]] = field(default_factory=list)
    asked: int = 0
    forgets: bool = False

    def __post_init__(self) -> None:
        for stream, mark in self.marks.items():
            mark.on_move = partial(self.schedule.moved, stream)

    def add(self, number: int, asked: Asked) -> None:
        self.hand_over()
        times = {stream: self.schedule.times(stream) for stream, _ in asked[0]}
        self.queries[number] = InstantScheduler(*asked, self.marks, times)
        self.schedule.add(number, self.queries[number])

    def remove(self, number: int) -> None:
        self.hand_over()
        del self.queries[number]
        self.schedule.remove(number)

    def push(self, stream: str, times: list[int]) -> list[int]:
        settled = self.schedule.settled_up_to(stream)
        on_time = self.marks[stream].observe(sorted(times), None, settled).on_time
        self.held.append((stream, on_time))
        return on_time

    def hand_over(self) -> None:
        for stream, times in self.held:
            counts = Counter(times)
            self.schedule.note(stream, sorted(counts), [counts[t] for t in sorted(counts)])
        self.held.clear()

    def ask(self, stream: str | None = None) -> Told:
        if (
            stream
            and self.holds
            and self.marks[stream].complete_up_to < self.schedule.due_bound(stream)
        ):
            return []
        self.hand_over()
        told = []
        for number in self.schedule.concerned():
            self.asked += 1
            query = self.queries[number]
            while (instant := query.next_due()) is not None:
                query.settle(instant)
                told.append((instant, number, query.changed))
                query.note_content()
            self.schedule.asked(number, due=False)
        if self.forgets:
            for name in self.marks:
                self.schedule.times(name)._crowd = NEVER
        self.schedule.forget()
        return sorted(told)


pushes = st.tuples(
    st.just("push"),
    st.sampled_from("ab"),
    st.lists(st.integers(0, 8), max_size=3),
    st.sampled_from([0, 0, 0, 9, 30]),
)
registrations = st.tuples(st.just("add"), queries_with_policies())
others = st.one_of(
    st.tuples(st.just("promise"), st.sampled_from("ab"), st.integers(0, 30)),
    st.tuples(st.just("wait"), st.sampled_from([5, 50])),
    st.tuples(st.just("stop")),
)
happenings = st.lists(
    st.one_of(pushes, pushes, pushes, pushes, registrations, others), min_size=8, max_size=40
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    queries_with_policies(),
    happenings,
    st.integers(0, 6),
    st.sampled_from([None, None, 40]),
    st.booleans(),
)
def test_the_same_instants_come_at_the_same_points(
    first: Asked,
    happened: list[tuple],  # type: ignore[type-arg]
    lateness: int,
    idle_timeout: int | None,
    holds: bool,
) -> None:
    """Registered at different times, with late elements, idle streams and elements that are kept back."""
    clock = [0]

    def marks() -> dict[str, StreamWatermark]:
        return {s: StreamWatermark(lateness, idle_timeout, lambda: clock[0]) for s in "ab"}

    plain = Straightforward(marks())
    made = Scheduled(marks(), holds, forgets=True)
    begin = {"a": 0, "b": 0}
    numbers = 0
    for what, *arguments in [("add", first), *happened, ("end",)]:
        stream: str | None = None
        if what == "push":
            stream, steps, jump = arguments
            begin[stream] += jump
            times = [begin[stream] + step for step in steps]
            assert made.push(stream, times) == plain.push(stream, times)
            begin[stream] += 3
        elif what == "promise":
            for both in (plain, made):
                both.marks[arguments[0]].advance_to(begin[arguments[0]] + arguments[1])
        elif what == "wait":
            clock[0] += arguments[0]
            continue
        elif what == "add":
            for both in (plain, made):
                both.add(numbers, arguments[0])
            numbers += 1
            continue
        elif what == "stop" and plain.queries:
            for both in (plain, made):
                both.remove(min(both.queries))
            continue
        elif what == "end":
            for both in (plain, made):
                for mark in both.marks.values():
                    mark.finish()
        expected = plain.ask()
        assert made.ask(stream) == expected
        for name in "ab":
            passed = made.marks[name].complete_up_to
            floor = max(passed, made.schedule.settled_up_to(name))
            assert floor == max(passed, plain.settled(name))


def test_what_a_query_had_passed_comes_too_late_for_the_others_when_it_has_ended() -> None:
    clock = [0]
    marks = {stream: StreamWatermark(0, 40, lambda: clock[0]) for stream in "ab"}
    made = Scheduled(marks, holds=False)
    near, far = SlidingWindow(10, 10), SlidingWindow(1000, 100)
    for number, last in enumerate([near, far]):
        read: list[tuple[str, WindowSpec]] = [("a", near), ("b", near), ("a", last)]
        made.add(number, (read, default_policy([window for _, window in read])))
    for stream in "ab":
        made.push(stream, [5])
    clock[0] = 50
    marks["b"].advance_to(250)  # a is idle, and not waited for
    made.ask()
    assert [query.settled_up_to for query in made.queries.values()] == [10, 250]
    assert made.schedule.settled_up_to("a") == 250
    made.remove(1)
    assert made.schedule.settled_up_to("a") == 250
    made.remove(0)
    assert made.schedule.settled_up_to("a") == NEVER


def test_pushes_within_a_slide_ask_nobody() -> None:
    """Nor do those of a stream that is ahead of another one."""
    marks = {"a": StreamWatermark(), "b": StreamWatermark()}
    made = Scheduled(marks, holds=True)
    window = SlidingWindow(10_000, 10_000)
    both: Asked = ([("a", window), ("b", window)], default_policy([window, window]))
    made.add(0, ([("a", window)], default_policy([window])))
    for time in range(1, 10_001, 500):
        made.push("a", [time])
        made.ask("a")
    assert made.asked == 0
    made.add(1, both)
    assert (made.schedule.due_bound("a"), made.schedule.due_bound("b")) == (10_000, 10_000)
    made.push("a", [12_000])
    assert made.ask("a") == [(10_000, 0, True)]
    assert (made.schedule.due_bound("a"), made.schedule.due_bound("b")) == (20_000, 10_000)
    made.remove(0)
    assert made.schedule.due_bound("a") == FOREVER
    assert made.schedule.due_bound("c") == FOREVER
    made.push("b", [3])
    assert made.ask("b") == []
    made.push("b", [12_000])
    assert made.ask("b") == [(10_000, 1, True)]


def test_what_a_push_costs_does_not_depend_on_the_queries_that_wait() -> None:
    marks = {"a": StreamWatermark()}
    made = Scheduled(marks, holds=False)
    for number in range(2000):
        window = SlidingWindow(YEAR + number, YEAR)
        made.add(number, ([("a", window)], default_policy([window])))
    for time in range(1, 1000):
        made.push("a", [time])
        assert made.ask("a") == []
    assert made.asked == 0
    assert made.schedule.times("a").times == list(range(1, 1000))
    made.add(2000, ([("a", NowWindow())], default_policy([NowWindow()])))
    for time in range(1000, 2000):
        made.push("a", [time])
        assert len(made.ask("a")) == (time > 1000)
    assert made.asked == 1000


@settings(max_examples=300, derandomize=True, deadline=None)
@given(windows, st.integers(-5, 70))
def test_gaps_are_jumped_over_and_nothing_else(window: WindowSpec, time: int) -> None:
    later, earlier = window.held_from(time), window.held_until(time)
    assert later >= time >= earlier
    between = [*range(time, min(later, 200)), *range(max(earlier, -50) + 1, time + 1)]
    assert not any(window.holds(passed) for passed in between)


@settings(max_examples=500, derandomize=True, deadline=None)
@given(
    st.lists(st.dictionaries(st.integers(0, 30), st.integers(1, 3), max_size=5), max_size=5),
    st.lists(st.dictionaries(st.integers(0, 30), st.integers(1, 3), max_size=5), max_size=5),
    st.integers(-1, 30),
    st.integers(-1, 10),
)
def test_times_before_a_query_are_not_seen(
    before: list[dict[int, int]], after: list[dict[int, int]], complete: int, forgotten: int
) -> None:
    """Also where elements of these times come again."""
    stream = StreamTimes()
    for block in before:
        stream.add(sorted(block), [block[time] for time in sorted(block)])
    seen = SeenTimes(stream, complete)
    expected: Counter[int] = Counter()
    for block in after:
        new = {time: count for time, count in block.items() if time > complete}
        expected.update(new)
        stream.add(sorted(new), [new[time] for time in sorted(new)])
    stream.forget(min(forgotten, complete))
    times = sorted(expected)
    for t in range(-1, 32):
        assert seen.first(t) == next((time for time in times if time > t), None)
        assert seen.last(t) == next((time for time in reversed(times) if time <= t), None)
        passed = seen.between(t, t + 5)
        assert sum(map(seen.count, passed)) == sum(expected[u] for u in range(t + 1, t + 6))
    assert stream.times == sorted(stream.counts)


def test_instants_of_an_empty_stretch_come_with_the_element_after_it() -> None:
    made = Scheduled({"a": StreamWatermark()}, holds=True)
    made.add(0, ([("a", SlidingWindow(10, 10))], periodic(10)))
    made.push("a", [5])
    made.marks["a"].advance_to(50)
    assert [t for t, *_ in made.ask()] == [10]
    made.push("a", [51])
    assert [t for t, *_ in made.ask("a")] == [20, 30, 40, 50]
