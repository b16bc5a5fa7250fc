"""Plans prepared once and executed over changing contents: driver, jobs and stock Spark agree."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyspark.sql.functions as F
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from tests.sparkext.engine_room.live_room import LiveRoom, Row, answers
from tests.sparkext.engine_room.plan_shapes import (
    AS_JOB,
    COLUMNS,
    LIVE,
    ON_DRIVER,
    STATIC,
    Rows,
    Tables,
    contents,
    static_rows,
)

CONTENTS = contents()
STATIC_ROWS = static_rows()


class Bench:
    """The tables of the shapes in an engine room."""

    def __init__(self, live: LiveRoom) -> None:
        self.live = live
        self.held: dict[str, Any] = {n: live.stage(n, len(COLUMNS[n])) for n in LIVE}
        for name in STATIC:
            rows = STATIC_ROWS[name]
            if name == "pairs":
                # Duplicates as multiplicities, as a pre-join keeps them.
                counted = [(*row, rows.count(row)) for row in sorted(set(rows))]
                self.held[name] = live.counted(name, counted)
            else:
                self.held[name] = live.static(name, rows)
        self.tables = Tables(lambda n: live.frame(self.held[n], *COLUMNS[n]))

    def put(self, content: dict[str, Rows]) -> None:
        for name in LIVE:
            self.live.put(self.held[name], content[name])

    def expected(self, shape: Any) -> list[list[Row]]:
        """The answers of stock Spark over the rows of each content, in one job."""
        frames = []
        for content in CONTENTS:
            self.put(content)
            frames.append(shape(Tables(lambda n: self.live.stock_copy(self.held[n], *COLUMNS[n]))))
        columns = [f"c{i}" for i in range(len(frames[0].columns))]
        numbered = [
            frame.toDF(*columns).select(F.lit(i).alias("content"), *columns)
            for i, frame in enumerate(frames)
        ]
        found: list[list[Any]] = [[] for _ in CONTENTS]
        # Adaptive execution would run the stages of all these plans one by one.
        with self.live.settings({"spark.sql.adaptive.enabled": "false"}):
            for row in reduce(DataFrame.union, numbered).collect():
                found[row[0]].append(row[1:])
        return [answers(rows) for rows in found]


@pytest.fixture(scope="module")
def bench(live: LiveRoom) -> Bench:
    return Bench(live)


@pytest.mark.parametrize("name", ON_DRIVER)
def test_driver_and_jobs_answer_as_stock_spark(bench: Bench, name: str) -> None:
    live = bench.live
    expected = bench.expected(ON_DRIVER[name])
    bench.put(CONTENTS[0])
    plan = live.prepare(ON_DRIVER[name](bench.tables), name)
    assert plan.driverRefusal() is None
    for number, content in enumerate(CONTENTS):
        bench.put(content)
        assert live.on_driver(plan) == expected[number], f"driver, content {number}"
        assert live.as_job(plan, 1) == expected[number], f"one task, content {number}"
    for number in (0, 1, 4):
        bench.put(CONTENTS[number])
        assert live.as_job(plan, 3) == expected[number], f"three tasks, content {number}"
        assert live.on_driver(plan) == expected[number], f"driver again, content {number}"


@pytest.mark.parametrize("name", AS_JOB)
def test_what_needs_a_job_is_refused_on_the_driver_and_right_as_a_job(
    bench: Bench, name: str
) -> None:
    live = bench.live
    bench.put(CONTENTS[0])
    plan = live.prepare(AS_JOB[name](bench.tables), name)
    assert plan.driverRefusal() is not None
    with pytest.raises(Py4JJavaError, match="IllegalStateException"):
        plan.runOnDriver()
    expected = bench.expected(AS_JOB[name])
    for number, content in enumerate(CONTENTS):
        bench.put(content)
        assert live.as_job(plan, 1) == expected[number], f"one task, content {number}"
    for number in (1, 4, 5):
        bench.put(CONTENTS[number])
        assert live.as_job(plan, 3) == expected[number], f"three tasks, content {number}"
