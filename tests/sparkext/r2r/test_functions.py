"""Every function of SPARQL in the engine, by the examples of the standard and beside Oxigraph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from sparkext.engine import Engine
from tests.sparkext.r2r.function_cases import (
    ARITHMETIC,
    CASES,
    CASTS,
    DATES,
    DIFFERS,
    LANGUAGES,
    TRIPLES,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What SPARQL 1.1 does not say, Oxigraph says in its own way.
OPEN = {*DIFFERS, *TRIPLES, *LANGUAGES, *ARITHMETIC}
PROLOGUE = "BASE <http://base.example/dir/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
GIVEN = "VALUES (?one ?iri ?unbound) { (1 <http://e/a> UNDEF) }"


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    made = Engine(spark)
    yield made
    made.close()


@pytest.fixture(scope="module")
def found(engine: Engine) -> dict[str, str | None]:
    return values_of(engine, CASES)


def values_of(engine: Engine, expressions: Iterable[str]) -> dict[str, str | None]:
    """The value of each expression, a plan for many at once."""
    values: dict[str, str | None] = {}
    texts = list(expressions)
    for some in (texts[first : first + 40] for first in range(0, len(texts), 40)):
        columns = " ".join(f"({text} AS ?v{place})" for place, text in enumerate(some))
        ((*row,),) = engine.select(f"{PROLOGUE} SELECT {columns} {{ {GIVEN} }}").answer().rows()
        values |= zip(some, row, strict=True)
    return values


@pytest.mark.parametrize("expression", CASES)
def test_value(found: dict[str, str | None], expression: str) -> None:
    assert found[expression] == CASES[expression]


@pytest.mark.usefixtures("persian_digits")
def test_values_have_the_same_digits_wherever_java_runs(engine: Engine) -> None:
    wanted = {**DATES, **ARITHMETIC, **CASTS}
    assert values_of(engine, wanted) == wanted


@pytest.mark.parametrize("expression", sorted({*CASES} - OPEN))
def test_oxigraph_says_the_same(expression: str) -> None:
    query = f"{PROLOGUE} SELECT ({expression} AS ?v) {{ {GIVEN} }}"
    (row,) = pyoxigraph.Store().query(query)  # type: ignore[union-attr]
    value, expected = row["v"], CASES[expression]
    if expected is None or value is None:
        assert value is None and expected is None
    elif "XMLSchema#d" in expected or "XMLSchema#integer" in expected:
        test = f"ASK {{ FILTER({value} = {expected}) }}"
        assert pyoxigraph.Store().query(test), f"{value} is not {expected}"
    else:
        assert str(value) == expected
