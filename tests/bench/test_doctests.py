"""The examples in the docstrings of the bench."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "bench.batch_streams",
        "bench.data.annotated",
        "bench.data.ehealth",
        "bench.data.linked_events",
        "bench.data.rdf_files",
        "bench.data.reification",
        "bench.data.text_columns",
        "bench.data.tunnel",
        "bench.data.tunnel_files",
        "bench.data.vocabulary",
        "bench.answers",
        "bench.drifting",
        "bench.duckdb_relations",
        "bench.fixed_orders",
        "bench.flipping_filters",
        "bench.integer_relations",
        "bench.operator_order",
        "bench.placement",
        "bench.placement_cells",
        "bench.placement_drift",
        "bench.report",
        "bench.uncertain_engine",
    ],
)
def test_examples_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
