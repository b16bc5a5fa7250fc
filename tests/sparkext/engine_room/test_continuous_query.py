"""Registered queries as the hot path runs them: streaming operators, stages, order, terms they make."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame

from sparkext.runtime.answering import answers_file
from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.windows.stream_blocks import Element, block, iri

P = iri("p")
Answers = list[tuple[str | None, ...]]


def same(frame: DataFrame) -> DataFrame:
    """A query that gives subjects and objects as they are."""
    return frame


class Query:
    """A query over subject and object of what is in a window (t - width, t]; hidden columns begin with _."""

    def __init__(
        self,
        live: LiveRoom,
        name: str,
        operator: str = "RSTREAM",
        change: Callable[[DataFrame], DataFrame] = same,
        width: int = 2,
    ) -> None:
        self.width = width
        self.stream = live.room.stream(iri(name))
        self.window = self.stream.window("w")
        self.content = live.room.windowPattern(self.window, "w", "0,0,0||0,2||set")
        frame = change(live.frame(self.content, "s", "o"))
        self.names = [c for c in frame.columns if not c.startswith("_")]
        self.plans = live.room.plans(live.prepare(frame))
        self.jvm = live.room.query(
            name,
            self.plans,
            live.names(*frame.columns),
            len(self.names),
            operator,
        )
        self.jvm.addWindow(self.window)

    def push(self, time: int, *pairs: tuple[str, str]) -> None:
        """Add an element of triples s p o."""
        element = Element(time, None, [(s, P, o) for s, o in pairs])
        assert '"accepted":1' in self.stream.append(block([element]))

    def at(self, time: int, slices: int = 0) -> Answers:
        """The answers at an instant, in their order."""
        outcome = json.loads(self.jvm.evaluate(f"{time - self.width},{time}", slices))
        self.stream.dropExpired(time)
        table = answers_file.take(outcome, self.names)
        assert table.num_rows == outcome["answers"]
        rows = table.to_pylist()
        return [tuple(row[name] for name in self.names) for row in rows]


A, B, C = (iri(name) for name in "abc")
X, Y = '"x"', '"y"'


@pytest.mark.parametrize("slices", [0, 1, 2])
def test_rstream_gives_all_answers_at_each_instant(live: LiveRoom, slices: int) -> None:
    query = Query(live, f"rstream{slices}", "RSTREAM")
    query.push(1, (A, X), (B, X))
    query.push(2, (A, X), (C, Y))
    assert query.at(0, slices) == []
    assert sorted(query.at(1, slices)) == [(A, X), (B, X)]
    assert sorted(query.at(2, slices)) == [(A, X), (B, X), (C, Y)]
    assert sorted(query.at(3, slices)) == [(A, X), (C, Y)]
    assert query.at(4, slices) == []


def test_istream_gives_what_is_new_and_dstream_what_is_gone(live: LiveRoom) -> None:
    new, gone = (Query(live, o, o, width=1) for o in ("ISTREAM", "DSTREAM"))
    for query in (new, gone):
        query.push(1, (A, X), (B, X))
        query.push(2, (B, X), (C, Y))
        query.push(4, (B, X))
    assert [sorted(new.at(t)) for t in range(6)] == [
        [], [(A, X), (B, X)], [(C, Y)], [], [(B, X)], []
    ]  # fmt: skip
    # What left is still decoded, though no pane holds its terms any more.
    assert [sorted(gone.at(t)) for t in range(6)] == [
        [], [], [(A, X)], [(B, X), (C, Y)], [], [(B, X)]
    ]  # fmt: skip


def test_membership_decides_and_each_is_told_once(live: LiveRoom) -> None:
    def doubled(frame: DataFrame) -> DataFrame:
        objects = frame.select("o")
        return objects.union(frame.select("o"))

    new, gone, all_answers = (
        Query(live, f"doubled {o}", o, doubled, width=1) for o in ("ISTREAM", "DSTREAM", "RSTREAM")
    )
    for query in (new, gone, all_answers):
        query.push(1, (A, X))
        query.push(2, (A, X), (B, X), (A, Y))
    assert all_answers.at(1) == [(X,), (X,)]
    assert [sorted(new.at(t)) for t in (1, 2, 3)] == [[(X,)], [(Y,)], []]
    assert [sorted(gone.at(t)) for t in (1, 2, 3)] == [[], [], [(X,), (Y,)]]


def test_an_answer_that_returns_keeps_the_terms_it_made(live: LiveRoom) -> None:
    # The made term is known to the dictionary by nothing but the answers that hold it.
    made = f"cqels_str({live.number}L, s) as name"
    new, gone = (
        Query(live, f"made {o}", o, lambda f: f.selectExpr(made), width=1)
        for o in ("ISTREAM", "DSTREAM")
    )
    name = '"http://example.org/a"'
    for query in (new, gone):
        query.jvm.setMakesTerms()
        for time in (1, 3, 4, 6):
            query.push(time, (A, X))
    assert [new.at(t) for t in range(8)] == [[], [(name,)], [], [(name,)], [], [], [(name,)], []]
    assert [gone.at(t) for t in range(8)] == [[], [], [(name,)], [], [], [(name,)], [], [(name,)]]
    for query in (new, gone):
        query.jvm.close()
    live.dictionary.sweepUnreferenced()
    assert live.dictionary.lookup(name) == 0


def test_terms_that_only_answers_made_leave_after_each_evaluation(live: LiveRoom) -> None:
    query = Query(live, "sums", "RSTREAM", lambda f: f.selectExpr(f"cqels_str({live.number}L, s)"))
    query.jvm.setMakesTerms()
    query.push(1, (iri("someone"), X))
    assert query.at(1) == [('"http://example.org/someone"',)]
    assert live.dictionary.lookup('"http://example.org/someone"') == 0
    assert live.dictionary.lookup(iri("someone")) != 0


def test_unbound_variables_are_null(live: LiveRoom) -> None:
    room = live.number
    query = Query(
        live, "unbound", "RSTREAM", lambda f: f.selectExpr("s", f"cqels_lang({room}L, o) as l")
    )
    query.push(1, (A, '"x"@en'), (B, C))
    assert dict(query.at(1)) == {A: '"en"', B: None}


def test_order_offset_and_limit(live: LiveRoom) -> None:
    def numbers(count: int) -> list[tuple[str, str]]:
        kind = "http://www.w3.org/2001/XMLSchema#integer"
        return [(iri(f"n{i % 3}"), f'"{i}"^^<{kind}>') for i in range(count)]

    query = Query(live, "ordered", "RSTREAM", lambda f: f.selectExpr("s", "o", "o as _key"))
    rows = numbers(12)
    query.push(1, *rows)
    for columns, offset, limit, expected in (
        ("-3", 0, -1, rows[::-1]),
        ("2", 0, 5, rows[:5]),
        ("2", 4, 3, rows[4:7]),
        ("2", 10, 5, rows[10:]),
        ("2", 20, 5, []),
        ("2", 0, 0, []),
        ("0,-3", 0, 5, [r for n in range(3) for r in rows[::-1] if r[0] == iri(f"n{n}")][:5]),
    ):
        query.jvm.sliced(columns, offset, limit)
        assert query.at(1) == expected, (columns, offset, limit)


def test_stages_are_computed_before_the_plan_that_reads_them(live: LiveRoom) -> None:
    query = Query(live, "staged", "RSTREAM")
    first, second = live.stage("pairs"), live.stage("counts")
    window = live.frame(query.content, "s", "o")
    pairs = window.join(F.broadcast(live.frame(query.content, "t", "o")), "o").select("s", "t")
    counted = live.frame(first, "s", "t").groupBy("s").agg(F.count("*").alias("n"))
    numbered = counted.selectExpr("s", "cqels_integer(n) as n")
    main = live.frame(first, "s", "t").join(F.broadcast(live.frame(second, "s", "n")), "s")
    plans = live.room.plans(live.prepare(main, "main"))
    plans.addStage(first, live.prepare(pairs, "pairs"))
    plans.addStage(second, live.prepare(numbered, "counts"))
    assert plans.driverRefusal() is None
    jvm = live.room.query("staged", plans, live.names("s", "t", "n"), 3, "RSTREAM")
    jvm.addWindow(query.window)
    query.jvm, query.names = jvm, ["s", "t", "n"]
    query.push(1, (A, X), (B, X), (C, Y))
    query.push(2, (C, X))
    for slices in (0, 2):
        found = Counter(query.at(2, slices))
        # A, B, C share X, and C meets itself at Y as well.
        assert {(s, n) for s, _, n in found} == {
            (s, _integer(3 if s != C else 4)) for s in (A, B, C)
        }
        assert sum(found.values()) == 10
        assert found[C, C, _integer(4)] == 2
    assert query.at(5) == []


def _integer(value: int) -> str:
    return f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def test_other_plans_take_over_between_evaluations(live: LiveRoom) -> None:
    query = Query(live, "replaced", "ISTREAM", width=5)
    query.push(1, (A, X))
    assert query.at(1) == [(A, X)]
    frame = live.frame(query.content, "s", "o").repartition(2).select("s", "o")
    other = live.room.plans(live.prepare(frame))
    query.jvm.replacePlans(other)
    assert other.driverRefusal() is not None
    query.push(2, (B, X))
    # What was answered before the change is not new after it.
    assert query.at(2, 1) == [(B, X)]


def test_calls_wait_for_one_that_python_has_left(live: LiveRoom) -> None:
    """Java goes on with a call in which Python was interrupted; here this thread has its turn."""
    query, turn = Query(live, "left"), live.room.turn()
    query.push(1, (A, X))
    calls: list[Callable[[], object]] = [
        lambda: query.at(1),
        lambda: query.push(2, (B, X)),
        lambda: query.stream.settle(""),
        lambda: live.room.evaluateTogether(f"{query.jvm.number()};"),
        lambda: query.jvm.replacePlans(query.plans),
    ]
    until = monotonic() + 60
    with ThreadPoolExecutor(len(calls)) as threads:
        turn.lock()
        try:
            waiting = [threads.submit(call) for call in calls]
            while turn.getQueueLength() < len(calls) and monotonic() < until:
                assert not any(one.done() for one in waiting)
            assert turn.getQueueLength() == len(calls)
        finally:
            turn.unlock()
        assert waiting[0].result(60) == [(A, X)]
        for one in waiting:
            one.result(60)
    assert sorted(query.at(2)) == [(A, X), (B, X)]


def test_a_query_without_visible_columns_tells_how_often_it_holds(live: LiveRoom) -> None:
    query = Query(live, "ask", "RSTREAM", lambda f: f.select())
    query.push(1, (A, X), (B, X))
    counts = [
        json.loads(query.jvm.evaluate(f"{t - 1},{t}", slices))["answers"]
        for t, slices in ((1, 0), (1, 1), (2, 0), (2, 1))
    ]
    assert counts == [2, 2, 0, 0]


def test_operators_and_plans_can_be_read(live: LiveRoom) -> None:
    query = Query(live, "read", "RSTREAM", lambda f: f.where("s <> o"))
    query.push(1, (A, X), (B, B))
    query.at(1)
    ((plan,)) = json.loads(query.plans.operators())
    assert plan["plan"] == "plan"
    rows = {name: count for _, name, _, count, _ in plan["operators"]}
    assert (rows["RelationScan"], rows["Filter"]) == (2, 1)
    assert "RelationScan w" in query.plans.planTree()


def test_stock_spark_gives_the_same_answers_over_changing_content(live: LiveRoom) -> None:
    content, static = live.stage("now"), live.static("names", [(i, i + 100) for i in range(5)])
    frame = live.frame(content, "p", "l").join(live.frame(static, "p", "n"), "p")
    frame = frame.groupBy("n").agg(F.count("*").alias("c"))
    prepared, stock = live.prepare(frame), live.room.stock(frame._jdf, "stock")
    assert stock.driverRefusal() is not None
    for adaptive in ("true", "false"):
        with live.settings({"spark.sql.adaptive.enabled": adaptive}):
            for rows in ([(1, 2), (1, 3), (4, 4)], [], [(2, 2), (9, 9)], [(1, 1)]):
                live.put(content, rows)
                assert live.as_job(stock) == live.on_driver(prepared), (adaptive, rows)
    assert "HashAggregate" in [o.name() for o in _all(stock.operators())]


def _all(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def test_many_terms_are_decoded_whether_they_were_lately_or_not(live: LiveRoom) -> None:
    people = [iri(f"person{n % 150}") for n in range(700)]
    notes = [f'"{"note " * (n % 90)}{n}"' if n % 7 else None for n in range(700)]
    live.keep_static({*people[::3], *filter(None, notes[::2])})
    rows = [
        (live.id(person), 0 if note is None else live.id(note))
        for person, note in zip(people, notes, strict=True)
    ]
    content = live.static("many", rows)
    plans = live.room.plans(live.prepare(live.frame(content, "person", "note")))
    query = live.room.query("many", plans, live.names("person", "note"), 2, "RSTREAM")
    for _ in range(2):
        table = answers_file.take(json.loads(query.evaluate("", 0)), ("person", "note"))
        assert Counter(
            zip(*(column.to_pylist() for column in table.columns), strict=True)
        ) == Counter(zip(people, notes, strict=True))
