"""The connected parts of a query and all ways to join each, numbered once, as arrays.

Nothing here depends on statistics. A part has a number; small parts come first, so that inputs
precede their users. The ways to join a part (its alternatives) stand next to each other, in the
order in which a search from scratch meets them. An input of an alternative is a slot: the number of
a part, or beyond those an index that is probed, a kept pre-join that is read, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.alternatives import Alternatives, Step
from adaptive.near_look_ups import is_near
from adaptive.query_graph import RelationKind

IntArray: TypeAlias = NDArray[np.intp]

_REACHES = 64


class Level(NamedTuple):
    """The parts of one size that a change reaches, and where their alternatives stand."""

    parts: IntArray
    first: int
    last: int
    starts: IntArray


class Reach(NamedTuple):
    """What a change reaches: parts, in order of size, and all their alternatives."""

    parts: IntArray
    leaves: IntArray
    alternatives: IntArray
    left: IntArray
    right: IntArray
    term: IntArray
    union: IntArray
    shares: IntArray
    levels: tuple[Level, ...]
    static: bool
    """Whether a part of static relations alone is among them, so that pre-joins may change."""


@dataclass(frozen=True)
class Touched:
    """What one update did: parts looked at, alternatives priced, parts whose value changed.

    `rebuilt` says that the table was made anew, as pre-joins had become possible or impossible.
    """

    entries: int = 0
    alternatives: int = 0
    changed: int = 0
    rebuilt: bool = False


class SubPlans:
    """Numbers the parts inside the `components` that `pairs` join, and their alternatives.

    `near` are the relations (by position) that are looked up by two variables, with these; what a row costs that is
    looked up so stands at `slots` and beyond, and otherwise with what is looked up: `term` says where, by alternative.
    `decisions` are the different sets of filters that inputs and parts decide; `shares` and
    `part_shares` give the number of theirs for each alternative and each part.
    """

    def __init__(self, alternatives: Alternatives, pairs: list[tuple[int, int]]) -> None:
        graph = alternatives.graph
        decided = alternatives.estimator.decided
        masks = {1 << position for position in range(len(graph.relations))}
        masks.update(one | other for one, other in pairs)
        masks.update(part for pair in pairs for part in pair)  # which may be kept pre-joined only
        self.parts = sorted(masks, key=lambda mask: (mask.bit_count(), mask))
        self.number = {mask: number for number, mask in enumerate(self.parts)}
        self.masks: NDArray[np.int64] = np.array(self.parts, dtype=np.int64)
        count = len(self.parts)
        self.nothing = count
        self.indexes = tuple(m for m in self.parts if alternatives.index(m) is not None)
        self.index_slot = {m: count + 1 + i for i, m in enumerate(self.indexes)}
        self.kept = tuple(m for m in self.parts if m in alternatives.prejoins)
        self.kept_slot = {m: count + 1 + len(self.indexes) + i for i, m in enumerate(self.kept)}
        self.slots = count + 1 + len(self.indexes) + len(self.kept)

        known: dict[int, int] = {-1: 0, 0: 1}  # -1: nothing comes out, as when a part is read
        near: dict[tuple[int, tuple[str, ...]], int] = {}
        steps: list[tuple[int, Step, int, int, int, int]] = []
        for mask in self.kept:
            read = Step(0.0, mask, 0, "read")
            slot = self.kept_slot[mask]
            steps.append((self.number[mask], read, self.nothing, slot, slot, 0))
        free = dict.fromkeys(self.parts, Step(0.0, 0, 0, "read"))
        for one, other in pairs:
            union = self.number[one | other]
            for step in alternatives.joins(one, other, free):
                slots = self.index_slot if step.method == "index" else self.number
                share = known.setdefault(alternatives.decided_before(step), len(known))
                term = slot = slots[step.right]
                if step.method == "index" and step.right & (step.right - 1) == 0:
                    looked_up = step.right.bit_length() - 1
                    on = graph.shared_variables(step.left, step.right)
                    if len(on) == 2 and is_near(graph.relations[looked_up]):
                        term = near.setdefault((looked_up, on), self.slots + len(near))
                steps.append((union, step, self.number[step.left], slot, term, share))
        steps.sort(key=lambda entry: entry[0])  # stable: within a part the order stays
        self.near = tuple(near)
        self.steps = [entry[1] for entry in steps]
        self.union: IntArray = np.array([entry[0] for entry in steps], dtype=np.intp)
        self.left: IntArray = np.array([entry[2] for entry in steps], dtype=np.intp)
        self.right: IntArray = np.array([entry[3] for entry in steps], dtype=np.intp)
        self.term: IntArray = np.array([entry[4] for entry in steps], dtype=np.intp)
        self.shares: IntArray = np.array([entry[5] for entry in steps], dtype=np.intp)
        self.first: IntArray = np.searchsorted(self.union, np.arange(count + 1))
        self.part_shares: IntArray = np.array(
            [known.setdefault(decided(mask), len(known)) for mask in self.parts], dtype=np.intp
        )
        self.decisions = tuple(known)
        self._decided = [decided(mask) for mask in self.parts]
        static = 0
        for position, relation in enumerate(graph.relations):
            if relation.kind is RelationKind.STATIC:
                static |= 1 << position
        self._static = static
        self._reaches: dict[tuple[frozenset[int], int], Reach] = {}

    def decided(self, mask: int) -> int:
        """The filters (bit i) that a part decides."""
        return self._decided[self.number[mask]]

    def holding(self, sets: Iterable[int]) -> NDArray[np.bool_]:
        """Which parts hold all relations of one of these sets."""
        held: NDArray[np.bool_] = np.zeros(len(self.parts), dtype=np.bool_)
        for mask in sets:
            held |= (self.masks & mask) == mask
        return held

    def reach(self, sets: frozenset[int], filters: int) -> Reach:
        """The parts that hold one of `sets` or decide one of `filters`, with their alternatives.

        These are all that a change there can affect: what reads such a part also holds the set, and
        can decide the filter.
        """
        key = (sets, filters)
        reach = self._reaches.pop(key, None)
        if reach is None:
            held = self.holding(sets)
            if filters:
                held |= np.array([bool(decided & filters) for decided in self._decided])
            reach = self._reach(held)
            if len(self._reaches) >= _REACHES:
                del self._reaches[next(iter(self._reaches))]
        self._reaches[key] = reach  # the least recently used one stands first
        return reach

    @cached_property
    def everything(self) -> Reach:
        """All parts and alternatives."""
        return self._reach(np.ones(len(self.parts), dtype=np.bool_))

    def _reach(self, held: NDArray[np.bool_]) -> Reach:
        parts = np.flatnonzero(held)
        chosen = np.flatnonzero(held[self.union]) if len(self.union) else self.union
        union = self.union[chosen]
        sizes = np.array([self.parts[number].bit_count() for number in parts], dtype=np.intp)
        levels = []
        for size in sorted(set(sizes.tolist()) - {1}):
            level = parts[sizes == size]
            first = int(np.searchsorted(union, level[0]))
            last = int(np.searchsorted(union, level[-1], side="right"))
            levels.append(Level(level, first, last, np.searchsorted(union[first:last], level)))
        return Reach(
            parts=parts,
            leaves=parts[sizes == 1],
            alternatives=chosen,
            left=self.left[chosen],
            right=self.right[chosen],
            term=self.term[chosen],
            union=union,
            shares=self.shares[chosen],
            levels=tuple(levels),
            static=self.holds_static(parts),
        )

    def holds_static(self, parts: IntArray) -> bool:
        """Whether one of some parts (by number) is of static relations alone."""
        return any(self.parts[number] & ~self._static == 0 for number in parts)
