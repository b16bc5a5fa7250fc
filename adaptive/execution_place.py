"""Where a plan runs sooner: on the threads of the driver, or as a job on all task slots."""

from __future__ import annotations

from adaptive.errors import CostModelError


def runs_sooner_on_driver(
    cost: float, driver_threads: int, task_slots: int, job_start: float
) -> bool:
    """Whether work of `cost` microseconds on one thread ends sooner on the driver than as a job.

    A job pays `job_start` (planning, shipping, scheduling, collecting) before its slots share the
    work. Raises CostModelError when there is no thread or no slot.

    Before, with two threads here and two slots there, nothing is gained by a job; with sixteen
    slots, a second of work is worth one:

    >>> runs_sooner_on_driver(1e6, 2, 2, 15_000.0), runs_sooner_on_driver(1e6, 2, 16, 15_000.0)
    (True, False)
    """
    if driver_threads < 1 or task_slots < 1:
        raise CostModelError(f"{driver_threads} threads and {task_slots} slots run nothing")
    return cost / driver_threads <= job_start + cost / task_slots
