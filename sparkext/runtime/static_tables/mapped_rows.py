"""Static data that are rows: tables and files of them, and a mapping that says which triples they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from sparkext.argument_checks import check
from sparkext.bridge.handover import Handover
from sparkext.runtime.static_tables.frame_columns import frame_columns
from sparkext.runtime.streams.given_rows import finder_of, frame_of, table_of
from sparkext.runtime.streams.mapped_columns import columns_of, row_block
from sparkext.runtime.streams.stream_mapping import MappingOptions
from static_data.errors import MappedRowError
from static_data.files.on_error import OnError, Skipped
from static_data.jvm import extension
from static_data.loading.statements import skipped_problems
from static_data.mappings.program import program_of
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.row_mapping import MappedRows, RowMapping
from static_data.mappings.rows import ArrowRows, JsonRows, UnreadRow, along
from static_data.mappings.source_rows import (
    LineBlock,
    RowsFinder,
    is_json_lines,
    line_blocks,
    path_of,
    row_blocks,
    rows_of_source,
    whole_rows,
)
from static_data.progress import rows_bar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.parts.engine_parts import EngineParts
    from static_data.loading.load import LoadReport

_BLOCK_ROWS = 1 << 16

Blocks = Iterable[ArrowRows | JsonRows | LineBlock]


def load_rows(
    parts: EngineParts,
    given: object,
    options: MappingOptions,
    graph: str | None = None,
    progress: bool | None = None,
    on_error: str = "fail",
    skipped_file: str | Path | None = None,
) -> LoadReport:
    """Load what a mapping makes of rows as `StaticStore.load` loads files.

    `given` is a table or a file of rows of one of the mapping's sources, or several, or None: the rows of all sources
    of the mapping, as far as it has triples for them. Raises MappingError, MissingFileError, and MappedRowError for a
    row of which a term cannot be made where `on_error` does not skip it.
    """
    OnError.named(on_error)
    check.flag("progress", progress, or_none=True)
    mapping = read_mapping(options.file, options.base_iri)
    finder = finder_of(options.tables, parts.spark)
    inputs = list(_inputs(parts.spark, mapping, given, options, finder))
    rows = GivenRows(inputs, str(options.file), finder, progress)
    return parts.store.load_statements(rows, graph, progress, on_error, skipped_file)


@dataclass(frozen=True)
class RowInput:
    """Rows of one source, a DataFrame or what gives them in blocks each time it is called, and how many they are.

    Called with True, it gives an `UnreadRow` for what is no row.
    """

    mapped: MappedRows
    rows: DataFrame | Callable[[bool], Blocks]
    count: int | None = None
    bytes: int = 0


@dataclass
class GivenRows:
    """Rows of inputs as `StaticStore.load_statements` takes them: encoded by tasks, and by threads of the JVM."""

    inputs: Sequence[RowInput]
    mapping_file: str
    finder: RowsFinder
    progress: bool | None = None
    skipped: Iterable[Skipped] = ()

    @property
    def bytes(self) -> int:
        """Of the files, and of tables in memory."""
        return sum(one.bytes for one in self.inputs)

    def encode(
        self, spark: SparkSession, dictionary: Any, scope: str, graph: str | None, on_error: OnError
    ) -> Any:
        """Encode them; see `GivenStatements.encode`. Raises MappingError, MappedRowError, MissingFileError."""
        jvm = extension(spark)
        load = jvm.mapped.MappedLoad(spark._jsparkSession, dictionary, scope, graph, on_error.value)
        with TemporaryDirectory() as folder:
            block = Path(folder) / "block"
            java: Any = spark._jvm
            handover = Handover(block, jvm.ingest.Handover(java.java.io.File(str(block)).toPath()))
            try:
                made = None
                while made is None:  # else terms had the same id; now they have others
                    load.begin()
                    self._hand_over(load, handover, scope, on_error is OnError.SKIP)
                    made = load.end()
            finally:
                load.release()
                handover.jvm.close()
                handover.close()
        problem = made.problem()
        if problem is not None:
            raise MappedRowError(self._name(problem), problem.line(), problem.message())
        self.skipped = (
            Skipped(self._name(one), None, None, f"row {one.line()}: {one.message()}")
            for one in skipped_problems(made)
        )
        return made

    def _name(self, problem: Any) -> str:
        place: int = problem.file()
        return self.inputs[place].mapped.source.name

    def _hand_over(self, load: Any, handover: Handover, scope: str, lenient: bool) -> None:
        counts = [one.count for one in self.inputs if not isinstance(one.rows, DataFrame)]
        total = sum(c for c in counts if c is not None) if None not in counts else None
        with rows_bar("rows", total, self.progress and bool(counts)) as taken:
            for one in self.inputs:
                program = program_of(one.mapped, self._parents(one, lenient), scope)
                load.input(program.json)
                if isinstance(one.rows, DataFrame):
                    source = one.mapped.source
                    columns = frame_columns(one.rows, source, program.columns)
                    if columns is not None:
                        load.takeFrame(columns._jdf)
                        continue
                first = 0
                for block in _blocks(one, lenient):
                    rows: ArrowRows | JsonRows | None
                    if isinstance(block, LineBlock):
                        length = handover.write(block.content)
                        count = load.takeJson(handover.jvm, length, first)
                        rows = block.rows(lenient) if count < 0 else None
                    else:
                        rows = block
                    if rows is not None:
                        columns = columns_of(rows, program.columns, None, first)
                        load.take(handover.jvm, handover.write(row_block(columns)))
                        count = len(rows)
                    first += count
                    taken(count)
                    if load.isEnded():
                        return

    def _parents(self, one: RowInput, lenient: bool) -> dict[Any, ArrowRows | JsonRows]:
        """The rows that a mapping joins with, its own among them."""
        found: dict[Any, Any] = {}
        for source in one.mapped.parents():
            if source == one.mapped.source:
                found[source] = _whole(_blocks(one, lenient), lenient)
            else:
                found[source] = rows_of_source(source, self.mapping_file, self.finder)
        return found


def _blocks(one: RowInput, lenient: bool = False) -> Blocks:
    if isinstance(one.rows, DataFrame):
        return _of_table("files", one.rows, one.mapped)
    return one.rows(lenient)


def _whole(blocks: Blocks, lenient: bool) -> ArrowRows | JsonRows:
    """All rows of an input in one, but for those that could not be read."""
    parts = [part.rows(lenient) if isinstance(part, LineBlock) else part for part in blocks]
    found = whole_rows(parts)[0]
    if isinstance(found, JsonRows):
        return JsonRows([r for r in found.rows if not isinstance(r, UnreadRow)], found.source)
    return found


def _inputs(
    spark: SparkSession,
    mapping: RowMapping,
    given: object,
    options: MappingOptions,
    finder: RowsFinder,
) -> Iterator[RowInput]:
    if given is None:
        wanted = [r for r in mapping.rows if options.logical_source in (None, r.source.name)]
        for mapped in wanted or [mapping.of_source(options.logical_source)]:
            yield _of_source(spark, mapped, options, finder)
        return
    mapped = mapping.of_source(options.logical_source)
    for one in given if isinstance(given, list | tuple) else [given]:
        if isinstance(one, str | Path):
            yield _of_file(Path(check.path("files", one)), mapped)
        elif isinstance(one, DataFrame) and not one.isStreaming:
            yield RowInput(mapped, one)
        else:
            yield _table_input(mapped, "files", one)


def _of_source(
    spark: SparkSession, mapped: MappedRows, options: MappingOptions, finder: RowsFinder
) -> RowInput:
    """The rows of a source as the mapping names it, see `rows_of_source`."""
    source = mapped.source
    frame = frame_of(options.tables, spark, source.name)
    if frame is not None:
        return RowInput(mapped, frame)
    there = options.tables.get(source.name)
    if isinstance(there, str | Path):
        return _of_file(Path(there), mapped)
    if there is not None:
        return _table_input(mapped, f"tables[{source.name!r}]", there)
    if source.is_table or source.unreadable is not None:
        rows_of_source(source, str(options.file), finder)  # says what is wrong
    return _of_file(path_of(source, str(options.file)), mapped)


def _of_file(path: Path, mapped: MappedRows) -> RowInput:
    size = path.stat().st_size if path.is_file() else 0
    if is_json_lines(path):
        return RowInput(mapped, lambda _: line_blocks(path, mapped.source), None, size)
    return RowInput(mapped, lambda lenient: row_blocks(path, mapped.source, lenient), None, size)


def _table_input(mapped: MappedRows, name: str, given: object) -> RowInput:
    table = table_of(name, given)
    return RowInput(mapped, lambda _: _of_table(name, table, mapped), table.num_rows, table.nbytes)


def _of_table(name: str, given: object, mapped: MappedRows) -> Iterator[ArrowRows | JsonRows]:
    table = table_of(name, given)
    source = mapped.source
    for first in range(0, max(1, table.num_rows), _BLOCK_ROWS):
        part = table.slice(first, _BLOCK_ROWS)
        if source.iterator:
            rows = [
                row for document in part.to_pylist() for row in along(document, source.iterator)
            ]
            yield JsonRows(rows, source)
        else:
            yield ArrowRows(part, source, source.place)
