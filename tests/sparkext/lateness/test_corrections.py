"""Instants that are answered again: what is told of them, by whom, and what is kept for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import DuplicateNameError
from sparkext.language import parse_query
from sparkext.oracle.answer_files import read_answers
from tests.sparkext.listening import E, S, T, listen, query, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

AT = "WINDOW :w { ?x :at ?y }"


def at(engine: Engine, who: str, time: int, iri: str = S) -> None:
    assert engine.stream(iri).push(triple(who, "at", "room"), time=time).accepted == 1


def told(heard: Sequence[Answers]) -> list[tuple[int, int, list[str]]]:
    """Instant, revision and subjects of all that was heard, which is forgotten."""
    found = [(a.time, a.revision, sorted(row["x"][len(E) + 1 : -1] for row in a)) for a in heard]
    heard.clear()  # type: ignore[attr-defined]
    return found


def names(heard: Answers, which: str) -> list[str]:
    return sorted(text[len(E) + 1 : -1] for text in getattr(heard, which).column("x").to_pylist())


def correcting(engine: Engine, iri: str = S, lateness: int = 10) -> None:
    engine.register_stream(iri, allowed_lateness=lateness, late="correct")


def test_instants_are_answered_at_once_and_again_with_a_late_element(engine: Engine) -> None:
    correcting(engine)
    heard = listen(engine, query(AT, "[RANGE 5]", "?x"))
    for who, time in (("a", 10), ("b", 12), ("c", 18)):
        at(engine, who, time)
    assert told(heard) == [(10, 0, ["a"]), (12, 0, ["a", "b"])]
    at(engine, "late", 11)
    assert [(type(a).__name__, names(a, "added")) for a in heard] == [
        ("RevisedAnswers", ["a", "late"]),
        ("RevisedAnswers", ["late"]),
    ]
    # 11 is an instant only by now; 10 does not show it.
    assert told(heard) == [(11, 0, ["a", "late"]), (12, 1, ["a", "b", "late"])]
    at(engine, "later", 9)
    assert told(heard) == [
        (9, 0, ["later"]),
        (10, 1, ["a", "later"]),
        (11, 1, ["a", "late", "later"]),
        (12, 2, ["a", "b", "late", "later"]),
    ]
    at(engine, "d", 30)
    at(engine, "ontime", 20)
    engine.finish()
    assert told(heard) == [(18, 0, ["c"]), (20, 0, ["c", "ontime"]), (30, 0, ["d"])]


def test_nothing_is_told_of_instants_that_answer_the_same(engine: Engine) -> None:
    correcting(engine)
    heard = listen(engine, query(AT, "[RANGE 5]", "?x"))
    registered = engine.queries["http://e/q"]
    for who, time in (("a", 10), ("b", 12), ("c", 13)):
        at(engine, who, time)
    told(heard)
    engine.stream(S).push(triple("a", "near", "room"), time=9)
    assert told(heard) == [(9, 0, [])]  # an element entered
    assert registered.progress.evaluations == 2 + 3


@pytest.mark.parametrize("operator", ["ISTREAM", "DSTREAM"])
def test_what_is_new_or_gone_is_corrected_at_the_instants_that_follow(
    engine: Engine, operator: str
) -> None:
    correcting(engine)
    heard = listen(engine, query(AT, "[RANGE 3]", "?x", operator))
    for who, time in (("a", 10), ("b", 12), ("c", 18)):
        at(engine, who, time)
    told(heard)
    at(engine, "b", 11)  # so that b is not new at 12
    if operator == "ISTREAM":
        assert told(heard) == [(11, 0, ["b"]), (12, 1, [])]
    else:
        assert told(heard) == [(11, 0, [])]
    at(engine, "late", 12)
    if operator == "ISTREAM":
        assert [(a.time, a.revision, names(a, "added")) for a in heard] == [(12, 2, ["late"])]
        assert told(heard) == [(12, 2, ["late"])]
    engine.finish()
    last = ["c"] if operator == "ISTREAM" else ["a", "b", "late"]
    assert told(heard)[-1] == (18, 0, last)


def test_an_instant_that_is_none_any_more_is_retracted(engine: Engine) -> None:
    """A window that closes by every second element closes at others, with one more."""
    correcting(engine)
    heard = listen(engine, query(AT, "[ELEMENTS 2 STEP 2]", "?x"))
    for who, time in (("a", 10), ("b", 12), ("c", 14), ("d", 16), ("e", 17)):
        at(engine, who, time)
    assert told(heard) == [(12, 0, ["a", "b"]), (16, 0, ["c", "d"])]
    at(engine, "late", 11)
    assert [(a.time, getattr(a, "retracted", None)) for a in heard] == [
        (11, False),
        (12, True),
        (14, False),
        (16, True),
    ]
    assert [names(a, "removed") for a in heard] == [[], ["a", "b"], [], ["c", "d"]]
    assert told(heard) == [(11, 0, ["a", "late"]), (12, 1, []), (14, 0, ["b", "c"]), (16, 1, [])]
    at(engine, "another", 13)
    assert told(heard) == [(13, 0, ["another", "b"]), (14, 1, []), (16, 2, ["c", "d"])]


def test_instances_are_told_of_an_instant_that_is_one_again(engine: Engine) -> None:
    correcting(engine)
    rooms = [
        listen(engine, query(f"WINDOW :w {{ ?x :at :r{n} }}", "[ELEMENTS 2 STEP 2]", "?x"), f"q{n}")
        for n in range(3)
    ]
    assert len(engine._registered.evaluated) == 2  # the first is evaluated by itself
    stream = engine.stream(S)
    for who, time in (("a", 10), ("b", 12), ("c", 14), ("d", 16), ("e", 17), ("late", 11)):
        stream.push(triple(who, "at", "r2"), time=time)
    assert [told(heard)[-2:] for heard in rooms] == [
        [(14, 0, []), (16, 1, [])],
        [(14, 0, []), (16, 1, [])],
        [(14, 0, ["b", "c"]), (16, 1, [])],
    ]
    stream.push(triple("another", "at", "r2"), time=13)
    assert [told(heard) for heard in rooms] == [
        [(13, 0, []), (14, 1, []), (16, 2, [])],
        [(13, 0, []), (14, 1, []), (16, 2, [])],
        [(13, 0, ["another", "b"]), (14, 1, []), (16, 2, ["c", "d"])],
    ]


def test_the_same_rows_in_another_order_are_told_where_the_query_orders_them(
    engine: Engine,
) -> None:
    correcting(engine)
    text = query(AT, "[RANGE 10]", "?y") + " GROUP BY ?y"
    ordered = listen(engine, f"{text} ORDER BY DESC(COUNT(?x))", "ordered")
    others = listen(engine, text, "others")
    stream = engine.stream(S)
    for who, room, time in (("a", "r1", 10), ("b", "r1", 11), ("c", "r2", 12), ("d", "r2", 20)):
        stream.push(triple(who, "at", room), time=time)
    assert [(a.time, [row["y"] for row in a]) for a in ordered[-1:]] == [
        (12, [f"<{E}r1>", f"<{E}r2>"])
    ]
    ordered.clear()
    others.clear()
    stream.push(f"{triple('e', 'at', 'r2')}\n{triple('f', 'at', 'r2')}", time=12)
    assert [(a.time, a.revision, [row["y"] for row in a]) for a in ordered] == [
        (12, 1, [f"<{E}r2>", f"<{E}r1>"])
    ]
    assert ordered[0].added.num_rows == ordered[0].removed.num_rows == 0  # type: ignore[attr-defined]
    assert not others


def test_later_than_allowed_for_is_counted_and_told_apart(engine: Engine) -> None:
    correcting(engine, lateness=4)
    heard = listen(engine, query(AT, "[RANGE 5]", "?x"))
    stream = engine.stream(S)
    for who, time in (("a", 10), ("b", 20)):
        at(engine, who, time)
    told(heard)
    assert stream.push(triple("c", "at", "room"), time=16).accepted == 1
    assert stream.push(triple("d", "at", "room"), time=15).late == 1
    assert stream.late_count == 1
    assert [(e.time_ms, e.triples) for e in stream.late] == [(15, (triple("d", "at", "room"),))]
    stream.advance_to(19)  # a promise: within the lateness, too
    assert stream.push(triple("e", "at", "room"), time=18).late == 1
    engine.finish()
    assert told(heard) == [(16, 0, ["c"]), (20, 0, ["b", "c"])]


def test_a_query_over_two_streams_is_corrected_by_either(engine: Engine) -> None:
    correcting(engine)
    engine.register_stream(T)
    text = query(f"{AT} WINDOW :v {{ ?x :near ?y }}", "[RANGE 5] and [ELEMENTS 2]", "?x")
    heard = listen(engine, text)
    near = engine.stream(T)
    at(engine, "a", 10)
    near.push(triple("a", "near", "room"), time=11)
    near.push(triple("b", "near", "room"), time=12)
    near.push(triple("c", "near", "room"), time=13)
    at(engine, "c", 20)
    near.push(triple("c", "near", "room"), time=20)
    assert told(heard) == [(10, 0, []), (11, 0, ["a"]), (12, 0, ["a"]), (13, 0, [])]
    at(engine, "b", 11)  # T has gone on, and its windows go back
    assert told(heard) == [(12, 1, ["a", "b"]), (13, 1, ["b"])]
    assert near.push(triple("b", "near", "room"), time=12).late == 1


def test_a_subscriber_may_push_late_elements(engine: Engine) -> None:
    correcting(engine)
    heard: list[Answers] = []
    one = engine.register_query(query(AT, "[RANGE 5]", "?x"), name="one")
    other = engine.register_query(query(AT, "[RANGE 3]", "?x ?y"), name="other")
    pushed = []

    def push(answers: Answers) -> None:
        heard.append(answers)
        if answers.time == 12 and not pushed:
            pushed.append(True)
            at(engine, "late", 11)

    one.subscribe(push)
    second: list[Answers] = []
    other.subscribe(second.append)
    for who, time in (("a", 10), ("b", 12), ("c", 18)):
        at(engine, who, time)
    assert told(heard)[-3:] == [
        (12, 0, ["a", "b"]),
        (11, 0, ["a", "late"]),
        (12, 1, ["a", "b", "late"]),
    ]
    # The other one had not come to 12 yet.
    assert told(second) == [(10, 0, ["a"]), (11, 0, ["a", "late"]), (12, 0, ["a", "b", "late"])]


def test_instances_of_a_template_are_corrected_each_by_itself(engine: Engine) -> None:
    correcting(engine)
    rooms = [
        listen(engine, query(f"WINDOW :w {{ ?x :at :r{n} }}", "[RANGE 5]", "?x"), f"q{n}")
        for n in range(4)
    ]
    stream = engine.stream(S)
    for who, room, time in (("a", 1, 10), ("b", 2, 12), ("c", 3, 15)):
        stream.push(triple(who, "at", f"r{room}"), time=time)
    assert len(engine._registered.evaluated) == 2
    for heard in rooms:
        heard.clear()
    stream.push(triple("late", "at", "r2"), time=9)
    assert [told(heard) for heard in rooms] == [
        [(9, 0, [])],
        [(9, 0, [])],
        [(9, 0, ["late"]), (10, 1, ["late"]), (12, 1, ["b", "late"])],
        [(9, 0, [])],
    ]
    assert engine.queries["q2"].last_answers.time == 12
    # One that comes now is told of nothing that was before it.
    heard = listen(engine, query("WINDOW :w { ?x :at :r2 }", "[RANGE 5]", "?x"), "new")
    stream.push(triple("later", "at", "r2"), time=11)
    assert told(heard) == [(11, 0, ["late", "later"])]


def test_answers_of_corrections_as_lines_and_tables(engine: Engine, tmp_path: Path) -> None:
    from sparkext.sinks import JsonLinesSink, ParquetSink, TableSink

    correcting(engine)
    text = query(AT, "[ELEMENTS 2 STEP 2]", "?x")
    registered = engine.register_query(text)
    lines, table = StringIO(), TableSink()
    registered.subscribe(JsonLinesSink(lines))
    registered.subscribe(table)
    registered.subscribe(ParquetSink(tmp_path / "parquet"))
    for who, time in (("a", 10), ("b", 12), ("c", 14), ("d", 16), ("e", 17), ("late", 11)):
        at(engine, who, time)
    said = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(o["time"][-4:-1], o.get("revision"), o.get("retracted")) for o in said] == [
        ("012", None, None),
        ("016", None, None),
        ("011", 0, None),
        ("012", 1, True),
        ("014", 0, None),
        ("016", 1, True),
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text(lines.getvalue())
    last = {
        time: len(answer.rows) for time, answer in read_answers(file, parse_query(text)).items()
    }
    assert last == {11: 2, 14: 2}
    times = [t.microsecond // 1000 for t in table.to_arrow().column("time").to_pylist()]
    assert times == [11, 11, 14, 14]
    written = (tmp_path / "parquet").glob("*.parquet")
    assert sorted(int(p.name.split("-")[1]) for p in written) == [11, 14]


def test_static_data_of_now_answer_past_instants(engine: Engine) -> None:
    correcting(engine)
    engine.insert(triple("a", "is", "old"))
    heard = listen(engine, query(f"{AT} ?x :is ?z", "[RANGE 5]", "?x ?z"))
    for who, time in (("a", 10), ("b", 12)):
        at(engine, who, time)
    engine.insert(triple("late", "is", "new"))
    at(engine, "late", 9)
    assert told(heard) == [(10, 0, ["a"]), (9, 0, ["late"]), (10, 1, ["a", "late"])]


def test_what_is_kept_goes_when_it_is_final(engine: Engine) -> None:
    correcting(engine, lateness=20)
    registered = [
        engine.register_query(query(AT, window, "?x", operator), name=f"{window} {operator}")
        for window in ("[RANGE 5]", "[ELEMENTS 3]", "[RANGE 10 STEP 5]")
        for operator in ("RSTREAM", "ISTREAM")
    ]
    stream = engine.stream(S)
    panes, kept = [], []
    for n in range(600):
        time = 2 * n - (15 if n % 3 == 2 and n > 20 else 0)
        assert stream.push(triple(f"x{n}", "at", "room"), time=time).accepted == 1
        panes.append(stream.log.paneCount())
        kept.append(max(len(q.corrections._told) for q in registered))
    assert max(panes[300:]) <= max(panes[:300])
    assert max(panes) < 200
    assert max(kept) < 150
    assert engine.evaluations._schedule.times(S).times[0] > 600


def test_what_a_match_has_used_up_is_decided_anew(engine: Engine) -> None:
    correcting(engine)
    heard = listen(
        engine,
        f"PREFIX : <{E}> REGISTER RSTREAM :events AS SELECT ?x ?z FROM NAMED WINDOW :w ON :s [RANGE 50] "
        "EVENT ON :w { ?x :at ?y } AS One EVENT ON :w { ?z :near ?y } AS Other"
        " WHERE { MATCH CHRONOLOGICAL { One SEQ Other } }",
    )
    stream = engine.stream(S)
    for who, said, time in (("a", "at", 10), ("b", "near", 12), ("c", "near", 14), ("d", "at", 17)):
        stream.push(triple(who, said, "room"), time=time)
    assert [(a.time, a.revision, pairs(a)) for a in heard] == [
        (10, 0, []),
        (12, 0, ["a b"]),
        (14, 0, []),
    ]
    heard.clear()
    stream.push(triple("e", "near", "room"), time=11)  # uses a up, so that nothing is left for b
    assert [(a.time, a.revision, pairs(a)) for a in heard] == [(11, 0, ["a e"]), (12, 1, [])]
    heard.clear()
    stream.push(triple("f", "at", "room"), time=9)  # is what e uses; a is there for b again
    assert [(a.time, a.revision, pairs(a)) for a in heard] == [
        (9, 0, []),
        (11, 1, ["f e"]),
        (12, 2, ["a b"]),
    ]


def pairs(answers: Answers) -> list[str]:
    return [" ".join(row[key][len(E) + 1 : -1] for key in ("x", "z")) for row in answers]


def test_registering_a_stream_again_with_other_values_is_an_error(engine: Engine) -> None:
    engine.register_stream(S, allowed_lateness="PT10S", late="correct", idle_timeout="5s")
    assert engine.register_stream(S) is engine.stream(S)
    assert engine.register_stream(S, allowed_lateness=10_000, late="correct") is engine.stream(S)
    for given, said in (
        ({"allowed_lateness": 5}, "allowed_lateness 10s, not 5ms"),
        ({"late": "hold"}, "late correct, not hold"),
        ({"idle_timeout": 0}, "idle_timeout 5s, not 0"),
        ({"late_stream": T}, f"late_stream None, not {T}"),
    ):
        with pytest.raises(DuplicateNameError, match=said):
            engine.register_stream(S, **given)  # type: ignore[arg-type]


@pytest.fixture
def by_keys(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine
    from tests.sparkext.listening import settings

    with settings(spark, allowedLateness="10", lateElements="correct"):
        engine = Engine(spark)
    yield engine
    engine.close()


def test_keys_say_it_for_streams_that_say_nothing(by_keys: Engine) -> None:
    by_keys.register_stream(S)
    by_keys.register_stream(T, late="hold", allowed_lateness=0)
    heard = listen(by_keys, query(AT, "[RANGE 5]", "?x"))
    for who, time in (("a", 10), ("b", 12), ("late", 11)):
        at(by_keys, who, time)
    assert told(heard) == [(10, 0, ["a"]), (11, 0, ["a", "late"])]
    assert not by_keys.stream(T).watermark.corrects
