"""Runs new plans of a query beside its evaluations: their code is compiled when they serve, and their time is known.

A run takes place between two evaluations, over what the windows hold, and nobody is told what it answers. The first
runs of a plan take several times as long as later ones: no evaluation should be one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from typing import TypeVar

P = TypeVar("P")

# Runs of new plans at most, and how many of them in a row must be no faster than those before by this share.
MOST_RUNS = 16
SETTLED_RUNS = 3
FASTER = 0.05

# Runs that take longer than this together are enough.
MOST_SECONDS = 4.0

# A run is given up that takes so many times as long as usual; where that is long, one that takes LONGER seconds more
# than twice as long; and not before LEAST_SECONDS: code that is not compiled yet takes several times as long.
HOPELESS = 16.0
LONGER = 2.0
LEAST_SECONDS = 0.25

# A plan is hopeless of which so many runs were given up: the first one may only have waited for the compiler.
MOST_GIVEN_UP = 2

# What takes about as long as the running plans is run in turn with them, so often, and medians are compared; "about":
# up to this factor.
PAIRS = 5
NEAR = 2.0

# Where the medians then differ by less than this factor, chance may decide: there are so many runs in turn altogether.
CLOSE = 1.3
CLOSE_PAIRS = 13


def rehearse(
    run: Callable[[P, float], float | None], plans: P, running: P, usual: float
) -> float | None:
    """What a run of new plans takes over one of the running ones, which lately took `usual` seconds.

    `run` gives the seconds of one run of plans; infinity if that was given up after so many seconds, and None where
    plans can no longer be run, as will this function then. Infinity is what it gives for a plan that is hopeless.

    >>> times = iter([0.9, 0.4, 0.2, 0.15, 0.16, 0.15, 0.15, *[0.2, 0.3] * 5])
    >>> round(rehearse(lambda plans, most: next(times), "new", "running", 0.2), 2)
    0.67
    """
    most = max(LEAST_SECONDS, min(HOPELESS * usual, 2.0 * usual + LONGER))
    best, spent, settled, given_up = math.inf, 0.0, 0, 0
    for _ in range(MOST_RUNS):
        took = run(plans, most)
        if took is None:
            return None
        if took == math.inf:
            given_up += 1
            if given_up == MOST_GIVEN_UP:
                return math.inf
            continue
        settled = settled + 1 if took > (1.0 - FASTER) * best else 0
        best = min(best, took)
        spent += took
        if settled == SETTLED_RUNS or spent > MOST_SECONDS:
            break
    if 0.0 < usual * NEAR < best:
        return best / usual
    if best * NEAR <= usual:
        # The running plans seem to be far slower: one more run shows whether they were only disturbed.
        other = run(running, most)
        if other is None:
            return None
        usual = min(usual, other)
        if best * NEAR <= usual:
            return best / usual
    # The machine is not as fast at all times: runs in turn meet the same one. Both are slower than alone where they go
    # different ways, as each finds in the processor's caches what the other has left there.
    mine: list[float] = []
    others: list[float] = []
    for number in range(CLOSE_PAIRS):
        if number >= PAIRS and not _close(median(mine), median(others)):
            break
        one, two = run(plans, most), run(running, most)
        if one is None or two is None:
            return None
        mine.append(one)
        others.append(two)
        if number >= PAIRS and sum(mine) + sum(others) > MOST_SECONDS:
            break
    usual = median(others)
    return median(mine) / usual if 0.0 < usual < math.inf else None


def _close(one: float, other: float) -> bool:
    return one < CLOSE * other and other < CLOSE * one
