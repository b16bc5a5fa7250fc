from adaptive.query_graph import ColumnStatistics, RelationStatistics
from adaptive.statistics import OperatorCounts
from adaptive.switch_cause import cause, snapshot
from tests.adaptive.query_graphs import catalogue_of, chain, statistics


def changed_by(change):
    graph = chain(3)
    catalogue = catalogue_of(graph)
    before = snapshot(graph, catalogue)
    change(catalogue)
    return cause(before, snapshot(graph, catalogue))


def test_the_cause_is_the_statistic_that_changed_most():
    assert changed_by(lambda c: None) == "no statistic changed"
    assert changed_by(lambda c: c.observe("r1", 4_000)) == "rows of r1: 1,000 -> 4,000"
    assert (
        changed_by(lambda c: c.update("r2", statistics(1_000, v2=2, v3=100)))
        == "values of v2 in r2: 100 -> 2"
    )
    frequent = RelationStatistics(
        1_000, {"v2": ColumnStatistics(100, ((7, 800),)), "v3": ColumnStatistics(100)}
    )
    assert changed_by(lambda c: c.update("r2", frequent)) == "most frequent v2 in r2: 0 -> 800 rows"
    counts = OperatorCounts(frozenset({"r0", "r1"}), 999.0, 49_999.0)
    assert (
        changed_by(lambda c: c.fold([counts])) == "counted over estimated rows of r0 x r1: 1 -> 50"
    )
