"""A closed engine and what came from it: every call is refused by ClosedEngineError."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import ClosedEngineError, CqelsError
from sparkext.recorded_streams import StreamElement
from tests.sparkext.engine.odd_calls import TEXT, TRIPLE
from tests.sparkext.listening import E, S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
