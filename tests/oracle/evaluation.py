"""The product's oracle on what tests put on streams, its answers as bags that can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import TypeAlias

from sparkext.language import parse_query
from sparkext.language.query import Query
from sparkext.oracle import ContinuousEvaluation, StaticGraphs, static_graphs
from sparkext.recorded_streams import StreamElement
from tests.oracle.recorded import Element, Streams

Row: TypeAlias = tuple[str | None, ...]
Bag: TypeAlias = Counter[Row]

_FRACTIONAL = re.compile(
    r'"([^"]*)"\^\^<http://www\.w3\.org/2001/XMLSchema#(decimal|double|float)>'
)

static_store = static_graphs


def stream_element(element: Element) -> StreamElement:
    """A test's element as the engine and the oracle take it."""
    graph = None if element.graph is None else f"<{element.graph}>"
    dated, *about = element.about or (None,)
    return StreamElement(element.time, graph, element.triples, dated, tuple(about))


def evaluations(text: str, streams: Streams, static: StaticGraphs) -> dict[int, Bag]:
    """The answers at every instant, by instant, the streaming operator applied.

    Columns are in the order of the query's projection.
    """
    return answers_by_instant(parse_query(text), streams, static)[1]


def answers_by_instant(
    query: Query, streams: Streams, static: StaticGraphs
) -> tuple[tuple[str, ...], dict[int, Bag]]:
    """As `evaluations`, with the names of the columns."""
    recorded = {iri: [stream_element(e) for e in elements] for iri, elements in streams.items()}
    answers = ContinuousEvaluation(query, recorded, static).answers()
    variables = tuple(v.name for v in query.answered)
    return variables, {t: bag(answer.rows) for t, answer in answers.items()}


def select(text: str, static: StaticGraphs) -> tuple[tuple[str, ...], Bag]:
    """The variables and the bag of answers of an ordinary query over static graphs."""
    query = parse_query(text)
    rows = ContinuousEvaluation(query, {}, static).solutions([])
    return tuple(v.name for v in query.answered), bag(rows)


def bag(rows: Iterable[Row]) -> Bag:
    """Answers as a multiset of N-Triples texts, written so that equal answers are equal texts.

    Blank nodes are all alike, as their labels mean nothing, and so are the lexical forms of a fractional number:
    XSD 1.0 and 1.1 have different canonical ones.

    >>> bag([("_:a", '"_:a"'), ("_:b", '"_:a"')])
    Counter({('_:', '"_:a"'): 2})
    """
    return Counter(tuple(t if t is None else _comparable(t) for t in row) for row in rows)


def _comparable(term: str) -> str:
    if term.startswith("_:"):
        return "_:"
    number = _FRACTIONAL.fullmatch(term)
    if number is None:
        return term
    lexical, datatype = number.groups()
    value = Decimal(lexical).normalize() if datatype == "decimal" else float(lexical)
    return f"{value} {datatype}"
