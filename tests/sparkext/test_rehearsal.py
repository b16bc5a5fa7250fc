"""New plans run beside the evaluations: how long, when they are given up, and that nobody is told what they answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sparkext.runtime.rehearsal import (
    BLOCK_RUNS,
    BLOCKS,
    CLOSE_BLOCKS,
    HOPELESS,
    HOPELESS_COMPILED,
    LEAST_SECONDS,
    MOST_BLOCKS,
    MOST_RUNS,
    MOST_SECONDS,
    rehearse,
)

from tests.sparkext.background import settle
from tests.sparkext.flipping_stream import (
    QUERY,
    STREAM,
    answers,
    evaluate,
    expected,
    iri,
    started,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


BLOCK = 1 + BLOCK_RUNS


class Stage:
    """Plays runs of the given seconds; the running plans take always the same, but for some noise."""

    def __init__(self, new: list[float | None], running: float, noise: float = 0.03) -> None:
        self.new, self.running, self.noise = list(new), running, noise
        self.seen: list[str] = []
        self.most: list[float] = []

    def run(self, plans: str, most: float) -> float | None:
        self.seen.append(plans)
        self.most.append(most)
        if plans == "running":
            # Of the three runs of a block that count, one takes longer and one less long.
            off = (-1.0, 0.0, 1.0)[self.seen.count("running") % BLOCK_RUNS]
            return self.running * (1.0 + off * self.noise)
        return self.new.pop(0) if len(self.new) > 1 else self.new[0]


class Caches:
    """Plays runs that take longer where other plans ran before them."""

    def __init__(self, seconds: dict[str, float], after_others: dict[str, float]) -> None:
        self.seconds, self.after_others, self.last = seconds, after_others, ""

    def run(self, plans: str, most: float) -> float:
        of, self.last = self.seconds if plans == self.last else self.after_others, plans
        return of[plans]


def test_new_plans_run_until_they_are_no_faster_and_then_in_blocks_with_the_running_ones() -> None:
    stage = Stage([0.9, 0.3, 0.2, 0.1], 0.15)
    assert rehearse(stage.run, "new", "running", 0.12) == pytest.approx(2 / 3)
    assert stage.seen == ["new"] * 7 + (["new"] * BLOCK + ["running"] * BLOCK) * BLOCKS
    assert stage.most == pytest.approx([HOPELESS * 0.12] * (7 + 2 * BLOCK * BLOCKS))


def test_what_takes_about_as_long_runs_in_more_blocks() -> None:
    """The first block was disturbed; most were not."""
    stage = Stage([0.2, 0.1, 0.1, 0.1, 0.1, 0.125, 0.125, 0.125, 0.1], 0.11)
    assert rehearse(stage.run, "new", "running", 0.12) == pytest.approx(1 / 1.1)
    assert stage.seen.count("running") == BLOCK * CLOSE_BLOCKS


def test_what_is_never_disturbed_runs_in_few_blocks() -> None:
    """As where dear calls take nearly all of the time."""
    steady = Stage([0.131, 0.130], 0.132, noise=0.01)
    assert rehearse(steady.run, "new", "running", 0.132) == pytest.approx(130 / 132)
    assert steady.seen.count("running") == BLOCK * BLOCKS
    noisy = Stage([0.131, 0.130], 0.132)
    rehearse(noisy.run, "new", "running", 0.132)
    assert noisy.seen.count("running") == BLOCK * CLOSE_BLOCKS


def test_runs_that_take_long_are_compared_in_turn_one_by_one() -> None:
    """So the rehearsal of plans that take seconds has an end."""
    stage = Stage([1.8, 1.5, 1.5, 1.3, 1.2], 1.0, noise=0.0)
    assert rehearse(stage.run, "new", "running", 1.0) == pytest.approx(1.25)
    assert stage.seen == ["new"] * 3 + ["new", "running"] * 2
    disturbed = Stage([0.6, 0.6, 0.6, 0.6, 0.8, 0.6], 0.55, noise=0.0)
    assert rehearse(disturbed.run, "new", "running", 0.55) == pytest.approx(1.2 / 1.1)
    assert disturbed.seen.count("running") == CLOSE_BLOCKS


def test_plans_that_go_different_ways_do_not_slow_each_other_down() -> None:
    stage = Caches({"new": 0.048, "running": 0.06}, {"new": 0.063, "running": 0.062})
    assert rehearse(stage.run, "new", "running", 0.06) == pytest.approx(0.8)


def test_a_disturbed_evaluation_is_not_what_new_plans_are_compared_with() -> None:
    """The last evaluation took more than twice as long as a run does; new plans that are no better once took less."""
    stage = Stage([0.1, 0.08, 0.1], 0.1)
    assert rehearse(stage.run, "new", "running", 0.25) == pytest.approx(1.0)
    assert stage.seen.count("running") == 1 + BLOCK * CLOSE_BLOCKS


@pytest.mark.parametrize("disturbed", [0, 1, 2])
def test_what_disturbs_one_block_of_the_running_plans_makes_no_new_plan_look_fast(
    disturbed: int,
) -> None:
    """Where only the first two blocks counted, the disturbed one would be half of them."""

    class Disturbed(Stage):
        def run(self, plans: str, most: float) -> float | None:
            took = super().run(plans, most)
            block = (self.seen.count("running") - 1) // BLOCK
            return 0.03 if plans == "running" and block == disturbed else took

    stage = Disturbed([0.012], 0.01)
    assert rehearse(stage.run, "new", "running", 0.01) == pytest.approx(1.2)
    assert stage.seen.count("running") == BLOCK * MOST_BLOCKS


def test_an_evaluation_and_a_run_that_were_disturbed_make_no_new_plan_look_fast() -> None:
    class Disturbed(Stage):
        def run(self, plans: str, most: float) -> float | None:
            took = super().run(plans, most)
            return 0.1 if plans == "running" and self.seen.count("running") <= 2 else took

    stage = Disturbed([0.012], 0.01)
    assert rehearse(stage.run, "new", "running", 0.1) == pytest.approx(1.2)


def test_what_is_far_from_the_running_plans_is_hardly_compared_in_turn() -> None:
    fast, slow = Stage([0.01], 0.5), Stage([2.0], 0.5)
    assert rehearse(fast.run, "new", "running", 0.5) == pytest.approx(0.02)
    assert rehearse(slow.run, "new", "running", 0.5) == pytest.approx(4.0)
    assert fast.seen.count("running") == 1
    assert "running" not in slow.seen
    assert 2.0 * (len(slow.seen) - 1) <= MOST_SECONDS


def test_an_evaluation_that_was_disturbed_makes_no_new_plan_look_fast() -> None:
    stage = Stage([0.2], 0.21)
    assert rehearse(stage.run, "new", "running", 0.9) == pytest.approx(0.2 / 0.21)


@pytest.mark.parametrize(("usual", "most"), [(0.001, 0.25), (0.1, 1.6), (5.0, 12.0)])
def test_no_run_takes_long_compared_with_an_evaluation(usual: float, most: float) -> None:
    stage = Stage([usual], usual)
    rehearse(stage.run, "new", "running", usual)
    assert stage.most == pytest.approx([most] * len(stage.most))


def test_a_run_that_is_given_up_ends_the_rehearsal() -> None:
    stage = Stage([math.inf], 0.1)
    assert rehearse(stage.run, "new", "running", 0.001) == math.inf
    assert (stage.seen, stage.most) == (["new"] * 2, [LEAST_SECONDS] * 2)


def test_plans_that_served_before_are_given_up_sooner() -> None:
    stage = Stage([0.2], 0.2)
    rehearse(stage.run, "new", "running", 0.2, compiled=True)
    assert stage.most == pytest.approx([HOPELESS_COMPILED * 0.2] * len(stage.most))


def test_a_first_run_that_waits_for_the_compiler_does_not_count() -> None:
    stage = Stage([math.inf, 0.3, 0.1], 0.1)
    assert rehearse(stage.run, "new", "running", 0.1) == pytest.approx(1.0)


@pytest.mark.parametrize("before", [0, 3, 6, 12])
def test_where_plans_can_no_longer_run_nothing_is_known(before: int) -> None:
    stage = Stage([0.1] * before + [None], 0.1)
    assert rehearse(stage.run, "new", "running", 0.1) is None


def test_runs_that_become_faster_and_faster_have_an_end() -> None:
    stage = Stage([0.9 * 0.9**n for n in range(60)], 0.1)
    rehearse(stage.run, "new", "running", 0.0)
    assert stage.seen.count("new") <= MOST_RUNS + 3


def test_a_rehearsal_changes_no_answer_and_is_given_up_in_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    for form in ("RSTREAM", "ISTREAM", "DSTREAM"):
        text = QUERY.format(name=form.lower()).replace("RSTREAM", form)
        engine.register_query(text, name=form)
    for second in range(1, 12):
        evaluate(engine, second)
        settle(engine)
        now, before = expected(second), expected(second - 1) if second > 1 else None
        assert answers(engine.queries["RSTREAM"]) == now
        if before is not None:
            assert set(answers(engine.queries["ISTREAM"])) == set(now) - set(before)
            assert set(answers(engine.queries["DSTREAM"])) == set(before) - set(now)
        for query in engine.queries.values():
            with engine.lock:
                assert query._jvm.rehearse(query.plans.jvm, 0, 10**10) > 0
                assert query._jvm.rehearse(query.plans.jvm, 0, -1) == -1
                assert query._jvm.rehearse(query.plans.jvm, 1, 10**11) > 0
    engine.close()


def test_a_spark_job_is_given_up_too(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="job"))
    crowd = [(iri(f"p{p}"), iri(place), iri("r0")) for p in range(2_000) for place in ("in", "at")]
    engine.stream(STREAM).push(crowd, time=1000)
    engine.advance_to(1000)
    settle(engine)
    tracker = spark.sparkContext.statusTracker()
    with engine.lock:
        known = set(tracker.getJobIdsForGroup(None))
        assert query._jvm.rehearse(query.plans.jvm, 1, 10**12) > 0
        ended = set(tracker.getJobIdsForGroup(None)) - known
        assert query._jvm.rehearse(query.plans.jvm, 1, -1) == -1
        given_up = set(tracker.getJobIdsForGroup(None)) - known - ended
        assert query._jvm.rehearse(query.plans.jvm, 1, 10**12) > 0, "the next one is not"

    def states(jobs: set[int]) -> set[str]:
        return {info.status for job in jobs if (info := tracker.getJobInfo(job))}

    assert states(ended) == {"SUCCEEDED"}
    assert "FAILED" in states(given_up)
    engine.close()


def test_the_order_of_windows_in_a_query_does_not_matter(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    one = engine.register_query(QUERY.format(name="one"))
    parts = ("WINDOW :wa { ?a :in ?loc }", "WINDOW :wb { ?b :at ?loc }", "?a :knows ?b")
    body = " ".join(parts)
    text = QUERY.format(name="other")
    assert body in text
    other = engine.register_query(
        text.replace(body, " . ".join(reversed(parts)).replace("} .", "}"))
    )
    assert one.plans.orders == other.plans.orders
    for second in range(1, 4):
        evaluate(engine, second)
        assert answers(one) == answers(other) == expected(second)
    assert iri("one") in engine.queries
    assert STREAM in engine.streams
    engine.close()
