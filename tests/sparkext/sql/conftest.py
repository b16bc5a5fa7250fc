"""An engine of the module's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    """One engine for each module."""
    import sparkext
    from tests.sparkext.sql.tables import settings

    # On a busy machine Python may be asked for an order and get no time to answer.
    with settings(spark, {"spark.cqels.sql.planTimeout": "60s"}):
        made = sparkext.Engine(spark)
    yield made
    made.close()
