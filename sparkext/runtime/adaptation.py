"""Has the join orders of one query follow its streams: measures in, decisions of `adaptive` carried out."""

from __future__ import annotations

import json
import logging
import time as clock
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from adaptive import (
    DecisionBudget,
    FilterCounts,
    Join,
    OperatorCounts,
    PlanNode,
    Scan,
    Switch,
)
from adaptive.explain import node_id
from adaptive.plan import walk
from adaptive.plan_follower import SURPRISE
from sparkext.language.expressions import Expression
from sparkext.runtime.cluster_watch import Measured, Told
from sparkext.runtime.executed_operators import lay_over, operator_tree
from sparkext.runtime.followed_clusters import FollowedCluster
from sparkext.runtime.join_orders import (
    CompiledPlans,
    JoinOrders,
    Orders,
    Rehearsed,
)

logger = logging.getLogger(__name__)

# What should cost so many times as much as the running plan is not run for trial: what served elsewhere is asked for
# up to there (`adaptive.plan_trials`), and a run that takes so long is given up.
TOO_DEAR = 20.0
# A plan that could be better is looked at again after 1, 2, 4 ... evaluations, at most so many.
MOST_PATIENCE = 16
# What was to be decided between evaluations is decided in the next one after so many that left no time for it.
MOST_WAITED = 4


