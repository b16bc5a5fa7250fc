"""A line that is no row, or a value that no literal holds, costs that row: in files of static data and of streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkext import Engine
from static_data.errors import MappedRowError, MappingError
from tests.sparkext.listening import S, listen, query
from tests.sparkext.mapped.test_mapped_static import quads_of
from tests.sparkext.mapped.test_replayed_rows import replay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAPPING = """\
prefixes: {ex: "http://e/"}
mappings:
  reading:
    sources: [[r~form]]
    s: ex:$(x)
    po: [[ex:p, $(y)]]
"""
_JOINED = """\
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix ex: <http://e/> .
<#T> rml:logicalSource [ rml:source "r.jsonl"; rml:referenceFormulation ql:JSONPath; rml:iterator "$" ];
  rr:subjectMap [ rr:template "http://e/{x}" ];
  rr:predicateObjectMap [ rr:predicate ex:p;
    rr:objectMap [ rr:parentTriplesMap <#T>; rr:joinCondition [ rr:child "x"; rr:parent "y" ] ] ] .
"""
_HUGE = "9" * 5000
_LINES = f"""\
{{"x": "a", "y": 1, "ms": 1}}
{{"x": "b", "y": {{"z": 2}}, "ms": 2}}
{{"x": "c"
{{"x": "d", "y": {_HUGE}, "ms": 3}}
{{"x": "e", "y": [4], "ms": 4}}
{{"x": "f", "y": 5, "ms": 5}}
"""
_REASONS = [
    "a JSON object has no lexical form: y",
    "line 3: column 10: no JSON: Expecting ',' delimiter",
    "line 4: an integer of more than 4300 digits",
    "a list has no lexical form: y",
]
_CSV = "x,y,ms\na,1,1\nb,2\nf,5,5\nc,3,3,3\n"
_CSV_REASONS = ["2 values for 3 columns: 'b,2'", "4 values for 3 columns: 'c,3,3,3'"]


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with closing(Engine(spark)) as engine:
        yield engine


@pytest.fixture(params=["jsonl", "csv"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path, list[str]]:
    """A mapping, a file with two sound rows, and what is wrong with the others."""
    form = "csv" if request.param == "csv" else "jsonpath"
    mapping = tmp_path / "m.yml"
    mapping.write_text(_MAPPING.replace("r~form", f"r.{request.param}~{form}"), "utf-8")
    file = tmp_path / f"r.{request.param}"
    file.write_text(_CSV if form == "csv" else _LINES, "utf-8")
    return mapping, file, _CSV_REASONS if form == "csv" else _REASONS


def numbered(reasons: list[str], file: Path, first: int) -> list[str]:
    """With the numbers of rows: those of CSV that are none come after the others."""
    begin = first + (2 if file.suffix == ".csv" else 1)
    return [f"row {number}: {reason}" for number, reason in enumerate(reasons, begin)]


def test_static_rows(engine: Engine, given: tuple[Path, Path, list[str]], tmp_path: Path) -> None:
    mapping, file, reasons = given
    with pytest.raises((MappingError, MappedRowError)):
        engine.load_static(file, mapping=mapping)
    assert not quads_of(engine.store)
    skipped = tmp_path / "skipped.jsonl"
    report = engine.load_static(file, mapping=mapping, on_error="skip", skipped_file=skipped)
    told = [json.loads(line)["reason"] for line in skipped.read_text("utf-8").splitlines()]
    assert told == numbered(reasons, file, 1)
    assert (report.skipped, report.quads_added) == (len(reasons), 2)
    assert {line.split()[0] for line in quads_of(engine.store)} == {"<http://e/a>", "<http://e/f>"}


def test_replayed_rows(engine: Engine, given: tuple[Path, Path, list[str]]) -> None:
    from sparkext.runtime.streams.replayed_rows import RowsFile

    mapping, file, reasons = given
    stream = engine.register_stream(S, mapping=mapping, time="ms")
    heard = listen(engine, query("WINDOW :w { ?x :p ?y }", "[RANGE 10 STEP 10]", "?x"))
    replay(engine, {S: [RowsFile(str(file), file)]})
    answers = [sorted(str(row[0]) for row in a.rows()) for a in heard]
    assert [rows for rows in answers if rows] == [["<http://e/a>", "<http://e/f>"]]
    assert (stream.accepted_count, stream.malformed_count) == (2, len(reasons))
    assert list(stream.set_aside) == numbered(reasons, file, 0)


def test_a_value_that_no_literal_holds_names_its_row(engine: Engine, tmp_path: Path) -> None:
    mapping = tmp_path / "m.yml"
    mapping.write_text(_MAPPING.replace("r~form", "r.jsonl~jsonpath"), "utf-8")
    table = pa.table({"x": ["a", "b"], "y": [None, {"z": 1}]})
    for one in (table, tmp_path / "r.jsonl"):
        if isinstance(one, Path):
            one.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()), "utf-8")
        with pytest.raises(MappedRowError, match="a JSON object has no lexical form: y") as error:
            engine.load_static(one, mapping=mapping)
        assert error.value.row == 2
    assert not quads_of(engine.store)


def test_an_integer_that_python_does_not_write(engine: Engine, tmp_path: Path) -> None:
    mapping = tmp_path / "m.yml"
    mapping.write_text(_MAPPING.replace("r~form", "r.jsonl~jsonpath"), "utf-8")
    stream: Any = engine.register_stream(S, mapping=mapping, time="ms")
    report = stream.push_rows(
        [
            {"x": "a", "y": 10**5000, "ms": 1},
            {"x": "b", "y": 1, "ms": 10**5000},
            {"x": "c", "y": 1, "ms": 2},
        ]
    )
    assert (report.accepted, report.malformed) == (1, 2)
    assert [reason.partition(": ")[2] for reason in stream.set_aside] == [
        "an integer of more than 4300 digits: y",
        "an integer of more than 4300 digits: ms",
    ]


def test_lines_in_a_file_called_json(engine: Engine, tmp_path: Path) -> None:
    mapping, file = tmp_path / "m.yml", tmp_path / "r.json"
    mapping.write_text(_MAPPING.replace("r~form", "r.json~jsonpath"), "utf-8")
    file.write_text(_LINES, "utf-8")
    report = engine.load_static(file, mapping=mapping, on_error="skip")
    assert (report.skipped, report.quads_added) == (4, 2)


def test_a_row_that_is_not_looked_at_is_one_all_the_same(engine: Engine, tmp_path: Path) -> None:
    """A mapping of constants reads no value of any row."""
    mapping, file = tmp_path / "m.yml", tmp_path / "r.jsonl"
    constant = _MAPPING.replace("$(x)", "a").replace("$(y)", "b")
    mapping.write_text(constant.replace("r~form", "r.jsonl~jsonpath"), "utf-8")
    file.write_text('{"x": "c"\n', "utf-8")
    report = engine.load_static(file, mapping=mapping, on_error="skip")
    assert (report.skipped, report.quads_added) == (1, 0)


def test_a_quote_that_is_not_closed_is_no_one_row(engine: Engine, tmp_path: Path) -> None:
    mapping, file = tmp_path / "m.yml", tmp_path / "r.csv"
    mapping.write_text(_MAPPING.replace("r~form", "r.csv~csv"), "utf-8")
    file.write_text('x,y\na,1\n"b,2\nc,3\n', "utf-8")
    with pytest.raises(MappingError, match=r"r\.csv: no CSV"):
        engine.load_static(file, mapping=mapping, on_error="skip")
    assert not quads_of(engine.store)


def test_rows_to_join_with_are_named_by_their_number(engine: Engine, tmp_path: Path) -> None:
    mapping, file = tmp_path / "m.ttl", tmp_path / "r.jsonl"
    mapping.write_text(_JOINED, "utf-8")
    file.write_text('{"x": "a", "y": "a"}\n{"x": "b", "y": {"z": 1}}\n', "utf-8")
    with pytest.raises(MappedRowError, match="row 2: a JSON object has no lexical form: y"):
        engine.load_static(file, mapping=mapping, on_error="skip")


def test_texts_that_are_not_utf_8(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    """Cut off, in Latin-1, too long, a surrogate: neither Arrow nor Spark looks at them."""
    mapping = tmp_path / "m.yml"
    mapping.write_text(_MAPPING.replace("r~form", "r.parquet~csv"), "utf-8")
    sound = [b"plain", "\u00e9\u20ac\U0001f600".encode()]
    odd = [b"caf\xe9", b"x\xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]
    column = pa.array([*sound, *odd], pa.binary()).view(pa.string())
    table = pa.table({"x": column, "y": ["1"] * len(column), "ms": list(range(len(column)))})
    pq.write_table(table, tmp_path / "r.parquet")
    repeated = table.set_column(0, "x", pa.chunked_array([column]).dictionary_encode())
    frame = spark.read.parquet(str(tmp_path / "r.parquet"))
    for one in (table, repeated, tmp_path / "r.parquet", frame):
        with pytest.raises(MappedRowError, match="row 3: not UTF-8"):
            engine.load_static(one, mapping=mapping)
        with closing(Engine(spark)) as other:
            skipped = tmp_path / "skipped.jsonl"
            skipped.unlink(missing_ok=True)
            other.load_static(one, mapping=mapping, on_error="skip", skipped_file=skipped)
            told = [json.loads(line)["reason"] for line in skipped.read_text("utf-8").splitlines()]
            assert told == [f"row {n + 3}: not UTF-8" for n in range(len(odd))]
            assert {line.split()[0] for line in quads_of(other.store)} == {
                "<http://e/plain>",
                "<http://e/\u00e9\u20ac\U0001f600>",
            }
    stream = engine.register_stream(S, mapping=mapping, time="ms")
    report = stream.push_table(table)
    assert (report.accepted, report.malformed) == (len(sound), len(odd))


def test_lists_that_have_too_many_combinations(engine: Engine, tmp_path: Path) -> None:
    mapping, file = tmp_path / "m.yml", tmp_path / "r.jsonl"
    listed = _MAPPING.replace("[[ex:p, $(y)]]", '[["ex:p", "$(a[*])"], ["ex:q", "$(b[*])"]]')
    mapping.write_text(listed.replace("r~form", "r.jsonl~jsonpath"), "utf-8")
    rows: list[dict[str, Any]] = [
        {"x": "both", "a": list(range(300)), "b": list(range(300)), "ms": 1},
        {"x": "one", "a": list(range(70_000)), "b": [1], "ms": 2},
        {"x": "few", "a": list(range(100)), "b": list(range(100)), "ms": 3},
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    reason = "row {}: 90,000 combinations of values, more than 65,536"
    skipped = tmp_path / "skipped.jsonl"
    report = engine.load_static(file, mapping=mapping, on_error="skip", skipped_file=skipped)
    assert [json.loads(line)["reason"] for line in skipped.read_text("utf-8").splitlines()] == [
        reason.format(1)
    ]
    assert (report.skipped, report.quads_added) == (1, 70_001 + 200)
    stream: Any = engine.register_stream(S, mapping=mapping, time="ms")
    pushed = stream.push_rows(rows)
    assert (pushed.accepted, pushed.malformed) == (2, 1)
    assert list(stream.set_aside) == [reason.format(0)]
