"""A server that goes on where it was, by a checkpoint, one that begins, and one that cannot."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from sparkext.errors import InputFileError
from sparkext.serving.beginnings import Beginnings, QueryToBe, StreamToBe
from sparkext.serving.options import Kept, Limits
from sparkext.serving.server import Server, listening
from tests.sparkext.listening import settings
from tests.sparkext.restart.broken_runs import leave
from tests.sparkext.serving.serving_world import (
    NT,
    OPTIONS,
    QUERY,
    Client,
    E,
    S,
    name,
    serving,
    triple,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.serving.served_engine import ServedEngine

Q = f"{E}q"


def test_what_was_registered_by_http_is_there_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    kept = Kept(heartbeat=0.2)
    text = QUERY.replace("RANGE 10", "RANGE 1000")
    with serving(spark, tmp_path, kept=kept) as world:
        assert world.ask("POST", "/queries", {"query": text}).status == 201
        assert world.ask("POST", "/streams", {"iri": f"{E}t"}).status == 201
        other = text.replace(":q", ":r").replace(":s ", ":t ")
        assert world.ask("POST", "/queries", {"query": other}).status == 201
        graph = f"/static/graph?graph={name(f'{E}g')}"
        assert world.ask("PUT", graph, triple("s", "o"), NT).status == 204
        for at in (1000, 1100):
            assert world.ask.push(triple("a", f"o{at}"), time=at).json["accepted"] == 1
        with world.ask.follow(Q, "?from=oldest") as events:
            last = next(event for event in events if event.kind)
            assert last.number == "1"
    with serving(spark, tmp_path, kept=kept) as world:
        assert world.ask("GET", f"/queries/{name(Q)}").json["query"] == text
        streams = world.ask("GET", "/streams").json["streams"]
        assert {one["iri"] for one in streams} == {f"{E}s", f"{E}t"}
        with world.ask.follow(Q, Last_Event_ID=str(last.id)) as events:
            world.ask.push(triple("a", "o1200"), time=1200)
            world.ask.push(triple("a", "o1300"), time=1300)
            found = list(islice((event for event in events if event.kind), 2))
        assert [event.number for event in found] == ["2", "3"]
        assert len(found[1].json["results"]["bindings"]) == 3
        asked = f"ASK {{ GRAPH <{E}g> {{ <{E}s> <{E}p> <{E}o> }} }}"
        answer = world.ask("POST", "/sparql", asked, "application/sparql-query")
        assert answer.json["boolean"] is True


def test_a_query_of_the_checkpoint_that_is_registered_again_is_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A client registers what it follows at each start: who came before it goes on being told."""
    with serving(spark, tmp_path) as world:
        assert world.ask("POST", "/queries", {"query": QUERY}).status == 201
    with (
        serving(spark, tmp_path, limits=Limits(queries=1), kept=Kept(heartbeat=0.2)) as world,
        world.ask.follow(Q) as events,
    ):
        world.ask("POST", "/queries", {"query": QUERY.replace(":q", ":r")}).problem(429)
        assert world.ask("POST", "/queries", {"query": QUERY}).status == 201
        world.ask("POST", "/queries", {"query": QUERY}).problem(429)
        for at in (1000, 1100):
            world.ask.push(triple("a", "b"), time=at)
        assert next(event for event in events if event.kind).number == "1"
        counted = f'cqels_evaluation_seconds_count{{query="{Q}"}} 1.0'
        assert counted in world.ask("GET", "/metrics").body.decode()
        assert [q["name"] for q in world.ask("GET", "/queries").json["queries"]] == [Q]
        world.ask("DELETE", f"/queries/{name(Q)}")
        assert next(event for event in events if event.kind).kind == "end"


