"""How often plans are looked at again where evaluations are short and deciding is not."""

from __future__ import annotations

# Deciding anew may take this share of the time of evaluations, and that one of the time between them.
_SHARE = 0.1
_IDLE_SHARE = 0.02

# What is saved up at most, in seconds, and is there at the beginning; no more than that is ever owed.
_SAVED = 0.05


class DecisionBudget:
    """Seconds that decisions may take: a share of those of evaluations and between, saved up while nothing is decided.

    A decision can be had as long as something is left, however long it will take; what it took beyond that is saved
    up again before the next one, but for what is beyond 50 milliseconds: what had to be decided anyway counts, too.

    >>> budget = DecisionBudget()
    >>> budget.spend(0.060); budget.affordable
    False
    >>> for _ in range(40): budget.earn(0.003)                    # evaluations of 3 ms
    >>> budget.affordable
    True

    Where evaluations are short and rare, it is the time between them that pays for decisions:

    >>> budget.spend(0.060); budget.affordable
    False
    >>> budget.earn(0.003, idle=8.0); budget.affordable
    True
    """

    def __init__(self) -> None:
        self._left = _SAVED

    @property
    def affordable(self) -> bool:
        """Whether a decision may be taken."""
        return self._left > 0.0

    def earn(self, seconds: float, idle: float = 0.0) -> None:
        """An evaluation took so long, without decisions, and began so long after the end of the one before it."""
        earned = _SHARE * seconds + _IDLE_SHARE * max(0.0, idle)
        self._left = min(_SAVED, self._left + earned)

    def spend(self, seconds: float) -> None:
        """A decision took so long."""
        self._left = max(-_SAVED, self._left - seconds)
