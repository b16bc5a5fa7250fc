"""Rows as callers give them: tables of several libraries, files, tables that Spark knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from sparkext.argument_checks import check
from sparkext.bridge.arrow_blocks import TABLES, as_table
from static_data.mappings.source_rows import RowsFinder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What may be the name of a table of Spark.
_NAME = re.compile(r"\w+(?:\.\w+){0,2}")
_FILES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".pq")


def table_of(name: str, given: object) -> pa.Table:
    """Rows as an Arrow table; raises ArgumentError for what is no table, calling it `name`."""
    table = as_table(given)
    if table is None:
        raise check.wrong(name, TABLES, given)
    return table


def frame_of(tables: Mapping[str, object], spark: SparkSession, name: str) -> DataFrame | None:
    """The rows of a source by its name where Spark has them: a DataFrame that is given, else a table of Spark."""
    given = tables.get(name)
    if given is not None:
        return given if isinstance(given, DataFrame) and not given.isStreaming else None
    return spark.table(name) if _is_table(spark, name) else None


def _is_table(spark: SparkSession, name: str) -> bool:
    is_file = not _NAME.fullmatch(name) or name.lower().endswith(_FILES)
    return not is_file and bool(spark.catalog.tableExists(name))


def finder_of(tables: Mapping[str, object], spark: SparkSession) -> RowsFinder:
    """Finds rows by the name of their source: those given, then the tables of Spark."""

    def found(name: str) -> pa.Table | str | Path | None:
        given = tables.get(name)
        if isinstance(given, str | Path):
            return given
        if given is not None:
            return table_of(f"tables[{name!r}]", given)
        return spark.table(name).toArrow() if _is_table(spark, name) else None

    return found
