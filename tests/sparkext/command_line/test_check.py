"""`cqels check`: right answers, wrong ones and where, and files that cannot be read."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
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
    Outcome,
    World,
    small_world,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Check = Callable[..., Outcome]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return small_world(tmp_path)


@pytest.fixture
def check(world: World, capsys: pytest.CaptureFixture[str]) -> Check:
    """Checks lines of answers to a query over the small world."""

    def run(answers: list[object], query: str = QUERY, *options: str) -> Outcome:
        lines = [line if isinstance(line, str) else json.dumps(line) for line in answers]
        arguments = world.run_arguments(query)[1:]
        file = world.write("answers.jsonl", "".join(f"{line}\n" for line in lines))
        return Command(capsys)("check", *arguments, "--answers", file, *options)

    return run


def literal(value: str, **more: str) -> dict[str, str]:
    return {"type": "literal", "value": value, **more}


def line(time: str, *rows: dict[str, dict[str, str]]) -> dict[str, object]:
    head = {"vars": ["name", "locName"]}
    return {"time": f"2026-01-31T{time}Z", "head": head, "results": {"bindings": list(rows)}}


ANN = {"name": literal('Ann "A" Ä'), "locName": literal("Room 1")}
BOB = {"name": literal("Bob\nB", **{"xml:lang": "en-gb"}), "locName": literal("Room 2")}
CAT = {"name": literal("Cat"), "locName": literal("Room 1")}
RIGHT: list[object] = [line("10:00:00", ANN), line("10:00:10", CAT, BOB, ANN), line("10:01:10")]


def test_right_answers(check: Check) -> None:
    outcome = check(RIGHT)
    assert (outcome.status, outcome.out) == (0, "correct: 3 instants, 4 rows\n")


def test_instants_without_answers_may_be_left_out(check: Check) -> None:
    assert check(RIGHT[:2]).status == 0


def test_a_row_that_is_missing_and_one_that_is_extra(check: Check) -> None:
    outcome = check([RIGHT[0], line("10:00:10", BOB, ANN, ANN), RIGHT[2]])
    assert outcome.status == 1
    assert outcome.lines == [
        "wrong: 1 of 3 instants differs",
        "2026-01-31T10:00:10.000Z different: 1 missing, 1 extra",
        '  - ?name="Cat" ?locName="Room 1"',
        '  + ?name="Ann \\"A\\" Ä" ?locName="Room 1"',
    ]


def test_instants_that_are_missing_and_extra(check: Check) -> None:
    outcome = check([RIGHT[0], line("10:00:11", CAT), RIGHT[2]])
    assert outcome.status == 1
    assert outcome.lines[0] == "wrong: 2 of 4 instants differ"
    assert outcome.lines[1] == "2026-01-31T10:00:10.000Z missing: 3 rows expected"
    assert "2026-01-31T10:00:11.000Z extra: the query is not evaluated here" in outcome.lines
    assert check([*RIGHT[:1], *RIGHT[2:]], QUERY, "--show", "0").lines == [
        "wrong: 1 of 3 instants differs",
        "... and 1 more instant",
    ]


def test_an_empty_instant_among_others_must_be_there(check: Check) -> None:
    """Where the file tells instants without answers, one that is missing is wrong, unless said otherwise."""
    query = QUERY.replace("RSTREAM", "DSTREAM")
    answers = [line("10:00:00"), line("10:01:10", ANN, BOB, CAT)]
    assert check(answers, query).lines[1].startswith("2026-01-31T10:00:10.000Z missing: 0 rows")
    assert check(answers, query, "--skip-empty").status == 0


def test_an_option_of_a_stream_that_is_not_there(check: Check) -> None:
    outcome = check(RIGHT, QUERY, "--time-column", "urn:typo=at")
    said = f"cqels: --time-column: unknown stream <urn:typo>; known: <{STREAM}>\n"
    assert (outcome.status, outcome.err) == (1, said)


def test_a_packed_recording_is_read_as_far_as_the_settings_have_it(
    check: Check, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("static_data.limits.expansion.FREE_BYTES", 1000)
    file = world.write("more.trig.gz", gzip.compress(b"#" * 200_000 + b"\n"))
    more = ("--stream", f"{STREAM}={file}")
    assert "spark.cqels.load.maxExpansion" in check(RIGHT, QUERY, *more).err
    assert check(RIGHT, QUERY, *more, "--set", "spark.cqels.load.maxExpansion=9999").status == 0


def test_elements_that_are_set_aside_are_listed(check: Check, world: World) -> None:
    world.write("sightings.trig", f"{SIGHTINGS}:bad {{ :ann loc:at :r2 }}\n")
    file = world.path("skipped.jsonl")
    assert check(RIGHT, QUERY, "--skipped", file).status == 0
    (entry,) = map(json.loads, Path(file).read_text().splitlines())
    assert entry["file"] == world.path("sightings.trig")
    assert entry["reason"] == "<http://example.org/bad>: no time"


def test_another_profile(check: Check) -> None:
    """CQELS tells only what is new."""
    answers = [RIGHT[0], line("10:00:10", CAT, BOB), RIGHT[2]]
    query = QUERY.replace("RSTREAM", "STREAM")
    assert check(answers, query).status == 1
    assert check(answers, query, "--semantics", "cqels").status == 0
    assert check(answers, query, "--set", "spark.cqels.semantics=cqels").status == 0
    assert "has only ISTREAM, not RSTREAM" in check(answers, QUERY, "--semantics", "cqels").err


def test_ask(check: Check) -> None:
    query = re.sub(r"SELECT .*", "ASK", QUERY)
    answers = [{"time": f"2026-01-31T10:{t}Z", "boolean": True} for t in ("00:00", "00:10")]
    last = {"time": "2026-01-31T10:01:10Z", "boolean": False}
    assert check([*answers, last], query).status == 0
    outcome = check([*answers, {**last, "boolean": True}], query)
    assert outcome.lines[1:] == ["2026-01-31T10:01:10.000Z different: expected false, found true"]


def test_construct_up_to_the_names_of_blank_nodes(check: Check) -> None:
    query = re.sub(r"SELECT .*", "CONSTRUCT { [] foaf:name ?name ; :in ?locName }", QUERY)
    named, inside = "<http://xmlns.com/foaf/0.1/name>", "<http://example.org/in>"
    people = [
        ('"Ann \\"A\\" Ä"', '"Room 1"'),
        ('"Bob\\nB"@en-gb', '"Room 2"'),
        ('"Cat"', '"Room 1"'),
    ]

    def graph(time: str, *rows: int) -> dict[str, object]:
        parts = [(n, *people[row]) for n, row in enumerate(rows)]
        triples = [f"_:z{n} {named} {name} ." for n, name, _ in parts]
        triples += [f"_:z{n} {inside} {room} ." for n, _, room in parts]
        return {"time": f"2026-01-31T{time}Z", "triples": sorted(triples)}

    right = [graph("10:00:00", 0), graph("10:00:10", 2, 0, 1), graph("10:01:10")]
    assert check(right, query).status == 0
    crossed = json.loads(json.dumps(right).replace("_:z0 <http://example.org/in>", "_:z1 <x:in>"))
    assert check(crossed, query).status == 1


def test_a_hidden_start_is_named(check: Check) -> None:
    query = f"""{PREFIXES} SELECT ?p FROM WINDOW ON <{STREAM}> [RANGE PT10S STEP PT10S]
    WHERE {{ ?p loc:at ?loc }}"""

    def at(time: str, *people: str) -> dict[str, object]:
        rows = [{"p": {"type": "uri", "value": f"http://example.org/{p}"}} for p in people]
        return {**line(time, *rows), "head": {"vars": ["p"]}}  # type: ignore[arg-type]

    answers: list[object] = [
        at("10:00:07", "ann"),
        at("10:00:17", "bob", "cat"),
        at("10:01:17", "cat"),
    ]
    assert check(answers, query).status == 1
    outcome = check(answers, query, "--semantics", "csparql")
    assert outcome.status == 0
    assert "t0 is hidden: it is right with t0 of unnamed window" in outcome.lines[1]
    assert check([*answers[:2], at("10:01:18", "cat")], query, "--semantics", "csparql").status == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"time": ', "answers.jsonl:2:10: not JSON"),
        ({"time": "yesterday"}, 'answers.jsonl:2: "time" must be'),
        (line("09:59:59"), "answers.jsonl:2: its time lies before that of the object before"),
        (RIGHT[0], "answers.jsonl:2: a second object for the time of line 1"),
        ([], "answers.jsonl:2: not a JSON object"),
        (
            line("10:00:10", {"who": literal("x")}),
            "answers.jsonl:2: the query has no variable ?who",
        ),
        (
            {**line("10:00:10"), "head": {"vars": ["who"]}},
            "answers.jsonl:2: its columns must be those of the query (name, locName), not ['who']",
        ),
        (line("10:00:10", {"name": {"type": "u", "value": "x"}}), "answers.jsonl:2: no RDF term"),
        ({"time": "2026-01-31T10:00:10Z", "boolean": True}, "answers.jsonl:2: an answer of SELECT"),
    ],
)
def test_bad_files_of_answers(check: Check, bad: object, message: str) -> None:
    outcome = check([RIGHT[0], bad])
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("cqels: ") and message in outcome.err


def test_other_bad_input(check: Check, world: World) -> None:
    assert "spark.cqels.semantics: must be one of" in check(RIGHT, QUERY, "--semantics", "x").err
    assert "unknown graph" in check(RIGHT, QUERY.replace(ROOMS, "http://e/none")).err
    assert "query.rspql:" in check(RIGHT, QUERY.replace("WHERE", "WHERE {")).err
    assert "cannot be checked" in check(RIGHT, QUERY.replace("}\n", "FILTER(RAND() < 2) }\n")).err


def test_graphs_that_change_are_judged_by_their_time(world: World, check: Check) -> None:
    """From 10:00:10 on the rooms have other names; at 10:01:10 there is nobody in a room with a name."""
    old, new = "Room 1", "Room one"
    file = world.write("renamed.ttl", Path(world.path("rooms.ttl")).read_text().replace(old, new))
    change = ("--static-change", f"2026-01-31T10:00:10Z,{ROOMS}={file}")
    assert check(RIGHT, QUERY, *change).status == 1
    ann, cat = ({**row, "locName": literal(new)} for row in (ANN, CAT))
    seen = [line("10:00:00", ANN), line("10:00:10", cat, BOB, ann), line("10:01:10")]
    assert check(seen, QUERY, *change).status == 0


@pytest.mark.parametrize("options", [[], ["--skip-empty"]])
def test_what_run_writes_is_right(
    world: World, spark: SparkSession, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    command, file = Command(capsys), world.path("told.jsonl")
    assert command(*world.run_arguments(), "--out", file, *options).status == 0
    outcome = command("check", *world.run_arguments()[1:], "--answers", file)
    assert (outcome.status, outcome.out.split(":")[0]) == (0, "correct")
