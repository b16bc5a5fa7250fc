"""All targets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from static_data.files.rdf_formats import RdfFormat
from tests.fuzz.files import DamagedFiles, PackedFiles, StreamDocuments
from tests.fuzz.jvm_targets import (
    DamagedCheckpoints,
    DamagedStores,
    StreamColumns,
    StreamElements,
    TextLines,
)
from tests.fuzz.mappings import DamagedAnswers, DamagedMappings, DamagedSettings
from tests.fuzz.outcomes import Target
from tests.fuzz.queries import DamagedQueries, GrammarQueries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYTHON: Final[Mapping[str, Callable[[], Target]]] = {
    "queries": GrammarQueries,
    "damaged-queries": DamagedQueries,
    **{f"files-{f.value}": lambda f=f: DamagedFiles(f) for f in RdfFormat},
    **{
        f"documents-{f.value}": lambda f=f: StreamDocuments(f)
        for f in (RdfFormat.N_QUADS, RdfFormat.TRIG)
    },
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
    "checkpoints": DamagedCheckpoints,
}
"""Those that are read by the JVM; many cases go in one call."""

SHARES: Final[Mapping[str, float]] = {
    "queries": 0.04,
    "damaged-queries": 0.05,
    "files-nt": 0.1,
    "files-nq": 0.1,
    "files-ttl": 0.04,
    "files-trig": 0.04,
    "files-rdf": 0.05,
    "files-jsonld": 0.06,
    "documents-nq": 0.1,
    "documents-trig": 0.005,
    "packed": 0.04,
    "mappings": 0.005,
    "answer-files": 0.04,
    "settings": 0.05,
    "lines": 0.2597,
    "elements": 0.015,
    "columns": 0.005,
    "stores": 0.00015,
    "checkpoints": 0.00015,
}
"""Which part of all cases each target gets: those that take long get few."""
