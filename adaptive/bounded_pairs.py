"""The pairs of parts to compare in a query too large for all of them: few, chosen by its shape.

Relations that share variables with few others stand close together: what one window brings, and the
static data about it. Such blocks are joined in every order inside, and with each other in every
order; but beside complete blocks, a part holds pieces of one block at most. So a query of four
windows with five relations each has some hundred parts, not tens of thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from adaptive.query_graph import QueryGraph, bits

# More relations than this are no block: it has up to 2 ** n parts.
_LARGEST_BLOCK = 6

# So many of the largest parts that may be kept joined are grown from.
_MOST_KEPT = 4

# Parts up to which pairs are looked for among them.
MOST_PARTS = 1_500


def blocks(links: Iterable[int], within: int) -> tuple[int, ...]:
    """The blocks of a set of relations; `links` are the sets that share a variable.

    >>> windows = [0b000011, 0b110000]      # two relations of each of two windows share a reading,
    >>> blocks([*windows, 0b000110, 0b011000, 0b1111110], 0b1111111)   # one of them a sensor
    (7, 56, 64)
    """
    found = [1 << position for position in bits(within)]
    for link in sorted(
        {link & within for link in links}, key=lambda link: (link.bit_count(), link)
    ):
        touched = [block for block in found if block & link]
        merged = sum(touched)
        if len(touched) > 1 and merged.bit_count() <= _LARGEST_BLOCK:
            found = [block for block in found if not block & link] + [merged]
    return tuple(sorted(found))


@lru_cache(maxsize=64)
def bounded_parts(
    adjacency: tuple[int, ...],
    links: frozenset[int],
    within: int,
    kept: frozenset[int] = frozenset(),
) -> frozenset[int] | None:
    """The parts of a connected set of relations to be compared; None where there are too many.

    `kept` are the parts that may be kept joined; the largest also count as blocks, of which the
    others bring what is left.
    """
    known = blocks(links, within)
    parts = {1 << position for position in bits(within)}
    _grow(parts, sorted(parts), adjacency, known, within)
    inside = sorted(mask for mask in kept if mask & ~within == 0)
    largest = [
        mask
        for mask in inside
        if not any(mask & ~block == 0 for block in known)
        and not any(mask != other and mask & ~other == 0 for other in inside)
    ]
    for mask in largest[:_MOST_KEPT]:
        parts.add(mask)
        around = [mask, *(block & ~mask for block in known if block & ~mask)]
        _grow(parts, [mask], adjacency, around, within)
    return frozenset(parts) if within in parts and len(parts) <= MOST_PARTS else None


def bounded_pairs(
    graph: QueryGraph, budget: int, kept: Iterable[int], more: Iterable[int]
) -> list[tuple[int, int]] | None:
    """Pairs of connected parts, inputs before their users; None where there are too many as well.

    `more` are parts to have besides, such as those of a known plan. Where there is no room, what may
    be `kept` is no block.
    """
    adjacency, links = tuple(graph.adjacency), frozenset(graph.members.values())
    extra = frozenset(more)
    for blocked in (frozenset(kept), frozenset[int]()):
        found = [bounded_parts(adjacency, links, part, blocked) for part in graph.components()]
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            continue
        pairs = pairs_among(adjacency, extra.union(*parts), budget)
        if pairs is not None:
            return list(pairs)
    return None


def _near(adjacency: tuple[int, ...], mask: int) -> int:
    near = 0
    for position in bits(mask):
        near |= adjacency[position]
    return near & ~mask


def _grow(
    parts: set[int],
    waiting: list[int],
    adjacency: tuple[int, ...],
    known: Sequence[int],
    within: int,
) -> None:
    """Add what some parts grow to by one relation after the other, in pieces of one block at most.

    Stops when there are too many.
    """
    while waiting:
        mask = waiting.pop()
        for position in bits(_near(adjacency, mask) & within):
            union = mask | 1 << position
            if union in parts:
                continue
            if sum(1 for block in known if union & block not in (0, block)) <= 1:
                parts.add(union)
                waiting.append(union)
        if len(parts) > MOST_PARTS:
            return


@lru_cache(maxsize=32)
def pairs_among(
    adjacency: tuple[int, ...], parts: frozenset[int], budget: int
) -> tuple[tuple[int, int], ...] | None:
    """All disjoint neighbours among some parts whose union is one of them; None beyond the budget."""
    if len(parts) > MOST_PARTS:
        return None
    ordered = sorted(parts)
    masks = np.array(ordered, dtype=np.int64)
    nears = np.array([_near(adjacency, mask) for mask in ordered], dtype=np.int64)
    lowest = masks & -masks
    pairs: list[tuple[int, int]] = []
    for place, mask in enumerate(ordered):
        # The first of a pair holds the lowest position of the two.
        chosen = (masks & mask == 0) & (nears & mask != 0) & (lowest > lowest[place])
        others = masks[chosen]
        unions = others | mask
        at = np.minimum(np.searchsorted(masks, unions), len(masks) - 1)
        pairs += [(mask, other) for other in others[masks[at] == unions].tolist()]
        if len(pairs) > budget:
            return None
    pairs.sort(key=lambda pair: ((pair[0] | pair[1]).bit_count(), pair))
    return tuple(pairs)
