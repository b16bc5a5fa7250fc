"""The static data of a session: encoded, one two-column table per graph and predicate, kept as
Parquet.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from static_data.catalogue import Catalogue, counts_of_quads, counts_of_tables, describe
from static_data.errors import StaticDataError, StoreConflictError, UnknownGraphError
from static_data.folders import Folder
from static_data.jvm import extension
from static_data.load import LoadReport, Stopwatch, encode_files, encode_small_files
from static_data.progress import progress_bar
from static_data.rdf_formats import RdfFormat
from static_data.rdf_version import RdfVersion
from static_data.saved_store import SavedTable, read_saved, write_saved
from static_data.source_files import SourceFile, find_files

logger = logging.getLogger(__name__)

DEFAULT_GRAPH = 0
"""Id of the default graph."""

TableKey = tuple[int, int]
"""Graph id and predicate id."""

DRIVER_BYTES = 256 * 1024
"""Local files of so many bytes together are read on the driver, unless said otherwise."""

_ROWS_IN_MEMORY = 65_536


@dataclass(frozen=True)
class MemoryTable:
    """The table of one graph and predicate in the driver's memory; `content` is the JVM's."""

    graph: int
    predicate: int
    rows: int
    content: Any


Table = SavedTable | MemoryTable


@dataclass(frozen=True)
class GraphName:
    """A graph: its id and its canonical text (`<iri>`), 0 and None for the default graph."""

    id: int
    text: str | None


@dataclass(frozen=True)
class StoreChange:
    """What listeners are told: the store's new version and the tables whose rows changed."""

    version: int
    tables: frozenset[TableKey]


