"""An engine of the module's own, and the session set for short plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from adaptive import SwitchPolicy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    """One engine for each module."""
    import sparkext

    made = sparkext.Engine(spark)
    # What tests put into views is too little to pay for another plan: here, preparing and switching are free.
    made.switch_policy = SwitchPolicy(prepare_cost=0.0, switch_cost=0.0, background=0.0)
    yield made
    made.close()
