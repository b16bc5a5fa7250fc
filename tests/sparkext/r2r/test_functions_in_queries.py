"""Functions that look beyond their arguments: at the solution, the evaluation, the group."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sparkext.engine import Engine
from sparkext.errors import UnsupportedFeatureError
from sparkext.runtime.answering.answers import Answers
from tests.sparkext.engine_room.term_values.term_samples import integer, typed
from tests.sparkext.listening import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = "http://e/"
PROLOGUE = f"PREFIX : <{E}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
DATA = f"""
<{E}a> <{E}p> "x" .
<{E}a> <{E}p> "y" .
<{E}b> <{E}p> "x" .
<{E}b> <{E}q> "x" .
<{E}c> <{E}q> "z"@en .
<{E}c> <{E}q> {typed("2026-01-31T10:00:00Z", "dateTime")} .
<{E}d> <{E}n> {integer(1)} .
<{E}d> <{E}n> {integer(2)} .
<{E}d> <{E}n> {typed("1.0", "decimal")} .
<{E}e> <{E}n> {integer(1)} .
<{E}e> <{E}n> _:b .
"""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    file = tmp_path_factory.mktemp("functions") / "data.nt"
    file.write_text(DATA)
    made = Engine(spark)
    made.load_static(file, progress=False)
    yield made
    made.close()


def answer(engine: Engine, query: str) -> list[tuple[str | None, ...]]:
    return engine.select(PROLOGUE + query).answer().rows()


def test_labels_of_blank_nodes_belong_to_one_solution(engine: Engine) -> None:
    rows = answer(
        engine,
        "SELECT ?x ?y ?z (BNODE(?v) AS ?u) (BNODE() AS ?w) "
        "{ ?s :p ?v BIND(BNODE(?v) AS ?x) BIND(BNODE(?v) AS ?y) BIND(BNODE('other') AS ?z) }",
    )
    assert len(rows) == 3
    for x, y, z, u, w in rows:
        assert x == y == u
        assert len({x, z, w}) == 3
    assert len({term for row in rows for term in row}) == 9


def test_what_is_drawn_is_drawn_once_a_solution(engine: Engine) -> None:
    rows = answer(
        engine,
        "SELECT ?r ?s ?u { ?a :p ?v BIND(RAND() AS ?r) BIND(?r + 0 AS ?s) BIND(UUID() AS ?u) "
        "FILTER(?r = ?s && ?s < 1.0) }",
    )
    assert len(rows) == 3
    assert all(r == s for r, s, _ in rows)
    assert len({r for r, _, _ in rows}) == len({u for _, _, u in rows}) == 3


def test_what_is_drawn_is_drawn_once_below_exists(engine: Engine) -> None:
    for drawn in ("UUID()", "BNODE('x')", "IF(?v = 'y', UUID(), ?none)"):
        rows = answer(
            engine,
            f"SELECT ?v ?id ?w {{ ?s :p ?v BIND({drawn} AS ?id) "
            "OPTIONAL { ?s :q ?w FILTER EXISTS { ?s :p ?v . ?t :q ?w } } }",
        )
        assert sorted((v, w is not None) for v, _, w in rows) == [
            ('"x"', False),
            ('"x"', True),
            ('"y"', False),
        ]
        ids = [i for v, i, _ in rows if v == '"y"' or "none" not in drawn]
        assert None not in ids and len(set(ids)) == len(ids)
    # A value that is put into a pattern is the one that the solution has.
    asked = "{ ?s :p ?w FILTER(?r >= 0) } UNION { ?s :q ?w FILTER(?r < 0) }"
    query = f"SELECT * {{ ?s :p ?v BIND(RAND() AS ?r) FILTER EXISTS {{ {asked} }} }}"
    assert len(answer(engine, query)) == 3
    # Half of what is on the right goes: each solution is there once all the same.
    query = """SELECT * { ?s :p ?v
        OPTIONAL { { ?s :q ?w FILTER(RAND() < 0.5) } FILTER EXISTS { ?s :p ?v . ?t :q ?w } } }"""
    assert [len(answer(engine, query)) for _ in range(8)] == [3] * 8


def test_stock_plans_refuse_what_they_would_draw_twice(spark: SparkSession) -> None:
    with settings(spark, enabled="false"):
        stock = Engine(spark)
    drawn = "SELECT * { VALUES ?v { 1 } BIND(UUID() AS ?id) %s }"
    with pytest.raises(UnsupportedFeatureError, match="stock plans"):
        both = "FILTER EXISTS { VALUES (?v ?w) { (1 2) } }"
        answer(stock, drawn % f"OPTIONAL {{ VALUES ?w {{ 2 }} {both} }}")
    assert len(answer(stock, drawn % "FILTER EXISTS { VALUES ?v { 1 } }")) == 1
    stock.close()


def test_a_label_in_a_filter_is_that_of_its_solution(engine: Engine) -> None:
    same = "SELECT * { ?s :p ?o BIND(BNODE('a') AS ?b) FILTER(sameTerm(?b, BNODE('a'))) }"
    assert len(answer(engine, same)) == 3
    assert answer(engine, same.replace("BNODE('a'))) }", "BNODE('c'))) }")) == []
    alone = "SELECT * { ?s :p ?o FILTER(sameTerm(BNODE('a'), BNODE('a'))) }"
    assert len(answer(engine, alone)) == 3


def test_a_group_draws_for_each_of_its_rows(engine: Engine) -> None:
    query = "SELECT (COUNT(DISTINCT UUID()) AS ?n) (MIN(RAND()) AS ?least) { ?s :p ?v }"
    ((count, least),) = answer(engine, query)
    assert count == integer(3)
    assert least is not None
    rows = answer(engine, "SELECT ?g (COUNT(*) AS ?n) { ?s :p ?v } GROUP BY (STRUUID() AS ?g)")
    assert [n for _, n in rows] == [integer(1)] * 3


def test_lots_are_drawn_for_whole_solutions(engine: Engine) -> None:
    # Moved below the join, half of ?a would be drawn; above it, half of its 2 * 2 solutions.
    query = "SELECT * { ?a :p ?v . ?a :p ?w FILTER(RAND() < 2) { SELECT ?a { ?a :p 'y' FILTER(RAND() < 2) } } }"
    assert len(answer(engine, query)) == 4
    assert answer(engine, query.replace("FILTER(RAND() < 2) {", "FILTER(RAND() > 2) {")) == []


def test_an_optional_by_lot_is_refused(engine: Engine) -> None:
    with pytest.raises(UnsupportedFeatureError) as refused:
        answer(engine, "SELECT * { ?a :p ?v OPTIONAL { ?a :q ?w FILTER(?v = ?w && RAND() < 1) } }")
    assert refused.value.line == 1


@pytest.mark.parametrize(
    ("aggregate", "pattern", "expected"),
    [
        ("GROUP_CONCAT(DISTINCT ?v; SEPARATOR='')", "?s :q 'x' . ?s :p ?v", '"x"'),
        ("STRLEN(GROUP_CONCAT(?v))", "?s :p ?v", integer(5)),
        ("STRLEN(GROUP_CONCAT(DISTINCT ?v; SEPARATOR=', '))", "?s :p ?v", integer(4)),
        ("GROUP_CONCAT(?v)", "?s :none ?v", '""'),
        ("GROUP_CONCAT(STRLEN(?v))", "?s :q ?v FILTER(lang(?v) = 'en')", '"1"'),
        ("GROUP_CONCAT(?n)", ":e :n ?n", None),
        ("SUM(?n)", ":d :n ?n", typed("4.0", "decimal")),
        ("SUM(DISTINCT ?n)", ":d :n ?n", typed("4.0", "decimal")),
        ("AVG(?n)", ":d :n ?n FILTER(?n != 2)", typed("1.0", "decimal")),
        ("SUM(?n)", ":e :n ?n", None),
        ("SUM(COALESCE(xsd:integer(STR(?n)), 0))", ":e :n ?n", integer(1)),
        ("COUNT(?n / 0)", ":d :n ?n", integer(0)),
        ("MAX(?v)", "?s :q ?v", typed("2026-01-31T10:00:00Z", "dateTime")),
        ("MIN(?v)", "?s :q ?v", '"x"'),
        ("MAX(?n)", ":d :n ?n", integer(2)),
        ("MAX(IF(?n = 2, ?n, 1 / 0))", ":d :n ?n", None),
        ("MIN(?z)", ":d :n ?n OPTIONAL { VALUES (?n ?z) { (2 7) } }", None),
        ("MIN(COALESCE(?z, 9))", ":d :n ?n OPTIONAL { VALUES (?n ?z) { (2 7) } }", integer(7)),
        ("MIN(?n / 0)", "?s :none ?n", None),
        ("SAMPLE(?n)", ":d :n ?n FILTER(?n = 2)", integer(2)),
        ("COUNT(DISTINCT *)", "?s :p []", integer(2)),
        ("COUNT(DISTINCT *)", "[] :p []", integer(1)),
        ("COUNT(DISTINCT *)", "[] :none []", integer(0)),
        ("COUNT(DISTINCT *)", "?s :p/^:p ?t", integer(4)),
    ],
)
def test_aggregates(engine: Engine, aggregate: str, pattern: str, expected: str | None) -> None:
    assert answer(engine, f"SELECT ({aggregate} AS ?x) {{ {pattern} }}") == [(expected,)]


def test_thousands_of_choices(engine: Engine) -> None:
    many = ", ".join([*map(str, range(4000)), ":b"])
    rows = answer(
        engine,
        f"SELECT ?x (?x IN ({many}, 'u'^^:unknown) AS ?y) (?x NOT IN ({many}) AS ?z) "
        "{ VALUES ?x { 1 3999.0 'x' :b :c UNDEF } }",
    )
    yes, no = typed("true", "boolean"), typed("false", "boolean")
    assert {x: truths for x, *truths in rows} == {
        integer(1): [yes, no],
        typed("3999.0", "decimal"): [yes, no],
        '"x"': [None, yes],
        f"<{E}b>": [yes, no],
        f"<{E}c>": [no, yes],
        None: [None, None],
    }
    found = answer(engine, f"SELECT ?v {{ ?s :n ?v FILTER(?v NOT IN ({many})) }}")
    assert [v.startswith("_:") for (v,) in found if v is not None] == [True]


def test_constants_of_patterns_that_are_none_are_errors_for_each_row(engine: Engine) -> None:
    assert answer(engine, "SELECT ?s { ?s :p ?v FILTER REGEX(?v, '(') }") == []
    assert len(answer(engine, "SELECT ?s { ?s :p ?v FILTER(COALESCE(REGEX(?v, '('), true)) }")) == 3


def continuous(engine: Engine, body: str, projected: str = "*") -> list[Answers]:
    """The answers of a query at 10 s, 20 s and 30 s, over one element just before each instant."""
    stream = engine.register_stream(f"{E}s")
    query = engine.register_query(
        f"{PROLOGUE} SELECT {projected} FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S] "
        f"{{ WINDOW :w {{ ?x :at ?y }} {body} }}"
    )
    found: list[Answers] = []
    query.subscribe(found.append)
    try:
        start = max(0, stream.watermark.complete_up_to // 60_000 + 1) * 60_000
        for step in range(3):
            stream.push(f"<{E}a> <{E}at> <{E}b> .", time=start + step * 10_000 + 9_000)
        engine.advance_to(start + 30_000)
        assert query.progress.failures == 0
    finally:
        query.stop()
    return [answers for answers in found if len(answers)]


def test_now_is_the_instant_of_the_evaluation(engine: Engine) -> None:
    found = continuous(engine, "BIND(NOW() AS ?n) BIND(NOW() AS ?m)", "?n ?m")
    assert len(found) == 3
    for answers in found:
        instant = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(answers.time // 1000))
        assert answers.rows() == [(typed(instant, "dateTime"),) * 2]


def test_now_is_asked_anew_of_static_parts(engine: Engine) -> None:
    body = "{ SELECT ?s { ?s :q 'x' FILTER(SECONDS(NOW()) < 15) } }"
    instants = {answers.time // 1000 % 60 for answers in continuous(engine, body)}
    assert instants == {10}


def test_lots_of_a_static_part_are_drawn_at_each_evaluation(engine: Engine) -> None:
    body = "{ SELECT ?s ?r { ?s :q 'x' BIND(RAND() AS ?r) } }"
    drawn = [row for answers in continuous(engine, body, "?r") for row in answers.rows()]
    assert len(drawn) == len(set(drawn)) == 3


def test_what_exists_is_asked_of_is_drawn_at_each_evaluation(engine: Engine) -> None:
    body = "BIND(UUID() AS ?id) OPTIONAL { ?x :p ?z FILTER EXISTS { ?s :q ?z . ?y :p ?z } }"
    rows = [answers.rows() for answers in continuous(engine, body, "?id ?z")]
    assert [[z for _, z in found] for found in rows] == [['"x"']] * 3
    assert len({found[0][0] for found in rows}) == 3


def test_sides_of_a_union_have_what_was_drawn_before_them(engine: Engine) -> None:
    body = "BIND(UUID() AS ?id) { ?x :p ?z FILTER(?z = 'x') } UNION { ?x :p ?u FILTER(?u = 'y') }"
    for answers in continuous(engine, body, "?id"):
        assert len(answers) == 2
        assert len(set(answers.rows())) == 1


def test_terms_made_in_static_parts_are_there_at_each_evaluation(engine: Engine) -> None:
    body = "OPTIONAL { ?s :q ?v FILTER(lang(?v) = 'en') BIND(UCASE(?v) AS ?u) }"
    rows = [row for answers in continuous(engine, body, "?u") for row in answers.rows()]
    assert rows == [('"Z"@en',)] * 3
