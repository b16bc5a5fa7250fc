"""The parts of the adapt bench that need no engine: orders from reports, integers, DuckDB, and the arithmetic."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pyarrow as pa
import pytest

from adaptive import JoinFilter, QueryGraph, Relation, RelationKind, Scan
from adaptive.graph.plan import describe, verify
from bench import adapt
from bench.join_orders.batch_streams import batch_streams
from bench.join_orders.duckdb_relations import DuckDbRelations
from bench.join_orders.first_sight import Seen
from bench.join_orders.fixed_orders import hopeful, most_hopeful
from bench.join_orders.integer_relations import IntegerRelations, StaticIntegers, Terms, counted
from bench.join_orders.operator_order import one_after_the_other, sequence
from bench.join_orders.order_race import AnswersDifferError, OrderRace, Raced
from bench.report import BenchError

STREAMS = {stream.name: stream for stream in batch_streams(0.01, 1)}
NOW = Relation("now{?a enters ?room}", ("a", "room"), RelationKind.WINDOW)
RANGE = Relation("range{?b at ?room}", ("b", "room"), RelationKind.WINDOW)
KNOWS = Relation("?a knows ?b", ("a", "b"), RelationKind.STATIC)
TRIANGLE = QueryGraph((KNOWS, NOW, RANGE))


# -- orders -----------------------------------------------------------------------------------------


def reported(driver: int, *steps: str) -> str:
    return json.dumps(
        {"driver": driver, "rivals": [], "steps": [[s, 1, 1, 1, 0, 1.0] for s in steps]}
    )


def test_a_report_gives_the_order_that_was_taken() -> None:
    names = [r.name for r in TRIANGLE.relations]
    met = reported(1, f"v_b from {RANGE.name} and {KNOWS.name}")
    assert sequence(met, names, []) == [NOW.name, RANGE.name, KNOWS.name]
    asked = reported(
        1, f"v_b from {KNOWS.name}", f"there is {RANGE.name}", f"v_b from {RANGE.name}"
    )
    assert sequence(asked, names, []) == [NOW.name, KNOWS.name, RANGE.name]
    assert sequence(reported(-1), names, ["f"]) == [*names, "f"]
    with pytest.raises(BenchError, match="unknown"):
        sequence(reported(0, "x from elsewhere"), names, [])


def test_an_order_is_a_valid_plan_whatever_it_begins_with() -> None:
    graph = QueryGraph(TRIANGLE.relations, (JoinFilter("f", frozenset({"b", "room"})),))
    leaves = {r.name: Scan(r.name) for r in graph.relations}
    for names in itertools.permutations([*leaves, "f"]):
        verify(one_after_the_other(names, leaves, graph), graph)
    plan = one_after_the_other([RANGE.name, "f", NOW.name, KNOWS.name], leaves, graph)
    assert describe(plan, filters=True) == f"(({RANGE.name}[f] {NOW.name}) {KNOWS.name})"


def test_orders_are_given_up_only_when_slow_everywhere() -> None:
    best_first, best_second = [10.0, 200.0], [300.0, 10.0]
    between, hopeless = [60.0, 50.0], [250.0, 90.0]
    orders = [best_first, best_second, between, hopeless]
    assert hopeful(orders, 2.0, 1.5) == [True, True, True, False]
    assert hopeful([best_first, [11.5, 150.0], between], 1.1, 1.0) == [True, False, True]
    assert most_hopeful([hopeless, between, best_second, best_first], 2) == [3, 2]
    assert most_hopeful([hopeless, between, best_second, best_first], 3) == [3, 2, 1]


# -- integers and DuckDB ----------------------------------------------------------------------------


def test_counts_are_those_of_the_rows() -> None:
    stream = STREAMS["figure 3"]
    rows = IntegerRelations(stream, StaticIntegers(stream.world)).of(TRIANGLE, 0, 0)
    catalogue = counted(TRIANGLE, rows)
    entered = rows[NOW.name].tolist()
    assert catalogue[NOW.name].rows == len(entered) == len(set(stream.arriving(0, 0)))
    assert catalogue.distinct(NOW.name, "room") == len({room for _, room in entered})


def test_duckdb_answers_what_the_triples_say() -> None:
    stream = STREAMS["figure 3"]
    relations = IntegerRelations(stream, StaticIntegers(stream.world))
    duckdb = DuckDbRelations(TRIANGLE, ["a", "b"], relations.terms)
    for batch, phase in ((0, 0), (3, 1)):
        rows = relations.of(TRIANGLE, phase, batch)
        known = {(a, b) for a, b in rows[KNOWS.name].tolist()}
        expected = [
            (a, b)
            for a, room in rows[NOW.name].tolist()
            for b, where in rows[RANGE.name].tolist()
            if room == where and (a, b) in known
        ]
        duckdb.hold(rows)
        ms, answers = duckdb.run(60.0)
        assert ms > 0 and answers is not None
        assert sorted(zip(*answers.to_pydict().values(), strict=True)) == sorted(expected) != []
        texts = relations.terms.decode(answers).to_pydict()
        assert all(a.startswith("<http://example.org/p") for a in texts["a"])
    duckdb.close()


def test_duckdb_filters_as_the_engine_does() -> None:
    literals = [f'"U({low}, {low + 0.2})"^^<d>' for low in (0.1, 0.47, 0.49, 0.6)]
    terms = Terms()
    rows = terms.pairs(
        [f"<r{n}> <http://e/heat> {literal} ." for n, literal in enumerate(literals)]
    )
    heat = Relation("now{?r heat ?d}", ("r", "d"), RelationKind.WINDOW)
    graph = QueryGraph((heat,), (JoinFilter("f", frozenset({"d"})),))
    duckdb = DuckDbRelations(graph, ["r"], terms)
    duckdb.hold({heat.name: rows["heat"]})
    _, answers = duckdb.run(60.0)
    assert answers is not None
    # Of the second one 0.85 is above the threshold, of the third 0.95.
    assert sorted(terms.decode(answers)["r"].to_pylist()) == ["<r2>", "<r3>"]
    duckdb.close()


# -- rows -------------------------------------------------------------------------------------------


def seen(*ms: float, orders: str = "aaaa") -> list[Seen]:
    return [
        Seen(0, one, 0.5, Scan(order), "2-aa", 2) for one, order in zip(ms, orders, strict=False)
    ]


def test_a_row_compares_with_the_best_order_and_with_hindsight() -> None:
    fixed = {"a": [10.0, 80.0, 10.0], "b": [60.0, 20.0, 60.0], "c": [50.0, 50.0, 50.0]}
    raced = Raced(fixed, duckdb_ms=[40.0, 40.0, 20.0], again_ms=[9.0, 9.0, 9.0], tried=7)
    row = adapt.row("figure 3", seen(30.0, 20.0, 10.0, orders="aba"), raced)
    assert row["first_ms"] == 30.0 and row["engine_ms"] == 60.0
    assert row["over_duckdb"] == 0.6
    assert row["worst_ratio"] == 3.0
    assert row["hindsight_ms"] == 40.0 and row["regret"] == 1.5
    assert row["again_ms"] == 27.0 and row["again_regret"] == 0.675
    assert row["best_fixed"] == "a" and row["best_fixed_ratio"] == 0.6
    assert row["share"] == 1.5 / 60
    assert row["switches"] == 2
    assert [one["fastest"] for one in row["evaluations"]] == ["a", "b", "a"]


def test_the_summary_is_the_worst_over_the_streams() -> None:
    rows = [
        adapt.row("drift", seen(10.0, 10.0), Raced({"a": [10.0, 50.0]}, [5.0, 5.0], [1.0, 1.0])),
        adapt.row("steady", seen(20.0, 4.0), Raced({"a": [4.0, 4.0]}, [6.0, 6.0], [1.0, 1.0])),
    ]
    summary = adapt.summarise(rows)
    assert summary["first_ms"] == 20.0 and summary["regret"] == 3.0
    assert summary["worst_ratio"] == 5.0 and summary["over_duckdb"] == 2.0
    assert summary["switches"] == 0


def test_other_answers_are_an_error() -> None:
    race = OrderRace.__new__(OrderRace)
    race._stream, race._seen = STREAMS["drift"], seen(1.0, 2.0)
    race._check("DuckDB", 1, "2-aa")
    with pytest.raises(AnswersDifferError, match="batch 1: DuckDB"):
        race._check("DuckDB", 1, "2-ab")


def test_quick_streams_have_every_query() -> None:
    assert {STREAMS[name].query.split("WHERE")[1] for name in adapt.QUICK_STREAMS} == {
        stream.query.split("WHERE")[1] for stream in STREAMS.values()
    }


def test_the_table_has_what_rows_have(tmp_path: Path) -> None:
    row = adapt.row("mixed", seen(1.0), Raced({"a": [1.0]}, [1.0], [1.0]))
    assert set(adapt.COLUMNS) <= set(row) and set(adapt.SHOWN) <= set(adapt.summarise([row]))
    assert pa.table({"x": [1]}).num_rows == json.loads(json.dumps(row))["batches"]
