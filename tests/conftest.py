"""Fixtures that all tests share: one Spark session, the folder of shared test material."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent

# For the Java of the tests and of the programs that they start. Most code runs a few times: what the second compiler
# makes of it never pays. Without it Java reserves a fifth of the room for code, which thousands of tests fill: it
# compiles no more then, and exits in the end.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

# No test is about time: what a busy machine takes for an example must not fail one.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


# Where tests start programs, brokers, browsers and Sparks of their own, and wait for them.
WITH_PROGRAMS = (
    "tests/test_versions.py",
    "tests/chaos",
    "tests/examples",
    "tests/sparkext/sources",
    "tests/sparkext/command_line",
    "tests/notebooks",
    "tests/static_data/loading",
    "tests/page",
    "tests/bench",
    "tests/sparkext/kept_sides",
    "tests/sparkext/serving",
    "tests/sparkext/sinks",
    "tests/sparkext/session",
    "tests/sparkext/engine_room/test_plain_session.py",
    "tests/metamorphic",
)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where tests run side by side, many programs will be started."""
    if getattr(session.config.option, "numprocesses", None):  # not in the processes themselves
        from tests import first_start

        first_start.begin()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits most: at the end, nothing would be left to do beside it."""

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(ROOT).as_posix()
        first = (n for n, start in enumerate(WITH_PROGRAMS) if name.startswith(start))
        return next(first, len(WITH_PROGRAMS))

    items.sort(key=place)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of the test run, on two local cores, with the extension in it."""
    # Imported here, so that runs of pure tests start without Spark.
    from pyspark.sql import SparkSession

    import sparkext

    warehouse = tmp_path_factory.mktemp("warehouse")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        # PySpark would tell Java with each column which line made it, in seven calls.
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(warehouse))
        # A run of tests has other classes than programs have, and nothing to start again.
        .config("spark.cqels.classArchive", "false")
    )
    session = sparkext.configure(builder).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def own_session_is_active() -> None:
    """`createDataFrame` leaves its session active; some tests make one, and others must not have its settings."""
    sql = sys.modules.get("pyspark.sql")
    own = None if sql is None else sql.SparkSession._instantiatedSession
    if own is not None and sql.SparkSession._activeSession is not own:  # type: ignore[union-attr]
        sql.SparkSession._activeSession = own  # type: ignore[union-attr]
        own._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(own._jsparkSession)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material beside the checkout; the test is skipped without it."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder
