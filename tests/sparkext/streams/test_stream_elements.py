"""Elements of streams: out of order, late, malformed, their blank nodes, and what leaves with them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.oracle.evaluation import evaluations, static_store
from tests.oracle.recorded import Element, element
from tests.sparkext.listening import PROV_TIME, E, S, listen, query, settings, triple
from tests.sparkext.replay import by_instant, check, replay, stream_element

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine


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
