"""Ready-made subscribers: JSON Lines files, folders of Parquet files, collected tables."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import sparkext
from sparkext.errors import CqelsError
from sparkext.runtime.answering.answers import Answers
from sparkext.sinks import JsonLinesSink, ParquetSink, TableSink

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


def test_a_folder_has_a_file_for_each_evaluation_with_answers(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = ParquetSink(tmp_path / "new" / "answers")
    asked = Answers("q", 2000, (), pa.table({}), form="ASK")
    for found in (FIRST, EMPTY, answers(3000, ("<http://e/b>", None)), FIRST):
        sink(found)
    folder = tmp_path / "new" / "answers"
    names = sorted(file.name.rsplit("-", 1)[0] for file in folder.iterdir())
    assert names == ["instant-0000000000000000", "instant-0000000000003000"]
    rows = spark.read.parquet(str(folder)).orderBy("time", "who").collect()
    assert [row["who"] for row in rows] == ['"Ä\\n"@de', "<http://e/a>", "<http://e/b>"]
    assert [row["time"].timestamp() for row in rows] == [0.0, 0.0, 3.0]
    ParquetSink(tmp_path / "asked")(asked)
    assert [row["boolean"] for row in spark.read.parquet(str(tmp_path / "asked")).collect()] == [
        False
    ]


def test_answers_of_a_query_are_a_stream_and_a_data_frame(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = sparkext.Engine(spark)
    stream = engine.register_stream("http://e/s")
    query = engine.register_query(
        """SELECT ?a ?b FROM NAMED WINDOW <http://e/w> ON <http://e/s> [NOW]
        WHERE { WINDOW <http://e/w> { ?a <http://e/p> ?b } }""",
        name="written",
    )
    with pytest.raises(CqelsError, match="not been evaluated"):
        query.to_dataframe()
    end = query.write_stream(tmp_path / "answers")
    for second in (1, 2, 3):
        if second == 3:
            end()
        stream.push(("http://e/a", "http://e/p", second), second * 1000)
        engine.advance_to(second * 1000)
    last = query.to_dataframe(typed=True).collect()
    assert [(row.a, row.b) for row in last] == [("<http://e/a>", 3)]
    reading = (
        spark.readStream.schema("time TIMESTAMP, a STRING, b STRING")
        .parquet(str(tmp_path / "answers"))
        .writeStream.format("memory")
        .queryName("written_answers")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    reading.awaitTermination()
    seen = spark.table("written_answers").orderBy("time").collect()
    assert [row.time.timestamp() for row in seen] == [1.0, 2.0]
    assert [row.b.split("^^")[0] for row in seen] == ['"1"', '"2"']
    engine.close()
