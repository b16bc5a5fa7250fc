"""The engine of this project, under the same protocol as the peers it is compared with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.data.rdf_files import QUERIES
from bench.data.vocabulary import LOC, LOCALIZATION_GRAPH, PERSON, ROOM, STREAM
from bench.data.world import World
from bench.peers.protocol import Evaluation, milliseconds_since, serve
from bench.peers.spark_stock import launch_settings
from bench.windows import RANGE_SECONDS, WindowContent
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.registered_query import RegisteredQuery
from static_data.terms import XSD_INTEGER, Iri, Literal, parse_term

_AT = f"<{LOC}at>"
# Beyond every window of the element before.
_JUMP = 10 * RANGE_SECONDS * 1000


class Peer:
    """Loads the RDF files and is fed the sightings second by second, one query registered at a time.

    Contents of one query follow each other, so only what is new arrives; where they do not, the window is filled anew
    at a later time of the peer's own clock. `ms` runs from the windows' having moved to the answers' being a table;
    pushing, encoding and moving the windows is `window_ms`.
    """

    version = sparkext.__version__
    settings: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        self._clock = 0
        self._content_time: int | None = None
        self._name = ""
        self._query: RegisteredQuery | None = None

    def load(self, world: World, folder: Path) -> None:
        """Starts the session and loads the files."""
        builder = sparkext.configure(SparkSession.builder)
        for key, value in {**launch_settings(world.scale), **self.settings}.items():
            builder = builder.config(key, value)
        spark = builder.config("spark.log.level", "ERROR").getOrCreate()
        self._engine = sparkext.Engine(spark)
        self._engine.load_static(sorted(folder.glob("dblp-*.nt.gz")))
        self._engine.load_static(folder / "localization.ttl", graph=LOCALIZATION_GRAPH)
        self._stream = self._engine.register_stream(STREAM)

    def _register(self, name: str) -> RegisteredQuery:
        if self._query is None or self._name != name:
            if self._query is not None:
                self._query.stop()
            self._query = self._engine.register_query((QUERIES / f"{name}.rspql").read_text())
            self._name, self._content_time = name, None
        return self._query

    def evaluate(self, query: str, content: WindowContent, warm_up: bool) -> Evaluation:
        """Pushes what the content adds to the one before and takes the answers of its instant."""
        registered = self._register(query)
        if self._content_time is None or content.time != self._content_time + 1:
            self._clock += _JUMP
            for second in np.unique(content.w30_time[content.w30_time < content.time]):
                seen = content.w30_time == second
                instant = self._clock + int(second - content.time) * 1000
                self._push(content.w30_person[seen], content.w30_room[seen], instant)
        else:
            self._clock += 1000
        self._content_time = content.time
        before = registered.progress
        spent, windows, optimizing = (
            before.seconds,
            before.window_seconds,
            before.optimizer_seconds,
        )
        start = time.perf_counter()
        self._push(content.now_person, content.now_room, self._clock)
        self._stream.advance_to(self._clock)
        elapsed = milliseconds_since(start)
        answers = registered.last_answers
        assert answers is not None
        assert answers.time == self._clock
        moved = (registered.progress.window_seconds - windows) * 1000
        ms = (registered.progress.seconds - spent) * 1000 - moved
        optimizer_ms = (registered.progress.optimizer_seconds - optimizing) * 1000
        return Evaluation(_plain(answers.table), ms, elapsed - ms, optimizer_ms=optimizer_ms)

    def _push(self, persons: np.ndarray, rooms: np.ndarray, instant: int) -> None:
        self._stream.push_elements(
            [
                StreamElement(instant, None, (f"<{PERSON}{p}> {_AT} <{ROOM}{r}> .",))
                for p, r in zip(persons.tolist(), rooms.tolist(), strict=True)
            ]
        )


def _plain(table: pa.Table) -> pa.Table:
    """Terms as their plain values, as the other peers answer; not part of the time."""
    columns = []
    for column in table.columns:
        values = {text: _value(text) for text in column.unique().to_pylist()}
        columns.append(pa.array([values[text] for text in column.to_pylist()]))
    return pa.Table.from_arrays(columns, names=table.column_names)


def _value(text: str) -> str | int:
    term = parse_term(text)
    if isinstance(term, Literal):
        return int(term.lexical) if term.datatype == XSD_INTEGER else term.lexical
    return term.value if isinstance(term, Iri) else text


if __name__ == "__main__":
    serve(Peer)
