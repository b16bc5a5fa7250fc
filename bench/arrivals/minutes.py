"""Minutes of a stream, answered second by second from the first one on, by one peer after the other."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrivals import STARTED_ANEW
from bench.peers import OURS, PeerModule
from bench.peers.answers import fingerprint, table_of
from bench.peers.process import PeerError, PeerProcess
from bench.peers.runs import PeerRuns
from bench.report import progress

# Between the streams of two queries, so that no window reaches from one into the other.
_PAUSE_MS = 600_000
# A peer may spend so much of its budget at once: the first answers take longest.
_AT_ONCE = 0.25
PARTS = ("evaluation_ms", "upkeep_ms", "decode_ms", "optimizer_ms")


@dataclass
class Measured:
    """What one peer needed for one query at one rate, in milliseconds, a value for each second that it answered."""

    ms: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})
    answers: list[int] = field(default_factory=list)

    def note(self, answer: dict[str, Any]) -> None:
        """Add a second, as the peer told it."""
        self.ms.append(answer["ms"])
        self.answers.append(answer["answers"])
        for part, values in self.parts.items():
            if answer[part] is not None:
                values.append(answer[part])

    @property
    def first(self) -> float | None:
        """What the first answer took."""
        return round(self.ms[0], 3) if self.ms else None

    def percentile(self, percent: float) -> float | None:
        """A percentile of all seconds answered."""
        return _percentile(self.ms, percent)

    def optimizer_share(self) -> float | None:
        """Time in statistics and the choice of plans over the rest of all evaluations' time."""
        choosing = sum(self.parts["optimizer_ms"])
        rest = sum(self.parts["evaluation_ms"]) - choosing
        return round(choosing / rest, 5) if rest else None

    def median_of(self, part: str) -> float | None:
        """The median of one of PARTS."""
        return _percentile(self.parts[part], 50)


def _with_answers(answer: dict[str, Any]) -> dict[str, Any]:
    """What a peer has answered; of one that has written its answers into a file, with how many there are and which."""
    if "file" not in answer:
        return answer
    table = table_of(answer["file"])
    found = {"answers": table.num_rows, "fingerprint": fingerprint(table)}
    return {**dict.fromkeys(PARTS), **answer, **found}


def _percentile(values: list[float], percent: float) -> float | None:
    return round(float(np.percentile(values, percent)), 3) if values else None


@dataclass(kw_only=True)
class Minutes(PeerRuns):
    """The measurements so far. `peers` are those there may be, `seconds` the files of each second's rows, by rate.

    A peer that would spend more than `budget_s` on a query at a rate answers fewer seconds, the first one and others
    spread over the whole, but `least` of them whatever they take; at the rest its windows only move.
    """

    peers: Mapping[str, PeerModule]
    seconds: dict[int, list[Path]]
    budget_s: float
    limit_s: float
    least: int = 1
    paced: bool = False
    """Whether each second's rows are given when a second has passed, and not at once when those before are answered."""
    measured: dict[tuple[str, int, str], Measured] = field(
        default_factory=lambda: defaultdict(Measured)
    )
    _instant: int = 0

    def run_all(
        self, names: Sequence[str], queries: Sequence[str], folder: Path, scale: float, anew: bool
    ) -> None:
        """All minutes of a query and rate follow each other; `anew`: what runs in a JVM is started for each."""
        going_on = list(names)
        with ExitStack() as stack:
            lasting: dict[str, PeerProcess] = {}

            def run_one(name: str, query: str, rate: int) -> None:
                module, command = self.peers[name].module, self.peers[name].command
                if anew and (name in STARTED_ANEW or command):
                    with PeerProcess(name, module, command) as peer:
                        if self.load(peer, folder, scale):
                            self.run(peer, query, rate)
                        else:
                            going_on.remove(name)
                    return
                if name not in lasting:
                    peer = stack.enter_context(PeerProcess(name, module, command))
                    if not self.load(peer, folder, scale):
                        going_on.remove(name)
                        return
                    lasting[name] = peer
                self.run(lasting[name], query, rate)

            for query in queries:
                for rate in self.seconds:
                    for name in list(going_on):
                        progress(f"  {query} at {rate:,} sightings a second: {name}")
                        try:
                            run_one(name, query, rate)
                        except PeerError as error:
                            self.left_out(name, error)
                            going_on.remove(name)

    def run(self, peer: PeerProcess, query: str, rate: int) -> None:
        """Have a peer answer a query over the stream of this rate; raises PeerError."""
        peer.ask({"begin": query}, self.limit_s)
        self._instant += _PAUSE_MS
        measured = self.measured[query, rate, peer.name]
        paths = self.seconds[rate]
        began = time.monotonic()
        sure = {len(paths) * number // self.least for number in range(self.least)}
        for second, path in enumerate(paths):
            if self.paced:
                time.sleep(max(0.0, began + second - time.monotonic()))
            self._instant += 1000
            allowed_s = self.budget_s * max(second / len(paths), _AT_ONCE)
            answers = second in sure or sum(measured.ms) / 1000 <= allowed_s
            request = {"rows": str(path), "instant": self._instant, "answer": answers}
            answer = peer.ask(request, self.limit_s)
            if answers:
                answer = _with_answers(answer)
                asked = f"{query} at rate {rate}, second {second}"
                self.compare(peer.name, asked, answer["fingerprint"])
                measured.note(answer)

    def row(self, query: str, rate: int, scale: float) -> dict[str, Any]:
        """One line of the result."""
        by_peer = {name: self.measured[query, rate, name] for name in self.peers}
        ours = by_peer[OURS]
        row: dict[str, Any] = {
            "query": query,
            "scale": scale,
            "rate": rate,
            "p50_ms": ours.percentile(50),
            "p95_ms": ours.percentile(95),
            "first_answer_ms": ours.first,
            **{part: ours.median_of(part) for part in PARTS},
            "optimizer_share": ours.optimizer_share(),
        }
        for name, measured in by_peer.items():
            if name != OURS:
                row[f"{name}_p50_ms"] = measured.percentile(50)
                row[f"{name}_p95_ms"] = measured.percentile(95)
                row[f"{name}_first_answer_ms"] = measured.first
        counts = max((measured.answers for measured in by_peer.values()), key=len)
        row["answers"] = round(float(np.median(counts))) if counts else None
        return row

    def details(self, of: Callable[[Measured], Any]) -> dict[str, dict[str, Any]]:
        """Something of each peer that answered, by query and rate."""
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        for (query, rate, name), measured in self.measured.items():
            if measured.ms:
                found[name][f"{query}@{rate}"] = of(measured)
        return dict(found)
