"""Bad input to `cqels`: one clear message on standard error, the exit status, and no Spark for it
where none is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.command_line.command_inputs import (
    PREFIXES,
    QUERY,
    ROOMS,
    SIGHTINGS,
    STREAM,
    Command,
    World,
    small_world,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = small_world(tmp_path)
    monkeypatch.chdir(tmp_path)  # messages then name files without a folder
    return made


@pytest.fixture
def without_spark(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command; asking for a session is an error of the test."""

    def trip(*_: object) -> None:
        raise AssertionError("Spark was asked for")

    for module in ("inputs", "sparql"):
        monkeypatch.setattr(f"sparkext.command_line.{module}.spark_session", trip)
    return Command(capsys)


@pytest.fixture
def with_spark(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def run_arguments(**changed: str) -> list[str]:
    """The arguments of a run over the files of the folder; `changed` replaces some."""
    given = {
        "query": "query.rspql",
        "static": "people.ttl",
        "static-graph": f"{ROOMS}=rooms.ttl",
        "stream": f"{STREAM}=sightings.trig",
        **{name.replace("_", "-"): value for name, value in changed.items()},
    }
    query = given.pop("query")
    return ["run", query, *(part for name, value in given.items() for part in (f"--{name}", value))]


def check(command: Command, arguments: list[str], message: str, status: int = 1) -> None:
    """One line on standard error, nothing on standard output."""
    done = command(*arguments)
    assert done.err == f"cqels: {message}\n"
    assert (done.status, done.out) == (status, "")


@pytest.mark.parametrize(
    ("query", "place_and_message"),
    [
        (QUERY.replace("?person foaf:name ?name", "?person foaf:name"), "11:1: unexpected '}'"),
        (QUERY.replace("?person loc:at", "?person lok:at"), "8:25: prefix 'lok:' is not"),
        (QUERY.replace("WINDOW :w30 {", "WINDOW :w31 {"), "8:"),
        (QUERY.replace("PT30S", "30 parsecs"), "6:"),
        (
            QUERY.replace(
                "?person foaf:name ?name", "SERVICE <http://e/> { ?person foaf:name ?name }"
            ),
            "10:",
        ),
        (QUERY.replace(f"ON <{STREAM}>", "ON <http://example.org/other>"), "6:"),
        (QUERY.replace(f"GRAPH <{ROOMS}>", "GRAPH <http://example.org/other>"), "9:"),
    ],
)
def test_a_wrong_query_is_found_without_spark(
    world: World, without_spark: Command, query: str, place_and_message: str
) -> None:
    world.write("query.rspql", query)
    done = without_spark(*run_arguments())
    assert done.err.startswith(f"cqels: query.rspql:{place_and_message}"), done.err
    assert done.err.count("\n") == 1
    assert (done.status, done.out) == (1, "")


def test_a_syntax_error_says_what_was_expected(world: World, without_spark: Command) -> None:
    world.write("query.rspql", QUERY.replace("?person foaf:name ?name", "?person foaf:name"))
    err = without_spark(*run_arguments()).err
    assert "; expected " in err and "a variable" in err


def test_the_known_streams_and_graphs_are_named(world: World, without_spark: Command) -> None:
    world.write("query.rspql", QUERY.replace(f"ON <{STREAM}>", "ON :s"))
    message = f"unknown stream <http://example.org/s>; known: <{STREAM}>"
    check(without_spark, run_arguments(), f"query.rspql:6:1: {message}")
    world.write("query.rspql", QUERY.replace(f"GRAPH <{ROOMS}>", "GRAPH :g"))
    message = f"unknown graph <http://example.org/g>; known: <{ROOMS}>"
    check(without_spark, run_arguments(), f"query.rspql:9:3: {message}")


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize(
    ("semantics", "before", "after", "place_and_message"),
    [
        (
            "csparql",
            "[RANGE PT30S]",
            "[RANGE PT30S STEP PT10S STARTING AT 0]",
            "6:1: STARTING AT cannot be used: profile csparql hides t0",
        ),
        ("csparql", "", "", "8:3: WINDOW with <http://example.org/w30> cannot be used: profile"),
        ("cqels", "", "", "5:1: RSTREAM cannot be used: profile cqels has only ISTREAM"),
    ],
)
def test_what_the_profile_does_not_have_is_found_without_spark(
    world: World,
    without_spark: Command,
    command: str,
    semantics: str,
    before: str,
    after: str,
    place_and_message: str,
) -> None:
    world.write("query.rspql", QUERY.replace(before, after))
    done = without_spark(command, *run_arguments(semantics=semantics)[1:])
    assert done.err.startswith(f"cqels: query.rspql:{place_and_message}"), done.err
    assert done.err.count("\n") == 1
    assert (done.status, done.out) == (1, "")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"query": "none.rspql"}, "none.rspql: no such file"),
        ({"static": "none.ttl"}, "none.ttl: no such file"),
        ({"static": "people.csv"}, "people.csv: cannot tell the RDF format from this name"),
        ({"static_graph": f"{ROOMS}=none.ttl"}, "none.ttl: no such file"),
        ({"stream": f"{STREAM}=none.trig"}, "none.trig: no such file"),
        ({"stream": f"{STREAM}=people.ttl"}, "people.ttl: a recorded stream is TriG or N-Quads"),
        ({"stream": f"{STREAM}=broken.trig.gz"}, "broken.trig.gz: broken .gz file"),
        ({"open_static": "nowhere"}, "nowhere: no such folder"),
        ({"out": "nowhere/answers.jsonl"}, "nowhere/answers.jsonl: no such folder: nowhere"),
        ({"out": "."}, ".: is a folder"),
        (
            {"set": "spark.cqels.allowedLatenes=1s"},
            "spark.cqels.allowedLatenes: there is no such key; did you mean"
            " spark.cqels.allowedLateness?",
        ),
        (
            {"set": "spark.cqels.allowedLateness=soon"},
            "spark.cqels.allowedLateness: must be a duration",
        ),
        ({"set": "spark.sql.shuffle.partitions=2"}, "spark.sql.shuffle.partitions: there is no"),
        ({"semantics": "hearsay"}, "spark.cqels.semantics: must be one of rspql, "),
        ({"late": "urn:typo=correct"}, f"--late: unknown stream <urn:typo>; known: <{STREAM}>"),
        ({"allowed_lateness": "urn:typo=1s"}, "--allowed-lateness: unknown stream <urn:typo>; "),
        ({"mapping": "urn:typo=m.yml"}, "--mapping: unknown stream <urn:typo>; known"),
        ({"time_column": "urn:typo=at"}, "--time-column: unknown stream <urn:typo>; known"),
    ],
)
def test_a_wrong_argument_is_found_without_spark(
    world: World, without_spark: Command, changed: dict[str, str], message: str
) -> None:
    world.write("query.rspql", QUERY)
    world.write("people.csv", "a,b\n")
    world.write("broken.trig.gz", b"\x1f\x8b not packed")
    done = without_spark(*run_arguments(**changed))
    assert done.err.startswith(f"cqels: {message}"), done.err
    assert done.err.count("\n") == 1
    assert (done.status, done.out) == (1, "")


