"""A stream whose two sides take turns in being the small one, and a query that joins them, for tests."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery


STREAM = "http://example.org/s"


QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM <http://example.org/{name}> AS SELECT ?a ?b
FROM NAMED WINDOW :wa ON :s [NOW] FROM NAMED WINDOW :wb ON :s [NOW]
WHERE {{ WINDOW :wa {{ ?a :in ?loc }} WINDOW :wb {{ ?b :at ?loc }} ?a :knows ?b }}"""


IN, AT = "wa{?a in ?loc}", "wb{?b at ?loc}"
"""The two sides, as join orders call them."""


PEOPLE = 400
KNOWN = {p: [(p * 7 + k * 13) % PEOPLE for k in range(1 if p < 200 else 30)] for p in range(PEOPLE)}


def iri(name: str) -> str:
    return f"http://example.org/{name}"


def acquaintances() -> str:
    """Who knows whom, in N-Triples: the first half of the people know one other, the rest thirty."""
    return "".join(
        f"<{iri(f'p{a}')}> <{iri('knows')}> <{iri(f'p{b}')}> .\n"
        for a, others in KNOWN.items()
        for b in others
    )


def started(spark: SparkSession, folder: Path, **settings: str) -> Engine:
    """An engine with who knows whom loaded."""
    from sparkext import Engine

    keys = {f"spark.cqels.{key.replace('__', '.')}": value for key, value in settings.items()}
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        engine = Engine(spark)
    finally:
        for key in keys:
            spark.conf.unset(key)
    file = folder / "knows.nt"
    file.write_text(acquaintances())
    engine.load_static(file, progress=False)
    engine.register_stream(STREAM)
    return engine


FEW, MANY = 60, 300


def few_in(second: int) -> bool:
    """Whether it is `in` that few people are at a second; else few are `at`."""
    return second % 20 < 10


def contents(second: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Who is `in` and `at` which room: loners in few rooms, in other seconds people who know many in many rooms."""
    rng = random.Random(second)
    few = few_in(second)
    low, rooms = (0, 3) if few else (200, 100)
    first = {(low + rng.randrange(200), rng.randrange(rooms)) for _ in range(FEW if few else MANY)}
    other = {(rng.randrange(PEOPLE), rng.randrange(rooms)) for _ in range(MANY if few else FEW)}
    return sorted(first), sorted(other)


def sighted(second: int) -> list[tuple[str, str, str]]:
    """The triples of a second."""
    first, others = contents(second)
    triples = [(iri(f"p{a}"), iri("in"), iri(f"r{r}")) for a, r in first]
    return triples + [(iri(f"p{b}"), iri("at"), iri(f"r{r}")) for b, r in others]


def evaluate(engine: Engine, second: int) -> None:
    """Push one second of the stream and have it answered."""
    engine.stream(STREAM).push(sighted(second), time=second * 1000)
    engine.advance_to(second * 1000)


def expected(second: int) -> Counter[tuple[str, str]]:
    """The answers of a second, from the definition."""
    first, others = contents(second)
    return Counter(
        (f"<{iri(f'p{a}')}>", f"<{iri(f'p{b}')}>")
        for a, room in first
        for b, other in others
        if room == other and b in KNOWN[a]
    )


def answers(query: RegisteredQuery) -> Counter[tuple[str | None, ...]]:
    assert query.last_answers is not None
    return Counter(query.last_answers.rows())


def order_of(query: RegisteredQuery, cluster: int = 0) -> dict[str, Any]:
    """How a cluster was joined in the last evaluation, as `explain()` tells it."""
    order: dict[str, Any] = query.explain().data["choices"][cluster]["order"]
    return order