def test_what_was_acknowledged_is_there_after_a_kill(spark: SparkSession, tmp_path: Path) -> None:
    """With commits once an hour only besides, each request's answer is the last thing before it."""
    folder = tmp_path / "lived"
    text = QUERY.replace("RANGE 10", "RANGE 1000")
    with settings(spark, **{"checkpoint.interval": "1 h"}), serving(spark, folder) as world:
        assert world.ask("POST", "/queries", {"query": text}).status == 201
        leave(folder, tmp_path / "0")
        push = f"/streams/{name(S)}/elements?time=1000&position=row%207"
        assert world.ask("POST", push, triple("a", "o1"), NT).json["accepted"] == 1
        leave(folder, tmp_path / "1")
        assert world.ask("GET", f"/streams/{name(S)}").json["position"] == "row 7"
        graph = f"/static/graph?graph={name(f'{E}g')}"
        world.ask("PUT", graph, triple("s", "o"), NT)
        world.ask("POST", "/advance?time=5000")
        world.ask("DELETE", f"/queries/{name(Q)}")
        leave(folder, tmp_path / "2")
    found = []
    for number in range(3):
        with closing(Engine(spark, checkpoint=tmp_path / str(number))) as again:
            stream = again.register_stream(S)
            queries = again.restore()
            graph = again.select(f"ASK {{ GRAPH ?g {{ <{E}s> <{E}p> <{E}o> }} }}").answer()
            found.append((queries, stream.position, stream.accepted_count, graph.boolean))
    assert found == [
        ([Q], None, 0, False),
        ([Q], "row 7", 1, False),
        ([], "row 7", 1, True),
    ]


def test_requests_have_to_wait_until_all_is_prepared(spark: SparkSession, tmp_path: Path) -> None:
    """Else a promise would take up the checkpoint before the static data, and a graph be lost at the next start."""
    begins = Beginnings(checkpoint=str(tmp_path), streams=[StreamToBe(S)])
    begun, go_on, ready = threading.Event(), threading.Event(), threading.Event()

    def prepare(served: ServedEngine) -> None:
        begun.set()
        assert go_on.wait(60)
        begins.prepare(served)

    engine, listener = Engine(spark, checkpoint=tmp_path), listening(OPTIONS)
    listener.listen()
    server = Server(engine, OPTIONS, prepare, lambda _: ready.set(), listener)
    ask = Client(server.url)
    graph = f"/static/graph?graph={name(f'{E}g')}"
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert begun.wait(60)
        for refused in (
            ask("POST", "/advance?time=5000"),
            ask("PUT", graph, triple("s", "o"), NT),
            ask("POST", "/streams", {"iri": S}),
            ask("POST", "/queries", {"query": QUERY}),
            ask("POST", "/sparql", "ASK {}", "application/sparql-query"),
            ask("GET", "/queries"),
        ):
            assert refused.problem(503)["detail"] == "the server is starting"
            assert int(refused.headers["retry-after"]) > 0
        assert engine.streams == {}
        Client(server.url, None)("GET", "/queries").problem(401)
        assert ask("GET", "/health/live").status == 200
        assert ask("GET", "/health/ready").json["detail"] == "starting"
        assert ask("GET", "/status").json["detail"] == "starting"
        assert ask("GET", "/metrics").status == 200
        assert ask("GET", "/", Accept="text/html").status == 200
        go_on.set()
        assert ready.wait(60)
        assert ask("POST", "/advance?time=5000").status == 200
        assert ask("PUT", graph, triple("s", "o"), NT).status == 204
    finally:
        go_on.set()
        server.stop()
        thread.join(60)
    assert not thread.is_alive() and engine.closed


def test_a_server_ends_while_it_loads(spark: SparkSession) -> None:
    """A load may take hours, and nobody wants any more what it is for."""
    begun = threading.Event()

    def prepare(served: ServedEngine) -> None:
        begun.set()
        spark.sparkContext.parallelize([600], 1).foreach(time.sleep)

    engine = Engine(spark)
    server = Server(engine, OPTIONS, prepare)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert begun.wait(60)
    jobs = spark.sparkContext.statusTracker()
    while not jobs.getActiveJobsIds():
        time.sleep(0.01)
    server.stop()
    thread.join(60)
    assert not thread.is_alive() and engine.closed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * {", "q.rspql:1:11: "),
        (QUERY.replace(":s ", ":nowhere "), "q.rspql: unknown stream <http://e/nowhere>"),
        ("SELECT * " + "{" * 51, "q.rspql:1:60: nested more than 50 deep"),
    ],
)
def test_a_server_whose_query_is_wrong_ends_and_says_why(
    spark: SparkSession, text: str, said: str
) -> None:
    engine = Engine(spark)
    begins = Beginnings(streams=[StreamToBe(S)], queries=[QueryToBe(text, "q.rspql")])
    server = Server(engine, OPTIONS, begins.prepare)
    with pytest.raises(InputFileError, match=said):
        server.run()
    assert engine.closed
