"""An engine whose static graphs are changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine without data, whose plans change with the data only."""
    from sparkext import Engine

    spark.conf.set("spark.cqels.adaptive.enabled", "false")
    try:
        made = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.adaptive.enabled")
    yield made
    made.close()
