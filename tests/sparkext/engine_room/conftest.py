"""The engine room of a test module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.sparkext.engine_room.live_room import LiveRoom


@pytest.fixture(scope="module")
def live(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRoom]:
    """An engine room of its own for each module."""
    from tests.sparkext.engine_room.live_room import LiveRoom

    room = LiveRoom(spark, tmp_path_factory.mktemp("answers"))
    yield room
    room.close()
