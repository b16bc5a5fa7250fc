"""What a MATCH keeps while a query runs: how much, for how long, and what is said of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

E = "http://e/"
EVENTS = """EVENT ON :w { ?x :p ?y } AS A EVENT ON :w { ?y :q ?z } AS B"""


def registered(
    engine: Engine, body: str, window: str = "RANGE PT0.1S", operator: str = "ISTREAM"
) -> RegisteredQuery:
    engine.register_stream(f"{E}s")
    return engine.register_query(
        f"PREFIX : <{E}> REGISTER {operator} :query AS SELECT * FROM NAMED WINDOW :w ON :s [{window}] {EVENTS} {body}"
    )


def push(engine: Engine, time: int, *triples: str) -> None:
    rows = [tuple(f"<{E}{part}>" for part in triple.split()) for triple in triples]
    engine.push(f"{E}s", rows, time)


def test_events_are_let_go_with_their_window(engine: Engine) -> None:
    query = registered(engine, "{ MATCH { A SEQ B } }")
    for time in range(0, 5_000, 10):
        push(engine, time, f"x{time} p y{time}")
    (match,) = query.matches()
    assert match["open"] <= 200
    assert match["found"] == "as events arrive"
    assert match["unbounded"] == []
    assert query.evaluation == "delta evaluation"


def test_last_events_of_a_sequence_are_not_kept(engine: Engine) -> None:
    query = registered(engine, "{ MATCH { A SEQ B } }", "LANDMARK 0")
    for time in range(0, 3_000, 10):
        push(engine, time, f"y{time} q z{time}")
    (match,) = query.matches()
    assert match["open"] <= 100


@pytest.mark.parametrize(
    ("window", "pushed", "found"),
    [
        ("ELEMENTS 3", {1: "o r o", 3: "x p y", 2: "o r o", 4: "y q z"}, 1),
        ("ELEMENTS 2", {3: "o r o", 2: "x p y", 4: "y q z"}, 0),
    ],
)
def test_a_window_that_counts_lets_elements_go_in_order_of_time(
    engine: Engine, window: str, pushed: dict[int, str], found: int
) -> None:
    engine.register_stream(f"{E}s", allowed_lateness=10, late="hold")
    query = registered(engine, "{ MATCH { A SEQ B } }", window, "RSTREAM")
    told: dict[int, int] = {}
    query.subscribe(lambda answers: told.update({answers.time: len(answers)}))
    for time, triple in {**pushed, 100: "o r o"}.items():
        push(engine, time, triple)
    assert told == {time: found if time == 4 else 0 for time in pushed}


@pytest.mark.parametrize("selection", ["CHRONOLOGICAL", "RECENT"])
@pytest.mark.parametrize("window", ["RANGE PT0.1S", "ELEMENTS 10"])
def test_what_was_consumed_is_forgotten_with_the_window(
    engine: Engine, selection: str, window: str
) -> None:
    query = registered(engine, f"{{ MATCH {selection} {{ A SEQ B }} }}", window)
    found = 0
    for time in range(0, 5_000, 10):
        push(engine, time, f"x p y{time // 20}" if time % 20 == 0 else f"y{time // 20} q z")
        if query.last_answers is not None:
            found += query.last_answers.table.num_rows
    (match,) = query.matches()
    assert found > 200
    assert match["consumed"] < 150


@pytest.mark.parametrize(
    ("window", "pattern", "told"),
    [
        ("LANDMARK 0", "A SEQ B", "all events A are kept, as window <http://e/w> lets none go"),
        (
            "LANDMARK 0",
            "A SEQ B WITHIN PT1S",
            "all matches are kept, as window <http://e/w> of A lets no event go",
        ),
        ("RANGE PT1S", "A SEQ B", None),
        ("ELEMENTS 5", "A SEQ B", None),
    ],
)
def test_state_that_is_not_bounded_is_said(
    engine: Engine,
    caplog: pytest.LogCaptureFixture,
    window: str,
    pattern: str,
    told: str | None,
) -> None:
    with caplog.at_level(logging.WARNING, "sparkext"):
        query = registered(engine, f"{{ MATCH {{ {pattern} }} }}", window)
    said = [r.getMessage() for r in caplog.records if "not bounded" in r.getMessage()]
    assert any(told in text for text in said) if told else not said
    assert (told or "bytes") in str(query.explain())


def test_explain_shows_what_is_looked_for_and_the_plans_of_events(engine: Engine) -> None:
    query = registered(engine, "{ MATCH RECENT { A SEQ B } }")
    push(engine, 1, "x p y")
    push(engine, 2, "y q z")
    push(engine, 3, "other p other")
    text = str(query.explain())
    assert "MATCH RECENT { A SEQ B }, found at each evaluation" in text
    assert "2 triples used up" in text
    assert "event A (rows counted" in text


def test_terms_that_events_make_live_as_long_as_something_may_match_them(engine: Engine) -> None:
    engine.register_stream(f"{E}s")
    query = engine.register_query(
        f"PREFIX : <{E}> REGISTER RSTREAM :query AS SELECT ?name ?all FROM NAMED WINDOW :w ON :s [RANGE PT0.1S] "
        'EVENT ON :w { ?x :p ?y BIND(CONCAT("made of ", STR(?x)) AS ?name) } AS A EVENT ON :w { ?y :q ?z } AS B '
        "{ MATCH { A SEQ (B+ BY ?y (GROUP_CONCAT(?z) AS ?all)) } }"
    )
    push(engine, 10, "x p y")
    for time in range(20, 100, 10):
        push(engine, time, f"y q z{time}")
    push(engine, 105, "y q last")
    assert query.last_answers is not None
    ((name, found),) = query.last_answers.rows()
    assert name == f'"made of {E}x"'
    assert found is not None and len(found.split()) == 8
    push(engine, 500, "nothing here either")
    push(engine, 501, "nor here it")
    assert query.last_answers.rows() == []


def test_static_patterns_restrict_events_and_change_no_answer(spark: SparkSession) -> None:
    from contextlib import closing

    from sparkext import Engine

    answered = {}
    for adaptive in ("true", "false"):
        spark.conf.set("spark.cqels.adaptive.enabled", adaptive)
        try:
            with closing(Engine(spark)) as engine:
                engine.insert([(f"<{E}rare>", f"<{E}is>", f"<{E}Rare>")])
                query = registered(engine, "{ ?x :is :Rare MATCH { A SEQ B } }")
                answers: list[object] = []
                query.subscribe(lambda a, into=answers: into.append((a.time, a.rows())))  # type: ignore[misc]
                for time in range(0, 90, 2):
                    push(engine, time, f"common{time} p y", "rare p y")
                    push(engine, time + 1, "y q z")
                push(engine, 200, "no p no")
                kept = query.matches()[0]["open"]
                answered[adaptive] = (answers, kept)
        finally:
            spark.conf.unset("spark.cqels.adaptive.enabled")
    (restricted, fewer), (whole, more) = answered["true"], answered["false"]
    assert restricted == whole
    assert any(rows for _, rows in restricted)  # type: ignore[misc]
    assert fewer < more


def test_two_matches_that_consume_are_refused(engine: Engine) -> None:
    with pytest.raises(UnsupportedFeatureError, match="more than one MATCH that consumes"):
        registered(engine, "{ MATCH RECENT { A SEQ B } MATCH CHRONOLOGICAL { B SEQ A } }")
