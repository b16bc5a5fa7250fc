"""The parts of a query with every set of items behind their rows, and all ways to come there.

A state is a part of `SubPlans` with a set of items (see `PlacedItems`) applied to its rows; further
states stand for its other slots: indexes, kept pre-joins. Into a state lead alternatives, each of
them a way to join two states, and steps, each of which applies one more item to the same rows.
States of small parts come first. Nothing here depends on statistics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adaptive.placed_space import PlacedAlternatives
from adaptive.sub_plans import IntArray, SubPlans

_REACHES = 64


class PlacedRound(NamedTuple):
    """Entries next to each other that lead into `targets`; those of one target begin at `starts`."""

    first: int
    last: int
    targets: IntArray
    starts: IntArray


class PlacedLevel(NamedTuple):
    """Parts of one size: their states, the ways to join them, then rounds of one more item each."""

    states: IntArray
    joins: PlacedRound | None
    steps: tuple[PlacedRound, ...]


class PlacedReach(NamedTuple):
    """What a change reaches: states of parts, alternatives, steps, by number, in order of size."""

    parts: IntArray
    states: IntArray
    alternatives: IntArray
    steps: IntArray
    levels: tuple[PlacedLevel, ...]
    static: bool


class PlacedStates:
    """Numbers the states of all slots; alternatives and steps are sorted by where they lead."""

    def __init__(self, alternatives: PlacedAlternatives, sub_plans: SubPlans) -> None:
        items = alternatives.items
        self.sub_plans = sub_plans
        count = len(items.items)
        self._shift = max(1, count)
        sets = [items.sets(mask) for mask in sub_plans.parts]
        inside = [0] * (sub_plans.slots - len(sub_plans.parts))
        for mask in sub_plans.kept:
            for slot in (sub_plans.index_slot[mask], sub_plans.kept_slot[mask]):
                inside[slot - len(sub_plans.parts)] = alternatives.inside(mask)
        sizes = np.array([*map(len, sets), *(1 for _ in inside)], dtype=np.intp)
        self.first: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        """Slot -> its first state; those of a slot stand next to each other."""
        self.items: IntArray = np.array([s for each in sets for s in each] + inside, dtype=np.intp)
        self.parts = int(self.first[len(sub_plans.parts)])
        """So many states are those of parts; the others follow."""
        self.part: IntArray = np.repeat(np.arange(len(sets)), sizes[: len(sets)])
        self._keys = (self.part << self._shift) | self.items[: self.parts]
        self._sizes = sizes
        self._join(items.binds)
        self._apply(alternatives)
        addable = np.array([items.addable(mask) for mask in sub_plans.parts], dtype=np.intp)
        self._addable: IntArray = addable
        self._part_size: IntArray = np.array(
            [mask.bit_count() for mask in sub_plans.parts], dtype=np.intp
        )
        self._reaches: dict[tuple[frozenset[int], int, int], PlacedReach] = {}

    def state(self, part: int, items: int) -> int:
        """The state of a part (by number) with a set of items."""
        return int(np.searchsorted(self._keys, part << self._shift | items))

    def _join(self, binds: int) -> None:
        known = self.sub_plans
        left_count, right_count = self._sizes[known.left], self._sizes[known.right]
        combinations = left_count * right_count
        step: IntArray = np.repeat(np.arange(len(combinations)), combinations)
        place = np.arange(len(step)) - np.repeat(
            np.cumsum(combinations) - combinations, combinations
        )
        left = self.first[known.left[step]] + place // right_count[step]
        right = self.first[known.right[step]] + place % right_count[step]
        # A variable bound on both sides would become one to join on.
        apart = self.items[left] & self.items[right] & binds == 0
        step, left, right = step[apart], left[apart], right[apart]
        keys = (known.union[step] << self._shift) | self.items[left] | self.items[right]
        target = np.searchsorted(self._keys, keys)
        order = np.argsort(target, kind="stable")
        self.step: IntArray = step[order]
        """Alternative -> the alternative of `SubPlans` that it is, whatever the items."""
        self.left: IntArray = left[order]
        self.right: IntArray = right[order]
        self.target: IntArray = target[order]
        crossed = np.array([one.method == "cross" for one in known.steps], dtype=np.bool_)
        self.crossed: IntArray = np.unique(self.right[crossed[self.step]])
        """The states that are the right side of a cross product."""
        self.term: IntArray = self.right.copy()
        """What a left row costs stands there: cross products and look-ups by two variables have their own places."""
        self.near_place = len(self.items) + len(self.crossed)
        self.terms = self.near_place + len(known.near)
        chosen = np.flatnonzero(crossed[self.step])
        self.term[chosen] = len(self.items) + np.searchsorted(self.crossed, self.right[chosen])
        near = known.term[self.step]
        chosen = np.flatnonzero(near >= known.slots)
        self.term[chosen] = self.near_place + near[chosen] - known.slots

    def _apply(self, alternatives: PlacedAlternatives) -> None:
        known = alternatives.items
        source, item = [], []
        states = self.items[: self.parts]
        addable = np.array([known.addable(m) for m in self.sub_plans.parts], dtype=np.intp)
        for number, each in enumerate(known.items):
            bit = 1 << number
            fits = (addable[self.part] & bit != 0) & (states & bit == 0)
            chosen = np.flatnonzero(fits & (states & each.needs == each.needs))
            source.append(chosen)
            item.append(np.full(len(chosen), number, dtype=np.intp))
        sources = np.concatenate(source).astype(np.intp)
        items = np.concatenate(item)
        keys = self._keys[sources] | (1 << items)
        targets = np.searchsorted(self._keys, keys)
        sizes = np.array([mask.bit_count() for mask in self.sub_plans.parts], dtype=np.intp)
        popcount = np.array([int(s).bit_count() for s in self.items], dtype=np.intp)
        rounds = (sizes[self.part[targets]] << self._shift) + popcount[targets]
        order = np.lexsort((items, targets, rounds))
        self.source: IntArray = sources[order]
        self.item: IntArray = items[order]
        self.result: IntArray = targets[order]
        self._round: IntArray = rounds[order]

    def reach(self, sets: frozenset[int], filters: int, items: int) -> PlacedReach:
        """What a change of some sets of relations, cheap filters and items (bits) reaches."""
        key = (sets, filters, items)
        reach = self._reaches.pop(key, None)
        if reach is None:
            held = self.sub_plans.holding(sets)
            if filters:
                decided = self.sub_plans.decided
                held |= np.array([bool(decided(m) & filters) for m in self.sub_plans.parts])
            if items:
                held |= self._addable & items != 0
            reach = self._reach(held)
            if len(self._reaches) >= _REACHES:
                del self._reaches[next(iter(self._reaches))]
        self._reaches[key] = reach  # the least recently used one stands first
        return reach

    def everything(self) -> PlacedReach:
        """All of it."""
        return self._reach(np.ones(len(self.sub_plans.parts), dtype=np.bool_))

    def _reach(self, held: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> PlacedReach:
        parts = np.flatnonzero(held)
        states = np.flatnonzero(held[self.part])
        alternatives = np.flatnonzero(held[self.part[self.target]])
        steps = np.flatnonzero(held[self.part[self.result]])
        sizes = self._part_size[self.part[states]]
        join_sizes = self._part_size[self.part[self.target[alternatives]]]
        rounds = self._round[steps]
        levels = []
        for size in np.unique(sizes).tolist():
            first, last = np.searchsorted(join_sizes, [size, size + 1]).tolist()
            joins = None
            if first < last:
                joins = _round(first, last, self.target[alternatives[first:last]])
            chosen = []
            low, high = np.searchsorted(rounds, [size << self._shift, size + 1 << self._shift])
            for number in np.unique(rounds[low:high]).tolist():
                first, last = np.searchsorted(rounds, [number, number + 1]).tolist()
                chosen.append(_round(first, last, self.result[steps[first:last]]))
            levels.append(PlacedLevel(states[sizes == size], joins, tuple(chosen)))
        static = self.sub_plans.holds_static(parts)
        return PlacedReach(parts, states, alternatives, steps, tuple(levels), static)


def _round(first: int, last: int, targets: IntArray) -> PlacedRound:
    reached, starts = np.unique(targets, return_index=True)
    return PlacedRound(first, last, reached, starts)
