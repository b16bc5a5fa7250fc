"""The constants of the cost model as this machine has them, measured once and remembered."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import os
import platform
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from adaptive import CostModel
from adaptive.errors import CostModelError
from sparkext import jar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.runtime.engine_room import EngineRoom

logger = logging.getLogger(__name__)

# Part of the file's name: what another way of measuring has found is not read.
METHOD = 2
# Enough rows that a run takes a millisecond or more.
STREAMED = 50_000
# So many that they do not find in the cache what the run before has left there.
SPREAD = 400_000
# An index that stays in the processor's nearest cache, one that stays in a cache, and one in memory.
SMALL_INDEX, MIDDLE_INDEX, LARGE_INDEX = 2_048, 32_768, 1_048_576
BUILT = 20_000
PAIRED = 1_000
RUNS = 20
JOBS = 5
# Operators measured alone are dearer in a pipeline, by factors that the defaults, taken from whole queries, contain:
# the machine may change the proportions of the defaults by this factor, and their scale at will.
TRUSTED_FACTOR = 1.5
# What memory beyond the cache costs differs more between machines, and is measured better: it is the largest part.
TRUSTED_OF_MEMORY = 4.0
# Costs of a row or a value that no plan alone shows.
UNMEASURED = ("window_index_row", "kept_cell")


def calibrated_costs(room: EngineRoom, folder: Path | None = None) -> CostModel:
    """The cost model of this machine: read from `folder` (the user's cache), measured and written there the first time.

    Measuring takes a few seconds. A folder that cannot be written is no error: costs are measured again next time.
    """
    place = (folder or jar.cache_folder()) / f"costs-{METHOD}-{_machine()}.json"
    known = _read(place)
    if known is None:
        logger.info("measuring what joins cost on this machine, a few seconds")
        known = measure(room)
        _write(place, known)
    return known


def measure(room: EngineRoom) -> CostModel:
    """Run small plans of one operator more each, and take the differences; one thread, the quicker runs count."""
    ratio = LARGE_INDEX // SMALL_INDEX
    # Keys of the streamed rows: all over the large index, in the small one, and in neither.
    spread = _content(room, SPREAD, 7919, 0, LARGE_INDEX)
    found = _content(room, STREAMED, 7919 * ratio, 0, LARGE_INDEX)
    missing = _content(room, STREAMED, 7919 * ratio, 1, LARGE_INDEX)
    large = _content(room, LARGE_INDEX, 1, 0, LARGE_INDEX)
    middle = _content(room, MIDDLE_INDEX, LARGE_INDEX // MIDDLE_INDEX, 0, LARGE_INDEX)
    medium = _content(room, SPREAD, 7919 * (LARGE_INDEX // MIDDLE_INDEX), 0, LARGE_INDEX)
    small = _content(room, SMALL_INDEX, ratio, 0, LARGE_INDEX)
    few, built, one = (_content(room, count, 1, 0, count) for count in (PAIRED, BUILT, 1))

    def rows(content: object, key: str, value: str) -> DataFrame:
        return room.frame(content, [key, value], 1000.0)

    def joined(left: object, right: DataFrame, *keys: str) -> DataFrame:
        # Nothing comes out, so that only the operators are timed; a filter on both sides stays above the join.
        probed = rows(left, "k", "v").join(F.broadcast(right), [*keys] or ["k"])
        return probed.where("v + w < -1" if "w" in right.columns else "v + k < -1")

    def timed(frame: DataFrame, label: str, runs: int = RUNS) -> float:
        plan = room.prepare(frame.select("v"), f"calibration: {label}")
        return float(plan.quickNanosOnDriver(runs)) / 1e3

    with room.one_thread():
        scan = timed(rows(spread, "k", "v").where("v < 0"), "scan") / SPREAD
        probe = timed(joined(missing, rows(small, "k", "w")), "probe") / STREAMED - scan
        pair_probe = (
            timed(joined(missing, rows(small, "k", "v"), "k", "v"), "probe by two") / STREAMED
            - scan
        )
        match = timed(joined(found, rows(small, "k", "w")), "match") / STREAMED - scan
        far = timed(joined(spread, rows(large, "k", "w")), "far", RUNS // 4) / SPREAD - scan
        near = timed(joined(medium, rows(middle, "k", "w")), "near", RUNS // 4) / SPREAD - scan
        build = timed(_built(joined, rows, one, built), "build")
        start = timed(_built(joined, rows, one, one), "build one")
        crossed = rows(few, "k", "v").crossJoin(F.broadcast(rows(few, "l", "w")))
        pairs = timed(crossed.where("v + w < -1"), "pairs") / PAIRED**2
        empty = room.prepare(rows(one, "k", "v").where("v < 0").select("v"), "calibration: job")
        job = float(empty.quickNanosAsJob(JOBS, room.spark.sparkContext.defaultParallelism)) / 1e3
    cached, doubling = _beyond_the_cache(match, near, far)
    output = max(0.0, match - probe)
    costs = {
        "scan_row": scan,
        # Joins by one variable and by two are about as frequent.
        "probe_row": (probe + pair_probe) / 2,
        "output_row": output,
        "probe_doubling": doubling,
        "build_row": (build - start) / BUILT - scan,
        "build_start": start,
        "pair": pairs,
    }
    return dataclasses.replace(CostModel(), **_trusted(costs), cached_rows=cached, job_start=job)


def _beyond_the_cache(small: float, middle: float, large: float) -> tuple[float, float]:
    """From a look-up in each index: the rows that stay in the cache, and what each doubling beyond them costs.

    >>> _beyond_the_cache(0.02, 0.02, 0.27)                  # the index in the middle is in the cache
    (32768.0, 0.05)
    >>> rows, doubling = _beyond_the_cache(0.02, 0.07, 0.32)  # it is a doubling too large for it
    >>> round(rows), round(doubling, 3)
    (16384, 0.05)
    """
    doubling = max(large - middle, 0.0) / math.log2(LARGE_INDEX / MIDDLE_INDEX)
    if doubling <= 0.0:
        return CostModel.cached_rows, 0.0
    too_large = max(0.0, middle - small) / doubling
    return max(CostModel.cached_rows, MIDDLE_INDEX / 2**too_large), doubling


def _built(
    joined: Callable[[object, DataFrame], DataFrame],
    rows: Callable[[object, str, str], DataFrame],
    one: object,
    content: object,
) -> DataFrame:
    # Computed columns are no index: the rows are built for each run.
    return joined(one, rows(content, "k", "w").selectExpr("k", "w + 1 as w"))


def _content(room: EngineRoom, rows: int, factor: int, offset: int, modulus: int) -> object:
    """Rows (i * factor + offset modulo `modulus`, i); live content, so that what is built of it is built each time."""
    return room.jvm.numbered("calibration", rows, factor, offset, modulus)


def _trusted(costs: Mapping[str, float]) -> dict[str, float]:
    """The defaults at the scale of the measured costs, each moved towards its own measurement as far as is trusted.

    The scale is the median, as a difference of two times may be next to nothing. Costs that are not measured have it,
    too: they are weighed against those that are.

    >>> costs = _trusted({"scan_row": CostModel.scan_row / 4, "pair": CostModel.pair})
    >>> round(costs["scan_row"] / CostModel.scan_row, 3), round(costs["pair"] / CostModel.pair, 3)
    (0.333, 0.75)
    >>> costs = _trusted({"scan_row": CostModel.scan_row, "pair": CostModel.pair, "output_row": 0.0})
    >>> [round(costs[name] / getattr(CostModel, name), 3) for name in ("scan_row", "output_row", "window_index_row")]
    [1.0, 0.667, 1.0]
    """
    ratios = {name: max(value, 1e-9) / getattr(CostModel, name) for name, value in costs.items()}
    scale = math.exp(statistics.median(map(math.log, ratios.values())))
    unmeasured = {name: getattr(CostModel, name) * scale for name in UNMEASURED}
    return unmeasured | {
        name: getattr(CostModel, name) * min(max(ratio, scale / trusted), scale * trusted)
        for name, ratio in ratios.items()
        for trusted in (TRUSTED_OF_MEMORY if name == "probe_doubling" else TRUSTED_FACTOR,)
    }


def _machine() -> str:
    """What the costs depend on: processor, cores, Spark and our own code."""
    version, digest = jar.expected_stamp()
    return f"{platform.machine()}-{os.cpu_count()}-{version}-{digest}"


def _read(place: Path) -> CostModel | None:
    try:
        return CostModel(**json.loads(place.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, CostModelError) as error:
        logger.warning("%s cannot be read (%s); costs are measured again", place, error)
        return None


def _write(place: Path, costs: CostModel) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(dataclasses.asdict(costs), indent=2), encoding="utf-8")
        draft.replace(place)
    except OSError as error:
        logger.warning("%s cannot be written (%s)", place, error)