class Adaptation:
    """The followed clusters of one query and the plans they may choose from.

    What the streams tell is decided about `before` an evaluation; everything else `between` two of them, in any thread
    that has the engine's lock, or in the evaluation where that is `overdue`. `use` makes the query run other plans from
    the next evaluation on.
    """

    def __init__(
        self,
        clusters: Sequence[FollowedCluster],
        orders: JoinOrders,
        plans: CompiledPlans,
        use: Callable[[CompiledPlans], None],
    ) -> None:
        self.clusters = tuple(clusters)
        self.orders = orders
        self._plans = plans
        self._use = use
        self._ready: deque[tuple[CompiledPlans, float, Rehearsed | None]] = deque()
        self._failed: deque[Orders] = deque()
        self._wanted: Orders | None = None
        self._reconsider = False
        self._observed: set[int] = set()
        self._patience = 1
        self._until_look = 0
        self._slow_news = False
        self._slow_patience = 1
        self._until_slow_news = 0
        self._budget = DecisionBudget()
        self._ended_at = clock.perf_counter()
        self._waited = 0

    def before(self, news: Sequence[Told | None] | None, instant: float) -> None:
        """Take in what was measured for the coming evaluation, and change the plan if that pays."""
        began = clock.perf_counter()
        self._decide(news, instant)
        self._budget.spend(clock.perf_counter() - began)

    def between(self, instant: float) -> None:
        """After the evaluation at an instant, do what would make the next one longer: decide, look for plans to try."""
        for cluster in self.clusters:
            if cluster.follower.looking:
                cluster.follower.look()
                self._reconsider |= cluster.follower.restless
        if self.waiting:
            self.before(None, instant)

    def _decide(self, news: Sequence[Told | None] | None, instant: float) -> None:
        changed = False
        self._waited = 0
        self._take_ready(instant)
        if news is not None:
            self._patience = 1
        for number, cluster in enumerate(self.clusters):
            told = None if news is None else news[number]
            if told is None and not self._reconsider:
                continue
            self._observed.add(cluster.place)
            now = Measured() if told is None else cluster.watch.read(told)
            decision = cluster.follower.observe(now.windows, now.matches, now.errors)
            if decision.kind == "stay":
                self._want_no_other(cluster)
                continue
            changed = True
            orders = self._with(cluster.place, decision.plan)
            if decision.kind == "prepare":
                self.orders.prepare(orders, self._is_ready, self._failed.append)
            else:
                self._wanted = orders
                self._switch(instant)
            if decision.beside is not None:
                tried = self._with(cluster.place, decision.beside)
                self.orders.prepare(tried, self._is_ready, self._failed.append)
        if self._observed:
            self._wait_for_more_news(changed)
        self._reconsider = False
        self._look_again()

    def _look_again(self) -> None:
        """See to it that a plan that could be better is looked at again, though nothing is new, at growing intervals.

        The best prepared plan may not be the best, and a saving that did not pay may last longer than it seemed.
        """
        if any(cluster.follower.improvable for cluster in self.clusters):
            self._until_look, self._patience = (
                self._patience,
                min(2 * self._patience, MOST_PATIENCE),
            )
        else:
            self._until_look = 0

    @property
    def states(self) -> tuple[int, ...]:
        """The state of the streams that each cluster reads."""
        return tuple(cluster.follower.state for cluster in self.clusters)

    @property
    def news(self) -> tuple[int, ...]:
        """How often each cluster was told of statistics."""
        return tuple(cluster.follower.news for cluster in self.clusters)

    def worth_running(self, orders: Orders) -> bool:
        """Whether plans of these orders may be run over what the windows held last, only to see what that takes.

        What was prepared for one state of the streams may take for ever in another.
        """
        followers = [(cluster.place, cluster.follower) for cluster in self.clusters]
        cost = sum(follower.cache.cost_of(orders[place]) for place, follower in followers)
        return cost <= TOO_DEAR * sum(f.cache.cost_of(f.current) for _, f in followers)

    def _wait_for_more_news(self, changed: bool) -> None:
        """What is observed of filters changes all the time: where nothing follows, it is looked at less often."""
        self._slow_patience = 1 if changed else min(2 * self._slow_patience, MOST_PATIENCE)
        self._until_slow_news = self._slow_patience
        self._slow_news = False

    @property
    def busy(self) -> bool:
        """Whether `between` has something to do."""
        return self.waiting or self.looking

    @property
    def looking(self) -> bool:
        """Whether more plans to be tried are to be looked for."""
        return any(cluster.follower.looking for cluster in self.clusters)

    @property
    def waiting(self) -> bool:
        """Whether something is to be decided although nothing has drifted, and may be now."""
        due = bool(self._ready) or bool(self._failed) or self._reconsider
        return due and self._budget.affordable

    @property
    def overdue(self) -> bool:
        """Whether that should have been decided `between` evaluations; where they leave no time, one of them has to."""
        return self._waited > MOST_WAITED and self.waiting

    def after(
        self,
        seconds: float,
        counted_filters: Callable[[Mapping[str, Expression]], dict[str, FilterCounts]],
    ) -> None:
        """Take in what the evaluation counted.

        `counted_filters` gives what was counted of filters that are placed by cost.
        """
        now = clock.perf_counter()
        self._budget.earn(seconds, idle=now - self._ended_at - seconds)
        self._ended_at = now
        use = self._plans.use
        # Plans that come back have been counted before: not the switch, their own runs decide.
        up_to_date = all(cluster.follower.up_to_date for cluster in self.clusters)
        counted = use.ran(up_to_date, self.states)
        counts = self.counted(self._plans) if counted else {}
        rows: dict[int, dict[frozenset[str], float]] = {}
        for cluster in self.clusters:
            found = counts.get(cluster.place, [])
            expected = (
                cluster.follower.cache.expected_rows(cluster.follower.current) if found else {}
            )
            if found:
                rows[cluster.place] = expected | {count.relations: count.actual for count in found}
            for count in found:
                known = expected.get(count.relations)
                off = (
                    1.0
                    if known is None
                    else OperatorCounts(count.relations, known, count.actual).error
                )
                self._reconsider |= off > SURPRISE
            filters = counted_filters(cluster.priced) if cluster.priced else {}
            cluster.follower.executed(found, seconds, filters)
            follower = cluster.follower
            self._reconsider |= follower.restless or follower.filters_shifted
            self._slow_news |= follower.filters_changed
            if cluster.place not in self._observed:
                cluster.follower.unchanged()
        if rows:
            self._place_anew(rows)
            self._group_anew(rows)
        self._observed.clear()
        if self._until_look:
            self._until_look -= 1
            self._reconsider |= self._until_look == 0
        if self._until_slow_news:
            self._until_slow_news -= 1
        self._reconsider |= self._slow_news and self._until_slow_news == 0
        self._waited = self._waited + 1 if self.waiting else 0

    def _place_anew(self, rows: Mapping[int, Mapping[frozenset[str], float]]) -> None:
        """Have the plans that run go on where so many rows, by cluster, are computed soonest: as a job, or here."""
        plans = self._plans
        costs = {c.place: c.follower.cache.cost_of(plans.orders[c.place]) for c in self.clusters}
        before, place_now = plans.place, plans.place_for(rows, costs)
        if place_now != before:
            plans.use.place = place_now
            logger.info(
                "plans run in %d slices (0: on the driver), no longer %d",
                place_now.slices,
                before.slices,
            )

    def _group_anew(self, rows: Mapping[int, Mapping[frozenset[str], float]]) -> None:
        """Have the plans that run read windows in the order that serves so many rows, by cluster."""
        for place, counted in rows.items():
            choice = self._plans.choices[place]
            if choice.row_orders.follow(choice.plan, counted):
                logger.info("rows are read grouped: %s", choice.row_orders.grouped or "none")

    def counted(self, plans: CompiledPlans) -> dict[int, list[OperatorCounts]]:
        """The rows that plans counted in their last run, by the number of the cluster."""
        rows = json.loads(plans.jvm.rowCounts())
        shape = tuple(map(len, rows))
        if shape not in plans.use.places:
            self.find_places(plans)
        found: dict[int, list[OperatorCounts]] = {}
        for (cluster, relations), (plan, operator) in plans.use.places[shape].items():
            actual = rows[plan][operator]
            if actual >= 0:
                counts = OperatorCounts(relations, estimated=float(actual), actual=float(actual))
                found.setdefault(cluster, []).append(counts)
        return found

    def find_places(self, plans: CompiledPlans) -> None:
        """Have plans that have run know where the rows of each part of a followed cluster are counted.

        That may be done in any thread.
        """
        ran = [plan["operators"] for plan in json.loads(plans.jvm.operators())]
        roots = [operator_tree(operators) for operators in ran]
        all_laid = lay_over([(choice.plan, choice.contents) for choice in plans.choices], roots)
        places = {}
        for cluster in self.clusters:
            laid = all_laid[cluster.place]
            for node in _counted(plans.orders[cluster.place]):
                if (at := laid.get(node_id(node.relations))) is not None:
                    places[cluster.place, node.relations] = (at[0], at[1].place)
        plans.use.places[tuple(map(len, ran))] = places

    def _with(self, place: int, plan: PlanNode) -> Orders:
        orders = list(self._plans.orders if self._wanted is None else self._wanted)
        orders[place] = plan
        return tuple(orders)

    def _want_no_other(self, cluster: FollowedCluster) -> None:
        """A cluster stays as it is: what it was to be changed to before has come too late."""
        if self._wanted is not None:
            orders = self._with(cluster.place, cluster.follower.current)
            self._wanted = None if orders == self._plans.orders else orders

    def _is_ready(self, plans: CompiledPlans, seconds: float, rehearsed: Rehearsed | None) -> None:
        self._ready.append((plans, seconds, rehearsed))

    def _take_ready(self, instant: float) -> None:
        while self._failed:
            orders = self._failed.popleft()
            if self._wanted == orders:
                self._wanted = None
            # The orders in use are not to blame.
            changed = [c for c in self.clusters if orders[c.place] != c.follower.current]
            for cluster in changed:
                plan = orders[cluster.place]
                if len(changed) == 1:
                    cluster.follower.failed(plan)
                elif plan in cluster.follower.kept:
                    cluster.follower.prepared(plan, 0.0)
                else:
                    # Which of several it was that failed is seen where each is made by itself.
                    tried = list(self._plans.orders)
                    tried[cluster.place] = plan
                    self.orders.prepare(tuple(tried), self._is_ready, self._failed.append)
            self._reconsider = True
        while self._ready:
            plans, seconds, rehearsed = self._ready.popleft()
            # Of several clusters that changed at once, it is not known which of them took the time.
            changed = [c for c in self.clusters if plans.orders[c.place] != c.follower.current]
            known = rehearsed if self._holds(rehearsed) else None
            for cluster in self.clusters:
                plan, follower = plans.orders[cluster.place], cluster.follower
                alone = known if changed == [cluster] else None
                follower.prepared(plan, seconds, None if alone is None else alone.times_as_long)
                if alone is not None and alone.news == self.news:
                    follower.counted_beside(plan, alone.counted.get(cluster.place, ()))
            self._reconsider = True
        if self._wanted is not None:
            self._switch(instant)

    def _holds(self, rehearsed: Rehearsed | None) -> bool:
        """Whether what a rehearsal gave is about the running plans, and the present states of the streams."""
        if rehearsed is None:
            return False
        return rehearsed.running == self._plans.orders and rehearsed.states == self.states

    def _switch(self, instant: float) -> None:
        """Run the wanted plans if they are ready; have them made if they are not."""
        assert self._wanted is not None
        plans = self.orders.take(self._wanted)
        if plans is None:
            # Each cluster's order is known, but not the two together.
            self.orders.prepare(self._wanted, self._is_ready, self._failed.append)
            return
        self._wanted = None
        self._use(plans)
        self._plans = plans
        for cluster in self.clusters:
            cluster.follower.switched(plans.orders[cluster.place], instant)
        logger.info("plans changed at %s", instant)

    @property
    def history(self) -> tuple[Switch, ...]:
        """The switches of all clusters, in order of time."""
        switches = [switch for cluster in self.clusters for switch in cluster.follower.history]
        return tuple(sorted(switches, key=lambda switch: switch.time))


def _counted(plan: PlanNode) -> list[PlanNode]:
    """The joins of a plan, and its scans with filters: how many rows pass is a guess until it was counted."""
    return [n for n in walk(plan) if isinstance(n, Join) or (isinstance(n, Scan) and n.filters)]
