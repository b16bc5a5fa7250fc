"""The static data of a session: encoded, one two-column table per graph and predicate, kept in files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from static_data.argument_checks import check
from static_data.errors import StoreConflictError, UnknownGraphError
from static_data.files.on_error import OnError, note_skipped
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import ReadingOptions
from static_data.graph_names import DEFAULT_GRAPH, GraphName, graph_name_text
from static_data.jvm import checked_term, extension
from static_data.limits.expansion import MOST_EXPANSION
from static_data.loading.given_statements import GivenData
from static_data.loading.load import (
    LoadedBlocks,
    LoadReport,
    Stopwatch,
    encode_sources,
    skipped_of,
)
from static_data.loading.resuming import Resuming
from static_data.loading.source_files import find_files
from static_data.progress import progress_bar
from static_data.storage.catalogue import Catalogue, counts_of_quads, counts_of_tables
from static_data.storage.catalogue_upkeep import CatalogueUpkeep
from static_data.storage.folders import Folder
from static_data.storage.row_edits import Pair, RowEdits, TableKey
from static_data.storage.saved_store import read_saved, write_saved
from static_data.storage.store_changes import ChangeLock, StoreChange
from static_data.storage.stored_tables import StoredTables
from static_data.storage.tables import Table, Tables
from static_data.table_indexes import MAPPED_ROWS, TableIndexes

DRIVER_BYTES = 8 << 20
"""Local files of so many bytes together are read on the driver, unless said otherwise: that takes about as long as
two cores' Spark job, and less than half where the process has run none yet."""


