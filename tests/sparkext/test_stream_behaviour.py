"""How streams behave around a query: order, lateness, faults, several streams, queries that come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import evaluations, static_store
from tests.oracle.recorded import Element, element
from tests.sparkext.replay import by_instant, check, replay, stream_element

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answers import Answers

E = "http://e/"
S, T = f"{E}s", f"{E}t"
PROV_TIME = "http://www.w3.org/ns/prov#generatedAtTime"


def triple(subject: str, predicate: str, object_: str) -> str:
    return f"<{E}{subject}> <{E}{predicate}> <{E}{object_}> ."


def query(
    pattern: str, windows: str = "[RANGE 10]", select: str = "*", operator: str = "RSTREAM"
) -> str:
    """A query over window :w on stream :s; further windows of stream :t are :v."""
    first, _, second = windows.partition(" and ")
    declared = f"FROM NAMED WINDOW :w ON :s {first}\n"
    if second:
        declared += f"FROM NAMED WINDOW :v ON :t {second}\n"
    return (
        f"PREFIX : <{E}>\nREGISTER {operator} :q AS SELECT {select}\n{declared}"
        f"WHERE {{ {pattern} }}"
    )


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """Engines made inside have these spark.cqels settings."""
    for key, value in values.items():
        spark.conf.set(f"spark.cqels.{key}", value)
    try:
        yield
    finally:
        for key in values:
            spark.conf.unset(f"spark.cqels.{key}")


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine without data."""
    from sparkext import Engine

    made = Engine(spark)
    yield made
    made.close()


def listen(engine: Engine, text: str, name: str | None = None) -> list[Answers]:
    """Register a query; the list fills with its answers."""
    heard: list[Answers] = []
    engine.register_query(text, name=name).subscribe(heard.append)
    return heard


def test_elements_out_of_order_within_the_lateness_are_as_good_as_in_order(
    spark: SparkSession,
) -> None:
    from sparkext import Engine

    arrivals = [(3, "a"), (1, "b"), (6, "a"), (4, "c"), (9, "b"), (8, "a"), (5, "a"), (12, "c")]
    elements = [element(t, triple(who, "at", "room")) for t, who in arrivals]
    with settings(spark, allowedLateness="4"):
        engine = Engine(spark)
    stream = engine.register_stream(S)
    texts = [
        query("WINDOW :w { ?x :at ?y }", window) for window in ("[RANGE 3]", "[RANGE 4 STEP 2]")
    ]
    heard = [listen(engine, text, str(n)) for n, text in enumerate(texts)]
    for e in elements:
        assert stream.push_elements([stream_element(e)]).late == 0
    engine.finish()
    for text, answers in zip(texts, heard, strict=True):
        assert by_instant(answers) == evaluations(text, {S: elements}, static_store())
    assert (stream.accepted_count, stream.late_count) == (8, 0)
    engine.close()


def test_late_elements_are_counted_and_not_answered(engine: Engine) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y }"))
    stream.push(triple("a", "at", "room"), time=10)
    report = stream.push(triple("b", "at", "room"), time=9)
    assert (report.accepted, report.late) == (0, 1)
    # One batch may hold both: what is late and what is not.
    batch = [element(8, triple("c", "at", "room")), element(11, triple("d", "at", "room"))]
    report = stream.push_elements([stream_element(e) for e in batch])
    assert (report.accepted, report.late) == (1, 1)
    engine.finish()
    assert stream.late_count == 2
    assert [(a.time, sorted(row["x"] for row in a)) for a in heard] == [
        (10, [f"<{E}a>"]),
        (11, [f"<{E}a>", f"<{E}d>"]),
    ]


def test_a_malformed_element_is_set_aside_as_a_whole(engine: Engine) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y }", select="?x"))
    good = element(5, triple("a", "at", "room"))
    bad = element(5, triple("b", "at", "room"), f'<{E}c> "at" <{E}room> .')
    report = stream.push_elements([stream_element(e) for e in (bad, good)])
    assert (report.accepted, report.malformed) == (1, 1)
    assert stream.malformed_count == 1
    assert "5 ms" in stream.set_aside[0]
    engine.finish()
    assert by_instant(heard) == {5: Counter({(f"<{E}a>",): 1})}


