"""Rows that operators counted stand beside the joins that gave them, whatever else the query has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sparkext
from adaptive import Join, Scan
from sparkext.engine import Engine
from sparkext.runtime.explaining.executed_operators import counted_rows, lay_over, operator_tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EX = "http://example.org/"
HEAD = f"PREFIX : <{EX}> SELECT * FROM NAMED WINDOW :now ON :s [NOW] WHERE "
PEOPLE, PAPERS = 6, 40
CREATORS = {p: {p % PEOPLE, (p * 5 + 1) % PEOPLE} for p in range(PAPERS)}
CITED = {p: {(p * 7) % PAPERS, (p + 3) % PAPERS} for p in range(0, PAPERS, 2)}
KINDS = {p: p % 3 for p in range(PAPERS)}
HERE = range(4)
SECONDS = itertools.count(1)

BY_PERSON = sum(len(set(HERE) & people) for people in CREATORS.values())
CITING = sum(len(set(HERE) & CREATORS[p]) * len(cited) for p, cited in CITED.items())


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = Path(tmp_path_factory.mktemp("papers"), "papers.nt")
    lines = [f"<{EX}p{p}> <{EX}creator> <{EX}a{a}> ." for p in CREATORS for a in CREATORS[p]]
    lines += [f"<{EX}p{p}> <{EX}cites> <{EX}p{q}> ." for p in CITED for q in CITED[p]]
    lines += [f"<{EX}p{p}> <{EX}kind> <{EX}k{kind}> ." for p, kind in KINDS.items()]
    lines += [f"<{EX}p{p}> <{EX}read> <{EX}a{p % PEOPLE}> ." for p in range(0, PAPERS, 10)]
    path.write_text("\n".join(lines) + "\n")
    # Each relation stays one: what is joined beforehand would be one scan.
    # Clusters are chains of Spark's joins: one operator counts by itself.
    off = ("spark.cqels.prejoin.enabled", "spark.cqels.multiwayJoin.enabled")
    for key in off:
        spark.conf.set(key, "false")
    made = sparkext.Engine(spark)
    for key in off:
        spark.conf.unset(key)
    made.load_static(path, progress=False)
    made.register_stream(f"{EX}s")
    yield made
    made.close()


def evaluated(engine: Engine, body: str, name: str) -> tuple[list[dict[str, Any]], int]:
    """The orders of a query's clusters, with what one evaluation counted of them, and how many answers it had."""
    query = engine.register_query(HEAD + "{" + body + "}", name=name)
    stream = engine.stream(f"{EX}s")
    instant = 1000 * next(SECONDS)
    stream.push([(f"{EX}a{a}", f"{EX}at", f"{EX}r") for a in HERE], time=instant)
    engine.advance_to(instant)
    choices: list[dict[str, Any]] = query.explain().data["choices"]
    assert query.last_answers is not None
    query.stop()
    return choices, len(query.last_answers)


def joins(choice: dict[str, Any]) -> dict[str, int | None]:
    """What each join of an order counted, by its relations."""
    found: dict[str, int | None] = {}
    trees = [choice.get("plan", choice)]
    while trees:
        tree = trees.pop()
        if tree["operator"] == "Join":
            found[" , ".join(tree["relations"])] = tree.get("actual_rows")
        trees.extend(tree["children"])
    return found


PAIRS = {
    "?p creator ?a , now{?a at ?room}": BY_PERSON,
    "?p cites ?q , ?p creator ?a": sum(len(CREATORS[p]) * len(cited) for p, cited in CITED.items()),
}
ALL = "?p cites ?q , ?p creator ?a , now{?a at ?room}"
BODY = "WINDOW :now { ?a :at ?room } ?p :creator ?a . ?p :cites ?q "


def of_the_window(choices: list[dict[str, Any]]) -> dict[str, int | None]:
    [counted] = [found for found in map(joins, choices) if ALL in found]
    return counted


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "OPTIONAL { ?q :kind ?k }",
        "OPTIONAL { ?q :kind ?k . ?r :read ?a }",
        "OPTIONAL { ?p :kind ?k } OPTIONAL { ?r :read ?a } OPTIONAL { ?o :cites ?p }",
    ],
)
def test_outer_joins_are_none_of_the_order(engine: Engine, rest: str) -> None:
    choices, _ = evaluated(engine, BODY + rest, "optional")
    counted = of_the_window(choices)
    assert counted.pop(ALL) == CITING
    [(pair, rows)] = counted.items()
    assert rows == PAIRS[pair]


@pytest.mark.parametrize(
    "rest",
    [
        "MINUS { ?p :read ?a }",
        "FILTER NOT EXISTS { ?p :read ?a }",
        "FILTER EXISTS { ?q :kind :k1 }",
    ],
)
def test_semi_and_anti_joins_are_none_of_the_order(engine: Engine, rest: str) -> None:
    choices, answers = evaluated(engine, BODY + rest, "tested")
    assert answers < CITING, "what tests nothing shows nothing"
    # They may come before the joins, or after them.
    assert of_the_window(choices)[ALL] in (answers, CITING)


def test_equal_orders_are_laid_over_their_own_joins(engine: Engine) -> None:
    branch = "{{ WINDOW :now {{ ?a :at ?room }} ?p :creator ?a . ?p :kind :k{} }}"
    body = " UNION ".join(branch.format(kind) for kind in range(3))
    choices, _ = evaluated(engine, body, "branches")
    of_kind = [
        sum(len(set(HERE) & CREATORS[p]) for p in CREATORS if KINDS[p] == kind) for kind in range(3)
    ]
    assert len(set(of_kind)) > 1, "branches that count the same tell nothing"
    assert [
        max(joins(choice).items(), key=lambda join: len(join[0]))[1] for choice in choices
    ] == of_kind


def test_other_inputs_in_the_same_places_are_another_order() -> None:
    rows = [
        [0, "BroadcastHashJoin", "Inner k", 5, -1],
        [1, "RowScan", "one", 3, -1],
        [1, "IndexedRows", "two", -1, -1],
    ]
    one, two, three = Scan("0:one"), Scan("1:two"), Scan("2:three")
    reads = {plan.relations: plan.relation[2:] for plan in (one, two, three)}
    tree = operator_tree(rows)
    for left, right, fits in ((one, two, True), (one, three, False), (two, one, False)):
        (laid,) = lay_over([(Join(left, right, ("k",), "index"), reads)], [tree])
        assert bool(counted_rows(laid)) == fits
    plan = Join(one, three, ("k",), "index")
    (laid,) = lay_over([(plan, {one.relations: "one"})], [tree])
    assert counted_rows(laid)["0:one+2:three"] == {"actual_rows": 5.0}, (
        "derived relations may be anything"
    )
