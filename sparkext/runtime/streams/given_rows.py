"""Rows as callers give them: tables of several libraries, files, tables that Spark knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

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


def finder_of(tables: Mapping[str, object], spark: SparkSession) -> RowsFinder:
    """Finds rows by the name of their source: those given, then the tables of Spark."""

    def found(name: str) -> pa.Table | str | Path | None:
        given = tables.get(name)
        if isinstance(given, str | Path):
            return given
        if given is not None:
            return table_of(f"tables[{name!r}]", given)
        is_file = not _NAME.fullmatch(name) or name.lower().endswith(_FILES)
        if is_file or not spark.catalog.tableExists(name):
            return None
        return spark.table(name).toArrow()

    return found
