"""Loads that go on where they were killed: the folder of their encoded parts, and what these depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from static_data.files.reading import Reading
from static_data.jvm import extension
from static_data.loading.source_files import SourceFile


@dataclass(frozen=True)
class Resuming:
    """The folder in which a load keeps what it has encoded; it is for this load alone."""

    spark: SparkSession
    path: str

    def of_load(
        self,
        files: Sequence[SourceFile],
        base_iri: str | None,
        reading: Reading,
        one_graph: bool,
    ) -> Any:
        """The extension's ResumeFolder: where, how files are read, and the format of each."""
        contexts = {
            iri: hashlib.sha256(text.encode()).hexdigest() for iri, text in reading.contexts.items()
        }
        settings = [base_iri, reading.version.value, one_graph, sorted(contexts.items())]
        kinds = [f"{f.uri} {f.format.rdf.value} {f.format.compression.value}" for f in files]
        made = extension(self.spark).loading.ResumeFolder
        return made(self.path, json.dumps(settings), kinds)

    def clear(self) -> None:
        """Delete what the load kept: it is saved elsewhere."""
        made = extension(self.spark).loading.ResumeFolder
        made.clear(self.spark._jsparkSession, self.path)
