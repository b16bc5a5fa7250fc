"""The commands of `cqels`: answers, their order and form, and what is left when one fails."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkext import __version__, jar, toolchain
from sparkext.cli import main
from sparkext.recorded_streams import StreamElement
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
from tests.sparkext.recorded_streams.whole_replay import in_arrival_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent.parent.parent
ANN = ('"Ann \\"A\\" Ä"', '"Room 1"')
BOB = ('"Bob\\nB"@en-gb', '"Room 2"')
CAT = ('"Cat"', '"Room 1"')
T00, T10, T70 = "2026-01-31T10:00:00.000Z", "2026-01-31T10:00:10.000Z", "2026-01-31T10:01:10.000Z"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return small_world(tmp_path)


@pytest.fixture
def cqels(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command with a session at hand, so that it need not start one."""
    return Command(capsys)


def term(binding: dict[str, Any]) -> str:
    """The N-Triples text of a binding in SPARQL JSON form."""
    value = binding["value"]
    if binding["type"] == "uri":
        return f"<{value}>"
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if "xml:lang" in binding:
        return f"{quoted}@{binding['xml:lang']}"
    return f"{quoted}^^<{binding['datatype']}>" if "datatype" in binding else quoted


def answers(lines: list[str]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Each line's time and rows, in order."""
    found = []
    for line in lines:
        data = json.loads(line)
        names = data["head"]["vars"]
        rows = [tuple(term(b[n]) for n in names if n in b) for b in data["results"]["bindings"]]
        found.append((data["time"], rows))
    return found


def test_run_prints_every_instant_in_time_order(cqels: Command, world: World) -> None:
    done = cqels(*world.run_arguments())
    assert (done.status, done.err) == (0, "")
    assert answers(done.lines) == [(T00, [ANN]), (T10, [ANN, BOB, CAT]), (T70, [])]
    assert done.lines[0] == (
        '{"time": "2026-01-31T10:00:00.000Z", "head": {"vars": ["name", "locName"]}, "results":'
        ' {"bindings": [{"name": {"type": "literal", "value": "Ann \\"A\\" Ä"},'
        ' "locName": {"type": "literal", "value": "Room 1"}}]}}'
    )


def test_out_holds_the_same_bytes_at_every_run(cqels: Command, world: World) -> None:
    printed = cqels(*world.run_arguments()).out
    done = cqels(*world.run_arguments(), "--out", world.path("answers.jsonl"))
    assert (done.status, done.out) == (0, "")
    assert (world.folder / "answers.jsonl").read_bytes() == printed.encode()


def test_graphs_change_at_their_times(cqels: Command, world: World) -> None:
    """At the second instant Room 1 has another name, and only Ann has one."""
    renamed = world.write(
        "renamed.ttl", Path(world.path("rooms.ttl")).read_text().replace("Room 1", "R1")
    )
    changes = [f"2026-01-31T10:00:10Z,http://deri.org/localization/={renamed}"]
    ann = world.write("ann.nt", '<http://example.org/ann> <http://xmlns.com/foaf/0.1/name> "Ann" .')
    changes.append(f"1769853605000,DEFAULT={ann}")
    options = [part for change in changes for part in ("--static-change", change)]
    done = cqels(*world.run_arguments(), *options)
    assert (done.status, done.err) == (0, "")
    named = [
        [row["locName"]["value"] for row in json.loads(line)["results"]["bindings"]]
        for line in done.lines
    ]
    assert named == [["Room 1"], ["R1"], []]
    checked = world.write("answers.jsonl", done.out)
    judged = cqels("check", *world.run_arguments()[1:], *options, "--answers", checked)
    assert judged.status == 0, judged.out


def test_a_failure_leaves_the_old_output_and_nothing_else(cqels: Command, world: World) -> None:
    old = world.write("answers.jsonl", "old\n")
    world.write("people.ttl", "this is not Turtle")
    before = {file.name for file in world.folder.iterdir()}
    done = cqels(*world.run_arguments(), "--out", old)
    assert done.status == 1
    assert (world.folder / "answers.jsonl").read_text() == "old\n"
    assert {file.name for file in world.folder.iterdir()} == {*before, "query.rspql"}


def test_skip_empty_leaves_out_instants_without_an_answer(cqels: Command, world: World) -> None:
    done = cqels(*world.run_arguments(), "--skip-empty")
    assert [time for time, _ in answers(done.lines)] == [T00, T10]


def test_sliding_windows_close_at_the_end_of_the_input(cqels: Command, world: World) -> None:
    query = QUERY.replace("[RANGE PT30S]", "[RANGE PT30S STEP PT20S]")
    done = cqels(*world.run_arguments(query))
    # Closes at 30 s after whole multiples of 20 s since the epoch; 10:00:10 is in two windows.
    found = answers(done.lines)
    assert [time[14:19] for time, _ in found] == ["00:10", "00:30", "01:10", "01:30"]
    assert [rows for _, rows in found] == [[ANN, BOB, CAT], [BOB, CAT], [], []]


def test_packed_inputs_are_read_and_settings_do_not_change_answers(
    cqels: Command, world: World
) -> None:
    plain = cqels(*world.run_arguments()).out
    world.write("sightings.trig.gz", gzip.compress(SIGHTINGS.encode()))
    people = (world.folder / "people.ttl").read_bytes()
    packed = [
        *world.run_arguments(stream="sightings.trig.gz"),
        *("--set", "spark.cqels.enabled=false", "--semantics", "rspql"),
    ]
    packed[packed.index("--static") + 1] = world.write("people.ttl.bz2", bz2.compress(people))
    done = cqels(*packed)
    assert (done.status, done.out) == (0, plain)


def test_files_of_one_stream_and_several_streams_are_merged_by_time(
    cqels: Command, world: World
) -> None:
    other = "http://example.org/other?x=1"
    query = QUERY.replace(
        "WHERE {", f"FROM NAMED WINDOW :now ON <{other}> [NOW] WHERE {{ WINDOW :now {{ :a :b ?c }}"
    ).replace("?name ?locName", "?name ?c")
    nquads = (
        '<http://example.org/%s> <http://www.w3.org/ns/prov#generatedAtTime> "%s"^^'
        "<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
        "<http://example.org/a> <http://example.org/b> <http://example.org/c%s>"
        " <http://example.org/%s> .\n"
    )
    second = world.write("o2.nq", nquads % ("x", "2026-01-31T10:00:10Z", 2, "x"))
    first = world.write("o1.nq", nquads % ("y", "2026-01-31T10:00:00", 1, "y"))
    streams = ("--stream", f"{other}={second}", "--stream", f"{other}={first}")
    done = cqels(*world.run_arguments(query), *streams)
    c1, c2 = "<http://example.org/c1>", "<http://example.org/c2>"
    found = answers(done.lines)
    assert found[0] == (T00, [(ANN[0], c1)])
    assert found[1] == (T10, [(ANN[0], c2), (BOB[0], c2), (CAT[0], c2)])
    assert found[2:] == [(T70, [])]


def test_arrival_order_counts_what_is_too_late(cqels: Command, world: World) -> None:
    arguments = [*world.run_arguments(), "--arrival-order"]
    strict = cqels(*arguments)
    assert [time for time, _ in answers(strict.lines)] == [T00, T70]
    assert strict.err == (
        f"cqels: stream <{STREAM}>: 1 too late (spark.cqels.allowedLateness is 0), not answered\n"
    )
    patient = cqels(*arguments, "--set", "spark.cqels.allowedLateness=1min")
    assert patient.out == cqels(*world.run_arguments()).out
    assert patient.err == ""


def test_late_elements_correct_the_answers(cqels: Command, world: World) -> None:
    late = SIGHTINGS.replace("10:00:10Z", "10:00:50Z").replace(
        ":g2 prov",
        ':g4 prov:generatedAtTime "2026-01-31T10:01:30Z"^^xsd:dateTime . :g4 { :ann loc:at :r2 }\n:g2 prov',
    )
    world.write("sightings.trig", late)
    arguments = [*world.run_arguments(), "--arrival-order", "--late", "correct"]
    done = cqels(*arguments, "--allowed-lateness", f"{STREAM}=PT1M")
    told = [(o["time"][14:19], o.get("revision")) for o in map(json.loads, done.lines)]
    assert told == [("00:00", None), ("01:10", None), ("00:50", 0), ("01:10", 1), ("01:30", None)]
    assert (done.status, done.err) == (0, "")
    file = world.write("answers.jsonl", done.out)
    _, *inputs = world.run_arguments()
    right = cqels("check", *inputs, "--answers", file)
    assert (right.status, right.err) == (0, "")
    without = world.write("answers.jsonl", "\n".join(done.lines[:2] + done.lines[4:]))
    assert cqels("check", *inputs, "--answers", without).status == 1
    held = cqels(*arguments, "--late", f"{STREAM}=hold", "--allowed-lateness", "1min")
    assert [o["time"][14:19] for o in map(json.loads, held.lines)] == [
        "00:00",
        "00:50",
        "01:10",
        "01:30",
    ]


def test_what_is_said_of_late_elements_is_checked(cqels: Command, world: World) -> None:
    for flag, value, said in (
        ("--late", "sometimes", "'sometimes' is neither hold nor correct"),
        ("--allowed-lateness", "http://e/s=soon", "must be a duration"),
    ):
        done = cqels(*world.run_arguments(), flag, value)
        assert done.status == 2
        assert said in done.err


def test_a_time_property_is_taken_beside_the_usual_ones(cqels: Command, world: World) -> None:
    own = SIGHTINGS.replace(":g1 prov:generatedAtTime", ":g1 :seenAt")
    world.write("sightings.trig", own)
    without = cqels(*world.run_arguments())
    assert [time for time, _ in answers(without.lines)] == [T10, T70]
    assert "1 malformed, set aside:\ncqels:   " in without.err
    done = cqels(*world.run_arguments(), "--time-property", "<http://example.org/seenAt>")
    assert [time for time, _ in answers(done.lines)] == [T00, T10, T70]


def test_the_query_may_come_after_the_files(cqels: Command, world: World) -> None:
    _, query, static, people, *rest = world.run_arguments()
    assert cqels("run", *rest, static, people, query).out == cqels(*world.run_arguments()).out


def test_static_data_saved_before_are_opened(
    spark: SparkSession, cqels: Command, world: World
) -> None:
    from sparkext.engine import Engine

    engine = Engine(spark)
    engine.load_static(world.path("people.ttl"))
    engine.load_static(world.path("rooms.ttl"), graph=ROOMS)
    engine.save_static(world.path("saved"))
    engine.close()
    arguments = world.run_arguments()
    done = cqels(*arguments[:2], *arguments[6:], "--open-static", world.path("saved"))
    assert (done.status, done.out) == (0, cqels(*arguments).out)


def test_static_tables_are_kept_in_the_work_folder_while_a_command_runs(
    cqels: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sparkext.engine import Engine

    held: list[Path] = []

    class Watched(Engine):
        def close(self) -> None:
            held.extend(world.folder.glob("work/*/load-*"))
            super().close()

    monkeypatch.setattr("sparkext.engine.Engine", Watched)
    arguments = world.run_arguments()
    query = world.write("q.rq", f"{PREFIXES} SELECT ?n {{ ?p foaf:name ?n }}")
    options = ["--work-dir", world.path("work"), "--set", "spark.cqels.load.driverMaxBytes=0"]
    for command in (arguments, ["sparql", query, "--data", world.path("people.ttl")]):
        held.clear()
        done = cqels(*command, *options)
        assert (done.status, done.out) == (0, cqels(*command).out)
        assert held
        assert list((world.folder / "work").iterdir()) == []


def test_explain_shows_the_plan_before_and_after_the_replay(cqels: Command, world: World) -> None:
    arguments = ["explain", *world.run_arguments()[1:]]
    plans = json.loads(cqels(*arguments, "--json").out)
    assert plans["before"]["operators"] == []
    counted = json.dumps(plans["after"]["operators"])
    assert '"actual_rows": ' in counted
    text = cqels(*arguments, "--history", world.path("plot.png")).out
    assert Path(world.path("plot.png")).read_bytes().startswith(b"\x89PNG")
    assert text.startswith("before the replay\nquery http://example.org/q1 runs on ")
    assert "\nafter the replay\n" in text
    assert "3 evaluations, 4 answers" in text


def test_explain_needs_no_stream(cqels: Command, world: World) -> None:
    done = cqels("explain", *world.run_arguments()[1:6])
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("query http://example.org/q1 runs on ")


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ("csv", 'name,room\r\n"Ann ""A"" Ä",\r\n"Bob\nB",\r\nCat,Room 1\r\n'),
        ("tsv", '?name\t?room\n"Ann \\"A\\" Ä"\t\n"Bob\\nB"@en-gb\t\n"Cat"\t"Room 1"\n'),
    ],
)
def test_sparql_answers_over_files(
    cqels: Command, world: World, results: str, expected: str
) -> None:
    query = f"""{PREFIXES} SELECT ?name ?room WHERE {{ ?person foaf:name ?name
        OPTIONAL {{ GRAPH <{ROOMS}> {{ ?r loc:name ?room }} ?person :office ?r }} }}"""
    office = world.write(
        "office.nt",
        "<http://example.org/cat> <http://example.org/office> <http://example.org/r1> .\n",
    )
    done = cqels(
        "sparql",
        world.write("q.rq", query),
        *("--data", world.path("people.ttl"), office),
        *("--named", f"{ROOMS}={world.path('rooms.ttl')}"),
        *("--results", results),
    )
    assert (done.status, done.out, done.err) == (0, expected, "")