class StaticStore:
    """Named graphs and a default graph of Linked Data, encoded to 64-bit ids.

    `dictionary` is the extension's Dictionary of the session (made when not given); `work_dir` is
    where tables are kept, a temporary folder when not given. On a cluster it must be a place that
    all executors reach. Local files of up to `driver_bytes` together are read on the driver and
    stay in its memory. `version` tells how quoted triples in files are read. Loads and opening
    exclude each other; reading is free meanwhile and sees the state before.
    """

    def __init__(
        self,
        spark: SparkSession,
        dictionary: Any = None,
        work_dir: str | Path | None = None,
        driver_bytes: int = DRIVER_BYTES,
        version: RdfVersion = RdfVersion.STAR,
    ) -> None:
        self._spark = spark
        self._extension = extension(spark)
        self.dictionary: Any = self._extension.Dictionary() if dictionary is None else dictionary
        self._work = self._make_work_folder(work_dir)
        self._lock = threading.RLock()
        self._driver_bytes = driver_bytes
        self._rdf = version
        self._tables: Mapping[TableKey, Table] = MappingProxyType({})
        self._graphs: dict[int, str | None] = {DEFAULT_GRAPH: None}
        self._layers: list[Any] = []
        self._listeners: list[Callable[[StoreChange], None]] = []
        self._scopes = 0
        self._writes = 0
        self._version = 0
        self._catalogue: Catalogue | None = None
        self._uncounted: set[int] = set()

    def _make_work_folder(self, work_dir: str | Path | None) -> Folder:
        if work_dir is not None:
            return Folder(self._spark, work_dir)
        master = self._spark.sparkContext.master or ""
        if not master.startswith("local"):
            raise StaticDataError(
                f"on {master} the store needs work_dir, a folder that all executors reach"
            )
        made = tempfile.mkdtemp(prefix="cqels-static-")
        self._cleanup = weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
        return Folder(self._spark, made)

    # -- changing ---------------------------------------------------------------------------------

    def load(
        self,
        files: str | Path | Sequence[str | Path],
        graph: str | None = None,
        format: str | RdfFormat | None = None,
        progress: bool | None = None,
        base_iri: str | None = None,
    ) -> LoadReport:
        """Load RDF files in parallel, adding to what is there; a graph is a set, so duplicates
        vanish.

        `graph` is the IRI of the graph for triples that name none (None: the default graph),
        `format` overrides what file names say, `progress` shows a bar on standard error (None: only
        on a terminal), `base_iri` is what relative IRIs are resolved against (None: each file's own
        IRI). Blank nodes are new with each file and load. Raises MalformedRdfError,
        UnsupportedFormatError or MissingFileError, with nothing changed.
        """
        watch = Stopwatch()
        sources = find_files(self._spark, files, format)
        with self._lock, progress_bar(self._spark, "load", progress):
            graph_text = None if graph is None else graph_name_text(graph)
            scopes = [f"f{self._scopes + i}_" for i in range(len(sources))]
            encoded = self._encode(sources, scopes, graph_text, base_iri)
            try:
                written = self._keep(encoded)
            finally:
                encoded.close()
            self._scopes += len(sources)
            self._layers.append(encoded.layer())
            added = sum(t.rows - self._rows(key) for key, t in written.items())
            statements = encoded.statements()
            if graph_text is not None:
                self._graphs[self._held_id(graph_text)] = graph_text
            self._adopt(written)
        report = LoadReport(
            files=len(sources),
            bytes=sum(source.size for source in sources),
            statements=statements,
            quads_added=added,
            terms=encoded.termCount(),
            seconds=watch.seconds(),
        )
        logger.info("loaded %s", report)
        return report

    def _encode(
        self,
        sources: Sequence[SourceFile],
        scopes: Sequence[str],
        graph: str | None,
        base_iri: str | None,
    ) -> Any:
        inputs = (self._spark, self.dictionary, self._layers, sources, scopes, graph, base_iri)
        small = sum(source.size for source in sources) <= self._driver_bytes
        if small and all(source.local_path for source in sources):
            encoded = encode_small_files(*inputs, self._rdf)
            if encoded is not None:
                return encoded
        return encode_files(*inputs, self._rdf)

    def _keep(self, encoded: Any) -> Mapping[TableKey, Table]:
        """Store the load's tables, merged with those that are there; returns only these."""
        numbers = [int(number) for number in encoded.pairs().split(",") if number]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        if not pairs:
            return {}
        there = [self._tables[pair] for pair in pairs if pair in self._tables]
        known = [table for table in there if isinstance(table, MemoryTable)]
        here = sum(table.rows for table in known) + encoded.statements()
        if encoded.isHere() and len(known) == len(there) and here <= _ROWS_IN_MEMORY:
            tables = encoded.tables([table.content for table in known])
            made = (MemoryTable(t.graph(), t.predicate(), t.rows(), t) for t in tables)
            return {(table.graph, table.predicate): table for table in made}
        return self._write(encoded, pairs)

    def _write(self, encoded: Any, pairs: Sequence[TableKey]) -> dict[TableKey, Table]:
        folder = self._work.child(f"load-{self._writes}")
        self._writes += 1
        there = [pair for pair in pairs if pair in self._tables]
        existing = self._read_tables(there)._jdf if there else None
        rows = encoded.write(folder.path, existing)
        return {
            (int(g), int(p)): SavedTable(folder.path, int(g), int(p), int(n))
            for g, p, n in ((row[0], row[1], row[2]) for row in rows)
        }

    def _adopt(self, written: Mapping[TableKey, Table]) -> None:
        changed = {key for key, table in written.items() if table.rows != self._rows(key)}
        self._tables = MappingProxyType({**self._tables, **written})
        for graph_id, _ in written:
            if graph_id not in self._graphs:
                self._graphs[graph_id] = self.dictionary.text(graph_id)
        if changed:
            self._version += 1
            self._uncounted |= {graph for graph, _ in changed}
            self._tell(StoreChange(self._version, frozenset(changed)))

    def _rows(self, key: TableKey) -> int:
        table = self._tables.get(key)
        return 0 if table is None else table.rows

    def _held_id(self, text: str) -> int:
        """The id of a term that must stay although perhaps no quad holds it."""
        return int(self.dictionary.encodeRetained(text))

    def listen(self, listener: Callable[[StoreChange], None]) -> Callable[[], None]:
        """Have `listener` called after each change of the data; the result ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _tell(self, change: StoreChange) -> None:
        failures = []
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception as error:  # The others must hear of the change all the same.
                failures.append(error)
        if failures:
            raise failures[0]

    @property
    def version(self) -> int:
        """Number of changes so far: equal versions mean equal data."""
        return self._version

    # -- reading ----------------------------------------------------------------------------------

    def graphs(self) -> list[GraphName]:
        """The graphs that were loaded, the default graph first."""
        return [
            GraphName(i, text) for i, text in sorted(self._graphs.items(), key=lambda g: g[1] or "")
        ]

    def graph_id(self, graph: str | None) -> int:
        """The id of a graph by its IRI (None: the default graph); raises UnknownGraphError."""
        if graph is None:
            return DEFAULT_GRAPH
        text = graph_name_text(graph)
        graph_id = int(self.dictionary.lookup(text))
        if graph_id == 0 or graph_id not in self._graphs:
            raise UnknownGraphError(f"no graph {text} was loaded")
        return graph_id

    def predicates(self, graph_id: int) -> list[int]:
        """Ids of the predicates of a graph."""
        return sorted(p for g, p in self._tables if g == graph_id)

    def row_count(self, graph_id: int, predicate_id: int | None = None) -> int:
        """Number of triples with a predicate (None: any) in a graph."""
        if predicate_id is not None:
            return self._rows((graph_id, predicate_id))
        return sum(table.rows for (g, _), table in self._tables.items() if g == graph_id)

    def table(self, graph_id: int, predicate_id: int) -> DataFrame:
        """The pairs (s BIGINT, o BIGINT) of a predicate in a graph, distinct, read from Parquet
        when asked for.
        """
        table = self._tables.get((graph_id, predicate_id))
        if table is None:
            return self._spark.createDataFrame([], "s BIGINT, o BIGINT")
        if isinstance(table, MemoryTable):
            return self._read_tables([(graph_id, predicate_id)]).select("s", "o")
        return self._spark.read.schema("s BIGINT, o BIGINT").parquet(table.path)

    def quads(self, graph_id: int | None = None) -> DataFrame:
        """All quads (s, p, o, g BIGINT) of a graph (None: of all graphs)."""
        return self._read_tables([k for k in self._tables if graph_id is None or k[0] == graph_id])

    def _read_tables(self, keys: Iterable[TableKey]) -> DataFrame:
        by_root: dict[str, list[SavedTable]] = {}
        here = []
        for key in keys:
            table = self._tables[key]
            if isinstance(table, MemoryTable):
                here.append(table.content)
            else:
                by_root.setdefault(table.root, []).append(table)
        frames = []
        if here:
            rows = self._extension.MemoryTables.frame(self._spark._jsparkSession, here)
            frames.append(DataFrame(rows, self._spark))
        for root, tables in by_root.items():
            reader = self._spark.read.schema("s BIGINT, o BIGINT, graph BIGINT, predicate BIGINT")
            frame = reader.option("basePath", root).parquet(*[table.path for table in tables])
            frames.append(
                frame.select("s", F.col("predicate").alias("p"), "o", F.col("graph").alias("g"))
            )
        if not frames:
            return self._spark.createDataFrame([], "s BIGINT, p BIGINT, o BIGINT, g BIGINT")
        result = frames[0]
        for frame in frames[1:]:
            result = result.unionAll(frame)
        return result

    def encode(self, text: str) -> int:
        """The id of a term by its canonical text; a term that is new gets one, see
        Dictionary.encode.
        """
        return int(self.dictionary.encode(text))

    def lookup(self, text: str) -> int:
        """The id of a known term by its canonical text, 0 for others."""
        return int(self.dictionary.lookup(text))

    def text(self, term_id: int) -> str:
        """The canonical text of a term."""
        return str(self.dictionary.text(term_id))

    def catalogue(self) -> Catalogue:
        """Statistics of all tables, computed when asked for and kept until the data change."""
        with self._lock:
            if self._catalogue is None or self._uncounted:
                keys = [key for key in self._tables if key[0] in self._uncounted]
                graphs = {graph for graph, _ in keys}
                self._catalogue = describe(self._counts(keys), graphs, self._catalogue)
                self._uncounted.clear()
            return self._catalogue

    def _counts(self, keys: Sequence[TableKey]) -> list[list[int]]:
        tables = [self._tables[key] for key in keys]
        here = [table.content for table in tables if isinstance(table, MemoryTable)]
        if len(here) == len(tables):
            return counts_of_tables(self._spark, here)
        rows = sum(table.rows for table in tables)
        return counts_of_quads(self._spark, self._read_tables(keys), rows)

    # -- keeping ----------------------------------------------------------------------------------

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Save all in one folder, from which `open` reads without parsing.

        The folder is written under another name and renamed when whole. Raises StoreFormatError
        when `path` exists, unless it is a saved store and `overwrite` is set.
        """
        with self._lock:
            write_saved(
                self._spark,
                Folder(self._spark, path),
                overwrite,
                self.dictionary,
                self._layers,
                self._saved_tables(),
                [text for text in self._graphs.values() if text is not None],
                self._scopes,
                self.catalogue(),
            )

    def _saved_tables(self) -> list[SavedTable]:
        """All tables in files; those in memory are written to some."""
        here = [key for key, table in self._tables.items() if isinstance(table, MemoryTable)]
        if here:
            folder = self._work.child(f"load-{self._writes}")
            self._writes += 1
            rows = self._extension.QuadTables.writeFrame(
                self._spark._jsparkSession, self._read_tables(here)._jdf, folder.path
            )
            written = {(row[0], row[1]): SavedTable(folder.path, *row) for row in map(list, rows)}
            self._tables = MappingProxyType({**self._tables, **written})
        return [table for table in self._tables.values() if isinstance(table, SavedTable)]

    def open(self, path: str | Path, progress: bool | None = None) -> None:
        """Take over a saved store; this one must be empty. The folder must stay where it is.

        Raises StoreFormatError for a folder that is no whole store of this format version, and
        StoreConflictError when its ids contradict those given out in this session.
        """
        with self._lock, progress_bar(self._spark, "open", progress):
            if self._tables:
                raise StoreConflictError(
                    f"{path}: a saved store is opened before anything is loaded"
                )
            saved = read_saved(self._spark, Folder(self._spark, path), self.dictionary)
            self._layers.append(saved.layer)
            self._scopes = max(self._scopes, saved.scopes)
            for text in saved.graphs:
                self._graphs[self._held_id(text)] = text
            self._adopt({(table.graph, table.predicate): table for table in saved.tables})
            if saved.catalogue is not None:
                self._catalogue = saved.catalogue
                self._uncounted.clear()

    def close(self) -> None:
        """Delete the temporary files; the store is of no use afterwards."""
        cleanup = getattr(self, "_cleanup", None)
        if cleanup is not None:
            cleanup()


def graph_name_text(graph: str) -> str:
    """The canonical text of a graph name given as an IRI, with or without angle brackets, or as
    `_:label`.

    >>> graph_name_text("http://example.org/g")
    '<http://example.org/g>'
    """
    if graph.startswith("_:") or (graph.startswith("<") and graph.endswith(">")):
        return graph
    return f"<{graph}>"
