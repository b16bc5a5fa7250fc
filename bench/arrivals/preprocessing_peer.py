"""The engine of this project without its optimizer: static parts pre-joined, patterns joined as written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bench.arrivals import engine_peer
from bench.arrivals.serving import serve


class Peer(engine_peer.Peer):
    """Pre-processing only, as in Figure 5 of the CQELS report: encoding, indexes and pre-joins stay.

    What the optimizer adds is the order of joins, its choice of what to pre-join, and following the streams.
    """

    settings: ClassVar[Mapping[str, str]] = {"spark.cqels.adaptive.enabled": "false"}


if __name__ == "__main__":
    serve(Peer)
