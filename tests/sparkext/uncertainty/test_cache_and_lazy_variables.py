"""The function cache and lazy variables: what is called how often, and that answers do not depend on either."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.language import parse_query
from sparkext.language.algebra import Extend, Filter
from sparkext.language.algebra_text import format_algebra
from sparkext.language.nodes import Node
from sparkext.recorded_streams import StreamElement
from sparkext.rewriting.lazy_binds import delay_binds
from tests.sparkext.uncertainty.readings import (
    PREFIXES,
    E,
    engine_with,
    local,
    oxygen,
    run,
    temperature,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

ERROR = "N(0, 0.0001)"
ANNOTATED = "?o :oxygen ?level ; :at ?place . << ?o :oxygen ?level >> rspu:uncertainty ?error ."
WARM = "WINDOW :w2 { ?t :temperature ?degrees ; :at ?place FILTER(?degrees > 30) }"
LOW = "rspu:lessThan(rspu:add(?error, ?level), 0.18)"


def query(
    shown: str, pattern: str, oxygen: str = "PT20S STEP PT10S", heat: str = "PT20S STEP PT10S"
) -> str:
    return (
        f"SELECT {shown} FROM NAMED WINDOW :w1 ON <{E}oxygen> [RANGE {oxygen}]"
        f" FROM NAMED WINDOW :w2 ON <{E}heat> [RANGE {heat}] WHERE {{ {pattern} }}"
    )


FILTERED = query("?o", f"WINDOW :w1 {{ {ANNOTATED} FILTER({LOW} > 0.5) }}")
OXYGEN = [
    oxygen("o1", "L1", "0.170", 1, ERROR),
    oxygen("o2", "L2", "0.170", 2, ERROR),
    oxygen("o3", "L3", "0.190", 3, ERROR),
    oxygen("o4", "L1", "0.170", 11, ERROR),
    oxygen("o5", "L2", "0.175", 12, ERROR),
]
HEAT = [
    temperature("t1", "L1", 31, 1),
    temperature("t2", "L1", 33, 2),
    temperature("t3", "L2", 29, 3),
    temperature("t4", "L3", 35, 12),
]
STREAMS = {"oxygen": OXYGEN, "heat": HEAT}
FOUND = {20: ["o1", "o2", "o4", "o5"], 30: ["o4", "o5"]}


@pytest.mark.parametrize(
    ("settings", "calls", "hits"),
    [
        # Two calls a row. Windows: 0.17 0.17 0.19 0.17 0.175, then 0.17 0.175.
        ({"functionCache__enabled": "false"}, 10 + 4, 0),
        ({}, 6 + 4, 4 + 0),
        ({"functionCache__acrossEvaluations": "true"}, 6 + 0, 4 + 4),
    ],
)
def test_how_often_functions_are_called(
    spark: SparkSession, settings: dict[str, str], calls: int, hits: int
) -> None:
    settings = {"functionCache__calls": "all", **settings}
    with engine_with(spark, driverExecution__threads="1", **settings) as engine:
        told, made = run(engine, FILTERED, STREAMS)
    assert {time: rows for time, rows in told.items() if rows} == FOUND
    assert (made.progress.calls, made.progress.cache_hits) == (calls, hits)


def test_the_cache_is_bounded(spark: SparkSession) -> None:
    """One value is kept, that of the first call; which reading that is is the plan's choice."""
    with engine_with(spark, functionCache__size="1", functionCache__calls="all") as engine:
        told, made = run(engine, FILTERED, STREAMS)
    assert {time: rows for time, rows in told.items() if rows} == FOUND
    assert made.progress.calls + made.progress.cache_hits == 14
    assert made.progress.cache_hits <= 2


def test_old_values_make_room_for_new_ones(spark: SparkSession) -> None:
    """Each reading but the first is in two windows; its calls are made for one of them, whatever there was before."""
    settings = {"functionCache__size": "8", "functionCache__calls": "all"}
    lasting = {"functionCache__acrossEvaluations": "true", "driverExecution__threads": "1"}
    number = 15
    given = [oxygen(f"o{n}", "L1", f"0.1{n:02}", 10 * n + 1, ERROR) for n in range(number)]
    with engine_with(spark, **settings, **lasting) as engine:
        told, made = run(engine, FILTERED, {"oxygen": given, "heat": []})
        assert sum(map(len, told.values())) == 2 * number - 1
        assert made.progress.calls + made.progress.cache_hits == 2 * (2 * number - 1)
        # Some of what is still wanted may have made room, too.
        assert 2 * number <= made.progress.calls <= 2.5 * number
        assert engine.room.jvm.uncertainCalls().resultCount() <= 8


