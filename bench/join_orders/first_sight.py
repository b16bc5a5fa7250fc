"""The engine from the first evaluation after registration on, with nothing beside it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from adaptive import PlanNode
from bench.join_orders.batch_streams import BatchStream
from bench.join_orders.operator_order import order_taken
from bench.join_orders.replay import OPERATOR, Replay
from bench.peers.answers import fingerprint


@dataclass(frozen=True)
class Seen:
    """What the engine made of one batch: milliseconds, the order that it took, and its answers."""

    phase: int
    ms: float
    optimizer_ms: float
    order: PlanNode
    fingerprint: str
    answers: int


def at_first_sight(
    spark: SparkSession, stream: BatchStream, static: Path, paced: bool
) -> list[Seen]:
    """All batches of a stream through an engine that has seen nothing before; `paced`: one a second."""
    evaluations, orders = [], []
    with Replay(spark, stream, static, OPERATOR) as replay:
        begun = time.monotonic() + 1.0
        for batch, phase in enumerate(stream.phases):
            evaluations.append(replay.show(phase, batch, begun + batch if paced else 0.0))
            orders.append(order_taken(replay.query))
    return [
        Seen(
            phase,
            done.ms,
            done.optimizer_ms,
            order,
            fingerprint(done.answers),  # takes time, and is put off
            done.answers.num_rows,
        )
        for phase, done, order in zip(stream.phases, evaluations, orders, strict=True)
    ]
