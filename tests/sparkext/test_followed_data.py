"""Join orders and static data: data that change, windows that are merged with them, joins of static data alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.sparkext.flipping_stream import (
    QUERY,
    adapted_by_cost,
    answers,
    by_cost,
    contents,
    evaluate,
    expected,
    iri,
    started,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_orders_that_change_with_static_data_are_in_the_history(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Loners come to know everybody, so that looking first at whom they know no longer is the best."""
    engine = started(spark, tmp_path)
    query, _ = adapted_by_cost(engine, "grows")
    for second in range(1, 8):
        evaluate(engine, second)
    before = query.plans.orders[0]
    more = tmp_path / "more.nt"
    more.write_text(
        "".join(
            f"<{iri(f'p{a}')}> <{iri('knows')}> <{iri(f'x{b}')}> .\n"
            for a in range(200)
            for b in range(300)
        )
    )
    engine.load_static(more, progress=False)
    evaluate(engine, 8)
    assert answers(query) == expected(8), "nobody of those is ever in a room"
    told = [switch for switch in query.history() if switch.cause == "static data have changed"]
    after = query.plans.orders[0]
    assert [(switch.time, switch.old, switch.new) for switch in told] == [(8000, before, after)]
    assert told[0].change in str(query.explain()) or "static data have changed" in str(
        query.explain()
    )
    engine.close()


MERGED = """PREFIX : <http://example.org/>
REGISTER RSTREAM <http://example.org/{name}> AS SELECT ?a ?b
FROM WINDOW ON :s [NOW] WHERE {{ ?a :in ?loc . ?b :at ?loc . ?a :knows ?b }}"""


def test_windows_that_are_merged_with_static_data_are_followed_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    query = by_cost(engine.register_query(MERGED.format(name="merged")))
    estimated = []
    for second in range(1, 50):
        evaluate(engine, second)
        assert answers(query) == expected(second), second
        if second in (9, 19):
            first, _ = contents(second)
            cluster = query.explain().data["statistics"]
            estimated.append(
                (len(first), {s["card"] for s in cluster if "?a in " in s["relation"]})
            )
    assert estimated == [(rows, {rows}) for rows, _ in estimated]
    history = query.history()
    assert len({switch.new for switch in history}) > 1, "one order for few rooms, another for many"
    assert any("default graph{" in switch.cause for switch in history)
    engine.close()


def test_what_does_not_follow_the_streams_says_why_it_is_joined_so_after_a_switch(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path, prejoin__enabled="false")
    text = QUERY.format(name="optional").replace(
        "?a :knows ?b }",
        "?a :knows ?b OPTIONAL { ?b :likes ?c . ?c :likes ?d } }",
    )
    query = by_cost(engine.register_query(text))
    for second in range(1, 25):
        evaluate(engine, second)
    assert query.history()
    choices = query.explain().data["choices"]
    assert len(choices) == 2
    assert all(choice["notes"] != ["in the order written"] for choice in choices)
    engine.close()
