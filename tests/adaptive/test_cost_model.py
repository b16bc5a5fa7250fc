import math

import pytest

from adaptive.cost_model import CostModel, PaperCosts, index_look_up_cost, nested_loop_cost
from adaptive.errors import CostModelError
from adaptive.graph.plan import describe
from adaptive.graph.query_graph import (
    ColumnStatistics,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from adaptive.search.optimizer import optimize
from adaptive.statistics.catalogue import Catalogue

MODEL = CostModel()


def test_a_probe_gets_dearer_slowly_with_the_index():
    small, large, larger = (MODEL.index_join_cost(1_000, n, 0) for n in (100, 2e6, 2e7))
    assert small < large < larger < 1.5 * large


def test_building_costs_more_than_probing_what_is_there():
    assert MODEL.hash_join_cost(100, 5_000, 10) > MODEL.index_join_cost(100, 5_000, 10)
    assert MODEL.hash_join_cost(100, 5_000, 10) < MODEL.hash_join_cost(100, 50_000, 10)


@pytest.mark.parametrize("rows", [0.0, 0.5, 1.0, 1e300])
def test_costs_are_never_negative_or_nan(rows):
    for cost in (
        MODEL.scan_cost(rows),
        MODEL.index_join_cost(1, rows, rows),
        MODEL.hash_join_cost(1, rows, rows),
        MODEL.cross_join_cost(1, rows, rows),
        index_look_up_cost(1, rows),
    ):
        assert cost >= 0


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_constant_must_be_a_cost(value):
    with pytest.raises(CostModelError, match="'build_row'"):
        CostModel(build_row=value)


def test_the_functions_of_the_report():
    assert nested_loop_cost(3, 7) == 21
    assert index_look_up_cost(128, 64) == 768
    assert PaperCosts().index_join_cost(1, 1_024, 128) == 10
    assert PaperCosts().hash_join_cost(2, 5, 99) == 10


def test_the_index_of_a_window_where_little_changes_is_there_for_nothing():
    """A long window is probed as soon as its index need not be kept up for thousands of arrivals."""
    graph = QueryGraph(
        (
            Relation("now", ("x",), RelationKind.WINDOW),
            Relation("day", ("x", "y"), RelationKind.WINDOW),
        )
    )

    def day(changed):
        return RelationStatistics(100_000.0, {"x": ColumnStatistics(100_000.0)}, changed)

    now = RelationStatistics(50_000.0, {"x": ColumnStatistics(50_000.0)}, 0.0)
    for changed, order in ((None, "(day now)"), (20.0, "(now day)"), (200_000.0, "(day now)")):
        known = Catalogue({"now": now, "day": day(changed)})
        assert describe(optimize(graph, known).plan) == order
