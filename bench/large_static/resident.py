"""What processes hold in memory, as Linux counts it, and which files it holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Resident:
    """MiB of one or more processes: now, at most so far, and the part of now that is pages of mapped files."""

    now_mib: float
    peak_mib: float
    mapped_mib: float

    @staticmethod
    def of(*others: int) -> Resident:
        """This process and others, by their ids."""
        now = peak = mapped = 0
        for pid in (os.getpid(), *others):
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
            of_process = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            now += _kib(of_process["VmRSS"])
            peak += _kib(of_process["VmHWM"])
            mapped += _kib(of_process["RssFile"])
        return Resident(now / 1024, peak / 1024, mapped / 1024)


def _kib(value: str) -> int:
    return int(value.split()[0])


def java_process(spark: SparkSession) -> int:
    """The id of the session's JVM."""
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def java_heap_mib(spark: SparkSession) -> float:
    """What the Java heap holds after a collection."""
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def files_below(folder: Path) -> list[Path]:
    """All files in a folder and the folders in it."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def drop_cached_pages(folder: Path) -> None:
    """Have the operating system read the files from the disk when they are asked for next."""
    for path in files_below(folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # pages not yet written would stay
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
