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
# than twice as long; and not before LEAST_SECONDS: code that is not compiled yet takes several times as long. Where
# it is, as the plan has served before, HOPELESS_COMPILED times are enough.
HOPELESS = 16.0
HOPELESS_COMPILED = 4.0
LONGER = 2.0
LEAST_SECONDS = 0.25

# A plan is hopeless of which so many runs were given up: the first one may only have waited for the compiler.
MOST_GIVEN_UP = 2

# What takes about as long as the running plans ("about": up to this factor) runs in blocks with them, so many at
# first, and medians are compared. A block's first run does not count: it finds in the processor's caches what other
# plans left. One that takes LONG_RUN seconds is a block by itself, though: other runs like it would take too long, and
# what it finds in caches should matter less.
NEAR = 2.0
BLOCKS = 2
BLOCK_RUNS = 3
LONG_RUN = 0.5

# Where they then differ by less than this factor, chance may decide: there are so many blocks altogether. Where what
# the blocks say differs by more than that, something else took the machine from some of them: there are so many.
CLOSE = 1.3
CLOSE_BLOCKS = 4
MOST_BLOCKS = 6

# Where the faster half of each block's runs is within this factor, and what BLOCKS of them say is, too, more would say
# the same: as where dear calls take nearly all of the time.
STEADY = 1.02

# Running plans that seem to be far slower may only have been disturbed, for as long as a few runs take: so many more
# are to say it.
MORE_RUNS = 3


def rehearse(
    run: Callable[[P, float], float | None],
    plans: P,
    running: P,
    usual: float,
    compiled: bool = False,
) -> float | None:
    """What a run of new plans takes over one of the running ones, which lately took `usual` seconds.

    `run` gives the seconds of one run of plans; infinity if that was given up after so many seconds, and None where
    plans can no longer be run, as will this function then. Infinity is what it gives for a plan that is hopeless,
    which is seen sooner where its code is `compiled`.

    >>> times = iter([0.9, 0.4, 0.2, 0.15, 0.16, 0.15, 0.15, *[0.2] * 4, *[0.3] * 4, *[0.2] * 4, *[0.3] * 4])
    >>> round(rehearse(lambda plans, most: next(times), "new", "running", 0.2), 2)
    0.67
    """
    hopeless = HOPELESS_COMPILED if compiled else HOPELESS
    most = max(LEAST_SECONDS, min(hopeless * usual, 2.0 * usual + LONGER))
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
    for _ in range(MORE_RUNS):
        if best * NEAR > usual:
            break
        other = run(running, most)
        if other is None:
            return None
        usual = min(usual, other)
        if other >= LONG_RUN:
            break
    if best * NEAR <= usual:
        return best / usual
    # The machine is not as fast at all times: blocks in turn meet the same one. Runs in turn, once each, make those
    # slow that go different ways, as no evaluation is that follows one of the same plans.
    ratios: list[float] = []
    spent, steady = 0.0, True
    for number in range(MOST_BLOCKS):
        agreed = steady and _within(ratios, STEADY)
        if number >= BLOCKS and (spent > MOST_SECONDS or agreed or _clear(ratios)):
            break
        mine, others = _block(run, plans, most), _block(run, running, most)
        if mine is None or others is None:
            return None
        spent += sum(mine) + sum(others)
        steady = steady and _steady(mine) and _steady(others)
        usual = _middle(others)
        if 0.0 < usual < math.inf:
            ratios.append(_middle(mine) / usual)
    return median(ratios) if ratios else None


def _clear(ratios: list[float]) -> bool:
    """Whether blocks in turn say enough: all of them much the same, and that one is faster, or there are many.

    >>> _clear([0.5, 0.55]), _clear([0.95, 0.9]), _clear([0.5, 0.9, 0.9, 0.9]), _clear([0.9, 0.9, 0.9, 0.9])
    (True, False, False, True)
    """
    if not _within(ratios, CLOSE):
        return False
    return len(ratios) >= CLOSE_BLOCKS or not _close(median(ratios), 1.0)


def _steady(block: list[float]) -> bool:
    """Whether the runs of a block that count are much the same, but for those that something made longer.

    >>> _steady([0.2, 0.131, 0.130, 0.160]), _steady([0.2, 0.134, 0.130, 0.134]), _steady([0.6])
    (True, False, False)
    """
    counted = sorted(block[1:])
    return len(counted) > 1 and _within(counted[: len(counted) // 2 + 1], STEADY)


def _within(values: list[float], factor: float) -> bool:
    return bool(values) and max(values) <= factor * min(values)


def _middle(block: list[float]) -> float:
    return block[0] if len(block) == 1 else median(block[1:])


def _block(run: Callable[[P, float], float | None], plans: P, most: float) -> list[float] | None:
    """The seconds of some runs of plans one after another; the first one is not like the others, if there are any."""
    found: list[float] = []
    for _ in range(1 + BLOCK_RUNS):
        took = run(plans, most)
        if took is None:
            return None
        found.append(took)
        if len(found) == 1 and took >= LONG_RUN:
            break
    return found


def _close(one: float, other: float) -> bool:
    return one < CLOSE * other and other < CLOSE * one
