"""The JVM side of Spark SQL over live views, as one engine has it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pyspark.java_gateway import ensure_callback_server_started

from sparkext.errors import LiveViewError
from sparkext.s2r.time_horizon import TimeHorizon
from sparkext.sql.join_orders import JoinOrderAdvisor
from static_data.jvm import extension

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.config import Settings
    from sparkext.runtime.parts.engine_lock import EngineLock


class Droppable(Protocol):
    """What can be taken out of the session."""

    def drop(self) -> None:
        """Take it out."""


class SqlRoom:
    """Makes live views and prepared queries; `lock` orders what moves views and what runs over them."""

    def __init__(
        self,
        spark: SparkSession,
        scratch: str,
        settings: Settings,
        lock: EngineLock,
        adaptive: bool,
        threads: int = 1,
    ) -> None:
        self.adaptive = adaptive
        self.spark = spark
        self.lock = lock
        self.settings = settings
        self._scratch = Path(scratch)
        self._numbers = itertools.count()
        self.horizon = TimeHorizon(settings.max_ahead)
        self.views: dict[str, Droppable] = {}  # of the session's catalogue, which ignores case
        self.closed = False
        on_driver = settings.driver_execution_enabled
        self.jvm = extension(spark).sql.SqlRoom.apply(
            spark._jsparkSession,
            scratch,
            settings.enabled,
            settings.sql_max_static_rows,
            settings.sql_plan_timeout,
            settings.driver_execution_max_rows if on_driver else -1,
            threads,
        )
        # Rows of a list keep their values; Spark alone cannot tell them from what a function makes at each reading.
        self.jvm.learnListed(spark.createDataFrame([(0,)], "example INT")._jdf)
        if settings.enabled and adaptive:
            ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
            self.jvm.setAdvisor(JoinOrderAdvisor())

    def time_zone(self) -> str:
        """The session's time zone now."""
        return self.spark.conf.get("spark.sql.session.timeZone") or "UTC"

    def file(self) -> Path:
        """A new file for a batch on its way into the JVM."""
        return self._scratch / f"sql-batch-{next(self._numbers)}"

    def check_open(self) -> None:
        """Raise LiveViewError when the engine has been closed."""
        if self.closed:
            raise LiveViewError("the engine has been closed")

    def close(self) -> None:
        """Ask nobody for join orders any more."""
        self.closed = True
        self.jvm.setAdvisor(None)
