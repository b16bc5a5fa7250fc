"""What an engine's processes hold: heap, resident memory, code, dictionary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

_MIB = 1 << 20


@dataclass(frozen=True)
class Held:
    """Mebibytes of the heap after a collection, of Java and of Python in memory, and of compiled code; terms."""

    heap: float
    java: float
    python: float
    code: float
    terms: int


def held(spark: SparkSession, engine: Engine) -> Held:
    """What is held now; it collects the garbage first."""
    jvm: Any = spark.sparkContext._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    for _ in range(2):
        jvm.java.lang.System.gc()
    used = (runtime.totalMemory() - runtime.freeMemory()) / _MIB
    factory = jvm.java.lang.management.ManagementFactory
    pools = factory.getMemoryPoolMXBeans()
    code = sum(pool.getUsage().getUsed() for pool in pools if "Code" in pool.getName()) / _MIB
    process = int(factory.getRuntimeMXBean().getName().split("@")[0])
    terms = int(engine.store.dictionary.streamSize())
    return Held(used, _resident(process), _resident("self"), code, terms)


def _resident(process: int | str) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")
