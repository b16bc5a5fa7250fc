"""Which plan of a query should run in the coming evaluation: by what plans should cost, and by what they took."""

from __future__ import annotations

from collections.abc import Callable

from adaptive.measured_plans import MeasuredPlans
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode, describe
from adaptive.plan_cache import PlanCache
from adaptive.plan_prices import PlanPrices
from adaptive.plan_switch import Decision
from adaptive.prepared_plans import PreparedPlans
from adaptive.preparing_costs import PreparingCosts
from adaptive.switching import Regimes, SwitchPolicy
from adaptive.wanted_plans import WantedPlans

# Where all was tried that should be, a plan that was not is taken to cost so many times the fastest, or more.
_UNTRIED = 1.25


class PlanChoice:
    """The running plan of a query, those that are prepared, and what is to be done about them.

    `costs_now` gives the plan cache under the statistics of now; it is asked where costs decide.
    """

    def __init__(
        self,
        first: PlanNode,
        cache_size: int,
        measured: MeasuredPlans,
        wanted: WantedPlans,
        costs_now: Callable[[], PlanCache | PlacedPlanCache],
        policy: SwitchPolicy,
        rehearses: bool,
    ) -> None:
        self.running = first
        self.prepared = PreparedPlans(first, cache_size)
        self.none_faster = False
        """Whether plans that should be faster were measured not to be, and nothing has changed."""
        self._measured = measured
        self._wanted = wanted
        self._costs_now = costs_now
        self._policy = policy
        self._rehearses = rehearses
        self._preparing: PlanNode | None = None
        self._preparing_costs = PreparingCosts(policy.prepare_cost)
        self._failed: set[PlanNode] = set()
        self._evaluations = 0
        self._is_observed = False
        self._regimes = Regimes(policy)
        self._is_seen = False
        self._regime = first
        self._because = ""
        self._costs: tuple[float, float] | None = None

    def observed(self, now: float) -> None:
        """An evaluation is to come, and to be decided about, at so many seconds of a clock; maybe again."""
        if not self._is_observed:
            self._preparing_costs.observed(now)
            self._evaluations += 1
            self._is_observed = True

    def unchanged(self) -> None:
        """An evaluation passes without news: what was best before it is best still."""
        self._regimes.seen(same=True)

    def passed(self, now: float, seconds: float) -> None:
        """An evaluation without news has ended, and took so long; that is not compared with what other plans take."""
        self._is_observed = self._is_seen = False
        self._preparing_costs.observed(now)
        self._preparing_costs.executed(now, seconds)
        self.unchanged()

    def executed(self, now: float, seconds: float) -> None:
        """An evaluation has ended, and took so long."""
        self._is_observed = self._is_seen = False
        self._preparing_costs.executed(now, seconds)
        microseconds, cost = seconds * 1e6, self._preparing_costs.cost
        self._measured.ran(self.running, microseconds, self.prepared, cost)

    def ready(
        self, plan: PlanNode, seconds: float, rehearsed: float | None
    ) -> tuple[PlanNode, ...]:
        """A plan has been prepared, which took so long; returns those that are no longer kept."""
        self._end_of_preparing(plan)
        if seconds > 0.0:
            self._preparing_costs.prepared(seconds)
        self._wanted.prepared(plan)
        self._measured.rehearsed(plan, self.running, rehearsed)
        return self.prepared.add(plan, self.running)

    def failed(self, plan: PlanNode) -> None:
        """A plan could not be prepared; it is not asked for again."""
        self._end_of_preparing(plan)
        if plan != self.running:
            self.prepared.remove(plan)
        self._failed.add(plan)

    def _end_of_preparing(self, plan: PlanNode) -> None:
        if self._preparing == plan:
            self._preparing = None

    def switched(self, plan: PlanNode) -> tuple[tuple[float, float], str] | None:
        """A plan runs from now on: what it and the one before cost, and why, unless that is the same one."""
        old, self.running = self.running, plan
        self.prepared.serve(plan)
        if old == plan:
            return None
        costs, self._costs = self._costs, None
        if costs is None:
            cache = self._costs_now()
            costs = (cache.cost_of(old), cache.cost_of(plan))
            self._measured.looked(old, plan, costs)
        return costs, self._because

    def by_costs(self) -> Decision:
        """Decide by what plans should cost now, and by what is known to be otherwise."""
        cache, policy = self._costs_now(), self._policy
        cost, best = cache.cost_of(self.running), cache.cost
        self._because, self.none_faster, self._costs = "", False, None
        trial = self._measured.next_trial(self._failed)
        if trial == self.running and not self._rehearses:
            return self._stay("on trial", cost, best)
        measured = self._measured.prices(self.running, cache.cost_of)
        untried = bool(measured) and self._measured.untried(self.running)
        if untried:
            cost = max(cost, _UNTRIED * min(measured.values()))
        faster = {
            plan: price
            for plan, price in measured.items()
            if price < (1.0 - policy.measured_margin) * cost
        }
        if not faster and policy.within_margin(cost, best):
            self._seen(self.running)
            reason = f"within {policy.margin:.0%} of the cheapest plan"
            return self._tried(trial, cost, best) or self._stay(reason, cost, best)
        wanted = self._regime
        if not policy.within_margin(cache.cost_of(wanted), best):
            wanted = self._wanted.cheapest()
        prices = PlanPrices(measured, cost, cache.cost_of)
        wanted_cost = prices.of(wanted)
        if faster and min(faster.values()) <= wanted_cost:
            wanted = min(faster, key=lambda plan: faster[plan])
            wanted_cost = faster[wanted]
        known = prices.known(wanted)
        no_faster = known is not None and known >= (1.0 - policy.measured_margin) * cost
        self._seen(self.running if no_faster else wanted)
        lasting = self._regimes.lasting
        ready, ready_cost = self._cheapest_prepared(prices, cost)
        # Of what is prepared, the cheapest can run at once; the cheapest of all may come later.
        verdict = policy.decide(cost, ready_cost, True, lasting)
        if verdict.kind == "switch":
            # Not what the statistics say, or hardly.
            if ready in faster and policy.within_margin(cost, cache.cost_of(ready)):
                self._because = f"measured: {ready_cost / cost:.2f} of the time"
            if untried:
                self._costs = cost, ready_cost
                self._measured.looked(self.running, ready, self._costs)
            beside = self._asked(trial) if self._rehearses and trial != ready else None
            return Decision("switch", ready, verdict.saving, verdict.reason, cost, best, beside)
        if no_faster:
            self.none_faster = True
            reason = (
                f"{describe(wanted)} should be faster, and it or its like were measured not to be"
            )
            return self._tried(trial, cost, best) or self._stay(reason, cost, best)
        if wanted in self.prepared:
            stay = self._stay(verdict.reason, cost, best, verdict.saving)
            if self._measured.may_take_over(wanted):
                return stay
            return self._tried(wanted, cost, best) or stay
        lost = self._wanted.missed(wanted, min(cost, ready_cost) - wanted_cost, self._evaluations)
        return self._prepared_soon(wanted, wanted_cost, lost, trial, cost, best)

    def _prepared_soon(
        self,
        wanted: PlanNode,
        wanted_cost: float,
        lost: float,
        trial: PlanNode | None,
        cost: float,
        best: float,
    ) -> Decision:
        """Have the plan prepared that should cost the least, if that pays; else the one that is to be tried.

        `lost` is what not having it has cost lately.
        """
        preparing = self._preparing_costs
        verdict = self._policy.decide(
            cost, wanted_cost, False, self._regimes.lasting, preparing.cost, preparing.delay, lost
        )
        if verdict.kind == "stay":
            stay = self._stay(verdict.reason, cost, best, verdict.saving)
            return self._tried(trial, cost, best) or stay
        if wanted in self._failed:
            stay = self._stay(f"{describe(wanted)} could not be prepared", cost, best)
            return self._tried(trial, cost, best) or stay
        if self._preparing is not None:
            reason = f"{describe(self._preparing)} is being prepared"
            return self._stay(reason, cost, best, verdict.saving)
        cheapest = self._costs_now().plan()
        self._preparing = cheapest if wanted == cheapest else wanted  # with the estimates of now
        return Decision("prepare", self._preparing, verdict.saving, verdict.reason, cost, best)

    def by_times(self, same_state: bool) -> Decision | None:
        """Decide by what was measured in the present state alone, if all was tried there that should be.

        `same_state` says that the last decision was made there, too.
        """
        found = self._measured.choice(self.prepared, self.running)
        if found is None:
            return None
        self.none_faster, self._because = True, ""
        self._seen(found.plan)
        costs = found.running, found.chosen
        again = self._measured.next_trial(self._failed)
        if found.plan == self.running:
            stay = self._stay("measured to be the fastest", *costs)
            return self._tried(again, *costs) or stay
        noise = self._measured.noise(found.plan, self.running)
        verdict = self._policy.decide(*costs, True, self._regimes.lasting, noise=noise)
        if verdict.kind == "stay":
            stay = self._stay(verdict.reason, *costs, verdict.saving)
            return self._tried(again, *costs) or stay
        beside = self._asked(again) if again != found.plan else None
        if found.ratio is not None and same_state:
            self._because = f"measured: {found.ratio:.2f} of the time"
        self._costs = costs
        return Decision("switch", found.plan, verdict.saving, verdict.reason, *costs, beside)

    def _stay(self, reason: str, cost: float, best: float, saving: float = 0.0) -> Decision:
        return Decision("stay", self.running, saving, reason, cost, best)

    def _tried(self, trial: PlanNode | None, cost: float, best: float) -> Decision | None:
        """Have a plan that should cost about as much run, or be prepared for that."""
        if trial is None or trial == self.running:
            return None
        if trial in self.prepared and not self._rehearses:
            self._because = "tried, as it should cost about as much"
            return Decision("switch", trial, 0.0, self._because, cost, best)
        asked = self._asked(trial)
        return None if asked is None else Decision("prepare", asked, 0.0, "to be tried", cost, best)

    def _asked(self, trial: PlanNode | None) -> PlanNode | None:
        """A plan to be tried, unless another one is being prepared: it is from now on."""
        if trial is None or self._preparing is not None:
            return None
        self._measured.asked(trial)
        self._preparing = trial
        return trial

    def _seen(self, best: PlanNode) -> None:
        # What is decided again before an evaluation makes no more evaluations of it.
        if best != self._regime or not self._is_seen:
            self._regimes.seen(same=best == self._regime)
        self._regime, self._is_seen = best, True

    def _cheapest_prepared(self, prices: PlanPrices, cost: float) -> tuple[PlanNode, float]:
        """Of what may take over at once, and the running plan, which costs so much: the cheapest, and its cost."""
        ready = filter(self._measured.may_take_over, self.prepared)
        costs = {plan: prices.of(plan) for plan in ready}
        costs[self.running] = cost
        plan = min(costs, key=lambda plan: (costs[plan], plan != self.running))
        return plan, costs[plan]
