"""Random arithmetic, comparisons and logic say what Oxigraph says of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from sparkext.engine import Engine
from static_data.terms import XSD, Literal, parse_term

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = 'VALUES (?i ?d ?f ?s ?b ?u) { (3 -2.5 1.5e0 "a" true UNDEF) }'
LEAVES = (
    *("?i", "?d", "?f", "?s", "?b", "?u", "1", "0", "-4", "2.25", "0.1e0", '"b"', "false"),
    '(0 + "1"^^xsd:int)',  # by itself, Oxigraph would call it an xsd:integer
    '"0.5"^^xsd:float',
    "<http://e/a>",
)
NUMERIC = {XSD + name for name in ("integer", "decimal", "double", "float")}


def number(random: Random, depth: int) -> str:
    """An expression that is a number, most of the time."""
    if depth == 0 or random.random() < 0.2:
        return random.choice(LEAVES)
    left, right = number(random, depth - 1), number(random, depth - 1)
    match random.randrange(8):
        case 0:
            return f"IF({truth(random, depth - 1)}, {left}, {right})"
        case 1:
            return f"COALESCE({left}, {right})"
        case 2:
            return f"-({left})"
        case 3:
            return f"{random.choice(('ABS', 'FLOOR', 'CEIL', 'ROUND'))}({left})"
        case _:
            return f"({left} {random.choice('+-*/')} {right})"


def truth(random: Random, depth: int) -> str:
    """An expression that is a truth value, or has one."""
    if depth == 0:
        return random.choice(LEAVES)
    match random.randrange(7):
        case 0:
            return f"!({truth(random, depth - 1)})"
        case 1:
            return f"({truth(random, depth - 1)} && {truth(random, depth - 1)})"
        case 2:
            return f"({truth(random, depth - 1)} || {truth(random, depth - 1)})"
        case 3:
            choices = ", ".join(number(random, depth - 1) for _ in range(random.randrange(3)))
            negation = random.choice(("", "NOT "))
            return f"({number(random, depth - 1)} {negation}IN ({choices}))"
        case _:
            operator = random.choice(("=", "!=", "<", "<=", ">", ">="))
            return f"({number(random, depth - 1)} {operator} {number(random, depth - 1)})"


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    made = Engine(spark)
    yield made
    made.close()


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(engine: Engine, seed: int) -> None:
    random = Random(seed)
    texts = [(number if place % 2 else truth)(random, 3) for place in range(40)]
    columns = " ".join(f"({text} AS ?v{place})" for place, text in enumerate(texts))
    query = f"PREFIX xsd: <{XSD}> SELECT {columns} {{ {VALUES} }}"
    (row,) = engine.select(query).answer().rows()
    (expected,) = pyoxigraph.Store().query(query)  # type: ignore[union-attr]
    for place, text in enumerate(texts):
        theirs = expected[f"v{place}"]
        assert same(row[place], None if theirs is None else str(theirs)), text


def same(ours: str | None, theirs: str | None) -> bool:
    """The same term, or numbers of one type that digits of a quotient tell apart at most."""
    if ours is None or theirs is None:
        return ours is theirs
    a, b = parse_term(ours), parse_term(theirs)
    numbers = isinstance(a, Literal) and isinstance(b, Literal) and a.datatype.value in NUMERIC
    if not numbers:
        return a == b
    assert isinstance(a, Literal) and isinstance(b, Literal)
    x, y = float(a.lexical), float(b.lexical)
    close = math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(x) and math.isnan(y))
    return a.datatype == b.datatype and close
