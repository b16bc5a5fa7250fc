"""A closed engine and what came from it: every call is refused by ClosedEngineError, and what waited for it ends."""

from __future__ import annotations

import gc
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from sparkext.errors import ClosedEngineError, CqelsError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.parts.engine_lock import EngineLock
from sparkext.sources import LineSource
from tests.sparkext.engine.odd_calls import TEXT, TRIPLE
from tests.sparkext.listening import E, S, T, query, triple
from tests.sparkext.sources.messages import until
from tests.sparkext.sources.servers import LineServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext import Engine

Begun = TypeVar("Begun")


def test_live_views_that_nobody_holds_leave_the_session_with_their_engine(
    spark: SparkSession,
) -> None:
    from sparkext import Engine

    engine = Engine(spark)
    engine.live_view("unheld", "a STRING").append([("x",)])
    engine.live_view("Replaced", "a STRING")
    engine.live_view("replaced", "b INT").drop()
    gc.collect()
    assert spark.table("unheld").count() == 1
    engine.close()
    for name in ("unheld", "replaced"):
        assert not spark.catalog.tableExists(name)


def test_a_closed_engine_and_its_streams_refuse_everything(spark: SparkSession) -> None:
    from sparkext import Engine

    engine = Engine(spark)
    stream = engine.register_stream(S)
    registered = engine.register_query(TEXT)
    selected = engine.select("ASK {}")
    view = engine.live_view("closing", "a STRING")
    prepared = engine.prepare("SELECT a FROM closing")
    engine.close()
    engine.close()  # does nothing
    calls: dict[str, Callable[[], object]] = {
        "push": lambda: stream.push(TRIPLE, time=1),
        "push by the engine": lambda: engine.push(S, TRIPLE, time=1),
        "push_elements": lambda: stream.push_elements([StreamElement(1, None, (TRIPLE,))]),
        "push_elements of none": lambda: stream.push_elements([]),
        "read": lambda: stream.read(spark.readStream.format("rate").load()),
        "stream.advance_to": lambda: stream.advance_to(5),
        "advance_to": lambda: engine.advance_to(5),
        "finish": engine.finish,
        "register_stream": lambda: engine.register_stream(S),
        "register_query": lambda: engine.register_query(TEXT),
        "register_function": lambda: engine.register_function(f"{E}f", len),
        "select": lambda: engine.select("ASK {}"),
        "answer": selected.answer,
        "insert": lambda: engine.insert(TRIPLE),
        "remove": lambda: engine.remove(TRIPLE),
        "replace_graph": lambda: engine.replace_graph(None, TRIPLE),
        "load_static": lambda: engine.load_static("none.nt"),
        "save_static": lambda: engine.save_static("none"),
        "open_static": lambda: engine.open_static("none"),
        "live_view": lambda: engine.live_view("other", "a STRING"),
        "prepare": lambda: engine.prepare("SELECT 1"),
        "view.append": lambda: view.append([("a",)]),
        "prepared.run": prepared.run,
    }
    for name, made in calls.items():
        with pytest.raises(CqelsError, match="closed") as raised:
            made()
        if not name.startswith(("view", "prepared")):
            assert isinstance(raised.value, ClosedEngineError), name
    assert stream.accepted_count == 0
    assert engine.queries == {}
    registered.stop()  # it has ended already


def waits(name: str) -> bool:
    """Whether a thread whose name begins like this waits for the lock of an engine."""
    frames = sys._current_frames()
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(name)]
    found = [frames.get(thread.ident or 0) for thread in threads]
    return any(frame and frame.f_code is EngineLock.__enter__.__code__ for frame in found)


