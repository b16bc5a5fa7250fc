"""Where filters and binds have gone from one plan to the next, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from adaptive.plan import Join, PlanNode, Prejoined, describe, leaf_name, walk


def moves(old: PlanNode, new: PlanNode, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each item that two plans of a query apply at different places.

    `kinds` says of the items to look at whether they are a "filter" or a "bind". The joins of each
    plan are numbered in the order in which they are made. Where all places are the same, items that
    are applied there in another order are told.

    >>> from adaptive.plan import Scan
    >>> def plan(*filters, scan=()):
    ...     return Join(Scan("a", scan), Scan("b"), ("x",), "index", filters)
    >>> moves(plan("f", "g"), plan("g", scan=("f",)), {"f": "filter", "g": "filter"})
    ('filter f from after join 1 to scan a',)
    >>> moves(plan("f", "g"), plan("g", "f"), {"f": "filter", "g": "filter"})
    ('g, f after join 1, not f, g',)
    """
    before, after = _places(old), _places(new)
    found = []
    for name, kind in kinds.items():
        here, there = _named(name, before), _named(name, after)
        where = [frozenset(node for node, _ in place) for place in (here, there)]
        if where[0] != where[1] and here and there:
            found.append(f"{kind} {name} from {_text(here)} to {_text(there)}")
    if found or describe(old) != describe(new):
        return tuple(found)
    for node, (text, names) in after.items():
        orders = [tuple(n for n in each if n in kinds) for each in (before[node][1], names)]
        if orders[0] != orders[1]:
            found.append(f"{', '.join(orders[1])} {text}, not {', '.join(orders[0])}")
    return tuple(found)


_Places = dict[frozenset[str], tuple[str, tuple[str, ...]]]


def _places(plan: PlanNode) -> _Places:
    """Relations of a node -> what it is called, and what it applies."""
    places: _Places = {}
    joins = 0
    for node in walk(plan):
        if isinstance(node, Join):
            joins += 1
            text = f"after join {joins}"
        else:
            text = f"{'pre-joined' if isinstance(node, Prejoined) else 'scan'} {leaf_name(node)}"
        places[node.relations] = (text, node.filters)
    return places


def _named(name: str, places: _Places) -> list[tuple[frozenset[str], str]]:
    return [(node, text) for node, (text, names) in places.items() if name in names]


def _text(places: Iterable[tuple[frozenset[str], str]]) -> str:
    return " and ".join(text for _, text in places)
