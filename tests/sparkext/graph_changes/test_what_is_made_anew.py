"""What a change has made anew, what it leaves as it was, and that it leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.graph_changes.watched import ROOMS, Watched, local, triple
from tests.sparkext.paper_examples.test_rspql_examples import E

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine


def test_only_what_reads_a_changed_table_is_made_anew(engine: Engine) -> None:
    """The other query keeps its plan and its relations; a pattern's table follows row by row, a join is made again."""
    engine.insert("\n".join(triple(f"d{n}", "in", f"r{n % 3}") for n in range(30)))
    engine.insert("\n".join(triple(f"r{n}", "on", f"f{n % 2}") for n in range(3)))
    engine.insert("\n".join(triple(f"p{n}", "likes", f"p{n + 1}") for n in range(9)))
    engine.insert(triple("d1", "in", "attic"), f"{E}plan")
    clause = f"PREFIX : <{E}> SELECT * FROM NAMED WINDOW :w ON <{E}seen> [NOW]"
    floors = Watched(
        engine,
        f"{clause} {{ WINDOW :w {{ ?p :at ?d }} ?d :in ?r . ?r :on ?f . FILTER(?f != :f9) }}",
    )
    liked = Watched(engine, f"{clause} {{ WINDOW :w {{ ?p :at ?d }} ?p :likes ?q }}")
    floors.sight(1, triple("p1", "at", "d1"))
    plans = liked.query.plans, floors.query.plans
    made, edited = engine.parts.relations.made, engine.parts.relations.edited
    engine.insert(triple("p1", "likes", "p5"))
    engine.insert(triple("d1", "in", "cellar"), f"{E}plan")
    assert liked.sight(2, triple("p1", "at", "d1")) == ["p1 d1 p2", "p1 d1 p5"]
    assert floors.query.plans is plans[1]
    assert liked.query.plans is not plans[0]
    assert (engine.parts.relations.made, engine.parts.relations.edited) == (made, edited + 1)
    engine.insert(triple("r1", "on", "f7"))
    again = liked.query.plans
    assert "p1 d1 r1 f7" in floors.sight(3, triple("p1", "at", "d1"))
    assert liked.query.plans is again
    assert engine.parts.relations.made == made + 1  # the join of the two patterns


@pytest.mark.parametrize(
    ("pattern", "is_made_anew", "rows"),
    [
        ("WINDOW :w { ?p :at ?d }", False, 1),
        ("WINDOW :w { ?p :at ?d } GRAPH :plan { ?d :in ?r }", False, 1),
        ("WINDOW :w { ?p :at ?d } GRAPH ?g { ?d :in ?r }", False, 2),
        ("WINDOW :w { ?p :at ?d } GRAPH ?g { SELECT DISTINCT ?d { ?d :in ?r } }", True, 2),
    ],
)
def test_a_new_graph_concerns_what_reads_it_and_what_lists_graphs(
    engine: Engine, pattern: str, is_made_anew: bool, rows: int
) -> None:
    engine.insert(triple("d1", "in", "r1"), f"{E}plan")
    clause = f"PREFIX : <{E}> SELECT * FROM NAMED WINDOW :w ON <{E}seen> [NOW]"
    watched = Watched(engine, f"{clause} {{ {pattern} }}")
    assert len(watched.sight(1, triple("p1", "at", "d1"))) == 1
    plans = watched.query.plans
    engine.insert(triple("a", "on", "b"), f"{E}elsewhere")
    assert len(watched.sight(2, triple("p1", "at", "d1"))) == 1
    assert (watched.query.plans is not plans) == is_made_anew
    engine.insert(triple("d1", "in", "r1"), f"{E}old_plan")
    assert len(watched.sight(3, triple("p1", "at", "d1"))) == rows


def test_a_replacement_by_the_same_changes_nothing(engine: Engine) -> None:
    engine.replace_graph(f"{E}plan", triple("door", "in", "hall") + "\n" + triple("a", "on", "b"))
    rooms = Watched(engine, ROOMS)
    rooms.sight(1, triple("ann", "at", "door"))
    version, plans = engine.store.version, rooms.query.plans
    engine.replace_graph(f"{E}plan", triple("a", "on", "b") + "\n" + triple("door", "in", "hall"))
    assert engine.store.version == version
    engine.replace_graph(f"{E}plan", triple("door", "in", "hall") + "\n" + triple("a", "on", "c"))
    assert engine.store.version == version + 1
    assert rooms.sight(2, triple("ann", "at", "door")) == ["ann hall"]
    assert rooms.query.plans is plans


def test_saved_data_hold_what_was_changed(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    """Terms that only a change brought are saved, too; what is waiting for its time is not."""
    from sparkext import Engine

    (tmp_path / "rooms.nt").write_text(
        triple("door", "in", "hall") + "\n" + triple("gate", "in", "yard")
    )
    engine.load_static(tmp_path / "rooms.nt", graph=f"{E}plan", progress=False)
    engine.remove(triple("door", "in", "hall"), f"{E}plan")
    engine.insert(triple("door", "in", "new"), f"{E}plan")
    engine.insert(f"<< <{E}door> <{E}in> <{E}new> >> <{E}since> <{E}today> .")
    engine.insert(triple("door", "in", "later"), f"{E}plan", at=10)
    engine.save_static(tmp_path / "saved")
    engine.remove(triple("gate", "in", "yard"), f"{E}plan")
    opened = Engine(spark)
    try:
        opened.open_static(tmp_path / "saved", progress=False)
        rooms = Watched(opened, ROOMS)
        seen = (triple("ann", "at", "door"), triple("bob", "at", "gate"))
        assert rooms.sight(20, *seen) == ["ann new", "bob yard"]
        quoted = opened.select(f"SELECT * {{ << ?d <{E}in> ?r >> <{E}since> ?t }}").answer()
        assert [[local(term) for term in row] for row in quoted.rows()] == [
            ["door", "new", "today"]
        ]
    finally:
        opened.close()


@pytest.mark.slow
def test_two_hundred_changes_leave_nothing_behind(engine: Engine, spark: SparkSession) -> None:
    """New terms each time: they, their rows, relations and plans go with the graph that is replaced."""
    rooms = Watched(engine, ROOMS) if engine.store.announce_graph(f"{E}plan") else None
    assert rooms is not None
    jvm = spark.sparkContext._jvm
    assert jvm is not None

    def held() -> tuple[int, int, int]:
        return (
            engine.store.dictionary.streamSize(),
            len(engine.parts.relations),
            engine.parts.relations.memory_bytes(),
        )

    def heap() -> int:
        for _ in range(3):
            jvm.java.lang.System.gc()
        runtime = jvm.java.lang.Runtime.getRuntime()
        return int(runtime.totalMemory() - runtime.freeMemory())

    marks = {}
    for number in range(1, 201):
        lines = [triple(f"door{n}", "in", f"room{number}x{n}") for n in range(20)]
        engine.replace_graph(f"{E}plan", "\n".join(lines), at=10 * number)
        seen = rooms.sight(10 * number, triple("ann", "at", "door3"))
        assert seen == [f"ann room{number}x3"]
        if number in (100, 200):
            marks[number] = (held(), heap())
    assert marks[100][0] == marks[200][0]
    assert marks[200][1] - marks[100][1] < 16 << 20
