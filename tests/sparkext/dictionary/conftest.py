"""What tests of the dictionary begin with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


@pytest.fixture(scope="module")
def cqels(spark: Any) -> Any:
    return spark._jvm.org.apache.spark.sql.cqels


@pytest.fixture(scope="module")
def longs(spark: Any) -> Any:
    def array(values: Iterable[int]) -> Any:
        listed = list(values)
        made = spark._sc._gateway.new_array(spark._jvm.long, len(listed))
        for place, value in enumerate(listed):
            made[place] = value
        return made

    return array


@pytest.fixture
def dictionary(cqels: Any) -> Any:
    return cqels.dictionary.Dictionary()
