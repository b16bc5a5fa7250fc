"""Rows loaded as static data: the triples, and the flaws, of the plain reading of the mapping."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext import Engine, MappingOptions
from static_data.errors import MappedRowError, MappingError, MissingFileError
from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.rows import ArrowRows
from static_data.mappings.source_rows import rows_of_file
from tests.sparkext.mapped.test_mapped_terms import _DOCUMENTS, _EVERYTHING, _JSON, _TEXTS, _TYPES
from tests.static_data.mappings.mapping_cases import TURTLE_PREFIXES, MappingCase
from tests.static_data.mappings.more_mapping_cases import CASES
from tests.static_data.mappings.quad_sets import without_labels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from static_data.store import StaticStore


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with closing(Engine(spark)) as engine:
        yield engine


def quads_of(store: StaticStore) -> set[str]:
    """All quads of a store as N-Quads-star lines."""
    text = store.dictionary.text
    lines = set()
    for graph in store.graphs():
        for (graph_id, predicate), pairs in store.rows_of_graph(graph.id).items():
            ends = f"{text(graph_id)} ." if graph_id else "."
            lines |= {f"{text(s)} {text(predicate)} {text(o)} {ends}" for s, o in pairs}
    return lines


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(engine: Engine, case: MappingCase, tmp_path: Path) -> None:
    for name, text in case.files.items():
        (tmp_path / name).write_text(text, "utf-8")
    file = tmp_path / f"mapping.{case.ending}"
    file.write_text(case.mapping, "utf-8")
    report = engine.load_static(None, mapping=MappingOptions(file, tables=case.tables))
    assert without_labels(quads_of(engine.store)) == without_labels(case.expected)
    assert report.quads_added == len(quads_of(engine.store))


@settings(derandomize=True, max_examples=25, deadline=None)
@given(data=st.data())
def test_any_columns(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Tables of one block and DataFrames of several partitions make the same, and skip the same rows."""
    folder = tmp_path_factory.mktemp("any")
    file = folder / "everything.ttl"
    file.write_text(_EVERYTHING, "utf-8")
    kind, values = data.draw(st.sampled_from(_TYPES))
    rows = data.draw(
        st.lists(st.tuples(st.none() | _TEXTS, st.none() | values), min_size=1, max_size=12)
    )
    table = pa.table(
        {
            "s": pa.array([s for s, _ in rows], pa.string()),
            "v": pa.array([v for _, v in rows], kind),
        }
    )
    mapped = read_mapping(file).of_source()
    own = ArrowRows(table, mapped.source)
    made = list(Materialiser(mapped, {mapped.source: own}).quads_by_row(own))
    flaws = [f"row {one.row}: {one.message}" for one in made if isinstance(one, MappedRowError)]
    expected = [q.nquads() for one in made if not isinstance(one, MappedRowError) for q in one]
    given: list[Any] = [table]
    if kind in _SPARK:
        given.append(spark.createDataFrame(table.to_pylist(), f"s STRING, v {_SPARK[kind]}"))
    for one in given:
        with closing(Engine(spark)) as engine:
            skipped = folder / "skipped.jsonl"
            skipped.write_text("", "utf-8")
            engine.load_static(one, mapping=file, on_error="skip", skipped_file=skipped)
            told = skipped.read_text("utf-8").splitlines()
            assert [json.loads(line)["reason"] for line in told] == flaws
            assert without_labels(quads_of(engine.store)) == without_labels(expected)


