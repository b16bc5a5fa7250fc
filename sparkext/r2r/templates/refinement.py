"""One numbering of a graph's nodes, whatever the order in which these are given: colour refinement, and a choice
where it leaves nodes alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

Edge = tuple[Hashable, tuple[int, ...]]
"""What stands there, and the nodes that it is about, in the order of their places."""

Colours = list[int]

# So many choices are compared; after them any is taken.
_MOST_CHOICES = 200


def numbering(
    kinds: Sequence[int], edges: Sequence[Edge], rank: Callable[[int], object]
) -> tuple[Colours, tuple[tuple[int, ...], ...]]:
    """A number for each node, from its kind and from the edges that it is in; and the groups of nodes that could be
    exchanged with each other.

    Graphs that differ in the order of nodes and edges only have the same numbers. Of nodes that are alike, the one
    of the smallest `rank` comes first.

    >>> numbering([0, 0, 1], [("p", (2, 0)), ("q", (2, 1))], rank=lambda node: 0)
    ([0, 1, 2], ())
    >>> numbering([0, 0, 1], [("p", (2, 0)), ("p", (2, 1))], rank=lambda node: -node)
    ([1, 0, 2], ((1, 0),))
    """
    labels = {label: n for n, label in enumerate(sorted({e[0] for e in edges}, key=repr))}
    graph = _Graph([(labels[label], nodes) for label, nodes in edges])
    colours = graph.refined(list(kinds))
    exchangeable = []
    choices = 0
    while (alike := _first_alike(colours, kinds)) is not None:
        members = sorted(alike, key=rank)  # type: ignore[arg-type]
        if graph.are_twins(members):
            exchangeable.append(tuple(members))
            colours = graph.refined(_apart(colours, members))
            continue
        candidates = members if choices < _MOST_CHOICES else members[:1]
        choices += len(candidates)
        made = [graph.refined(_apart(colours, (chosen,))) for chosen in candidates]
        colours = min(made, key=graph.seen)
    return colours, tuple(exchangeable)


def _first_alike(colours: Colours, kinds: Sequence[int]) -> list[int] | None:
    """The nodes of one colour, where several have it: those of the lowest kind and colour."""
    counts = Counter(colours)
    several = [n for n, colour in enumerate(colours) if counts[colour] > 1]
    if not several:
        return None
    first = min((kinds[n], colours[n]) for n in several)
    return [n for n in several if (kinds[n], colours[n]) == first]


def _apart(colours: Colours, first: Sequence[int]) -> Colours:
    """Nodes of one colour with colours of their own, before those that they were alike with."""
    step = len(first) + 1
    made = [step * colour + len(first) for colour in colours]
    for place, node in enumerate(first):
        made[node] = step * colours[node] + place
    return made


class _Graph:
    def __init__(self, edges: list[tuple[int, tuple[int, ...]]]) -> None:
        self._edges = edges

    def refined(self, colours: Colours) -> Colours:
        """Colours that tell apart what these do, and nodes whose neighbours differ in theirs."""
        known = len(set(colours))
        while True:
            stands: list[list[tuple[int, int, tuple[int, ...]]]] = [[] for _ in colours]
            for label, nodes in self._edges:
                seen = tuple(colours[node] for node in nodes)
                for place, node in enumerate(nodes):
                    stands[node].append((label, place, seen))
            keys = [(c, tuple(sorted(at))) for c, at in zip(colours, stands, strict=True)]
            ranks = {key: place for place, key in enumerate(sorted(set(keys)))}
            colours = [ranks[key] for key in keys]
            if len(ranks) == known:
                return colours
            known = len(ranks)

    def seen(self, colours: Colours) -> list[tuple[int, tuple[int, ...]]]:
        """The graph with colours in place of nodes."""
        return sorted((label, tuple(colours[n] for n in nodes)) for label, nodes in self._edges)

    def are_twins(self, nodes: Sequence[int]) -> bool:
        """Whether the nodes stand at the same places of the same edges, each beside the same others."""

        def stands(node: int) -> Counter[tuple[int, tuple[int, ...]]]:
            return Counter(
                (label, tuple(-1 if n == node else n for n in seen))
                for label, seen in self._edges
                if node in seen
            )

        first = stands(nodes[0])
        return all(stands(node) == first for node in nodes[1:])
