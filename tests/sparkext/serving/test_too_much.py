"""Pushes that come too fast, clients that are too slow, queries that take too much: each as it was chosen."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from sparkext.serving import server
from sparkext.serving.intake import Intake
from sparkext.serving.options import Kept, Limits, Overload
from sparkext.serving.problems import ProblemError
from tests.sparkext.listening import settings
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


@contextmanager
def intake(overload: Overload, told: list[bool]) -> Iterator[tuple[Intake, Callable[[], object]]]:
    """An intake whose thread waits until it is let go."""
    made = Intake(overload, told.append)
    go = threading.Event()
    began = threading.Event()

    def block() -> None:
        began.set()
        go.wait()

    made.submit(block)
    assert began.wait(30)
    try:
        yield made, go.set
    finally:
        go.set()
        made.close(30)


def test_pushes_wait_until_the_queue_is_full() -> None:
    told: list[bool] = []
    with intake(Overload("delay", waiting=2), told) as (made, go):
        done = []
        for n in range(2):
            assert made.kept(1) is None
            done.append(made.submit(lambda n=n: n, 1, 10))
        with pytest.raises(ProblemError, match="2 pushes wait") as refused:
            made.kept(1)
        assert refused.value.status == 429 and int(refused.value.headers["Retry-After"]) >= 1
        assert (made.waiting, made.waiting_bytes, made.refused, told) == (2, 20, 1, [True])
        go()
        assert [one.result(30) for one in done] == [0, 1]
        assert made.kept(1) is None
    assert told == [True, False] and made.overloads == 1
    with pytest.raises(ProblemError, match="shutting down"):
        made.kept(1)


def test_overload_is_over_when_there_is_far_less_to_do() -> None:
    """Not with each push that is done, to begin again with the next."""
    told: list[bool] = []
    with intake(Overload("delay", waiting=4), told) as (made, go):
        turns = [threading.Event() for _ in range(8)]
        done = [made.submit(turn.wait, 1) for turn in turns[:4]]
        with pytest.raises(ProblemError):
            made.kept(1)
        go()
        for turn, one in zip(turns, list(done), strict=False):
            # One is under way and three wait, so that another one is taken in, with which the queue is full.
            while made.waiting != 3:
                time.sleep(0.001)
            assert made.kept(1) is None
            done.append(made.submit(turns[len(done)].wait, 1))
            with pytest.raises(ProblemError):
                made.kept(1)
            turn.set()
            assert one.result(30)
        assert told == [True]
        for turn in turns:
            turn.set()
        assert all(one.result(30) for one in done)
    assert told == [True, False]


def test_bytes_of_bodies_are_bounded_too() -> None:
    with intake(Overload("delay", waiting_bytes=100), []) as (made, _):
        made.submit(int, 1, 100)
        with pytest.raises(ProblemError) as refused:
            made.kept(1)
        assert refused.value.status == 429


def test_a_fraction_is_kept_and_what_is_dropped_is_counted() -> None:
    with intake(Overload("sample", fraction=0.1, behind=0.0), []) as (made, _):
        kept = made.kept(10_000)
        assert kept is not None and len(kept) == 10_000
        assert 500 < kept.count(True) < 2_000
        assert made.sampled_out == kept.count(False) and made.refused == 0


def test_pushes_are_refused_at_once_where_that_was_chosen() -> None:
    with intake(Overload("fail", behind=0.0), []) as (made, _):
        with pytest.raises(ProblemError) as refused:
            made.kept(1)
        assert refused.value.status == 503 and "Retry-After" in refused.value.headers


def test_an_error_is_that_of_its_push_alone() -> None:
    made = Intake(Overload(), lambda _: None)
    failed = made.submit(lambda: 1 // 0, 1)
    assert isinstance(failed.exception(30), ZeroDivisionError)
    assert made.submit(lambda: 5, 1).result(30) == 5 and made.alive
    assert made.close(30)
    with pytest.raises(ProblemError, match="shutting down"):
        made.submit(int)


def test_what_is_in_the_queue_when_time_is_up_is_refused() -> None:
    made = Intake(Overload(), lambda _: None)
    go = threading.Event()
    running = made.submit(go.wait)
    waiting = made.submit(int)
    while made.waiting != 1:
        time.sleep(0.001)
    assert not made.close(0.01)
    assert isinstance(waiting.exception(30), ProblemError)
    go.set()
    assert running.result(30)


@pytest.mark.parametrize("policy", ["delay", "sample", "fail"])
def test_overload_of_a_server_is_answered_told_and_measured(
    spark: SparkSession, policy: Any
) -> None:
    overload = Overload(policy, fraction=0.000001, behind=0.0, waiting=1)
    with serving(spark, overload=overload, kept=Kept(heartbeat=0.2)) as world:
        world.ask("POST", "/queries", {"query": QUERY})
        intake, go = world.served.intake, threading.Event()
        with world.ask.follow(Q) as events:
            blocked = intake.submit(go.wait)
            while intake.waiting:
                time.sleep(0.001)
            if policy == "delay":
                intake.submit(int)
            path = f"{ELEMENTS}?time=1000"
            statuses: list[Any] = []

            def push() -> None:
                statuses.append(world.ask("POST", path, triple("a", "b"), NT))

            pushing = threading.Thread(target=push)
            pushing.start()
            told = next(event for event in events if event.kind)
            assert told.kind == "overload" and told.json["state"] == "begins"
            assert told.json["policy"] == policy
            status = world.ask("GET", "/status").json["overload"]
            assert status["overloaded"] is True and status["policy"] == policy
            go.set()
            pushing.join(60)
            assert blocked.result(30)
            ended = next(event for event in events if event.kind)
            assert ended.kind == "overload" and ended.json["state"] == "ends"
        (answer,) = statuses
        if policy == "sample":
            assert answer.json["sampled_out"] == 1 and answer.json["accepted"] == 0
        else:
            found = answer.problem(429 if policy == "delay" else 503)
            assert found["overload"] == policy and int(answer.headers["retry-after"]) >= 1
        metrics = world.ask("GET", "/metrics").body.decode()
        counted = "elements_sampled_out" if policy == "sample" else "pushes_refused"
        assert f"cqels_{counted}_total 1.0" in metrics
        assert "cqels_overloads_total 1.0" in metrics


def test_a_slow_client_holds_nobody_up_and_is_told_and_cut_off(spark: SparkSession) -> None:
    # Together, answers are more than what fits into the buffers of the sockets.
    kept = Kept(answers=3, heartbeat=0.2, stalled=600)
    text = QUERY.replace("RANGE 10", "RANGE 1")
    with serving(spark, kept=kept) as world:
        world.ask("POST", "/queries", {"query": text})
        parts = urlsplit(world.ask.url)
        with (
            socket.create_connection((parts.hostname, parts.port), timeout=60) as slow,
            world.ask.follow(Q, "?empty=false") as quick,
        ):
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            headers = "".join(f"{k}: {v}\r\n" for k, v in world.ask.headers().items())
            slow.sendall(
                f"GET /queries/{name(Q)}/answers HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()
            )
            while world.served.subscribers < 2:
                time.sleep(0.001)
            block = "\n".join(triple(f"s{n}", "x" * 100) for n in range(2000))
            numbers = []
            for n in range(40):
                pushed = world.ask("POST", f"{ELEMENTS}?time={1000 + 10 * n}", block, NT)
                assert pushed.json["accepted"] == 1
                world.ask("POST", "/advance", {"time": 1000 + 10 * n})
                numbers.append(int(next(event for event in quick if event.kind).number))
            assert numbers == list(range(1, 41))
            got = bytearray()
            while not got.endswith(b"0\r\n\r\n"):  # the end of the response
                got += slow.recv(1 << 20) or b"closed"
                assert got[-1000:].count(b": \n\n") < 50 and not got.endswith(b"closed")
            assert b"event: overrun" in got[-1000:] and b"too slow" in got[-1000:]
        assert "cqels_subscribers_cut_off_total 1.0" in world.ask("GET", "/metrics").body.decode()


@contextmanager
def reading_nothing(world: World, clients: int) -> Iterator[None]:
    """Clients that follow the query and read nothing, of more than what fits into the buffers of the sockets."""
    world.ask("POST", "/queries", {"query": QUERY.replace("RANGE 10", "RANGE 1")})
    parts = urlsplit(world.ask.url)
    headers = "".join(f"{k}: {v}\r\n" for k, v in world.ask.headers().items())
    request = f"GET /queries/{name(Q)}/answers HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()
    with ExitStack() as stack:
        for number in range(1, clients + 1):
            slow = socket.create_connection((parts.hostname, parts.port), timeout=60)
            stack.enter_context(slow)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            slow.sendall(request)
            while world.served.subscribers < number:
                time.sleep(0.001)
        block = "\n".join(triple(f"s{n}", "x" * 100) for n in range(2000))
        for n in range(30):
            world.engine.push(S, block, 1000 + 10 * n)
        yield


def test_a_client_that_reads_nothing_for_long_is_cut_off(spark: SparkSession) -> None:
    with serving(spark, kept=Kept(heartbeat=0.05, stalled=0.2)) as world:
        with reading_nothing(world, 1):
            while world.served.subscribers:
                time.sleep(0.01)
        assert "cqels_subscribers_cut_off_total 1.0" in world.ask("GET", "/metrics").body.decode()


@pytest.mark.parametrize(
    "said", [b"", b"GET / HT", b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"]
)
def test_a_connection_on_which_no_request_comes_is_closed(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(server, "_PATIENCE_S", 0.2)
    with serving(spark) as world:
        parts = urlsplit(world.ask.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=20) as silent:
            silent.sendall(said)
            while silent.recv(1 << 16):
                pass


def test_clients_that_are_cut_off_make_room_for_others(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection counts as long as it is open, and what is in its buffer is never read."""
    monkeypatch.setattr(server, "_PATIENCE_S", 0.2)
    limits, kept = Limits(connections=4), Kept(heartbeat=0.05, stalled=0.2)
    with serving(spark, limits=limits, kept=kept) as world:
        with reading_nothing(world, 3):
            for _ in range(200):
                if world.ask("GET", "/health/live").status == 200:
                    break
                time.sleep(0.1)
            else:
                pytest.fail("their connections are still there")
        with world.ask.follow(Q) as events:
            for _ in range(20):  # who follows is sent to, and need not do anything
                assert next(events).kind == ""


