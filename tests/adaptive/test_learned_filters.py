"""What was learned of filters and binds before a query is compiled anew."""

from adaptive.expensive_calls import CallPrice, FilterStatistics
from adaptive.filter_observation import FilterCounts, FilterEstimator
from adaptive.plan_follower import PlanFollower
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import JoinFilter, QueryGraph, Relation
from adaptive.statistics import Catalogue
from tests.adaptive.query_graphs import WINDOW, statistics

LOW = JoinFilter("low", frozenset({"value"}), price=CallPrice(20.0), uncertain=True)
GRAPH = QueryGraph(
    (
        Relation("events", ("event", "link", "value"), WINDOW),
        Relation("others", ("link", "more"), WINDOW),
    ),
    (LOW,),
)
CONTENT = {
    "events": statistics(5_000.0, event=5_000.0, link=5_000.0, value=5_000.0),
    "others": statistics(5_000.0, link=5_000.0, more=5_000.0),
}


def follower(learned, content=CONTENT):
    return PlanFollower(GRAPH, Catalogue(content), None, PrejoinPolicy(False), learned=learned)


def statistics_of(follower):
    return follower._catalogue.filter("low")


def test_another_follower_goes_on_from_there():
    learned = {"low": FilterEstimator()}
    first = follower(learned)
    assert statistics_of(first) == FilterStatistics()
    for _ in range(20):
        first.executed((), 0.01, {"low": FilterCounts(1_000, 100, 1_000, 0, 50_000_000)})
    known = statistics_of(first)
    assert known.selectivity is not None
    assert abs(known.selectivity - 0.1) < 0.02
    second = follower(learned)
    assert statistics_of(second) == known
    assert second.cache.cost != follower(None).cache.cost
    # One evaluation that is far off is noise to it, as it would have been before.
    second.executed((), 0.01, {"low": FilterCounts(1_000, 900, 1_000, 0, 50_000_000)})
    assert statistics_of(second).selectivity == known.selectivity
    fresh = follower({"low": FilterEstimator()})
    fresh.executed((), 0.01, {"low": FilterCounts(1_000, 900, 1_000, 0, 50_000_000)})
    assert statistics_of(fresh).selectivity == 0.9


def test_others_have_estimators_of_their_own():
    known = FilterEstimator()
    known.observe(FilterCounts(1_000, 100, 1_000))
    assert statistics_of(follower({"another": known})) == FilterStatistics()
