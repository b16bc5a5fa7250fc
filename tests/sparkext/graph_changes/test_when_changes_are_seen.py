"""What evaluations before, at and after the time of a change see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sparkext.graph_changes.watched import ROOMS, Watched, triple
from tests.sparkext.paper_examples.test_rspql_examples import E

if TYPE_CHECKING:
    import pytest

    from sparkext import Engine


def test_a_change_is_seen_from_its_time_on(engine: Engine) -> None:
    engine.replace_graph(f"{E}plan", "")
    rooms = Watched(engine, ROOMS)
    engine.insert(triple("door", "in", "hall"), f"{E}plan", at=20)
    engine.insert(triple("door", "in", "house"), f"{E}plan", at=30)
    engine.remove(triple("door", "in", "hall"), f"{E}plan", at=30)
    ann = triple("ann", "at", "door")
    assert [rooms.sight(t, ann) for t in (19, 20, 29, 30)] == [
        [],
        ["ann hall"],
        ["ann hall"],
        ["ann house"],
    ]


def test_a_change_without_a_time_is_seen_next(engine: Engine) -> None:
    engine.insert([(f"{E}door", f"{E}in", f"{E}hall")], f"{E}plan")
    rooms = Watched(engine, ROOMS)
    ann = triple("ann", "at", "door")
    assert rooms.sight(1, ann) == ["ann hall"]
    engine.remove(triple("door", "in", "hall"), f"{E}plan")
    assert rooms.sight(2, ann) == []
    engine.insert(triple("door", "in", "hall"), f"{E}plan")
    assert rooms.sight(3, ann) == ["ann hall"]


def test_a_late_change_is_counted_and_seen_next(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.replace_graph(f"{E}plan", "")
    rooms = Watched(engine, ROOMS)
    ann = triple("ann", "at", "door")
    assert rooms.sight(10, ann) == []
    with caplog.at_level("WARNING", logger="sparkext"):
        engine.insert(triple("door", "in", "hall"), f"{E}plan", at=5)
    assert rooms.sight(11, ann) == ["ann hall"]
    assert engine.graph_versions.late_count == 1
    assert "comes late" in caplog.text


def test_a_query_that_lags_behind_sees_the_graph_of_its_instant(engine: Engine) -> None:
    """Another query, over a stream that is ahead, has seen two changes before this one has seen the first."""
    engine.replace_graph(f"{E}plan", triple("door", "in", "r0"))
    slow = Watched(engine, ROOMS.replace("seen", "slow"), "slow")
    fast = Watched(engine, ROOMS)
    engine.replace_graph(f"{E}plan", triple("door", "in", "r1"), at=10)
    engine.replace_graph(f"{E}plan", triple("door", "in", "r2"), at=20)
    ann = triple("ann", "at", "door")
    assert [fast.sight(t, ann) for t in (5, 10, 25)] == [["ann r0"], ["ann r1"], ["ann r2"]]
    assert [slow.sight(t, ann) for t in (6, 9, 10, 19, 20, 30)] == [
        ["ann r0"],
        ["ann r0"],
        ["ann r1"],
        ["ann r1"],
        ["ann r2"],
        ["ann r2"],
    ]


def test_instants_of_an_empty_stretch_see_the_graph_of_then(engine: Engine) -> None:
    """Under COMPUTED EVERY they come when an element after the stretch is there, as if it had come at once."""
    engine.replace_graph(f"{E}plan", triple("door", "in", "r0"))
    rooms = Watched(
        engine,
        f"""PREFIX : <{E}> REGISTER RSTREAM :rooms COMPUTED EVERY 10 AS
        SELECT ?room FROM NAMED WINDOW :w ON <{E}seen> [NOW]
        {{ GRAPH :plan {{ ?place :in ?room }} OPTIONAL {{ WINDOW :w {{ ?p :at ?place }} }} }}""",
    )
    engine.replace_graph(f"{E}plan", triple("door", "in", "r1"), at=25)
    engine.replace_graph(f"{E}plan", triple("door", "in", "r2"), at=35)
    ann = triple("ann", "at", "door")
    rooms.stream.push(ann, 5)
    rooms.stream.advance_to(50)
    assert rooms.told == {}
    rooms.stream.push(ann, 55)
    rooms.stream.advance_to(60)
    assert rooms.told == {10: ["r0"], 20: ["r0"], 30: ["r1"], 40: ["r2"], 50: ["r2"]}


def test_an_ordinary_query_sees_changes_whose_time_is_complete(engine: Engine) -> None:
    stream = engine.register_stream(f"{E}seen")
    engine.insert(triple("door", "in", "hall"), at=10)
    selected = engine.select(f"SELECT * {{ ?d <{E}in> ?room }}")
    assert selected.answer().rows() == []
    stream.advance_to(9)
    assert selected.answer().rows() == []
    stream.advance_to(10)
    assert len(selected.answer().rows()) == 1
