"""Plans prepared once and executed over changing contents: driver, jobs and stock Spark agree."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.plan_shapes import AS_JOB, ON_DRIVER
from tests.sparkext.engine_room.shape_tables import CONTENTS, ShapeTables


@pytest.fixture(scope="module")
def tables(live: LiveRoom) -> ShapeTables:
    """The tables of the shapes."""
    return ShapeTables(live)


@pytest.mark.parametrize("name", ON_DRIVER)
def test_driver_and_jobs_answer_as_stock_spark(tables: ShapeTables, name: str) -> None:
    live = tables.live
    expected = tables.expected(ON_DRIVER[name], CONTENTS)
    tables.put(CONTENTS[0])
    plan = live.prepare(ON_DRIVER[name](tables.tables), name)
    assert plan.driverRefusal() is None
    for number, content in enumerate(CONTENTS):
        tables.put(content)
        assert live.on_driver(plan) == expected[number], f"driver, content {number}"
        assert live.as_job(plan, 1) == expected[number], f"one task, content {number}"
    for number in (0, 1, 4):
        tables.put(CONTENTS[number])
        assert live.as_job(plan, 3) == expected[number], f"three tasks, content {number}"
        assert live.on_driver(plan) == expected[number], f"driver again, content {number}"


@pytest.mark.parametrize("name", AS_JOB)
def test_what_needs_a_job_is_refused_on_the_driver_and_right_as_a_job(
    tables: ShapeTables, name: str
) -> None:
    live = tables.live
    expected = tables.expected(AS_JOB[name], CONTENTS)
    tables.put(CONTENTS[0])
    plan = live.prepare(AS_JOB[name](tables.tables), name)
    refusal = plan.driverRefusal()
    assert refusal is not None
    with pytest.raises(Exception, match=refusal):
        plan.runOnDriver()
    for number, content in enumerate(CONTENTS):
        tables.put(content)
        assert live.as_job(plan, 1) == expected[number], f"one task, content {number}"
    for number in (1, 4, 5):
        tables.put(CONTENTS[number])
        assert live.as_job(plan, 3) == expected[number], f"three tasks, content {number}"


@pytest.mark.parametrize("name", ["Q2", "left outer, window", "aggregates with keys", "arg max"])
def test_plans_without_generated_code_are_right_too(tables: ShapeTables, name: str) -> None:
    live = tables.live
    expected = tables.expected(ON_DRIVER[name], CONTENTS)
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    with live.settings(settings):
        plan = live.prepare(ON_DRIVER[name](tables.tables), name)
        for number, content in enumerate(CONTENTS):
            tables.put(content)
            assert live.on_driver(plan) == live.as_job(plan, 2) == expected[number], number


@pytest.mark.parametrize(
    "node, name",
    [
        ("IndexedRelation", "inner, filter on a pruned and renamed column"),
        ("IndexedRelation", "Q2"),
        ("StageBuild", "build of an aggregate"),
        ("StageBuild", "cross"),
        ("Coalesce", "count distinct"),
    ],
)
def test_shapes_are_planned_as_they_are_meant_to(tables: ShapeTables, node: str, name: str) -> None:
    plan = tables.live.prepare(ON_DRIVER[name](tables.tables), name)
    assert plan.driverRefusal() is None
    assert node in plan.treeString()


def test_live_aggregates_need_no_exchange(tables: ShapeTables) -> None:
    plan = tables.live.prepare(ON_DRIVER["aggregates with keys"](tables.tables))
    assert plan.driverRefusal() is None
    assert "Coalesce" not in plan.treeString()
    tables.live.as_job(plan, 1)
    assert "Exchange" not in plan.treeString()


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize(
    "name", ["the same shuffled part twice", "scalar subquery", "top k of a join", "Q2"]
)
def test_no_adaptive_or_reusing_node_keeps_old_answers(
    tables: ShapeTables, name: str, adaptive: str
) -> None:
    live = tables.live
    shape = ON_DRIVER.get(name) or AS_JOB[name]
    settings = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.exchange.reuse": "true",
        "spark.sql.execution.reuseSubquery": "true",
    }
    with live.settings(settings):
        tables.put(CONTENTS[1])
        assert "AdaptiveSparkPlan" in str(_executed(shape(tables.tables))) or adaptive == "false"
        plan = live.prepare(shape(tables.tables))
        for content in CONTENTS[1:]:
            tables.put(content)
            answers = live.as_job(plan, 2)
            tree = plan.treeString()
            assert "Adaptive" not in tree
            assert "Reused" not in tree
            # A plan of its own for these rows alone.
            assert answers == live.as_job(live.prepare(shape(tables.tables)), 1)


def _executed(frame: DataFrame) -> object:
    return frame._jdf.queryExecution().executedPlan()
