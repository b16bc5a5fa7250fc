"""The rows of a mapping's own sources: CSV, JSON, JSON Lines and Parquet files, and tables that the caller has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from static_data.errors import MappingError, MissingFileError
from static_data.mappings.lexical_forms import TOO_LONG
from static_data.mappings.row_mapping import Place, RowForm, Source, Step
from static_data.mappings.rows import ArrowRows, JsonRows, Rows, UnreadRow, along

_LINES = (".jsonl", ".ndjson", ".jsonlines")
_BLOCK = 1 << 22
_BLOCK_ROWS = 1 << 16
_BLOCK_LINES = 1 << 13
_SHOWN = 60

RowsFinder = Callable[[str], "pa.Table | str | Path | None"]
"""The rows that the caller has for a source of some name: a table, or a file; None where there are none."""


def rows_of_source(source: Source, mapping_file: str, given: RowsFinder) -> Rows:
    """All rows of a source: what the caller has by its name, else a file beside the mapping.

    Raises MappingError, MissingFileError.
    """
    there = given(source.name)
    if isinstance(there, str | Path):
        return rows_of_file(Path(there), source)
    if there is not None:
        return ArrowRows(there, source, source.place)
    if source.is_table:
        raise source.place.error(
            f"no table {source.name} is given (tables=), nor does Spark have one"
        )
    if source.unreadable is not None:
        raise source.place.error(f"{source.name}: {source.unreadable}; give its rows (tables=)")
    return rows_of_file(path_of(source, mapping_file), source)


def path_of(source: Source, mapping_file: str) -> Path:
    """The file of a source: seen from the mapping's folder, then from the working directory.

    A mapping may come from anywhere, and names no file elsewhere: raises MappingError for one that does.
    """
    name = Path(source.name.removeprefix("file://"))
    folder = Path(mapping_file).parent
    beside = folder / name
    try:
        elsewhere = source.from_working_directory or (not beside.exists() and name.exists())
        path = name if elsewhere else beside
        inside = any(path.resolve().is_relative_to(f.resolve()) for f in (folder, Path()))
    except (OSError, ValueError) as error:  # no name of a file
        raise source.place.error(f"{source.name[:100]}: {error.args[-1]}") from None
    if not inside:
        raise source.place.error(
            f"{source.name} lies neither in the mapping's folder nor in the working directory: to have it read,"
            f" give its path yourself (tables={{{source.name!r}: PATH}})"
        )
    return path


def rows_of_file(path: Path, source: Source) -> Rows:
    """All rows of a file by its ending, read as the source says; raises MissingFileError, MappingError."""
    if not path.is_file():
        raise MissingFileError(str(path), "is a folder" if path.is_dir() else "no such file")
    ending = path.suffix.lower()
    place = Place(str(path))
    if ending in (".parquet", ".pq"):
        return ArrowRows(pq.read_table(path), source, place)
    if source.form is RowForm.JSON or ending in (".json", *_LINES):
        return JsonRows(list(_documents(path, source.iterator)), source)
    tables = list(csv_tables(path, source))
    return ArrowRows(pa.concat_tables(tables), source, place)


@dataclass(frozen=True)
class LineBlock:
    """Whole lines of a file of JSON Lines, the first of them number `first`."""

    content: bytes
    name: str
    source: Source
    first: int = 1

    def rows(self, lenient: bool = False) -> JsonRows:
        """The rows of its documents, as `json_rows` gives them."""
        lines = self.content.split(b"\n")
        found = json_rows(lines, self.name, self.source.iterator, self.first, lenient)
        return JsonRows(found, self.source)


def is_json_lines(path: Path) -> bool:
    """Whether a file, which must be there, is JSON Lines by its ending."""
    return path.is_file() and path.suffix.lower() in _LINES


def line_blocks(path: Path, source: Source) -> Iterator[LineBlock]:
    """The lines of a file of JSON Lines, block by block; one at least."""
    first = 1
    with path.open("rb") as file:
        yield LineBlock(b"", str(path), source)
        while content := file.read(_BLOCK):
            content += file.readline()
            yield LineBlock(content, str(path), source, first)
            first += content.count(b"\n")


def row_blocks(path: Path, source: Source, lenient: bool = False) -> Iterator[ArrowRows | JsonRows]:
    """The rows of a file, see `rows_of_file`, block by block; one at least. A document of JSON is one block.

    If `lenient`, an `UnreadRow` stands for a line that is no JSON; those of a CSV file, which are no rows with its
    columns, come after all others.
    """
    if not path.is_file():
        raise MissingFileError(str(path), "is a folder" if path.is_dir() else "no such file")
    ending = path.suffix.lower()
    place = Place(str(path))
    if ending in (".parquet", ".pq"):
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            yield ArrowRows(schema.empty_table(), source, place)
            for batch in file.iter_batches(_BLOCK_ROWS):
                yield ArrowRows(pa.Table.from_batches([batch]), source, place)
    elif ending in _LINES:
        with path.open("rb") as lines:
            first = 1
            yield JsonRows([], source)
            while block := list(islice(lines, _BLOCK_LINES)):
                found = json_rows(block, str(path), source.iterator, first, lenient)
                yield JsonRows(found, source)
                first += len(block)
    elif source.form is RowForm.JSON or ending == ".json":
        yield JsonRows(list(_documents(path, source.iterator, lenient)), source)
    else:
        unread: list[UnreadRow] | None = [] if lenient else None
        for table in csv_tables(path, source, unread):
            yield ArrowRows(table, source, place)
        if unread:
            yield JsonRows(unread, source)


def whole_rows(blocks: Sequence[ArrowRows | JsonRows]) -> list[ArrowRows | JsonRows]:
    """Blocks of one source, as few as may be: those that are tables in one, the others in one."""
    tables = [block for block in blocks if isinstance(block, ArrowRows)]
    values = [block for block in blocks if isinstance(block, JsonRows)]
    found: list[ArrowRows | JsonRows] = []
    if tables:
        whole = pa.concat_tables([block.table for block in tables])
        found.append(ArrowRows(whole, tables[0].source, tables[0].place))
    if values:
        found.append(JsonRows([r for block in values for r in block.rows], values[0].source))
    return found


def csv_tables(
    path: Path, source: Source, unread: list[UnreadRow] | None = None
) -> Iterator[pa.Table]:
    """The rows of a CSV file in blocks, all columns text; a field that is empty and not quoted is null.

    Raises MappingError for a file that is no CSV, with its first line as names, and for rows with more or fewer
    columns, unless they go to `unread`.
    """

    def skip(row: Any) -> str:
        # A quote without its other one: what looks like one row may be all that follows.
        if unread is None or "\n" in row.text:
            return "error"
        text = row.text if len(row.text) <= _SHOWN else f"{row.text[:_SHOWN]}..."
        unread.append(
            UnreadRow(f"{row.actual_columns} values for {row.expected_columns} columns: {text!r}")
        )
        return "skip"

    delimiter = source.delimiter or ("\t" if path.suffix.lower() == ".tsv" else ",")
    parse = pacsv.ParseOptions(
        delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip
    )
    read = pacsv.ReadOptions(block_size=_BLOCK)
    try:
        with pacsv.open_csv(path, read_options=read, parse_options=parse) as head:
            names = head.schema.names
        if unread:
            unread.clear()  # of the first block, which is read again
        convert = pacsv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        with pacsv.open_csv(path, read, parse, convert) as reader:
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])
    except UnicodeDecodeError as error:
        raise Place(str(path)).error(f"a line of names that is not UTF-8: {error.reason}") from None
    except pa.ArrowInvalid as error:
        raise Place(str(path)).error(f"no CSV with a line of names: {error}") from None


def json_rows(
    lines: Iterable[bytes],
    name: str,
    iterator: Sequence[Step],
    first: int = 1,
    lenient: bool = False,
) -> list[Any]:
    """The rows of JSON Lines; lines are counted from `first`.

    Raises MappingError for a line that is no JSON; if `lenient`, an `UnreadRow` stands for it.
    """
    rows: list[Any] = []
    for number, line in enumerate(lines, first):
        if line.strip():
            try:
                rows += along(_parsed(line, name, number), iterator)
            except MappingError as error:
                if not lenient:
                    raise
                rows.append(UnreadRow(f"line {number}: {error.message}"))
    return rows


def _documents(path: Path, iterator: Sequence[Step], lenient: bool = False) -> Iterator[Any]:
    with path.open("rb") as file:
        if path.suffix.lower() in _LINES:
            yield from json_rows(file, str(path), iterator, lenient=lenient)
            return
        yield from _whole(file, path, iterator, lenient)


def _whole(file: IO[bytes], path: Path, iterator: Sequence[Step], lenient: bool) -> Iterator[Any]:
    content = file.read()
    try:
        document = json.loads(content)
    except json.JSONDecodeError as error:
        # A file of lines may be called .json, too: then each line that is not empty is a document.
        lines = content.splitlines()
        if error.msg == "Extra data" and error.pos <= len(lines[0]) + 1:
            yield from json_rows(lines, str(path), iterator, lenient=lenient)
            return
        raise Place(str(path), None, error.lineno).error(f"no JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise Place(str(path)).error(f"not UTF-8: {error.reason}") from None
    except ValueError:
        raise Place(str(path)).error(TOO_LONG) from None
    except RecursionError:
        raise Place(str(path)).error("no JSON that can be read: it is nested too deeply") from None
    if not iterator and isinstance(document, list):
        yield from document  # rows of a document are asked for, and it is a list of them
    else:
        yield from along(document, iterator)


def _parsed(line: bytes, name: str, number: int) -> Any:
    try:
        return json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        message = f"column {error.colno}: no JSON: {error.msg}"
        raise Place(name, None, number).error(message) from None
    except UnicodeDecodeError as error:
        raise Place(name, None, number).error(f"not UTF-8: {error.reason}") from None
    except ValueError:
        raise Place(name, None, number).error(TOO_LONG) from None
    except RecursionError:
        message = "no JSON that can be read: it is nested too deeply"
        raise Place(name, None, number).error(message) from None
