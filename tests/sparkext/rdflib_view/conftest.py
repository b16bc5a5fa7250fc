"""What rdflib says of literals that are none of their datatype is not of interest here."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True, scope="package")
def quiet_rdflib() -> None:
    """Hears errors only."""
    logging.getLogger("rdflib.term").setLevel(logging.ERROR)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Its warnings have come to be tests' warnings."""
    for item in items:
        if "rdflib_view" in item.nodeid:
            item.add_marker(pytest.mark.filterwarnings("ignore::UserWarning:rdflib"))
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib"))
