"""The answers of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from sparkext.answers import (
    AnswerFormatError,
    ResultFormat,
    ask_line,
    construct_line,
    rdflib_bridge,
    select_line,
    write_ask,
    write_construct,
    write_select,
)
from sparkext.answers.html_tables import terms_table, texts_table
from sparkext.answers.scipy_bridge import with_distributions
from sparkext.answers.typed_columns import typed_table
from sparkext.language.query import QueryForm
from sparkext.s2r.event_time import format_date_time

if TYPE_CHECKING:
    import rdflib.query
    from pyspark.sql import DataFrame, SparkSession

_SHOWN_ROWS = 20

Triple = tuple[str, str, str]
"""Subject, predicate and object as N-Triples texts."""

Row = tuple[str | None, ...]
"""The terms of a solution mapping as N-Triples texts, None where unbound."""


@dataclass(frozen=True)
class Answers:
    """What a query answers at one instant: a bag of solution mappings, terms as N-Triples text, None where unbound.

    For CONSTRUCT and DESCRIBE the rows are the triples of a graph, each once, in the columns `subject`, `predicate`
    and `object`; for ASK they have no columns, and the answer is `boolean`.
    `time` is the evaluation instant in milliseconds since the epoch; `ordered` tells whether the rows' order is the
    query's (ORDER BY). `seconds` is what the evaluation took, answers decoded. `sequence` counts the evaluations of the
    query, from 1, across restarts from a checkpoint; `revision` is above 0 where late elements have an instant answered
    again.
    """

    query: str
    time: int
    variables: tuple[str, ...]
    table: pa.Table
    ordered: bool = False
    seconds: float = 0.0
    form: QueryForm = "SELECT"
    sequence: int = 0
    revision: int = 0

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def boolean(self) -> bool:
        """Whether there is any solution: the answer of ASK."""
        return len(self) > 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell; a truth value always is something."""
        return self.form != "ASK" and not len(self)

    def triples(self) -> list[Triple]:
        """The triples of CONSTRUCT or DESCRIBE as N-Triples texts; raises TypeError for the other forms."""
        if self.form not in ("CONSTRUCT", "DESCRIBE"):
            raise TypeError(f"{self.form} answers no triples")
        subjects, predicates, objects = (column.to_pylist() for column in self.table.columns)
        return list(zip(subjects, predicates, objects, strict=True))

    def rows(self) -> list[Row]:
        """The solution mappings as tuples in the order of `variables`."""
        columns = [column.to_pylist() for column in self.table.columns]
        return list(zip(*columns, strict=True)) if columns else [()] * self.table.num_rows

    def scipy_rows(self) -> list[tuple[Any, ...]]:
        """The rows, with a frozen distribution of `scipy.stats` for every literal of `rspu:distribution`; needs scipy.

        Raises DistributionError where scipy has none; see `sparkext.answers.scipy_bridge`.
        """
        return with_distributions(self.rows(), self.table.column_names)

    def __iter__(self) -> Iterator[dict[str, str]]:
        """Each solution mapping as a dictionary without its unbound variables."""
        for row in self.rows():
            yield {v: t for v, t in zip(self.variables, row, strict=True) if t is not None}

    def to_json(self) -> str:
        """One line of JSON with the instant: SPARQL 1.1 form, or sorted N-Triples in `triples`.

        That of an instant that is answered again has its `revision`, too.
        """
        said = self._said_first()
        if self.form == "ASK":
            return ask_line(self.time, self.boolean, said)
        if self.form != "SELECT":
            return construct_line(self.time, self.triples(), said)
        return select_line(self.time, self.variables, self.rows(), self.ordered, said)

    def _said_first(self) -> dict[str, object]:
        """What the line of JSON says beside the instant."""
        return {"revision": self.revision} if self.revision else {}

    def to_text(self, format: ResultFormat | str | None = None) -> str:
        """A whole result file: `json`, `xml`, `csv` or `tsv` for SELECT and ASK, `nt` or `nq` for triples.

        Default: JSON, and N-Triples for triples. Raises AnswerFormatError for a format that does not fit the form.
        """
        graph = self.form in ("CONSTRUCT", "DESCRIBE")
        if format is not None and not isinstance(format, ResultFormat):
            known = [kind.value for kind in ResultFormat]
            if format not in known:
                raise AnswerFormatError(f"format: one of {', '.join(known)}, not {format!r}")
        kind = ResultFormat(format or ("nt" if graph else "json"))
        if graph:
            if not kind.holds_triples:
                raise AnswerFormatError(f"{self.form} answers triples: nt or nq, not {kind.value}")
            return write_construct(self.triples())
        if self.form == "ASK":
            return write_ask(kind, self.boolean)
        return write_select(kind, self.variables, self.rows(), self.ordered)

    def to_dataframe(self, spark: SparkSession, typed: bool = False) -> DataFrame:
        """The answers as a Spark DataFrame of N-Triples texts; for ASK, one BOOLEAN.

        With `typed`, a column whose terms have one datatype throughout is of that type: see
        `sparkext.answers.typed_columns`.
        """
        if self.form == "ASK":
            return spark.createDataFrame([(self.boolean,)], "boolean BOOLEAN")
        if typed and self.variables:
            # In one piece: PySpark's createDataFrame drops the rows that follow an empty chunk.
            return spark.createDataFrame(typed_table(self.table).combine_chunks())
        schema = ", ".join(f"`{v}` STRING" for v in self.variables)
        return spark.createDataFrame(self.rows(), schema)

    def to_rdflib(self) -> rdflib.query.Result:
        """The answers as rdflib gives them: `bindings`, `askAnswer` or `graph`; needs rdflib.

        Raises TypeError for terms that rdflib has no class for.
        """
        if self.form == "ASK":
            return rdflib_bridge.ask_result(self.boolean)
        if self.form == "SELECT":
            return rdflib_bridge.select_result(self.variables, self.rows())
        return rdflib_bridge.graph_result(self.form, self.triples())

    def _repr_html_(self) -> str:
        caption = f"{format_date_time(self.time)}  {self.query}  {len(self):,} answer(s)"
        if self.form == "ASK":
            return texts_table(["answer"], [[self.boolean]], caption)
        return terms_table(self.variables, self.rows(), caption)

    def __str__(self) -> str:
        head = f"{format_date_time(self.time)}  {self.query}  {len(self)} answer(s)"
        lines = [head]
        for row in self.rows()[:_SHOWN_ROWS]:
            shown = (f"?{v}={t}" for v, t in zip(self.variables, row, strict=True) if t is not None)
            lines.append("  " + "  ".join(shown))
        if len(self) > _SHOWN_ROWS:
            lines.append(f"  ... and {len(self) - _SHOWN_ROWS} more")
        return "\n".join(lines)


class Asker(Protocol):
    """A query whose answers are found together with those of others."""

    name: str

    @property
    def evaluated(self) -> int:
        """How many of its instants have been evaluated."""


class AnswersPart(Answers):
    """The answers of one query among those of many, which were found together; its table is cut out when asked for.

    There may be 50,000 of them an evaluation: `of` makes one in a quarter of the time of `Answers`.
    """

    _cut: Callable[[], pa.Table]
    _rows: int

    @classmethod
    def of(
        cls, whole: Mapping[str, object], asker: Asker, rows: int, cut: Callable[[], pa.Table]
    ) -> AnswersPart:
        """So many rows, cut out by a function; `whole` are the other fields."""
        made = object.__new__(cls)
        made.__dict__.update(
            whole, query=asker.name, sequence=asker.evaluated, _rows=rows, _cut=cut
        )
        return made

    def __getattr__(self, name: str) -> pa.Table:
        if name != "table":
            raise AttributeError(name)
        table = self.__dict__["table"] = self._cut()
        return table

    def __len__(self) -> int:
        return self._rows


def empty_table(variables: Sequence[str]) -> pa.Table:
    """No answers."""
    return pa.table({v: pa.array([], pa.string()) for v in variables})
