"""The answers of one evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkext.answers import select_line
from sparkext.s2r.event_time import format_date_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN_ROWS = 20


@dataclass(frozen=True)
class Answers:
    """What a query answers at one instant: a bag of solution mappings, terms as N-Triples text, None where unbound.

    `time` is the evaluation instant in milliseconds since the epoch; `ordered` tells whether the rows' order is the
    query's (ORDER BY). `seconds` is what the evaluation took, answers decoded.
    """

    query: str
    time: int
    variables: tuple[str, ...]
    table: pa.Table
    ordered: bool = False
    seconds: float = 0.0

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def rows(self) -> list[tuple[str | None, ...]]:
        """The solution mappings as tuples in the order of `variables`."""
        columns = [column.to_pylist() for column in self.table.columns]
        return list(zip(*columns, strict=True)) if columns else [()] * self.table.num_rows

    def __iter__(self) -> Iterator[dict[str, str]]:
        """Each solution mapping as a dictionary without its unbound variables."""
        for row in self.rows():
            yield {v: t for v, t in zip(self.variables, row, strict=True) if t is not None}

    def to_json(self) -> str:
        """One line of JSON in SPARQL 1.1 form, with the instant."""
        return select_line(self.time, self.variables, self.rows(), self.ordered)

    def to_dataframe(self, spark: SparkSession) -> DataFrame:
        """The answers as a Spark DataFrame of strings."""
        schema = ", ".join(f"`{v}` STRING" for v in self.variables)
        return spark.createDataFrame(self.rows(), schema)

    def __str__(self) -> str:
        head = f"{format_date_time(self.time)}  {self.query}  {len(self)} answer(s)"
        lines = [head]
        for row in self.rows()[:_SHOWN_ROWS]:
            shown = (f"?{v}={t}" for v, t in zip(self.variables, row, strict=True) if t is not None)
            lines.append("  " + "  ".join(shown))
        if len(self) > _SHOWN_ROWS:
            lines.append(f"  ... and {len(self) - _SHOWN_ROWS} more")
        return "\n".join(lines)


def empty_table(variables: Sequence[str]) -> pa.Table:
    """No answers."""
    return pa.table({v: pa.array([], pa.string()) for v in variables})
