"""Queries and engines as notebooks show them, and answers that change as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import sparkext
from sparkext.errors import ArgumentError
from sparkext.notebook import live_answers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://e/"
TEXT = f"""PREFIX : <{E}> REGISTER RSTREAM :q AS SELECT ?s ?o
FROM NAMED WINDOW :w ON :s [RANGE 10 STEP 10] WHERE {{ WINDOW :w {{ ?s :p ?o }} }} ORDER BY ?o"""


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    engine = sparkext.Engine(spark)
    engine.register_stream(f"{E}s")
    yield engine
    engine.close()


def push(engine: Engine, *values: str, time: int) -> None:
    for value in values:
        engine.push(f"{E}s", (f"{E}a", f"{E}p", f'"{value}"'), time=time)


def test_what_a_notebook_shows(engine: Engine) -> None:
    query: Any = engine.register_query(TEXT)
    assert "REGISTER RSTREAM :q" in query._repr_html_() and "<table>" not in query._repr_html_()
    push(engine, "<b>", "c", time=5)
    engine.finish()
    shown = query._repr_html_()
    assert "&lt;b&gt;</span></td>" in shown and "<b>" not in shown and "1 evaluations" in shown
    plan = query.explain()._repr_html_()
    assert "<ul><li>" in plan and "2 rows</b>" in plan
    assert f">{E}q</td>" in engine._repr_html_() and f">{E}s</td>" in engine._repr_html_()
    assert "0 changes" in query.history()._repr_html_()


def test_live_answers_follow_the_query_until_they_are_stopped(engine: Engine) -> None:
    pytest.importorskip("anywidget")
    query: Any = engine.register_query(TEXT)
    widget = live_answers(query, rows=2)
    assert widget.state == {"caption": f"{E}q: no answers yet", "columns": [], "rows": []}
    push(engine, "<b>", "c", "d", time=5)
    engine.advance_to(10)
    push(engine, "e", time=15)
    engine.advance_to(19)
    widget.stop()
    a = ["a", f"<{E}a>"]
    assert widget.state == {
        "caption": f"1970-01-01T00:00:00.010Z  {E}q  3 answer(s), 2 shown",
        "columns": ["s", "o"],
        "rows": [[a, ["<b>", '"<b>"']], [a, ["c", '"c"']]],
    }
    engine.finish()
    assert "00.010Z" in widget.state["caption"]  # what comes after that is not shown
    later = live_answers(query)
    later.stop()
    assert later.state["rows"] == [[a, ["e", '"e"']]]


def test_live_answers_stay_at_the_newest_instant_when_one_before_it_is_corrected(
    engine: Engine,
) -> None:
    pytest.importorskip("anywidget")
    engine.register_stream(f"{E}late", allowed_lateness=100, late="correct")
    told: list[tuple[int, int]] = []
    query: Any = engine.register_query(TEXT.replace("ON :s", "ON :late"))
    query.subscribe(lambda answers: told.append((answers.time, answers.revision)))
    widget = live_answers(query)
    for time in (5, 15, 25, 6):
        engine.push(f"{E}late", (f"{E}a", f"{E}p", f'"{time}"'), time=time)
    widget.stop()
    assert told == [(10, 0), (20, 0), (10, 1)]
    assert widget.state["rows"] == [[["a", f"<{E}a>"], ["15", '"15"']]]


def test_answers_that_come_while_live_answers_begin_are_shown(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anywidget")
    query: Any = engine.register_query(TEXT)
    push(engine, "first", time=5)
    engine.advance_to(10)

    times: list[int] = []

    def last_answers(of: Any) -> Any:
        """What comes next is told before this is given."""
        last = of._last
        times.append(15 + 10 * len(times))
        push(engine, str(times[-1]), time=times[-1])
        engine.advance_to(times[-1] + 5)
        return last

    monkeypatch.setattr(type(query), "last_answers", property(last_answers))
    widget = live_answers(query)
    widget.stop()
    assert widget.state["rows"] == [[["a", f"<{E}a>"], [str(times[-1]), f'"{times[-1]}"']]]


def test_odd_arguments(engine: Engine) -> None:
    query: Any = engine.register_query(TEXT)
    for arguments in ((None,), ("q",), (query, 0), (query, "many"), (query, None)):
        with pytest.raises(ArgumentError):
            live_answers(*arguments)  # type: ignore[arg-type]
