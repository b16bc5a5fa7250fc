"""Messages of rows, for streams with a mapping: JSON, CSV and Avro; one message is one row or several."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.sources.extras import library

FORMATS = ("json", "csv", "avro")
_CONTAINER = b"Obj\x01"
# Confluent's wire format: a zero and the number of a schema stand before the record.
_WIRE = 5


class ReadRows(NamedTuple):
    """What a message holds: rows by column, and the reasons of what was malformed."""

    rows: list[dict[str, Any]]
    flaws: list[str]


@dataclass(frozen=True)
class RowMessages:
    """How payloads are read as rows.

    "json": an object, an array of them, or lines of them. "csv": lines of values of the `columns`, without a header.
    "avro": a record of the `schema`, also behind the five bytes of Confluent's wire format (`wire`), or a whole Avro
    file, which brings its schema.
    """

    format: str = "json"
    columns: tuple[str, ...] = ()
    schema: str | None = None
    wire: bool = False
    _parsed: list[Any] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def checked(
        cls,
        format: str,
        columns: Sequence[str] = (),
        schema: str | Path | dict[str, Any] | None = None,
        wire: bool = False,
    ) -> RowMessages:
        """The same, of what a user gave; raises ArgumentError, MissingLibraryError."""
        check.text("format", format)
        if format not in FORMATS:
            raise ArgumentError("format", f"must be one of {', '.join(FORMATS)}, not {format!r}")
        checked_columns(columns, wire)
        if format == "csv" and not columns:
            raise ArgumentError("columns", "rows of CSV need the names of their columns, in order")
        text = None
        if format == "avro":
            library("fastavro", "avro", "a source of Avro")
            text = _schema_text(schema)
        return cls(format, tuple(columns), text, wire)

    def read(self, payload: bytes | None) -> ReadRows:
        """The rows of a payload.

        >>> RowMessages("csv", ("a", "b")).read(b'1,"x, y"')
        ReadRows(rows=[{'a': '1', 'b': 'x, y'}], flaws=[])
        >>> RowMessages().read(b"[1]").flaws
        ['a row is a JSON object, not 1']
        """
        if payload is None:
            return ReadRows([], ["no payload"])
        try:
            if self.format == "json":
                return _json_rows(payload)
            return self._csv(payload) if self.format == "csv" else self._avro(payload)
        except RecursionError:
            return ReadRows([], ["nested too deeply"])
        except UnicodeDecodeError:
            return ReadRows([], ["not UTF-8"])
        except (ValueError, csv.Error) as error:
            return ReadRows([], [str(error)])

    def _csv(self, payload: bytes) -> ReadRows:
        rows: list[dict[str, Any]] = []
        flaws: list[str] = []
        for values in csv.reader(io.StringIO(payload.decode(), newline=""), strict=True):
            if not values:
                continue
            if len(values) != len(self.columns):
                flaws.append(f"{len(values)} values for {len(self.columns)} columns")
            else:
                found = zip(self.columns, values, strict=True)
                rows.append({name: value if value else None for name, value in found})
        return ReadRows(rows, flaws)

    def _avro(self, payload: bytes) -> ReadRows:
        fastavro = library("fastavro", "avro", "a source of Avro")
        try:
            if payload.startswith(_CONTAINER):
                return ReadRows(list(fastavro.reader(io.BytesIO(payload))), [])
            if self.schema is None:
                return ReadRows([], ["no Avro file, and no schema was given"])
            if self.wire and payload[:1] != b"\0":
                return ReadRows([], ["not in Confluent's wire format: the first byte is not 0"])
            content = io.BytesIO(payload[_WIRE:] if self.wire else payload)
            row = fastavro.schemaless_reader(content, self._schema(), None)
            if content.read(1):
                return ReadRows([], ["more bytes than a record of the schema has"])
        except Exception as error:  # fastavro raises what its decoders happen to meet
            return ReadRows([], [f"not Avro of the schema: {type(error).__name__} {error}".strip()])
        if not isinstance(row, dict):
            return ReadRows([], ["a row is a record of Avro"])
        return ReadRows([row], [])

    def _schema(self) -> Any:
        if not self._parsed:
            fastavro = library("fastavro", "avro", "a source of Avro")
            self._parsed.append(fastavro.parse_schema(json.loads(self.schema or "null")))
        return self._parsed[0]


def checked_columns(columns: object, wire: object) -> None:
    """Raises ArgumentError for what is no list of names, and no truth value."""
    if isinstance(columns, str | bytes) or not isinstance(columns, Sequence):
        raise check.wrong("columns", "a list of names", columns)
    for name in columns:
        check.text("columns", name)
    check.flag("wire", wire)


def _json_rows(payload: bytes) -> ReadRows:
    text = payload.decode()
    try:
        found = json.loads(text)
        values = found if isinstance(found, list) else [found]
    except json.JSONDecodeError:
        # Not splitlines: JSON leaves U+2028 and its like inside strings as they are.
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2:
            raise
        values = [json.loads(line) for line in lines]
    rows = [value for value in values if isinstance(value, dict)]
    odd = [value for value in values if not isinstance(value, dict)]
    return ReadRows(
        rows, [f"a row is a JSON object, not {json.dumps(value)[:60]}" for value in odd]
    )


def _schema_text(schema: str | Path | dict[str, Any] | None) -> str | None:
    """A schema as JSON text, of itself, of its text or of a file; None where Avro files bring their own."""
    if schema is None:
        return None
    fastavro = library("fastavro", "avro", "a source of Avro")
    try:
        if isinstance(schema, str) and schema.lstrip()[:1] in ("{", '"', "["):
            given = json.loads(schema)
        elif isinstance(schema, str | Path):
            given = json.loads(Path(check.path("schema", schema)).read_text(encoding="utf-8"))
        elif isinstance(schema, dict):
            given = schema
        else:
            raise check.wrong("schema", "an Avro schema, its text or a file of it", schema)
        fastavro.parse_schema(json.loads(json.dumps(given)))
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError("schema", f"no Avro schema: {error}") from error
    return json.dumps(given)
