"""What filters let through of an input of a prepared query's joins, as its orders are chosen by it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sparkext.engine import Engine

ROWS = 20_000


@pytest.fixture(scope="module")
def views(engine: Engine) -> Engine:
    """A large view, one in a hundred of whose rows is rare, and a static table."""
    view = engine.live_view("filtered_events", "k BIGINT, s STRING")
    view.replace([(k % 500, "rare" if k % 100 == 7 else f"{k % 10}") for k in range(ROWS)])
    names = engine.spark.range(500).selectExpr("id AS k", "concat('n', id % 50) AS n")
    names.createOrReplaceTempView("filtered_names")
    return engine


def expected_rows(engine: Engine, condition: str) -> dict[str, float]:
    """What the JVM tells of the inputs, by what they read."""
    query = engine.prepare(
        f"SELECT e.s, f.n FROM filtered_events e JOIN filtered_names f ON e.k = f.k WHERE {condition}"
    )
    (graph,) = json.loads(query._jvm.graphs())
    query.close()
    return {one["name"].partition(":")[2]: one["rows"] for one in graph["relations"]}


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        ("e.s = 'rare'", 0.01),
        ("e.s <> 'rare'", 0.99),
        ("e.s < '5' AND e.k >= 250", 0.25),
        ("e.s IS NOT NULL", 1.0),
        ("length(e.s) = 7", 0.0),
    ],
)
def test_filters_of_a_view_are_asked(views: Engine, condition: str, share: float) -> None:
    rows = expected_rows(views, condition)
    assert rows["filtered_events"] == pytest.approx(share * ROWS, rel=0.2, abs=0.01 * ROWS)


def test_filters_of_a_static_table_are_asked(views: Engine) -> None:
    rows = expected_rows(views, "f.n = 'n3' AND e.s > 'a'")
    (static,) = (count for name, count in rows.items() if name != "filtered_events")
    assert static == pytest.approx(10, abs=8)


def test_a_filter_that_fails_on_a_value_is_guessed(views: Engine) -> None:
    rows = expected_rows(views, "CAST(e.s AS INT) > 3 AND e.k < 0")
    assert rows["filtered_events"] <= ROWS / 3