def test_large_values_count_for_several(spark: SparkSession) -> None:
    """Room that is bounded for values of few numbers is bounded for those of many, and of those that keep tables."""
    number = 60
    values = " ".join(f'"N({n}, 1)"^^rspu:distribution' for n in range(number))
    many = "E(" + ", ".join(map(str, range(320))) + ")"
    counts = []
    for text in ("E(1, 2)", many, "Sum(U(0, 1), U(0, 3))"):
        pattern = f'VALUES ?x {{ {values} }} BIND(rspu:add(?x, "{text}"^^rspu:distribution) AS ?y)'
        with engine_with(spark, functionCache__size="50", functionCache__calls="all") as engine:
            made = engine.select(f"{PREFIXES} SELECT ?y {{ {pattern} }}")
            assert len(made.answer().rows()) == number
            counts.append(int(engine.room.jvm.uncertainCalls().resultCount()))
    assert counts[0] >= 50
    assert 1 <= counts[1] <= 4
    assert 1 <= counts[2] <= 4


ALIKE = [
    ["C(5)", "N(5, 0)", "U(5, 5)", "T(5, 5, 5)", "P(5, 2)", "E(5)"],
    ["E(0.1, 0.4, 0.4, 2)", "P(0.1, .25, .4, .5, 2, .25)", "P(2, 1, 0.1, 1, 0.4, 2)"],
    ["N(0, 1)", "N(-0, 1)"],
    ["U(0, 1)", "U(-0, 1)"],
    ["B(2, 3)", "B(2, 3, 0, 1)"],
    ["G(2, 1)", "G(2, 1, 0)"],
    ["Sum(E(0, 1, 1, 3), N(0, 1))", "Sum(P(0, .25, 1, .5, 3, .25), N(0, 1))"],
    [f"H(0{''.join(f', {weight}, {k}' for k in range(1, 11))})" for weight in (1, 0.1)],
    ["Difference(E(1, 1), Exp(1))", "Difference(U(1, 1), Exp(1))"],
]


def test_equal_distributions_have_the_answers_of_their_own_texts(spark: SparkSession) -> None:
    """With the cache the value of a call may come from another one; no function tells them apart but by the text."""
    compare = ["greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual"]
    others = [f'"{other}"^^rspu:distribution' for other in ("Exp(1)", "E(1, 2, 4)")]
    calls = ["mean(?x)", "variance(?x)", "quantile(?x, 0)", "quantile(?x, 0.3)"]
    for other in others:
        for name in ("add", "subtract", *compare):
            calls += [f"{name}(?x, {other})", f"{name}({other}, ?x)"]
        calls += [f"between(?x, {other}, 7)", f"between({other}, ?x, 7)"]
    calls += ["add(?x, 0.5)", "mean(rspu:subtract(?x, -0.0))"]
    values = " ".join(f'"{text}"^^rspu:distribution' for texts in ALIKE for text in texts)
    shown = " ".join(f"?c{n}" for n in range(len(calls)))
    binds = " ".join(f"BIND(rspu:{call} AS ?c{n})" for n, call in enumerate(calls))
    text = f"{PREFIXES} SELECT ?x {shown} {{ VALUES ?x {{ {values} }} {binds} }}"
    found = {}
    for settings in ({"functionCache__enabled": "false"}, {"functionCache__calls": "all"}):
        with engine_with(spark, driverExecution__threads="1", **settings) as engine:
            query = engine.select(text)
            rows = [tuple(map(local, row)) for row in query.answer().rows()]
            spared = sum(site["total"]["cache_hits"] for site in query.calls.describe())
        found[spared > 0] = {row[0]: dict(zip(calls, row[1:], strict=True)) for row in rows}
    assert found[True] == found[False]
    assert len(found[True]) == sum(map(len, ALIKE))