def test_a_malformed_element_does_not_make_others_late(engine: Engine) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y }", select="?x"))
    assert stream.push("<no triple", time=1_000_000).malformed == 1
    assert stream.push(triple("a", "at", "room"), time=5).accepted == 1
    engine.finish()
    assert by_instant(heard) == {5: Counter({(f"<{E}a>",): 1})}


def test_blank_nodes_belong_to_their_element(engine: Engine) -> None:
    elements = [
        element(1, f"_:b <{E}p> <{E}one> .", f"_:b <{E}q> <{E}x> ."),
        element(2, f"_:b <{E}p> <{E}two> ."),
        element(3, f"_:b <{E}q> <{E}y> ."),
    ]
    joined = query("WINDOW :w { ?b :p ?p . ?b :q ?q }", select="?p ?q")
    alone = query("WINDOW :w { ?b ?p ?o } FILTER(isBlank(?b))")
    both, _ = check(engine, [joined, alone], {S: elements}, static_store())
    assert both[3] == Counter({(f"<{E}one>", f"<{E}x>"): 1})


def test_blank_nodes_of_two_streams_are_different(engine: Engine) -> None:
    other = f"{E}other"
    streams = {
        S: [element(1, f"_:b <{E}p> <{E}one> .")],
        other: [element(1, f"_:b <{E}q> <{E}x> .")],
    }
    text = (
        f"PREFIX : <{E}>\nREGISTER RSTREAM :q AS SELECT ?p ?q\n"
        f"FROM NAMED WINDOW :w ON <{S}> [RANGE 5] FROM NAMED WINDOW :v ON <{other}> [RANGE 5]\n"
        "WHERE { WINDOW :w { ?b :p ?p } WINDOW :v { ?c :q ?q } FILTER(?b = ?c) }"
    )
    same, different = text, text.replace("?b = ?c", "?b != ?c").replace(":q AS", ":d AS")
    joined, apart = check(engine, [same, different], streams, static_store())
    assert joined[1] == Counter()
    assert apart[1] == Counter({(f"<{E}one>", f"<{E}x>"): 1})


def test_time_triples_are_seen_in_a_window(engine: Engine) -> None:
    elements = [
        Element(
            t,
            (triple(who, "at", "room"),),
            f"{E}g{t}",
            (
                f'<{E}g{t}> <{PROV_TIME}> "{t}"^^<http://www.w3.org/2001/XMLSchema#integer> .',
                triple(f"g{t}", "from", "sensor"),
            ),
        )
        for t, who in ((1, "a"), (4, "b"), (9, "a"))
    ]
    texts = [
        query(f"WINDOW :w {{ ?x :at ?y . ?g <{PROV_TIME}> ?t }}", "[RANGE 5]"),
        query(f"WINDOW :w {{ ?g :from ?sensor . ?g <{PROV_TIME}> ?t FILTER(?t > 3) }}"),
        query("WINDOW :w { ?s ?p ?o }", "[NOW]"),
    ]
    answered, *_ = check(engine, texts, {S: elements}, static_store())
    assert answered[4].total() == 4


def test_a_triple_counts_once_and_leaves_with_its_last_sighting(engine: Engine) -> None:
    here = triple("a", "at", "room")
    elements = [element(1, here, here), element(3, here), element(3, here), element(9, here)]
    elements.append(element(20, triple("b", "at", "room")))
    text = query("WINDOW :w { ?x :at ?y }", "[RANGE 4]", "(COUNT(*) AS ?n)")
    stepped = query("WINDOW :w { ?x :at ?y }", "[RANGE 6 STEP 2]")
    answered, _ = check(engine, [text, stepped], {S: elements}, static_store())
    one = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert answered == {t: Counter({(one,): 1}) for t in (1, 3, 9, 20)}


