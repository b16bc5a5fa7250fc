"""How streams behave around queries: several of both, queries that come and go, subscribers that fail or push."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import evaluations, static_store
from tests.oracle.recorded import element
from tests.sparkext.listening import E, S, T, listen, query, triple
from tests.sparkext.replay import by_instant, check, stream_element

if TYPE_CHECKING:
    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers


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
