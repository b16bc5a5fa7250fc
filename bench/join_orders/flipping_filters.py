"""Two expensive filters, of which in alternate phases the one or the other lets few rows pass.

Flames heat rooms and smoke fills rooms; how hot and how dense is uncertain, and both must be surely
above a threshold. What a call takes is set (`BURDEN`), so that what counts is which filter is asked
first: of the side that passes, the other side's readings in the same rooms are all that is left to ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

EXAMPLE = "http://example.org/"
RSPU = "http://w3id.org/rsp/rspu#"
NAME = "filters"
IRI = f"{EXAMPLE}filters-stream"
SEED = 5

# Nanoseconds that a call takes longer.
BURDEN = 100_000
# What values must be above, and how sure that must be.
THRESHOLD, SURE = 0.5, 0.9
WIDTH = 0.2

READINGS = 500
READINGS_IN_ROOM = 10
# One reading of so many passes in the phase of few; all but one of so many in the other one.
FEW, MANY = 100, 20

VARIABLES = ("heat", "density")
"""Of these variables the one with the phase's number has few values that pass."""

QUERY = f"""PREFIX : <{EXAMPLE}>
PREFIX rspu: <{RSPU}>
REGISTER RSTREAM :filters AS SELECT ?flame ?smoke ?label
FROM NAMED WINDOW :now ON :filters-stream [NOW]
WHERE {{
  WINDOW :now {{ ?flame :heats ?room . ?flame :heat ?heat . ?smoke :fills ?room . ?smoke :density ?density }}
  ?room :label ?label .
  FILTER(rspu:greaterThan(?heat, {THRESHOLD}) > {SURE})
  FILTER(rspu:greaterThan(?density, {THRESHOLD}) > {SURE})
}}"""

_NS = f"<{EXAMPLE}"
_SIDES = (("flame", "heats", "heat"), ("smoke", "fills", "density"))


@dataclass(frozen=True)
class FlippingFilters:
    """So many readings of each kind in a batch."""

    readings: int = READINGS
    seed: int = SEED

    @staticmethod
    def of_size(factor: float) -> FlippingFilters:
        """As many readings as there are, or in a much smaller world fewer, of which one passes at least.

        >>> FlippingFilters.of_size(0.3).readings, FlippingFilters.of_size(0.01).readings
        (500, 100)
        """
        return FlippingFilters(max(FEW, round(READINGS * min(1.0, 4 * factor))))

    @property
    def rooms(self) -> int:
        """How many rooms there are."""
        return self.readings // READINGS_IN_ROOM

    def static_lines(self) -> Iterator[str]:
        """The static data as lines of N-Triples."""
        return (f'{_NS}room{number}> {_NS}label> "room {number}" .' for number in range(self.rooms))

    def passes(self, few: bool) -> np.ndarray:
        """Which readings pass where few do, or where many do."""
        numbers = np.arange(self.readings)
        passing: np.ndarray = numbers % FEW == 0 if few else numbers % MANY != MANY - 1
        return passing

    def share(self, variable: str, phase: int) -> float:
        """The share of a variable's values that pass in a phase.

        >>> FlippingFilters().share("heat", 0), FlippingFilters().share("heat", 1)
        (0.01, 0.95)
        """
        return float(self.passes(VARIABLES[phase] == variable).mean())

    def arriving(self, phase: int, batch: int) -> list[str]:
        """The readings of a batch, all of them new."""
        rng = np.random.default_rng((self.seed, batch))
        lines = []
        for what, where, value in _SIDES:
            passing = self.passes(VARIABLES[phase] == value)
            low = np.where(
                passing,
                rng.uniform(THRESHOLD, 1.0, self.readings),
                rng.uniform(0.0, THRESHOLD - WIDTH, self.readings),
            )
            rooms = rng.permutation(self.readings) % self.rooms
            for number, (least, room) in enumerate(zip(low, rooms, strict=True)):
                reading = f"{_NS}{what}{batch}-{number}>"
                lines.append(f"{reading} {_NS}{where}> {_NS}room{room}> .")
                lines.append(f"{reading} {_NS}{value}> {_uniform(least)} .")
        return lines


def _uniform(least: float) -> str:
    return f'"U({least:.9f}, {least + WIDTH:.9f})"^^<{RSPU}distribution>'


def surely_above(literal: str) -> float:
    """The probability that a reading's value is above the threshold.

    >>> round(surely_above(_uniform(0.45)), 6), surely_above(_uniform(0.6)), surely_above(_uniform(0.1))
    (0.75, 1.0, 0.0)
    """
    low, high = (float(part) for part in literal[3 : literal.index(")")].split(","))
    return min(1.0, max(0.0, (high - THRESHOLD) / (high - low)))
