"""A query in the JVM, and the plans that it runs."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException

from sparkext.errors import LimitError
from sparkext.r2r.clusters.cluster_choice import ClusterChoice
from sparkext.runtime.answering import answers_file
from sparkext.runtime.parts.call_counts import CallCounts
from sparkext.runtime.queries.compiled_plans import CompiledPlans
from sparkext.runtime.queries.delta_plans import DeltaPlans

if TYPE_CHECKING:
    from sparkext.config import Settings

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)


def set_limits(jvm: Any, settings: Settings) -> None:
    """Have evaluations of a query end that take more than `spark.cqels.limits.*` let them."""
    jvm.setLimits(
        settings.limits_evaluation_time * 1_000_000,
        settings.limits_evaluation_memory,
        settings.limits_answer_rows,
    )


@contextmanager
def answering_nothing(jvm: Any) -> Iterator[None]:
    """Have a query find again what it has told, which nobody is to read once more."""
    jvm.answerNothing(True)
    try:
        yield
    finally:
        jvm.answerNothing(False)


def telling_limits(evaluate: Callable[P, R]) -> Callable[P, R]:
    """Have an evaluation that took more than it may be a LimitError."""

    @functools.wraps(evaluate)
    def evaluated(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return evaluate(*arguments, **named)
        except Py4JJavaError as error:
            java = error.java_exception
            if java is not None and java.getClass().getSimpleName() == "LimitExceeded":
                raise LimitError(str(java.getMessage())) from None
            raise

    return evaluated


class JvmQuery:
    """A query with its plans; `jvm` evaluates it. To be used under the engine's lock."""

    def __init__(self, jvm: Any, plans: CompiledPlans, calls: CallCounts) -> None:
        self.jvm = jvm
        self.plans = plans
        self.executed = False
        """Whether they ran, so that their operators have counted rows."""
        self._calls = calls
        self._number = int(jvm.number())
        self._expected: tuple[CompiledPlans, str, str] | None = None
        self._pinned: dict[int, list[str]] = {}  # orders by the numbers of clusters
        calls.tell(jvm)

    @property
    def choices(self) -> tuple[ClusterChoice, ...]:
        """The clusters that evaluations join, in the order in which they are numbered."""
        delta = self.plans.delta
        return (delta if isinstance(delta, DeltaPlans) else self.plans).choices

    def pin(self, cluster: int, order: list[str] | None) -> None:
        """Join a cluster in an order, whatever plans are to come; None: in the cheapest.

        Raises IllegalArgumentException for no order of it.
        """
        known = self.choices[cluster].order
        if order is None:
            known.free()
            self._pinned.pop(cluster, None)
        else:
            known.follow(order)
            self._pinned[cluster] = order

    def _pin_again(self) -> None:
        """Have other plans join in the orders that were asked for; one that has no beginning there is forgotten."""
        for cluster, order in list(self._pinned.items()):
            known = self.choices[cluster].order if cluster < len(self.choices) else None
            why = "its order is no data any more"
            if known is not None:
                try:
                    known.follow(order)
                    continue
                except IllegalArgumentException as error:
                    why = str(error)
            del self._pinned[cluster]
            name = self.jvm.name()
            logger.warning("%s, cluster %d is pinned no more: %s", name, cluster, why)

    def replace(self, plans: CompiledPlans) -> None:
        """Run other plans: those before them are out of date."""
        self.plans, self.executed = plans, False
        self.jvm.replacePlans(plans.jvm)
        if plans.matches:
            self.jvm.setMatches(list(plans.matches))
        self._calls.tell(self.jvm)
        self._pin_again()

    def evaluate(self, bounds: str) -> dict[str, Any]:
        """Evaluate, the windows moved to `bounds`; what comes back has "crowded" where other plans are needed first."""
        outcome: dict[str, Any] = json.loads(
            self._take_expected(bounds) or self.jvm.evaluate(bounds, self.plans.slices)
        )
        if "crowded" not in outcome:
            self.plans.note(outcome)
        return outcome

    def asked(self, bounds: str) -> str:
        """What `EngineRoom.evaluate_together` is told of it."""
        return f"{self._number};{bounds}"

    def expect(self, bounds: str, told: str) -> None:
        """Have what was told of an evaluation beside others be that of the next one, if that is the same."""
        self.forget_expected()
        self._expected = (self.plans, bounds, told)

    def forget_expected(self) -> None:
        """Something else is to be evaluated than what was."""
        if self._expected is not None:
            told, self._expected = self._expected[2], None
            if told:
                answers_file.drop(json.loads(told))

    def _take_expected(self, bounds: str) -> str:
        if self._expected is not None:
            plans, there, told = self._expected
            if plans is self.plans and there == bounds:
                self._expected = None
                return told
            self.forget_expected()
        return ""
