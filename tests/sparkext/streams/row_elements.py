"""The rows of a table as stream elements, row by row: what `Stream.push_table` is measured against."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sparkext.recorded_streams import StreamElement
from sparkext.recorded_streams.nquads_lines import MalformedLineError, canonical_term
from sparkext.runtime.parts.pushed_triples import ABSOLUTE_IRI, term_text
from sparkext.s2r.event_time import GREATEST_TIME
from static_data.files.rdf_version import RdfVersion

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# What a column's canonical texts look like.
_ALLOWED = {
    "subject": re.compile(r"<|_:"),
    "predicate": re.compile(r"<(?!<)"),
    "object": re.compile(r""),
    "graph": re.compile(r"<(?!<)|_:"),
}


@dataclass
class RowElements:
    """The elements of a table, and why rows were set aside: those of no element first, by row."""

    elements: list[StreamElement] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)


class FlawedError(Exception):
    """A cell that is no term."""


def elements_of(
    table: pa.Table, version: RdfVersion = RdfVersion.STAR, accepts: bool = False
) -> RowElements:
    """The elements of the columns subject, predicate, object, time and perhaps graph."""
    found = RowElements()
    groups: dict[tuple[Any, ...], tuple[list[str], list[str]]] = {}
    times = _times(table.column("time"))
    for number, row in enumerate(table.drop_columns("time").to_pylist()):
        time = times[number]
        try:
            graph = None
            if row.get("graph") is not None:
                graph = _term("graph", row["graph"], version, accepts)
            if time is None:
                raise FlawedError("no time")
            if abs(time) > GREATEST_TIME:
                raise FlawedError("time out of range")
        except FlawedError as flaw:
            found.set_aside.append(f"row {number}: {flaw}")
            continue
        key = (graph, time, None if graph is not None else number)
        lines, flaws = groups.setdefault(key, ([], []))
        try:
            terms = [_term(c, row[c], version, accepts) for c in ("subject", "predicate", "object")]
            lines.append(" ".join(terms) + " .")
        except FlawedError as flaw:
            named = "" if graph is None else f"{graph}: "
            flaws.append(f"row {number}: {named}{flaw}")
    for (graph, time, _), (lines, flaws) in groups.items():
        if flaws:
            found.set_aside.append(flaws[0])
        else:
            found.elements.append(StreamElement(time, graph, tuple(dict.fromkeys(lines))))
    return found


def _term(column: str, value: Any, version: RdfVersion, accepts: bool) -> str:
    if value is None:
        raise FlawedError(f"no {column}")
    if not isinstance(value, str):
        value = term_text(value)
    if column != "object" and ABSOLUTE_IRI.fullmatch(value) and not value.startswith("_:"):
        return f"<{value}>"
    try:
        term = canonical_term(value, version, accepts)
    except MalformedLineError:
        raise FlawedError(f"{column} {value!r} is not an RDF term in N-Triples syntax") from None
    misplaced = version is RdfVersion.RDF_1_2 and column != "object" and term.startswith("<<")
    if misplaced or _ALLOWED[column].match(term) is None:
        raise FlawedError(f"{term} cannot be a {column}")
    return term


def _times(column: pa.ChunkedArray) -> list[int | None]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    ticks = column.cast(pa.int64()).to_pylist()
    if not pa.types.is_timestamp(column.type):
        return ticks
    return [
        None if tick is None else tick * 1000 // _PER_SECOND[column.type.unit] for tick in ticks
    ]
