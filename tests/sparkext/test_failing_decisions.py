"""Plans that cannot be prepared, decisions and statistics that fail: the plan that serves goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.sparkext.background import settle
from tests.sparkext.flipping_stream import (
    QUERY,
    adapted_by_cost,
    answers,
    by_cost,
    evaluate,
    expected,
    started,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from sparkext.runtime.join_orders import CompiledPlans, Orders


def test_after_a_plan_that_cannot_be_prepared_others_are(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = started(spark, tmp_path)
    query, adaptation = adapted_by_cost(engine, "fails")
    make, refused = adaptation.orders._make, []

    def fail_once(orders: Orders) -> CompiledPlans:
        if not refused:
            refused.append(orders)
            raise ValueError("not this one")
        return make(orders)

    adaptation.orders._make = fail_once
    for second in range(1, 40):
        evaluate(engine, second)
        assert answers(query) == expected(second), second
        settle(engine)
    assert "a plan could not be prepared" in caplog.text
    (failed,) = refused
    chosen = {switch.new for switch in query.history()}
    assert chosen
    assert failed[0] not in chosen
    engine.close()


def test_a_plan_that_cannot_be_prepared_leaves_the_old_one_serving(
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = started(spark, tmp_path)
    query = by_cost(engine.register_query(QUERY.format(name="fails")))
    # The first plan is there; any other finds the room of the engine broken.
    prepare = engine.room.prepare

    def refuse(frame: object, label: str, once: bool) -> object:
        raise RuntimeError("no memory for another plan")

    adaptation = query._adaptation
    assert adaptation is not None
    asked: list[Any] = []
    make = adaptation.orders.prepare
    monkeypatch.setattr(
        adaptation.orders,
        "prepare",
        lambda orders, *told: (asked.append(orders), make(orders, *told)),
    )
    engine.room.prepare = refuse  # type: ignore[method-assign]
    for second in range(1, 15):
        evaluate(engine, second)
        assert answers(query) == expected(second)
    settle(engine)
    engine.room.prepare = prepare  # type: ignore[method-assign]
    assert query.history() == ()
    # As statistics change, more than one plan may be wanted, but none again that has failed.
    assert caplog.text.count("a plan could not be prepared") == len(asked) > 0
    assert len(set(asked)) == len(asked)
    engine.close()


@pytest.mark.parametrize("method", ["observe", "executed"])
def test_a_failing_decision_costs_no_answers(
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    """The plan that runs goes on; the first failure is logged with its traceback, the others in a line."""
    engine = started(spark, tmp_path)
    query, adaptation = adapted_by_cost(engine, "fails")
    (cluster,) = adaptation.clusters
    evaluate(engine, 1)
    settle(engine)
    caplog.clear()
    with monkeypatch.context() as broken:

        def fail(*_: object) -> None:
            raise ValueError("no such state")

        broken.setattr(cluster.follower, method, fail)
        for second in range(2, 25):
            evaluate(engine, second)
            settle(engine)
            assert answers(query) == expected(second), second
    assert query.progress.failures == 0
    told = [r for r in caplog.records if "no such state" in r.getMessage() or r.exc_info]
    assert [record.levelname for record in told[:2]] == ["ERROR", "WARNING"]
    assert [bool(record.exc_info) for record in told] == [True, *[False] * (len(told) - 1)]
    assert not list(Path(engine.room.scratch).glob("answers-*"))
    for second in range(25, 60):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
    assert query.history(), "later decisions are carried out"
    engine.close()


def test_failing_statistics_cost_no_answers(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query, _ = adapted_by_cost(engine, "fails")
    query._jvm.addStatistics(None)  # asked for news like the others
    for second in range(1, 10):
        evaluate(engine, second)
        settle(engine)
        assert answers(query) == expected(second), second
    assert query.progress.failures == 0
    engine.close()
