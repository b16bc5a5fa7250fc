"""The engine of this project, under the same protocol as the peers it is compared with."""

from __future__ import annotations

from pathlib import Path

from bench.data.world import World
from bench.peers.protocol import Evaluation, serve
from bench.windows import WindowContent


class Peer:
    """Loads the RDF files, registers Q1-Q4, and is fed the sightings second by second.

    `load`: start a session with `spark_stock.launch_settings`, `load_static` the folder's
    dblp-*.nt.gz and localization.ttl, register the texts of `bench.data.rdf_files.QUERIES`.

    `evaluate`: contents of one query follow each other second by second, so only
    (now_person, now_room) arrive; when `content.time` is not the last time plus one, start with
    (w30_person, w30_room) at the times w30_time. As another query or rate may begin at an earlier
    second, keep a clock of your own that only rises (add more than 30 s at each such jump).
    `window_ms` is pushing and expiring, `ms` is evaluating and decoding to an Arrow table.
    """

    version = ""

    def load(self, world: World, folder: Path) -> None:
        """Not there yet."""
        raise NotImplementedError("the engine's peer is not written yet")

    def evaluate(self, query: str, content: WindowContent, warm_up: bool) -> Evaluation:
        """Not there yet."""
        raise NotImplementedError("the engine's peer is not written yet")


if __name__ == "__main__":
    serve(Peer)
