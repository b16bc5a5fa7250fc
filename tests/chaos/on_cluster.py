"""As `tests.chaos.program`, evaluated by executors that are killed: ``python -m tests.chaos.on_cluster``."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from random import Random

from tests.chaos.program import main, session
from tests.sparkext.execution.mapped_on_cluster import executors


class Killing:
    """Kills an executor before some of the elements, so many times in all."""

    def __init__(self, kills: int, elements: int, seed: int) -> None:
        self.times = set(Random(seed).sample(range(elements // 10, elements), kills))
        self.killed = 0

    def __call__(self, number: int) -> None:
        if number in self.times:
            end = time.monotonic() + 60
            while not (there := executors()) and time.monotonic() < end:
                time.sleep(0.1)  # the last one is not yet back
            if there:
                os.kill(there[0], signal.SIGKILL)
                self.killed += 1


if __name__ == "__main__":
    folder, elements, kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    spark = session(
        "local-cluster[2,1,1024]",
        spark_executor_memory="512m",
        spark_cqels_driverExecution_enabled="false",
    )
    killing = Killing(kills, elements, 3)
    main(spark, folder, elements, 0.0, True, killing)
    assert killing.killed >= kills * 0.9, f"{killing.killed} of {kills}"
