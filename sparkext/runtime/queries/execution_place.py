"""Where a query's plans run, on the driver or as a Spark job, and whether they can run there at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptive import runs_sooner_on_driver
from sparkext.errors import UnsupportedFeatureError
from sparkext.language.expressions import BuiltinCall
from sparkext.language.support import expressions_of

if TYPE_CHECKING:
    from sparkext.config import Settings
    from sparkext.language.nodes import Node


@dataclass(frozen=True)
class Place:
    """`slices` is 0 for the driver, else those of a Spark job; `why` is empty where the time it takes decided."""

    slices: int
    why: str = ""


@dataclass(frozen=True)
class TextNeeds:
    """The function for which plans need texts of terms, `always` or only for `some` terms: not for most numbers, say.

    What they need always they need for some terms.
    """

    always: str | None = None
    some: str | None = None

    @staticmethod
    def of(plans: Any) -> TextNeeds:
        """What plans of the JVM need."""
        return TextNeeds(plans.needsTexts(), plans.mayNeedTexts())


def driver_refusal(settings: Settings, plans: Any) -> str | None:
    """Why plans cannot run on the driver, None if they can."""
    if not settings.enabled:
        return "spark.cqels.enabled=false"
    if not settings.driver_execution_enabled:
        return "spark.cqels.driverExecution.enabled=false"
    refusal: str | None = plans.driverRefusal()
    return refusal


@dataclass(frozen=True)
class PlaceRule:
    """What decides where plans run, beside the rows that they compute.

    `refusal` says why the driver cannot run them, if so; `calls_here` that they make calls that are placed by cost,
    which only the driver can. More than `most_rows` in one step are none for the driver.
    """

    refusal: str | None
    needs: TextNeeds
    calls_here: bool
    most_rows: float
    threads: int
    slots: int
    job_start: float

    def place(self, largest: float, cost: float) -> Place:
        """Where to run what computes so many rows in its largest step, and takes so many microseconds on one thread.

        >>> rule = PlaceRule(None, TextNeeds(), False, 1e6, threads=2, slots=16, job_start=15_000.0)
        >>> rule.place(1e4, cost=1e4).slices, rule.place(1e4, cost=1e6).slices, rule.place(1e7, cost=1e4).slices
        (0, 16, 16)
        """
        sooner_here = largest <= self.most_rows and (
            self.calls_here or runs_sooner_on_driver(cost, self.threads, self.slots, self.job_start)
        )
        return choose_place(self.refusal, self.needs, sooner_here, self.slots)


def choose_place(refusal: str | None, needs: TextNeeds, sooner_here: bool, slots: int) -> Place:
    """Where plans run: on the driver, unless it refuses them, if they end `sooner_here` or need what is only there.

    >>> choose_place(None, TextNeeds(), False, 8)
    Place(slices=8, why='')
    >>> choose_place(None, TextNeeds("regex", "regex"), False, 8)
    Place(slices=0, why='texts of terms are there')
    """
    if refusal is not None:
        limit = f"; {needs.some} fails where it needs the text of a term" if needs.some else ""
        return Place(slots, refusal + limit)
    if needs.some is not None:
        return Place(0, "texts of terms are there")
    return Place(0 if sooner_here else slots)


def check_texts(refusal: str | None, needs: TextNeeds, pattern: Node) -> None:
    """Raise UnsupportedFeatureError if plans need texts whatever their rows are, and cannot run where these are."""
    if refusal is None or needs.always is None:
        return
    advice = "run on a master local[n], whose executors have them"
    if refusal.endswith("=false"):
        advice = f"set {refusal.removesuffix('=false')} to true, or {advice}"
    message = (
        f"{needs.always} needs texts of terms, which are on the driver, where this query cannot run"
        f" ({refusal}): {advice}"
    )
    raise UnsupportedFeatureError(message, *(_first_call(pattern, needs.always) or (1, 1)))


def _first_call(node: Node, function: str) -> tuple[int, int] | None:
    for expression in expressions_of(node):
        for part in expression.walk():
            if isinstance(part, BuiltinCall) and part.name.lower() == function and part.position:
                return part.position
    found = (_first_call(child, function) for child in node.children)
    return next((place for place in found if place), None)
