"""Linked Data in: files to 64-bit ids, per-predicate tables, pre-joins and a catalogue."""

from static_data.errors import StaticDataError
from static_data.files.on_error import OnError, Skipped
from static_data.graph_names import DEFAULT_GRAPH, GraphName
from static_data.loading.load import LoadReport
from static_data.storage.catalogue import Catalogue, ColumnStatistics, RelationStatistics
from static_data.storage.store_changes import StoreChange
from static_data.store import StaticStore

__all__ = [
    "DEFAULT_GRAPH",
    "Catalogue",
    "ColumnStatistics",
    "GraphName",
    "LoadReport",
    "OnError",
    "RelationStatistics",
    "Skipped",
    "StaticDataError",
    "StaticStore",
    "StoreChange",
]
