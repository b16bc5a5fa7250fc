"""Join orders that follow the stream: switches, their history, answers that stay right."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import CqelsError
from tests.sparkext.flipping_stream import (
    AT,
    IN,
    QUERY,
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


def test_the_order_follows_the_stream_and_answers_stay_right(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="follows"))
    begun: dict[int, str] = {}
    for second in range(1, 50):
        evaluate(engine, second)
        assert answers(query) == expected(second), second
        begun[second] = query.orders[0].partition(" > ")[0]
    assert begun == {second: IN if few_in(second) else AT for second in range(1, 50)}
    history = query.history()
    assert [switch.time for switch in history] == [10_000, 20_000, 30_000, 40_000]
    for before, after in pairwise(history):
        assert before.new == after.old
    assert query.orders == (" > ".join(history[-1].new),)
    # What has moved is one side or the other, and the new order is the cheaper one by what is known then.
    assert all(IN in switch.cause or AT in switch.cause for switch in history)
    assert all(" -> " in switch.cause for switch in history)
    assert all(0 < switch.cost_after < switch.cost_before for switch in history)
    shown = query.explain()
    assert [s["time"] for s in shown.data["switches"]] == [s.time for s in history]
    assert [s["cause"] for s in shown.data["switches"]] == [s.cause for s in history]
    assert f"switched at 1970-01-01T00:00:40.000Z: {history[-1].cause}" in str(shown)
    assert query.progress.optimizer_seconds > 0
    engine.close()


def test_explain_tells_what_windows_hold(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="counted"))
    for second in (1, 11):
        evaluate(engine, second)
        counted = {(s["relation"], s["variable"]): s for s in query.explain().data["statistics"]}
        first, _ = contents(second)
        rooms = Counter(room for _, room in first)
        of_rooms = counted[IN, "loc"]
        assert (of_rooms["card"], of_rooms["distinct"]) == (len(first), len(rooms))
        assert of_rooms["top"][0]["card"] == max(rooms.values())
        assert of_rooms["top"][0]["selectivity"] == max(rooms.values()) / len(first)
        assert of_rooms["top"][0]["value"].startswith("<http://example.org/r")
    assert query.statistics() == query.explain().data["statistics"]
    engine.close()


def test_steps_are_counted_beside_what_was_expected(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="steps"))
    assert order_of(query) == {
        "begins_with": None,
        "order": [],
        "steps": [],
        "rivals": [],
        "decision_us": 0.0,
    }
    assert "not evaluated yet" in str(query.explain())
    evaluate(engine, 1)
    rivals = order_of(query)["rivals"]
    assert {rival["begins_with"] for rival in rivals} >= {IN, AT}
    costs = [rival["us"] for rival in rivals]
    assert costs == sorted(costs) and costs[0] > 0
    assert f"beginning with {AT}" in str(query.explain())
    for second in range(2, 9):
        evaluate(engine, second)
    order = order_of(query)
    first, _ = contents(8)
    assert order["begins_with"] == IN
    (step,) = order["steps"]
    assert order["order"] == [IN, step["step"]]
    assert "?b from" in step["step"] and AT in step["step"] and "?a knows ?b" in step["step"]
    assert (step["rows_in"], step["rows_out"]) == (len(first), sum(expected(8).values()))
    # Every loner knows one other: the shorter list is read.
    assert step["read"] == len(first)
    assert step["estimated_out"] == pytest.approx(step["rows_out"], rel=0.5, abs=3)
    assert order["rivals"][0]["begins_with"] == IN
    text = str(query.explain())
    assert f"begins with {IN}" in text
    assert f"{len(first)} rows in, {step['rows_out']} out (estimated" in text
    engine.close()


def test_what_a_filter_lets_through_is_learned(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    condition = 'STRENDS(STR(?a), "/p7")'
    text = QUERY.format(name="filtered").replace("?a :in ?loc", f"?a :in ?loc FILTER({condition})")
    query = engine.register_query(text)
    for second in range(1, 10):
        evaluate(engine, second)
        wanted = {row: n for row, n in expected(second).items() if row[0] == f"<{iri('p7')}>"}
        assert answers(query) == wanted, second
        (step,) = [s for s in order_of(query)["steps"] if s["step"] == condition]
        if step["rows_in"] == len(contents(second)[0]):  # else it came after the join
            there = [a for a, _ in contents(second)[0] if a == 7]
            assert step["rows_out"] == len(there)
    # A half is what is guessed of a filter that has not run.
    assert step["rows_in"] > 0 and step["estimated_out"] < 0.2 * step["rows_in"]
    engine.close()


def test_an_order_of_the_history_can_be_pinned(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="pinned"))
    for second in range(8, 13):
        evaluate(engine, second)
    (switch,) = query.history()
    for order, seconds in ((switch.old, range(13, 16)), (switch.new, range(21, 24))):
        query.pin_order(order)
        for second in seconds:
            evaluate(engine, second)
            assert answers(query) == expected(second), second
            assert query.orders == (" > ".join(order),)
            assert tuple(order_of(query)["order"]) == order
    query.pin_order(order_of(query)["order"])
    evaluate(engine, 24)
    assert tuple(order_of(query)["order"]) == switch.new
    query.pin_order(None)
    evaluate(engine, 25)
    assert query.orders[0].startswith(IN), "free again, it begins where few are"
    engine.close()


def test_a_pinned_order_outlasts_changes_of_static_data(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """At these seconds it would begin with those that are `at`."""
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="stays_pinned"))
    for second in range(8, 13):
        evaluate(engine, second)
    (switch,) = query.history()
    query.pin_order(switch.old)

    def begins(second: int) -> str:
        plans = query.plans
        engine.insert(f"<{iri('p0')}> <{iri('knows')}> <{iri(f'nobody{second}')}> .")
        evaluate(engine, second)
        assert query.plans is not plans
        assert answers(query) == expected(second), second
        return query.orders[0].partition(" > ")[0]

    assert [begins(second) for second in (13, 14)] == [IN, IN]
    query._running._pinned = {0: ["relations that are gone"], 7: [IN]}
    with caplog.at_level("WARNING", logger="sparkext"):
        assert begins(15) == AT
    assert "stays_pinned, cluster 0 is pinned no more" in caplog.text
    assert "no relation of this join is called relations that are gone" in caplog.text
    assert "stays_pinned, cluster 7 is pinned no more" in caplog.text
    query.pin_order(switch.old)
    evaluate(engine, 16)
    query.pin_order(None)
    assert begins(17) == AT
    assert len(caplog.records) == 2
    engine.close()


def renumbered(step: str) -> str:
    """A step's name in a plan that numbers variables and relations the other way round."""
    variables, word, relations = step.partition(" from ")
    relations = " and ".join(reversed(relations.split(" and ")))
    return ", ".join(reversed(variables.split(", "))) + word + relations


