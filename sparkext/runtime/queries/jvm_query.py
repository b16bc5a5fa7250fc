"""A query in the JVM, and the plans that it runs."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from py4j.protocol import Py4JJavaError

from sparkext.errors import LimitError
from sparkext.runtime.answering import answers_file
from sparkext.runtime.parts.call_counts import CallCounts
from sparkext.runtime.queries.compiled_plans import CompiledPlans

if TYPE_CHECKING:
    from sparkext.config import Settings

P = ParamSpec("P")
R = TypeVar("R")


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
        calls.tell(jvm)

    def replace(self, plans: CompiledPlans) -> None:
        """Run other plans: those before them are out of date."""
        self.plans, self.executed = plans, False
        self.jvm.replacePlans(plans.jvm)
        if plans.matches:
            self.jvm.setMatches(list(plans.matches))
        self._calls.tell(self.jvm)

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
