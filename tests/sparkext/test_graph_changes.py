"""Static graphs that change at a time: what evaluations before, at and after it see, and what is made anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.recorded import element
from tests.sparkext.test_rspql_examples import COUPON, EXAMPLE_10, NEARBY, SHOPS, W1, E

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

BOB = f"<{E}b> <{E}type> <{E}Shop> .\n<{E}bob> <{E}owns> <{E}b> ."


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine without data."""
    from sparkext import Engine

    made = Engine(spark)
    yield made
    made.close()


def triple(subject: str, predicate: str, object_: str | int) -> str:
    shown = f"<{E}{object_}>"
    if isinstance(object_, int):
        shown = f'"{object_}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    return f"<{E}{subject}> <{E}{predicate}> {shown} ."


# -- the worked example of the RSP-QL paper -----------------------------------------------------------


def shops_over_time(engine: Engine) -> None:
    """G_shops of Example 4: empty before 2, all of it from 2 to 13, Bob's shop alone after that."""
    engine.replace_graph(None, SHOPS, at=2)
    engine.replace_graph(None, BOB, at=14)


def coupons(engine: Engine, operator: str, extra: Sequence[str] = ()) -> dict[int, list[str]]:
    """Example 10 by instant, each answer as shopper, shop, owner and coupon."""
    nearby, coupon = f"{E}nearby", f"{E}coupon"
    for iri in (nearby, coupon):
        engine.register_stream(iri)
    query = engine.register_query(
        f"""PREFIX : <{E}> REGISTER {operator} :q AS SELECT ?shopper ?shop ?shop_owner ?coupon
        FROM NAMED WINDOW :w1 ON <{nearby}> {W1}
        FROM NAMED WINDOW :w2 ON <{coupon}> [RANGE 2 STEP 2] {{ {EXAMPLE_10} }}"""
    )
    told: dict[int, list[str]] = {}

    def note(answers: object) -> None:
        rows = answers.rows()  # type: ignore[attr-defined]
        told[answers.time] = sorted(" ".join(map(local, row)) for row in rows)  # type: ignore[attr-defined]

    query.subscribe(note)
    added = [element(15, line) for line in extra]
    every = [(e, nearby) for e in NEARBY] + [(e, coupon) for e in [*COUPON, *added]]
    for pushed, iri in sorted(every, key=lambda pair: pair[0].time):
        engine.stream(iri).push("\n".join(pushed.triples), pushed.time)
    engine.finish()
    return {time: rows for time, rows in told.items() if rows}


def local(term: str | None) -> str:
    return str(term).removeprefix(f"<{E}").rstrip(">").strip('"')


def test_example_10_over_the_graph_that_changes(engine: Engine) -> None:
    shops_over_time(engine)
    assert coupons(engine, "RSTREAM") == {
        8: ["carl a alice 10%", "eve a alice 10%"],
        16: ["diana b bob free"],
    }


def test_example_10v_alice_has_left(engine: Engine) -> None:
    """She offers something at 15, but owns no shop after 13."""
    shops_over_time(engine)
    offer = f'<{E}alice> <{E}offers> "x" .'
    assert coupons(engine, "RSTREAM", [offer])[16] == ["diana b bob free"]


def test_example_10_before_there_is_a_shop(engine: Engine) -> None:
    engine.replace_graph(None, SHOPS, at=9)
    assert coupons(engine, "RSTREAM") == {16: ["diana b bob free"]}


# -- when a change is seen ----------------------------------------------------------------------------

ROOMS = f"""PREFIX : <{E}> SELECT ?p ?room FROM NAMED WINDOW :w ON <{E}seen> [NOW]
  {{ WINDOW :w {{ ?p :at ?place }} GRAPH :plan {{ ?place :in ?room }} }}"""


class Watched:
    """A query over sightings whose answers are kept by instant."""

    def __init__(self, engine: Engine, text: str, stream: str = "seen") -> None:
        self.stream = engine.register_stream(f"{E}{stream}")
        self.query = engine.register_query(text)
        self.told: dict[int, list[str]] = {}
        self.query.subscribe(
            lambda a: self.told.__setitem__(
                a.time, sorted(" ".join(map(local, row)) for row in a.rows())
            )
        )

    def sight(self, time: int, *lines: str) -> list[str]:
        self.stream.push("\n".join(lines), time)
        self.stream.advance_to(time)
        return self.told[time]


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


def test_an_ordinary_query_sees_changes_whose_time_is_complete(engine: Engine) -> None:
    stream = engine.register_stream(f"{E}seen")
    engine.insert(triple("door", "in", "hall"), at=10)
    selected = engine.select(f"SELECT * {{ ?d <{E}in> ?room }}")
    assert selected.answer().rows() == []
    stream.advance_to(9)
    assert selected.answer().rows() == []
    stream.advance_to(10)
    assert len(selected.answer().rows()) == 1


def test_what_is_malformed_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    from static_data.errors import MalformedRdfError, MissingFileError, StaticDataError

    with pytest.raises(MalformedRdfError, match="line 2, column"):
        engine.insert(triple("a", "b", "c") + "\n<a> nonsense .", at=5)
    with pytest.raises(MissingFileError):
        engine.replace_graph(None, tmp_path / "none.nt", at=5)
    with pytest.raises(StaticDataError, match="blank node"):
        engine.remove("_:x <http://e/p> <http://e/o> .")
    assert engine.graph_versions.waiting_count == 0
    assert engine.store.version == 0
