"""The tables of the plan shapes in an engine room, and what stock Spark answers over their rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from tests.sparkext.engine_room.live_room import LiveRoom, Row, answers
from tests.sparkext.engine_room.plan_shapes import (
    COLUMNS,
    LIVE,
    STATIC,
    Rows,
    Tables,
    contents,
    static_rows,
)

CONTENTS = contents()


class ShapeTables:
    """The live and static tables; `tables` gives frames over them."""

    def __init__(self, live: LiveRoom) -> None:
        self.live = live
        self.held: dict[str, Any] = {n: live.stage(n, len(COLUMNS[n])) for n in LIVE}
        rows = static_rows()
        # Duplicates as multiplicities, as a pre-join keeps them.
        pairs = [(*row, rows["pairs"].count(row)) for row in sorted(set(rows["pairs"]))]
        self.held["pairs"] = live.counted("pairs", pairs)
        for name in STATIC:
            if name != "pairs":
                self.held[name] = live.static(name, rows[name])
        self.tables = Tables(lambda n: live.frame(self.held[n], *COLUMNS[n]))

    def put(self, content: dict[str, Rows]) -> None:
        """Replace the rows of the live tables."""
        for name in LIVE:
            self.live.put(self.held[name], content[name])

    def expected(
        self, shape: Callable[[Tables], DataFrame], contents: list[dict[str, Rows]]
    ) -> list[list[Row]]:
        """The answers of stock Spark over the rows of each content, found in one job."""
        frames = []
        for content in contents:
            self.put(content)
            frames.append(shape(Tables(lambda n: self.live.stock_copy(self.held[n], *COLUMNS[n]))))
        columns = [f"c{i}" for i in range(len(frames[0].columns))]
        numbered = [
            frame.toDF(*columns).select(F.lit(i).alias("content"), *columns)
            for i, frame in enumerate(frames)
        ]
        found: list[list[Any]] = [[] for _ in contents]
        # Adaptive execution would run the stages of all these plans one by one.
        with self.live.settings({"spark.sql.adaptive.enabled": "false"}):
            for row in reduce(DataFrame.union, numbered).collect():
                found[row[0]].append(row[1:])
        return [answers(rows) for rows in found]
