"""The rounds of the CQELS bench: contents of the windows, answered by all running peers in turn, and what they took."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers import OURS, PEERS
from bench.peers.process import PeerError, PeerProcess
from bench.peers.runs import PeerRuns
from bench.report import progress


@dataclass
class Measured:
    """What one peer needed for one query at one rate."""

    ms: list[float] = field(default_factory=list)
    window_ms: list[float] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    optimizer_ms: list[float] = field(default_factory=list)
    variant: str = ""
    spent_s: float = 0.0
    note: str = ""

    def median(self, times: list[float]) -> float | None:
        """The median of some times, None when there are none."""
        return round(float(np.median(times)), 3) if times else None

    def optimizer_share(self) -> float | None:
        """Time in statistics and the choice of plans over the rest of all evaluations' time."""
        optimizing = sum(self.optimizer_ms)
        return round(optimizing / (sum(self.ms) - optimizing), 5) if self.ms else None

    def p95(self) -> float | None:
        """The 95th percentile of the evaluation times."""
        return round(float(np.percentile(self.ms, 95)), 3) if self.ms else None


Key = tuple[str, int, str]


@dataclass(kw_only=True)
class Rounds(PeerRuns):
    """The measurements so far."""

    contents: dict[int, list[Path]]
    warm_ups: int
    budget_s: float
    limit_s: float
    measured: dict[Key, Measured] = field(default_factory=lambda: defaultdict(Measured))

    def evaluate(self, peers: dict[str, PeerProcess], queries: list[str]) -> None:
        """All queries, rates and contents, each content by the running peers in turn."""
        # A query's rates follow each other: what a peer has made for the query alone serves them all.
        for query in queries:
            for rate, paths in self.contents.items():
                progress(f"  {query} at {rate:,} sightings a second: {', '.join(peers)}")
                for index, path in enumerate(paths):
                    for name in list(peers):
                        try:
                            self._evaluate_one(peers[name], query, rate, index, path)
                        except PeerError as error:
                            self.left_out(name, error)
                            self.measured[query, rate, name].note = str(error)
                            del peers[name]

    def _evaluate_one(
        self, peer: PeerProcess, query: str, rate: int, index: int, path: Path
    ) -> None:
        measured = self.measured[query, rate, peer.name]
        if measured.ms and measured.spent_s > self.budget_s:
            return
        # What takes very long has to do with one warm-up, and is measured at least once.
        warm_up = index < self.warm_ups
        if warm_up and index > 0 and measured.spent_s > self.budget_s / 2:
            return
        request = {"query": query, "content": str(path), "warm_up": warm_up}
        answer = peer.ask(request, self.limit_s)
        measured.spent_s += (answer["ms"] + answer["window_ms"]) / 1000
        asked = f"{query} at rate {rate}, evaluation {index}"
        self.compare(peer.name, asked, answer["fingerprint"])
        if not warm_up:
            measured.ms.append(answer["ms"])
            measured.window_ms.append(answer["window_ms"])
            measured.answers.append(answer["answers"])
            measured.optimizer_ms.append(answer["optimizer_ms"])
            measured.variant = answer["variant"]

    def row(self, query: str, rate: int, scale: float) -> dict[str, Any]:
        """One line of the result."""
        by_peer = {name: self.measured[query, rate, name] for name in PEERS}
        ours = by_peer[OURS]
        row: dict[str, Any] = {
            "query": query,
            "scale": scale,
            "rate": rate,
            "p50_ms": ours.median(ours.ms),
            "p95_ms": ours.p95(),
            "optimizer_share": ours.optimizer_share(),
            "window_ms": ours.median(ours.window_ms),
        }
        for name, measured in by_peer.items():
            if name != OURS:
                row[f"{name}_p50_ms"] = measured.median(measured.ms)
                row[f"{name}_p95_ms"] = measured.p95()
                row[f"{name}_window_ms"] = measured.median(measured.window_ms)
        counts = max((measured.answers for measured in by_peer.values()), key=len)
        row["answers"] = round(float(np.median(counts))) if counts else None
        return row

    def details(self, queries: list[str]) -> dict[str, Any]:
        """How many evaluations each peer did, and which variant of its own it used."""
        return {
            name: {
                f"{query}@{rate}": {"evaluations": len(m.ms), "variant": m.variant, "note": m.note}
                for rate in self.contents
                for query in queries
                if (m := self.measured[query, rate, name]).ms or m.note
            }
            for name in PEERS
        }