class StaticStore:
    """Named graphs and a default graph of Linked Data, encoded to 64-bit ids.

    `dictionary` is the extension's Dictionary of the session (made when not given). Tables are kept
    in `work_dir`, in a folder of the store's own that `close` deletes; when not given, in a temporary folder. On a
    cluster it must be a place that all executors reach. Local files of up to `driver_bytes` together are read on the
    driver and stay in its memory; tables of `mapped_rows` rows are looked up in files; packed ones may unpack to
    `most_expansion` times their size. `version` tells how quoted triples in files are read. Loads, edits and opening
    exclude each other, as does whoever has `lock`; reading is free meanwhile and sees the state before.
    """

    def __init__(
        self,
        spark: SparkSession,
        dictionary: Any = None,
        work_dir: str | Path | None = None,
        driver_bytes: int = DRIVER_BYTES,
        version: RdfVersion = RdfVersion.STAR,
        mapped_rows: int = MAPPED_ROWS,
        most_expansion: float = MOST_EXPANSION,
    ) -> None:
        self._spark = spark
        new = extension(spark).dictionary.Dictionary
        self.dictionary: Any = new() if dictionary is None else dictionary
        self._tables = StoredTables(spark, self.dictionary, work_dir)
        self.indexes = TableIndexes(spark, self.dictionary.text, mapped_rows)
        self.lock = ChangeLock()
        self._driver_bytes = driver_bytes
        self._rdf, self.most_expansion = version, most_expansion
        self._graphs: dict[int, str | None] = {DEFAULT_GRAPH: None}
        self._announced: set[int] = set()
        self._scopes = 0
        self._version = 0
        self._catalogue = CatalogueUpkeep()
        self._resumings: list[Resuming] = []

    # -- changing ---------------------------------------------------------------------------------

    def load(
        self,
        files: str | Path | Sequence[str | Path],
        graph: str | None = None,
        format: str | RdfFormat | None = None,
        progress: bool | None = None,
        base_iri: str | None = None,
        replace: bool = False,
        one_graph: bool = False,
        on_error: str | OnError = OnError.FAIL,
        skipped_file: str | Path | None = None,
        contexts: Mapping[str, str | Path] | None = None,
        resume: str | Path | None = None,
    ) -> LoadReport:
        """Load RDF files in parallel, adding to what is there; a graph is a set, so duplicates vanish. With `replace`,
        `graph` holds nothing else afterwards.

        `graph` is the IRI of the graph for triples that name none (None: the default graph), `format` overrides what
        file names say, `progress` shows a bar on standard error (None: only on a terminal), `base_iri` is what
        relative IRIs are resolved against (None: each file's own IRI). With `one_graph`, a statement that names a
        graph itself is malformed, so that all go to `graph`. Blank nodes are new with each file and load.

        `on_error` says what becomes of statements that are malformed, see `OnError`: with "skip" they are left out,
        counted in the report and added to `skipped_file`, JSON Lines (None: a new temporary file). `contexts` are the
        JSON-LD contexts that documents refer to: local files by IRI; none is fetched. With `resume`, a folder for
        this load alone, encoded parts stay there until the store is saved: the same load goes on from them after a
        kill. Raises MalformedRdfError, UnsupportedFormatError or MissingFileError, with nothing changed.
        """
        named = check.paths("files", files)
        if base_iri is not None:
            check.iri("base_iri", base_iri)
        if format is not None and not isinstance(format, RdfFormat):
            check.text("format", format)
        options = ReadingOptions(OnError.named(on_error), skipped_file, contexts or {})
        reading = options.reading(self._rdf, self.most_expansion)
        sources = find_files(self._spark, named, format)
        resuming = None if resume is None else self._resuming(check.path("resume", resume))

        def encode(graph_text: str | None) -> LoadedBlocks:
            scopes = [f"f{self._scopes + i}_" for i in range(len(sources))]
            how: Any = (graph_text, base_iri, reading, one_graph, self._driver_bytes, resuming)
            blocks = encode_sources(self._spark, self.dictionary, sources, scopes, *how)
            size = sum(source.size for source in sources)
            return LoadedBlocks(blocks, len(sources), size, lambda: skipped_of(blocks, sources))

        return self._load(encode, graph, progress, replace, skipped_file)

    def _resuming(self, folder: str | Path) -> Resuming:
        self._resumings.append(Resuming(self._spark, Folder(self._spark, folder).path))
        return self._resumings[-1]

    def load_statements(
        self,
        statements: GivenData,
        graph: str | None = None,
        progress: bool | None = None,
        on_error: str | OnError = OnError.FAIL,
        skipped_file: str | Path | None = None,
    ) -> LoadReport:
        """Load statements that are in no RDF file, as one document; see `load`. Raises what encoding them does."""
        policy = OnError.named(on_error)

        def encode(graph_text: str | None) -> LoadedBlocks:
            place = (self._spark, self.dictionary)
            blocks = statements.encode(*place, f"f{self._scopes}_", graph_text, policy)
            return LoadedBlocks(blocks, 1, statements.bytes, lambda: statements.skipped)

        return self._load(encode, graph, progress, False, skipped_file)

    def _load(
        self,
        encode: Callable[[str | None], LoadedBlocks],
        graph: str | None,
        progress: bool | None,
        replace: bool,
        skipped_file: str | Path | None,
    ) -> LoadReport:
        check.graph("graph", graph)
        check.flag("progress", progress, or_none=True)
        watch = Stopwatch()
        with self.lock, progress_bar(self._spark, "load", progress):
            graph_text = None if graph is None else graph_name_text(graph)
            made = encode(graph_text)
            # The dictionary has the terms by now, whatever becomes of the tables.
            self._scopes += made.files
            graph_id = DEFAULT_GRAPH if graph_text is None else self._held_id(graph_text)
            replaced = [key for key in self._tables.now.of_graph(graph_id) if replace]
            try:
                # What cannot be told must not be left out.
                left_out, said_in = note_skipped(made.skipped(), skipped_file)
                written = self._tables.keep(made.blocks, replaced)
            finally:
                made.blocks.close()
            kept = {key: 0 if key in replaced else self._tables.now.rows(key) for key in written}
            added = sum(t.rows - kept[key] for key, t in written.items())
            if graph_text is not None:
                self._graphs[graph_id] = graph_text
            self.lock.note(self._adopt(written, replaced))
        return made.report(added, watch.seconds(), left_out, said_in)

    def _adopt(
        self, written: Mapping[TableKey, Table], replaced: Collection[TableKey] = ()
    ) -> StoreChange | None:
        """Take over whole tables, in place of `replaced` ones too; returns what is to be told."""
        changed = self._tables.adopt(written, replaced)
        for graph_id, _ in written:
            if graph_id not in self._graphs:
                self._graphs[graph_id] = self.dictionary.text(graph_id)
        if not changed:
            return None
        self._version += 1
        self._catalogue.changed(graph for graph, _ in changed)
        return StoreChange(self._version, frozenset(changed))

    # -- changing a few rows ----------------------------------------------------------------------

    def announce_graph(self, graph: str | None) -> int:
        """Make an empty graph known, before anything is put into it; returns its id."""
        check.graph("graph", graph)
        if graph is None:
            return DEFAULT_GRAPH
        graph_id = self._held_id(graph_name_text(graph))
        self._announced.add(graph_id)
        return graph_id

    def rows_there(self, wanted: Mapping[TableKey, Collection[Pair]]) -> dict[TableKey, set[Pair]]:
        """Those of the rows that the tables hold."""
        return self._tables.now.rows_there(self._spark, wanted)

    def rows_of_graph(self, graph_id: int) -> dict[TableKey, set[Pair]]:
        """All rows of a graph by table, read to the driver."""
        tables = self._tables.now
        return tables.rows_of(self._spark, tables.of_graph(graph_id))

    def rows_beside_files(self, graph_id: int) -> dict[TableKey, frozenset[Pair]]:
        """The rows of a graph that no file holds: their terms must be held."""
        edits = self._tables.now.edits
        return {key: edit.added for key, edit in edits.items() if key[0] == graph_id}

    def take_blank_scope(self) -> str:
        """A prefix for the labels of blank nodes that no load or change has used."""
        with self.lock:
            self._scopes += 1
            return f"f{self._scopes - 1}_"

    def edit(
        self,
        graph_id: int,
        edits: Mapping[TableKey, RowEdits],
        whole: Mapping[TableKey, Collection[Pair]] | None = None,
    ) -> None:
        """Change rows of a graph's tables.

        `edits` add rows that are not there and remove some that are. With `whole`, these are all rows of the graph
        afterwards, and the files of its tables are read no more; `edits` then only say what changed, and lack the
        tables of which that is not known.
        """
        with self.lock:
            changed = self._tables.edit(graph_id, edits, whole)
            if graph_id in self._announced:
                self._graphs.setdefault(graph_id, self.dictionary.text(graph_id))
            if not changed:
                return
            self._version += 1
            # Noted first: what can be seen must be told, whatever fails below.
            self.lock.note(StoreChange(self._version, frozenset(changed), dict(edits)))
            self._count_edits(graph_id, changed, edits)
            self._tables.write_large_edits(changed)

    def _count_edits(
        self, graph_id: int, changed: Collection[TableKey], edits: Mapping[TableKey, RowEdits]
    ) -> None:
        tables = self._tables.now
        whole = {key: tables.edits_of(key).added for key in changed if key not in tables.whole}
        small = {key: edits[key] for key in changed if key not in whole}
        self._catalogue.edited(graph_id, self.row_count(graph_id), small, whole)

    def _held_id(self, text: str) -> int:
        """The id of a term that must stay although perhaps no quad holds it."""
        return int(self.dictionary.encodeRetained(text))

    def listen(self, listener: Callable[[StoreChange], None]) -> Callable[[], None]:
        """Have `listener` called after each change of the data; the result ends this."""
        check.callable("listener", listener)
        return self.lock.listen(listener)

    @property
    def version(self) -> int:
        """Number of changes so far: equal versions mean equal data."""
        return self._version

    # -- reading ----------------------------------------------------------------------------------

    @property
    def tables(self) -> Tables:
        """The tables of now, which stay as they are."""
        return self._tables.now

    def graphs(self) -> list[GraphName]:
        """The graphs that were loaded, the default graph first."""
        return [
            GraphName(i, text) for i, text in sorted(self._graphs.items(), key=lambda g: g[1] or "")
        ]

    def graph_id(self, graph: str | None) -> int:
        """The id of a graph by its IRI (None: the default graph); raises UnknownGraphError."""
        check.graph("graph", graph)
        if graph is None:
            return DEFAULT_GRAPH
        text = graph_name_text(graph)
        graph_id = int(self.dictionary.lookup(text))
        if graph_id == 0 or graph_id not in {*self._graphs, *self._announced}:
            raise UnknownGraphError(f"no graph {text} was loaded")
        return graph_id

    def predicates(self, graph_id: int) -> list[int]:
        """Ids of the predicates of a graph."""
        tables = self._tables.now
        return sorted(p for g, p in tables.of_graph(graph_id) if tables.rows((g, p)))

    def row_count(self, graph_id: int, predicate_id: int | None = None) -> int:
        """Number of triples with a predicate (None: any) in a graph."""
        tables = self._tables.now
        if predicate_id is not None:
            return tables.rows((graph_id, predicate_id))
        return sum(tables.rows(key) for key in tables.of_graph(graph_id))

    def table(self, graph_id: int, predicate_id: int) -> DataFrame:
        """The pairs (s BIGINT, o BIGINT) of a predicate in a graph, distinct, read from Parquet
        when asked for.
        """
        return self._tables.now.table(self._spark, (graph_id, predicate_id))

    def quads(self, graph_id: int | None = None) -> DataFrame:
        """All quads (s, p, o, g BIGINT) of a graph (None: of all graphs)."""
        tables = self._tables.now
        return tables.frame(self._spark, tables.of_graph(graph_id))

    def encode(self, text: str) -> int:
        """The id of a term by its canonical text, given to a new one; raises MalformedTermError for other text."""
        check.text("text", text)
        return int(checked_term(self.dictionary.encode, text))

    def lookup(self, text: str) -> int:
        """The id of a known term by its canonical text, 0 for others; raises MalformedTermError for other text."""
        check.text("text", text)
        return int(checked_term(self.dictionary.lookup, text))

    def text(self, term_id: int) -> str:
        """The canonical text of a term; raises MalformedTermError for an id of none."""
        check.whole("term_id", term_id)
        return str(checked_term(self.dictionary.text, term_id))

    def catalogue(self) -> Catalogue:
        """Statistics of all tables, computed when asked for and kept until the data change."""
        with self.lock:
            return self._catalogue.current(self._tables.now.of_graph(), self._counts)

    def _counts(self, keys: Sequence[TableKey]) -> list[list[int]]:
        tables = self._tables.now
        here = tables.contents(self._spark, keys)
        if here is not None:
            return counts_of_tables(self._spark, here)
        rows = sum(tables.rows(key) for key in keys)
        return counts_of_quads(self._spark, tables.frame(self._spark, keys), rows)

    # -- keeping ----------------------------------------------------------------------------------

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Save all in one folder, from which `open` reads without parsing.

        The folder is renamed when whole. Raises StoreFormatError when `path` exists, unless it is a saved store and
        `overwrite` is set.
        """
        check.path("path", path)
        check.flag("overwrite", overwrite)
        with self.lock:
            write_saved(
                self._spark,
                Folder(self._spark, path),
                overwrite,
                self.dictionary,
                self.catalogue(),  # before tables are in files, where a job would count them
                self._tables.in_files(),
                self.indexes.save,
                [text for text in self._graphs.values() if text is not None],
                self._scopes,
            )
            while self._resumings:
                self._resumings.pop().clear()

    def open(self, path: str | Path, progress: bool | None = None) -> None:
        """Take over a saved store; this one must be empty. The folder must stay where it is.

        Raises StoreFormatError for a folder that is no whole store, and StoreConflictError when its ids contradict
        those given out in this session.
        """
        check.path("path", path)
        check.flag("progress", progress, or_none=True)
        with self.lock, progress_bar(self._spark, "open", progress):
            if self._tables.now.of_graph():
                raise StoreConflictError(f"{path}: a store is opened before anything is loaded")
            place = (Folder(self._spark, path), self.dictionary, self._tables.take_index_folder())
            saved = read_saved(self._spark, *place)
            self._scopes = max(self._scopes, saved.scopes)
            for text in saved.graphs:
                self._graphs[self._held_id(text)] = text
            written: dict[TableKey, Table] = {(t.graph, t.predicate): t for t in saved.tables}
            self.lock.note(self._adopt(written))
            if saved.catalogue is not None:
                self._catalogue.adopt(saved.catalogue)

    def close(self) -> None:
        """Delete the files of the tables; the store is of no use afterwards."""
        with self.lock:
            self._tables.close()
