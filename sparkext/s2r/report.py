"""Report policies: at which instants a query is evaluated (RSP-QL, Definition 23).

A rule is a conjunction of strategies, each tied to a window; a policy is evaluated where any of its
rules holds (slip S-001-9); the windows that did not decide show their present content. The
strategies:

- CC, content change: an element enters the window (what the RSP-QL paper says of CQELS, slip
  S-001-4);
- strict CC: an element enters or leaves it;
- WC, window close: one of its windows closes;
- NC, non-empty content: it shows at least one element;
- P, periodic: t0 + k d from the first element of any stream of the query on; t0 is that of its first
  sliding window, else the epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from sparkext.errors import CqelsError
from sparkext.s2r.profiles import profile_named
from sparkext.s2r.windows import WindowSpec


class ReportPolicyError(CqelsError):
    """A report policy without a strategy, of an unknown window, or of no positive period."""


class Strategy(Enum):
    """A condition on one window at one instant."""

    CONTENT_CHANGE = "CC"
    STRICT_CONTENT_CHANGE = "strict CC"
    WINDOW_CLOSE = "WC"
    NON_EMPTY = "NC"


@dataclass(frozen=True, slots=True)
class Condition:
    """A strategy tied to the window at this place in the query's list of windows."""

    strategy: Strategy
    window: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A conjunction: all its conditions hold, and, with `every`, the instant is start + k *
    every (strategy P)."""

    conditions: tuple[Condition, ...] = ()
    every: int | None = None
    start: int = 0

    def __post_init__(self) -> None:
        if not self.conditions and self.every is None:
            raise ReportPolicyError("a report rule needs at least one strategy")
        if self.every is not None and self.every <= 0:
            raise ReportPolicyError(f"COMPUTED EVERY needs at least 1 ms, not {self.every}")

    @property
    def tells_loss(self) -> bool:
        """Whether the rule may hold right after a window showed its last element."""
        return any(c.strategy is Strategy.STRICT_CONTENT_CHANGE for c in self.conditions)

    @property
    def needs_element(self) -> bool:
        """Whether the rule holds only where a window shows an element or has just lost one."""
        return any(c.strategy is not Strategy.WINDOW_CLOSE for c in self.conditions)


@dataclass(frozen=True, slots=True)
class ReportPolicy:
    """The rules of one query; an instant is evaluated once, however many of them hold."""

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise ReportPolicyError("no report rule: a query without a window is never evaluated")

    def windows(self) -> frozenset[int]:
        """The places of the windows that the policy asks about."""
        return frozenset(condition.window for rule in self.rules for condition in rule.conditions)


def on_window(window: int, *strategies: Strategy) -> Rule:
    """The rule that all these strategies hold for one window."""
    return Rule(tuple(Condition(strategy, window) for strategy in strategies))


def periodic(every: int, start: int = 0) -> ReportPolicy:
    """The policy of ``COMPUTED EVERY``: start + k * every, whatever the windows show (strategy P)."""
    return ReportPolicy((Rule(every=every, start=start),))


def first_start(windows: Sequence[WindowSpec], default: int = 0) -> int:
    """t0 of the first sliding window; `default` where none slides."""
    return next((w.start for w in windows if w.start is not None), default)


def any_of(*rules: Rule) -> ReportPolicy:
    """The policy under which a query is evaluated where any of the rules holds."""
    return ReportPolicy(rules)


def default_policy(windows: Sequence[WindowSpec], every: int | None = None) -> ReportPolicy:
    """The policy of profile `rspql` for a query over these windows.

    Every window reports by its own kind, and the query is evaluated where any of them does: a
    window that closes apart (with STEP, an interval) where it closes non-empty (WC and NC), another
    where an element enters it (CC). The others show their present content then. ``COMPUTED EVERY`` replaces all that.

    >>> from sparkext.s2r.windows import NowWindow, SlidingWindow
    >>> len(default_policy([SlidingWindow(5, 2), NowWindow()]).rules)
    2
    """
    if every is not None:
        return periodic(every, first_start(windows))
    return ReportPolicy(
        tuple(
            on_window(place, Strategy.WINDOW_CLOSE, Strategy.NON_EMPTY)
            if window.closes_apart
            else on_window(place, Strategy.CONTENT_CHANGE)
            for place, window in enumerate(windows)
        )
    )


def content_change_policy(windows: Sequence[WindowSpec], strict: bool = False) -> ReportPolicy:
    """The policy of profile `cqels`: an element enters (or, if strict, leaves) any window."""
    change = Strategy.STRICT_CONTENT_CHANGE if strict else Strategy.CONTENT_CHANGE
    return ReportPolicy(tuple(on_window(place, change) for place in range(len(windows))))


def policy_of_profile(
    profile: str, windows: Sequence[WindowSpec], every: int | None = None, start: int = 0
) -> ReportPolicy:
    """The policy of a semantics profile; ``COMPUTED EVERY`` replaces it in all of them.

    `start` is t0 where no window has one. C-SPARQL, SPARQLstream and RSP-QL* report as the default
    does (RSP-QL, section 5). Raises ConfigurationError for an unknown profile.
    """
    chosen = profile_named(profile)
    if every is not None:
        return periodic(every, first_start(windows, start))
    return content_change_policy(windows) if chosen.reports_change else default_policy(windows)
