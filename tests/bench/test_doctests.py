"""The examples in the docstrings of the bench."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "bench.join_orders.batch_streams",
        "bench.data.annotated",
        "bench.data.ehealth",
        "bench.data.linked_events",
        "bench.data.rdf_files",
        "bench.data.reification",
        "bench.data.text_columns",
        "bench.data.tunnel",
        "bench.data.tunnel_files",
        "bench.data.vocabulary",
        "bench.peers.alone",
        "bench.peers.answers",
        "bench.arrivals.rows",
        "bench.join_orders.drifting",
        "bench.join_orders.duckdb_relations",
        "bench.join_orders.fixed_orders",
        "bench.join_orders.flipping_filters",
        "bench.join_orders.integer_relations",
        "bench.join_orders.operator_order",
        "bench.placement",
        "bench.uncertainty.placement_cells",
        "bench.uncertainty.placement_drift",
        "bench.arrival",
        "bench.report.drawings",
        "bench.report.page",
        "bench.report.results",
        "bench.semantics",
        "bench.uncertainty.uncertain_engine",
    ],
)
def test_examples_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
