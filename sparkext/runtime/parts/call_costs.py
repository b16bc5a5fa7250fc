"""What calls of functions cost that are counted, as the JVM has measured them in this engine or as they are said to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from sparkext.language.expressions import Constant, Expression, FunctionCall
from sparkext.language.uncertainty import RSPU, uncertainty_function
from sparkext.r2r.functions.uncertain_placement import CALL_US
from static_data.terms import XSD
from static_data.terms import Literal as RdfLiteral

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom

Origin = Literal["measured", "declared", "assumed"]

SETTLED: Final = 32
"""From so many samples on a cost is that of compiled code; the first ones can only make it less than was thought."""

_USES: Final = ("computed", "probed", "looked up")
_NUMBERS: Final = {XSD + name for name in ("integer", "decimal", "float", "double")}


@dataclass(frozen=True)
class MeasuredCalls:
    """Calls of a function whose arguments are of certain families: `us` microseconds each, from so many `samples`.

    `calls` were made. `cache` tells how they are made now: "computed" each time, as that costs less than a look-up;
    "looked up"; or "probed", a few looked up to see whether that would pay. `hit_ratio` is the share of the
    look-ups that found a value, None as long as there were few.
    """

    function: str
    families: tuple[str, ...]
    us: float
    samples: int
    calls: int
    cache: str
    hit_ratio: float | None

    @staticmethod
    def of(told: Sequence[Any]) -> MeasuredCalls:
        """As the JVM tells it; see CallCosts.scala."""
        function, families, nanos, samples, calls, use, ratio = told
        known = None if ratio < 0 else ratio
        return MeasuredCalls(
            function, tuple(families), nanos / 1e3, samples, calls, _USES[use], known
        )

    @property
    def name(self) -> str:
        """Such as "lessThan(Normal, number)"."""
        return f"{self.function}({', '.join(self.families)})"

    def may_be(self, call: FunctionCall) -> bool:
        """Whether a call in a query may be one of these, by its function and what its arguments must be."""
        if self.function != call.function.removeprefix(RSPU):
            return False
        return not any(
            _gives_number(argument) and family != "number"
            for argument, family in zip(call.arguments, self.families, strict=False)
        )


class CallCosts:
    """The costs of one engine's calls; `said_us` are the declared ones of users' functions, in microseconds."""

    def __init__(
        self,
        room: EngineRoom,
        said_us: Callable[[FunctionCall], float | None],
        burden_us: float = 0.0,
    ) -> None:
        self._room = room
        self._said_us = said_us
        self._burden_us = burden_us

    def call_us(self, call: FunctionCall) -> float:
        """Microseconds of a call: of those measured so far of its function, else as it is said or assumed."""
        return self.known(call)[0]

    def row_us(self) -> float:
        """Microseconds of a row for which no call has to be made: reading values, asking the cache."""
        return self._room.row_nanoseconds() / 1e3

    def known(self, call: FunctionCall) -> tuple[float, Origin]:
        """The cost of a call in microseconds, and where it comes from.

        What families the arguments will have is not known, so it is the mean of the calls that were made.
        """
        declared = self._said_us(call)
        said = (CALL_US if declared is None else declared) + self._burden_us
        made = [m for m in map(MeasuredCalls.of, self._room.call_costs()) if m.may_be(call)]
        samples, calls = sum(m.samples for m in made), sum(m.calls for m in made)
        if samples and calls:
            measured = sum(m.us * m.calls for m in made) / calls
            if samples >= SETTLED or measured < said:
                return measured, "measured"
        return said, "assumed" if declared is None else "declared"

    def at(self, site: int, calls: Sequence[FunctionCall]) -> list[dict[str, Any]]:
        """The costs of the calls at a site as plain data; of what was not called there yet, what is known of it."""
        made = [MeasuredCalls.of(told) for told in self._room.call_costs(site)]
        found = [self._described(m, calls) for m in made]
        for call in calls:
            if not any(m.may_be(call) for m in made):
                us, origin = self.known(call)
                name = call.function.removeprefix(RSPU)
                unknown = {"samples": 0, "cache": None, "hit_ratio": None}
                found.append({"call": name, "us": us, "from": origin, **unknown})
        return found

    def _described(self, made: MeasuredCalls, calls: Sequence[FunctionCall]) -> dict[str, Any]:
        origin: Origin = "measured"
        us = made.us
        if not made.samples:
            us, origin = next((self.known(c) for c in calls if made.may_be(c)), (us, "assumed"))
        return {
            "call": made.name,
            "us": us,
            "from": origin,
            "samples": made.samples,
            "cache": made.cache,
            "hit_ratio": made.hit_ratio,
        }


def _gives_number(expression: Expression) -> bool:
    """Whether an argument can only be a number."""
    if isinstance(expression, Constant):
        term = expression.term
        return isinstance(term, RdfLiteral) and term.datatype.value in _NUMBERS
    function = uncertainty_function(expression)
    return function is not None and function.gives == "number"
