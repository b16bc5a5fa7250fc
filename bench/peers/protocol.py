"""The side of the protocol that runs inside a peer's process."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from bench.answers import fingerprint
from bench.data.world import World
from bench.windows import WindowContent


@dataclass(frozen=True)
class Evaluation:
    """One evaluation: its answers, what it took, and which variant of the engine's own was used.

    `optimizer_ms`, a part of `ms`, went into statistics and the choice of a plan.
    """

    answers: pa.Table
    ms: float
    window_ms: float
    variant: str = ""
    optimizer_ms: float = 0.0


class Engine(Protocol):
    """What a peer implements."""

    version: str

    def load(self, world: World, folder: Path) -> None:
        """Takes in the static data, once, before any evaluation."""

    def evaluate(self, query: str, content: WindowContent, warm_up: bool) -> Evaluation:
        """Answers q1, q2, q3 or q4 over this content; `warm_up` marks evaluations not counted.

        The columns of the answers are those of the query's SELECT, in that order: names and other
        literals by their lexical form, people as IRIs without brackets. Instants of successive
        contents of one query rise by a second; another query or rate starts anew anywhere.
        """


@dataclass
class FastestVariant:
    """Picks, per query, the variant with the lowest median of its warm-up times."""

    variants: dict[str, list[str]]
    _times: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)

    def to_run(self, query: str, warm_up: bool) -> list[str]:
        """The variants to run now: all while warming up, then only the fastest."""
        names = self.variants[query]
        if warm_up:
            if query in self._settled:  # another rate begins: earlier times say nothing about it
                self._settled.discard(query)
                self._times = {key: t for key, t in self._times.items() if key[0] != query}
            return names
        self._settled.add(query)
        return [min(names, key=lambda name: self._median(query, name))]

    def note(self, query: str, variant: str, ms: float) -> None:
        """Records a warm-up time."""
        self._times.setdefault((query, variant), []).append(ms)

    def _median(self, query: str, variant: str) -> float:
        times = self._times.get((query, variant))
        return float(np.median(times)) if times else float("inf")


def milliseconds_since(start: float) -> float:
    """Milliseconds since an earlier `time.perf_counter()`."""
    return (time.perf_counter() - start) * 1000


def _answer(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    if "load" in request:
        start = time.perf_counter()
        engine.load(World.load(Path(request["load"]["world"])), Path(request["load"]["folder"]))
        return {"load_s": round(time.perf_counter() - start, 3), "version": engine.version}
    content = WindowContent.load(request["content"])
    done = engine.evaluate(request["query"], content, bool(request.get("warm_up")))
    return {
        "ms": done.ms,
        "window_ms": done.window_ms,
        "answers": done.answers.num_rows,
        "fingerprint": fingerprint(done.answers),
        "variant": done.variant,
        "optimizer_ms": done.optimizer_ms,
    }


def serve(make_engine: Callable[[], Engine]) -> None:
    """Answers the requests of the CQELS bench on standard input until it ends."""
    made: list[Engine] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if not made:
            made.append(make_engine())
        return _answer(made[0], request)

    answer_requests(answer)


def answer_requests(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answers requests on standard input, one JSON object a line, until it ends; failures are answers too."""
    # Engines print (Spark's launcher does): keep the pipe for answers, send the rest to stderr.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answered = answer(json.loads(line))
        except Exception as error:  # the parent decides what a failure means
            traceback.print_exc()
            answered = {"error": str(error), "kind": type(error).__name__}
        pipe.write(json.dumps(answered) + "\n")
        pipe.flush()
