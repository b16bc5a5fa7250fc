"""One size from its making to its last answer, phase by phase, and its answers held against look-ups in NumPy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arrivals import ENCODED, numpy_peer
from bench.arrivals.rows import rows_at
from bench.large_static.loading import Loaded, load
from bench.large_static.making import Made, make
from bench.large_static.resident import drop_cached_pages
from bench.large_static.serving import Answers, Served, serve
from bench.peers import OURS
from bench.peers.alone import alone
from bench.peers.answers import fingerprint
from bench.peers.runs import PeerRuns
from bench.report import progress


@dataclass(frozen=True)
class Wanted:
    """What is to be done with each size; `anew`: a process for each query, and one that finds no page in memory."""

    queries: Sequence[str]
    rate: int
    seconds: int
    seed: int
    heap: str | None
    anew: bool
    keep_files: bool


@dataclass(frozen=True)
class Measured:
    """What became of one size; `served` is by query, and `compared` the number of answers that look-ups gave, too."""

    made: Made
    loaded: Loaded
    served: dict[str, Served]
    cold: Served | None
    compared: int

    def answers(self, query: str) -> Answers:
        """Those of a query."""
        return self.served[query].answers[query]


def measure(folder: Path, triples: int, wanted: Wanted) -> Measured:
    """All of one size, in a folder with room for it; raises AnswersDifferError where look-ups find something else."""
    progress(f"scale: making {triples:,} triples")
    made = alone(make, folder, triples, wanted.seed, wanted.rate, wanted.seconds)
    heap = wanted.heap or heap_of(made.scale)
    progress(f"scale: loading {made.triples:,} triples, Java heap of {heap}")
    loaded = alone(load, made, folder, heap, wanted.keep_files)

    def opened(queries: Sequence[str], seconds: Sequence[Path]) -> Served:
        progress(f"scale: {', '.join(queries)} over {made.triples:,} triples")
        return alone(serve, folder, made.scale, heap, queries, seconds, time.perf_counter())

    cold = None
    if wanted.anew:
        drop_cached_pages(folder / ENCODED)
        cold = opened(wanted.queries[:1], made.seconds[:1])
        served = {query: opened([query], made.seconds) for query in wanted.queries}
    else:
        served = dict.fromkeys(wanted.queries, opened(wanted.queries, made.seconds))
    compared = compare(made, served)
    return Measured(made, loaded, served, cold, compared)


def heap_of(scale: float) -> str:
    """The JVM's memory for a world: as other benches have it, but more of it for large worlds."""
    return f"{min(10, round(2 + scale * 0.6))}g"


def compare(made: Made, served: dict[str, Served]) -> int:
    """How many answers there were, of all queries and seconds; raises AnswersDifferError unless look-ups give them."""
    runs, count = PeerRuns(), 0
    look_ups = numpy_peer.Peer()
    look_ups.load(made.holders, made.localization.parent)
    for query, of_query in served.items():
        look_ups.begin(query)
        found = of_query.answers[query]
        for second, path in enumerate(made.seconds, 1):
            expected = look_ups.take(rows_at(path, second * 1000), second * 1000).table
            asked = f"{query}, {made.triples:,} triples, second {second}"
            runs.compare("numpy", asked, fingerprint(expected))
            runs.compare(OURS, asked, found.fingerprints[second - 1])
            count += expected.num_rows
    return count
