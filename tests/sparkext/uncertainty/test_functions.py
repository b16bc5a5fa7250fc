"""The functions of `rspu:` in queries: values against SciPy, errors as Definition 14 has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import QuerySyntaxError
from sparkext.language import parse_query
from tests.sparkext.uncertainty.distributions.scipy_families import FAMILIES, Family
from tests.sparkext.uncertainty.readings import PREFIXES, engine_with, local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

BY_LITERAL = {family.literal: family for family in FAMILIES}
Rows = list[tuple[str, ...]]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with engine_with(spark) as made:
        yield made


def select(engine: Engine, text: str) -> Rows:
    return [tuple(map(local, row)) for row in engine.select(PREFIXES + text).answer().rows()]


def literal(family: Family | str) -> str:
    text = family if isinstance(family, str) else family.literal
    return f'"{text}"^^rspu:distribution'


def test_a_distribution_and_a_number(engine: Engine) -> None:
    rows = select(
        engine,
        f"""SELECT ?x ?less ?lessEqual ?greater ?greaterEqual ?inside ?mean ?variance ?quantile ?sum {{
        VALUES ?x {{ {" ".join(map(literal, FAMILIES))} }}
        BIND(rspu:lessThan(?x, 0.6) AS ?less) BIND(rspu:lessThanOrEqual(?x, 0.6) AS ?lessEqual)
        BIND(rspu:greaterThan(?x, 0.6) AS ?greater) BIND(rspu:greaterThanOrEqual(?x, 0.6) AS ?greaterEqual)
        BIND(rspu:between(?x, 0.2, 1) AS ?inside) BIND(rspu:mean(?x) AS ?mean)
        BIND(rspu:variance(?x) AS ?variance) BIND(rspu:quantile(?x, 0.3) AS ?quantile)
        BIND(rspu:lessThan(rspu:subtract(rspu:add(?x, 2.5), 0.5), 2.6) AS ?sum) }}""",
    )
    assert len(rows) == len(FAMILIES)
    for text, *values in rows:
        x = BY_LITERAL[text]
        less, less_equal, greater, greater_equal, inside, mean, variance, quantile, total = map(
            float, values
        )
        assert less == pytest.approx(x.below(0.6), abs=1e-9), text
        assert total == pytest.approx(less, abs=1e-9)
        assert less_equal == pytest.approx(x.cdf(0.6), abs=1e-9)
        assert greater == pytest.approx(1 - x.cdf(0.6), abs=1e-9)
        assert greater_equal == pytest.approx(1 - x.below(0.6), abs=1e-9)
        assert inside == pytest.approx(max(0.0, x.below(1.0) - x.cdf(0.2)), abs=1e-9)
        assert mean == pytest.approx(x.mean, abs=1e-9)
        assert variance == pytest.approx(x.variance, abs=1e-9)
        assert x.cdf(quantile) >= 0.3 - 1e-9 and x.below(quantile) <= 0.3 + 1e-9


def test_two_distributions(engine: Engine) -> None:
    some = FAMILIES[::3]
    rows = select(
        engine,
        f"""SELECT ?x ?y ?less ?greater ?notLess ?notGreater ?total ?difference {{
        VALUES ?x {{ {" ".join(map(literal, some))} }} VALUES ?y {{ {" ".join(map(literal, some))} }}
        BIND(rspu:lessThan(?x, ?y) AS ?less) BIND(rspu:greaterThan(?x, ?y) AS ?greater)
        BIND(rspu:greaterThanOrEqual(?x, ?y) AS ?notLess) BIND(rspu:lessThanOrEqual(?x, ?y) AS ?notGreater)
        BIND(rspu:lessThan(rspu:add(?x, ?y), 1) AS ?total)
        BIND(rspu:greaterThan(rspu:subtract(?x, ?y), 0.1) AS ?difference) }}""",
    )
    assert len(rows) == len(some) ** 2
    for first, second, *values in rows:
        x, y = BY_LITERAL[first], BY_LITERAL[second]
        less, greater, not_less, not_greater, total, difference = map(float, values)
        cuts = x.kinks
        where = (first, second)
        assert less == pytest.approx(y.expectation(x.below, cuts), abs=1e-6), where
        assert not_greater == pytest.approx(y.expectation(x.cdf, cuts), abs=1e-6), where
        assert greater == pytest.approx(1 - not_greater, abs=1e-6)
        assert not_less == pytest.approx(1 - less, abs=1e-6)
        mirrored = tuple(1 - cut for cut in cuts)
        shifted = tuple(cut - 0.1 for cut in cuts)
        assert total == pytest.approx(
            y.expectation(lambda v, x=x: x.below(1 - v), mirrored), abs=1e-6
        ), where
        assert difference == pytest.approx(
            1 - y.expectation(lambda v, x=x: x.cdf(v + 0.1), shifted), abs=1e-6
        ), where


def test_sums_as_terms(engine: Engine) -> None:
    rows = select(
        engine,
        f"""SELECT ?s (DATATYPE(?s) AS ?type) {{ VALUES (?x ?y) {{
          ({literal("N(1, 2)")} {literal("N(3, 4)")}) ({literal("U(0,1)")} 2)
          ({literal("N(0, 1)")} {literal("U(0, 1)")}) }} BIND(rspu:add(?x, ?y) AS ?s) }}""",
    )
    assert [row[0] for row in rows] == ["N(4, 6)", "U(2, 3)", "Sum(N(0, 1), U(0, 1))"]
    assert {row[1] for row in rows} == {"rspu#distribution"}


NAN = '"NaN"^^<http://www.w3.org/2001/XMLSchema#double>'


def test_nan_is_neither_less_nor_greater(engine: Engine) -> None:
    signs = ("<", "<=", ">", ">=", "=", "!=")
    tests = [
        test
        for sign in signs
        for test in (f"rspu:mean(?x) {sign} {NAN}", f"{NAN} {sign} rspu:mean(?x)")
    ]
    binds = " ".join(f"BIND(({test}) AS ?c{n})" for n, test in enumerate(tests))
    shown = " ".join(f"?c{n}" for n in range(len(tests)))
    values = f"VALUES ?x {{ {literal('N(1, 2)')} {literal('N(1)')} }}"
    rows = select(engine, f"SELECT {shown} {{ {values} {binds} }}")
    assert sorted(rows) == [("-",) * 12, ("false",) * 10 + ("true",) * 2]
    for test in tests:
        rows = select(engine, f"SELECT ?x {{ {values} FILTER({test}) }}")
        assert rows == ([("N(1, 2)",)] if "!=" in test else []), test


ERRORS = [
    f"rspu:add(0.2, {literal('N(0, 1)')})",
    f"rspu:subtract(1, {literal('N(0, 1)')})",
    'rspu:add("N(0, 1)", 1)',
    f"rspu:add({literal('N(0, 1)')}, 'one')",
    f"rspu:add({literal('N(0, 1)')}, :one)",
    f"rspu:add({literal('N(0, -1)')}, 1)",
    f"rspu:add({literal('N(1e308, 1)')}, {literal('N(1e308, 1)')})",
    f"rspu:add({literal('N(0, 1e308)')}, {literal('N(0, 1e308)')})",
    f"rspu:variance({literal('U(-1e308, 1e308)')})",
    f"rspu:mean({literal('LN(800, 1)')})",
    f"rspu:lessThan({literal('Sum(' * 3000 + 'N(0, 1)' + ', U(0, 1))' * 3000)}, 1)",
    f"rspu:lessThan({literal('N(0)')}, 1)",
    f"rspu:lessThan({literal('N(0, 1)')}, ?nothing)",
    "rspu:lessThan(?nothing, 1)",
    f"rspu:lessThan({literal('N(0, 1)')}, 'NaN'^^<http://www.w3.org/2001/XMLSchema#double>)",
    f"rspu:greaterThan({literal('N(0, 1)')}, true)",
    "rspu:greaterThan(1, 2)",
    f"rspu:between({literal('N(0, 1)')}, 1, 'x')",
    f"rspu:between({literal('N(0, 1)')}, :low, 1)",
    "rspu:mean(0.5)",
    "rspu:variance(<http://example.org/x>)",
    f"rspu:quantile({literal('N(0, 1)')}, 2)",
    f"rspu:quantile({literal('N(0, 1)')}, 0)",
    f"rspu:quantile({literal('N(0, 1)')}, {literal('N(0, 1)')})",
    f"rspu:greaterThan(rspu:add(1, {literal('N(0, 1)')}), 2)",
]


@pytest.mark.parametrize("lazy", ["true", "false"])
def test_errors_leave_a_bind_unbound(spark: SparkSession, lazy: str) -> None:
    names = [f"?e{place}" for place in range(len(ERRORS))]
    binds = " ".join(f"BIND({e} AS {name})" for e, name in zip(ERRORS, names, strict=True))
    with engine_with(spark, lazyVariables__enabled=lazy) as engine:
        (row,) = select(engine, f"SELECT ?a {' '.join(names)} {{ VALUES ?a {{ 1 }} {binds} }}")
    assert row == ("1", *["-"] * len(ERRORS))


def test_errors_in_filters_drop_the_solution(engine: Engine) -> None:
    """Each error stands in a branch of its own, together with a number that tells which."""

    def kept(condition: str) -> list[int]:
        branches = " UNION ".join(
            f"{{ VALUES ?a {{ {place} }} FILTER({condition.format(error)}) }}"
            for place, error in enumerate(ERRORS)
        )
        return sorted(int(a) for (a,) in select(engine, f"SELECT ?a {{ {branches} }}"))

    everything = list(range(len(ERRORS)))
    assert kept("{0}") == kept("!({0})") == kept("{0} >= 0") == kept("{0} < 5") == []
    assert kept("{0} >= 0 || ?a >= 0") == everything
    assert kept("COALESCE({0}, 7) = 7") == everything


def test_values_among_other_expressions(engine: Engine) -> None:
    data = f"VALUES (?n ?x) {{ (1 {literal('N(3, 1)')}) (2 {literal('N(1, 4)')}) (3 {literal('U(0, 4)')}) }}"
    ask = {
        "SELECT ?n { DATA FILTER(rspu:lessThan(?x, rspu:mean(?x)) = 0.5) }": [
            ("1",),
            ("2",),
            ("3",),
        ],
        "SELECT ?n { DATA FILTER(rspu:lessThan(?x, 2) != 0.5) }": [("1",), ("2",)],
        "SELECT ?n { DATA FILTER(rspu:mean(?x) > rspu:variance(?x)) }": [("1",), ("3",)],
        "SELECT ?n { DATA FILTER(rspu:mean(?x) IN (1, 3.0)) }": [("1",), ("2",)],
        "SELECT ?n { DATA FILTER(rspu:variance(?x) - 1) }": [("2",), ("3",)],
        "SELECT ?n { DATA FILTER(rspu:greaterThan(?x, -1e9)) }": [("1",), ("2",), ("3",)],
        "SELECT ?n { DATA FILTER(!rspu:greaterThan(?x, 4) && ?n > 1) }": [("3",)],
        "SELECT ?n { DATA FILTER(rspu:greaterThan(?x, 4)) }": [("1",), ("2",)],
        "SELECT ?n { DATA FILTER(rspu:add(?x, 1)) }": [],
        "SELECT (SUM(rspu:mean(?x)) AS ?s) { DATA }": [("6.0E0",)],
        "SELECT ?g (COUNT(*) AS ?c) { DATA } GROUP BY (rspu:mean(?x) > 1.5 AS ?g)": [
            ("false", "1"),
            ("true", "2"),
        ],
    }
    for text, expected in ask.items():
        assert sorted(select(engine, text.replace("DATA", data))) == expected, text
    ordered = f"SELECT ?n {{ {data} }} ORDER BY DESC(rspu:mean(?x))"
    assert select(engine, ordered) == [("1",), ("3",), ("2",)]


@pytest.mark.parametrize(
    ("call", "message", "column"),
    [
        ("rspu:add(?x)", "rspu:add takes 2 arguments, not 1", 10),
        ("rspu:mean(?x, 1)", "rspu:mean takes 1 argument, not 2", 10),
        ("rspu:between(?x, 1)", "rspu:between takes 3 arguments, not 2", 10),
        ("rspu:add(DISTINCT ?x, 1)", "rspu:add takes no DISTINCT", 10),
        (
            "1 + rspu:max(?x)",
            "there is no function rspu:max; there are rspu:add, rspu:subtract",
            14,
        ),
    ],
)
def test_mistaken_calls(call: str, message: str, column: int) -> None:
    text = f"PREFIX rspu: <http://w3id.org/rsp/rspu#>\nSELECT * {{\n  FILTER({call})\n}}"
    with pytest.raises(QuerySyntaxError, match=message) as raised:
        parse_query(text)
    assert (raised.value.line, raised.value.column) == (3, column)