_ODD_LINES = st.sampled_from(
    [
        "",
        " \r",
        '{"at": {"x": NaN}}',
        '{"id": "\\ud83d\\ude00"}',
        '{"id": 1, "id": 2}',
        "null",
        "[1]",
        "7",
    ]
)
_LINES = st.lists(_DOCUMENTS.map(json.dumps) | _ODD_LINES, min_size=1, max_size=10)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(lines=_LINES)
def test_any_json_lines(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("json")
    file, rows = folder / "json.ttl", folder / "r.jsonl"
    file.write_text(_JSON, "utf-8")
    rows.write_text("\n".join(lines), "utf-8", newline="")
    mapped = read_mapping(file).of_source()
    plain = rows_of_file(rows, mapped.source)
    made = list(Materialiser(mapped, {}).quads_by_row(plain))
    flaws = [f"row {one.row}: {one.message}" for one in made if isinstance(one, MappedRowError)]
    expected = [q.nquads() for one in made if not isinstance(one, MappedRowError) for q in one]
    with closing(Engine(spark)) as engine:
        skipped = folder / "skipped.jsonl"
        skipped.write_text("", "utf-8")
        engine.load_static(rows, mapping=file, on_error="skip", skipped_file=skipped)
        told = skipped.read_text("utf-8").splitlines()
        assert [json.loads(line)["reason"] for line in told] == flaws
        assert without_labels(quads_of(engine.store)) == without_labels(expected)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"iri": "u:a", "n": {}}', "row 2: a JSON object has no lexical form: n"),
        (b'{"iri": "\\ud800", "n": 1}', "row 2: .*holds a lone surrogate: iri"),
        (b'{"iri": "\xff"}', "line 3.*not UTF-8"),
        (b"{} {}", "line 3.*column 4: no JSON: Extra data"),
    ],
)
def test_lines_of_json_that_are_wrong(
    engine: Engine, tmp_path: Path, line: bytes, message: str
) -> None:
    file, rows = tmp_path / "m.yml", tmp_path / "r.jsonl"
    file.write_text(_LINKS.replace("r.csv~csv", "r.jsonl~jsonpath"), "utf-8")
    rows.write_bytes(b'{"iri": "u:a", "n": "u:b"}\n\n' + line + b"\n")
    kind = MappedRowError if message.startswith("row") else MappingError
    with pytest.raises(kind, match=message):
        engine.load_static(rows, mapping=file)


_SPARK: dict[pa.DataType, str] = {
    pa.string(): "STRING",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.float32(): "FLOAT",
    pa.bool_(): "BOOLEAN",
}

_ALL_TYPES = (
    TURTLE_PREFIXES
    + """
<#T> rr:logicalTable [ rr:tableName "t" ];
  rr:subjectMap [ rr:template "http://example.com/{ID}" ];
"""
    + " ;\n".join(
        f'rr:predicateObjectMap [ rr:predicate ex:{name}; rr:objectMap [ rr:column "{name}" ] ]'
        for name in ("i", "sh", "by", "de", "da", "ts", "nt", "bi", "si")
    )
    + " .\n"
)


