"""Chains of joins: a hash join over a filtered relation builds what the filter leaves, as its plan says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from adaptive import Join, Scan
from adaptive.explain import node_id
from sparkext.runtime.explaining.executed_operators import counted_rows, lay_over, operator_tree
from tests.sparkext.flipping_stream import KNOWN, contents, evaluate, iri, started

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sparkext.runtime.queries.compiled_plans import CompiledPlans
    from sparkext.runtime.registered_query import RegisteredQuery

TEXT = """PREFIX : <http://example.org/>
REGISTER RSTREAM <http://example.org/{name}> AS SELECT ?a ?c
FROM NAMED WINDOW :wa ON :s [NOW]
WHERE {{ WINDOW :wa {{ ?a :in ?loc }} ?a :knows ?c {filter} }}"""
# On the static relation, and on the window.
STATIC, LIVE = "FILTER(?c != :p7)", "FILTER(?loc != :r1)"


def expected(second: int, filter_: str) -> list[tuple[str, str]]:
    rows, _ = contents(second)
    return sorted(
        (f"<{iri(f'p{a}')}>", f"<{iri(f'p{c}')}>")
        for a, room in rows
        for c in KNOWN[a]
        if (c != 7 if filter_ is STATIC else room != 1)
    )


def sides(query: RegisteredQuery, filter_: str) -> tuple[str, str]:
    """The names of the relation without the filter and of the one with it."""
    search = query.plans.choices[0].search
    assert search is not None
    window, static = sorted(search.leaves, key=lambda name: not name.startswith("wa{"))
    return (window, static) if filter_ is STATIC else (static, window)


def run(query: RegisteredQuery, plans: CompiledPlans) -> tuple[list[Any], list[Any]]:
    """The answers over the content of now, and the operators' listing."""
    query._running.replace(plans)
    table, _ = query.run("")
    (listed,) = json.loads(plans.jvm.operators())
    return sorted(tuple(row.values()) for row in table.to_pylist()), listed["operators"]


@pytest.mark.parametrize("driver", ["true", "false"])
@pytest.mark.parametrize("filter_", [STATIC, LIVE], ids=["static", "live"])
def test_the_executed_join_is_the_one_that_was_chosen(
    spark: SparkSession, tmp_path: Path, driver: str, filter_: str
) -> None:
    engine = started(
        spark, tmp_path, **{"driverExecution.enabled": driver, "multiwayJoin.enabled": "false"}
    )
    query = engine.register_query(TEXT.format(name="sides", filter=filter_))
    left, right = sides(query, filter_)
    search = query.plans.choices[0].search
    assert search is not None
    (condition,) = (found.name for found in search.graph.filters)
    probed = query.compile((Join(Scan(left), Scan(right), ("a",), "index", (condition,)),))
    hashed = Join(Scan(left), Scan(right, (condition,)), ("a",), "hash")
    built = query.compile((hashed,))
    for second in (1, 2, 11):
        evaluate(engine, second)
        wanted = expected(second, filter_)
        for plans, name in ((probed, "IndexedRelation"), (built, "RelationScan")):
            answers, operators = run(query, plans)
            assert answers == wanted
            scans = [o[1] for o in operators if o[1] in ("RelationScan", "IndexedRelation")]
            assert scans == ["RelationScan", name]
        if driver == "true":
            # What is static is built at the first run only, but how much that is stays known.
            reads = built.choices[0].contents
            (laid,) = lay_over([(hashed, reads)], [operator_tree(operators)])
            counted = counted_rows(laid)
            rows, _ = contents(second)
            static = sum(c != 7 for others in KNOWN.values() for c in others)
            left_over = static if filter_ is STATIC else sum(room != 1 for _, room in rows)
            assert counted[node_id(frozenset({right}))]["actual_rows"] == left_over
            assert counted[node_id(hashed.relations)]["actual_rows"] == len(wanted)
    engine.close()
