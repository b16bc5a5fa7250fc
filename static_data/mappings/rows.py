"""Rows as mappings read them: Arrow tables and JSON values in, the values of each row by reference out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from static_data.mappings.lexical_forms import (
    NaturalValue,
    NoLexicalFormError,
    natural_value,
    natural_values,
)
from static_data.mappings.row_mapping import Place, Reference, RowForm, Source, Step

Values = tuple[NaturalValue, ...]


class Rows(Protocol):
    """Rows of one source; a reference has several values in a row where its path leads to several, none for null."""

    def __len__(self) -> int: ...

    def values(self, reference: Reference, flaws: dict[int, str] | None = None) -> list[Values]:
        """The values of each row; raises MappingError where there is no such column.

        A row with a value of which there is no lexical form, such as a JSON object, is a MappingError, too; with
        `flaws` it has no values, and there, by its number from 0, the first reason is kept.
        """
        ...


@dataclass
class ArrowRows:
    """The rows of an Arrow table."""

    table: pa.Table
    source: Source
    place: Place = field(default_factory=lambda: Place(""))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def slice(self, first: int, count: int) -> ArrowRows:
        """Some of the rows."""
        return ArrowRows(self.table.slice(first, count), self.source, self.place)

    def values(self, reference: Reference, flaws: dict[int, str] | None = None) -> list[Values]:
        """The values of each row; raises MappingError for a missing column, or one of a type without lexical forms."""
        column = column_of(self.table, reference, self.source, self.place)
        if column is None:
            if reference.steps and reference.steps[0] not in self.table.column_names:
                return [()] * len(self)
            whole = self.table.select(list(reference.steps[:1])) if reference.steps else self.table
            return JsonRows(whole.to_pylist(), self.source).values(reference, flaws)
        try:
            found = natural_values(column)
        except NoLexicalFormError as error:
            raise self.place.error(f"{error}: {reference.text}") from None
        nulls = self.source.nulls
        return [() if v is None or v.lexical in nulls else (v,) for v in found]


@dataclass(frozen=True)
class UnreadRow:
    """What stands for a row in a file that could not be read as one, and why."""

    reason: str


@dataclass
class JsonRows:
    """Rows that are JSON values; a path that leads nowhere is null. There may be an `UnreadRow` among them."""

    rows: Sequence[Any]
    source: Source

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, first: int, count: int) -> JsonRows:
        """Some of the rows."""
        return JsonRows(self.rows[first : first + count], self.source)

    def unread(self) -> dict[int, str]:
        """What is wrong with each row, by its number from 0, that could not be read."""
        return {n: row.reason for n, row in enumerate(self.rows) if isinstance(row, UnreadRow)}

    def values(self, reference: Reference, flaws: dict[int, str] | None = None) -> list[Values]:
        """The values of each row; raises MappingError where one has no lexical form, unless `flaws` take the reason."""
        values: list[Values] = []
        for number, row in enumerate(self.rows):
            found, reason = self._values_of(row, reference)
            values.append(found)
            if reason is not None:
                if flaws is None:
                    raise self.source.place.error(reason)
                flaws.setdefault(number, reason)
        return values

    def _values_of(self, row: Any, reference: Reference) -> tuple[Values, str | None]:
        """The values of a row, or none and what is wrong with it."""
        if isinstance(row, UnreadRow):
            return (), row.reason
        try:
            return _found(row, reference.steps, self.source), None
        except NoLexicalFormError as error:
            return (), f"{error}: {reference.text}"


def column_of(
    table: pa.Table, reference: Reference, source: Source, place: Place
) -> pa.ChunkedArray | None:
    """The column that a reference names, perhaps a field of a struct; None where it is a path to something else.

    Columns of tables may be written in another case, as SQL has it. Raises MappingError for a column that is not
    there; a path into JSON then is None.
    """
    if not reference.is_column:
        return None
    first = str(reference.steps[0])
    name = _name_in(table, first, source.is_table)
    if name is None:
        if source.form is RowForm.JSON:
            return None
        raise place.error(
            f"the rows have no column {reference.text}; they have {', '.join(table.column_names)}"
        )
    if table.column_names.count(name) > 1:
        raise place.error(f"the rows have several columns {name}")
    column = table.column(name)
    for step in reference.steps[1:]:
        kind = column.type
        if not pa.types.is_struct(kind) or kind.get_field_index(str(step)) < 0:
            return pa.chunked_array([pa.nulls(table.num_rows)])
        column = pc.struct_field(column, str(step))
    kind = column.type
    nested = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_struct(kind)
    return None if nested else column


def _name_in(table: pa.Table, name: str, any_case: bool) -> str | None:
    if name in table.column_names:
        return name
    found = [c for c in table.column_names if any_case and c.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def along(value: Any, steps: Sequence[Step]) -> Iterator[Any]:
    """What a path leads to, which may be nothing, or null.

    >>> list(along({"a": [{"b": 1}, {"b": 2}, 3]}, ("a", None, "b")))
    [1, 2]
    """
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield from along(value[step], rest)
    elif isinstance(step, int):
        if isinstance(value, list) and step < len(value):
            yield from along(value[step], rest)
    elif isinstance(value, list):
        for item in value:
            yield from along(item, rest)
    elif isinstance(value, dict):
        for item in value.values():
            yield from along(item, rest)


def _found(row: Any, steps: Sequence[Step], source: Source) -> Values:
    there = (natural_value(value) for value in along(row, steps) if value is not None)
    return tuple(value for value in there if value.lexical not in source.nulls)
