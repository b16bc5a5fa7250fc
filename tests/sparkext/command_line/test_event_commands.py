"""`cqels run`, `explain` and `check` on queries with MATCH."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.command_line.command_inputs import (
    PREFIXES,
    ROOMS,
    STREAM,
    Command,
    World,
    small_world,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = f"""{PREFIXES}
REGISTER RSTREAM :met AS SELECT ?one ?other ?room ?until
FROM NAMED WINDOW :w ON <{STREAM}> [RANGE PT30S]
EVENT ON :w {{ ?first loc:at ?loc GRAPH <{ROOMS}> {{ ?loc loc:name ?room }} }} AS Came
EVENT ON :w {{ ?second loc:at ?loc }} AS Followed
WHERE {{
  MATCH {{ Came SEQ Followed WITHIN PT20S FROM ?since TO ?until }}
  ?first foaf:name ?one . ?second foaf:name ?other
}}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return small_world(tmp_path)


@pytest.fixture
def cqels(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command with a session at hand, so that it need not start one."""
    return Command(capsys)


def test_run_and_check(cqels: Command, world: World) -> None:
    done = cqels(*world.run_arguments(QUERY))
    assert (done.status, done.err) == (0, "")
    found = [
        [[b[v]["value"] for v in ("one", "other", "room", "until")] for b in rows]
        for rows in (json.loads(line)["results"]["bindings"] for line in done.lines)
    ]
    assert found == [[], [['Ann "A" Ä', "Cat", "Room 1", "2026-01-31T10:00:10.000Z"]], []]
    answers = world.write("answers.jsonl", done.out)
    check = ["check", *world.run_arguments(QUERY)[1:], "--answers"]
    judged = cqels(*check, answers)
    assert (judged.status, judged.out) == (0, "correct: 3 instants, 1 row\n")
    wrong = cqels(*check, world.write("wrong.jsonl", done.out.replace("Cat", "Bob")))
    assert wrong.status == 1
    assert "different: 1 missing, 1 extra" in wrong.out


def test_check_in_a_profile_that_consumes(cqels: Command, world: World) -> None:
    query = QUERY.replace("RSTREAM", "ISTREAM").replace(" WITHIN PT20S", "")
    options = ["--semantics", "epsparql-recent"]
    done = cqels(*world.run_arguments(query), *options)
    assert done.status == 0, done.err
    answers = world.write("answers.jsonl", done.out)
    judged = cqels("check", *world.run_arguments(query)[1:], *options, "--answers", answers)
    assert (judged.status, judged.out) == (0, "correct: 3 instants, 1 row\n")


def test_explain(cqels: Command, world: World) -> None:
    text = cqels("explain", *world.run_arguments(QUERY)[1:]).out
    assert "MATCH UNRESTRICTED { Came SEQ Followed WITHIN 20000 ms FROM ?since TO ?until }" in text
    assert "event Came" in text
    assert "3 evaluations, 1 answer" in text


def test_an_error_has_its_file_line_and_column(cqels: Command, world: World) -> None:
    done = cqels(*world.run_arguments(QUERY.replace("Came SEQ", "Gone SEQ")))
    assert done.status == 1
    assert done.out == ""
    assert done.err.startswith("cqels: ")
    assert "query.rspql:10:11: no event is declared as Gone; declared: Came, Followed" in done.err
    assert "Traceback" not in done.err
