"""How a query went: its evaluations with the orders that they ran in, and each change of an order with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkext.runtime.explaining.order_history import in_one_line

if TYPE_CHECKING:
    from sparkext.runtime.explaining.order_history import Switch
    from sparkext.runtime.query_registration import Registered

MOST_EVALUATIONS = 600
MOST_SWITCHES = 200


def story(query: Registered) -> dict[str, Any]:
    """The newest evaluations as [instant, milliseconds, number of its orders], these orders, and the newest switches.

    A switch in which only filters or BINDs stand elsewhere is a `filter move`, any other a `plan switch`; `moved` are
    the filters that another set of relations stands before than did.
    """
    evaluated = query.timeline[-MOST_EVALUATIONS:]
    numbers: dict[tuple[str, ...], int] = {}
    points = [
        [one.time, round(one.seconds * 1e3, 4), numbers.setdefault(one.orders, len(numbers))]
        for one in evaluated
    ]
    switches = query.history()
    return {
        "query": query.name,
        "evaluations": points,
        "orders": [" ; ".join(orders) for orders in numbers],
        "count": len(switches),
        "switches": [_told(switch) for switch in switches[-MOST_SWITCHES:]],
    }


def _told(switch: Switch) -> dict[str, Any]:
    moved = moved_filters(switch.old, switch.new)
    return {
        "time": int(switch.time),
        "kind": "filter move" if only_filters(switch.old, switch.new) else "plan switch",
        "moved": moved,
        "old": in_one_line(switch.old),
        "new": in_one_line(switch.new),
        "cost_before_us": round(switch.cost_before, 3),
        "cost_after_us": round(switch.cost_after, 3),
        "cause": switch.cause,
    }


_JOINING = re.compile(r"(\?\w+(, \?\w+)* )?from |there is ")


def _filters(order: Sequence[str]) -> list[str]:
    """The steps of an order that are filters or BINDs, and join nothing; the first is where it begins."""
    return [step for step in order[1:] if not _JOINING.match(step)]


def only_filters(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether two orders join the same in the same order.

    >>> only_filters(("a", "?v > 3", "?x from b"), ("a", "?x from b", "?v > 3"))
    True
    >>> only_filters(("a", "?x from b"), ("b", "?x from a"))
    False
    """
    return _joins(old) == _joins(new)


def moved_filters(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The filters before which other steps stand in the new order than in the old one.

    >>> moved_filters(("a", "?v > 3", "?x from b"), ("a", "?x from b", "?v > 3"))
    ['?v > 3']
    """
    before, after = _places(old), _places(new)
    return [step for step in after if step in before and before[step] != after[step]]


def _joins(order: Sequence[str]) -> list[str]:
    filters = _filters(order)
    return [step for step in order if step not in filters]


def _places(order: Sequence[str]) -> dict[str, frozenset[str]]:
    return {step: frozenset(_joins(order[: order.index(step)])) for step in _filters(order)}
