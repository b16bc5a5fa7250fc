"""The engine of this project, from rows to answers by its own calls alone: a push, a promise, the answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.arrivals import ENCODED
from bench.arrivals.serving import Answered, serve
from bench.data.rdf_files import QUERIES
from bench.data.vocabulary import LOC, LOCALIZATION_GRAPH, STREAM
from bench.data.world import World
from bench.peers.spark_stock import launch_settings
from sparkext.runtime.registered_query import RegisteredQuery
from static_data.terms import Iri

_AT = f"{LOC}at"


class Peer:
    """The query is registered before the first row comes. Static data are saved in the folder, for the next process."""

    version = sparkext.__version__
    settings: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        self._query: RegisteredQuery | None = None

    def load(self, world: World, folder: Path) -> None:
        """Starts the session and loads the RDF files, or what an earlier process made of them."""
        self.open(start_session(world.scale, self.settings), folder)

    def open(self, spark: SparkSession, folder: Path) -> None:
        """Loads the static data into an engine of this session."""
        self._engine = sparkext.Engine(spark)
        if (folder / ENCODED).exists():
            self._engine.open_static(folder / ENCODED, progress=False)
        else:
            self._engine.load_static(sorted(folder.glob("dblp-*.nt.gz")), progress=False)
            self._engine.load_static(
                folder / "localization.ttl", graph=LOCALIZATION_GRAPH, progress=False
            )
            self._engine.save_static(folder / ENCODED)
        self._stream = self._engine.register_stream(STREAM)

    def close(self) -> None:
        """Ends the engine, not the session."""
        self._engine.close()

    def begin(self, query: str) -> None:
        """Registers the query in place of the one before."""
        if self._query is not None:
            self._query.stop()
        text = (QUERIES / f"{query}.rspql").read_text(encoding="utf-8")
        registered = self._engine.register_query(text)
        assert isinstance(registered, RegisteredQuery)
        self._query = registered

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Pushes the rows, and promises that there are no others of their time."""
        assert self._query is not None, "begin first"
        progress = self._query.progress
        ran, decoded = progress.run_seconds, progress.decode_seconds
        chosen = progress.optimizer_seconds
        push_rows(self._stream, rows)
        self._stream.advance_to(instant)
        answers = self._query.last_answers
        assert answers is not None
        assert answers.time == instant
        return Answered(
            answers.table,
            (progress.run_seconds - ran) * 1000,
            (progress.decode_seconds - decoded) * 1000,
            (progress.optimizer_seconds - chosen) * 1000,
        )

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Does the same: a registered query is answered."""
        self.take(rows, instant)


def start_session(scale: float, settings: Mapping[str, str]) -> SparkSession:
    """A session with the extension, launched as all Spark peers are at this size of the world, with other settings."""
    builder = sparkext.configure(SparkSession.builder)
    for key, value in {**launch_settings(scale), **settings}.items():
        builder = builder.config(key, value)
    return builder.config("spark.log.level", "ERROR").getOrCreate()


def push_rows(stream: Any, rows: pa.Table) -> None:
    """Push sightings as a table."""
    stream.push_table(rows, subject="person", predicate=Iri(_AT), object="room")


if __name__ == "__main__":
    serve(Peer)
