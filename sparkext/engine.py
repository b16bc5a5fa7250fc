"""The engine: static data, streams and continuous queries of one Spark session."""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from sparkext.argument_checks import check
from sparkext.config import Settings
from sparkext.errors import CqelsError, UnknownStreamError, failures_told
from sparkext.language import check_supported
from sparkext.language.query import Query
from sparkext.runtime.checkpoint.engine_calls import CheckpointCalls
from sparkext.runtime.graph_versions import Source
from sparkext.runtime.lateness.stream_lateness import LatenessWish
from sparkext.runtime.parts.engine_parts import EngineParts
from sparkext.runtime.parts.pushed_times import promised_time
from sparkext.runtime.parts.user_functions import Returns
from sparkext.runtime.queries.prepared_query import PreparedQuery
from sparkext.runtime.query_registration import QueryRegistration
from sparkext.runtime.registrations import Registrations
from sparkext.runtime.static_tables.given_data import load_given
from sparkext.runtime.streams.push_report import PushReport
from sparkext.runtime.streams.stream import Stream
from sparkext.runtime.streams.stream_mapping import MappingOptions
from sparkext.session import require_extension
from sparkext.sql.live_view import LiveView
from sparkext.sql.prepared_sql import PreparedSql
from sparkext.sql.sql_room import SqlRoom
from static_data.files.on_error import OnError
from static_data.files.reading import ReadingOptions
from static_data.graph_changes import ChangeKind
from static_data.storage.store_changes import StoreChange

if TYPE_CHECKING:
    import rdflib
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from sparkext.rdflib_view.store import EngineStore
    from static_data.loading.load import LoadReport

logger = logging.getLogger(__name__)