BOUND = f"WINDOW :w1 {{ GRAPH ?g {{ {ANNOTATED} BIND({LOW} AS ?p) }} }}"


@pytest.mark.parametrize(
    ("shown", "pattern", "lazy", "eager"),
    [
        # Rows of the first window that the join leaves are 2 (one reading at L1, twice), of 3.
        ("?o ?p", f"{BOUND} {WARM}", 4, 6),
        ("?o ?p", f"{WARM} {BOUND}", 4, 6),
        ("?o ?p", f"{BOUND} {WARM} FILTER(?p > 0.8)", 4, 6),
        ("?o ?p", f"{WARM} WINDOW :w1 {{ {ANNOTATED} BIND({LOW} AS ?p) FILTER(?p > 0.8) }}", 4, 6),
        ("?o", f"{BOUND} {WARM} FILTER(?p > 0.8)", 4, 6),
        ("?o", f"{BOUND} {WARM}", 0, 0),
        ("?o ?p", f"{WARM} OPTIONAL {{ {BOUND} }}", 6, 6),
        # An OPTIONAL drops no rows, and may multiply them.
        ("?o ?p", f"{BOUND} OPTIONAL {{ {WARM} }}", 6, 6),
        (
            "?o ?q",
            f"WINDOW :w1 {{ {ANNOTATED} BIND(rspu:add(?error, ?level) AS ?sum)"
            f" BIND(rspu:lessThan(?sum, 0.18) AS ?q) }} {WARM}",
            4,
            6,
        ),
    ],
)
def test_lazy_variables_are_computed_for_what_is_left(
    spark: SparkSession, shown: str, pattern: str, lazy: int, eager: int
) -> None:
    first = {"oxygen": OXYGEN[:3], "heat": HEAT[:3]}
    told = {}
    text = query(shown, pattern, "PT10S STEP PT10S", "PT10S STEP PT10S")
    for setting, calls in (("true", lazy), ("false", eager)):
        with engine_with(
            spark, lazyVariables__enabled=setting, predicatePlacement="late"
        ) as engine:
            told[setting], made = run(engine, text, first)
        assert made.progress.calls + made.progress.cache_hits == calls, setting
    assert told["true"] == told["false"]
    assert any(told["true"].values())


def shape(pattern: str, cached: bool = True, shown: str = "*") -> list[str]:
    """The lines of a delayed pattern that bind and filter."""
    text = f"{PREFIXES} SELECT {shown} {{ {pattern} }}"
    made: Node = delay_binds(parse_query(text).pattern, cached)
    return [line for line in format_algebra(made).splitlines() if "rspu#" in line or "?p" in line]


def top(pattern: str, cached: bool = True) -> bool:
    """Whether a BIND has come to the top of the group, with the filters that read it."""
    made = delay_binds(parse_query(f"{PREFIXES} SELECT * {{ {pattern} }}").pattern, cached)
    found = made.children[0]
    while isinstance(found, Filter):
        found = found.input
    return isinstance(found, Extend)


P = "?s :x ?x BIND(rspu:mean(?x) AS ?p)"


