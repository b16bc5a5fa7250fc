"""The side of the protocol that runs inside a peer's process: it holds the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from bench.arrivals.rows import rows_at
from bench.data.world import World
from bench.peers.answers import fingerprint
from bench.peers.protocol import answer_requests, milliseconds_since


@dataclass(frozen=True)
class Answered:
    """The answers of a second; of the time that they took, evaluation and decoding alone, where that is known.

    `optimizer_ms`, a part of evaluation, went into statistics and the choice of a plan.
    """

    table: pa.Table
    evaluation_ms: float | None = None
    decode_ms: float | None = None
    optimizer_ms: float | None = None


class ArrivalPeer(Protocol):
    """What a peer implements. All windows are its own."""

    version: str

    def load(self, world: World, folder: Path) -> None:
        """Takes in the static data, once, before any query."""

    def begin(self, query: str) -> None:
        """Gets ready to answer q1, q2, q3 or q4 at every second from now on, of sightings yet to come."""

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Takes in the rows of a second (see `bench.arrivals.rows`), moves the windows and answers.

        The columns of the answers are those of the query's SELECT, strings of N-Triples text.
        """

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Takes in the rows of a second whose answers nobody asks for."""


def serve(make_peer: Callable[[], ArrivalPeer]) -> None:
    """Answers requests on standard input until it ends."""
    made: list[ArrivalPeer] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if not made:
            made.append(make_peer())
        return _answer(made[0], request)

    answer_requests(answer)


def _answer(peer: ArrivalPeer, request: dict[str, Any]) -> dict[str, Any]:
    if "load" in request:
        start = time.perf_counter()
        peer.load(World.load(Path(request["load"]["world"])), Path(request["load"]["folder"]))
        return {"load_s": round(time.perf_counter() - start, 3), "version": peer.version}
    if "begin" in request:
        peer.begin(request["begin"])
        return {}
    rows = rows_at(request["rows"], request["instant"])
    if not request["answer"]:
        peer.pass_by(rows, request["instant"])
        return {}
    start = time.perf_counter()
    answered = peer.take(rows, request["instant"])
    ms = milliseconds_since(start)
    if answered.evaluation_ms is None or answered.decode_ms is None:
        upkeep_ms = None
    else:
        upkeep_ms = ms - answered.evaluation_ms - answered.decode_ms
    return {
        "ms": ms,
        "evaluation_ms": answered.evaluation_ms,
        "upkeep_ms": upkeep_ms,
        "decode_ms": answered.decode_ms,
        "optimizer_ms": answered.optimizer_ms,
        "answers": answered.table.num_rows,
        "fingerprint": fingerprint(answered.table),
    }
