"""The quads that the JVM makes of columns are those of the plain reading of the mapping, row by row."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.runtime.streams.stream_mapping import MappingOptions, StreamMapping, element_mapping
from static_data.errors import MappedRowError
from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.rows import ArrowRows, JsonRows
from static_data.mappings.source_rows import rows_of_source
from tests.static_data.mappings.mapping_cases import (
    CASES,
    NEW_PREFIXES,
    TURTLE_PREFIXES,
    MappingCase,
)
from tests.static_data.mappings.quad_sets import without_labels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


class Taker:
    """Takes rows into a log of its own, and reads the log's quads back."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from sparkext.bridge.handover import Handover
        from static_data.jvm import extension

        self.spark = spark
        self.extension = extension(spark)
        self.dictionary = self.extension.dictionary.Dictionary()
        path = folder / "block"
        java_path = spark._jvm.java.io.File(str(path)).toPath()  # type: ignore[union-attr]
        self.handover = Handover(path, self.extension.ingest.Handover(java_path))

    def take(self, options: MappingOptions, rows: Any, tables: Any) -> tuple[dict[str, Any], list[set[str]]]:
        """What became of rows, and the quads of each element that was taken in, in order of time."""
        log = self.extension.streams.StreamLog(f"http://e/s{next(_numbers)}", self.dictionary)
        mapping = StreamMapping(self.spark, log, element_mapping(options, tables), True)
        outcome = json.loads(mapping.take(mapping.columns(rows), self.handover, "", False))
        elements = list(self._elements(log))
        log.dropExpired((1 << 62) - 1)
        mapping.close()
        assert self.dictionary.streamSize() == 0, "something is still held"
        return outcome, elements

    def _elements(self, log: Any) -> Iterator[set[str]]:
        """The quads of each time, of which there is one element."""
        window = log.window("all")
        log.advance(window, -(1 << 62), (1 << 62) - 1)
        panes = log.contentOf(window).iterator()
        while panes.hasNext():
            pane = panes.next()._2()
            cells = list(pane.data())[: pane.rowCount() * 4]
            texts = [None if cell == 0 else self.dictionary.text(cell) for cell in cells]
            yield {
                " ".join(t for t in texts[n : n + 4] if t is not None) + " ."
                for n in range(0, len(texts), 4)
            }
        log.dropWindow("all")


@pytest.fixture(scope="module")
def taker(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Taker:
    return Taker(spark, tmp_path_factory.mktemp("handover"))


def rows_with_times(rows: Any) -> Any:
    """The rows with their number as their time."""
    if isinstance(rows, JsonRows):
        return JsonRows([{**row, "row_time": n} for n, row in enumerate(rows.rows)], rows.source)
    return rows.table.append_column("row_time", pa.array(range(len(rows)), pa.int64()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(taker: Taker, case: MappingCase, tmp_path: Path) -> None:
    for name, text in case.files.items():
        (tmp_path / name).write_text(text, "utf-8")
    file = tmp_path / f"mapping.{case.ending}"
    file.write_text(case.mapping, "utf-8")
    for mapped in read_mapping(file).rows:
        rows = rows_of_source(mapped.source, str(file), case.tables.get)
        options = MappingOptions(file, "row_time", mapped.source.name)
        outcome, elements = taker.take(options, rows_with_times(rows), case.tables.get)
        others = [source for source in mapped.parents() if source != mapped.source]
        parents = {s: rows_of_source(s, str(file), case.tables.get) for s in others}
        expected = list(Materialiser(mapped, parents).quads_by_row(rows))
        assert outcome["accepted"] == len(expected) and outcome["rejected"] == [0, []]
        for quads, element in zip(expected, elements, strict=True):
            assert not isinstance(quads, MappedRowError)
            assert without_labels(element) == without_labels(q.nquads() for q in quads)