def test_a_plan_without_streams_has_their_mapping(world: World, without_spark: Command) -> None:
    world.write("query.rspql", QUERY)
    named = ["--static", "people.ttl", "--static-graph", f"{ROOMS}=rooms.ttl"]
    arguments = ["explain", "query.rspql", *named, "--mapping", "none.yml"]
    check(without_spark, arguments, "none.yml: no such file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "run: the query file is missing; put it first"),
        (["run", "query.rspql", "--stream", "sightings.trig"], "'sightings.trig' is not IRI=FILE"),
        (["run", "query.rspql", "--stream", "=f.trig"], "'=f.trig' is not IRI=FILE"),
        (["run", "query.rspql", "--static-graph", "rooms=f.ttl"], "'rooms' is not an absolute IRI"),
        (["run", "query.rspql", "--set", "spark.cqels.enabled"], "is not KEY=VALUE"),
        (["run", "query.rspql", "--stat", "people.ttl"], "unrecognized arguments"),
        (["sparql", "q.rq", "--results", "html"], "invalid choice: 'html'"),
        (["run", "q.rspql", "--master", "spark://h:7077"], "spark://h:7077 needs --work-dir DIR"),
        (["sparql", "q.rq", "--master", "yarn"], "sparql: --master yarn needs --work-dir DIR"),
        (["fly"], "invalid choice: 'fly'"),
        ([], "usage: cqels"),
    ],
)
def test_wrong_usage_has_status_2(
    without_spark: Command, arguments: list[str], message: str
) -> None:
    done = without_spark(*arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_a_query_is_for_its_command(world: World, without_spark: Command) -> None:
    world.write("q.rq", f"{PREFIXES}SELECT ?n {{ ?p foaf:name ?n }}")
    world.write("query.rspql", QUERY)
    done = without_spark("run", "q.rq", "--static", "people.ttl")
    assert done.status == 1
    assert "q.rq:" in done.err and "a continuous query needs a window" in done.err
    done = without_spark("sparql", "query.rspql", "--data", "people.ttl")
    assert (done.status, done.err) == (
        1,
        "cqels: query.rspql:6:1: a query with windows is continuous: use `cqels run`\n",
    )
    check(
        without_spark,
        ["sparql", "q.rq", "--data", "people.ttl", "--results", "nt"],
        "--results nt: for SELECT it is json, csv, tsv or xml",
    )


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        ("--driver-memory 1k", {}, "on local[*]: Too small maximum heap"),
        ("--master nowhere --work-dir work", {}, "on nowhere: Master must either be"),
        ("", {"SPARK_LOCAL_IP": "no.where"}, "on local[*]: UnknownHostException: no.where: "),
    ],
)
def test_spark_that_cannot_start_says_why(
    world: World, options: str, variables: dict[str, str], message: str
) -> None:
    done = _run_apart(world, options, variables)
    assert done.stderr.startswith(f"cqels: Spark cannot be started {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert (done.returncode, done.stdout) == (1, "")


def test_a_run_without_answers_says_so(world: World, with_spark: Command) -> None:
    query = QUERY.replace("foaf:name ?name", "foaf:nmae ?name")
    world.write("misspelt.rspql", query)
    done = with_spark(*run_arguments(query="misspelt.rspql"), "--skip-empty")
    assert (done.status, done.out) == (0, "")
    assert done.err == (
        "cqels: no answers: 3 element(s) came in, 3 instant(s) were evaluated;"
        " `cqels explain` shows what static data has for each pattern\n"
    )


def test_spark_starts_where_the_machine_has_a_name_that_nobody_knows(world: World) -> None:
    world.write("hosts", "")
    done = _run_apart(world, "", {"JAVA_TOOL_OPTIONS": "-Djdk.net.hosts.file=hosts"})
    assert done.returncode == 0, done.stderr


def _run_apart(
    world: World, options: str, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    world.write("query.rspql", QUERY)
    arguments = [sys.executable, "-m", "sparkext.cli", *run_arguments(), *options.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        (
            "bad.nt",
            "<http://e/s> <http://e/p> <http://e/o> .\n<http://e/s> oops .\n",
            "bad.nt:2:14",
        ),
        ("bad.ttl", "@prefix : <http://e/> .\n:s :p :o .\n:s :p ( .\n", "bad.ttl:3:"),
    ],
)
def test_a_malformed_static_file_is_named_with_its_place(
    world: World, with_spark: Command, name: str, content: str, place: str
) -> None:
    world.write("query.rspql", QUERY)
    world.write(name, content)
    done = with_spark(*run_arguments(static=name, out="answers.jsonl"))
    assert done.err.startswith(f"cqels: {place}"), done.err
    assert done.err.count("\n") == 1
    assert (done.status, done.out) == (1, "")
    assert not (world.folder / "answers.jsonl").exists()


def test_an_unknown_graph_among_files_that_may_hold_it(world: World, with_spark: Command) -> None:
    world.write("query.rspql", QUERY.replace(f"GRAPH <{ROOMS}>", "GRAPH :g"))
    world.write("people.trig", (world.folder / "people.ttl").read_text(encoding="utf-8"))
    message = f"query.rspql:9:3: unknown graph <http://example.org/g>; known: <{ROOMS}>"
    check(with_spark, run_arguments(static="people.trig"), message)


def test_what_only_the_engine_refuses_is_named_with_its_file(
    world: World, with_spark: Command
) -> None:
    refused = "ORDER BY of SELECT DISTINCT can only use projected variables"
    query = QUERY.replace("SELECT ?name ?locName", "SELECT DISTINCT ?name")
    world.write("query.rspql", f"{query}ORDER BY ?loc\n")
    check(with_spark, run_arguments(), f"query.rspql:12:10: {refused}")
    check(with_spark, ["explain", *run_arguments()[1:]], f"query.rspql:12:10: {refused}")
    world.write("q.rq", f"{PREFIXES}SELECT DISTINCT ?n {{ ?p foaf:name ?n }} ORDER BY ?p")
    check(with_spark, ["sparql", "q.rq", "--data", "people.ttl"], f"q.rq:4:49: {refused}")
    own = QUERY.replace(
        ":q1 AS SELECT ?name ?locName", f"<{STREAM}> AS CONSTRUCT {{ ?loc :of ?name }}"
    )
    world.write("query.rspql", own)
    message = f"the query that makes the stream <{STREAM}> would read it"
    check(with_spark, run_arguments(), f"query.rspql: {message}")


def test_malformed_elements_are_set_aside_and_the_rest_is_answered(
    world: World, with_spark: Command
) -> None:
    world.write("query.rspql", QUERY)
    whole = with_spark(*run_arguments())
    flawed = "".join(f":bad{n} {{ :ann loc:at :r2 }}\n" for n in range(7))
    world.write("sightings.trig", f"{SIGHTINGS}{flawed}")
    done = with_spark(*run_arguments())
    assert (done.status, done.out) == (0, whole.out)
    first, *reasons, last = done.err.splitlines()
    assert first == f"cqels: stream <{STREAM}>: 7 malformed, set aside:"
    assert len(reasons) == 5
    assert "sightings.trig" in reasons[0] and "<http://example.org/bad0>: no time" in reasons[0]
    assert last == "cqels:   ... and 2 more"


def test_a_warning_about_a_stream_that_the_query_does_not_read(
    world: World, with_spark: Command
) -> None:
    world.write("query.rspql", QUERY)
    done = with_spark(*run_arguments(), "--stream", "http://example.org/unread=sightings.trig")
    assert done.status == 0
    assert done.err == (
        "cqels: warning: the query has no window on stream <http://example.org/unread>\n"
    )
