"""What a prepared query's choice of orders does where the JVM has the wanted plan already."""

from __future__ import annotations

from typing import Any

import pytest

from adaptive import CostModel, OperatorCounts
from adaptive.plan import describe
from sparkext.sql import order_choice
from sparkext.sql.order_choice import OrderChoice, OrderPolicy


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any saving is worth another order."""
    monkeypatch.setattr(order_choice, "_MARGIN", 0.0)


def graph(left: int, right: int) -> dict[str, Any]:
    """Two views that share a key; few rows of the right one, whose rows expire, pass a filter."""
    return {
        "relations": [
            {
                "name": "0:left",
                "kind": "live",
                "rows": left,
                "variables": ["k"],
                "distinct": {"k": min(left, 14)},
            },
            {
                "name": "1:right",
                "kind": "window",
                "rows": right,
                "variables": ["k", "v"],
                "distinct": {"k": min(right, 7), "v": min(right, 1_000)},
            },
        ],
        "filters": [{"name": "v = 3", "kind": "equal", "variables": ["v"]}],
    }


# Rows for which the right view is looked up, for which it is built, and for which the left one is looked up.
FEW, MANY, TURNED = (3, 3_000), (41_000, 3_000), (1_000, 3_000)


def choice() -> OrderChoice:
    return OrderChoice(FEW, [graph(*FEW)], OrderPolicy(CostModel()))


def orders(chosen: OrderChoice) -> list[str]:
    return [describe(plan) for plan in chosen.current.plans]


def test_a_plan_that_differs_in_a_method_only_is_prepared_already() -> None:
    chosen = choice()
    assert orders(chosen) == ["(0:left 1:right)"]
    asked: list[str] = []

    def ready(key: str) -> bool:
        asked.append(key)
        return False

    assert chosen.compare(MANY, [graph(*MANY)], ready) is None
    assert orders(chosen) == ["(0:left 1:right*)"]
    assert asked == [], "the JVM knows it by the same key"
    # Nothing is being prepared, so another order can be.
    wanted = chosen.compare(TURNED, [graph(*TURNED)], ready)
    assert wanted is not None
    assert wanted.key == "[[1, 0]]"
    assert asked == [wanted.key]


def test_an_order_that_is_ready_is_taken_over_at_once() -> None:
    chosen = choice()
    assert chosen.compare(TURNED, [graph(*TURNED)], lambda key: True) is None
    assert orders(chosen) == ["(1:right 0:left)"]
    assert [switch.new for switch in chosen.history] == ["(1:right 0:left)"]
    wanted = chosen.compare(MANY, [graph(*MANY)], lambda key: False)
    assert wanted is not None
    assert wanted.key == "[[0, 1]]"


def test_nothing_changes_while_the_order_is_the_best() -> None:
    chosen = choice()
    assert chosen.compare(FEW, [graph(*FEW)], lambda key: True) is None
    assert chosen.history == ()


def test_what_could_not_be_prepared_is_not_wanted_again() -> None:
    chosen = choice()
    wanted = chosen.compare(TURNED, [graph(*TURNED)], lambda key: False)
    assert wanted is not None
    chosen.failed(wanted)
    assert chosen.compare(TURNED, [graph(*TURNED)], lambda key: False) is None
    assert orders(chosen) == ["(0:left 1:right)"]


def test_small_savings_are_taken_for_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choice()
    monkeypatch.setattr(order_choice, "_MARGIN", 1.0)
    assert chosen.compare(TURNED, [graph(*TURNED)], lambda key: True) is None
    assert chosen.history == ()


def test_what_joins_counted_corrects_later_costs() -> None:
    chosen = choice()
    both = frozenset({"0:left", "1:right"})
    before = chosen.explained[0]
    assert before is not None
    chosen.counted({0: [OperatorCounts(both, 0.0, 900.0)]})
    chosen.compare(FEW, [graph(*FEW)], lambda key: True)
    after = chosen.explained[0]
    assert after is not None
    assert after.plan.estimated_rows > 2 * before.plan.estimated_rows
