"""A progress bar on standard error for whatever Spark jobs a block of code runs."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from tqdm import tqdm

_POLL_SECONDS = 0.2


@contextmanager
def progress_bar(spark: SparkSession, title: str, show: bool | None) -> Iterator[None]:
    """Show the finished tasks of the jobs that the block starts in this thread.

    `show` None means: only when standard error is a terminal.
    """
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield
        return
    context = spark.sparkContext
    tag = f"cqels-{uuid.uuid4()}"
    finished = threading.Event()
    context.addJobTag(tag)
    with tqdm(desc=title, unit=" tasks", file=sys.stderr, leave=True) as bar:
        watcher = threading.Thread(target=_watch, args=(spark, tag, bar, finished), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()
            context.removeJobTag(tag)


@contextmanager
def rows_bar(title: str, total: int | None, show: bool | None) -> Iterator[Callable[[int], None]]:
    """Show how many of `total` rows have been taken (None: not known); gives what is called with how many more.

    `show` as `progress_bar` has it.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda rows: None
        return
    with tqdm(desc=title, total=total, unit=" rows", unit_scale=True, file=sys.stderr) as bar:
        yield lambda rows: bar.update(rows) and None


def _watch(spark: SparkSession, tag: str, bar: tqdm, finished: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    jobs_of_tag = spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag
    while True:
        last_round = finished.is_set()
        done = total = 0
        for job in jobs_of_tag(tag):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info is not None else ():
                state = tracker.getStageInfo(stage)
                if state is not None:
                    done += state.numCompletedTasks
                    total += state.numTasks
        bar.total = total
        bar.n = done
        bar.refresh()
        if last_round:
            return
        finished.wait(_POLL_SECONDS)
