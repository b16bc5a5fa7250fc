"""The session's static relations in memory: tables of patterns and kept joins, each made once for all queries."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from sparkext.r2r.datasets import Dataset
from sparkext.r2r.leaves import StaticLeaf
from static_data.progress import progress_bar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.runtime.engine_room import EngineRoom

logger = logging.getLogger(__name__)


class StaticRelations:
    """Contents by what they hold, not by what a query calls them: equal patterns share rows and indexes.

    With `sharing` off, every request makes its own.
    """

    def __init__(self, room: EngineRoom, sharing: bool = True) -> None:
        self._room = room
        self._sharing = sharing
        self._contents: dict[object, Any] = {}
        self._measures: dict[object, int] = {}
        self._making = threading.RLock()  # plans are prepared in the background, too
        self.made = 0

    def table(self, dataset: Dataset, leaf: StaticLeaf) -> Any:
        """The rows of a static pattern."""
        key = dataset.key(leaf)
        name = " ".join("?" if c == 0 else "#" for c in key.constants)
        names = [f"c{place}" for place in range(len(key.columns))]

        def make() -> Any:
            return self._room.static_content(
                f"{name} {leaf.pattern.predicate.n3()}", dataset.rows(key, names)
            )

        return self._content(("table", key), make)

    def kept(self, key: object, name: str, make: Callable[[], DataFrame]) -> Any:
        """The rows of a static join or group, with their multiplicities counted."""

        def count() -> Any:
            frame = make()
            counted = frame.groupBy(*frame.columns).agg(F.count(F.lit(1)).alias("multiplicity"))
            with progress_bar(self._room.spark, f"pre-join {name}", None):
                return self._room.static_content(name, counted, counted=True)

        return self._content(("kept", key), count)

    def _content(self, key: object, make: Callable[[], Any]) -> Any:
        with self._making:
            if key in self._contents:
                return self._contents[key]
            content = make()
            self.made += 1
            logger.info("static relation %s: %d rows", content.name(), content.rowCount())
            if self._sharing:
                self._contents[key] = content
            return content

    def measured(self, key: object, measure: Callable[[], int]) -> int:
        """A number that tells of the static data, found once and kept until they change."""
        with self._making:
            if key not in self._measures:
                self._measures[key] = measure()
            return self._measures[key]

    def memory_bytes(self) -> int:
        """Bytes of all relations and their indexes."""
        return sum(int(content.memoryBytes()) for content in self._contents.values())

    def __len__(self) -> int:
        return len(self._contents)

    def clear(self) -> None:
        """Forget everything: the static data have changed, queries are compiled anew."""
        self._contents.clear()
        self._measures.clear()
