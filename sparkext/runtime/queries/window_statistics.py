"""What the windows of a query hold now, by pattern and variable, counted when somebody asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sparkext.r2r.clusters.cluster_choice import ClusterChoice
from sparkext.r2r.leaves.delta_patterns import TimedPattern
from sparkext.r2r.leaves.leaf import Leaf, MergedLeaf, WindowLeaf

_SHOWN = 5


def window_statistics(
    choices: Sequence[ClusterChoice],
    content: Callable[[WindowLeaf | MergedLeaf], Any],
    text: Callable[[int], str],
) -> list[dict[str, Any]]:
    """Of each window's pattern and join variable: card, different values, and the most frequent ones.

    `content` gives the JVM's rows of a pattern, `text` the term of an id; `selectivity` is card(x=c)/card (CQELS
    report, section 5).
    """
    shown = []
    for search in [choice.search for choice in choices if choice.search is not None]:
        for name, leaf in search.leaves.items():
            if not _is_window(leaf):
                continue
            assert isinstance(leaf, WindowLeaf | MergedLeaf)
            rows = content(leaf)
            rows = rows.windowRows() if isinstance(leaf, MergedLeaf) else rows
            card = int(rows.rowCount())
            for place, variable in enumerate(leaf.variables):
                if search.graph.members.get(variable.name, 0).bit_count() < 2:
                    continue
                distinct, top = json.loads(rows.describe(place, _SHOWN))
                shown.append(
                    {
                        "relation": name,
                        "card": card,
                        "variable": variable.name,
                        "distinct": distinct,
                        "top": [
                            {
                                "value": text(term),
                                "card": n,
                                "selectivity": n / card if card else 0.0,
                            }
                            for term, n in top
                        ],
                    }
                )
    return shown


def _is_window(leaf: Leaf) -> bool:
    if isinstance(leaf, WindowLeaf):
        return not isinstance(leaf.pattern, TimedPattern)
    return isinstance(leaf, MergedLeaf)
