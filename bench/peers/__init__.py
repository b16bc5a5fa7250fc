"""The engines of the CQELS bench, each run in a process of its own.

A peer is a module with a class `Peer` (see `bench.peers.protocol.Engine`) and is started as
`python -m bench.peers.MODULE`. It reads one JSON object a line and answers each with one:

    {"load": {"folder": F, "world": W, "scale": 1}}   -> {"load_s": 3.1, "version": "2.0.0"}
    {"query": "q2", "content": C, "warm_up": false}   -> {"ms": 7.2, "window_ms": 1.1,
                                                          "answers": 4363, "fingerprint": "4363-9a",
                                                          "variant": "pairs, registered",
                                                          "optimizer_ms": 0.0}

F is a folder that `python -m bench.data dblp` wrote, W the same world as integers
(`bench.data.World.load`), C the content of the windows (`bench.windows.WindowContent.load`).
`ms` is the time from "window content known" to "answers decoded as an Arrow table"; `window_ms` is
the time the engine took before that to learn the content. A failure is answered with
{"error": message, "kind": class}. The end of its input ends a peer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class PeerModule:
    """Where a peer is, what must be installed for it, and the memory in GiB it wants.

    The memory is `base_gib + scale_gib * scale`, an estimate for the worlds of `bench.data`.
    """

    module: str
    requires: tuple[str, ...]
    base_gib: float
    scale_gib: float

    def installed(self) -> bool:
        """Whether all packages the peer needs can be imported."""
        return all(find_spec(name) is not None for name in self.requires)

    def memory_gib(self, scale: float) -> float:
        """Memory the peer wants at this scale."""
        return self.base_gib + self.scale_gib * scale


OURS = "cqels"
PREPROCESSING = "preprocessing"
SYSTEM_X = "systemx"
PEERS = {
    OURS: PeerModule("bench.peers.cqels_peer", ("sparkext", "pyspark"), 2.0, 0.8),
    PREPROCESSING: PeerModule("bench.peers.preprocessing_peer", ("sparkext", "pyspark"), 2.0, 0.8),
    SYSTEM_X: PeerModule("bench.peers.systemx_peer", ("pyspark",), 2.5, 4.0),
    "spark": PeerModule("bench.peers.spark_stock", ("pyspark",), 2.0, 0.8),
    "duckdb": PeerModule("bench.peers.duckdb_peer", ("duckdb",), 0.3, 0.4),
    "oxigraph": PeerModule("bench.peers.oxigraph_peer", ("pyoxigraph",), 0.3, 1.1),
}
