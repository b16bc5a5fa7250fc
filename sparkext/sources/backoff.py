"""How long to wait before something is tried again: longer each time, and not all at the same moment."""

from __future__ import annotations

import random
from dataclasses import dataclass

from sparkext.errors import ArgumentError


@dataclass(frozen=True)
class Backoff:
    """Seconds before the first try anew, doubled for each that follows, up to `most`.

    A part of them is drawn by chance. Raises ArgumentError for seconds that are none.
    """

    first: float = 0.2
    most: float = 30.0

    def __post_init__(self) -> None:
        for name in ("first", "most"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ArgumentError(f"backoff.{name}", f"must be seconds above 0, not {value!r}")

    def longest(self, failures: int) -> float:
        """The upper bound after so many failures in a row.

        >>> [Backoff(0.5, 3).longest(n) for n in (1, 2, 3, 4, 5000)]
        [0.5, 1.0, 2.0, 3, 3]
        """
        # The exponent is bounded: a broker may be away for days.
        return min(self.most, self.first * 2.0 ** min(failures - 1, 60))

    def seconds(self, failures: int) -> float:
        """What to wait after so many failures in a row: between half of the bound and all of it."""
        return self.longest(failures) * random.uniform(0.5, 1)
