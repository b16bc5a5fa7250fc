"""A stream whose two sides take turns in being the small one, and a query that joins them, for tests."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from sparkext.runtime.adaptation import Adaptation

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery


STREAM = "http://example.org/s"


QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM <http://example.org/{name}> AS SELECT ?a ?b
FROM NAMED WINDOW :wa ON :s [NOW] FROM NAMED WINDOW :wb ON :s [NOW]
WHERE {{ WINDOW :wa {{ ?a :in ?loc }} WINDOW :wb {{ ?b :at ?loc }} ?a :knows ?b }}"""


PEOPLE = 400
KNOWN = {p: [(p * 7 + k * 13) % PEOPLE for k in range(1 if p < 200 else 30)] for p in range(PEOPLE)}


def iri(name: str) -> str:
    return f"http://example.org/{name}"


def started(spark: SparkSession, folder: Path, **settings: str) -> Engine:
    """An engine with who knows whom loaded: the first half of the people know one other, the rest thirty."""
    from sparkext import Engine

    keys = {f"spark.cqels.{key.replace('__', '.')}": value for key, value in settings.items()}
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        engine = Engine(spark)
    finally:
        for key in keys:
            spark.conf.unset(key)
    # Contents this small never pay for another plan: here, preparing and switching are free.
    policy = replace(engine.switch_policy, prepare_cost=0.0, switch_cost=0.0)
    for name in {"margin", "trials"} - {key.removeprefix("planCache.") for key in settings}:
        policy = replace(policy, **{name: 0})
    engine.switch_policy = policy
    file = folder / "knows.nt"
    file.write_text(
        "".join(
            f"<{iri(f'p{a}')}> <{iri('knows')}> <{iri(f'p{b}')}> .\n"
            for a, others in KNOWN.items()
            for b in others
        )
    )
    engine.load_static(file, progress=False)
    engine.register_stream(STREAM)
    return engine


def contents(second: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Who is in which room at a second: few rooms and loners first, later many rooms and people who know many."""
    rng = random.Random(second)
    low, rooms = (0, 3) if second % 20 < 10 else (200, 300)
    first = {(low + rng.randrange(200), rng.randrange(rooms)) for _ in range(300)}
    return sorted(first), sorted(
        {(rng.randrange(PEOPLE), rng.randrange(rooms)) for _ in range(300)}
    )


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


def by_cost(query: RegisteredQuery) -> RegisteredQuery:
    """The query with its plans chosen by what they should cost: what so little content takes is a matter of chance."""
    adaptation = query._adaptation
    assert adaptation is not None
    adaptation.orders._rehearse = lambda plans: None
    return query


def adapted_by_cost(engine: Engine, name: str) -> tuple[RegisteredQuery, Adaptation]:
    """The query of these tests, its plans chosen by what they should cost, and what has them follow the stream."""
    query = by_cost(engine.register_query(QUERY.format(name=name)))
    assert query._adaptation is not None
    return query, query._adaptation


def answers(query: RegisteredQuery) -> Counter[tuple[str | None, ...]]:
    assert query.last_answers is not None
    return Counter(query.last_answers.rows())
