"""Queries, streams, answers and events, asked of a server that runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from sparkext.serving.options import Kept
from tests.sparkext.serving.serving_world import (
    ELEMENTS,
    NT,
    QUERY,
    E,
    S,
    World,
    name,
    serving,
    triple,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Q = f"{E}q"


@pytest.fixture(scope="module")
def world(spark: SparkSession) -> Iterator[World]:
    with serving(spark, kept=Kept(answers=5, heartbeat=0.2)) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_queries(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    ask = request.getfixturevalue("world").ask
    for query in ask("GET", "/queries").json["queries"]:
        assert ask("DELETE", f"/queries/{name(query['name'])}").status == 204


def test_a_query_is_registered_shown_explained_and_dropped(world: World) -> None:
    made = world.ask("POST", "/queries", {"query": QUERY})
    assert made.status == 201
    assert made.headers["location"] == f"/queries/{name(Q)}"
    shown = world.ask("GET", made.headers["location"]).json
    assert shown["name"] == Q and shown["query"] == QUERY and shown["variables"] == ["a", "b"]
    assert shown["streams"] == [S] and shown["form"] == "SELECT"
    assert shown["policy"] == [
        {"every_ms": None, "conditions": [{"window": f"{E}w", "strategy": "CC"}]}
    ]
    explained = world.ask("GET", f"/queries/{name(Q)}/explanation")
    assert explained.json["query"] == Q
    text = world.ask("GET", f"/queries/{name(Q)}/explanation", Accept="text/plain")
    assert text.body.startswith(b"query http://e/q runs on")
    assert world.ask("POST", "/queries", {"query": QUERY}).problem(409)
    assert world.ask("DELETE", f"/queries/{name(Q)}").status == 204
    assert world.ask("GET", f"/queries/{name(Q)}").problem(404)


def test_a_query_by_its_text_with_a_name_parameters_and_a_report(world: World) -> None:
    text = QUERY.replace("REGISTER RSTREAM :q AS ", "")
    plain = world.ask("POST", "/queries?name=one", text, "application/sparql-query")
    assert plain.status == 201 and plain.json["name"] == "one"
    two = {"query": text, "name": "two", "parameters": {"b": f"{E}o1"}, "report": "WINDOW CLOSE"}
    made = world.ask("POST", "/queries", two)
    assert made.status == 201, made.body
    assert {rule["conditions"][0]["strategy"] for rule in made.json["policy"]} == {"WC"}
    three = world.ask(
        "POST", "/queries", {"query": text, "name": "three", "parameters": {"b": f"{E}o1"}}
    )
    base = 1_000_000
    with world.ask.follow("three") as events:
        assert (
            world.ask.push(triple("s1", "o1"), triple("s2", "o2"), time=base).json["accepted"] == 1
        )
        assert world.ask.push(triple("s3", "o3"), time=base + 1).status == 200
        told = next(event for event in events if event.kind == "answers").json
    assert three.status == 201
    assert [row["a"]["value"] for row in told["results"]["bindings"]] == [f"{E}s1"]


def test_answers_come_as_events_and_go_on_after_the_last_id(world: World) -> None:
    world.ask("POST", "/queries", {"query": QUERY})
    base = 2_000_000
    with world.ask.follow(Q) as events:
        for n in range(3):
            world.ask.push(triple("s", f"o{n}"), time=base + 20 * n)
        found = list(islice((e for e in events if e.kind), 2))
    assert [(event.kind, event.number) for event in found] == [("answers", "1"), ("answers", "2")]
    first = found[0].json
    assert first["sequence"] == 1 and first["revision"] == 0
    assert first["time"] == "1970-01-01T00:33:20.000Z"
    assert first["head"] == {"vars": ["a", "b"]}
    assert first["results"]["bindings"][0]["b"] == {"type": "uri", "value": f"{E}o0"}
    world.ask.push(triple("s", "o3"), time=base + 60)
    with world.ask.follow(Q, Last_Event_ID=str(found[0].id)) as events:
        again = list(islice((e for e in events if e.kind), 2))
    assert [event.number for event in again] == ["2", "3"] and again[0] == found[1]
    with world.ask.follow(Q, f"?last_event_id={again[1].id}") as events:
        assert next(events).kind == ""  # a heartbeat: there is nothing new
        world.ask.push(triple("s", "o4"), time=base + 80)
        assert next(event for event in events if event.kind).number == "4"


def test_answers_that_are_kept_no_more_are_told_as_a_gap(world: World) -> None:
    world.ask("POST", "/queries", {"query": QUERY})
    base = 3_000_000
    for n in range(9):
        world.ask.push(triple("s", f"o{n}"), time=base + 20 * n)
    with world.ask.follow(Q, "?from=oldest&empty=false") as events:
        oldest = next(event for event in events if event.kind)
        assert oldest.number == "4"
    mark = str(oldest.id).removeprefix("4")
    with world.ask.follow(Q, Last_Event_ID=f"1{mark}") as events:
        gap, *others = islice((e for e in events if e.kind), 6)
    assert gap.kind == "gap" and gap.json == {"after": "1", "first": 4}
    assert [event.number for event in others] == ["4", "5", "6", "7", "8"]
    with world.ask.follow(Q, "?last=2") as events:
        assert next(event for event in events if event.kind).number == "7"
    with world.ask.follow(Q, Last_Event_ID=f"3{mark}") as events:
        assert next(event for event in events if event.kind).number == "4"


def test_answers_of_another_query_of_the_name_are_told_as_a_gap(world: World) -> None:
    """Else who comes back after the third answers would miss the first three of the new query."""
    last = ""
    for base in (3_500_000, 3_600_000):
        world.ask("POST", "/queries", {"query": QUERY})
        for n in range(5):
            world.ask.push(triple("s", f"o{n}"), time=base + 20 * n)
        if last:
            with world.ask.follow(Q, Last_Event_ID=last) as events:
                gap, first = islice((e for e in events if e.kind), 2)
            assert gap.kind == "gap" and gap.json == {"after": "3", "first": 1}
            assert first.number == "1"
        with world.ask.follow(Q, "?last=2") as events:
            last = str(next(event for event in events if event.kind).id)
        assert last.startswith("3")
        world.ask("DELETE", f"/queries/{name(Q)}")


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("csv", "a,b\nhttp://e/s,http://e/o0"),
        ("tsv", "?a\t?b\n<http://e/s>\t<http://e/o0>"),
        ("xml", "<?xml"),
    ],
)
def test_events_in_other_formats(world: World, format: str, expected: str) -> None:
    world.ask("POST", "/queries", {"query": QUERY})
    base = 4_000_000 + 1000 * ["csv", "tsv", "xml"].index(format)
    with world.ask.follow(Q, f"?format={format}") as events:
        world.ask.push(triple("s", "o0"), time=base)
        world.ask.push(triple("s", "o1"), time=base + 20)
        instant, answers = islice((e for e in events if e.kind), 2)
    assert instant.kind == "instant" and instant.json["sequence"] == 1 and instant.json["rows"] == 1
    assert answers.number == "1" and answers.data.startswith(expected)


def test_the_latest_answers_in_a_format_by_accept(world: World) -> None:
    world.ask("POST", "/queries", {"query": QUERY})
    path = f"/queries/{name(Q)}/answers/latest"
    assert world.ask("GET", path).status == 204
    world.ask.push(triple("s", "o0"), time=5_000_000)
    world.ask("POST", "/advance", {"time": 5_000_000})
    latest = world.ask("GET", path, Accept="text/csv")
    assert latest.body == b"a,b\r\nhttp://e/s,http://e/o0\r\n"
    assert latest.headers["cqels-sequence"] == "1"
    assert latest.headers["cqels-time"] == "1970-01-01T01:23:20.000Z"
    world.ask("GET", path, Accept="image/png").problem(406)


def test_the_latest_answers_are_those_of_the_latest_instant(world: World) -> None:
    """Not of an older one that a late element has corrected since."""
    stream, query = f"{E}corrected", QUERY.replace("ON :s", "ON :corrected")
    world.engine.register_stream(stream, allowed_lateness=1_000_000, late="correct")
    world.ask("POST", "/queries", {"query": query})
    for n in range(3):
        world.ask.push(triple("s", f"o{n}"), time=1000 + 20 * n, stream=stream)
    latest = f"/queries/{name(Q)}/answers/latest"
    before = world.ask("GET", latest)
    with world.ask.follow(Q) as events:
        assert world.ask.push(triple("s", "late"), time=1000, stream=stream).json["accepted"] == 1
        corrected = next(event for event in events if event.kind).json
    assert corrected["revision"] == 1 and corrected["time"] < before.headers["cqels-time"]
    after = world.ask("GET", latest)
    assert after.headers["cqels-time"] == before.headers["cqels-time"]
    assert after.body == before.body


def test_one_explanation_at_a_time_keeps_no_others_waiting(world: World) -> None:
    """An evaluation has the lock for long, and a page asks again and again."""
    world.ask("POST", "/queries", {"query": QUERY})
    found: list[int] = []

    def explain() -> None:
        found.append(world.ask("GET", f"/queries/{name(Q)}/explanation").status)

    asking = [threading.Thread(target=explain) for _ in range(8)]
    with world.engine.lock:
        for one in asking:
            one.start()
        # It takes a thread that may wait for the lock, and is refused before it needs it.
        for _ in range(8):
            world.ask("POST", "/queries", {"query": "SELECT * " + "{" * 51}).problem(422)
    for one in asking:
        one.join(60)
    assert found == [200] * 8


def test_triples_that_a_query_constructs_are_events_too(world: World) -> None:
    text = QUERY.replace("REGISTER RSTREAM :q AS SELECT ?a ?b", "CONSTRUCT { ?b :q ?a }")
    assert world.ask("POST", "/queries", {"query": text, "name": "made"}).status == 201
    with world.ask.follow("made", "?format=nt") as events:
        world.ask.push(triple("s", "o0"), time=6_000_000)
        world.ask("POST", f"/streams/{name(S)}/advance", {"time": 6_000_000})
        _, answers = islice((e for e in events if e.kind), 2)
    assert answers.data == "<http://e/o0> <http://e/q> <http://e/s> ."
    world.ask("GET", "/queries/made/answers?format=csv").problem(400)


def test_who_follows_a_query_is_told_of_its_end_and_of_failures(world: World) -> None:
    world.ask("POST", "/queries", {"query": QUERY})
    with world.ask.follow(Q) as events:
        world.ask("DELETE", f"/queries/{name(Q)}")
        last = next(event for event in events if event.kind)
        assert last.kind == "end" and last.json == {"reason": "the query was dropped"}
        assert next(events, None) is None


def test_late_and_malformed_elements_are_counted(world: World) -> None:
    world.ask("POST", "/queries", {"query": QUERY})
    before = world.ask("GET", f"/streams/{name(S)}").json
    world.ask.push(triple("s", "o0"), time=7_000_000)
    world.ask("POST", "/advance", {"time": "1970-01-01T01:56:40Z"})
    late = world.ask.push(triple("s", "o0"), time=6_999_999).json
    assert late == {"accepted": 0, "malformed": 0, "late": 1}
    trig = f"<{E}g> {{ <{E}a> <{E}p> <{E}b> }} <{E}h> {{ <{E}a> <{E}p> nonsense }}"
    half = world.ask("POST", f"{ELEMENTS}?time=7000100", trig, "application/trig").json
    assert half["accepted"] == 1 and half["malformed"] == 1 and len(half["reasons"]) == 1
    after = world.ask("GET", f"/streams/{name(S)}").json
    assert after["late"] == before["late"] + 1
    world.ask("POST", ELEMENTS, "<nonsense", NT).problem(400)