def test_a_query_that_takes_too_long_is_stopped_and_told_and_others_go_on(
    spark: SparkSession,
) -> None:
    large = f"""SELECT * FROM NAMED WINDOW <{E}v> ON <{S}> [RANGE 10]
        WHERE {{ WINDOW <{E}v> {{ ?a <{E}p> ?b . ?c <{E}p> ?d . ?e <{E}p> ?f . ?g <{E}p> ?h }} }}"""
    with (
        settings(spark, **{"limits.evaluationTime": "300ms"}),
        serving(spark, kept=Kept(heartbeat=0.2)) as world,
    ):
        world.ask("POST", "/queries", {"query": large, "name": "large"})
        # A stream of its own, with a single triple: on a busy machine any longer look may take too long, too.
        world.ask("POST", "/streams", {"iri": f"{E}few"})
        world.ask("POST", "/queries", {"query": QUERY.replace("ON :s", "ON :few")})
        world.ask("POST", f"/streams/{name(f'{E}few')}/elements?time=1000", triple("a", "b"), NT)
        block = "\n".join(triple(f"s{n}", f"o{n}") for n in range(600))
        with world.ask.follow("large") as events, world.ask.follow(Q) as others:
            world.ask("POST", f"{ELEMENTS}?time=1000", block, NT)
            promised = world.ask("POST", "/advance", {"time": 1000}).json
            assert "more than 300 ms" in promised["failed_evaluations"]
            failure, end = islice((event for event in events if event.kind), 2)
            assert failure.kind == "failure" and "more than 300 ms" in failure.json["detail"]
            assert end.kind == "end" and end.json["reason"].startswith("stopped: ")
            assert next(event for event in others if event.kind).json["sequence"] == 1
        world.ask("GET", "/queries/large").problem(404)
        world.ask("POST", "/static/graph?default", block, NT)
        slow = f"SELECT * {{ ?a <{E}p> ?b . ?c <{E}p> ?d . ?e <{E}p> ?f . ?g <{E}p> ?h }}"
        refused = world.ask("POST", "/sparql", slow, "application/sparql-query").problem(422)
        assert refused["error"] == "LimitError"
        assert "cqels_limited_queries_total 1.0" in world.ask("GET", "/metrics").body.decode()