class Engine(QueryRegistration, CheckpointCalls):
    """Joins live RDF streams with static Linked Data, in the Spark session `spark`.

    The session must come from a builder that went through `sparkext.configure`; `spark.cqels.*` settings are read once,
    here. `work_dir` is where static tables are kept (a temporary folder on local masters). With a `checkpoint`, a
    folder of any file system that Spark knows, the same program goes on after a restart where it was, see
    `docs/restart.md`; raises CheckpointError where that is not possible. Thread-safe: one lock orders pushes,
    evaluations and registrations.
    """

    def __init__(
        self,
        spark: SparkSession,
        work_dir: str | Path | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        require_extension(spark)
        if work_dir is not None:
            check.path("work_dir", work_dir)
        if checkpoint is not None:
            check.path("checkpoint", checkpoint)
        parts = self.parts = EngineParts(spark, work_dir)
        self._keeper = self._opened(checkpoint)
        self.spark = spark
        self.lock = parts.lock
        self.rdf = parts.rdf
        self.store = parts.store
        self.room = parts.room
        self._registered = Registrations(parts)
        self.streams = self._registered.streams
        self.derived = self._registered.derived
        self.windows = self._registered.windows
        self.graph_versions = self._registered.graph_versions
        self.evaluations = self._registered.evaluations
        self._take_up(self._registered, self._register_again)
        self._sql: SqlRoom | None = None
        self._prepared_sql: weakref.WeakSet[PreparedSql] = weakref.WeakSet()
        self._released = False
        self._selected: weakref.WeakSet[PreparedQuery] = weakref.WeakSet()
        self.store.listen(self._static_data_changed)

    @property
    def settings(self) -> Settings:
        """The values of the `spark.cqels.*` keys, as they were when the engine was made."""
        return self.parts.settings

    # -- static data ------------------------------------------------------------------------------------

    def load_static(
        self,
        files: str | Path | Sequence[str | Path] | rdflib.Graph | object,
        graph: str | None = None,
        format: str | None = None,
        progress: bool | None = None,
        base_iri: str | None = None,
        on_error: str = "fail",
        skipped_file: str | Path | None = None,
        contexts: Mapping[str, str | Path] | None = None,
        mapping: str | Path | MappingOptions | None = None,
        resume: str | Path | None = None,
    ) -> LoadReport:
        """Load RDF files (N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD; plain or packed) in parallel.

        `graph` is the IRI of the graph for triples that name none; without it they go to the default graph. `base_iri`
        is what relative IRIs are resolved against (default: each file's own IRI). In place of files it may be given
        an rdflib graph, or a dataset, whose named graphs keep their names; errors then count its statements. Queries
        that are registered see the new data from their next evaluation on. `on_error` is "fail", "skip" (malformed
        statements are left out, counted, and listed in `skipped_file`) or "accept" (IRIs are taken as they stand);
        `contexts` are the JSON-LD contexts that documents refer to, local files by IRI. See `StaticStore.load` for
        these and for errors. With `resume`, a folder for this load alone, the same load goes on where it was when the
        process was killed; what it keeps there is deleted by `save_static`.
        With a `mapping` (R2RML, RML or YARRRML) `files` are rows, tables or files of them: see `docs/mapped_rows.md`.
        """
        self.parts.check_open()
        options = (format, progress, base_iri, on_error, skipped_file, contexts, resume)
        return load_given(self.parts, files, mapping, graph, *options)

    def save_static(self, path: str | Path, overwrite: bool = False) -> None:
        """Save the static data, encoded, so that `open_static` needs no parsing."""
        self.parts.check_open()
        self.store.save(path, overwrite=overwrite)

    def open_static(self, path: str | Path, progress: bool | None = None) -> None:
        """Take over static data that `save_static` wrote; terms and tables are read where they lie, when asked for."""
        self.parts.check_open()
        self.store.open(path, progress=progress)

    def replace_graph(
        self,
        graph: str | None,
        source: Source,
        at: int | datetime | None = None,
        on_error: str = "fail",
        skipped_file: str | Path | None = None,
        contexts: Mapping[str, str | Path] | None = None,
    ) -> None:
        """Have a graph (None: the default graph) consist of these triples: N-Triples text, files, triples as
        `Stream.push` takes them, or an rdflib Graph.

        `at` is the event time, in milliseconds since the epoch or as a datetime, from which on evaluations see it
        (RSP-QL's time-varying graphs); None: from the next evaluation on. Queries that read nothing of what differs
        keep their plans. `on_error`, `skipped_file` and `contexts` are as for `load_static`. Raises
        MalformedRdfError, UnsupportedFormatError, MissingFileError, and StreamElementError for triples that are none.
        """
        with self.parts.in_use():
            options = ReadingOptions(OnError.named(on_error), skipped_file, contexts or {})
            self.graph_versions.add(ChangeKind.REPLACE, graph, source, at, options, "source")

    def insert(
        self, triples: Source, graph: str | None = None, at: int | datetime | None = None
    ) -> None:
        """Put triples into a graph; see `replace_graph`."""
        with self.parts.in_use():
            self.graph_versions.add(ChangeKind.INSERT, graph, triples, at, ReadingOptions())

    def remove(
        self, triples: Source, graph: str | None = None, at: int | datetime | None = None
    ) -> None:
        """Take triples out of a graph, those that are in it; see `replace_graph`."""
        with self.parts.in_use():
            self.graph_versions.add(ChangeKind.REMOVE, graph, triples, at, ReadingOptions())

    def rdflib_store(self, graph: str | None = None, sparql: str = "rdflib") -> EngineStore:
        """A live store of rdflib's over the static data, for reading; needs rdflib.

        It has all graphs, for `rdflib.Dataset(store)` or `rdflib.Graph(store, name)`, or only the one named `graph`,
        for `rdflib.Graph(store)`. With `sparql="engine"` this engine answers queries over it, as far as it can.
        """
        from sparkext.rdflib_view.store import EngineStore

        self.parts.check_open()
        return EngineStore(self.parts, self.select, graph, sparql)

    @property
    def closed(self) -> bool:
        """Whether `close` has been called: everything else then raises ClosedEngineError."""
        return self.parts.closed

    def _static_data_changed(self, change: StoreChange) -> None:
        with self.lock:
            self.room.forget_constants()
            lookup = functools.cache(self.store.lookup)
            self.parts.relations.follow(change, lookup)
            for query in self._registered.evaluated.values():
                query.static_data_changed(change.tables, lookup, self.graph_versions.time)
            for selected in self._selected:
                selected.static_data_changed(change.tables, lookup)

    # -- streams ----------------------------------------------------------------------------------------

    def register_stream(
        self,
        iri: str,
        source: DataFrame | None = None,
        checkpoint: str | None = None,
        on_error: str = "skip",
        mapping: str | Path | MappingOptions | None = None,
        time: str | None = None,
        allowed_lateness: int | str | None = None,
        idle_timeout: int | str | None = None,
        late: str | None = None,
        late_stream: str | None = None,
    ) -> Stream:
        """Make a stream known; with `source`, a streaming DataFrame, it is fed from there.

        `on_error` says what becomes of a malformed element: "skip" sets it aside and counts it, "fail" raises
        StreamElementError, "accept" takes IRIs as they stand and raises for what is malformed even so. Registering
        an IRI again gives the same stream. With a `mapping` (R2RML, RML or YARRRML) elements are rows, each with its
        `time` in a column: the result is a `MappedStream`, see `docs/mapped_rows.md`.

        `allowed_lateness` and `idle_timeout` (durations such as "PT10S", or milliseconds) and `late`, "hold" or
        "correct", are as `spark.cqels.allowedLateness`, `idleTimeout` and `lateElements` have it where they are None;
        elements that come too late are those of a stream `late_stream`, if it is given. See `docs/streams.md`. Raises
        DuplicateNameError for a stream that is registered already, with other values.
        """
        check.iri("iri", iri)
        wish = LatenessWish.read(allowed_lateness, idle_timeout, late, late_stream)
        self.parts.check_open()
        mapped = self._registered.element_mapping(mapping, time)
        with self.parts.in_use():
            stream = self._registered.stream(iri, OnError.named(on_error), mapped, wish)
        if source is not None:
            stream.read(source, checkpoint)
        return stream

    def push(self, iri: str, *arguments: object, **options: object) -> object:
        """Push one element into a stream; see `Stream.push`."""
        return self.stream(iri).push(*arguments, **options)  # type: ignore[arg-type]

    def push_table(self, iri: str, table: object, **columns: Any) -> PushReport:
        """Push the rows of a table into a stream; see `Stream.push_table`."""
        return self.stream(iri).push_table(table, **columns)

    def stream(self, iri: str) -> Stream:
        """A registered stream; raises UnknownStreamError."""
        check.text("iri", iri)
        try:
            return self.streams[iri]
        except KeyError:
            raise UnknownStreamError(iri, list(self.streams)) from None

    def advance_to(self, time: int | datetime) -> None:
        """Promise for every stream that no element of this time or an earlier one is to come."""
        moment = promised_time(time, self.parts.horizon)
        with self.parts.in_use():
            self.parts.ready()
            for iri, stream in self.streams.items():
                if iri not in self.derived:
                    stream.watermark.advance_to(moment)
            self.evaluate_due()

    def finish(self) -> None:
        """Say that all streams have ended: every window that holds an element closes."""
        with self.parts.in_use():
            self.parts.ready()
            for iri, stream in self.streams.items():
                if iri not in self.derived:
                    stream.watermark.finish()
            self.evaluate_due()

    # -- queries ----------------------------------------------------------------------------------------

    def register_function(
        self,
        iri: str,
        function: Callable[..., Any],
        returns: Returns = "term",
        cost_us: float = 200.0,
    ) -> None:
        """Have queries call a function in Python by an IRI.

        It gets numbers, strings and booleans of Python for such literals, other terms as they are, and returns a
        number (`returns="double"`) or a term, None for an error of SPARQL; it must give the same value for the same
        arguments. `cost_us` is what a call is said to cost. Raises FunctionError or DuplicateNameError.
        """
        self.parts.check_open()
        self.parts.functions.add(iri, function, returns, cost_us)

    def select(self, text: str | Query) -> PreparedQuery:
        """Prepare an ordinary SPARQL query of any form over the static data; `answer()` on it runs it."""
        self.parts.check_open()
        with failures_told():
            query = self._read(text)
            check_supported(query, self.parts.functions.names)
        if query.windows:
            raise CqelsError("a query with windows is registered, not selected")
        with self.parts.in_use(), failures_told():
            selected = PreparedQuery(self.parts, self.windows, "select", query, {})
            self._selected.add(selected)
            return selected

    # -- Spark SQL --------------------------------------------------------------------------------------

    def live_view(
        self,
        name: str,
        schema: str | StructType,
        time_column: str | None = None,
        width: str | int | None = None,
    ) -> LiveView:
        """Make a table in Spark SQL whose rows move, such as `live_view("now", "person STRING, room STRING")`.

        With `time_column` (TIMESTAMP, or BIGINT milliseconds) and `width` ("30s", or milliseconds), rows leave as time
        is advanced. A view of the same name is replaced. Raises LiveViewError.
        """
        check.text("name", name)
        with self.parts.in_use():
            return LiveView(self._sql_room(), name, schema, time_column, width)

    def prepare(self, query: str | DataFrame) -> PreparedSql:
        """Prepare a Spark SQL query over live views and static tables; `run()` gives its answers.

        What it joins with live views and reads none itself is computed and indexed here, and again by a run that finds
        it changed. Raises PreparationError, or what Spark raises for a text that is no query.
        """
        self.parts.check_open()
        if not isinstance(query, DataFrame):
            check.text("query", query, "the text of a Spark SQL query, or a DataFrame")
        frame = self.spark.sql(query) if isinstance(query, str) else query
        with self.parts.in_use():
            text = query if isinstance(query, str) else None
            prepared = PreparedSql(self._sql_room(), frame, text)
            self._prepared_sql.add(prepared)
            return prepared

    def _sql_room(self) -> SqlRoom:
        if self._sql is None:
            settings = self.settings
            adaptive = settings.adaptive_enabled and settings.statistics_enabled
            self._sql = SqlRoom(
                self.spark, self.room.scratch, settings, self.lock, adaptive, self.parts.threads
            )
        self._sql.check_open()
        return self._sql

    # -- evaluation -------------------------------------------------------------------------------------

    def evaluate_due(self) -> None:
        """Evaluate every query at every instant that is due, in order of time; raises EvaluationError."""
        self.evaluations.evaluate_due()

    def close(self) -> None:
        """Stop all queries and sources and give back what the engine holds, the files of its tables too.

        An evaluation under way in another thread ends first; instants that are due after it are not evaluated, and
        whoever pushed gets a ClosedEngineError. A second time it does nothing. Called by a subscriber it waits for no
        other thread: those of sources end once the subscriber has returned.
        """
        self.lock.check_free()
        if self._released:
            return
        self.parts.closed = True
        self.evaluations.stop()
        self._registered.idle_timer.stop(waits=not self.lock.is_mine)
        for stream in self.streams.values():
            stream.stop_sources()  # a subscriber has the lock, which batches under way need; others must not
        try:
            self._leave_checkpoint()
        finally:
            self._release()

    def _release(self) -> None:
        for prepared in list(self._prepared_sql):
            prepared.close()
        with self.lock:
            for name in list(self._registered.queries):
                self.stop_query(name)
            if self._sql is not None and not self._sql.closed:
                for view in list(self._sql.views.values()):
                    view.drop()
                self._sql.close()
        self.parts.release()
        self._released = True
