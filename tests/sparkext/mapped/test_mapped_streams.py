"""Streams and static data of rows, on the engine: answers are those over the triples that the mapping stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

from sparkext.cli import main
from sparkext.errors import StreamElementError
from static_data.errors import MappedRowError, MappingError
from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.rows import ArrowRows
from static_data.mappings.source_rows import rows_of_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

PAGE = Path(__file__).resolve().parents[3] / "docs" / "mapped_rows.md"
READINGS = "http://example.org/readings"
SENSORS = "number,room,name\na,1,north\nb,2,\n"
ROWS = "id,sensor,celsius,sure,at\n" + "".join(
    f"{n},{'ab'[n % 2]},{20 + n}.5,0.{n},2026-01-31T10:00:{n:02d}Z\n" for n in (3, 1, 2, 4, 9)
)
QUERY = f"""\
PREFIX : <http://example.org/>
REGISTER RSTREAM :warm AS SELECT ?sensor ?room ?value ?sure
FROM NAMED WINDOW :w ON <{READINGS}> [RANGE PT4S STEP PT2S]
WHERE {{ WINDOW :w {{ ?sensor :celsius ?value ; :room ?room . << ?sensor :celsius ?value >> :certainty ?sure }}
         FILTER(?value > 21.6) }}
"""


def block(language: str, number: int = 0) -> str:
    """A block of code of the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[number]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, in the working directory."""
    (tmp_path / "readings.ttl").write_text(block("turtle"), "utf-8")
    (tmp_path / "rooms.yml").write_text(block("yaml"), "utf-8")
    (tmp_path / "sensors.csv").write_text(SENSORS, "utf-8")
    (tmp_path / "readings.csv").write_text(ROWS, "utf-8")
    (tmp_path / "warm.rspql").write_text(QUERY, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    made = Engine(spark)
    yield made
    made.close()


def rows_of(answers: list[Any]) -> list[tuple[int, list[str]]]:
    return [(a.time, sorted(map(str, a.rows()))) for a in answers]


def collected(engine: Engine, text: str = QUERY) -> list[Any]:
    """What the query answers, as it does."""
    found: list[Any] = []
    engine.register_query(text).subscribe(found.append)
    return found


def table_of_csv() -> pa.Table:
    mapped = read_mapping("readings.ttl").of_source()
    rows = rows_of_source(mapped.source, "readings.ttl", {}.get)
    assert isinstance(rows, ArrowRows)
    return rows.table.sort_by("at")


def pushed_as_triples(engine: Engine, table: pa.Table) -> None:
    """Push the triples of each row, as the plain reading of the mapping makes them."""
    from sparkext.recorded_streams import StreamElement
    from sparkext.s2r.event_time import parse_date_time

    mapped = read_mapping("readings.ttl").of_source()
    (other,) = mapped.parents()
    parents = {other: rows_of_source(other, "readings.ttl", {}.get)}
    rows = ArrowRows(table, mapped.source)
    elements = []
    times = table.column("at").to_pylist()
    for at, quads in zip(times, Materialiser(mapped, parents).quads_by_row(rows), strict=True):
        assert not isinstance(quads, MappedRowError)
        triples = tuple(quad.nquads() for quad in quads)
        elements.append(StreamElement(parse_date_time(at), None, triples))
    engine.register_stream(READINGS).push_elements(elements)


@pytest.fixture
def expected(spark: SparkSession, folder: Path) -> list[tuple[int, list[str]]]:
    """The answers over the triples that the rows of the file stand for."""
    from sparkext import Engine

    engine = Engine(spark)
    engine.register_stream(READINGS)
    found = collected(engine)
    pushed_as_triples(engine, table_of_csv())
    engine.finish()
    answers = rows_of(found)
    engine.close()
    assert sum(len(rows) for _, rows in answers) > 3
    return answers


def test_answers_are_those_over_the_triples(
    engine: Engine, folder: Path, expected: list[tuple[int, list[str]]]
) -> None:
    stream = engine.register_stream(READINGS, mapping="readings.ttl")
    found = collected(engine)
    report = stream.push_table(table_of_csv())  # type: ignore[attr-defined]
    assert (report.accepted, report.malformed, report.late) == (5, 0, 0)
    engine.finish()
    assert rows_of(found) == expected


def test_json_pandas_and_spark_rows(
    engine: Engine, folder: Path, expected: list[tuple[int, list[str]]]
) -> None:
    rows = table_of_csv()
    for number, push in enumerate(("push_rows", "pandas", "spark")):
        iri = f"{READINGS}/{number}"
        stream: Any = engine.register_stream(iri, mapping="readings.ttl")
        found = collected(engine, QUERY.replace(READINGS, iri).replace(":warm", f":warm{number}"))
        if push == "push_rows":
            stream.push_rows(rows.to_pylist())
        elif push == "pandas":
            stream.push_table(rows.to_pandas())
        else:
            stream.push_table(engine.spark.createDataFrame(rows.to_pandas()))
        engine.finish()
        assert rows_of(found) == expected, push


def test_a_streaming_frame(
    engine: Engine, folder: Path, expected: list[tuple[int, list[str]]]
) -> None:
    incoming = folder / "incoming"
    incoming.mkdir()
    table_of_csv().to_pandas().to_csv(incoming / "1.csv", index=False)
    names = "id STRING, sensor STRING, celsius STRING, sure STRING, at STRING"
    frame = engine.spark.readStream.schema(names).option("header", True).csv(str(incoming))
    stream = engine.register_stream(READINGS, mapping="readings.ttl")
    found = collected(engine)
    source = stream.read(frame)
    source.processAllAvailable()
    engine.finish()
    source.stop()
    assert rows_of(found) == expected


def test_the_page(engine: Engine, folder: Path) -> None:
    scope: dict[str, Any] = {"engine": engine, "pa": pa}
    exec(block("python"), scope)
    assert scope["readings"].accepted_count == 2
    engine.spark.createDataFrame(pd.read_csv("sensors.csv")).createOrReplaceTempView("rooms")
    # The mapping of the page's second call is in Turtle; the short form says the same.
    static = block("python", 1).replace('"rooms.ttl"', '"rooms.yml"')
    exec(static, {"engine": engine, "spark": engine.spark})
    answers = engine.select(
        "SELECT ?s ?room ?name { ?s a <http://example.org/Sensor> ; <http://example.org/in> ?room"
        " OPTIONAL { ?s <http://example.org/name> ?name } }"
    ).answer()
    assert len(list(answers.rows())) == 2


def test_what_is_wrong_is_set_aside_or_an_error(engine: Engine, folder: Path) -> None:
    Path("iris.ttl").write_text(
        block("turtle").replace(
            'rr:template "http://example.org/sensor/{sensor}"', 'rml:reference "sensor"'
        ),
        "utf-8",
    )
    table = table_of_csv().slice(0, 2)
    stream: Any = engine.register_stream(READINGS, mapping="iris.ttl")
    report = stream.push_table(table)
    assert (report.accepted, report.malformed) == (0, 2)
    assert stream.set_aside[0] == ("row 0: 'b' is a relative IRI, and there is no base (base_iri=)")
    strict: Any = engine.register_stream(f"{READINGS}/strict", mapping="iris.ttl", on_error="fail")
    with pytest.raises(Exception, match="row 0: 'b' is a relative IRI"):
        strict.push_table(table)
    with pytest.raises(MappingError, match="the rows have no column at"):
        stream.push_table(table.drop_columns(["at"]))
    with pytest.raises(Exception, match="are read, its mapping says"):
        stream.push_table(table, subject="sensor")
    with pytest.raises(Exception, match="registered already"):
        engine.register_stream(READINGS, mapping="iris.ttl")
    with pytest.raises(MappedRowError, match=r"row 1: 'a' is a relative IRI"):
        Path("static.ttl").write_text(
            block("turtle").replace('"http://example.org/room/{room}"', '"{number}"'), "utf-8"
        )
        engine.register_stream(f"{READINGS}/other", mapping="static.ttl")


def test_a_row_with_a_value_that_no_literal_holds_costs_itself_only(
    engine: Engine, folder: Path, expected: list[tuple[int, list[str]]]
) -> None:
    sound = table_of_csv().to_pylist()
    odd = [{**sound[0], "sensor": {"a": 1}}, {**sound[1], "sure": "\ud800"}, {**sound[2], "at": []}]
    reasons = [
        "row 0: a JSON object has no lexical form: sensor",
        "row 3: str '\\ud800' holds a lone surrogate: sure",
        "row 6: a list has no lexical form: at",
    ]
    rows = [odd[0], *sound[:2], odd[1], *sound[2:4], odd[2], *sound[4:]]
    stream: Any = engine.register_stream(READINGS, mapping="readings.ttl")
    found = collected(engine)
    report = stream.push_rows(rows)
    assert (report.accepted, report.malformed, report.late) == (5, 3, 0)
    assert list(stream.set_aside) == reasons
    engine.finish()
    assert rows_of(found) == expected
    strict: Any = engine.register_stream(
        f"{READINGS}/strict", mapping="readings.ttl", on_error="fail"
    )
    with pytest.raises(StreamElementError, match=reasons[0]):
        strict.push_rows(rows)
    assert strict.accepted_count == 0


def test_nested_columns_cost_the_rows_that_have_a_value_there(engine: Engine, folder: Path) -> None:
    table = table_of_csv()
    nested = pa.array([None, {"x": 1}, None, {"x": None}, None])
    table = table.set_column(table.column_names.index("sure"), "sure", nested)
    incoming = folder / "incoming"
    incoming.mkdir()
    (incoming / "1.json").write_text("\n".join(map(json.dumps, table.to_pylist())), "utf-8")
    names = "sensor STRING, celsius STRING, sure STRUCT<x: INT>, at STRING"
    frame = engine.spark.readStream.schema(names).json(str(incoming))
    pushed: Any = engine.register_stream(READINGS, mapping="readings.ttl")
    read: Any = engine.register_stream(f"{READINGS}/read", mapping="readings.ttl")
    report = pushed.push_table(table)
    assert (report.accepted, report.malformed) == (3, 2)
    source = read.read(frame)
    source.processAllAvailable()
    source.stop()
    for stream in (pushed, read):
        assert (stream.accepted_count, stream.malformed_count) == (3, 2)
        assert stream.set_aside[0] == "row 1: a JSON object has no lexical form: sure"


def test_which_column_is_the_time(engine: Engine, folder: Path) -> None:
    text = block("turtle").replace("prov:generatedAtTime", ":made")
    Path("no_time.ttl").write_text(text, "utf-8")
    with pytest.raises(MappingError, match=r"no column of readings\.csv may be the time"):
        engine.register_stream(READINGS, mapping="no_time.ttl")
    stream: Any = engine.register_stream(READINGS, mapping="no_time.ttl", time="at")
    assert stream.push_table(table_of_csv()).accepted == 5


def test_static_rows_that_are_wrong(engine: Engine, folder: Path) -> None:
    Path("s.yml").write_text(block("yaml").replace("ex:sensor/$(number)", "$(name)"), "utf-8")
    Path("sensors.csv").write_text("number,room,name\na,1,http://e/n\nb,2,x y\n", "utf-8")
    with pytest.raises(MappedRowError, match="row 2"):
        engine.load_static("sensors.csv", mapping="s.yml")
    report = engine.load_static(
        "sensors.csv", mapping="s.yml", on_error="skip", skipped_file="skipped.jsonl"
    )
    assert (report.skipped, report.quads_added) == (1, 3)
    assert "row 2" in json.loads(Path("skipped.jsonl").read_text())["reason"]


def test_the_command(
    spark: SparkSession,
    folder: Path,
    expected: list[tuple[int, list[str]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [
        *("warm.rspql", "--stream", f"{READINGS}=readings.csv", "--mapping", "readings.ttl"),
    ]
    assert main(["run", *arguments, "--out", "answers.jsonl"]) == 0
    lines = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    counts = [len(line["results"]["bindings"]) for line in lines]
    assert counts == [len(rows) for _, rows in expected]
    assert main(["check", *arguments, "--answers", "answers.jsonl"]) == 0
    Path("readings.csv").write_text(ROWS.replace("2026-01-31T10:00:09Z", "nine"), "utf-8")
    capsys.readouterr()
    assert main(["run", *arguments]) == 0
    assert (
        "row 4: 'nine' is neither an xsd:dateTime nor a number of milliseconds"
        in capsys.readouterr().err
    )
    assert main(["run", *arguments[:-1], "missing.ttl"]) == 1
    assert "missing.ttl" in capsys.readouterr().err
