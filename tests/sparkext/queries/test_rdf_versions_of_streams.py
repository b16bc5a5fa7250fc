"""`<< s p o >>` as RDF-star and as RDF 1.2 read it, in streams and in graphs that change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sparkext.engine import Engine
from sparkext.recorded_streams import StreamElement, read_recorded_stream
from sparkext.recorded_streams.reader import read_document
from static_data.errors import MalformedRdfError, StaticDataError
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_version import RdfVersion
from static_data.terms import Iri, QuotedTriple
from tests.sparkext.command_line.command_inputs import Command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = "http://e/"
REIFIES = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
STAR, RDF_1_2 = RdfVersion.STAR, RdfVersion.RDF_1_2
BOTH = pytest.mark.parametrize("version", [STAR, RDF_1_2], ids=lambda version: version.value)
TRIPLES = ":a :p :o {| :since 1 |} . << :a :p :x >> :q 7 ."
TRIG = f"""@prefix : <{E}> . @prefix prov: <http://www.w3.org/ns/prov#> .
:g1 prov:generatedAtTime 5 . :g1 {{ {TRIPLES} }}
"""
PATTERNS = [
    "<< :a :p :o >> :since ?n",
    ":a :p ?o {| :since ?n |}",
    "<< :a :p ?n >> :q 7",
    f"?r <{REIFIES}> <<( :a :p ?n )>>",
]
A, P, B = (Iri(f"{E}{name}") for name in "apo")
TERM, QUOTED = f"<<( {A.n3()} {P.n3()} {B.n3()} )>>", f"<< {A.n3()} {P.n3()} {B.n3()} >>"
REIFIED = f'_:r <{REIFIES}> {TERM} .\n_:r <{E}since> "1" .'
SAID_OF_QUOTED = f'{QUOTED} <{E}since> "1" .'


@contextmanager
def engine_of(spark: SparkSession, version: RdfVersion) -> Iterator[Engine]:
    """An engine that reads quoted triples this way."""
    spark.conf.set("spark.cqels.rdf", version.value)
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.rdf")
    yield engine
    engine.close()


def answers_over_elements(engine: Engine, elements: list[StreamElement]) -> list[list[object]]:
    """The rows of each pattern over a window that holds the elements."""
    heard: list[list[object]] = []
    engine.register_stream(f"{E}s")
    for pattern in PATTERNS:
        query = engine.register_query(
            f"PREFIX : <{E}> SELECT ?n FROM NAMED WINDOW :w ON :s [RANGE 10]"
            f" WHERE {{ WINDOW :w {{ {pattern} }} }}"
        )
        query.subscribe(lambda answers: heard.append(sorted(answers.rows())))
    engine.stream(f"{E}s").push_elements(elements)
    engine.advance_to(5)
    return heard


@BOTH
def test_a_stream_is_read_as_static_data_are(
    spark: SparkSession, tmp_path: Path, version: RdfVersion
) -> None:
    turtle, trig = tmp_path / "data.ttl", tmp_path / "stream.trig"
    turtle.write_text(f"@prefix : <{E}> . {TRIPLES}", encoding="utf-8")
    trig.write_text(TRIG, encoding="utf-8")
    recorded = read_recorded_stream(trig, version=version).elements
    with engine_of(spark, version) as engine:
        engine.load_static(turtle)
        texts = [f"PREFIX : <{E}> SELECT ?n {{ {pattern} }}" for pattern in PATTERNS]
        static = [sorted(engine.select(text).answer().rows()) for text in texts]
        assert answers_over_elements(engine, recorded) == static
    assert [len(rows) for rows in static] == [1, 1, 1, 0 if version is STAR else 2]
    streamed, _ = read_document(TRIG.encode(), RdfFormat.TRIG, "document", version=version)
    assert [len(element.triples) for element in (*recorded, *streamed)] == (
        [3, 3] if version is STAR else [5, 5]
    )


def test_a_malformed_statement_of_trig_changes_nothing_about_the_others(tmp_path: Path) -> None:
    trig = tmp_path / "stream.trig"
    trig.write_text(f"{TRIG}:g2 {{ oops }}\n", encoding="utf-8")
    for version, count in ((STAR, 3), (RDF_1_2, 5)):
        (element,) = read_recorded_stream(trig, version=version).elements
        assert len(element.triples) == count


def test_lines_of_a_stream_hold_triple_terms_as_objects_only(tmp_path: Path) -> None:
    file = tmp_path / "stream.nq"
    dated = f'<{E}g> <http://www.w3.org/ns/prov#generatedAtTime> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    cases = [
        (f"<{E}s> <{E}p> {TERM} <{E}g> .", True),
        (f"<{E}s> <{E}p> <<( <{E}s> <{E}p> {TERM} )>> <{E}g> .", True),
        (f"<{E}s> <{E}p> {QUOTED} <{E}g> .", False),
        (f"<{E}s> <{E}p> <<( {TERM} <{E}p> <{E}o> )>> <{E}g> .", False),
        (f"{TERM} <{E}p> <{E}o> <{E}g> .", False),
    ]
    for line, fits in cases:
        file.write_text(f"{dated}\n{line}\n", encoding="utf-8")
        assert len(read_recorded_stream(file).elements) == 1
        strict = read_recorded_stream(file, version=RDF_1_2)
        assert (len(strict.elements), len(strict.set_aside)) == ((1, 0) if fits else (0, 1)), line


@BOTH
def test_columns_of_a_stream_hold_triple_terms_as_objects_only(
    spark: SparkSession, version: RdfVersion
) -> None:
    with engine_of(spark, version) as engine:
        stream = engine.register_stream(f"{E}s")
        for subject, object_, strict in [("e:s", TERM, 1), ("e:s", QUOTED, 0), (TERM, "<e:o>", 0)]:
            row = {"subject": subject, "predicate": "e:p", "object": object_, "time": 5}
            fits = 1 if version is STAR else strict
            assert stream.push_table(pa.Table.from_pylist([row])).accepted == fits


@BOTH
def test_what_is_pushed_is_read_as_the_version_has_it(
    spark: SparkSession, version: RdfVersion
) -> None:
    term = QuotedTriple(A, P, B)
    pushed = [
        (REIFIED, True),
        (SAID_OF_QUOTED, version is STAR),
        ((A, P, QUOTED), version is STAR),
        ((A, P, TERM), True),
        ((A, P, QuotedTriple(A, P, term)), True),
        ((term, P, A), version is STAR),
    ]
    with engine_of(spark, version) as engine:
        stream = engine.register_stream(f"{E}s")
        for time, (triples, fits) in enumerate(pushed, 1):
            assert stream.push(triples, time).accepted == fits, triples
        assert stream.malformed_count == len(stream.set_aside) == (0 if version is STAR else 3)
        text = f"PREFIX : <{E}> SELECT ?n FROM NAMED WINDOW :w ON :s [RANGE 10] "
        heard: list[object] = []
        query = engine.register_query(text + "WHERE { WINDOW :w { << :a :p :o >> :since ?n } }")
        query.subscribe(lambda answers: heard.extend(answers.rows()))
        stream.push(REIFIED if version is RDF_1_2 else SAID_OF_QUOTED, 20)
        engine.advance_to(20)
        assert heard == [('"1"',)]


@BOTH
def test_a_change_of_a_graph_is_read_as_static_data_are(
    spark: SparkSession, tmp_path: Path, version: RdfVersion
) -> None:
    turtle = tmp_path / "data.ttl"
    turtle.write_text(f"@prefix : <{E}> . {TRIPLES}", encoding="utf-8")
    texts = [f"PREFIX : <{E}> SELECT ?n {{ {pattern} }}" for pattern in PATTERNS]
    found = []
    for change in (False, True):
        with engine_of(spark, version) as engine:
            if change:
                engine.replace_graph(None, turtle)
            else:
                engine.load_static(turtle)
            found.append([sorted(engine.select(text).answer().rows()) for text in texts])
    assert found[0] == found[1]
    assert [len(rows) for rows in found[1]] == [1, 1, 1, 0 if version is STAR else 2]
    with engine_of(spark, version) as engine:
        engine.insert(REIFIED if version is RDF_1_2 else SAID_OF_QUOTED)
        engine.insert((A, P, QuotedTriple(A, P, B)))
        assert engine.select(texts[0]).answer().rows() == [('"1"',)]
        if version is RDF_1_2:
            with pytest.raises(MalformedRdfError):
                engine.insert(SAID_OF_QUOTED)
            with pytest.raises(StaticDataError, match="blank node"):
                engine.remove(turtle)
        else:
            engine.remove(SAID_OF_QUOTED)
            assert engine.select(texts[0]).answer().rows() == []


def test_the_commands_read_a_stream_as_its_query(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, trig, static = (tmp_path / name for name in ("q.rspql", "stream.trig", "data.ttl"))
    query.write_text(
        f"PREFIX : <{E}> REGISTER RSTREAM :q AS SELECT ?n ?m FROM NAMED WINDOW :w ON :s [RANGE 10]"
        " WHERE { WINDOW :w { << :a :p :o >> :q ?n . << :a :p :o >> :r ?m } << :a :p :o >> :known true }",
        encoding="utf-8",
    )
    trig.write_text(TRIG.replace(TRIPLES, "<< :a :p :o >> :q 1 . << :a :p :o >> :r 2 ."))
    static.write_text(f"@prefix : <{E}> . << :a :p :o >> :known true .")
    inputs = [str(query), "--static", str(static), "--stream", f"{E}s={trig}"]
    cqels = Command(capsys)
    for version in (STAR, RDF_1_2):
        options = [*inputs, "--set", f"spark.cqels.rdf={version.value}"]
        done = cqels("run", *options)
        assert (done.status, done.err) == (0, "")
        assert done.out.count('"value": "1"') == 1
        answers = tmp_path / "answers.jsonl"
        answers.write_text(done.out, encoding="utf-8")
        judged = cqels("check", *options, "--answers", str(answers))
        assert (judged.status, judged.err) == (0, ""), judged.out
