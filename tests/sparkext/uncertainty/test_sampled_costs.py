"""Costs from samples, and whether calls are looked up for them: in the JVM, with made-up times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLD, BATCH = 32, 32
COMPUTED, PROBED, LOOKED_UP = 0, 1, 2
PROBED_EVERY = 8


@pytest.fixture
def jvm(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.spark.sql.cqels  # type: ignore[union-attr]


def feed(cost: Any, nanos: int, times: int) -> None:
    for _ in range(times):
        cost.add(nanos)


def test_the_first_samples_are_of_cold_code(jvm: Any) -> None:
    cost = jvm.runs.SampledNanos(0.0, False)
    assert (cost.nanos(), cost.samples()) == (0.0, 0)
    cost.add(90_000)
    cost.add(20_000)
    assert cost.nanos() == 20_000
    feed(cost, 5_000, COLD - 2)
    assert cost.nanos() == 5_000
    assert not cost.settled()
    feed(cost, 300, BATCH)
    assert cost.settled()
    assert cost.nanos() == 300


def test_what_was_said_may_stand_until_then(jvm: Any) -> None:
    cost = jvm.runs.SampledNanos(80.0, True)
    feed(cost, 50_000, COLD + BATCH - 1)
    assert cost.nanos() == 80
    cost.add(200)
    assert cost.nanos() > 40_000


def test_interruptions_are_left_out_and_a_change_is_followed(jvm: Any) -> None:
    cost = jvm.runs.SampledNanos(0.0, False)
    feed(cost, 300, COLD + 5 * BATCH)
    for _ in range(10):
        cost.add(4_000_000)  # two in each batch
        cost.add(9_000_000)
        feed(cost, 300, BATCH - 2)
    assert cost.nanos() == 300
    feed(cost, 4_000_000, BATCH)  # a whole batch that the machine slept through
    assert cost.nanos() == 300
    feed(cost, 1_000, 3 * BATCH)
    assert cost.nanos() == 1_000


def test_calls_of_one_kind_may_differ(jvm: Any) -> None:
    """A quarter of the calls takes long: the cost is their mean, not what most of them take."""
    cost = jvm.runs.SampledNanos(0.0, False)
    for turn in range(COLD + 5 * BATCH):
        cost.add(8_000 if turn % 4 == 0 else 100)
    assert cost.nanos() == pytest.approx(2_000, rel=0.25)


def test_what_is_dear_is_always_timed(jvm: Any) -> None:
    cost = jvm.runs.SampledNanos(0.0, False)
    cheap = cost.interval()
    feed(cost, 50_000, COLD + BATCH)
    assert (cheap > 0, cost.interval()) == (True, 0)
    feed(cost, 100, 5 * BATCH)
    assert cost.interval() > cheap


@pytest.mark.parametrize(
    ("nanos", "asked", "hits", "use", "probing"),
    [
        (20, 0, 0, COMPUTED, COMPUTED),  # less than a look-up, which is said to take 80
        (20, 1_000, 1_000, COMPUTED, COMPUTED),
        (500, 0, 0, LOOKED_UP, LOOKED_UP),  # nothing is known of what hits
        (500, 1_000, 900, LOOKED_UP, LOOKED_UP),
        (500, 1_000, 100, COMPUTED, PROBED),  # one in ten spares 42 and costs 225
        (3_000, 1_000, 0, COMPUTED, LOOKED_UP),  # what spares nothing costs a twelfth, now and then
        (
            100_000,
            1_000,
            0,
            LOOKED_UP,
            LOOKED_UP,
        ),  # expensive: a call is made once, for all that is known
    ],
)
def test_calls_are_looked_up_where_that_pays(
    jvm: Any, nanos: int, asked: int, hits: int, use: int, probing: int
) -> None:
    costs = jvm.calls.CallCosts(-1)
    cost = jvm.calls.CallCost("f", jvm.calls.CallCode.families(-1), 0.0, costs, -1)
    assert cost.use() == LOOKED_UP
    feed(cost, nanos, COLD + BATCH)
    cost.note(asked, asked, hits)
    cost.decide(False)
    assert cost.use() == use
    cost.decide(True)
    assert cost.use() == probing
    for fixed in (COMPUTED, LOOKED_UP):
        cost = jvm.calls.CallCost("f", jvm.calls.CallCode.families(-1), 0.0, costs, fixed)
        feed(cost, nanos, COLD + BATCH)
        assert cost.use() == fixed


def test_a_query_that_calls_again_and_again_is_soon_found_out_beside_one_that_never_does(
    jvm: Any,
) -> None:
    """The function is the same, and so is its cost: what looking up spares is not."""
    costs = jvm.calls.CallCosts(-1)
    cost = jvm.calls.CallCost("f", jvm.calls.CallCode.families(-1), 0.0, costs, -1)
    feed(cost, 4_000, COLD + BATCH)
    for _ in range(40):
        cost.note(500, 500, 0)
    cost.decide(False)
    assert cost.use() == COMPUTED
    evaluations = 0
    while cost.use() != LOOKED_UP or evaluations % PROBED_EVERY == 0:
        evaluations += 1
        cost.decide(evaluations % PROBED_EVERY == 0)
        looked_up = 300 if cost.use() == LOOKED_UP else 0
        cost.note(300, looked_up, looked_up // 3)
        assert evaluations <= 4 * PROBED_EVERY
