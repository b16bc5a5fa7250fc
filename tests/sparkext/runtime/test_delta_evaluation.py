"""Delta evaluation of monotone ISTREAM queries: the answers of evaluating each instant as a whole, for less work."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.errors import CheckError
from sparkext.oracle import Answer, ContinuousEvaluation, StaticGraphs
from sparkext.oracle.verdict import compare_instants
from sparkext.r2r import query_plans
from tests.sparkext.random_answers import Case, Worlds, answered, in_columns_of
from tests.sparkext.random_continuous import Dialect
from tests.sparkext.random_monotone import monotone_query
from tests.sparkext.random_worlds import XSD, random_stream
from tests.sparkext.runtime.test_profiles import engine_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers
    from sparkext.runtime.registered_query import RegisteredQuery

E = "http://e/"
ON = Dialect("cqels", operators=("ISTREAM",), hidden_start=True, policies=False)
OFF = Dialect(
    "cqels",
    operators=("ISTREAM",),
    hidden_start=True,
    policies=False,
    settings={"deltaEvaluation.enabled": "false"},
)
QUERIES_A_STREAM = 6


def cases_of(seed: int, static: StaticGraphs) -> list[tuple[Case, dict[int, Answer]]]:
    """Monotone queries over one pair of streams with their right answers."""
    random = Random(seed)
    streams = {name: random_stream(random, name, size) for name, size in (("s1", 11), ("s2", 7))}
    cases = []
    while len(cases) < QUERIES_A_STREAM:
        text, query = monotone_query(random, ON)
        try:
            answers = ContinuousEvaluation(query, dict(streams), static, "cqels").answers()
        except CheckError as error:
            assert "the oracle does not know" in str(error), f"{error}\n{text}"
            continue
        if any(a.rows for a in answers.values()) or random.random() < 0.1:
            cases.append((Case(seed, ON, text, query, streams), answers))
    return cases


def check_seeds(
    spark: SparkSession, folder: Path, seeds: range, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sparkext.runtime.registered_query")
    worlds = Worlds(spark, folder, 11)
    seen: Counter[str] = Counter()
    wrong = []
    try:
        for seed in seeds:
            made = cases_of(seed, worlds.for_oracle)
            cases = [case for case, _ in made]
            batch = (1, 3, 20)[seed % 3]
            by_delta = answered(worlds.engine(ON), cases, batch)
            as_a_whole = answered(worlds.engine(OFF), cases, batch)
            for (case, expected), one, other in zip(made, by_delta, as_a_whole, strict=True):
                seen["rows"] += sum(len(answer.rows) for answer in expected.values())
                for name, found in (("delta", one), ("whole", other)):
                    if not isinstance(found, dict):
                        wrong.append(f"{case.describe()}\n{name}: {found}")
                        continue
                    told = in_columns_of(found, expected)
                    differences = compare_instants(expected, told, skip_empty=False)
                    if differences:
                        d = differences[0]
                        wrong.append(
                            f"{case.describe()}\n{name}: {len(differences)} instants differ; at {d.time}\n"
                            f" oracle {d.expected and d.expected.rows}\n given {d.given and d.given.rows}"
                        )
    finally:
        worlds.close()
    assert not wrong, f"{len(wrong)} differ\n\n" + "\n\n".join(wrong)
    assert seen["rows"] > 5 * len(seeds), "the queries find too little to tell anything"
    said = Counter(record.getMessage().partition(": ")[2] for record in caplog.records)
    assert said["delta evaluation"] > 0.7 * QUERIES_A_STREAM * len(seeds), said


def test_random_monotone_queries(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check_seeds(spark, tmp_path, range(3), caplog)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_random_monotone_queries(
    spark: SparkSession, tmp_path: Path, part: int, caplog: pytest.LogCaptureFixture
) -> None:
    check_seeds(spark, tmp_path, range(100 + 30 * part, 130 + 30 * part), caplog)


# -- what is evaluated by delta, and how -----------------------------------------------------------

WINDOWS = "FROM NAMED WINDOW :w ON :s [RANGE 30] FROM NAMED WINDOW :v ON :r [RANGE 20]"
PAIR = "WINDOW :w { ?a :at ?room } WINDOW :v { ?b :at ?room }"


def text_of(where: str, select: str = "SELECT ?a ?b", windows: str = WINDOWS) -> str:
    return f"PREFIX : <{E}>\n{select} {windows} WHERE {{ {where} }}"


def registered(engine: Engine, text: str, *streams: str) -> tuple[RegisteredQuery, list[Answers]]:
    for stream in streams or ("s", "r"):
        engine.register_stream(E + stream)
    query = engine.register_query(text)
    collected: list[Answers] = []
    query.subscribe(collected.append)
    return query, collected


def at(engine: Engine, stream: str, time: int, *places: tuple[str, str]) -> None:
    triples = [(E + who, E + "at", E + room) for who, room in places]
    engine.push(E + stream, triples, time)


def names(answers: Answers) -> list[str]:
    return sorted(
        " ".join(str(v).strip("<>").rpartition("/")[2] for v in row) for row in answers.rows()
    )


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        (PAIR, None),
        (f"{PAIR} OPTIONAL {{ ?a :name ?b }} FILTER(?a != ?b)", None),
        (f"{{ {PAIR} }} UNION {{ WINDOW :w {{ ?b :at ?a }} }} BIND(STR(?a) AS ?n)", None),
        ("WINDOW :w { ?a :at ?room } OPTIONAL { WINDOW :v { ?b :at ?room } }", "OPTIONAL"),
        ("WINDOW :w { ?a :at ?room } MINUS { WINDOW :v { ?a :at ?room } }", "MINUS"),
        ("WINDOW :w { ?a :at ?b } FILTER NOT EXISTS { WINDOW :v { ?b :at ?a } }", "EXISTS"),
        ("WINDOW :w { ?a :at+ ?b }", "property path"),
        ("{ SELECT ?a (COUNT(*) AS ?b) { WINDOW :w { ?a :at ?x } } GROUP BY ?a }", "aggregate"),
        ("{ WINDOW :w { ?a :at ?b } } UNION { ?a :name ?b }", "reads no window"),
        (f"{PAIR} FILTER(NOW() > 0)", "another value"),
    ],
)
def test_which_patterns_qualify(spark: SparkSession, where: str, reason: str | None) -> None:
    with engine_with(spark, semantics="cqels") as engine:
        query, _ = registered(engine, text_of(where))
        said = query.explain().data["evaluation"]
        if reason is None:
            assert said == "delta evaluation"
            assert "\ndelta evaluation\n" in str(query.explain())
        else:
            assert said.startswith("full evaluation: ")
            assert reason in said


@pytest.mark.parametrize(
    ("settings", "windows", "reason"),
    [
        ({"semantics": "rspql"}, WINDOWS, "RSTREAM"),
        ({"semantics": "cqels", "deltaEvaluation.enabled": "false"}, WINDOWS, "deltaEvaluation"),
        ({"semantics": "cqels", "enabled": "false"}, WINDOWS, "spark.cqels.enabled"),
        ({"semantics": "cqels", "duplicates": "bag"}, WINDOWS, "bag"),
        ({"semantics": "cqels"}, WINDOWS.replace("[RANGE 30]", "[ELEMENTS 3]"), "kind of window"),
    ],
)
def test_which_settings_qualify(
    spark: SparkSession, settings: dict[str, str], windows: str, reason: str
) -> None:
    with engine_with(spark, **settings) as engine:
        query, _ = registered(engine, text_of(PAIR, windows=windows))
        assert reason in query.evaluation


def test_an_answer_is_told_again_only_after_it_has_not_held(spark: SparkSession) -> None:
    with engine_with(spark, semantics="cqels") as engine:
        _, collected = registered(engine, text_of(PAIR))
        at(engine, "s", 10, ("ann", "hall"))
        at(engine, "r", 12, ("bob", "hall"))
        at(engine, "r", 25, ("bob", "hall"))  # sighted again while it holds
        at(engine, "s", 39, ("ann", "hall"))  # the pair holds until 45 by now
        at(engine, "r", 46, ("bob", "hall"))  # it did not hold at 45, but at 39
        at(engine, "s", 70, ("eve", "hall"))
        at(engine, "s", 71, ("ann", "hall"))
        at(engine, "r", 72, ("bob", "hall"))
        engine.finish()
        told = {answers.time: names(answers) for answers in collected}
        assert told == {
            10: [],
            12: ["ann bob"],
            25: [],
            39: [],
            46: [],
            70: [],
            71: [],
            72: ["ann bob", "eve bob"],
        }


def test_static_data_that_change_are_asked_anew(spark: SparkSession) -> None:
    with engine_with(spark, semantics="cqels") as engine:
        engine.insert(f"<{E}hall> <{E}in> <{E}north> .")
        query, collected = registered(engine, text_of("WINDOW :w { ?a :at ?room } ?room :in ?b ."))
        assert query.delta is not None
        at(engine, "s", 10, ("ann", "hall"), ("bob", "cave"))
        at(engine, "s", 12, ("eve", "hall"))
        engine.advance_to(12)
        engine.insert(f"<{E}cave> <{E}in> <{E}south> .")
        at(engine, "s", 14, ("ann", "hall"))
        engine.advance_to(14)
        engine.remove(f"<{E}hall> <{E}in> <{E}north> .")
        at(engine, "s", 16, ("joe", "hall"))
        engine.advance_to(16)
        engine.insert(f"<{E}hall> <{E}in> <{E}north> .")
        at(engine, "s", 43, ("zoe", "cave"))  # of the others, eve is gone at 42 and ann at 44
        engine.finish()
        assert [names(answers) for answers in collected] == [
            ["ann north"],
            ["eve north"],
            ["bob south"],
            [],
            ["ann north", "joe north", "zoe south"],
        ]


def test_what_was_told_is_known_where_static_graphs_change_how_answers_are_found(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "GRAPH ?g { WINDOW :w { ?a :at ?room } OPTIONAL { ?room :in ?b } }"  # a plan a graph
    steps = (
        (1, 10, "ann", True),
        (1, 12, "eve", False),
        (32, 14, "joe", True),
        (1, 16, "zoe", False),
    )
    with engine_with(spark, semantics="cqels") as engine:
        query: RegisteredQuery | None = None
        for most, time, who, by_delta in steps:
            monkeypatch.setattr(query_plans, "_MOST_DELTA_PLANS", most)
            engine.insert(f"<{E}hall> <{E}in> <{E}north> .", graph=f"{E}g{time}")
            if query is None:
                query, collected = registered(engine, text_of(where, "SELECT ?a"))
            at(engine, "s", time, (who, "hall"))
            engine.advance_to(time)
            assert (query.delta is not None) == by_delta
        at(engine, "s", 41, ("ann", "hall"))  # she was there at 10, and so at 16
        at(engine, "s", 72, ("ann", "hall"))
        at(engine, "s", 103, ("eve", "hall"))
        engine.finish()
    told = [names(answers) for answers in collected]
    assert told == [["ann"], ["eve"], ["joe"], ["zoe"], [], [], ["eve"]]


def test_a_pattern_without_variables_is_waited_for_like_others(spark: SparkSession) -> None:
    with engine_with(spark, semantics="cqels") as engine:
        query, collected = registered(engine, text_of("WINDOW :w { :gate :at :hall . ?a :at ?b }"))
        assert query.delta is not None
        at(engine, "s", 10, ("ann", "hall"))
        at(engine, "s", 12, ("gate", "hall"))
        at(engine, "s", 14, ("eve", "cave"))
        at(engine, "s", 41, ("bob", "cave"))
        at(engine, "s", 43, ("joe", "cave"))  # the gate was there at 12: no longer
        engine.advance_to(43)
        told = {a.time: names(a) for a in collected if a.rows()}
    assert told == {12: ["ann hall", "gate hall"], 14: ["eve cave"], 41: ["bob cave"]}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("WINDOW :w { ?a :at ?room }", {10: {"ann": 2}, 14: {"bob": 5}, 45: {"ann": 2}}),
        (PAIR, {12: {"ann": 2}, 14: {"bob": 5}, 46: {"ann": 2}}),
    ],
)
def test_beside_a_static_group_that_is_made_for_what_the_windows_hold(
    spark: SparkSession, where: str, expected: dict[int, dict[str, float]]
) -> None:
    # An average may be unbound, so that the group is not kept as a whole.
    average = "{ SELECT ?a (AVG(?v) AS ?m) { ?a :score ?v } GROUP BY ?a }"
    with engine_with(spark, semantics="cqels") as engine:
        for who, score in (("ann", 1), ("ann", 3), ("bob", 5), ("joe", 7)):
            engine.insert(f'<{E}{who}> <{E}score> "{score}"^^<{XSD}integer> .')
        query, collected = registered(engine, text_of(f"{where} {average}", "SELECT ?a ?m"))
        assert query.delta is not None
        at(engine, "s", 10, ("ann", "hall"), ("eve", "hall"))
        at(engine, "r", 12, ("joe", "hall"))
        at(engine, "s", 14, ("bob", "hall"))
        at(engine, "s", 44, ("eve", "hall"))  # ann and bob have left
        at(engine, "s", 45, ("ann", "hall"))
        at(engine, "r", 46, ("joe", "hall"))
        engine.finish()
        assert query.progress.failures == 0
        told = {
            answers.time: {
                str(a).strip("<>").rpartition("/")[2]: float(str(m).split('"')[1])
                for a, m in answers.rows()
            }
            for answers in collected
            if answers.rows()
        }
    assert told == expected


def test_registered_over_a_window_that_holds_something(spark: SparkSession) -> None:
    with engine_with(spark, semantics="cqels") as engine:
        whole, _ = registered(engine, text_of("WINDOW :w { ?a :at ?b }", windows=WINDOWS))
        at(engine, "s", 10, ("ann", "hall"))
        at(engine, "r", 12, ("bob", "hall"))
        second, collected = registered(engine, text_of(f"{PAIR} FILTER(?a != ?b)"))
        assert whole.delta is not None and second.delta is not None
        at(engine, "s", 14, ("eve", "cave"))
        engine.finish()
        first = next(answers for answers in collected if answers.rows())
        assert names(first) == ["ann bob"]


def test_terms_made_by_bind_stay_while_their_answer_holds(spark: SparkSession) -> None:
    made = 'WINDOW :w { ?a :at ?room } BIND(CONCAT(STR(?a), " in ", STR(?room)) AS ?b)'
    with engine_with(spark, semantics="cqels") as engine:
        _, collected = registered(engine, text_of(made, "SELECT ?b"))
        for time, who in (
            (10, "ann"),
            (11, "ann"),
            (12, "ann"),
            (50, "eve"),
            (60, "ann"),
            (61, "ann"),
        ):
            at(engine, "s", time, (who, "hall"))
        engine.finish()
        assert [len(answers.rows()) for answers in collected] == [1, 0, 0, 1, 1, 0]
        assert str(collected[0].rows()[0][0]).strip('"') == f"{E}ann in {E}hall"


def rows_of(explained: dict[str, Any]) -> int:
    """The most rows that an operator of the last evaluation gave."""

    def most(operator: dict[str, Any]) -> int:
        return max([operator["actual_rows"] or 0, *map(most, operator["children"])])

    return max(most(plan["root"]) for plan in explained["operators"])


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_the_work_follows_what_arrives(spark: SparkSession, adaptive: str) -> None:
    windows = WINDOWS.replace("30", "100000").replace("20", "100000")
    patterns = (
        PAIR,
        "WINDOW :w { ?a :at ?room } { WINDOW :v { ?b :at ?room } } UNION { WINDOW :w { ?b :at ?room } }",
    )
    settings = {"semantics": "cqels", "adaptive.enabled": adaptive}
    with engine_with(spark, **settings) as engine:
        queries = [registered(engine, text_of(p, windows=windows))[0] for p in patterns]
        most = []
        for n in range(600):
            at(engine, "s", 10 + 2 * n, (f"a{n}", f"room{n}"))
            at(engine, "r", 11 + 2 * n, (f"b{n}", f"room{n}"))
            if n in (20, 599):
                most.append([rows_of(query.explain().data) for query in queries])
        for query in queries:
            assert query.progress.failures == 0
    assert most == [[1, 1], [1, 1]]


def test_memory_stays_flat(spark: SparkSession) -> None:
    with engine_with(spark, semantics="cqels") as engine:
        made = "BIND(CONCAT(STR(?a), STR(?b)) AS ?n)"
        query, _ = registered(engine, text_of(f"{PAIR} {made}", "SELECT ?a ?b ?n"))
        held, terms = [], []
        for n in range(400):
            at(engine, "s", 10 + 2 * n, (f"a{n}", f"room{n % 5}"))
            at(engine, "r", 11 + 2 * n, (f"b{n}", f"room{n % 5}"))
            if n % 100 == 99:
                held.append(query._jvm.heldAnswers())
                terms.append(engine.store.dictionary.streamSize())
        assert held[0] > 0
        assert held == [held[0]] * 4
        assert max(terms) <= terms[0] + 10
        query.stop()
        engine.finish()
