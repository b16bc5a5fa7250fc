"""Messages of every format as elements and as rows, and what is said of those that are none."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sparkext.errors import ArgumentError, MissingLibraryError
from sparkext.sources.extras import library
from sparkext.sources.rdf_messages import RdfMessages
from sparkext.sources.row_messages import RowMessages
from static_data.files.rdf_version import RdfVersion
from tests.sparkext.listening import PROV_TIME, E

TIMED = f"<{PROV_TIME}>"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
S_P_1 = f'<{E}s> <{E}p> "1"^^{INTEGER} .'
CONTEXT = {"@vocab": E, "at": {"@id": PROV_TIME}}


def read(text: str | bytes, format: str = "auto", time: str = "payload", **more: Any) -> Any:
    payload = text.encode() if isinstance(text, str) else text
    return RdfMessages(format, time, **more).read(payload, 7000)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("ntriples", f'{S_P_1}\r\n<{E}s> {TIMED} "5000"^^{INTEGER} .'),
        ("nquads", f'{S_P_1}\n<{E}s> {TIMED} "5000"^^{INTEGER} .'),
        ("turtle", f"@prefix : <{E}> . :s :p 1 ; {TIMED} 5000 ."),
        ("trig", f"prefix : <{E}> {{ :s :p 1 ; {TIMED} 5000 }}"),
        ("jsonld", json.dumps({"@context": CONTEXT, "@id": f"{E}s", "p": 1, "at": 5000})),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_triples_without_a_name_are_one_element(format: str, text: str, told: bool) -> None:
    (element,) = read(text, format if told else "auto").elements
    assert (element.time_ms, element.graph) == (5000, None)
    assert set(element.triples) == {S_P_1, f'<{E}s> {TIMED} "5000"^^{INTEGER} .'}
    (element,) = read(text, format, "broker").elements
    assert element.time_ms == 7000


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("nquads", f'{S_P_1[:-1]}<{E}g> .\n<{E}g> {TIMED} "5000"^^{INTEGER} .'),
        ("trig", f"@prefix : <{E}> . :g {{ :s :p 1 }} :g {TIMED} 5000 ."),
        (
            "jsonld",
            json.dumps(
                {
                    "@context": CONTEXT,
                    "@id": f"{E}g",
                    "at": 5000,
                    "@graph": [{"@id": f"{E}s", "p": 1}],
                }
            ),
        ),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_named_graphs_are_elements(format: str, text: str, told: bool) -> None:
    (element,) = read(text, format if told else "auto").elements
    assert (element.time_ms, element.graph, element.triples) == (5000, f"<{E}g>", (S_P_1,))
    assert element.time_triple == f'<{E}g> {TIMED} "5000"^^{INTEGER} .'
    (element,) = read(text, format, "broker").elements
    assert (element.time_ms, element.about) == (7000, (f'<{E}g> {TIMED} "5000"^^{INTEGER} .',))


def test_a_malformed_statement_of_a_document_costs_its_element_only() -> None:
    sound = f'{S_P_1[:-1]}<{E}g> .\n<{E}g> {TIMED} "5000"^^{INTEGER} .\n'
    found = read(f"{sound}<{E}s> nothing <{E}h> .\n")
    assert [element.graph for element in found.elements] == [f"<{E}g>"]
    assert [flaw.split(":")[0] for flaw in found.flaws] == ["line 3"]
    trig = f"@prefix : <{E}> . :g {{ :s :p 1 }} :g {TIMED} 5000 . :h {{ :s : }}"
    found = read(trig)
    assert [element.graph for element in found.elements] == [f"<{E}g>"]
    assert len(found.flaws) == 1
    # Where the message dates them, none can be told apart from the whole.
    assert read(trig, "trig", "now").elements == []


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        (b"\xff", "not UTF-8"),
        ("", "no triple"),
        (S_P_1, "no time"),
        (f"@prefix : <{E}> . :s {TIMED} 1, 2 .", "2 times"),
        (f'@prefix : <{E}> . :s {TIMED} "soon" .', "neither an xsd:dateTime nor an integer"),
        ('{"@context": "http://e/context", "a": 1}', "is not fetched"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("rubbish", "line 1, column 1: expected an IRI"),
        (f"@prefix : <{E}> . :s :p", "line 1: "),
    ],
)
def test_what_is_malformed_is_a_reason(text: str | bytes, flaw: str) -> None:
    found = read(text)
    assert found.elements == []
    assert len(found.flaws) == 1
    assert flaw in found.flaws[0]


def test_no_payload_and_no_time_of_the_broker() -> None:
    assert RdfMessages().read(None).flaws == ["no payload"]
    assert RdfMessages(time="broker").read(S_P_1.encode()).flaws == ["the message carries no time"]


def test_quoted_triples_are_read_as_the_engine_has_them() -> None:
    star = f"<< <{E}a> <{E}b> <{E}c> >> <{E}p> <{E}o> ."
    turtle = f"@prefix : <{E}> . << :a :b :c >> :p :o ."
    for text in (star, turtle):
        assert read(text, time="now").elements[0].triples == (star,)
    assert read(star, "ntriples", "now", version=RdfVersion.RDF_1_2).elements == []
    twelve = f"<{E}s> <{E}p> <<( <{E}a> <{E}b> <{E}c> )>> ."
    (element,) = read(twelve, "ntriples", "now", version=RdfVersion.RDF_1_2).elements
    assert element.triples == (f"<{E}s> <{E}p> << <{E}a> <{E}b> <{E}c> >> .",)


def test_contexts_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "context.jsonld"
    file.write_text(json.dumps({"@context": CONTEXT}))
    text = json.dumps({"@context": "http://e/context", "@id": f"{E}s", "p": 1, "at": 5000})
    messages = RdfMessages.checked("jsonld", "payload", [PROV_TIME], {"http://e/context": file})
    (element,) = messages.read(text.encode()).elements
    assert element.time_ms == 5000


def test_rows_of_json_and_csv() -> None:
    found = RowMessages().read(b'[{"a": 1}, 2]')
    assert (found.rows, found.flaws) == ([{"a": 1}], ["a row is a JSON object, not 2"])
    assert RowMessages().read(b'{"a": 1}\n{"a": 2}\n').rows == [{"a": 1}, {"a": 2}]
    lines = '{"a": "x\u2028y\x85z"}\r\n\r\n{"a": 2}\r\n'
    assert RowMessages().read(lines.encode()) == ([{"a": "x\u2028y\x85z"}, {"a": 2}], [])
    assert len(RowMessages().read(b'{"a": 1').flaws) == 1
    assert RowMessages().read(b"\xff").flaws == ["not UTF-8"]
    assert RowMessages().read(None).flaws == ["no payload"]
    found = RowMessages("csv", ("a", "b")).read(b'1,"x\ny"\r\n\r\n2\r\n3,\r\n')
    assert found.rows == [{"a": "1", "b": "x\ny"}, {"a": "3", "b": None}]
    assert found.flaws == ["1 values for 2 columns"]
    assert len(RowMessages("csv", ("a", "b")).read(b'"1,2').flaws) == 1


SCHEMA = {
    "type": "record",
    "name": "Reading",
    "fields": [{"name": "id", "type": "int"}, {"name": "room", "type": ["null", "string"]}],
}


def test_rows_of_avro(tmp_path: Path) -> None:
    fastavro = pytest.importorskip("fastavro", reason="the extra avro is not installed")
    record, whole = io.BytesIO(), io.BytesIO()
    fastavro.schemaless_writer(record, SCHEMA, {"id": 5, "room": None})
    fastavro.writer(whole, SCHEMA, [{"id": 6, "room": "r"}, {"id": 7, "room": None}])
    file = tmp_path / "reading.avsc"
    file.write_text(json.dumps(SCHEMA))
    for schema in (SCHEMA, json.dumps(SCHEMA), file, str(file)):
        messages = RowMessages.checked("avro", schema=schema)  # type: ignore[arg-type]
        assert messages.read(record.getvalue()).rows == [{"id": 5, "room": None}]
    assert [row["id"] for row in messages.read(whole.getvalue()).rows] == [6, 7]
    assert len(messages.read(record.getvalue()[:1]).flaws) == 1
    assert messages.read(record.getvalue() + b"more").flaws == [
        "more bytes than a record of the schema has"
    ]
    wired = RowMessages.checked("avro", schema=SCHEMA, wire=True)
    assert wired.read(b"\0\0\0\0\1" + record.getvalue()).rows == [{"id": 5, "room": None}]
    assert len(wired.read(b"\1\0\0\0\1" + record.getvalue()).flaws) == 1
    assert RowMessages.checked("avro").read(b"").flaws == ["no Avro file, and no schema was given"]
    with pytest.raises(ArgumentError, match="schema: no Avro schema"):
        RowMessages.checked("avro", schema={"type": "nothing"})
    with pytest.raises(ArgumentError, match="schema: must be an Avro schema"):
        RowMessages.checked("avro", schema=5)  # type: ignore[arg-type]


def test_a_library_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'spark-cqels\[kafka\]'"):
        library("confluent_kafka", "kafka", "a Kafka source")
