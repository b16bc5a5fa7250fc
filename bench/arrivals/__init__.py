"""The engines of the benches arrival and cqels, each run in a process of its own.

A peer is a module with a class `Peer` (see `bench.arrivals.serving.ArrivalPeer`) and is started as `python -m
bench.arrivals.MODULE`. It reads one JSON object a line and answers each with one:

    {"load": {"folder": F, "world": W}}               -> {"load_s": 3.1, "version": "2.0.0"}
    {"begin": "q2"}                                   -> {}
    {"rows": R, "instant": 1000, "answer": true}      -> {"ms": 7.2, "evaluation_ms": 3.0, "upkeep_ms": 4.0,
                                                          "decode_ms": 0.2, "optimizer_ms": 0.1, "answers": 4363,
                                                          "fingerprint": "4363-9a"}

F is a folder that `python -m bench.data dblp` wrote, W the same world as integers (`bench.data.World.load`). `begin`
is a query over windows that are empty. R is an Arrow file of the sightings of the second that ends at the instant
(milliseconds), with the columns of `bench.arrivals.rows`; it is read before the clock starts. `ms` is the time from
there to the answers as an Arrow table; its parts are null where the peer does not tell them. With "answer": false the
windows take in the rows and move, and the answer is {}.

A peer of another project is a command that does the same (`python -m bench arrival --peer NAME=COMMAND`). It need not
know our fingerprint: with "file": PATH in its place, and no "answers", the answers are read from there, from an Arrow
file or, where it ends in .tsv, a line of names and lines of N-Triples texts, with tabs between them.
"""

from __future__ import annotations

from bench.peers import OURS, PeerModule

PEERS = {
    OURS: PeerModule("bench.arrivals.engine_peer", ("sparkext", "pyspark")),
    "duckdb": PeerModule("bench.arrivals.duckdb_peer", ("duckdb",)),
    "oxigraph": PeerModule("bench.arrivals.oxigraph_peer", ("pyoxigraph",)),
    "spark": PeerModule("bench.arrivals.spark_peer", ("pyspark",)),
    "numpy": PeerModule("bench.arrivals.numpy_peer", ("numpy",)),
    "rdflib": PeerModule("bench.arrivals.rdflib_peer", ("rdflib",)),
    "bytewax": PeerModule("bench.arrivals.bytewax_peer", ("bytewax",)),
}
PREPROCESSING = "preprocessing"
SYSTEM_X = "systemx"
# The implementations of Figure 5 of the CQELS report.
FIGURE_5 = {
    OURS: PEERS[OURS],
    PREPROCESSING: PeerModule("bench.arrivals.preprocessing_peer", ("sparkext", "pyspark")),
    SYSTEM_X: PeerModule("bench.arrivals.systemx_peer", ("pyspark",)),
}
# What runs in a JVM is warm after a minute: these start anew for every query and rate.
STARTED_ANEW = (OURS, "spark", PREPROCESSING, SYSTEM_X)
# The folder, beside the world's files, of what the engine has made of them.
ENCODED = "encoded"
