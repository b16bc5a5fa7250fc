"""What tests of engines begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine without data."""
    from sparkext import Engine

    with closing(Engine(spark)) as made:
        yield made
