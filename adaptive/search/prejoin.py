"""Which static parts of a query may be joined once and kept, and which would blow up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from adaptive.graph.query_graph import QueryGraph, RelationKind, bits

# A relation that drops fewer rows of the others than this share does not make them fewer.
_SHRINKS = 0.01

# Rows of a relation that appear less often than this, on average, are not repeated.
_REPEATS = 1.5

# Rounding of estimates must not decide what is on a limit.
_ROUNDING = 1.0 + 1e-9


class PartRows(Protocol):
    """The estimates needed here; see `CardinalityEstimator`."""

    graph: QueryGraph

    def rows(self, mask: int) -> float:
        """Rows of a set of relations after its filters."""

    def unfiltered_rows(self, mask: int) -> float:
        """Rows of a set of relations before any filter."""


@dataclass(frozen=True)
class PrejoinPolicy:
    """Limits on a pre-joined part, in estimated rows with multiplicity.

    Up to `always_rows` a part may always be made. Beyond that it may have at most `max_rows`, and
    at most `max_growth` times the rows of its inputs together (a table used twice counts twice).
    `max_candidates` bounds how many parts are looked at, small ones first. Who waits for the part to
    be made, as a query that is registered does, sets `max_rows` lower.

    >>> PrejoinPolicy().refusal(rows=20e6, input_rows=4.6e6)
    'over 3 times its 4,600,000 input rows'
    """

    enabled: bool = True
    max_rows: float = 40_000_000.0
    max_growth: float = 3.0
    always_rows: float = 100_000.0
    max_candidates: int = 256

    def refusal(self, rows: float, input_rows: float) -> str | None:
        """Why a part of this size is not made, in words; None when it may be."""
        if rows <= self.always_rows * _ROUNDING:
            return None
        if rows > self.max_rows * _ROUNDING:
            return f"over the limit of {self.max_rows:,.0f} rows"
        if rows > self.max_growth * input_rows * _ROUNDING:
            return f"over {self.max_growth:g} times its {input_rows:,.0f} input rows"
        return None


@dataclass(frozen=True)
class PrejoinCandidate:
    """A connected set of static relations (`mask`), its size, and why it is refused, if it is."""

    mask: int
    name: str
    variables: tuple[str, ...]
    filters: tuple[str, ...]
    rows: float
    input_rows: float
    refusal: str | None


def _static_parts(graph: QueryGraph, policy: PrejoinPolicy) -> Iterator[int]:
    """The connected sets of two or more static relations that a policy looks at, small ones first."""
    static = sum(
        1 << position
        for position, relation in enumerate(graph.relations)
        if relation.kind is RelationKind.STATIC
    )
    left = policy.max_candidates if policy.enabled else 0
    level = {1 << position for position in bits(static)}
    while level and left > 0:
        level = {
            mask | 1 << position
            for mask in level
            for position in bits(graph.neighbours(mask) & static)
        }
        yield from sorted(level)[:left]
        left -= len(level)


def prejoin_candidates(estimator: PartRows, policy: PrejoinPolicy) -> tuple[PrejoinCandidate, ...]:
    """The connected sets of two or more static relations worth a thought, small sets first.

    Those refused for their size are marked; they do not rule out larger ones, as another relation
    may shrink them again. Sets that a relation only widens (see `widens_only`) are left out.
    """
    graph = estimator.graph
    found: list[PrejoinCandidate] = []
    for mask in _static_parts(graph, policy):
        if any(widens_only(estimator, mask, position) for position in bits(mask)):
            continue
        rows = estimator.rows(mask)
        input_rows = sum(estimator.unfiltered_rows(1 << position) for position in bits(mask))
        found.append(
            PrejoinCandidate(
                mask=mask,
                name="+".join(graph.names(mask)),
                variables=graph.needed_outside(mask),
                filters=tuple(filter_.name for filter_ in graph.filters_within(mask)),
                rows=rows,
                input_rows=input_rows,
                refusal=policy.refusal(rows, input_rows),
            )
        )
    return tuple(found)


def widens_only(estimator: PartRows, mask: int, position: int) -> bool:
    """Whether a relation of a set does nothing there but repeat its columns in more rows.

    So it is with names joined to pairs of people: no pair is dropped, nothing outside joins on a
    name, and each name is stored once per pair. Looked up in the end, a name costs one probe for
    each answer, and none for the pairs that do not become one.
    """
    one = 1 << position
    return _is_attached(estimator.graph, mask, one) and _widens(estimator, mask, one)


def _is_attached(graph: QueryGraph, mask: int, one: int) -> bool:
    rest = mask & ~one
    if not graph.is_connected(rest):
        return False
    own = graph.variables(one) - graph.variables(rest)
    leads_on = any(graph.members[variable] & ~mask for variable in own)
    decides = any(
        filter_.variables & own and not filter_.variables <= graph.variables(mask)
        for filter_ in graph.filters
    )
    return not leads_on and not decides


def _widens(estimator: PartRows, mask: int, one: int) -> bool:
    rows = estimator.rows(mask)
    shrinks = rows * _ROUNDING < estimator.rows(mask & ~one) * (1.0 - _SHRINKS)
    return not shrinks and rows > estimator.rows(one) * _REPEATS * _ROUNDING
