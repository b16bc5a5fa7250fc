"""What a checkpoint keeps of streams that say how late elements may come."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import EvaluationError
from tests.sparkext.listening import E, S, T, listen, query, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

AT = "WINDOW :w { ?x :at ?y }"


def test_lateness_and_late_streams_are_taken_up_again(spark: SparkSession, tmp_path: Path) -> None:
    from sparkext import Engine

    folder = str(tmp_path / "checkpoint")
    late = query(AT, "[RANGE 5]", "?x").replace("ON :s", "ON :t")
    with closing(Engine(spark, checkpoint=folder)) as engine:
        stream = engine.register_stream(S, allowed_lateness=5, late_stream=T)
        engine.register_query(late, name="late")
        listen(engine, query(AT, "[RANGE 5]", "?x"), "on time")
        for who, time in (("a", 10), ("b", 20), ("c", 3)):
            stream.push(triple(who, "at", "room"), time=time)
    with closing(Engine(spark, checkpoint=folder)) as engine:
        assert sorted(engine.restore()) == ["late", "on time"]
        stream = engine.stream(S)
        assert (stream.lateness.allowed, stream.lateness.late_stream) == (5, T)
        assert stream.late_count == 1
        heard: dict[str, list[tuple[int, list[str]]]] = {"late": [], "on time": []}
        for name, told in heard.items():
            engine.queries[name].subscribe(
                lambda a, told=told: told.append(
                    (a.time, sorted(r["x"][len(E) + 1 : -1] for r in a))
                )
            )
        assert stream.push(triple("d", "at", "room"), time=16).accepted == 1
        assert stream.push(triple("e", "at", "room"), time=9).late == 1
        engine.finish()
        assert heard == {
            "late": [(20, ["c", "e"])],
            "on time": [(16, ["d"]), (20, ["b", "d"])],
        }


def test_what_was_told_is_found_again(spark: SparkSession, tmp_path: Path) -> None:
    """A late element after a restart corrects what was told before it, with the next revision."""
    from sparkext import Engine

    folder = str(tmp_path / "checkpoint")
    told: list[tuple[int, int, list[str], list[str]]] = []

    def note(answers: Answers) -> None:
        added, removed = getattr(answers, "added", None), getattr(answers, "removed", None)
        told.append((answers.time, answers.revision, names(added), names(removed)))

    def begun() -> Engine:
        engine = Engine(spark, checkpoint=folder)
        engine.register_stream(S, allowed_lateness=10, late="correct")
        engine.register_query(query(AT, "[RANGE 5]", "?x", "ISTREAM"), name="new").subscribe(note)
        return engine

    with closing(begun()) as engine:
        stream = engine.stream(S)
        for who, time in (("a", 10), ("b", 12), ("c", 18), ("late", 11)):
            stream.push(triple(who, "at", "room"), time=time)
        assert told[-1] == (11, 0, ["late"], [])
        told.clear()
    with closing(begun()) as engine:
        stream = engine.stream(S)
        assert (stream.watermark.complete_up_to, stream.watermark.final.complete_up_to) == (17, 7)
        assert stream.push(triple("x", "at", "room"), time=7).late == 1
        assert stream.push(triple("late", "at", "room"), time=9).accepted == 1
        assert told == [(9, 0, ["late"], []), (11, 1, [], ["late"])]
        assert stream.push(triple("d", "at", "room"), time=20).accepted == 1
        assert told[2:] == [(18, 0, [], [])]


def test_a_stream_may_be_registered_otherwise_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What was told while nothing corrected is final, and what was told before elements were held back."""
    from sparkext import Engine

    folder = str(tmp_path / "checkpoint")
    for late, time in (("hold", 20), ("correct", 40), ("hold", 60)):
        with closing(Engine(spark, checkpoint=folder)) as engine:
            stream = engine.register_stream(S, allowed_lateness=5, late=late)
            heard = listen(engine, query(AT, "[RANGE 5]", "?x", "ISTREAM"), "new")
            for moment in (time, time + 2, time + 10):
                stream.push(triple(f"x{moment}", "at", "room"), time=moment)
            at = [(a.time, len(a)) for a in heard]
            assert at[-2:] == [(time, 1), (time + 2, 1)], late


def test_what_was_told_to_an_instance_that_has_ended_is_left_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The rows of an instant whose correction failed are in the commit, with whose they are."""
    from sparkext import Engine

    with closing(Engine(spark, checkpoint=str(tmp_path / "checkpoint"))) as engine:
        stream = engine.register_stream(S, allowed_lateness=10, late="correct")
        for n in range(3):
            text = query(f"WINDOW :w {{ ?x :at :r{n} }}", "[RANGE 5]", "?x")
            engine.register_query(text, name=f"q{n}")
        assert len(engine._registered.evaluated) == 2  # the first is evaluated by itself
        for time, room in ((10, "r1"), (11, "r2"), (12, "r2")):
            stream.push(triple(f"x{time}", "at", room), time=time)
        folder = Path(engine.room.scratch)
        away = folder.rename(folder.with_name(f"{folder.name}-away"))
        with pytest.raises(EvaluationError, match="NoSuchFile"):
            stream.push(triple("late", "at", "r2"), time=9)
        away.rename(folder)
        engine.stop_query("q1")
        engine.commit()


def names(table: object) -> list[str]:
    return (
        [] if table is None else sorted(t[len(E) + 1 : -1] for t in table.column("x").to_pylist())
    )  # type: ignore[attr-defined]
