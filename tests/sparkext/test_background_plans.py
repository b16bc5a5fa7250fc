"""Plans that are made and rehearsed in the background while the query goes on, changes its plan, or ends."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from sparkext.runtime.adaptation import MOST_WAITED
from sparkext.runtime.join_orders import JoinOrders, Rehearsed

from adaptive import SwitchPolicy
from sparkext.errors import StoppedQueryError
from tests.sparkext.background import settle
from tests.sparkext.flipping_stream import (
    QUERY,
    STREAM,
    adapted_by_cost,
    answers,
    evaluate,
    expected,
    sighted,
    started,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession
    from sparkext.runtime.adaptation import Adaptation
    from sparkext.runtime.join_orders import CompiledPlans, Orders

    from adaptive import OperatorCounts, PlanNode
    from adaptive.plan_trials import PlanTrials
    from sparkext.runtime.registered_query import RegisteredQuery


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("present", [True, False])
def test_a_rehearsal_counts_for_the_plans_and_the_states_that_it_was_made_with(
    spark: SparkSession, tmp_path: Path, running: bool, present: bool
) -> None:
    engine = started(spark, tmp_path)
    query, adaptation = adapted_by_cost(engine, "holds")
    (cluster,) = adaptation.clusters
    told: list[float | None] = []
    prepared = cluster.follower.prepared

    def rehearse(plans: CompiledPlans) -> Rehearsed:
        orders = query.plans.orders if running else plans.orders
        return Rehearsed(0.5, orders, adaptation.states if present else (-1,))

    def noted(plan: object, seconds: float, rehearsed: float | None = None) -> object:
        told.append(rehearsed)
        return prepared(plan, seconds, rehearsed)  # type: ignore[arg-type]

    adaptation.orders._rehearse = rehearse
    cluster.follower.prepared = noted  # type: ignore[method-assign,assignment]
    for second in range(1, 30):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
    assert told
    assert (0.5 in told) == (running and present)
    assert set(told) <= {0.5, None}
    engine.close()


def test_where_rows_are_counted_is_known_before_rehearsed_plans_serve(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="places"))
    adaptation = query._adaptation
    assert adaptation is not None
    before = query.plans.orders
    rehearsed: dict[Orders, bool] = {}
    rehearse = adaptation.orders._rehearse

    def noted(plans: CompiledPlans) -> Rehearsed | None:
        found = rehearse(plans)
        if found is not None and found.times_as_long < math.inf:
            rehearsed[plans.orders] = bool(plans.use.places)
        return found

    adaptation.orders._rehearse = noted
    for second in range(1, 30):
        evaluate(engine, second)
        settle(engine)
    others = [known for orders, known in rehearsed.items() if orders != before]
    assert others and all(others)
    engine.close()


def test_what_rehearsed_plans_count_is_told(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="beside"))
    adaptation = query._adaptation
    assert adaptation is not None
    (cluster,) = adaptation.clusters
    rehearse, learn = adaptation.orders._rehearse, cluster.follower.counted_beside
    counted: list[tuple[int, float]] = []
    told: list[OperatorCounts] = []
    second = 0

    def watched(plans: CompiledPlans) -> Rehearsed | None:
        found = rehearse(plans)
        if found is not None and found.times_as_long < math.inf:
            rows = {c.relations: c.actual for c in found.counted.get(cluster.place, ())}
            counted.append((second, rows[max(rows, key=len)]))
        return found

    def noted(plan: PlanNode, counts: Iterable[OperatorCounts]) -> None:
        told.extend(counts)
        learn(plan, counts)

    adaptation.orders._rehearse = watched
    cluster.follower.counted_beside = noted  # type: ignore[method-assign]
    for second in range(1, 30):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
    assert counted
    assert all(rows == expected(then).total() for then, rows in counted)
    assert {rows for _, rows in counted} <= {count.actual for count in told}
    engine.close()


def test_rows_are_counted_at_the_first_run_in_a_state(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    engine.switch_policy = SwitchPolicy(margin=1.0)  # the first plan stays
    query, adaptation = adapted_by_cost(engine, "states")
    (cluster,) = adaptation.clusters
    told: list[tuple[int, int]] = []  # second, state
    executed = cluster.follower.executed

    def noted(counts: Iterable[object], *others: object) -> None:
        counts = tuple(counts)
        if counts:
            told.append((second, cluster.follower.state))
        executed(counts, *others)  # type: ignore[arg-type]

    cluster.follower.executed = noted  # type: ignore[method-assign,assignment]
    first: dict[int, int] = {}
    for second in range(1, 40):
        evaluate(engine, second)
        settle(engine)
        first.setdefault(cluster.follower.state, second)
    assert len(first) > 1 and not query.history()
    assert {(second, state) for state, second in first.items()} <= set(told)
    engine.close()


def tries_plans(
    spark: SparkSession, folder: Path, name: str
) -> tuple[RegisteredQuery, Adaptation, PlanTrials]:
    """A query that tries plans however short its evaluations are, and the trials of its only cluster."""
    engine = started(spark, folder, **{"planCache.trials": "6"})
    query = engine.register_query(QUERY.format(name=name))
    adaptation = query._adaptation
    assert adaptation is not None
    trials = adaptation.clusters[0].follower._measured._trials
    assert trials is not None
    trials._worthwhile = lambda *_: True  # type: ignore[method-assign]
    return query, adaptation, trials


def test_plans_to_be_tried_are_looked_for_between_evaluations(
    spark: SparkSession, tmp_path: Path
) -> None:
    query, _, trials = tries_plans(spark, tmp_path, "looks")
    engine = query._engine
    threads: list[str] = []
    begin = trials._begin

    def noted(*args: Any) -> None:
        threads.append(threading.current_thread().name)
        begin(*args)

    trials._begin = noted  # type: ignore[method-assign]
    for second in range(1, 30):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
    assert threads
    assert all(name.startswith("cqels-decide") for name in threads)
    assert query.progress.search_seconds > 0.0
    assert not query.preparing
    engine.close()


def test_until_one_is_found_one_search_follows_another_between_two_evaluations(
    spark: SparkSession, tmp_path: Path
) -> None:
    query, adaptation, trials = tries_plans(spark, tmp_path, "searches")
    engine = query._engine
    (cluster,) = adaptation.clusters
    searches: list[int] = []
    look = cluster.follower.look

    def noted() -> None:
        searches.append(second)
        look()

    cluster.follower.look = noted  # type: ignore[method-assign]
    trials._may_gain = lambda *_: False  # type: ignore[method-assign]
    for second in range(1, 30):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
        assert not cluster.follower.looking
    assert max(searches.count(second) for second in range(1, 30)) > 3
    engine.close()


def deciding_threads(adaptation: Adaptation) -> list[tuple[str, bool]]:
    """The threads that decide from now on, and whether the streams had news then; it grows."""
    found: list[tuple[str, bool]] = []
    decide = adaptation._decide

    def noted(news: Any, instant: float) -> None:
        found.append((threading.current_thread().name, news is not None))
        decide(news, instant)

    adaptation._decide = noted  # type: ignore[method-assign]
    return found


def test_only_what_the_streams_tell_is_decided_about_in_an_evaluation(
    spark: SparkSession, tmp_path: Path
) -> None:
    query, adaptation, _ = tries_plans(spark, tmp_path, "decides")
    engine = query._engine
    decisions = deciding_threads(adaptation)
    adaptation._budget.spend = lambda seconds: None  # type: ignore[method-assign]
    for second in range(1, 30):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
    beside = [news for thread, news in decisions if thread.startswith("cqels-decide")]
    inside = [news for thread, news in decisions if not thread.startswith("cqels-decide")]
    assert beside and not any(beside)
    assert inside and all(inside)
    engine.close()


def test_until_the_next_evaluation_all_is_told_of_the_plan_that_ran_last(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    query, adaptation = adapted_by_cost(engine, "told")
    (cluster,) = adaptation.clusters
    between = 0
    for second in range(1, 50):
        switches, chosen = len(query.history()), cluster.follower.current
        evaluate(engine, second)
        (ran,) = query.plans.orders
        if len(query.history()) == switches:
            assert ran == chosen
        switches = len(query.history())
        settle(engine)
        assert query.plans.orders == (ran,)
        plan = query.explain().data["choices"][0]["plan"]
        assert plan["actual_rows"] == sum(expected(second).values())
        if len(query.history()) > switches:
            between += 1
            switch = query.history()[-1]
            assert (switch.time, switch.new) == (second * 1000, cluster.follower.current)
    assert between
    engine.close()


def test_where_evaluations_leave_no_time_one_of_them_decides(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    query, adaptation = adapted_by_cost(engine, "overdue")
    triples = sighted(1)

    def evaluate_the_same(second: int) -> None:
        engine.stream(STREAM).push(triples, time=second * 1000)
        engine.advance_to(second * 1000)

    for second in range(1, 10):
        evaluate_the_same(second)
        settle(engine)
    decisions = deciding_threads(adaptation)
    adaptation._budget.spend = lambda seconds: None  # type: ignore[method-assign]
    adaptation._reconsider = True
    go = threading.Event()
    engine.decisions.submit(go.wait, 120)
    try:
        for second in range(10, 11 + MOST_WAITED):
            evaluate_the_same(second)
            assert not decisions
        evaluate_the_same(20)
    finally:
        go.set()
    assert decisions and not decisions[0][0].startswith("cqels-decide")
    settle(engine)
    assert answers(query) == expected(1)
    engine.close()


@pytest.mark.parametrize("idle, pays", [(60.0, True), (0.0, False)])
def test_the_time_between_evaluations_pays_for_decisions(
    spark: SparkSession, tmp_path: Path, idle: float, pays: bool
) -> None:
    engine = started(spark, tmp_path)
    _, adaptation = adapted_by_cost(engine, "idle")
    for second in range(1, 4):
        evaluate(engine, second)
    settle(engine)
    adaptation._reconsider = True
    adaptation._budget.spend(1.0)
    adaptation._ended_at = time.perf_counter() - idle
    decisions = deciding_threads(adaptation)
    engine.stream(STREAM).push(sighted(3), time=4000)
    engine.advance_to(4000)
    settle(engine)
    assert bool(decisions) == pays
    engine.close()


def test_who_is_told_of_plans_may_ask_for_them_again() -> None:
    """They are rehearsed again: to be told that they are being prepared would be to wait for ever."""
    rehearsed: list[Any] = []
    made: Any = SimpleNamespace(orders=("order",), seconds=0.1, use=SimpleNamespace(runs=0))
    with ThreadPoolExecutor(1) as executor:
        orders = JoinOrders(lambda _: made, rehearsed.append, 4, executor)

        def again(*_: object) -> None:
            if len(rehearsed) < 3:
                orders.prepare(made.orders, again, pytest.fail)
                assert orders.pending

        orders.prepare(made.orders, again, pytest.fail)
        while orders.pending:
            time.sleep(0.001)
    assert rehearsed == [made] * 3


def test_where_looking_for_plans_fails_the_query_goes_on(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    query, _, trials = tries_plans(spark, tmp_path, "fails")
    engine = query._engine

    def failing(*_: object) -> None:
        raise ValueError("no plans today")

    trials._begin = failing  # type: ignore[method-assign]
    for second in range(1, 30):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
    assert "no plans today" in caplog.text
    assert not query.preparing
    engine.close()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_query_that_ends_while_a_plan_is_made_for_it_leaves_nothing_in_its_windows(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    engine = started(spark, tmp_path)
    kept = engine.register_query(QUERY.format(name="kept"))
    query, adaptation = adapted_by_cost(engine, "ends")
    evaluate(engine, 1)
    settle(engine)
    made: list[Orders] = []
    make = adaptation.orders._make

    def make_late(orders: Orders) -> CompiledPlans:
        made.append(orders)
        engine.stop_query(query.name)
        return make(orders)

    adaptation.orders._make = make_late
    adaptation.orders._plans.clear()
    if when == "before":
        engine.stop_query(query.name)
    caplog.clear()
    adaptation._ready.clear()
    adaptation.orders.prepare(query._plans.orders, adaptation._is_ready, adaptation._failed.append)
    settle(engine)
    assert len(made) == (when == "meanwhile")
    assert not query.preparing
    assert not adaptation._ready and not adaptation._failed
    assert "could not be prepared" not in caplog.text
    users = dict(engine.windows._pattern_users)
    assert users and set(users.values()) == {1}, "those of the other query"
    engine.stop_query(kept.name)
    assert not +engine.windows._pattern_users
    with pytest.raises(StoppedQueryError):
        query.compile(())
    engine.close()