def test_orders_of_delta_evaluation_can_be_pinned(spark: SparkSession, tmp_path: Path) -> None:
    """Each plan begins with what has arrived, and goes on as it is told."""
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.replace("RSTREAM", "ISTREAM").format(name="by_delta"))
    assert query.evaluation == "delta evaluation"

    def orders(second: int) -> list[list[str]]:
        evaluate(engine, second)
        assert set(answers(query)) == set(expected(second)) - set(expected(second - 1)), second
        return [order_of(query, cluster)["order"] for cluster in (0, 1)]

    evaluate(engine, 8)
    few, many = orders(9), [orders(second) for second in (10, 11, 12)][-1]
    for cluster in (0, 1):
        assert few[cluster] != many[cluster] and few[cluster][0] == many[cluster][0]
        begin, *steps = few[cluster]
        query.pin_order([begin, *map(renumbered, steps)], cluster)
        assert orders(13 + cluster) == [*few[: cluster + 1], *many[cluster + 1 :]]
    with pytest.raises(CqelsError, match=r"by_delta, cluster 1: .* begins with wb"):
        query.pin_order(["wa{?a in ?loc}", *few[1][1:]], 1)
    assert orders(15) == few, "what cannot be pinned changes nothing"
    query.pin_order(None, 0)
    query.pin_order(None, 1)
    assert orders(16) == many, "free again, but for where they begin"
    with pytest.raises(CqelsError, match="cluster: must be the number of a join cluster"):
        query.pin_order(None, 2)
    engine.close()


def test_what_is_no_order_cannot_be_pinned(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="wrong"))
    evaluate(engine, 1)
    with pytest.raises(CqelsError, match="no relation of this join is called nothing"):
        query.pin_order(("nothing", "?b from nowhere"))
    evaluate(engine, 2)
    assert answers(query) == expected(2)
    scan = engine.select("SELECT * { ?a <http://example.org/knows> ?b }")
    with pytest.raises(CqelsError, match="joins nothing whose order is data"):
        scan.pin_order(("x",))
    engine.close()


@pytest.mark.parametrize("key", ["adaptive.enabled", "statistics.enabled"])
def test_switched_off_the_order_stays(spark: SparkSession, tmp_path: Path, key: str) -> None:
    engine = started(spark, tmp_path, **{key: "false"})
    query = engine.register_query(QUERY.format(name="stays"))
    orders = set()
    for second in (1, 9, 11, 12, 21):
        evaluate(engine, second)
        assert answers(query) == expected(second)
        orders.add(query.orders)
    assert query.history() == ()
    assert len(orders) == 1 and orders != {()}
    engine.close()


def test_new_static_data_are_followed_too(spark: SparkSession, tmp_path: Path) -> None:
    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="reloads"))
    for second in range(1, 13):
        evaluate(engine, second)
    switches = query.history()
    more = tmp_path / "more.nt"
    more.write_text(f"<{iri('p0')}> <{iri('knows')}> <{iri('nobody')}> .\n")
    engine.load_static(more, progress=False)
    assert query.history() == switches, "what was is not forgotten"
    for second in range(13, 33):
        evaluate(engine, second)
        assert answers(query) == expected(second)
    assert [switch.time for switch in query.history()] == [10_000, 20_000, 30_000]
    for before, after in pairwise(query.history()):
        assert before.new == after.old
    engine.close()


def test_the_history_can_be_drawn(spark: SparkSession, tmp_path: Path) -> None:
    from sparkext.runtime.explaining.history_plot import PlotError

    engine = started(spark, tmp_path)
    query = engine.register_query(QUERY.format(name="drawn"))
    for second in range(1, 24):
        evaluate(engine, second)
    assert query.history()
    query.plot_history(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    query.plot_history(tmp_path / "plot.svg")
    svg = (tmp_path / "plot.svg").read_text()
    assert "http://example.org/drawn" in svg
    with pytest.raises(PlotError, match="must end in"):
        query.plot_history(tmp_path / "plot.txt")
    with pytest.raises(PlotError, match="cannot be written"):
        query.plot_history(tmp_path / "no" / "plot.png")
    engine.close()
