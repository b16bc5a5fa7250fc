"""All targets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from static_data.files.rdf_formats import RdfFormat
from tests.fuzz.files import DamagedFiles, PackedFiles, StreamDocuments
from tests.fuzz.jvm_targets import DamagedStores, StreamColumns, StreamElements, TextLines
from tests.fuzz.mappings import DamagedAnswers, DamagedMappings, DamagedSettings
from tests.fuzz.outcomes import Target
from tests.fuzz.queries import DamagedQueries, GrammarQueries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYTHON: Final[Mapping[str, Callable[[], Target]]] = {
    "queries": GrammarQueries,
    "damaged-queries": DamagedQueries,
    **{f"files-{f.value}": lambda f=f: DamagedFiles(f) for f in RdfFormat},
    **{f"documents-{f.value}": lambda f=f: StreamDocuments(f) for f in (RdfFormat.N_QUADS, RdfFormat.TRIG)},
    "packed": PackedFiles,
    "mappings": DamagedMappings,
    "answer-files": DamagedAnswers,
    "settings": DamagedSettings,
}
"""Those that need no Spark."""

JVM: Final[Mapping[str, Callable[[SparkSession], Target]]] = {
    "lines": TextLines,
    "elements": StreamElements,
    "columns": StreamColumns,
    "stores": DamagedStores,
}
"""Those that are read by the JVM; many cases go in one call. Damaged checkpoints are to be another of them."""

SHARES: Final[Mapping[str, float]] = {
    "queries": 0.07,
    "damaged-queries": 0.08,
    **{f"files-{f.value}": 0.05 for f in RdfFormat},
    "documents-nq": 0.05,
    "documents-trig": 0.05,
    "packed": 0.05,
    "mappings": 0.01,
    "answer-files": 0.05,
    "settings": 0.05,
    "lines": 0.19,
    "elements": 0.049,
    "columns": 0.05,
    "stores": 0.001,
}
"""Which part of all cases each target gets."""
