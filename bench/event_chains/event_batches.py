"""What happens in the events bench: chains of nodes, whose steps arrive one after the other.

A chain is n0 -> n1 -> n2 (-> n3); the step k of it is an event `n(k) step(k) n(k+1)`. Open partial matches are chains
whose last step has not come yet. Nodes are numbers; those of one level of a chain lie together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

EXAMPLE = "http://example.org/"
STREAM = f"{EXAMPLE}events"
SECOND_MS = 1000
GROUPS = 1000  # of the static data
_LEVEL = 100_000_000
# From here on so many nodes at which no chain arrives.
_STRANGERS = 50_000_000
_DIFFERENT = 100_000
_NEVER_BEGUN = 40_000_000

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Happened:
    """Events in order of time: which step, from which node to which, and when in milliseconds."""

    step: Numbers
    source: Numbers
    target: Numbers
    time: Numbers

    def __len__(self) -> int:
        return len(self.step)

    def lines(self) -> list[str]:
        """One line of N-Triples an event."""
        columns = zip(self.source.tolist(), self.step.tolist(), self.target.tolist(), strict=True)
        return [
            f"<{EXAMPLE}n{source}> <{EXAMPLE}step{step}> <{EXAMPLE}n{target}> ."
            for source, step, target in columns
        ]

    def rows(self) -> Numbers:
        """Step, source, target and time as the columns of one array."""
        return np.column_stack((self.step, self.source, self.target, self.time))


@dataclass(frozen=True)
class Chains:
    """`steps` of a chain, `open` partial matches, and batches of `batch` events.

    `matches` of a batch complete a chain, a hundredth begins one (with three steps, another hundredth goes on with
    one), and the rest completes none. So many events that follow each other, `together`, have one time.

    >>> batch = Chains(2, open=100, batch=50, matches=5).arriving(0)
    >>> np.bincount(batch.step).tolist(), int(batch.time[0]), int(batch.time[-1])
    ([1, 49], 1020, 2000)
    """

    steps: int
    open: int
    batch: int
    matches: int
    together: int = 1

    @property
    def begun(self) -> int:
        """Chains that have begun before the first batch: with three steps, each is a partial match twice."""
        return self.open // (self.steps - 1)

    @property
    def beginning(self) -> int:
        """Chains that begin in each batch."""
        return max(self.batch // 100, 1)

    def filling(self, most: int) -> Iterator[Happened]:
        """What makes the partial matches, all in the first second, at most so many events at a time."""
        chains = np.arange(self.begun)
        for step in range(self.steps - 1):
            for first in range(0, self.begun, most):
                some = chains[first : first + most]
                passed = -(-(step * self.begun + some + 1) * SECOND_MS // self.open)
                yield self._steps(step, some, passed)

    def arriving(self, batch: int) -> Happened:
        """The events of a batch, in the second after those before it."""
        last = self.steps - 1
        new = self.begun + batch * self.beginning + np.arange(self.beginning)
        parts = [self._steps(0, new)]
        if last == 2:
            # Those that began a batch before.
            parts.append(self._steps(1, new - self.beginning + (_NEVER_BEGUN if batch == 0 else 0)))
        # A different chain each: 7,919 is a prime that divides no power of ten.
        ended = (batch * self.matches + np.arange(self.matches)) * 7919 % self.begun
        parts.append(self._ends(last, ended, batch, 0))
        rest = self.batch - sum(map(len, parts))
        strangers = _STRANGERS + (batch * self.batch + np.arange(rest)) % _DIFFERENT
        parts.append(self._ends(last, strangers, batch, self.matches))
        mixed = np.random.default_rng(batch).permutation(self.batch)
        step, source, target = (
            np.concatenate([getattr(part, name) for part in parts])[mixed]
            for name in ("step", "source", "target")
        )
        ends = (np.arange(self.batch) // self.together + 1) * self.together
        passed = -(-np.minimum(ends, self.batch) * SECOND_MS // self.batch)
        return Happened(step, source, target, (batch + 1) * SECOND_MS + passed)

    def _steps(self, step: int, chains: Numbers, time: Numbers | None = None) -> Happened:
        source, target = step * _LEVEL + chains, (step + 1) * _LEVEL + chains
        return Happened(np.full(len(chains), step), source, target, _times(time, source))

    def _ends(self, step: int, chains: Numbers, batch: int, first: int) -> Happened:
        # What a chain leads to is new each time, so that each completion is a match of its own.
        to = (step + 1) * _LEVEL + batch * self.batch + first + np.arange(len(chains))
        return Happened(np.full(len(chains), step), step * _LEVEL + chains, to, _times(None, to))


def _times(time: Numbers | None, like: Numbers) -> Numbers:
    return np.zeros_like(like) if time is None else time


def static_lines(count: int) -> Iterator[str]:
    """The group of each first node, as N-Triples."""
    for node, group in enumerate(static_groups(count).tolist()):
        yield f"<{EXAMPLE}n{node}> <{EXAMPLE}inGroup> <{EXAMPLE}n{group}> ."


def static_groups(count: int) -> Numbers:
    """The group of each first node."""
    return np.arange(count) % GROUPS


def query_text(steps: int, static: bool) -> str:
    """The query that finds whole chains, with the group of their first node where there is static data."""
    events = "\n".join(
        f"EVENT ON :all {{ ?n{step} :step{step} ?n{step + 1} }} AS E{step}" for step in range(steps)
    )
    shown = " ".join(f"?n{place}" for place in range(steps + 1)) + " ?group" * static
    sequence = " SEQ ".join(f"E{step}" for step in range(steps))
    joined = " ?n0 :inGroup ?group ." if static else ""
    return (
        f"PREFIX : <{EXAMPLE}>\nREGISTER ISTREAM :found COMPUTED EVERY PT1S AS\nSELECT {shown}\n"
        f"FROM NAMED WINDOW :all ON <{STREAM}> [LANDMARK 0]\n{events}\n"
        f"WHERE {{ MATCH {{ {sequence} }}{joined} }}"
    )
