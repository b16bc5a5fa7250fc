"""The process in which cases run: `python -m tests.fuzz.child JSON`, as `running` starts it."""

from __future__ import annotations

import faulthandler
import json
import logging
import sys

from tests.fuzz.outcomes import Target
from tests.fuzz.running import Reporter, run_here
from tests.fuzz.targets import JVM, PYTHON


def target_of(name: str) -> Target:
    """A target, with a Spark session of its own where it needs one."""
    if name in PYTHON:
        return PYTHON[name]()
    from pyspark.sql import SparkSession

    import sparkext

    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.cqels.classArchive", "false")
    )
    return JVM[name](sparkext.configure(builder).getOrCreate())


def main() -> None:
    """Run the cases that the argument asks for."""
    faulthandler.enable()
    logging.disable(logging.ERROR)
    name, seed, first, until, skip, place, report = json.loads(sys.argv[1])
    target = target_of(name)
    reporter = Reporter(place, report)
    found = run_here(target, seed, first, until, skip, reporter.note)
    reporter.tell(until, found)


if __name__ == "__main__":
    main()
