"""A store in a folder: tables as Parquet, a dictionary that is used as it lies, a catalogue, and a
manifest that says it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from static_data.errors import StoreConflictError, StoreFormatError
from static_data.jvm import extension
from static_data.storage.catalogue import Catalogue
from static_data.storage.folders import Folder
from static_data.storage.row_edits import TableKey

FORMAT_NAME = "spark-cqels static store"
FORMAT_VERSION = 2
"""From 2 on the dictionary is mapped into memory; before, it was Parquet, and still is read."""

_PARQUET_DICTIONARY = 1
_MANIFEST = "manifest.json"
_CATALOGUE = "catalogue.json"
_INDEXES = "indexes"


@dataclass(frozen=True)
class SavedTable:
    """The table of one graph and predicate under the folder `root`; its indexes are, or will be, under `indexes`.

    The name of that folder is one that no other table of this graph and predicate has: processes know indexes by
    their paths.
    """

    root: str
    graph: int
    predicate: int
    rows: int
    indexes: str

    @property
    def inner(self) -> str:
        """The table's folder below the root."""
        return f"graph={self.graph}/predicate={self.predicate}"

    @property
    def path(self) -> str:
        """The table's folder."""
        return f"{self.root}/{self.inner}"

    @property
    def index_set(self) -> str:
        """The name of the folder `indexes`."""
        return self.indexes.rpartition("/")[2]

    @property
    def index_path(self) -> str:
        """The folder of the table's indexes."""
        return f"{self.indexes}/{self.inner}"


@dataclass(frozen=True)
class SavedStore:
    """What `read_saved` found; the dictionary knows the terms already."""

    tables: tuple[SavedTable, ...]
    graphs: tuple[str, ...]
    scopes: int
    catalogue: Catalogue | None


def write_saved(
    spark: SparkSession,
    folder: Folder,
    overwrite: bool,
    dictionary: Any,
    catalogue: Catalogue | None,
    tables: Sequence[SavedTable],
    save_indexes: Callable[[Sequence[SavedTable], Folder], Mapping[str, Sequence[TableKey]]],
    graphs: Sequence[str],
    scopes: int,
) -> None:
    """Write a store beside `folder`, then rename it; raises StoreFormatError when `folder` must not
    be replaced.

    `save_indexes` puts the indexes of tables into a folder, each set into one of its name; it returns what is in each.
    """
    replacing = folder.exists() and not folder.is_empty()
    if replacing:
        if not overwrite:
            raise StoreFormatError(folder.name, "exists; say overwrite to replace a saved store")
        _read_manifest(folder)
    partial = folder.sibling("partial")
    try:
        partial.make()
        quads = partial.child("quads")
        for table in tables:
            quads.child(f"graph={table.graph}").make()
            Folder(spark, table.path).copy(quads.child(table.inner))
        indexes = partial.child(_INDEXES)
        indexes.make()
        indexed = save_indexes(tables, indexes)
        terms = partial.child("dictionary")
        terms.make()
        count = extension(spark).loading.DictionaryFiles.write(
            spark._jsparkSession, dictionary, terms.path
        )
        if catalogue is not None:
            partial.write_text(_CATALOGUE, catalogue.to_json())
        manifest = {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "hashBits": dictionary.hashBits(),
            "terms": count,
            "dictionaryBytes": terms.size(),
            "quads": sum(table.rows for table in tables),
            "quadBytes": quads.size() if tables else 0,
            "indexSets": {name: [list(key) for key in keys] for name, keys in indexed.items()},
            "indexBytes": indexes.size(),
            "blankScopes": scopes,
            "graphs": list(graphs),
            "tables": [[t.graph, t.predicate, t.rows] for t in tables],
        }
        partial.write_text(_MANIFEST, json.dumps(manifest, indent=1))
        if replacing:
            old = folder.sibling("old")
            folder.rename(old)
            partial.rename(folder)
            old.delete()
        else:
            try:
                folder.delete_empty()
            except OSError as error:
                raise StoreFormatError(folder.name, "has been written to meanwhile") from error
            partial.rename(folder)
    finally:
        partial.delete()


