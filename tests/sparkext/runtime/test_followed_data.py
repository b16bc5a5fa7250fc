"""Join orders and static data: data that change, windows that are merged with them, joins of static data alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.sparkext.flipping_stream import (
    KNOWN,
    PEOPLE,
    answers,
    contents,
    evaluate,
    expected,
    few_in,
    iri,
    order_of,
    started,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LED = """PREFIX : <http://example.org/>
REGISTER RSTREAM <http://example.org/{name}> AS SELECT ?a ?b
FROM NAMED WINDOW :wa ON :s [NOW]
WHERE {{ WINDOW :wa {{ ?a :in ?loc }} ?a :knows ?b . ?b :leads ?team }}"""


def triples(subjects: range, predicate: str) -> str:
    return "".join(f"<{iri(f'p{n}')}> <{iri(predicate)}> <{iri('team')}> .\n" for n in subjects)


def test_orders_that_change_with_static_data_are_in_the_history(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Few lead, so that the join begins with them; once all do, it begins with the window."""
    engine = started(spark, tmp_path, prejoin__enabled="false")
    engine.insert(triples(range(7, 9), "leads"))
    query = engine.register_query(LED.format(name="grows"))
    leaders = {7, 8}

    def check(second: int) -> None:
        evaluate(engine, second)
        wanted = Counter(
            (f"<{iri(f'p{a}')}>", f"<{iri(f'p{b}')}>")
            for a, _ in contents(second)[0]
            for b in KNOWN[a]
            if b in leaders
        )
        assert answers(query) == wanted, second

    for second in range(1, 5):
        check(second)
    before = tuple(order_of(query)["order"])
    assert "leads" in before[0]
    engine.insert(triples(range(PEOPLE), "leads"))
    leaders |= set(range(PEOPLE))
    check(5)
    after = tuple(order_of(query)["order"])
    assert "leads" not in after[0]
    told = [switch for switch in query.history() if switch.cause == "static data have changed"]
    assert [(switch.time, switch.old, switch.new) for switch in told] == [(5_000, before, after)]
    assert "static data have changed" in str(query.explain())
    check(6)
    assert answers(query)
    engine.close()


MERGED = """PREFIX : <http://example.org/>
REGISTER RSTREAM <http://example.org/{name}> AS SELECT ?a ?b
FROM WINDOW ON :s [NOW] WHERE {{ ?a :in ?loc . ?b :at ?loc . ?a :knows ?b }}"""


def test_windows_that_are_merged_with_static_data_are_followed_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(MERGED.format(name="merged"))
    counted = []
    for second in range(1, 33):
        evaluate(engine, second)
        assert answers(query) == expected(second), second
        begins = "default graph{?a in ?loc}" if few_in(second) else "default graph{?b at ?loc}"
        assert query.orders[0].partition(" > ")[0] == begins, second
        if second in (9, 19):
            cluster = query.explain().data["statistics"]
            cards = {s["card"] for s in cluster if "?a in " in s["relation"]}
            counted.append((cards, {len(contents(second)[0])}))
    assert all(cards == rows for cards, rows in counted)
    history = query.history()
    assert [switch.time for switch in history] == [10_000, 20_000, 30_000]
    assert all("default graph{" in switch.cause for switch in history)
    engine.close()
