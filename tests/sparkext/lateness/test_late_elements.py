"""The side stream of elements that come too late: who is told of them, and a stream of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sparkext.errors import DuplicateNameError, StreamElementError
from sparkext.recorded_streams import StreamElement
from static_data.terms import Iri
from tests.sparkext.listening import PROV_TIME, E, S, T, listen, query, triple

if TYPE_CHECKING:
    from sparkext import Engine

AT = "WINDOW :w { ?x :at ?y }"


@pytest.mark.parametrize("late", ["hold", "correct"])
def test_whoever_subscribes_is_told_of_all(engine: Engine, late: str) -> None:
    stream = engine.register_stream(S, allowed_lateness=5, late=late)
    heard: list[StreamElement] = []
    leave = stream.subscribe_late(heard.append)
    stream.push(triple("a", "at", "room"), time=1000)
    dated = f"{E}g"
    element = StreamElement(
        900,
        f"<{dated}>",
        (triple("b", "at", "room"), f'_:b <{E}near> "x\\ny"@en .'),
        f'<{dated}> <{PROV_TIME}> "900"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        (f"<{dated}> <{E}from> << <{E}a> <{E}at> <{E}room> >> .",),
    )
    many = [StreamElement(n, None, (triple(f"x{n}", "at", "room"),)) for n in range(500)]
    assert stream.push_elements([element, *many]).late == 501
    assert [e.time_ms for e in heard] == [*range(500), 900]
    told = heard[-1]
    assert told.graph == element.graph
    assert told.triples[0] == element.triples[0]
    assert told.triples[1].startswith("_:") and told.triples[1].endswith(' "x\\ny"@en .')
    assert {told.about[0], told.about[1]} == {element.time_triple, element.about[0]}
    assert stream.late == tuple(heard)
    leave()
    stream.push(triple("c", "at", "room"), time=3)
    assert len(heard) == 501 and len(stream.late) == stream.late_count == 502


def test_the_newest_are_kept_where_nobody_listens(engine: Engine) -> None:
    stream = engine.register_stream(S)
    stream.push(triple("a", "at", "room"), time=100_000)
    many = [StreamElement(n, None, (triple(f"x{n}", "at", "room"),)) for n in range(5000)]
    stream.push_elements(many)
    assert [e.time_ms for e in stream.late] == [*range(4900, 5000)]
    for _ in range(20):
        stream.push_elements(many[:100])
    assert len(stream.late) == 1000
    assert stream.late_count == 7000
    sizes = engine.store.dictionary.streamSize()
    stream.push_elements(many)
    assert engine.store.dictionary.streamSize() == sizes  # they hold nothing


def test_rows_of_tables_that_come_too_late_are_told(engine: Engine) -> None:
    stream = engine.register_stream(S)
    stream.push(triple("a", "at", "room"), time=100)
    table = pa.table({"subject": [f"{E}x", f"{E}y"], "object": [1, 2], "time": [50, 200]})
    assert stream.push_table(table, predicate=Iri(f"{E}value"), graph=None).late == 1
    (late,) = stream.late
    assert late.triples == (f'<{E}x> <{E}value> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .',)


def test_a_subscriber_that_fails_is_not_the_streams(engine: Engine) -> None:
    stream = engine.register_stream(S)
    heard: list[StreamElement] = []
    stream.subscribe_late(lambda element: 1 / 0)
    stream.subscribe_late(heard.append)
    stream.push(triple("a", "at", "room"), time=100)
    assert stream.push(triple("b", "at", "room"), time=50).late == 1
    assert len(heard) == 1


def test_a_late_stream_has_them_at_the_time_of_their_arrival(engine: Engine) -> None:
    stream = engine.register_stream(S, allowed_lateness=2, late="correct", late_stream=T)
    on_time = listen(engine, query(AT, "[RANGE 5]", "?x"), "on time")
    text = query(AT, "[RANGE 5]", "?x").replace("ON :s", "ON :t")
    late = listen(engine, text, "late")
    for who, time in (("a", 10), ("b", 5), ("c", 12), ("d", 7), ("e", 11), ("f", 20)):
        stream.push(triple(who, "at", "room"), time=time)
    found = [(a.time, sorted(row["x"][len(E) + 1 : -1] for row in a)) for a in late]
    assert found == [(10, ["b"]), (12, ["b", "d"])]
    assert [a.time for a in on_time] == [10, 11, 12]
    engine.finish()
    assert engine.stream(T).late_count == 0
    assert engine.stream(T).accepted_count == stream.late_count == 2
    stream.push(triple("g", "at", "room"), time=30)
    assert stream.late_count == 3  # both streams have ended
    with pytest.raises(StreamElementError, match="those that come too late on <http://e/s>"):
        engine.stream(T).push(triple("b", "at", "room"), time=100)


def test_a_late_stream_is_joined_with_its_own(engine: Engine) -> None:
    """Without anything late, nobody waits for it."""
    stream = engine.register_stream(S, late_stream=T)
    text = query(
        f"{AT} OPTIONAL {{ WINDOW :v {{ ?z :at ?y }} }}", "[RANGE 5] and [RANGE 100]", "?x ?z"
    )
    heard = listen(engine, text)
    for who, time in (("a", 10), ("b", 12), ("c", 14)):
        stream.push(triple(who, "at", "room"), time=time)
    assert [a.time for a in heard] == [10, 12]
    stream.push(triple("late", "at", "room"), time=2)
    stream.push(triple("d", "at", "room"), time=20)
    assert [a.time for a in heard] == [10, 12, 14]
    assert {row.get("z") for row in heard[-1]} == {f"<{E}late>"}


@pytest.mark.parametrize("allowed", [0, 30])
def test_a_query_over_a_late_stream_alone_is_evaluated_when_it_is_due(
    engine: Engine, allowed: int
) -> None:
    stream = engine.register_stream(S, allowed_lateness=allowed, late="hold", late_stream=T)
    late = listen(engine, query(AT, "[RANGE 10 STEP 10]", "?x").replace("ON :s", "ON :t"))
    for who, time in (("a", 100), ("b", 50), ("c", 120)):
        stream.push(triple(who, "at", "room"), time=time)
    assert [(a.time, a.rows()) for a in late if len(a)] == [(100, [(f"<{E}b>",)])]


def test_a_late_stream_must_be_new(engine: Engine) -> None:
    engine.register_stream(T)
    for iri in (S, T):
        with pytest.raises(DuplicateNameError, match="late_stream"):
            engine.register_stream(S, late_stream=iri)
