"""Feeds from lines over TCP, server-sent events and WebSocket, by real sockets: reconnecting, bounds, flaws, ends."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.errors import ArgumentError, SourceError
from sparkext.runtime.parts import pushed_times
from sparkext.runtime.parts.pushed_times import ArrivalClock
from sparkext.sources import EventSource, LineSource, WebSocketSource
from sparkext.sources.backoff import Backoff
from tests.sparkext.listening import E, S, T
from tests.sparkext.sources.messages import ALL, document, reading, until, values
from tests.sparkext.sources.servers import LineServer, event_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.sources.feed import Feed

QUICK = Backoff(0.01, 0.1)


def test_lines_come_through_a_connection_that_breaks(engine: Engine) -> None:
    row = f'<{E}r%d> <{E}value> "%d" .\n'
    server = LineServer(
        (row % (1, 1) + "rubbish\n\n" + row % (2, 2)).encode(), (row % (3, 3)).encode()[:-1]
    )
    stream = engine.register_stream(S)
    seen = values(engine)
    feed = LineSource(server.url, time="now", backoff=QUICK).feed(stream)
    until(lambda: stream.accepted_count == 3, "three lines")
    until(lambda: feed.reconnects >= 1, "a second connection")
    server.close()
    feed.stop()
    assert not feed.active
    assert feed.exception() is None
    assert feed.received == 4
    assert stream.malformed_count == 1
    assert "expected an IRI" in stream.set_aside[0]
    assert seen() == [1, 2, 3]


def test_what_is_dated_here_goes_on_where_the_clock_is_set_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_first = 1_769_853_600_000
    walls = (at_first + 10 * n - (3_600_000 if n > 4 else 0) for n in itertools.count())
    steady = itertools.count(0, 10_000_000)
    clock = ArrivalClock(lambda: next(walls) * 1_000_000, lambda: next(steady))
    monkeypatch.setattr(pushed_times, "_arrivals", clock)
    server = LineServer("".join(f'<{E}r{n}> <{E}value> "{n}" .\n' for n in range(9)).encode())
    stream = engine.register_stream(S)
    seen = values(engine)
    feed = LineSource(server.url, time="now", backoff=QUICK).feed(stream)
    until(lambda: stream.accepted_count + stream.late_count == 9, "nine lines")
    feed.stop()
    server.close()
    assert stream.late_count == 0
    assert at_first < stream.newest_time < at_first + 3_600_000
    assert seen() == list(range(9))


@pytest.mark.parametrize("rows", [False, True])
def test_what_waits_for_its_turn_is_not_late(engine: Engine, tmp_path: Path, rows: bool) -> None:
    """Others push meanwhile, also elements that are dated now."""
    mapping = tmp_path / "readings.yml"
    mapping.write_text(
        "prefixes: {e: 'http://e/'}\nmappings:\n  r:\n    sources: [['r.json~jsonpath']]\n"
        "    s: e:r$(id)\n    po: [[e:value, $(id), xsd:integer]]\n"
    )
    given: dict[str, Any] = {"mapping": mapping, "time": "timestamp"} if rows else {}
    stream = engine.register_stream(S, **given)
    seen = values(engine)
    line = '{"id": 1}' if rows else f'<{E}r1> <{E}value> "1" .'
    server = LineServer(f"{line}\n".encode())
    kind: dict[str, Any] = {"format": "json"} if rows else {"time": "now"}
    pushing = threading.Thread(target=stream.push, args=(f'<{E}r2> <{E}value> "2" .',), daemon=True)
    with engine.lock:
        feed = LineSource(server.url, backoff=QUICK, **kind).feed(stream)
        until(lambda: feed.received == 1, "a line")
        pushing.start()
        time.sleep(0.5)  # both have come, and cannot be taken in
        stream.push(f'<{E}r3> <{E}value> "3" .')
    pushing.join(60)
    until(lambda: stream.accepted_count + stream.late_count == 3, "three elements")
    feed.stop()
    server.close()
    assert stream.late_count == 0
    assert seen() == [1, 2, 3]


def test_documents_end_at_an_empty_line(engine: Engine) -> None:
    too_long = "x" * 1500
    of_lines = "".join(document(n) for n in range(10, 20))  # each would be an element by itself
    text = f"{document(1, 2)}\n{too_long}\n\n{of_lines}\n{document(3)}\r\n\r\n{document(4)}"
    server = LineServer(text.encode())
    stream = engine.register_stream(S)
    seen = values(engine)
    feed = LineSource(server.url, ends="blank line", most_bytes=1000, backoff=QUICK).feed(stream)
    until(lambda: stream.accepted_count == 4, "four elements")
    feed.stop()
    server.close()
    assert list(stream.set_aside) == [f"{server.url}: longer than 1000 bytes"] * 2
    assert seen() == [1, 2, 3, 4]


def test_a_full_buffer_lets_the_sender_wait(engine: Engine) -> None:
    line = f'<{E}r1> <{E}value> "1" . # {"x" * 1000}\n'.encode()
    server = LineServer(line * 40_000)
    stream = engine.register_stream(S)
    with engine.lock:  # nothing can be taken in
        feed = LineSource(server.url, time="now", buffer=10, backoff=QUICK).feed(stream)
        until(lambda: feed.received >= 10, "a full buffer")
        sent = -1
        while sent != server.sent:  # until no more fits into the sockets between
            sent = server.sent
            time.sleep(0.5)
        assert feed.received < 10 + 4096
        assert sent < 40_000 * len(line)
    until(lambda: stream.accepted_count == 40_000, "all that was sent", 300)
    feed.stop()
    server.close()


def test_a_subscriber_stops_a_feed_that_waits_for_it(engine: Engine) -> None:
    stream, other = engine.register_stream(T), engine.register_stream(S)
    seen = values(engine)
    server = LineServer(f'<{E}r> <{E}value> "1" .\n'.encode())
    feeds: list[Feed] = []

    def told(_: object) -> None:
        unsubscribe()
        feeds.append(LineSource(server.url, time="now", buffer=1, backoff=QUICK).feed(other))
        until(lambda: feeds[0].received == 1, "a line")
        feeds[0].stop()

    over_t = engine.register_query(ALL.replace(S, T).replace(":all", ":t"))
    unsubscribe = over_t.subscribe(told)
    stream.push(f'<{E}a> <{E}value> "5" .', time=1)
    pushing = threading.Thread(target=stream.advance_to, args=(5,), daemon=True)
    pushing.start()
    pushing.join(60)
    assert not pushing.is_alive()
    (feed,) = feeds
    assert feed.wait(60)
    assert feed.exception() is None
    assert seen() == [1]  # it waited when the feed was stopped
    server.close()


def test_events_go_on_after_the_last_one_that_was_taken_in(engine: Engine) -> None:
    events = [(f"e{n}", reading(n)) for n in range(1, 8)]
    stream = engine.register_stream(S)
    seen = values(engine)
    with event_server(events, at_once=3, broken=2) as (url, asked):
        feed = EventSource(url, backoff=QUICK).feed(stream)
        assert feed.wait(60)  # the server says 204 when all has been sent
    assert seen() == [1, 2, 3, 4, 5, 6, 7]
    assert asked == ["", "e3", "e3", "e6", "e7"]
    # Heartbeats, and what only says how long to wait, are no messages.
    assert (feed.received, stream.malformed_count) == (7, 0)


def test_ids_of_events_that_are_no_plain_texts(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    names = ("\u00e91\u2713", "e2 ", "e\x7f3")
    events = [(name, reading(n)) for n, name in enumerate(names, 1)]
    stream = engine.register_stream(S)
    with event_server(events, at_once=1) as (url, asked):
        feed = EventSource(url, backoff=QUICK).feed(stream)
        until(lambda: len(asked) >= 4, "four requests")
        feed.stop()
    assert feed.exception() is None
    assert asked[:4] == ["", "\u00e91\u2713", "e2", ""]
    assert "no header holds the id 'e\\x7f3'" in caplog.text


def test_a_server_that_never_answers_does_not_hold_a_feed(engine: Engine) -> None:
    stream = engine.register_stream(S)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        feed = EventSource(url, silence=None, backoff=QUICK).feed(stream)
        connection, _ = silent.accept()
        with connection:
            connection.recv(1)  # the request has come
            stopping = threading.Thread(target=feed.stop, daemon=True)
            stopping.start()
            stopping.join(60)
            assert not stopping.is_alive()
    assert feed.exception() is None


def test_a_server_that_refuses_ends_the_feed(engine: Engine) -> None:
    stream = engine.register_stream(S)
    with event_server([], 1) as (url, asked):
        feed = EventSource(f"{url}/forbidden", backoff=QUICK).feed(stream)
        with pytest.raises(SourceError, match="status 403"):
            feed.wait(60)
    assert asked == [""]


@contextmanager
def web_socket_server(*scripts: list[str | bytes]) -> Iterator[tuple[str, list[str]]]:
    """Serves each connection the next script, after a greeting, and hangs up; the last connection stays."""
    server = pytest.importorskip("websockets.sync.server")
    waiting, greetings, end = list(scripts), [], threading.Event()

    def serve(connection: Any) -> None:
        greetings.append(connection.recv())
        for message in waiting.pop(0) if waiting else ():
            connection.send(message)
        if not waiting:
            end.wait(60)

    with server.serve(serve, "127.0.0.1", 0) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{made.socket.getsockname()[1]}", greetings
        end.set()
        made.shutdown()
        thread.join()


def test_messages_of_a_web_socket(engine: Engine) -> None:
    turtle = f"@prefix : <{E}> . :r3 :value 3 ; <http://www.w3.org/ns/prov#generatedAtTime> 3000 ."
    stream = engine.register_stream(S)
    seen = values(engine)
    scripts: list[list[str | bytes]] = [[reading(1), reading(2).encode(), b"\xff"], [turtle]]
    with web_socket_server(*scripts) as (url, greetings):
        feed = WebSocketSource(url, greeting=["all"], backoff=QUICK).feed(stream)
        until(lambda: stream.accepted_count == 3, "three messages")
        feed.stop()
    assert greetings == ["all", "all"]
    assert list(stream.set_aside) == ["message: not UTF-8"]
    assert seen() == [1, 2, 3]


def test_a_server_that_is_not_there_yet_is_waited_for(engine: Engine) -> None:
    from tests.sparkext.sources.kafka_broker import free_port

    stream = engine.register_stream(S)
    feed = WebSocketSource(f"ws://127.0.0.1:{free_port()}", backoff=QUICK).feed(stream)
    lines = LineSource(f"tcp://127.0.0.1:{free_port()}", backoff=QUICK).feed(stream)
    assert not feed.wait(0.5)
    assert (feed.connected, lines.connected) == (False, False)
    engine.close()  # ends feeds, too
    assert not feed.active
    assert not lines.active
    assert feed.exception() is lines.exception() is None


def test_a_stream_that_does_not_skip_ends_the_feed(engine: Engine) -> None:
    stream = engine.register_stream(S, on_error="fail")
    server = LineServer(b"rubbish\n")
    feed = LineSource(server.url, backoff=QUICK).feed(stream)
    with pytest.raises(SourceError, match="expected an IRI"):
        feed.wait(60)
    server.close()


def test_rows_are_pushed_by_their_mapping(engine: Engine, tmp_path: Path) -> None:
    mapping = tmp_path / "readings.yml"
    mapping.write_text(
        "prefixes: {e: 'http://e/'}\nmappings:\n  r:\n    sources: [['r.json~jsonpath']]\n"
        "    s: e:r$(id)\n    po: [[e:value, $(id), xsd:integer]]\n"
    )
    stream = engine.register_stream(S, mapping=mapping, time="timestamp")
    seen = values(engine)
    server = LineServer(
        b'{"id": 1}\n[1, {"id": 2}]\nno json\n{"id": {"a": 1}}\n{"id": "\\ud800"}\n'
        b'{"id": 3, "timestamp": 5}\n{"id": 4, "timestamp": []}\n'
    )
    with pytest.raises(SourceError, match="has a mapping, so messages are rows"):
        LineSource(server.url).feed(stream)
    feed = LineSource(server.url, format="json", backoff=QUICK).feed(stream)
    until(lambda: stream.accepted_count + stream.malformed_count == 8, "all rows")
    feed.stop()
    server.close()
    assert feed.exception() is None
    said = {reason.partition(": ")[2] for reason in stream.set_aside}
    assert said >= {
        "a JSON object has no lexical form: id",
        "a list has no lexical form: timestamp",
    }
    assert stream.malformed_count == 5
    assert seen() == [1, 2, 3]
    strict = engine.register_stream(
        f"{S}-strict", mapping=mapping, on_error="fail", time="timestamp"
    )
    server = LineServer(b'{"id": {"a": 1}}\n')
    feed = LineSource(server.url, format="json", backoff=QUICK).feed(strict)
    with pytest.raises(SourceError, match="row 0: a JSON object has no lexical form: id"):
        feed.wait(60)
    server.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LineSource("http://h:1"), "url: must be a URL such as tcp://host:port"),
        (lambda: LineSource("tcp://h"), "url: must be"),
        (lambda: LineSource("tcp://h:1", ends="never"), "ends: must be"),
        (lambda: LineSource("tcp://h:1", buffer=0), "buffer: must be above 0"),
        (lambda: LineSource("tcp://h:1", time="broker"), "time: these messages carry no time"),
        (lambda: LineSource("tcp://h:1", format="csv"), "columns: rows of CSV need"),
        (lambda: LineSource("tcp://h:1", backoff=3), "backoff: must be a sparkext.sources"),  # type: ignore[arg-type]
        (lambda: EventSource("ftp://h"), "url: must be a URL such as http://host:port"),
        (lambda: EventSource("http://h", silence=0), "silence: must be seconds"),
        (lambda: WebSocketSource("http://h"), "url: must be a URL such as ws://host:port"),
        (lambda: WebSocketSource("ws://h", greeting="x"), "greeting: must be a list"),
        (lambda: Backoff(0), "backoff.first: must be seconds"),
        (lambda: LineSource("tcp://h:1").feed(5), "stream: must be a stream"),  # type: ignore[arg-type]
    ],
)
def test_odd_arguments_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_events_go_on_after_a_restart_of_the_engine(spark: SparkSession, tmp_path: Path) -> None:
    from sparkext import Engine

    events = [(f"e{n}", reading(n)) for n in (1, 2)]
    with event_server(events, at_once=9) as (url, asked):
        for _ in range(2):
            with closing(Engine(spark, checkpoint=str(tmp_path / "c"))) as engine:
                stream = engine.register_stream(S)
                engine.restore()
                assert EventSource(url, backoff=QUICK).feed(stream).wait(60)
                count = stream.accepted_count
            events.append(("e3", reading(3)))
    assert count == 3
    assert asked == ["", "e2", "e2", "e3"]