def test_queries_come_and_go_while_the_stream_runs(engine: Engine) -> None:
    stream = engine.register_stream(S)
    text = query("WINDOW :w { ?x :at ?y }", "[RANGE 4]", "?x")
    elements = [element(t, triple(f"x{t}", "at", "room")) for t in range(1, 13)]
    first = listen(engine, text, "first")
    second: list[Answers] = []
    for e in elements:
        if e.time == 5:
            second = listen(engine, text, "second")
        if e.time == 9:
            engine.queries["first"].stop()
        stream.push_elements([stream_element(e)])
    assert list(engine.queries) == ["second"]
    engine.finish()
    expected = evaluations(text, {S: elements}, static_store())
    assert by_instant(first) == {t: expected[t] for t in range(1, 8)}
    # What was pushed before a registration may or may not be in its windows; four instants later it is gone.
    heard = by_instant(second)
    assert list(heard)[-5:] == list(range(8, 13))
    assert {t: heard[t] for t in range(8, 13)} == {t: expected[t] for t in range(8, 13)}


def test_a_name_is_free_again_when_its_query_was_stopped(engine: Engine) -> None:
    from sparkext.errors import DuplicateNameError

    engine.register_stream(S)
    made = engine.register_query(query("WINDOW :w { ?x :at ?y }"))
    with pytest.raises(DuplicateNameError):
        engine.register_query(query("WINDOW :w { ?x :at ?y }"))
    made.stop()
    assert engine.register_query(query("WINDOW :w { ?x :at ?y }")).name == f"{E}q"


def test_queries_that_share_windows_answer_as_if_alone(engine: Engine) -> None:
    elements = [element(t, triple(f"x{t % 3}", "at", f"r{t % 2}")) for t in (1, 2, 2, 5, 6, 9, 14)]
    texts = [
        query("WINDOW :w { ?x :at ?y }", "[RANGE 4]"),
        query("WINDOW :w { ?x :at :r0 }", "[RANGE 4]"),
        query("WINDOW :w { ?x :at ?y }", "[RANGE 4]", operator="ISTREAM"),
        query("WINDOW :w { ?x ?p :r1 }", "[RANGE 4]").replace(":q AS", ":q COMPUTED EVERY 2 AS"),
        query("WINDOW :w { ?x :at ?y }", "[RANGE 4 STEP 3]"),
    ]
    check(engine, texts, {S: elements}, static_store(), batch=3)


def test_a_query_that_waits_for_a_stream_shares_a_window_with_one_that_does_not(
    engine: Engine,
) -> None:
    first, second = engine.register_stream(S), engine.register_stream(T)
    alone = query("WINDOW :w { ?x :at ?y }", "[RANGE 4]")
    joined = query("WINDOW :w { ?x :at ?y } WINDOW :v { ?x :sees ?z }", "[RANGE 4] and [RANGE 6]")
    heard = [listen(engine, alone, "alone"), listen(engine, joined, "joined")]
    streams = {
        S: [element(t, triple(f"x{t % 3}", "at", "room")) for t in range(1, 12)],
        T: [element(t, triple(f"x{t % 3}", "sees", "y")) for t in (2, 5, 7, 10)],
    }
    for e in streams[S]:
        first.push_elements([stream_element(e)])
    assert [len(answers) for answers in heard] == [10, 0]
    for e in streams[T]:
        second.push_elements([stream_element(e)])
    engine.finish()
    for text, answers in zip((alone, joined), heard, strict=True):
        assert by_instant(answers) == evaluations(text, streams, static_store())


def test_instants_wait_for_the_slowest_stream(engine: Engine) -> None:
    first, second = engine.register_stream(S), engine.register_stream(T)
    heard = listen(
        engine, query("WINDOW :w { ?x :at ?y } WINDOW :v { ?x :at ?z }", "[NOW] and [RANGE 9]")
    )
    for t in (1, 2, 3):
        first.push(triple("a", "at", "room"), time=t)
    assert heard == []
    second.push(triple("a", "at", "hall"), time=2)
    assert [(a.time, len(a)) for a in heard] == [(1, 0)]
    second.advance_to(2)
    assert [(a.time, len(a)) for a in heard] == [(1, 0), (2, 1)]
    engine.advance_to(7)
    assert [(a.time, len(a)) for a in heard] == [(1, 0), (2, 1), (3, 1)]