def test_sparql_keeps_the_order_that_the_query_asks_for(cqels: Command, world: World) -> None:
    query = world.write(
        "q.rq", f"{PREFIXES} SELECT ?n {{ ?p foaf:name ?n }} ORDER BY DESC(STR(?n))"
    )
    out = world.path("answers.json")
    done = cqels("sparql", query, "--data", world.path("people.ttl"), "--out", out)
    assert (done.status, done.out) == (0, "")
    bindings = json.loads(Path(out).read_text(encoding="utf-8"))["results"]["bindings"]
    assert [b["n"]["value"] for b in bindings] == ["Cat", "Bob\nB", 'Ann "A" Ä']


def test_a_reader_that_leaves_is_no_crash(
    spark: SparkSession, world: World, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    query = world.write("q.rq", f"{PREFIXES} SELECT ?n {{ ?p foaf:name ?n }}")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody_reads:
        monkeypatch.setattr(sys, "stdout", nobody_reads)
        status = main(["sparql", query, "--data", world.path("people.ttl")])
        monkeypatch.undo()
    assert status == 1
    assert capfd.readouterr().err == ""


def test_jar_prints_the_path_of_a_jar_that_fits(capsys: pytest.CaptureFixture[str]) -> None:
    done = Command(capsys)("jar")
    assert (done.status, done.out) == (0, f"{jar.locate()}\n")
    assert toolchain.read_stamp(Path(done.out.strip())) == jar.expected_stamp()


def test_jar_without_a_jar_is_one_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jar, "PACKAGED_JARS", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = Command(capsys)("jar")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("cqels: The JVM extension has to be compiled for Spark")
    assert done.err.count("\n") == 1


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert Command(capsys)("--version").out == f"cqels {__version__}\n"
    shown = Command(capsys)("run", "--help")
    assert shown.status == 0
    assert "--static-graph IRI=FILE" in shown.out


def test_help_needs_no_spark() -> None:
    code = (
        "import sys; from sparkext.cli import main; status = main(['--help']);"
        "assert not {'pyspark', 'lark', 'pyarrow'} & set(sys.modules); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_of_its_own_prints_answers_and_nothing_else(
    cqels: Command, world: World, tmp_path: Path
) -> None:
    arguments = world.run_arguments()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONUTF8": "0"}
    inside = tmp_path / "cwd"
    inside.mkdir()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sparkext.cli", *arguments, "--driver-memory", "1g"),
            # The first process on a machine says that it leaves an archive.
            *("--set", "spark.cqels.classArchive=false"),
        ],
        cwd=inside,
        env=environment,
        capture_output=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert done.stdout.decode() == cqels(*arguments).out
    assert list(inside.iterdir()) == []


def test_arrival_order_keeps_each_streams_own_order() -> None:
    def elements(*times: int) -> list[StreamElement]:
        return [StreamElement(time, None, ()) for time in times]

    streams = {"a": elements(1, 5, 2, 7), "b": elements(3, 5, 6, 0)}
    order = [(iri, element.time_ms) for iri, element in in_arrival_order(streams)]
    # The 2 of `a` arrives when that stream has come to 5.
    assert order == [
        ("a", 1), ("b", 3), ("a", 5), ("a", 2), ("b", 5), ("b", 6), ("b", 0), ("a", 7),
    ]  # fmt: skip
