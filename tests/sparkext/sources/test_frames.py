"""Messages in a streaming DataFrame: decoded into elements and rows by tasks, from files as from anywhere."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkext import sources
from sparkext.errors import ArgumentError
from sparkext.runtime.streams.structured_source import StreamSourceError
from tests.sparkext.listening import S, settings
from tests.sparkext.sources.messages import document, reading, values
from tests.sparkext.sources.test_messages import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkext import Engine

MAPPING = """
prefixes: {e: 'http://e/'}
mappings:
  r:
    sources: [['r.json~jsonpath']]
    s: e:r$(id)
    po: [[e:value, $(id), xsd:integer]]
"""


def messages(spark: SparkSession, folder: Path, *payloads: bytes, at: int = 0) -> DataFrame:
    """A streaming DataFrame of messages with a time, in the seconds from `at` on."""
    folder.mkdir()
    rows = [
        {"value": b64encode(payload).decode(), "at": at + number}
        for number, payload in enumerate(payloads)
    ]
    (folder / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = spark.readStream.schema("value STRING, at BIGINT").json(str(folder))
    return read.selectExpr("unbase64(value) AS value", "timestamp_seconds(at) AS timestamp")


def test_messages_of_several_formats(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    jsonld = '{"@context": {"@vocab": "http://e/"}, "@id": "http://e/r4", "value": 4}'
    payloads = (reading(1), "@prefix : <http://e/> . :r2 :value 2 .", document(3), jsonld, "-")
    frame = messages(spark, tmp_path / "m", *(p.encode() for p in payloads), at=5)
    stream = engine.register_stream(S, source=sources.elements(frame, time="broker"))
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    assert (stream.accepted_count, stream.malformed_count) == (4, 1)
    assert list(stream.set_aside) == [
        "message: line 1, column 1: expected an IRI, a blank node or a quoted triple"
    ]
    assert stream.newest_time == 8000
    assert seen() == [1, 2, 3, 4]


def test_a_batch_is_taken_in_once(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    frame = sources.elements(messages(spark, tmp_path / "m", reading(1).encode()))
    stream = engine.register_stream(S)
    checkpoint = tmp_path / "c"
    for _ in range(2):
        query = stream.read(frame, str(checkpoint))
        query.processAllAvailable()
        query.stop()
        for commit in (checkpoint / "commits").glob("*0*"):
            commit.unlink()  # as if the process had died just before it noted it
    assert stream.accepted_count == 1


def test_a_stream_that_does_not_skip_ends_the_source(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    frame = sources.elements(messages(spark, tmp_path / "m", reading(1).encode(), b"rubbish"))
    stream = engine.register_stream(S, source=frame, on_error="fail")
    with pytest.raises(StreamingQueryException, match="expected an IRI"):
        stream.sources[0].processAllAvailable()
    assert stream.accepted_count == 0


def test_quoted_triples_are_those_of_the_setting(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    star = b"<< <http://e/a> <http://e/b> <http://e/c> >> <http://e/p> <http://e/o> ."
    frame = messages(spark, tmp_path / "m", star)
    with settings(spark, rdf="1.2"):
        strict = sources.elements(frame, "ntriples", "now")
    for chosen, expected in ((strict, (0, 1)), (sources.elements(frame, time="now"), (1, 1))):
        stream = engine.register_stream(S, source=chosen)
        stream.sources[-1].processAllAvailable()
        assert (stream.accepted_count, stream.malformed_count) == expected


def avro(fastavro: Any, number: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMA, {"id": number, "room": None})
    return out.getvalue()


@pytest.mark.parametrize("format", ["json", "csv", "avro"])
def test_rows_by_a_mapping(
    spark: SparkSession, engine: Engine, tmp_path: Path, format: str
) -> None:
    mapping = tmp_path / "m.yml"
    mapping.write_text(MAPPING)
    if format == "avro":
        fastavro = pytest.importorskip("fastavro", reason="the extra avro is not installed")
        payloads = [
            avro(fastavro, 1),
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            avro(fastavro, 2),
        ]
    else:
        payloads = [b'{"id": 1}', b'{"id": "x"}', b'{"id": 2}']
        if format == "csv":
            payloads = [b"1,a", b"x,b", b"2,c"]
    frame = messages(spark, tmp_path / "m", *payloads, at=3)
    schema = SCHEMA if format == "avro" else None
    rows = sources.rows(frame, format, "id INT, room STRING", avro_schema=schema)
    stream = engine.register_stream(S, source=rows, mapping=mapping, time="timestamp")
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    assert (stream.accepted_count, stream.malformed_count) == (2, 1)
    assert stream.newest_time == 5000
    assert seen() == [1, 2]


@pytest.mark.parametrize(
    ("format", "read"),
    [
        (
            "csv",
            {
                b'1,"a ""b"", c"': (1, 'a "b", c'),
                b'2,"a\nb"\n': (2, "a\nb"),
                b"3,a\n4,b": (None, None),
            },
        ),
        (
            "json",
            {
                b'{"id": 1, "room": "}\\n{"}\n': (1, "}\n{"),
                b'{"id": 2, "room": "a"}\n{"id": 3, "room": "b"}': (None, None),
                b'[{"id": 4, "room": "a"}, {"id": 5, "room": "b"}]': (None, None),
            },
        ),
    ],
)
def test_a_message_of_json_or_csv_is_one_row(
    spark: SparkSession, format: str, read: dict[bytes, tuple[int | None, str | None]]
) -> None:
    frame = spark.createDataFrame([(payload,) for payload in read], "value BINARY")
    found = sources.rows(frame, format, "id INT, room STRING").collect()
    assert [tuple(row) for row in found] == list(read.values())


@pytest.mark.parametrize(
    ("select", "format", "message"),
    [
        ("time, graph, triples", "auto", "no column about, flaw; found: time, graph, triples"),
        ("'x' AS time, graph, triples, about, flaw", "auto", "time must be milliseconds"),
        ("time, graph, 'x' AS triples, about, flaw", "elements", "triples must be array<string>"),
        ("time, 5 AS graph, triples, about, flaw", "elements", "graph must be text"),
    ],
)
def test_a_frame_of_elements_that_does_not_fit(
    spark: SparkSession, engine: Engine, tmp_path: Path, select: str, format: str, message: str
) -> None:
    frame = sources.elements(messages(spark, tmp_path / "m", b""))
    stream = engine.register_stream(S)
    with pytest.raises(StreamSourceError) as refused:
        stream.read(frame.selectExpr(*select.split(", ")), format=format)
    assert message in str(refused.value)


def test_odd_arguments_are_refused(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr("'x' AS value")
    for call, message in (
        (lambda: sources.elements(5), "frame: must be a DataFrame"),  # type: ignore[arg-type]
        (lambda: sources.elements(spark.range(1)), "frame: has no column value"),
        (lambda: sources.elements(frame, time="broker"), "time: the frame has no column timestamp"),
        (lambda: sources.elements(frame, "xml"), "format: must be one of auto"),
        (lambda: sources.elements(frame, time_properties="x"), "time_properties: must be a list"),
        (lambda: sources.elements(frame, contexts=[1]), "contexts: must be files by IRI"),  # type: ignore[arg-type]
        (lambda: sources.rows(frame, "xml", "a INT"), "format: must be one of json"),
        (lambda: sources.rows(frame, "json", 5), "schema: must be columns"),  # type: ignore[arg-type]
        (lambda: sources.rows(frame, "json", "a INT", wire=5), "wire: must be True"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ArgumentError) as refused:
            call()
        assert message in str(refused.value)
