"""The join clusters of a query whose order may follow the streams, and what is measured for that."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adaptive import FilterEstimator, PlanFollower
from sparkext.errors import StoppedQueryError
from sparkext.language.expressions import Expression
from sparkext.r2r.cluster_plans import ClusterChoice
from sparkext.runtime.cluster_watch import ClusterWatch, WatchedContents

if TYPE_CHECKING:
    from sparkext.engine import Engine

logger = logging.getLogger(__name__)

Learned = MutableMapping[tuple[int, Expression], FilterEstimator]
"""What calls of a query have cost and kept, by cluster and condition: it outlives the plans."""


@dataclass(frozen=True)
class FollowedCluster:
    """A join cluster whose order may change; `place` is its number among the query's clusters.

    `priced` are the conditions that are placed by cost, by the names of their filters.
    """

    place: int
    follower: PlanFollower
    watch: ClusterWatch
    priced: Mapping[str, Expression] = field(default_factory=dict)


def followed_clusters(
    engine: Engine,
    choices: Sequence[ClusterChoice],
    contents: WatchedContents,
    learned: Learned,
) -> list[FollowedCluster]:
    """Those of a query's clusters in which there is something to measure."""
    settings = engine.settings
    clusters = []
    for place, choice in enumerate(choices):
        if choice.search is None:
            continue
        measures = engine.room.statistics(
            settings.statistics_sample_rows,
            settings.statistics_exact_values,
            settings.statistics_drift,
        )
        watch = ClusterWatch(choice.search, contents, measures)
        if not watch.worthwhile:
            continue
        follower = PlanFollower(
            choice.search.graph,
            choice.search.catalogue,
            engine.costs,
            engine.prejoin_policy,
            engine.switch_policy,
            settings.plan_cache_size,
            choice.plan,
            placement=engine.uncertain.filters,
            learned={
                called: learned.setdefault((place, condition), FilterEstimator())
                for called, condition in choice.search.priced.items()
            },
            rehearses=True,
            ahead=True,
            alone=len(choices) == 1,
        )
        clusters.append(FollowedCluster(place, follower, watch, choice.search.priced))
    return clusters


def watch_static(watch: ClusterWatch, name: str) -> None:
    """Have static neighbours sampled; without them, decisions rest on the catalogue alone.

    `name` is that of the query, for what is logged.
    """
    try:
        watch.watch_static()
    except StoppedQueryError:
        logger.debug("%s: stopped before it was sampled", name)
    except Exception:
        logger.exception("%s: static relations cannot be sampled", name)