def in_a_subscriber(
    engine: Engine, begin: Callable[[], Begun], name: str, end: Callable[[], object]
) -> Begun:
    """Have a subscriber begin something, and end it when a thread of that name waits for the evaluation's end."""
    stream = engine.register_stream(S)
    begun: list[Begun] = []

    def told(_: object) -> None:
        begun.append(begin())
        until(lambda: waits(name), name)
        end()

    engine.register_query(query("WINDOW :w { ?x :at ?y }")).subscribe(told)
    stream.push(triple("x", "at", "room"), time=1)
    pushing = threading.Thread(target=stream.advance_to, args=(5,), daemon=True)
    pushing.start()
    pushing.join(180)  # beginning and ending may take a minute each
    assert not pushing.is_alive(), "the subscriber waits for what waits for it"
    until(lambda: not waits(name), name)
    (one,) = begun
    return one


def test_a_subscriber_closes_the_engine_while_idle_streams_are_looked_for(
    spark: SparkSession,
) -> None:
    from sparkext import Engine

    engine = Engine(spark)
    before = set(threading.enumerate())
    engine.register_stream(T, idle_timeout=20)
    begun = set(threading.enumerate()) - before
    (timer,) = (thread for thread in begun if thread.name.startswith("cqels-idle-streams"))
    in_a_subscriber(engine, lambda: None, timer.name, engine.close)
    timer.join(60)
    assert not timer.is_alive() and engine.closed


def micro_batches(engine: Engine, folder: Path) -> StreamingQuery:
    """A source of `T` with one batch."""
    rows = folder / "rows"
    rows.mkdir(exist_ok=True)
    columns = "subject STRING, predicate STRING, object STRING, time LONG"
    row = {"subject": f"{E}a", "predicate": f"{E}at", "object": f"<{E}b>", "time": 1}
    (rows / "1.json").write_text(json.dumps(row))
    frame = engine.spark.readStream.schema(columns).json(str(rows))
    return engine.stream(T).read(frame, str(folder / "checkpoint"))


@pytest.mark.parametrize("closes", [True, False])
def test_a_subscriber_ends_a_source_whose_batch_waits(
    spark: SparkSession, tmp_path: Path, closes: bool
) -> None:
    from sparkext import Engine

    engine = Engine(spark)
    stream = engine.register_stream(T)
    source = in_a_subscriber(
        engine,
        lambda: micro_batches(engine, tmp_path),
        f"batches of {T}",
        engine.close if closes else stream.stop_sources,
    )
    assert not source.isActive
    assert source.exception() is None
    assert stream.accepted_count == stream.malformed_count == 0
    engine.close()


def test_a_subscriber_closes_the_engine_while_a_feed_waits(spark: SparkSession) -> None:
    from sparkext import Engine

    engine = Engine(spark)
    stream = engine.register_stream(T)
    server = LineServer(f"{TRIPLE}\n".encode())
    source = LineSource(server.url, time="now")
    feed = in_a_subscriber(engine, lambda: source.feed(stream), "feed of tcp", engine.close)
    assert feed.wait(60)
    assert feed.exception() is None
    assert stream.accepted_count == 0
    server.close()


def test_a_subscriber_closes_the_engine_while_a_known_batch_waits_to_be_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    from sparkext import Engine

    engine = Engine(spark, checkpoint=tmp_path / "kept")
    stream = engine.register_stream(T)
    first = micro_batches(engine, tmp_path)
    first.processAllAvailable()
    first.stop()
    for commit in (tmp_path / "checkpoint" / "commits").glob("*0*"):
        commit.unlink()  # Spark gives the batch again
    source = in_a_subscriber(
        engine, lambda: micro_batches(engine, tmp_path), f"batches of {T}", engine.close
    )
    assert not source.isActive
    assert source.exception() is None
    assert stream.accepted_count == 1


def test_a_closed_engine_holds_no_elements(spark: SparkSession) -> None:
    """Whoever keeps the engine, its streams and its queries keeps no elements with them."""
    from sparkext import Engine

    engine = Engine(spark)
    stream = engine.register_stream(S)
    registered = engine.register_query(query("WINDOW :w { ?x :p ?y }"))
    for number in range(100):
        stream.push(triple(f"x{number}", "p", "y"), 1 + number // 50)
    log = stream.log
    assert log.quadCount() == 100
    engine.close()
    assert (log.quadCount(), log.paneCount(), registered.name) == (0, 0, f"{E}q")
