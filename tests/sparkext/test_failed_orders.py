"""Plans of two clusters that cannot be prepared together: only what cannot be prepared by itself is given up."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from sparkext.runtime.adaptation import Adaptation
from sparkext.runtime.followed_clusters import FollowedCluster
from sparkext.runtime.join_orders import CompiledPlans, JoinOrders, Orders

from adaptive import (
    Catalogue,
    Join,
    PlanFollower,
    PlanNode,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
    Scan,
)


class Later:
    """An executor that does its work when a test says so."""

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()

    def submit(self, act: Any, *told: Any) -> None:
        self.waiting.append(lambda: act(*told))

    def work(self) -> None:
        while self.waiting:
            self.waiting.popleft()()


def plan(*names: str) -> PlanNode:
    """A left-deep plan that looks up all relations but the first."""
    found: PlanNode = Scan(names[0])
    for name in names[1:]:
        found = Join(found, Scan(name), ("x",), "index")
    return found


FIRST, OTHER = plan("window", "left", "right"), plan("window", "right", "left")


def cluster(place: int) -> FollowedCluster:
    graph = QueryGraph(
        (
            Relation("window", ("x",), RelationKind.WINDOW),
            Relation("left", ("x",), RelationKind.STATIC),
            Relation("right", ("x",), RelationKind.STATIC),
        )
    )
    known = {name: RelationStatistics(10.0, {}) for name in ("window", "left", "right")}
    follower = PlanFollower(graph, Catalogue(known), initial=FIRST, adaptive=False)
    watch: Any = SimpleNamespace()
    return FollowedCluster(place, follower, watch)


class Query:
    """Two clusters, and what their plans are made of; `broken` says of orders that they cannot be."""

    def __init__(self, broken: Callable[[Orders], bool]) -> None:
        self.clusters = [cluster(0), cluster(1)]
        self.made: list[Orders] = []
        self.later = Later()
        self._broken = broken
        executor: Any = self.later
        self.orders = JoinOrders(self._make, lambda plans: None, 16, executor)
        first = self._compiled((FIRST, FIRST))
        self.orders.keep(first)
        self.adaptation = Adaptation(self.clusters, self.orders, first, lambda plans: None)

    def _compiled(self, orders: Orders) -> CompiledPlans:
        nothing: Any = None
        return CompiledPlans(orders, nothing, (), nothing, 0.1, nothing)

    def _make(self, orders: Orders) -> CompiledPlans:
        self.made.append(orders)
        if self._broken(orders):
            raise ValueError("not these")
        return self._compiled(orders)

    def prepare(self, orders: Orders) -> None:
        """Have orders made, as where each of two clusters is to be changed."""
        self.orders.prepare(orders, self.adaptation._is_ready, self.adaptation._failed.append)

    def evaluate(self) -> None:
        """Decide as before an evaluation, and do what is to be done in the background."""
        self.later.work()
        self.adaptation.before(None, 1.0)

    @property
    def given_up(self) -> list[bool]:
        """Of each cluster, whether its other plan is not asked for any more."""
        return [OTHER in one.follower._choice._failed for one in self.clusters]

    @property
    def kept(self) -> list[bool]:
        """Of each cluster, whether its other plan is prepared."""
        return [OTHER in one.follower.kept for one in self.clusters]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "sparkext")


def test_plans_that_fail_only_together_are_not_given_up() -> None:
    query = Query(lambda orders: orders == (OTHER, OTHER))
    query.prepare((OTHER, OTHER))
    for _ in range(6):
        query.evaluate()
    assert query.given_up == [False, False]
    assert query.kept == [True, True], "each is prepared beside the running plan of the other"
    assert query.made == [(OTHER, OTHER), (OTHER, FIRST), (FIRST, OTHER)]
    # Wished for once more, the two are known to fail together, and nothing is made for that.
    query.prepare((OTHER, OTHER))
    query.evaluate()
    assert query.given_up == [False, False]
    assert len(query.made) == 3


def test_the_plan_that_fails_by_itself_is_given_up() -> None:
    query = Query(lambda orders: orders[1] == OTHER)
    query.prepare((OTHER, OTHER))
    for _ in range(6):
        query.evaluate()
    assert query.given_up == [False, True]
    assert query.kept == [True, False]
    assert query.made == [(OTHER, OTHER), (OTHER, FIRST), (FIRST, OTHER)]


def test_a_plan_that_fails_where_it_alone_was_new_is_given_up_at_once() -> None:
    query = Query(lambda orders: orders[0] == OTHER)
    query.prepare((OTHER, FIRST))
    query.evaluate()
    assert query.given_up == [True, False]
    assert query.made == [(OTHER, FIRST)]
