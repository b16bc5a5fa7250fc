"""Tables whose rows are triples of stream elements, as blocks of columns for the JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from sparkext.answers.rdflib_bridge import is_rdflib
from sparkext.argument_checks import check
from sparkext.bridge.arrow_blocks import TABLES, ColumnError, as_table, block_of, readable
from sparkext.errors import StreamElementError
from sparkext.runtime.parts.pushed_times import milliseconds
from sparkext.runtime.parts.pushed_triples import TermLike, term_text

GRAPH = "graph"
BLOCK_ROWS = 1 << 18
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_LEAST = np.iinfo(np.int64).min


class PushedTable:
    """The columns of a table that hold the terms and times of stream elements, or one of these for all rows.

    A role is given as the name of a column, or as a term or a time. Raises ArgumentError for what is no table and
    StreamElementError for columns that cannot be these.

    >>> from static_data.terms import Iri
    >>> table = pa.table({"sensor": ["http://e/a"], "value": [21.5], "time": [5]})
    >>> pushed = PushedTable(table, "sensor", Iri("http://e/value"), "value", "time", "graph")
    >>> pushed.rows, sorted(pushed.columns)
    (1, ['object', 'predicate', 'subject', 'time'])
    """

    def __init__(
        self,
        given: object,
        subject: TermLike,
        predicate: TermLike,
        object: TermLike,
        time: str | int | datetime | None,
        graph: TermLike | None,
    ) -> None:
        table = as_table(given)
        if table is None:
            raise check.wrong("table", TABLES, given)
        self._table = table
        self.rows = table.num_rows
        roles: dict[str, Any] = {"subject": subject, "predicate": predicate, "object": object}
        # By this name a column may be there or not.
        if graph is not None and not (graph == GRAPH and GRAPH not in table.column_names):
            roles[GRAPH] = graph
        self.columns: dict[str, pa.ChunkedArray | pa.Array] = {
            role: self._of_name(role, value)
            if isinstance(value, str) and not is_rdflib(value)
            else self._repeated(role, value)
            for role, value in roles.items()
        }
        self.columns["time"] = (
            self._times(time)
            if isinstance(time, str)
            else pa.repeat(pa.scalar(milliseconds(time), pa.int64()), self.rows)
        )

    def blocks(self, whole: bool) -> Iterator[tuple[memoryview, Rows]]:
        """Blocks of rows, all as one if `whole`, and which rows of the table each holds.

        They are in order of time, and no element is in two of them.
        """
        if whole or self.rows <= BLOCK_ROWS:
            yield self._block(self.columns), Rows(0, None)
            return
        millis = _milliseconds(self.columns["time"])
        order = None
        columns = self.columns
        if np.any(millis[1:] < millis[:-1]):
            order = np.argsort(millis, kind="stable")
            millis = millis[order]
            columns = {role: _taken(role, column, order) for role, column in columns.items()}
        begin = 0
        while begin < self.rows:
            end = min(begin + BLOCK_ROWS, self.rows)
            if GRAPH in columns:
                end = int(np.searchsorted(millis, millis[end - 1], side="right"))
            part = {role: column.slice(begin, end - begin) for role, column in columns.items()}
            yield self._block(part), Rows(begin, order)
            begin = end

    def _block(self, columns: dict[str, pa.ChunkedArray | pa.Array]) -> memoryview:
        try:
            return block_of({role: readable(role, column) for role, column in columns.items()})
        except ColumnError as error:
            raise StreamElementError(f"table: {error}") from None

    def _of_name(self, role: str, name: str) -> pa.ChunkedArray:
        places = self._table.schema.get_all_field_indices(check.text(role, name))
        if len(places) != 1:
            found = "several columns" if places else "no column"
            raise StreamElementError(
                f"table: {found} {name} for the {role}; its columns: {', '.join(self._table.column_names)}"
            )
        return self._table.column(places[0])

    def _times(self, name: str) -> pa.ChunkedArray:
        column = self._of_name("time", name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
            column = column.cast(kind)
        types = pa.types
        if not any(is_time(kind) for is_time in _TIME_TYPES):
            raise StreamElementError(
                f"table: column {name} must hold timestamps or milliseconds, not {kind}"
            )
        return column.cast(pa.int64()) if types.is_null(kind) else column

    def _repeated(self, role: str, value: TermLike) -> pa.Array:
        try:
            term = term_text(value)
        except StreamElementError as error:
            raise StreamElementError(f"{role}: {error}") from None
        codes = pa.repeat(pa.scalar(0, pa.int8()), self.rows)
        return pa.DictionaryArray.from_arrays(codes, pa.array([term]))


_TIME_TYPES = (
    pa.types.is_timestamp,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_null,
)


class Rows:
    """Which rows of a table those of a block are: from `begin` on, in an order of the table's rows."""

    def __init__(self, begin: int, order: Any) -> None:
        self._begin = begin
        self._order = order

    def told(self, outcome: str) -> str:
        """What became of the block, with the table's numbers of its rows."""
        if self._begin == 0 and self._order is None:
            return outcome
        found = json.loads(outcome)
        count, flaws = found["rejected"]
        if not count:
            return outcome
        for flaw in flaws:
            row = self._begin + flaw[1]
            flaw[1] = row if self._order is None else int(self._order[row])
        return json.dumps(found)


def _taken(role: str, column: pa.ChunkedArray | pa.Array, order: Any) -> Any:
    places = pa.array(order)
    try:
        return column.take(places)
    except pa.ArrowNotImplementedError:  # such as views
        return readable(role, column).take(places)


def _milliseconds(column: pa.ChunkedArray | pa.Array) -> Any:
    """Times as an array of numbers by which rows are put in order; nulls come first."""
    kind = column.type
    per_second = _PER_SECOND[kind.unit] if pa.types.is_timestamp(kind) else 1000
    if pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        values = np.nan_to_num(column.to_numpy(), nan=_LEAST, posinf=0, neginf=0)
        return np.clip(values, -(2.0**62), 2.0**62).astype(np.int64)
    ticks = column.cast(pa.int64(), safe=False).fill_null(_LEAST).to_numpy()
    return ticks // (per_second // 1000) if per_second >= 1000 else ticks * 1000
