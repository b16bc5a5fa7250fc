"""Static triples asked for one by one: ids of what is bound in, the triples that match out."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from static_data.errors import MalformedTermError
from static_data.jvm import extension
from static_data.storage.row_edits import Pair, RowEdits, TableKey, ids_to_bytes
from static_data.storage.sorted_pairs import SortedPairs
from static_data.storage.tables import MemoryTable, Table, Tables
from static_data.store import StaticStore

_KEPT_ROWS = 1 << 24
"""So many rows are kept in memory, 16 bytes each, twice that where they are looked up by object."""

Found = tuple[TableKey, Iterator[Pair]]


class TripleLookups:
    """Looks up rows of a store's tables, which come into memory when they are first asked for.

    Each look-up sees the tables of its moment to the end. Rows beyond `kept_rows` are not kept: Spark looks through
    the files then. Thread-safe.
    """

    def __init__(
        self, spark: SparkSession, store: StaticStore, kept_rows: int = _KEPT_ROWS
    ) -> None:
        self._spark = spark
        self._store = store
        self._most = kept_rows
        self._terms: Any = extension(spark).dictionary.ChangeTerms(store.dictionary)
        self._lock = threading.Lock()
        self._whole: OrderedDict[TableKey, tuple[weakref.ref[Table], SortedPairs]] = OrderedDict()
        self._added: dict[TableKey, tuple[RowEdits, SortedPairs]] = {}
        # Weakly: old tables would keep their files.
        self._listed: tuple[weakref.ref[Tables] | None, dict[int, list[TableKey]]] = (None, {})

    def texts(self, ids: Sequence[int]) -> list[str]:
        """The canonical texts of terms; raises MalformedTermError for an id of none."""
        try:
            content = bytes(self._terms.texts(ids_to_bytes(ids)))
        except Py4JJavaError as error:
            raise MalformedTermError(str(error.java_exception.getMessage())) from None
        return content.decode().split("\n")[:-1]

    def keys(self, graphs: Iterable[int] | None, predicate: int | None) -> list[TableKey]:
        """The tables of some graphs (None: of all) with a predicate (None: with any), those of a predicate together."""
        return self._keys(self._store.tables, graphs, predicate)

    def rows(
        self,
        graphs: Iterable[int] | None,
        subject: int | None,
        predicate: int | None,
        object: int | None,
    ) -> Iterator[Found]:
        """The rows (subject, object) with these ids (None: any), table by table as `keys` has them."""
        tables = self._store.tables
        keys = self._keys(tables, graphs, predicate)
        with self._lock:
            known = self._fetched(tables, keys)
            for key in [key for key in self._added if key not in tables.edits]:
                del self._added[key]
            added = {key: self._added_rows(tables, key) for key in keys}
        unknown = [key for key in keys if key in tables.whole and key not in known]
        elsewhere = self._in_files(tables, unknown, subject, object) if unknown else {}
        for key in keys:
            if key in elsewhere:
                yield key, iter(elsewhere[key])
            elif key not in unknown:
                yield (
                    key,
                    _edited(known.get(key), added[key], tables.edits_of(key), subject, object),
                )

    def _keys(
        self, tables: Tables, graphs: Iterable[int] | None, predicate: int | None
    ) -> list[TableKey]:
        listed, by_graph = self._listed
        if listed is None or listed() is not tables:
            by_graph = {}
            for key in sorted(tables.of_graph(), key=_by_predicate):
                by_graph.setdefault(key[0], []).append(key)
            self._listed = (weakref.ref(tables), by_graph)
        wanted = list(by_graph if graphs is None else graphs)
        if predicate is not None:
            pairs = [(graph, predicate) for graph in wanted]
            return [key for key in pairs if key in tables.whole or key in tables.edits]
        if len(wanted) == 1:
            return by_graph.get(wanted[0], [])
        found = [key for graph in wanted for key in by_graph.get(graph, ())]
        return sorted(found, key=_by_predicate)

    def _added_rows(self, tables: Tables, key: TableKey) -> SortedPairs | None:
        edits = tables.edits.get(key)
        if edits is None:
            return None
        known = self._added.get(key)
        if known is None or known[0] is not edits:
            known = self._added[key] = (edits, SortedPairs.of(edits.added))
        return known[1]

    # -- whole tables -----------------------------------------------------------------------------

    def _fetched(self, tables: Tables, keys: Iterable[TableKey]) -> dict[TableKey, SortedPairs]:
        """Those of the tables that may be kept, without their edits."""
        found = {}
        missing = []
        for key in keys:
            table = tables.whole.get(key)
            if table is None:
                continue
            kept = self._whole.get(key)
            if kept is not None and kept[0]() is table:
                self._whole.move_to_end(key)
                found[key] = kept[1]
            else:
                missing.append(key)
        if missing:
            rows = sum(tables.whole[key].rows for key in missing) + sum(map(len, found.values()))
            if rows <= self._most:
                fresh = self._read(tables, missing)
                found |= fresh
                for key, pairs in fresh.items():
                    self._whole[key] = (weakref.ref(tables.whole[key]), pairs)
                    self._whole.move_to_end(key)
                self._forget()
        return found

    def _forget(self) -> None:
        for key in [key for key, (table, _) in self._whole.items() if table() is None]:
            del self._whole[key]
        rows = sum(len(pairs) for _, pairs in self._whole.values())
        while rows > self._most:
            _, (_, pairs) = self._whole.popitem(last=False)
            rows -= len(pairs)

    def _read(self, tables: Tables, keys: Sequence[TableKey]) -> dict[TableKey, SortedPairs]:
        found = {}
        in_files = []
        for key in keys:
            table = tables.whole[key]
            if isinstance(table, MemoryTable):
                cells = extension(self._spark).loading.MemoryTables.cells(table.content)
                ids = np.frombuffer(bytes(cells), "<i8").astype(np.int64)
                found[key] = SortedPairs(ids[::2], ids[1::2])
            else:
                in_files.append(key)
        frame = tables.unedited(self._spark, in_files)
        if frame is not None:
            rows = frame.select("g", "p", "s", "o").toArrow()
            g, p, s, o = (column.to_numpy() for column in rows.columns)
            order = np.lexsort((p, g))
            g, p, s, o = g[order], p[order], s[order], o[order]
            for key in in_files:
                begin, end = (
                    int(g.searchsorted(np.int64(key[0]), side)) for side in ("left", "right")
                )
                inside = p[begin:end]
                end = begin + int(inside.searchsorted(np.int64(key[1]), "right"))
                begin += int(inside.searchsorted(np.int64(key[1])))
                found[key] = SortedPairs(s[begin:end], o[begin:end])
        return found

    def _in_files(
        self, tables: Tables, keys: Sequence[TableKey], subject: int | None, object: int | None
    ) -> dict[TableKey, list[Pair]]:
        """The same of tables that are too large to be kept, edits included."""
        frame = tables.frame(self._spark, keys)
        for column, wanted in (("s", subject), ("o", object)):
            if wanted is not None:
                frame = frame.where(F.col(column) == wanted)
        found: dict[TableKey, list[Pair]] = {}
        rows = frame.select("s", "p", "o", "g").toArrow()
        columns = (column.to_pylist() for column in rows.columns)
        for s, p, o, g in zip(*columns, strict=True):
            found.setdefault((g, p), []).append((s, o))
        return found


def _by_predicate(key: TableKey) -> tuple[int, int]:
    return key[1], key[0]


def _edited(
    known: SortedPairs | None,
    added: SortedPairs | None,
    edits: RowEdits,
    subject: int | None,
    object: int | None,
) -> Iterator[Pair]:
    if known is not None:
        for pair in known.pairs(subject, object):
            if pair not in edits.removed:
                yield pair
    if added is not None:
        yield from added.pairs(subject, object)
