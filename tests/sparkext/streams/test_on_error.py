"""What becomes of malformed elements and files: streams, recordings, sources and the command, three ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.command_line.arguments import PACKINGS, WAYS_ON_ERROR
from sparkext.errors import InputFileError, StreamElementError
from sparkext.recorded_streams import StreamElement, read_recorded_stream
from sparkext.recorded_streams.nquads_lines import MalformedLineError, parse_line
from static_data.files.on_error import OnError
from static_data.files.packings import PACKED_ENDINGS
from static_data.terms import parse_term
from tests.sparkext.command_line.command_inputs import ROOMS, Command, World, small_world
from tests.sparkext.streams.fed_documents import feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

S = "http://e/s"
GOOD = "<x:s> <x:p> <x:o> ."
ODD = ["<http://x/a b>", "<http://x/a|b>", "<www.b.it/>", '"\\uD83D\\uDE00"', "<http://x/_:a _:b>"]
READ = ["<http://x/a b>", "<http://x/a|b>", "<www.b.it/>", '"\U0001f600"', "<http://x/_:a _:b>"]
QUERY = f"""
REGISTER RSTREAM <x:q> AS SELECT ?o FROM NAMED WINDOW <x:w> ON <{S}> [RANGE 10]
WHERE {{ WINDOW <x:w> {{ ?s <x:p> ?o }} }}
"""


def element(time: int, *objects: str) -> StreamElement:
    return StreamElement(time, None, tuple(f"<x:s> <x:p> {o} ." for o in objects))


def test_a_stream_that_fails_takes_nothing_of_what_comes_with_it(engine: Engine) -> None:
    stream = engine.register_stream(S, on_error="fail")
    assert stream.push(GOOD, 1).accepted == 1
    for odd in ODD:
        with pytest.raises(StreamElementError, match=r"element at 3 ms, column \d+: "):
            stream.push_elements([element(2, "<x:o>"), element(3, "<x:o>", odd)])
    with pytest.raises(StreamElementError, match="line break"):
        stream.push_elements([element(2, "<x:o>"), StreamElement(4, None, ("a\nb",))])
    assert (stream.accepted_count, stream.malformed_count) == (1, 0)
    assert not stream.batches.has("source", 0)


def test_a_stream_that_accepts_answers_with_iris_as_they_stand(engine: Engine) -> None:
    stream = engine.register_stream(S, on_error="accept")
    heard: list[str] = []
    engine.register_query(QUERY).subscribe(
        lambda answers: heard.extend(row["o"] for row in answers)
    )
    stream.push_elements([element(1, *ODD)])
    engine.finish()
    assert set(heard) == set(READ)
    with pytest.raises(StreamElementError, match="column"):
        stream.push("<x:s> <x:p> .", 20)


def test_a_stream_skips_unless_told_otherwise(engine: Engine) -> None:
    stream = engine.register_stream(S)
    report = stream.push_elements([element(1, "<x:o>"), element(2, ODD[0])])
    assert (report.accepted, report.malformed) == (1, 1)


@pytest.mark.parametrize(("odd", "read"), list(zip(ODD, READ, strict=True)))
def test_recordings_fail_skip_or_accept(tmp_path: Path, odd: str, read: str) -> None:
    time = '<http://www.w3.org/ns/prov#generatedAtTime> "{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    texts = {
        "s.nq": f"<x:g> {time.format(1)} .\n<x:s> <x:p> {odd} <x:g> .\n"
        f"<x:h> {time.format(2)} .\n_:b <x:p> <x:o> <x:h> .",
        "s.trig": f"<x:g> {time.format(1)} .\n<x:g> {{ <x:s> <x:p> {odd} }}\n"
        f"<x:h> {time.format(2)} . <x:h> {{ _:b <x:p> <x:o> }}",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text)
        if odd == "<www.b.it/>" and name == "s.trig":
            continue  # relative to the file
        with pytest.raises(InputFileError) as caught:
            read_recorded_stream(path, on_error=OnError.FAIL)
        assert f"{name}:2: <x:g>" in str(caught.value)
        skipped = read_recorded_stream(path)
        assert [e.graph for e in skipped.elements] == ["<x:h>"]
        assert [one.line for one in skipped.set_aside] == [2]
        accepted = read_recorded_stream(path, on_error=OnError.ACCEPT)
        assert accepted.elements[0].triples == (f"<x:s> <x:p> {read} .",)
        assert len(accepted.elements) == 2


def test_a_recording_is_read_packed_and_without_an_ending(tmp_path: Path) -> None:
    text = (
        '<x:g> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        "<x:s> <x:p> <x:o> <x:g> ."
    )
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(text.encode())
    packed = sink.getvalue().to_pybytes()
    for name, content in (("a", text.encode()), ("a.nq.zst", packed), ("b", packed)):
        (tmp_path / name).write_bytes(content)
        assert len(read_recorded_stream(tmp_path / name).elements) == 1


def test_rows_and_documents_of_sources_are_accepted(spark: SparkSession, engine: Engine) -> None:
    columns = {"subject": ["x:s"], "predicate": ["x:p"], "object": [ODD[0]], "time": [5]}
    lines = (
        '<x:g> <http://www.w3.org/ns/prov#generatedAtTime> "6"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        f"<x:s> <x:p> {ODD[0]} <x:g> ."
    )
    dated, _, quad = lines.partition("\n")
    trig = f"{dated}\n<x:g> {{ {quad.replace('<x:g> .', '.')} }}"
    for way, accepted in (("skip", 0), ("accept", 1)):
        stream = engine.register_stream(f"x:{way}", on_error=way)
        assert stream.push_table(pa.table(columns)).accepted == accepted
        feed(spark, stream, [lines.encode()], "nquads")
        feed(spark, stream, [trig.encode()], "trig")
        assert stream.accepted_count == 3 * accepted
        assert stream.malformed_count == 3 - 3 * accepted


@pytest.mark.parametrize("way", ["fail", "accept"])
def test_a_malformed_document_takes_its_batch_with_it(
    spark: SparkSession, engine: Engine, way: str
) -> None:
    stream = engine.register_stream("x:whole", on_error=way)
    time = '<x:g> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    good = f"{time}\n<x:s> <x:p> <x:o> <x:g> .".encode()
    with pytest.raises(
        StreamElementError, match="stream <x:whole>: document:1: <x:g>: a time, but"
    ):
        feed(spark, stream, [good, time.encode()])
    assert (stream.accepted_count, stream.malformed_count) == (0, 0)
    feed(spark, stream, [good])
    assert stream.accepted_count == 1


PARTS = [*'a:/#[]%|{}^` "\\_.é', "\\u0020", "\\uD83D\\uDE00", "\\\\"]
IRI = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


@settings(max_examples=150, derandomize=True, database=None)
@given(st.lists(IRI, min_size=1, max_size=4), st.booleans())
def test_both_readers_accept_the_same_iris(
    spark: SparkSession, iris: list[str], quoted: bool
) -> None:
    """Python's reader of recordings and the JVM's, and what they read is read back from its canonical text."""
    from static_data.jvm import extension

    reader = extension(spark).rdf.NQuadsReader("", True, False, True)
    term = f"<{iris[-1]}>"
    inner = f"<< <x:s> <x:p> {term} >>" if quoted else term
    line = f'{inner} <{iris[0]}> "1"^^{term} .'
    try:
        found = parse_line(line, accepts=True)
    except MalformedLineError:
        found = None
    try:
        there = reader.parse(line)
    except Exception:
        there = False
    assert there is (found is not None)
    if found is not None:
        assert found[:3] == (reader.subject(), reader.predicate(), reader.obj())
        for text in found[:3]:
            assert parse_term(text).n3() == text


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = small_world(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def cqels(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_the_command_fails_skips_or_accepts(cqels: Command, world: World) -> None:
    query = world.write("q.rq", "SELECT ?o WHERE { ?s ?p ?o } ORDER BY ?o")
    world.write("a.nt", f"{GOOD}\n<x:s> <x:p> <http://x/a b> .\n")
    command = ["sparql", query, "--data", "a.nt", "--results", "csv"]
    done = cqels(*command)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("cqels: a.nt:2:24: expected a character that is allowed in an IRI")
    done = cqels(*command, "--on-error", "skip", "--skipped", "skipped.jsonl")
    assert (done.status, done.out.split()) == (0, ["o", "x:o"])
    assert done.err == "cqels: skipped 1 malformed statement(s), listed in skipped.jsonl\n"
    assert json.loads(Path("skipped.jsonl").read_text())["line"] == 2
    done = cqels(*command, "--on-error", "accept")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == ["o", "http://x/a b", "x:o"]


def test_help_says_what_there_is() -> None:
    assert [*WAYS_ON_ERROR] == [one.value for one in OnError]
    assert PACKINGS == PACKED_ENDINGS


def test_the_command_takes_contexts(cqels: Command, world: World) -> None:
    query = world.write("q.rq", "SELECT ?o WHERE { ?s <x:p> ?o }")
    world.write("a.jsonld", '{"@context": "http://c/", "@id": "x:s", "p": "1"}')
    world.write("c.json", '{"@context": {"p": "x:p"}}')
    command = ["sparql", query, "--data", "a.jsonld", "--results", "csv"]
    done = cqels(*command)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("cqels: a.jsonld:1:14: the context <http://c/> is not fetched;")
    assert cqels(*command, "--context", "http://c/=c.json").out.split() == ["o", "1"]
    done = cqels(*command, "--context", "http://c/=none.json")
    assert (done.status, done.err) == (1, "cqels: none.json: no such file\n")


def test_elements_of_a_replay_fail_or_are_listed(cqels: Command, world: World) -> None:
    sightings = Path("sightings.trig").read_text("utf-8")
    world.write("odd.trig", sightings.replace(":bob loc:at :r2 .", ":bob loc:at <a b> ."))
    arguments = world.run_arguments(stream="odd.trig")
    done = cqels(*arguments, "--on-error", "fail")
    assert (done.status, done.out) == (1, "")
    assert "odd.trig:8" in done.err and done.err.count("\n") == 1
    done = cqels(*arguments, "--skipped", "skipped.jsonl")
    assert done.status == 0
    (entry,) = map(json.loads, Path("skipped.jsonl").read_text("utf-8").splitlines())
    assert (Path(entry["file"]).name, entry["line"]) == ("odd.trig", 8)


def test_names_without_an_ending_and_changes(cqels: Command, world: World) -> None:
    Path("people").write_bytes(Path("people.ttl").read_bytes())
    world.write("rooms", Path("rooms.ttl").read_text().replace(":r1 loc", "<a b> loc"))
    arguments = [a.replace("people.ttl", "people") for a in world.run_arguments()]
    plain = cqels(*world.run_arguments())
    assert cqels(*arguments).out == plain.out
    change = ["--static-change", f"2026-01-31T10:00:05Z,{ROOMS}=rooms"]
    assert cqels(*arguments, *change).status == 1
    done = cqels(*arguments, *change, "--on-error", "skip", "--skipped", "skipped.jsonl")
    assert done.status == 0
    assert len(Path("skipped.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_check_reads_as_a_run_does(cqels: Command, world: World) -> None:
    people = Path("people.ttl").read_text("utf-8")
    world.write("people.ttl", f"{people}:dan foaf:name <a b> .\n:eve foaf:name <http://e/[x]> .\n")
    arguments = world.run_arguments()
    options = ["--on-error", "skip", "--skipped"]
    done = cqels(*arguments, *options, "run.jsonl", "--out", "answers.jsonl")
    assert (done.status, done.err.count("skipped 1 malformed")) == (0, 1)
    check = ["check", *arguments[1:], "--answers", "answers.jsonl"]
    assert "people.ttl:4:16: Invalid IRI" in cqels(*check).err
    done = cqels(*check, *options, "check.jsonl")
    assert done.status == 0, done.err + done.out
    assert (done.status, done.err.count("skipped 1 malformed")) == (0, 1)
    assert Path("run.jsonl").read_text("utf-8") == Path("check.jsonl").read_text("utf-8")