def read_saved(
    spark: SparkSession, folder: Folder, dictionary: Any, other_indexes: str
) -> SavedStore:
    """Check a saved store and add its terms to `dictionary`, where they are read when looked up; its
    tables are read when asked for.

    Indexes that it lacks will be in `other_indexes`.
    """
    manifest = _read_manifest(folder)
    try:
        quads = folder.child("quads")
        indexes = folder.child(_INDEXES)
        # Without sets, indexes cannot be told from those of a store that was here before: they are made anew.
        indexed = {
            (graph, predicate): indexes.child(name).path
            for name, keys in manifest.get("indexSets", {}).items()
            for graph, predicate in keys
        }
        tables = tuple(
            SavedTable(quads.path, g, p, n, indexed.get((g, p), other_indexes))
            for g, p, n in manifest["tables"]
        )
        hash_bits = manifest["hashBits"]
        exceptions = manifest["exceptions"] if manifest["version"] == _PARQUET_DICTIONARY else None
        graphs = tuple(manifest["graphs"])
        scopes = manifest["blankScopes"]
        expected = (manifest["quadBytes"], manifest["dictionaryBytes"], manifest["terms"])
        index_bytes = manifest["indexBytes"] if indexed else 0
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreFormatError(folder.name, f"{_MANIFEST} lacks or misstates {error}") from error
    terms = folder.child("dictionary")
    if not terms.exists() or (tables and not quads.exists()):
        raise StoreFormatError(folder.name, "tables or dictionary are missing: not a whole store")
    if (quads.size() if tables else 0, terms.size()) != expected[:2]:
        raise StoreFormatError(folder.name, "files are missing or cut off: not a whole store")
    if indexed and (not indexes.exists() or indexes.size() != index_bytes):
        raise StoreFormatError(folder.name, "indexes are missing or cut off: not a whole store")
    if dictionary.hashBits() != hash_bits:
        raise StoreConflictError(
            f"{folder.name}: made with hashes of {hash_bits} bits,"
            f" this session has {dictionary.hashBits()}"
        )
    read = _add_terms(spark, folder, terms, dictionary, expected[2], exceptions)
    if read != expected[2]:
        raise StoreFormatError(folder.name, f"{read} terms in place of {expected[2]}")
    catalogue = None
    if folder.exists(_CATALOGUE):
        try:
            catalogue = Catalogue.from_json(folder.read_text(_CATALOGUE))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StoreFormatError(folder.name, f"{_CATALOGUE} is damaged: {error}") from error
    return SavedStore(tables, graphs, scopes, catalogue)


def _add_terms(
    spark: SparkSession,
    folder: Folder,
    terms: Folder,
    dictionary: Any,
    expected: int,
    exceptions: dict[str, int] | None,
) -> int:
    """Add the terms to `dictionary` as the folder's version has them; returns how many there were."""
    files = extension(spark).loading.DictionaryFiles
    session = spark._jsparkSession
    try:
        if exceptions is None:
            return int(files.open(session, dictionary, terms.path))
        return int(files.read(session, dictionary, terms.path, expected, exceptions))
    except Py4JJavaError as error:
        name, message = (
            error.java_exception.getClass().getSimpleName(),
            error.java_exception.getMessage(),
        )
        if name == "UnreadableTerms":
            raise StoreFormatError(folder.name, f"dictionary/{files.Name()} {message}") from error
        if name == "IdCollision":
            raise StoreConflictError(
                f"{folder.name}: {message}; open it before streams run and files are loaded"
            ) from error
        raise


def _read_manifest(folder: Folder) -> dict[str, Any]:
    if not folder.exists():
        # Killed between two renames, a save has left the store under another name.
        left = [
            f for how in ("partial", "old") for f in folder.siblings(how) if f.exists(_MANIFEST)
        ]
        names = " and ".join(f.name for f in left)
        hint = f"; a save that was broken off has left {names}: rename it" if left else ""
        raise StoreFormatError(folder.name, f"no such folder{hint}")
    if not folder.exists(_MANIFEST):
        raise StoreFormatError(
            folder.name, f"no {_MANIFEST} in it: not a saved store, or not a whole one"
        )
    try:
        manifest = json.loads(folder.read_text(_MANIFEST))
    except ValueError as error:
        raise StoreFormatError(folder.name, f"{_MANIFEST} is not JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT_NAME:
        raise StoreFormatError(folder.name, f"{_MANIFEST} is not that of a saved store")
    if manifest.get("version") not in (_PARQUET_DICTIONARY, FORMAT_VERSION):
        raise StoreFormatError(
            folder.name,
            f"format version {manifest.get('version')}; this program reads"
            f" {_PARQUET_DICTIONARY} and {FORMAT_VERSION}",
        )
    return manifest