def test_types_of_spark(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    """What tasks read of a table of Spark is what the table makes when it is collected."""
    file = tmp_path / "m.ttl"
    file.write_text(_ALL_TYPES, "utf-8")
    moment = datetime.datetime(2026, 1, 31, 10, 0, 0, 120_000)
    rows = [
        (1, 1, 2, 3, Decimal("80.250"), moment.date(), moment, moment, "x", 1.5),
        (2, None, None, None, None, None, None, None, None, None),
        (3, -(1 << 31), -3, -1, Decimal("-5.00"), datetime.date(1, 1, 1), moment, moment, "", 21.1),
    ]
    schema = (
        "id BIGINT, i INT, sh SMALLINT, by TINYINT, de DECIMAL(9,3), da DATE, ts TIMESTAMP,"
        " nt TIMESTAMP_NTZ, bi STRING, si FLOAT"
    )
    frame = spark.createDataFrame(rows, schema).repartition(3)
    frame.createOrReplaceTempView("t")
    engine.load_static(None, mapping=file)
    mapped = read_mapping(file).of_source()
    collected = ArrowRows(frame.toArrow(), mapped.source)
    expected = {q.nquads() for q in Materialiser(mapped, {}).quads(collected)}
    assert quads_of(engine.store) == expected and len(expected) == 18
    with closing(Engine(spark)) as other:  # a column that tasks do not read
        with_bytes = frame.withColumn("bi", frame.bi.cast("binary"))
        other.load_static(with_bytes, mapping=file)
        assert '"78"^^<http://www.w3.org/2001/XMLSchema#hexBinary>' in str(quads_of(other.store))


_LINKS = "prefixes: {ex: 'http://example.com/'}\nmappings:\n  t:\n    sources: [[r.csv~csv]]\n" + (
    "    s: $(iri)\n    po:\n      - [ex:n, $(n)]\n      - [ex:b, $(n)~iri]\n"
)


def test_rows_are_counted_over_blocks_and_partitions(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "m.yml"
    file.write_text(_LINKS, "utf-8")
    count, wrong = 150_000, [70_000, 140_001]
    iris = [f"http://e/{n}" if n + 1 not in wrong else "no" for n in range(count)]
    table = pa.table({"iri": iris, "n": [f"u:{n % 1000}" for n in range(count)]})
    pq.write_table(table, tmp_path / "r.parquet")
    frame = spark.createDataFrame(table.to_pandas())
    assert frame.rdd.getNumPartitions() > 1
    for one in (table, tmp_path / "r.parquet", frame):
        with pytest.raises(MappedRowError, match="'no' is a relative IRI") as error:
            engine.load_static(one, mapping=file)
        assert error.value.row == wrong[0]
        assert not quads_of(engine.store)
        with closing(Engine(spark)) as other:
            skipped = tmp_path / "skipped.jsonl"
            skipped.unlink(missing_ok=True)
            report = other.load_static(one, mapping=file, on_error="skip", skipped_file=skipped)
            assert (report.skipped, report.quads_added) == (2, 2 * (count - 2))
            told = [json.loads(line) for line in skipped.read_text("utf-8").splitlines()]
            assert [one["reason"].partition(":")[0] for one in told] == [f"row {n}" for n in wrong]
            assert {one["file"] for one in told} == {"r.csv"}


def test_several_inputs_and_a_graph(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    """Rows of files, tables and DataFrames together; terms that share a hash are told apart."""
    engine.store.dictionary.setHashBits(7)
    file = tmp_path / "m.yml"
    file.write_text(_LINKS, "utf-8")
    (tmp_path / "r.csv").write_text("iri,n\n" + "".join(f"u:a{n},u:{n}\n" for n in range(40)))
    tables = [{"iri": [f"u:{part}{n}" for n in range(40)], "n": ["u:x"] * 40} for part in "bc"]
    frame = spark.createDataFrame(pa.table(tables[1]).to_pandas())
    given: Any = [tmp_path / "r.csv", pa.table(tables[0]), frame]
    report = engine.load_static(given, mapping=file, graph="http://e/g")
    found = quads_of(engine.store)
    assert len(found) == report.quads_added == 240
    assert '<u:c7> <http://example.com/n> "u:x" <http://e/g> .' in found
    assert "<u:a7> <http://example.com/b> <u:7> <http://e/g> ." in found


def test_what_is_not_there(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "m.yml"
    file.write_text(_LINKS, "utf-8")
    with pytest.raises(MissingFileError, match="no such file"):
        engine.load_static(tmp_path / "none.csv", mapping=file)
    for rows in (pa.table({"iri": ["u:a"]}), spark.createDataFrame([("u:a",)], "iri STRING")):
        with pytest.raises(MappingError, match="the rows have no column n; they have iri"):
            engine.load_static(rows, mapping=file)
    (tmp_path / "r.jsonl").write_text('{"iri": "u:a", "n": 1}\n{"iri"\n', "utf-8")
    with pytest.raises(MappingError, match=r"r\.jsonl, line 2.*no JSON") as error:
        engine.load_static(tmp_path / "r.jsonl", mapping=file)
    assert error.value.line == 2
    assert not quads_of(engine.store)
