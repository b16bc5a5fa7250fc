"""What an evaluation on the driver sees of its session, leaves behind, and compiles."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame

from tests.sparkext.engine_room.live_room import LiveRoom

PARSED = (
    "unix_timestamp(concat('2020-01-01', if(p > 0, 'rest', '')),"
    " substring(concat('yyyy-MM-dd', p), 1, 10)) as seconds"
)


def compiled(live: LiveRoom) -> int:
    """How many classes Spark has compiled so far."""
    metrics = live.jvm.org.apache.spark.metrics.source.CodegenMetrics
    return int(metrics.METRIC_COMPILATION_TIME().getCount())


@pytest.mark.parametrize("zone, hour", [("Asia/Tokyo", 10), ("America/New_York", 20), ("UTC", 1)])
def test_the_time_zone_is_the_session_s(live: LiveRoom, zone: str, hour: int) -> None:
    content = live.stage("times", 1)
    live.put(content, [(3_600_000,)])
    with live.settings({"spark.sql.session.timeZone": zone}):
        frame = live.frame(content, "t").selectExpr("bigint(hour(timestamp_millis(t))) as h")
        plan = live.prepare(frame)
        assert live.on_driver(plan) == live.as_job(plan) == [(hour,)]


def test_settings_that_are_read_while_running_are_the_session_s(live: LiveRoom) -> None:
    content = live.stage("days", 1)
    live.put(content, [(7,)])
    with live.settings({"spark.sql.ansi.enabled": "false"}):
        plan = live.prepare(live.frame(content, "p").selectExpr(PARSED))
        for policy, seconds in (("LEGACY", 1577836800), ("CORRECTED", 0), ("LEGACY", 1577836800)):
            with live.settings({"spark.sql.legacy.timeParserPolicy": policy}):
                assert live.on_driver(plan) == live.as_job(plan) == [(seconds,)], policy


def test_ansi_mode_is_the_session_s(live: LiveRoom) -> None:
    content = live.stage("numbers", 1)
    live.put(content, [(1,), (-1,)])
    text = "cast(if(p > 0, concat('1', p), 'no number') as bigint) as n"
    with live.settings({"spark.sql.ansi.enabled": "false"}):
        plan = live.prepare(live.frame(content, "p").selectExpr(text))
    assert live.on_driver(plan) == live.as_job(plan) == [(0,), (11,)]
    with live.settings({"spark.sql.ansi.enabled": "true"}):
        plan = live.prepare(live.frame(content, "p").selectExpr(text))
    for run in (live.on_driver, live.as_job):
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            run(plan)
    live.put(content, [(1,)])
    assert live.on_driver(plan) == live.as_job(plan) == [(11,)]


def test_a_failed_evaluation_leaves_nothing_behind(live: LiveRoom) -> None:
    content = live.stage("numbers", 1)
    memory = live.memory_manager()
    with live.settings({"spark.sql.ansi.enabled": "true"}):
        frame = live.frame(content, "p").selectExpr("p div (p - 3) as n")
        plan = live.prepare(frame.groupBy("n").agg(F.count("*")))
    for _ in range(3):
        live.put(content, [(i,) for i in range(5)])
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            live.on_driver(plan)
        assert live.jvm.org.apache.spark.TaskContext.get() is None
        assert memory.executionMemoryUsed() == 0
        live.put(content, [(4,), (6,)])
        assert live.on_driver(plan) == [(2, 1), (4, 1)]


def kinds_of_plans(live: LiveRoom, content: Any) -> list[DataFrame]:
    """Plans with a static index, an aggregate with its memory pages, builds of all three sorts."""
    frame = live.frame(content, "p", "l")
    names = live.frame(live.static("names", [(i, i + 100) for i in range(50)]), "p", "n")
    aggregate = live.frame(content, "p", "l").groupBy("l").agg(F.count("*").alias("n"))
    nulls = live.frame(content, "p", "l").selectExpr("l", "if(p > 5, null, p) as q")
    return [
        frame.join(F.broadcast(names), "p"),
        frame.groupBy("l").agg(F.count("*"), F.sum("p")),
        frame.join(F.broadcast(aggregate), "l"),
        frame.join(F.broadcast(nulls), "l", "left"),
        frame.crossJoin(F.broadcast(aggregate.agg(F.max("n").alias("m")))),
    ]


def test_evaluations_leave_heap_accumulators_and_blocks_flat(live: LiveRoom) -> None:
    content = live.stage("now")
    plans = [live.prepare(frame) for frame in kinds_of_plans(live, content)]
    memory, blocks = live.memory_manager(), live.block_infos()
    accumulators = live.jvm.org.apache.spark.util.AccumulatorContext

    def evaluate(times: int) -> None:
        for n in range(times):
            live.put(content, [(i % 50, (i * n) % 7) for i in range(200)])
            for plan in plans:
                plan.runOnDriver()

    def held() -> tuple[int, int, int]:
        return accumulators.numAccums(), blocks.size(), memory.executionMemoryUsed()

    def heap() -> int:
        # Freed memory pages linger in Spark's pool after some evaluations and not after others.
        found = []
        for _ in range(5):
            evaluate(4)
            found.append(live.live_bytes())
        return min(found)

    evaluate(20)
    before, used = held(), heap()
    evaluate(200)
    # The context cleaner may take away what other tests left; nothing may be added.
    assert all(now <= then for now, then in zip(held(), before, strict=True))
    assert held()[2] == 0
    # A thousand evaluations: less than the rows of one of them for each.
    assert heap() < used + 3_000_000


def test_jobs_leave_accumulators_and_blocks_to_the_cleaner(live: LiveRoom) -> None:
    content = live.stage("now")
    live.put(content, [(i % 50, i % 7) for i in range(200)])
    plans = [live.prepare(frame) for frame in kinds_of_plans(live, content)]
    accumulators = live.jvm.org.apache.spark.util.AccumulatorContext
    blocks = live.block_infos()

    def held() -> tuple[int, int]:
        return accumulators.numAccums(), blocks.size()

    def collect() -> None:
        # References are cleared by a collection, and cleaned up by a thread some time after it.
        live.jvm.java.lang.System.gc()
        time.sleep(0.3)

    for plan in plans:
        plan.runAsJob(2)
    before = None
    while before != (now := held()):
        before = now
        collect()
    for _ in range(10):
        for plan in plans:
            plan.runAsJob(2)
    # 50 runs registered some thousand accumulators, and a block at least for each sub-plan broadcast. On a
    # machine with other work the cleaner rests for longer than a look takes, so two equal ones tell nothing.
    most = now[0] + 100, now[1] + 5
    end = time.monotonic() + 60
    while any(one > bound for one, bound in zip(held(), most, strict=True)):
        assert time.monotonic() < end, f"{held()} are held, at most {most} were expected"
        collect()


def test_two_plans_run_at_once_in_two_threads(live: LiveRoom) -> None:
    static = live.static("names", [(i, i + 100) for i in range(50)])

    def run(seed: int) -> None:
        content = live.stage(f"now{seed}")
        frame = live.frame(content, "p", "l").join(F.broadcast(live.frame(static, "p", "n")), "p")
        plan = live.prepare(frame.groupBy("l", "n").agg(F.count("*").alias("c")))
        for n in range(60):
            rows = [((i * seed) % 60, (i + n) % 3) for i in range(40)]
            live.put(content, rows)
            counts: dict[tuple[int, int], int] = {}
            for p, room in rows:
                if p < 50:
                    counts[room, p + 100] = counts.get((room, p + 100), 0) + 1
            expected = sorted((*key, count) for key, count in counts.items())
            found = live.as_job(plan, 2) if n % 20 == seed else live.on_driver(plan)
            assert found == expected, (seed, n)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(run, seed) for seed in (1, 7, 11)]:
            done.result()


def test_another_thread_needs_no_active_session(live: LiveRoom) -> None:
    content = live.stage("now")
    live.put(content, [(3_600_000, 2)])
    sessions = live.jvm.org.apache.spark.sql.classic.SparkSession
    with live.settings({"spark.sql.session.timeZone": "Asia/Tokyo"}):
        frame = live.frame(content, "t", "l").selectExpr("bigint(hour(timestamp_millis(t))) as h")
    plan = live.prepare(frame)

    def run() -> tuple[Any, ...]:
        sessions.clearActiveSession()
        refusal = plan.driverRefusal()
        answers = live.on_driver(plan), live.as_job(plan, 2)
        return refusal, answers, sessions.getActiveSession().isEmpty()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() == (None, ([(10,)], [(10,)]), True)


def test_another_constant_compiles_nothing_new(live: LiveRoom) -> None:
    content = live.stage("now")
    live.put(content, [(i, i % 7) for i in range(20)])

    def ask(constant: str) -> int:
        frame = live.frame(content, "p", "l").where(f"p = {constant} or l + 4 = {constant}")
        plan = live.prepare(frame.selectExpr("p", f"l + {constant} as m"))
        before = compiled(live)
        assert len(live.on_driver(plan)) == len(live.as_job(plan)) > 0
        return compiled(live) - before

    assert ask("cqels_term(5L)") > 0
    assert [ask(f"cqels_term({n}L)") for n in (6, 7, 10)] == [0, 0, 0]
    # The same with literals, to see that the count says something.
    assert ask("5L") > 0
    assert ask("6L") > 0


def test_another_constant_gives_its_own_answers(live: LiveRoom) -> None:
    content = live.stage("now")
    live.put(content, [(i, i % 7) for i in range(20)])
    frame = live.frame(content, "p", "l")
    plans = {n: live.prepare(frame.where(f"p = cqels_term({n}L)")) for n in (3, 4, 30)}
    assert {n: live.on_driver(plan) for n, plan in plans.items()} == {
        3: [(3, 3)],
        4: [(4, 4)],
        30: [],
    }


def test_many_plans_do_not_push_each_other_out_of_the_code_cache(live: LiveRoom) -> None:
    content = live.stage("now")
    live.put(content, [(i, i % 7) for i in range(20)])
    frame = live.frame(content, "p", "l")
    plans = [live.prepare(frame.selectExpr(f"p * {n}L as x").distinct()) for n in range(150)]
    for plan in plans:
        plan.runOnDriver()
    before = compiled(live)
    for plan in plans:
        plan.runOnDriver()
    assert compiled(live) == before


def test_rows_of_operators_are_those_of_the_last_run(live: LiveRoom) -> None:
    content = live.stage("now")
    static = live.static("names", [(i, i + 100) for i in range(4)])
    live_probe = live.frame(content, "p", "l").join(F.broadcast(live.frame(static, "p", "n")), "p")
    static_probe = live.frame(static, "p", "n").join(
        F.broadcast(live.frame(content, "p", "l").groupBy("p").count()), "p"
    )
    for frame, scan, scanned in ((live_probe, "now", None), (static_probe, "names", 4)):
        plan = live.prepare(frame)
        for run in (plan.runOnDriver, lambda plan=plan: plan.runAsJob(2)):
            for count in (3, 8, 0, 5):
                live.put(content, [(i, 0) for i in range(count)])
                run()
                rows = {(o.name(), o.detail()): o.rows() for o in _operators(plan)}
                expected = count if scanned is None else scanned
                assert rows["RelationScan", scan] == expected
                (joined,) = [n for (name, _), n in rows.items() if name == "BroadcastHashJoin"]
                assert joined == min(count, 4)


def test_which_operators_count_their_rows(live: LiveRoom) -> None:
    content = live.stage("now")
    live.put(content, [(i, i % 3) for i in range(9)])
    frame = live.frame(content, "p", "l")
    kept = frame.where("p > 1").join(F.broadcast(live.frame(content, "p", "m")), "p")
    plan = live.prepare(kept.groupBy("l").count().union(frame.selectExpr("p + 1", "l")))
    plan.runOnDriver()
    rows = {(o.name(), o.rows()) for o in _operators(plan)}
    assert {("RelationScan", 9), ("Filter", 7), ("BroadcastHashJoin", 7)} <= rows
    assert {("HashAggregate", 3), ("Project", -1), ("Union", -1)} <= rows


def _operators(plan: Any) -> list[Any]:
    found = plan.operators()
    return [found.apply(i) for i in range(found.size())]


def test_a_static_build_is_made_once(live: LiveRoom) -> None:
    content = live.stage("now")
    static = live.static("names", [(i, i % 3) for i in range(9)])
    counts = live.frame(static, "p", "n").groupBy("n").agg(F.count("*").alias("c"))
    plan = live.prepare(live.frame(content, "p", "n").join(F.broadcast(counts), "n"))
    scanned = []
    for rows in ([(1, 0)], [(1, 0), (2, 1)], []):
        live.put(content, rows)
        assert live.on_driver(plan) == sorted((n, p, 3) for p, n in rows)
        scanned.append({o.detail(): o.rows() for o in _operators(plan)}["names"])
    assert scanned == [9, -1, -1]  # not run again, so nothing was counted


def test_the_threads_of_an_evaluation_each_stream_a_part(live: LiveRoom) -> None:
    content, static = live.stage("now"), live.static("pairs", [(i % 50, i) for i in range(1000)])
    plan = live.prepare(_joined(live, content, static))
    for count in (1000, 0, 1, 2, 5000):
        live.put(content, [(i % 60, i) for i in range(count)])
        expected = live.as_job(plan)
        assert live.on_driver(plan) == expected
        rows = {o.name(): o.rows() for o in _operators(plan)}
        assert (rows["RelationScan"], rows["BroadcastHashJoin"]) == (count, len(expected))
    assert len(expected) > 50_000


def test_threads_that_share_a_scan_leave_its_order_as_it_is(live: LiveRoom) -> None:
    """Expensive rows lie together, so that the threads get out of step."""
    content = live.stage("now")
    static = live.static("pairs", [(p, i) for p in range(9) for i in range(1 if p else 200)])
    plan = live.prepare(_joined(live, content, static))
    live.put(content, [(0 if 900 < i < 1000 else 1 + i % 20, i) for i in range(3000)])
    expected = [i for i in range(3000) for _ in range(200 if 900 < i < 1000 else i % 20 < 8)]
    for _ in range(5):
        table = plan.runOnDriver()
        assert [table.apply(row, 0) for row in range(0, table.rowCount(), 97)] == expected[::97]
        assert table.rowCount() == len(expected)


def test_a_failure_in_one_thread_fails_the_evaluation_once_all_have_ended(live: LiveRoom) -> None:
    content, static = live.stage("now"), live.static("pairs", [(i, i) for i in range(100)])
    with live.settings({"spark.sql.ansi.enabled": "true"}):
        plan = live.prepare(_joined(live, content, static).selectExpr("l div (q - 97) as n"))
    live.put(content, [(i, i) for i in range(100)])
    for _ in range(3):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            plan.runOnDriver()
    live.put(content, [(1, 96), (2, 95)])
    assert live.on_driver(plan) == [(-1,), (-1,)]


def _joined(live: LiveRoom, content: Any, static: Any) -> DataFrame:
    left = live.frame(content, "p", "l")
    return left.join(F.broadcast(live.frame(static, "p", "q")), "p").select("l", "q")
