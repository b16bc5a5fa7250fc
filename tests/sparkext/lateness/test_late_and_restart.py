"""What a checkpoint keeps of streams that say how late elements may come."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import CqelsError
from tests.sparkext.listening import E, S, T, listen, query, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def test_an_engine_with_a_checkpoint_corrects_nothing(spark: SparkSession, tmp_path: Path) -> None:
    from sparkext import Engine

    with closing(Engine(spark, checkpoint=str(tmp_path / "checkpoint"))) as engine:
        with pytest.raises(CqelsError, match=r'late: <http://e/s> cannot correct.*late="hold"'):
            engine.register_stream(S, allowed_lateness=5, late="correct")
        assert S not in engine.streams