def test_where_binds_stop() -> None:
    assert top(f"GRAPH :g {{ {P} }} ?s :y ?y")
    assert top(f"GRAPH ?g {{ {P} }} ?g :y ?y")
    assert top(f"{{ {P} }} MINUS {{ ?s :y ?y }}")
    assert top(f"{{ {P} }} ?s :y ?y FILTER(?p > 1)")
    # Filters that read the variable go with it, and a BIND that does.
    assert top(f"{{ {P} FILTER(?p > 1) }} ?s :y ?y")
    assert top(f"GRAPH ?g {{ {P} FILTER(BOUND(?p)) }} ?s :y ?y")
    assert top(f"{{ {P} BIND(?p + 1 AS ?q) FILTER(?q > ?p) }} ?s :y ?y")
    assert top(f"{{ {P} FILTER(?p > 1) }} MINUS {{ ?s :y ?y }}")
    # Another pattern has the variable, or one that the call reads and that may be unbound.
    assert not top(f"{{ {P} }} ?t :y ?p")
    assert not top(f"{{ {P} FILTER(?p > 1) }} ?t :y ?p")
    assert not top(f"{{ {P} }} {{ ?s :y ?y OPTIONAL {{ ?s :z ?p }} }}")
    assert not top("{ OPTIONAL { ?s :x ?x } BIND(rspu:mean(?x) AS ?p) } ?t :y ?x")
    assert not top(f"{{ {P} }} MINUS {{ ?s :y ?p }}")
    assert not top(f"{{ {P} }} UNION {{ ?s :y ?y }}")
    assert not top(f"?s :y ?y OPTIONAL {{ {P} }}")
    assert not top(f"{{ {P} }} OPTIONAL {{ ?s :y ?y FILTER(?p > ?y) }}")
    assert not top("GRAPH ?g { ?s :x ?x BIND(rspu:mean(?g) AS ?p) }")
    assert not top("GRAPH ?g { ?s :x ?x BIND(rspu:mean(?x) AS ?p) FILTER(?p > ?g) }")
    # The pattern of EXISTS is matched in the graph around it.
    assert not top(f"GRAPH :g {{ {P} FILTER EXISTS {{ ?s :z ?p }} }} ?s :y ?y")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?p { VALUES ?x { UNCERTAIN } BIND(rspu:mean(?y) AS ?p) BIND(?x AS ?y) }",
        "SELECT (rspu:mean(?y) AS ?p) (?x AS ?y) { VALUES ?x { UNCERTAIN } }",
    ],
)
def test_a_bind_does_not_read_what_is_bound_after_it(spark: SparkSession, text: str) -> None:
    text = PREFIXES + text.replace("UNCERTAIN", '"N(1, 1)"^^rspu:distribution')
    with engine_with(spark) as engine:
        (row,) = engine.select(text).answer().rows()
    assert row[0] is None


def test_an_optional_is_passed_on_the_way_to_a_join_alone() -> None:
    around = f"{{ {P} }} OPTIONAL {{ ?s :y ?y }}"
    assert not top(around)
    assert top(f"{{ {around} }} ?s :z ?z")
    # Without a cache there would be a call for each row that it makes.
    assert not top(f"{{ {around} }} ?s :z ?z", cached=False)


RSPU_MEAN = "<http://w3id.org/rsp/rspu#mean>(?x)"


def test_what_is_read_once_is_computed_where_it_is_read() -> None:
    assert f"Filter {RSPU_MEAN} > 1" in str(shape(f"{P} FILTER(?p > 1)", shown="?s"))
    assert "Filter ?p > 1" in str(shape(f"{P} FILTER(?p > 1)"))
    twice = shape(f"{P} FILTER(?p > 1) FILTER(?p < ?x)", shown="?s")
    assert RSPU_MEAN in twice[-1] and RSPU_MEAN not in str(twice[:-1])
    assert "Filter BOUND(?p)" in str(shape(f"{P} FILTER(BOUND(?p))", shown="?s"))
    assert "Filter ?p > 1" in str(shape(f"{P} FILTER(?p > 1) {{ ?p :y ?z }}", shown="?s"))


def test_a_sum_is_handed_on_as_it_is() -> None:
    """A distribution that several functions read is made by each of them, and text of it only for the answer."""
    pattern = "?s :x ?x ; :y ?y BIND(rspu:add(?x, ?y) AS ?p) FILTER(rspu:lessThan(?p, 1) > 0.5)"
    call = "lessThan>(<http://w3id.org/rsp/rspu#add>(?x, ?y), 1) > 0.5"
    assert call in str(shape(pattern))
    assert "lessThan>(?p, 1) > 0.5" in str(shape(pattern, cached=False))
    assert "Filter ?p = ?x" in str(shape("?s :x ?x BIND(rspu:add(?x, 1) AS ?p) FILTER(?p = ?x)"))


SETTINGS = (
    {},
    {"lazyVariables__enabled": "false", "predicatePlacement": "early"},
    {"predicatePlacement": "late", "functionCache__enabled": "false"},
    {"predicatePlacement": "early"},
)


