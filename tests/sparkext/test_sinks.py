"""Ready-made subscribers: JSON Lines files and collected tables."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkext.runtime.answers import Answers
from sparkext.sinks import JsonLinesSink, TableSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def answers(time: int, *rows: tuple[str, str | None]) -> Answers:
    columns = [pa.array([row[place] for row in rows], pa.string()) for place in (0, 1)]
    return Answers(
        "q", time, ("who", "time"), pa.table(dict(zip(("who", "time"), columns, strict=True)))
    )


FIRST, EMPTY = answers(0, ('"Ä\\n"@de', None), ("<http://e/a>", '"1"')), answers(1500)


def test_json_lines_are_in_the_file_as_soon_as_written(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    with JsonLinesSink(file) as sink:
        sink(FIRST)
        assert file.read_text(encoding="utf-8") == FIRST.to_json() + "\n"
        sink(EMPTY)
    assert file.read_text(encoding="utf-8").splitlines() == [FIRST.to_json(), EMPTY.to_json()]


def test_an_open_file_stays_open_and_empty_evaluations_can_be_left_out() -> None:
    file = io.StringIO()
    with JsonLinesSink(file, skip_empty=True) as sink:
        sink(EMPTY)
        sink(FIRST)
    assert file.getvalue() == FIRST.to_json() + "\n"


def test_a_table_holds_the_answers_of_all_evaluations(spark: SparkSession) -> None:
    sink = TableSink()
    assert sink.to_arrow().column_names == ["time"]
    for found in (FIRST, EMPTY, answers(1500, ("<http://e/b>", None))):
        sink(found)
    table = sink.to_arrow()
    assert table.column_names == ["time", "who", "?time"]
    assert table.column("time").cast(pa.int64()).to_pylist() == [0, 0, 1500]
    assert table.column("?time").to_pylist() == [None, '"1"', None]
    assert sink.to_dataframe(spark).where("time > timestamp_millis(0)").collect()[0].who == (
        "<http://e/b>"
    )