def test_no_more_subscribers_than_there_may_be_and_those_who_leave_make_room(
    spark: SparkSession,
) -> None:
    with serving(spark, limits=Limits(subscribers=1), kept=Kept(heartbeat=0.05)) as world:
        world.ask("POST", "/queries", {"query": QUERY})
        path = f"/queries/{name(Q)}/answers"
        with world.ask.follow(Q) as events:
            next(events)
            world.ask("GET", path).problem(503)
        while world.served.subscribers:
            time.sleep(0.01)
        with world.ask.follow(Q) as events:
            assert next(events).kind == ""


def test_metrics_tell_of_streams_queries_and_memory(spark: SparkSession) -> None:
    with serving(spark) as world:
        world.ask("POST", "/queries", {"query": QUERY})
        for n in range(2):
            world.ask.push(triple("a", "b"), time=1000 + 20 * n)
        text = world.ask("GET", "/metrics").body.decode()
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        assert lines[f'cqels_stream_elements_total{{stream="{S}"}}'] == "2.0"
        assert lines[f'cqels_query_evaluations_total{{query="{Q}"}}'] == "1.0"
        assert lines[f'cqels_evaluation_seconds_count{{query="{Q}"}}'] == "1.0"
        assert lines["cqels_push_seconds_count"] == "2.0"
        for metric in (
            'cqels_jvm_heap_bytes{state="used"}',
            "cqels_jvm_resident_bytes",
            "process_resident_memory_bytes",
            "cqels_dictionary_bytes",
            'cqels_dictionary_terms{part="stream"}',
        ):
            assert float(lines[metric]) > 0, metric
        assert lines["cqels_pushes_waiting"] == "0.0"
        world.ask("DELETE", f"/queries/{name(Q)}")
        assert f'query="{Q}"' not in world.ask("GET", "/metrics").body.decode()