@pytest.mark.parametrize("kinds", ["[NOW] and [RANGE 5]", "[RANGE 4 STEP 2] and [RANGE 3]"])
def test_two_streams_are_answered_as_by_the_oracle(engine: Engine, kinds: str) -> None:
    streams = {
        S: [element(t, triple(f"x{t % 3}", "at", "room")) for t in (1, 2, 4, 7, 8, 12)],
        T: [element(t, triple(f"x{t % 2}", "at", "hall")) for t in (2, 3, 7, 9)],
    }
    pattern = "WINDOW :w { ?x :at ?y } WINDOW :v { ?x :at ?z }"
    (answered,) = check(engine, [query(pattern, kinds)], streams, static_store())
    assert any(answered.values())


@pytest.mark.parametrize(
    ("window", "instants"),
    [
        ("[RANGE 4]", [6, 9, 12]),
        ("[NOW]", [6, 9]),
        ("[RANGE 4 STEP 3]", [6, 9]),
        ("[RANGE 4 STEP 3 STARTING AT 1]", [7, 10]),
    ],
)
def test_computed_every_runs_from_the_first_element_to_the_last_close(
    engine: Engine, window: str, instants: list[int]
) -> None:
    elements = [element(t, triple(f"x{t}", "at", "room")) for t in (5, 6, 9)]
    text = query("WINDOW :w { ?x :at ?y }", window).replace(":q AS", ":q COMPUTED EVERY 3 AS")
    (answered,) = check(engine, [text], {S: elements}, static_store())
    assert list(answered) == instants


def test_a_failing_subscriber_harms_nobody(engine: Engine) -> None:
    stream = engine.register_stream(S)

    def fail(answers: Answers) -> None:
        raise RuntimeError("no")

    made = engine.register_query(query("WINDOW :w { ?x :at ?y }"), name="first")
    made.subscribe(fail)
    heard: list[Answers] = []
    made.subscribe(heard.append)
    other = listen(engine, query("WINDOW :w { ?x :at ?y }"), "second")
    for t in (1, 2):
        stream.push(triple("a", "at", "room"), time=t)
    engine.finish()
    assert [a.time for a in heard] == [a.time for a in other] == [1, 2]
    assert (made.progress.subscriber_failures, made.progress.failures) == (2, 0)


def test_a_subscriber_may_push_into_the_stream_it_hears_of(engine: Engine) -> None:
    stream = engine.register_stream(S)
    text = query("WINDOW :w { ?x :at ?y }", "[RANGE 4]")
    elements = [element(t, triple(f"x{t}", "at", "room")) for t in range(1, 9)]

    def push_more(answers: Answers) -> None:
        if answers.time == 1:
            stream.push_elements([stream_element(e) for e in elements[2:]])

    heard = [listen(engine, text, "first"), listen(engine, text, "second")]
    # The others have been asked what is due, and said nothing more, when the last one's subscriber pushes.
    engine.register_query(text, name="last").subscribe(push_more)
    stream.push_elements([stream_element(e) for e in elements[:2]])
    engine.finish()
    expected = evaluations(text, {S: elements}, static_store())
    assert [by_instant(answers) for answers in heard] == [expected, expected]


def test_periodic_queries_lag_without_harm_to_those_that_share_their_windows(
    engine: Engine,
) -> None:
    """Periods of an empty stretch come out when an element after it is complete; other queries go on meanwhile."""
    elements = [element(t, triple(f"x{t}", "at", "room")) for t in (1, 8, 9, 11, 18, 19, 22)]
    gaps = "[RANGE 2 STEP 5]"
    texts = [
        query("WINDOW :w { ?x :at ?y }", gaps).replace(":q AS", ":q COMPUTED EVERY 1 AS"),
        query("WINDOW :w { ?x :at ?y } WINDOW :v { ?x :at ?z }", f"{gaps} and [NOW]"),
    ]
    texts[1] = texts[1].replace("ON :t", "ON :s")
    check(engine, texts, {S: elements}, static_store())


