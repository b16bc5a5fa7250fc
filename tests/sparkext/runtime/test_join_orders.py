"""Every valid join order of a query answers the same: random graphs of patterns, random trees, over moving windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.runtime.explaining.order_report import explain_order
from tests.adaptive.random_trees import RandomTrees

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.queries.compiled_plans import CompiledPlans
    from sparkext.runtime.registered_query import RegisteredQuery

STREAM = "http://example.org/s"
NODES, PREDICATES = 12, 3
SHAPES = ("chain", "star", "cycle", "clique", "random")
TREES = 6


@pytest.fixture(scope="module", params=["true", "false"], ids=["operator", "chains"])
def engine(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """An engine with random triples, whose clusters are one operator, or chains of Spark's joins."""
    from sparkext import Engine

    folder: Path = tmp_path_factory.mktemp("orders")
    spark.conf.set("spark.cqels.multiwayJoin.enabled", request.param)
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.multiwayJoin.enabled")
    random = Random(11)
    file = folder / "graph.nt"
    file.write_text("".join(f"{triple(random, 'static')} .\n" for _ in range(90)))
    engine.load_static(file, progress=False)
    engine.register_stream(STREAM)
    yield engine
    engine.close()


def node(number: int) -> str:
    return f"http://example.org/n{number}"


def triple(random: Random, kind: str) -> str:
    s, p, o = random.randrange(NODES), random.randrange(PREDICATES), random.randrange(NODES)
    return f"<{node(s)}> <http://example.org/{kind}{p}> <{node(o)}>"


def edges(shape: str, random: Random) -> list[tuple[str, str]]:
    """Pairs of variables: the patterns of a query of this shape."""
    match shape:
        case "chain":
            return [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
        case "star":
            return [("a", "b"), ("a", "c"), ("a", "d"), ("e", "a")]
        case "cycle":
            return [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
        case "clique":
            return [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("d", "b")]
        case _:
            bound = ["a"]
            found = []
            for name in "bcde":
                other = random.choice(bound)
                found.append((name, other) if random.random() < 0.5 else (other, name))
                bound.append(name)
            return found


def query_text(shape: str, random: Random) -> str:
    """A query with two windows, static patterns, and a filter or two."""
    patterns = []
    for place, (subject, obj) in enumerate(edges(shape, random)):
        live = place == 0 or random.random() < 0.3
        kind = "live" if live else "static"
        pattern = f"?{subject} :{kind}{random.randrange(PREDICATES)} ?{obj}"
        window = random.choice((":now", ":w3"))
        patterns.append(f"WINDOW {window} {{ {pattern} }}" if live else f"{pattern} .")
    filters = "FILTER(?a != ?b)" if random.random() < 0.6 else ""
    filters += " FILTER(?b != ?d)" if random.random() < 0.4 else ""
    return f"""PREFIX : <http://example.org/>
REGISTER RSTREAM <http://example.org/{shape}-{random.randrange(10**9)}> AS SELECT ?a ?b ?d
FROM NAMED WINDOW :now ON :s [NOW] FROM NAMED WINDOW :w3 ON :s [RANGE PT3S]
WHERE {{ {" ".join(patterns)} {filters} }}"""


def other_orders(
    engine: Engine, query: RegisteredQuery, random: Random
) -> tuple[int, list[CompiledPlans]]:
    """The place of the query's join cluster, and random trees of it, compiled."""
    (place,) = [n for n, choice in enumerate(query.plans.choices) if choice.search is not None]
    search = query.plans.choices[place].search
    assert search is not None
    trees = RandomTrees(search.graph, search.catalogue, engine.parts.prejoin_policy)
    orders = list(dict.fromkeys(trees.draw(random) for _ in range(TREES)))
    assert len(orders) > 1
    compiled = []
    for order in orders:
        given = list(query.plans.orders)
        given[place] = order
        compiled.append(query.compile(tuple(given)))
    return place, compiled


@pytest.mark.parametrize("shape", SHAPES)
def test_all_orders_of_a_query_give_the_same_answers(engine: Engine, shape: str) -> None:
    random = Random(f"orders of a {shape}")
    query = engine.register_query(query_text(shape, random))
    stream = engine.stream(STREAM)
    place, compiled = other_orders(engine, query, random)
    own = query.plans
    time = max(0, stream.watermark.complete_up_to) + 1000
    sizes, sequences = [], set()
    for _ in range(5):
        stream.push(sorted({live(random) for _ in range(40)}), time=time)
        engine.advance_to(time)
        expected = answered(query)
        sizes.append(sum(expected.values()))
        for plans in compiled:
            query._running.replace(plans)
            table, _ = query.run("", time)
            assert Counter(rows(table)) == expected, plans.orders[place]
            if engine.settings.multiway_join_enabled and sizes[-1]:
                sequences.add(joined_in(plans, place))
        query._running.replace(own)
        time += 1000
    assert max(sizes) > 0, "a query that never answers tells nothing"
    if engine.settings.multiway_join_enabled:
        assert len(sequences) > 1, "one order tells nothing"
    query.stop()


def joined_in(plans: CompiledPlans, place: int) -> tuple[str, ...]:
    """The relations of a pinned cluster in the order in which they were joined: that of the leaves of its plan."""
    choice = plans.choices[place]
    taken = explain_order(choice)["order"]
    steps = [step for step in taken[1:] if " from " in step or step.startswith("there is ")]
    found = [taken[0], *(step.partition(" from ")[2] or step[len("there is ") :] for step in steps)]
    assert tuple(found) == choice.joined
    return choice.joined


def live(random: Random) -> tuple[str, str, str]:
    s, p, o = random.randrange(NODES), random.randrange(PREDICATES), random.randrange(NODES)
    return node(s), f"http://example.org/live{p}", node(o)


def answered(query: RegisteredQuery) -> Counter[tuple[Any, ...]]:
    assert query.last_answers is not None
    return Counter(query.last_answers.rows())


def rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