def random_query(random: Random) -> str:
    """Two windows joined on the place, with BINDs and filters of uncertain values at random places."""
    calls = [
        LOW,
        "rspu:greaterThan(?error, ?level)",
        "rspu:add(?error, ?level)",
        "rspu:mean(?level)",  # an error
        "rspu:between(rspu:add(?error, ?level), 0.16, ?high)",
        "rspu:quantile(?error, 0.9)",
    ]
    later = [
        "rspu:variance(?p)",
        "rspu:greaterThan(rspu:add(?error, ?p), 0.4)",
        "rspu:lessThan(?p, 0.175)",
        "?p > 0.5",
        "BOUND(?p)",
        "COALESCE(?p, 0)",
    ]
    conditions = [
        "?p > 0.5",
        "!BOUND(?p) || ?p >= 0",
        "?q < 1",
        "rspu:lessThan(?p, 0.175) > 0.3",
        f"{LOW} > 0.8",
        "?level < 0.19",
    ]
    inner = f"{ANNOTATED} BIND({random.choice(calls)} AS ?p)"
    if random.random() < 0.5:
        inner += f" BIND({random.choice(later)} AS ?q)"
    if random.random() < 0.5:
        inner += f" FILTER({random.choice(conditions)})"
    if random.random() < 0.3:
        inner = f"OPTIONAL {{ {inner} }}"
    first = f"WINDOW :w1 {{ {random.choice(['', 'GRAPH ?g '])}{{ {inner} }} }}"
    second = random.choice([WARM, f"OPTIONAL {{ {WARM} }}", f"MINUS {{ {WARM} }}", f"{{ {WARM} }}"])
    parts = [first, second]
    if "MINUS" not in second and "OPTIONAL" not in second and random.random() < 0.5:
        parts.reverse()
    if random.random() < 0.3:
        parts.append("{ BIND(0.5 AS ?p) } UNION { BIND(?none AS ?p) }")
    if random.random() < 0.5:
        parts.append(f"FILTER({random.choice(conditions)})")
    shown = " ".join(sorted(random.sample(["?o", "?p", "?q", "?place", "?degrees"], 3)))
    return query(f"{random.choice(['', 'DISTINCT '])}{shown}", " ".join(parts))


def test_answers_of_random_queries_do_not_depend_on_settings(spark: SparkSession) -> None:
    random = Random(11)
    texts = [random_query(random) for _ in range(10)]
    found = []
    for settings in SETTINGS:
        with engine_with(spark, **settings) as engine:
            found.append(run_all(engine, texts))
    for text, first, *others in zip(texts, *found, strict=True):
        assert all(other == first for other in others), text
    assert sum(any(rows for rows in told.values()) for told in found[0]) >= 4


def run_all(engine: Engine, texts: list[str]) -> list[dict[int, list[str]]]:
    for stream in STREAMS:
        engine.register_stream(E + stream)
    queries = [engine.register_query(PREFIXES + text) for text in texts]
    told: list[dict[int, list[str]]] = [{} for _ in texts]
    for registered, answers in zip(queries, told, strict=True):
        registered.subscribe(
            lambda answered, answers=answers: answers.__setitem__(
                answered.time // 1000, sorted(" ".join(map(local, r)) for r in answered.rows())
            )
        )
    for stream, elements in STREAMS.items():
        engine.stream(E + stream).push_elements(elements)
    engine.finish()
    assert [q.progress.failures for q in queries] == [0] * len(queries)
    return told


def element(*triples: str) -> StreamElement:
    return StreamElement(1000, None, tuple(f"{t} ." for t in triples), None, ())


def test_a_literal_that_is_none_stays_a_term(spark: SparkSession) -> None:
    """Malformed literals and other datatypes of the data are terms like any other."""
    rspu = "http://w3id.org/rsp/rspu#"
    data = element(
        f'<{E}a> <{E}x> "N(0, oops)"^^<{rspu}distribution>',
        f'<{E}b> <{E}x> "N(0, 1)"^^<{rspu}distribution>',
        f'<{E}c> <{E}x> "N(0, 1)"',
    )
    text = (
        f"SELECT ?s ?x ?p FROM NAMED WINDOW :w1 ON <{E}oxygen> [RANGE PT10S STEP PT10S]"
        " WHERE { WINDOW :w1 { ?s :x ?x BIND(rspu:lessThan(?x, 0) AS ?p) } }"
    )
    with engine_with(spark) as engine:
        told, _ = run(engine, text, {"oxygen": [data]})
    assert told[10] == ["a N(0, oops) -", "b N(0, 1) 5.0E-1", "c N(0, 1) -"]