def test_a_subscriber_may_push_and_stop_and_register(engine: Engine) -> None:
    stream, derived = engine.register_stream(S), engine.register_stream(T)
    late: list[Answers] = []

    def forward(answers: Answers) -> None:
        for row in answers:
            derived.push(f"{row['x']} <{E}was> <{E}here> .", time=answers.time)
        if answers.time == 2:
            engine.register_query(query("WINDOW :w { ?x :at ?y }", "[NOW]"), name="new").subscribe(
                late.append
            )
        if answers.time == 3:
            engine.stop_query("source")

    engine.register_query(query("WINDOW :w { ?x :at ?y }", "[NOW]"), name="source").subscribe(
        forward
    )
    heard = listen(
        engine, query("WINDOW :w { ?x :was ?y }", "[NOW]").replace("ON :s", "ON :t"), "derived"
    )
    for t in range(1, 6):
        stream.push(triple(f"x{t}", "at", "room"), time=t)
    engine.finish()
    assert [a.time for a in heard] == [1, 2, 3]
    assert [a.time for a in late] == [3, 4, 5] or [a.time for a in late] == [4, 5]


def test_static_data_loaded_later_is_seen_by_the_next_evaluation(
    engine: Engine, tmp_path: Path
) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y } ?x :name ?n", "[NOW]", "?n"))
    for t, name in ((1, "one"), (3, "two")):
        stream.push(triple("a", "at", "room"), time=t)
        stream.advance_to(t)
        path = tmp_path / f"{name}.nt"
        path.write_text(f'<{E}a> <{E}name> "{name}" .\n')
        engine.load_static(path, progress=False)
    stream.push(triple("a", "at", "room"), time=5)
    engine.finish()
    assert [(a.time, sorted(row["n"] for row in a)) for a in heard] == [
        (1, []),
        (3, ['"one"']),
        (5, ['"one"', '"two"']),
    ]


def test_istream_and_dstream_tell_a_mapping_once(engine: Engine) -> None:
    """Definitions 21 and 22 of RSP-QL are about membership: multiplicity makes nothing new."""
    elements = [
        element(1, triple("a", "at", "r1")),
        element(2, triple("a", "at", "r2"), triple("b", "at", "r1"), triple("b", "at", "r2")),
        element(20, triple("c", "at", "r1")),
    ]
    texts = [
        query("WINDOW :w { ?x :at ?y }", select="?x", operator=o) for o in ("ISTREAM", "DSTREAM")
    ]
    entered, left = check(engine, texts, {S: elements}, static_store())
    assert entered[2] == Counter({(f"<{E}b>",): 1})
    assert left[20] == Counter({(f"<{E}a>",): 1, (f"<{E}b>",): 1})


def test_terms_leave_the_dictionary_with_the_windows_that_hold_them(engine: Engine) -> None:
    stream = engine.register_stream(S)
    listen(engine, query("WINDOW :w { ?x :at ?y }", "[RANGE 4]"))
    sizes = []
    for t in range(1, 60):
        stream.push(triple(f"new{t}", "at", f"room{t}"), time=t)
        sizes.append(engine.store.dictionary.streamSize())
    assert max(sizes[30:]) <= max(sizes[:15])


def test_pushing_at_once_or_one_by_one_gives_the_same(engine: Engine) -> None:
    text = query("WINDOW :w { ?x :at ?y }", "[RANGE 5 STEP 2]")
    answers: list[object] = []
    for n, size in enumerate((1, 2, 50)):
        iri = f"{S}{n}"
        elements = [element(t, triple(f"x{t % 4}", "at", "r")) for t in (1, 1, 3, 4, 9, 17, 18)]
        ((_, answered),) = replay(
            engine, [text.replace("ON :s", f"ON <{iri}>")], {iri: elements}, size
        )
        answers.append(answered)
    assert answers[0] == answers[1] == answers[2]
