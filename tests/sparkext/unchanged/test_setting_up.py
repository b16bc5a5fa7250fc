"""Two lines of configuration are enough: Spark's own programs and jobs that nobody rewrote have kept static sides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sparkext.unchanged.setting_up import (
    ANSWERS,
    EXPLAINED,
    EXTENDED,
    SMALL,
    free_port,
    program,
    run,
    serving,
    write_inputs,
)

JOB = Path(__file__).with_name("plain_job.py")
BOTH_SESSIONS = 2

SCALA = """
import org.apache.spark.sql.streaming.Trigger
val sensors = spark.read.parquet("FOLDER/sensors")
val source = spark.readStream.schema("sensor BIGINT, value DOUBLE").option("maxFilesPerTrigger", 1)
val joined = source.json("FOLDER/readings").join(sensors, "sensor")
val writer = joined.writeStream.option("checkpointLocation", "FOLDER/checkpoint")
val query = writer.format("parquet").trigger(Trigger.AvailableNow()).start("FOLDER/answers")
query.awaitTermination()
query.explain()
val answers = spark.read.parquet("FOLDER/answers").select("sensor", "value", "room").collect()
answers.foreach(r => println("ROW " + r.mkString(" ")))
:quit
"""

# Of ordinary SQL: that the extension is there, and that its answers are Spark's.
SQL = """
EXPLAIN SELECT count(*) FROM range(10) a JOIN range(5) b ON a.id = b.id;
SELECT concat('count ', count(*)) FROM range(10) a JOIN range(5) b ON a.id = b.id;
SELECT concat('less ', rspu_less_than('N(20.7, 1)', 20.7D));
SET spark.cqels.keptSides.enabled;
"""


@pytest.mark.slow
def test_a_submitted_script_keeps_its_static_side(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    command = [program("spark-submit"), *SMALL, *EXTENDED, str(JOB), str(tmp_path)]
    said = next(x for x in run(command, tmp_path).splitlines() if x.startswith("FOUND "))
    found = json.loads(said.removeprefix("FOUND "))
    assert len(found) == BOTH_SESSIONS
    for session in found:
        assert [tuple(row) for row in session["rows"]] == ANSWERS
        assert "KeptStaticSide parquet sensors" in session["plan"]


@pytest.mark.slow
def test_a_submitted_script_without_the_lines_runs_as_ever(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    command = [program("spark-submit"), *SMALL, str(JOB), str(tmp_path)]
    said = next(x for x in run(command, tmp_path).splitlines() if x.startswith("FOUND "))
    for session in json.loads(said.removeprefix("FOUND ")):
        assert [tuple(row) for row in session["rows"]] == ANSWERS
        assert "KeptStaticSide" not in session["plan"]


@pytest.mark.slow
def test_two_lines_of_the_defaults_file_are_enough(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    (tmp_path / "conf").mkdir()
    _, path, _, extensions = EXTENDED
    lines = [f"spark.jars {path}", extensions.replace("=", " ")]
    (tmp_path / "conf" / "spark-defaults.conf").write_text("\n".join(lines))
    command = ["env", f"SPARK_CONF_DIR={tmp_path / 'conf'}", program("spark-submit"), *SMALL]
    said = run([*command, str(JOB), str(tmp_path)], tmp_path)
    assert "KeptStaticSide parquet sensors" in said


@pytest.mark.slow
def test_the_scala_shell_keeps_static_sides(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    command = [program("spark-shell"), *SMALL, *EXTENDED, *EXPLAINED]
    said = run(command, tmp_path, SCALA.replace("FOLDER", str(tmp_path)))
    rows = [line.split("ROW ")[1].split() for line in said.splitlines() if "ROW " in line[:12]]
    assert sorted((int(s), float(v), room) for s, v, room in rows) == ANSWERS
    assert "KeptStaticSide parquet sensors" in said
    assert "parquet sensors: kept, rows 5" in said


@pytest.mark.slow
def test_spark_sql_has_the_extension_and_answers_as_ever(tmp_path: Path) -> None:
    said = run([program("spark-sql"), *SMALL, *EXTENDED, *EXPLAINED, "-e", SQL], tmp_path)
    as_stock_but_extended(said, True)


@pytest.mark.slow
@pytest.mark.parametrize("explained", [False, True])
def test_the_thrift_server_has_the_extension_and_answers_as_ever(
    explained: bool, tmp_path: Path
) -> None:
    port = free_port()
    # It opens sessions on threads that look for providers of EXPLAIN on the class path only.
    explaining = [*EXPLAINED, "--driver-class-path", EXTENDED[1]] if explained else []
    server = [
        *(program("spark-submit"), *SMALL, *EXTENDED, *explaining),
        *("--conf", f"spark.hadoop.hive.server2.thrift.port={port}"),
        *("--conf", "spark.hadoop.hive.server2.thrift.bind.host=127.0.0.1"),
        *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"),
    ]
    (tmp_path / "query.sql").write_text(SQL)
    client = [program("beeline"), "-u", f"jdbc:hive2://127.0.0.1:{port}", "-f", "query.sql"]
    with serving(server, tmp_path, "HiveThriftServer2 started"):
        as_stock_but_extended(run(client, tmp_path), explained)


def as_stock_but_extended(said: str, explained: bool) -> None:
    """The output of SQL is right."""
    assert "KeptStaticSide" not in said
    assert ("Extended Information (Static Sides)" in said) == explained
    assert ("none of a stream" in said) == explained
    assert "count 5" in said
    assert "less 0.5" in said
    assert "spark.cqels.keptSides.enabled" in said
