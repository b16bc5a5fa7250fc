"""Changes of a graph as a user states them, triples put in, taken out, or all replaced, carried out on a store."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from static_data.argument_checks import lone_surrogate
from static_data.errors import MalformedRdfError, StaticDataError
from static_data.files.on_error import Skipped, write_skipped
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import ReadingOptions
from static_data.graph_names import DEFAULT_GRAPH, graph_name_text
from static_data.jvm import extension
from static_data.limits.expansion import MOST_EXPANSION
from static_data.loading.source_files import find_files
from static_data.loading.statements import canonical_lines, triples_of
from static_data.storage.row_edits import Pair, RowEdits, TableKey, ids_of_bytes, ids_to_bytes
from static_data.store import StaticStore

logger = logging.getLogger(__name__)

_STRICTLY = ReadingOptions()

_READ_HERE = 8 << 20
"""Files of so many bytes together are read on the driver; larger ones are loaded by Spark."""

_COMPARED_ROWS = 100_000
"""A graph of so many triples is compared with what replaces it."""


_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')


class ChangeKind(Enum):
    """What a change does with its triples."""

    INSERT = "insert"
    REMOVE = "remove"
    REPLACE = "replace"


@dataclass(frozen=True)
class GraphChange:
    """A change of one graph (None: the default graph): N-Triples lines, or large `files` to be loaded.

    Each of `texts` is a document, whose blank nodes are its own.
    """

    kind: ChangeKind
    graph: str | None
    texts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    options: ReadingOptions = _STRICTLY

    def __str__(self) -> str:
        graph = "the default graph" if self.graph is None else graph_name_text(self.graph)
        return f"{self.kind.value} {graph}"


def is_n_triples(text: str) -> bool:
    """Whether a text begins as N-Triples do, or is empty; else it names a file."""
    return re.match(r"\s*(<|_:|#|$)", text) is not None


def read_change(
    spark: SparkSession,
    kind: ChangeKind,
    graph: str | None,
    source: str | Path | Sequence[str | Path],
    name: str = "triples",
    version: RdfVersion = RdfVersion.STAR,
    options: ReadingOptions = _STRICTLY,
    most_expansion: float = MOST_EXPANSION,
) -> GraphChange:
    """Read and check what a change is made of: N-Triples text, or one or several files.

    A text begins as N-Triples do, with `<`, `_:` or `#`, or is empty. `version` tells how quoted triples are read;
    what is skipped goes to the file of `options`. Raises MalformedRdfError, UnsupportedFormatError,
    MissingFileError, and StaticDataError for triples with blank nodes that are to be removed: they would name no
    node of the graph.
    """
    reading = options.reading(version, most_expansion)
    skipped: list[Skipped] = []
    if isinstance(source, str) and is_n_triples(source):
        _check_pairs(name, source)
        texts = [
            (
                name,
                canonical_lines(
                    spark, name, RdfFormat.N_TRIPLES, [source], reading, skipped=skipped
                ),
            )
        ]
    else:
        files = find_files(spark, source)
        if kind is not ChangeKind.REMOVE and sum(file.size for file in files) > _READ_HERE:
            return GraphChange(kind, graph, (), tuple(file.name for file in files), options)
        texts = [(file.name, triples_of(spark, file, reading, skipped)) for file in files]
    if skipped:
        logger.warning(
            "skipped %d malformed statement(s), see %s",
            len(skipped),
            write_skipped(skipped, options.skipped_file),
        )
    for where, text in texts:
        if kind is ChangeKind.REMOVE and _has_blank_nodes(text):
            raise StaticDataError(
                f"{where}: a blank node names no node of the graph: such triples cannot be removed"
            )
    return GraphChange(kind, graph, tuple(text for _, text in texts))


def _check_pairs(name: str, text: str) -> None:
    place = lone_surrogate(text)
    if place is not None:
        line = text.count("\n", 0, place) + 1
        column = place - text.rfind("\n", 0, place)
        raise MalformedRdfError(name, line, column, "a lone surrogate")


def _has_blank_nodes(canonical: str) -> bool:
    r"""Whether a term of canonical N-Triples, also within a quoted triple, is a blank node.

    >>> _has_blank_nodes('<a:s> <a:p> "_:x \\" _:y" .'), _has_blank_nodes("<a:s> <a:p> << _:b <a:p> <a:o> >> .")
    (False, True)
    """
    unquoted = _LITERAL.sub("", canonical)
    return any(word.startswith("_:") for word in unquoted.split())


class GraphEditor:
    """Carries changes out on a store.

    The terms of added rows are held in the dictionary one by one; those of rows that left are let go by `release`, when
    nothing can read them any more. Terms that came with files stay.
    """

    def __init__(self, store: StaticStore, spark: SparkSession) -> None:
        self._store = store
        self._spark = spark
        self._terms: Any = extension(spark).dictionary.ChangeTerms(store.dictionary)
        self._leaving: list[int] = []

    def apply(self, change: GraphChange) -> bool:
        """Make the change; the store's listeners are told. False when nothing is different."""
        store = self._store
        # The rows that are there must stay the same until those that come and go are known, and are made so.
        with store.lock:
            version = store.version
            self._apply(change)
            return store.version != version

    def _apply(self, change: GraphChange) -> None:
        store = self._store
        if change.files:
            replace = change.kind is ChangeKind.REPLACE
            options = change.options
            store.load(
                change.files,
                change.graph,
                progress=False,
                replace=replace,
                one_graph=True,
                on_error=options.on_error,
                skipped_file=options.skipped_file,
                contexts=options.contexts,
            )
            return
        graph_id = DEFAULT_GRAPH
        if change.graph is not None:
            graph_id = store.announce_graph(change.graph)
        if change.kind is ChangeKind.INSERT:
            self._insert(graph_id, change.texts)
        elif change.kind is ChangeKind.REMOVE:
            self._remove(graph_id, change.texts)
        else:
            self._replace(graph_id, change.texts)

    @property
    def holds_terms(self) -> bool:
        """Whether there is anything to `release`."""
        return bool(self._leaving)

    def release(self) -> None:
        """Let go of terms of rows that left: no plan reads them any more."""
        if self._leaving:
            self._terms.release(ids_to_bytes(self._leaving))
            self._leaving.clear()

    def _insert(self, graph_id: int, texts: Sequence[str]) -> None:
        held = self._encode(texts)
        wanted = _by_table(graph_id, held)
        there = self._store.rows_there(wanted)
        self._edit(
            graph_id,
            {key: RowEdits(added=frozenset(pairs - there[key])) for key, pairs in wanted.items()},
            held,
        )

    def _remove(self, graph_id: int, texts: Sequence[str]) -> None:
        wanted = _by_table(graph_id, ids_of_bytes(self._terms.lookup("".join(texts))))
        there = self._store.rows_there(wanted)
        self._edit(
            graph_id, {key: RowEdits(removed=frozenset(pairs)) for key, pairs in there.items()}
        )

    def _replace(self, graph_id: int, texts: Sequence[str]) -> None:
        held = self._encode(texts)
        whole = _by_table(graph_id, held)
        rows = self._store.row_count(graph_id)
        if rows > _COMPARED_ROWS:
            self._edit(graph_id, {}, held, whole)
            return
        before = self._store.rows_of_graph(graph_id)
        edits = {}
        for key in {*before, *whole}:
            old, new = before.get(key, set()), whole.get(key, set())
            edits[key] = RowEdits(frozenset(new - old), frozenset(old - new))
        few = 2 * sum(edit.size for edit in edits.values()) < rows
        self._edit(graph_id, edits, held, None if few else whole)

    def _encode(self, texts: Sequence[str]) -> list[int]:
        """Ids of subjects, predicates and objects, side by side, each held once more."""
        ids: list[int] = []
        for text in texts:
            # Documents share no blank nodes (RDF 1.1 Concepts, section 3.4).
            ids += ids_of_bytes(self._terms.encode(text, self._store.take_blank_scope()))
            problem = self._terms.problem()
            assert problem is None, "changes are checked when they are read"
        return ids

    def _edit(
        self,
        graph_id: int,
        edits: Mapping[TableKey, RowEdits],
        held: Sequence[int] = (),
        whole: Mapping[TableKey, Collection[Pair]] | None = None,
    ) -> None:
        before = self._store.rows_beside_files(graph_id)
        self._store.edit(graph_id, edits, whole)
        after = self._store.rows_beside_files(graph_id)
        self._terms.retain(ids_to_bytes(_terms_of(after, before)))
        self._terms.release(ids_to_bytes(held))
        self._leaving.extend(_terms_of(before, after))


def _by_table(graph_id: int, ids: Sequence[int]) -> dict[TableKey, set[Pair]]:
    tables: dict[TableKey, set[Pair]] = {}
    for s, p, o in zip(ids[::3], ids[1::3], ids[2::3], strict=True):
        tables.setdefault((graph_id, p), set()).add((s, o))
    return tables


def _terms_of(
    rows: Mapping[TableKey, frozenset[Pair]], others: Mapping[TableKey, frozenset[Pair]]
) -> list[int]:
    """The terms of rows that are not among the others, once a row."""
    terms: list[int] = []
    for key, pairs in rows.items():
        for pair in pairs - others.get(key, frozenset()):
            terms.extend((*pair, key[1]))
    return terms
