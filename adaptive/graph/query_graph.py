"""The query graph: what is joined, on which variables, and what is known about it before a search.

Relations are the nodes; two of them are neighbours when they share a variable. Sets of relations
are bit masks over positions (bit i = `relations[i]`), as the search handles thousands of sets.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from adaptive.errors import QueryGraphError, StatisticsError
from adaptive.graph.expensive_calls import CallCost


class RelationKind(enum.Enum):
    """Where the rows of a relation come from, and so how long they stay the same."""

    WINDOW = "window"
    """A live leaf: the content of a window, another one at each evaluation."""
    STATIC = "static"
    """A triple pattern over static graphs: the same rows until static data are loaded again."""
    DERIVED = "derived"
    """The result of a sub-plan (sub-select, union, optional): computed anew at each evaluation."""


class FilterKind(enum.Enum):
    """The comparison that a filter makes, for a guess where nothing was measured."""

    EQUAL = "equal"
    NOT_EQUAL = "not-equal"
    RANGE = "range"
    OTHER = "other"


def _count(value: float, what: str) -> None:
    if math.isnan(value) or math.isinf(value) or value < 0:
        raise StatisticsError(f"{what} must be a finite number of at least 0, not {value!r}")


@dataclass(frozen=True)
class ColumnStatistics:
    """Number of distinct values of one variable of one relation, and its most frequent values.

    `top` pairs a term id with its number of rows, in any order; an id occurs at most once.

    >>> ColumnStatistics(100.0, top=((7, 40), (9, 12))).distinct
    100.0
    """

    distinct: float
    top: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        _count(self.distinct, "a distinct count")
        for term, rows in self.top:
            _count(rows, f"the row count of top value {term}")
        if len({term for term, _ in self.top}) != len(self.top):
            raise StatisticsError("a top value is listed twice")


@dataclass(frozen=True)
class RelationStatistics:
    """Rows of one relation and its columns, keyed by the relation's variable names.

    `changed` are the rows that arrive and expire from one evaluation to the next; None where nobody
    has counted them.
    """

    rows: float
    columns: Mapping[str, ColumnStatistics]
    changed: float | None = None

    def __post_init__(self) -> None:
        _count(self.rows, "a row count")
        if self.changed is not None:
            _count(self.changed, "a count of changed rows")

    @property
    def changed_rows(self) -> float:
        """Rows of a window that arrive and expire between two evaluations; all of them twice until counted.

        >>> RelationStatistics(50.0, {}).changed_rows, RelationStatistics(50.0, {}, 3.0).changed_rows
        (100.0, 3.0)
        """
        return 2.0 * self.rows if self.changed is None else self.changed

    def column(self, variable: str) -> ColumnStatistics:
        """Statistics of one variable, its distinct count never above the rows.

        A variable without statistics counts as different in every row, as a key is.

        >>> RelationStatistics(50.0, {"a": ColumnStatistics(80.0)}).column("a").distinct
        50.0
        """
        known = self.columns.get(variable)
        if known is None:
            return ColumnStatistics(max(1.0, self.rows))
        # At least one value: an empty column joins to nothing by its row count, not by 1/0.
        distinct = max(1.0, min(known.distinct, self.rows))
        return known if distinct == known.distinct else replace(known, distinct=distinct)


@dataclass(frozen=True)
class Relation:
    """One input of the join: its name, the variables it binds, and where its rows come from.

    `indexable` says that it can be probed by key without building anything for the evaluation, as
    static indexes and window indexes can.

    >>> Relation("creator1", ("paper", "person1"), RelationKind.STATIC).indexable
    True
    """

    name: str
    variables: tuple[str, ...]
    kind: RelationKind
    indexable: bool = True

    def __post_init__(self) -> None:
        if not self.name:
            raise QueryGraphError("a relation needs a name")
        if len(set(self.variables)) != len(self.variables):
            raise QueryGraphError(f"relation {self.name!r} lists a variable twice")


@dataclass(frozen=True)
class JoinFilter:
    """A condition that may be applied as soon as all its variables are bound.

    `selectivity` is the kept share of the rows, 0 to 1; None asks for the default guess of `kind`.
    A filter with a `call_cost` is placed by cost among the joins. `uncertain` says that it calls an
    uncertainty function, so that H4 applies to it.
    """

    name: str
    variables: frozenset[str]
    selectivity: float | None = None
    kind: FilterKind = FilterKind.OTHER
    call_cost: CallCost | None = None
    uncertain: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise QueryGraphError("a filter needs a name")
        if self.selectivity is not None and not 0.0 <= self.selectivity <= 1.0:
            raise StatisticsError(
                f"the selectivity of filter {self.name!r} must lie in 0 to 1, "
                f"not {self.selectivity!r}"
            )


@dataclass(frozen=True)
class Extend:
    """A bind: computes `variable` out of the variables in `inputs`, once for each row.

    It keeps all rows, and must come before whatever reads its variable. `call_cost` None means that it
    costs nothing worth counting; `uncertain` is as for filters.

    >>> Extend("p", "p", frozenset({"uncertainty", "value"}), CallCost(100.0)).variable
    'p'
    """

    name: str
    variable: str
    inputs: frozenset[str]
    call_cost: CallCost | None = None
    uncertain: bool = False

    def __post_init__(self) -> None:
        if not self.name or not self.variable:
            raise QueryGraphError("a bind needs a name and a variable")


def bits(mask: int) -> Iterator[int]:
    """The positions in a set of relations, lowest first.

    >>> list(bits(0b1011))
    [0, 1, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True)
class QueryGraph:
    """The natural join of all relations, its filters, and the variables wanted from it.

    `output` None means every variable. `extends` are binds, each after those whose variables it
    reads. Raises QueryGraphError when there is no relation, a name is used twice, a variable is
    bound again, or a filter, a bind or the output names a variable that nothing binds before it.

    >>> graph = QueryGraph((
    ...     Relation("now", ("person", "room"), RelationKind.WINDOW),
    ...     Relation("name", ("person", "label"), RelationKind.STATIC),
    ...     Relation("roomname", ("room", "title"), RelationKind.STATIC)))
    >>> graph.names(graph.neighbours(graph.mask(["name"])))
    ('now',)
    >>> graph.is_connected(graph.mask(["name", "roomname"]))
    False
    """

    relations: tuple[Relation, ...]
    filters: tuple[JoinFilter, ...] = ()
    output: frozenset[str] | None = None
    extends: tuple[Extend, ...] = ()

    def __post_init__(self) -> None:
        if not self.relations:
            raise QueryGraphError("a query graph needs at least one relation")
        for what, names in (
            ("relation", [relation.name for relation in self.relations]),
            ("filter", [f.name for f in self.filters] + [e.name for e in self.extends]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise QueryGraphError(f"{what} {name!r} is declared twice")
        bound = set(self.members)
        for extend in self.extends:
            self._check_bound(extend.inputs, f"bind {extend.name!r}", bound)
            if extend.variable in bound:
                raise QueryGraphError(f"bind {extend.name!r} binds {extend.variable} again")
            bound.add(extend.variable)
        for filter_ in self.filters:
            self._check_bound(filter_.variables, f"filter {filter_.name!r}", bound)
        if self.output is not None:
            self._check_bound(self.output, "the output", bound)

    def _check_bound(self, variables: Iterable[str], user: str, bound: set[str]) -> None:
        unbound = sorted(set(variables) - bound)
        if unbound:
            raise QueryGraphError(f"{user} uses {', '.join(unbound)}, which no relation binds")

    @cached_property
    def members(self) -> dict[str, int]:
        """Variable -> set of the relations that bind it, in order of first use."""
        members: dict[str, int] = {}
        for position, relation in enumerate(self.relations):
            for variable in relation.variables:
                members[variable] = members.get(variable, 0) | 1 << position
        return members

    @cached_property
    def positions(self) -> dict[str, int]:
        """Relation name -> position."""
        return {relation.name: position for position, relation in enumerate(self.relations)}

    @cached_property
    def adjacency(self) -> tuple[int, ...]:
        """Position -> set of the relations that share a variable with the one there."""
        rows = []
        for position, relation in enumerate(self.relations):
            near = 0
            for variable in relation.variables:
                near |= self.members[variable]
            rows.append(near & ~(1 << position))
        return tuple(rows)

    @cached_property
    def all_relations(self) -> int:
        """The set of all relations."""
        return (1 << len(self.relations)) - 1

    def mask(self, names: Iterable[str]) -> int:
        """The set of the relations with these names; QueryGraphError for an unknown one."""
        result = 0
        for name in names:
            if name not in self.positions:
                raise QueryGraphError(f"there is no relation {name!r}")
            result |= 1 << self.positions[name]
        return result

    def names(self, mask: int) -> tuple[str, ...]:
        """The names of a set of relations, by position."""
        return tuple(self.relations[position].name for position in bits(mask))

    def variables(self, mask: int) -> frozenset[str]:
        """The variables that a set of relations binds."""
        return frozenset(name for name, members in self.members.items() if members & mask)

    def shared_variables(self, left: int, right: int) -> tuple[str, ...]:
        """The variables bound on both sides (the join key), sorted by name."""
        return tuple(sorted(v for v, m in self.members.items() if m & left and m & right))

    def neighbours(self, mask: int) -> int:
        """The relations outside a set that share a variable with it."""
        near = 0
        for position in bits(mask):
            near |= self.adjacency[position]
        return near & ~mask

    def component(self, mask: int, within: int | None = None) -> int:
        """All relations reachable from a set by shared variables, staying inside `within`."""
        inside = self.all_relations if within is None else within
        reached = mask & inside
        while grown := self.neighbours(reached) & inside:
            reached |= grown
        return reached

    def is_connected(self, mask: int) -> bool:
        """Whether shared variables alone link the relations of a set; the empty set is not."""
        return mask != 0 and self.component(mask & -mask, mask) == mask

    def components(self) -> tuple[int, ...]:
        """The connected parts of the graph, by their lowest position."""
        parts, rest = [], self.all_relations
        while rest:
            part = self.component(rest & -rest)
            parts.append(part)
            rest &= ~part
        return tuple(parts)

    def filters_within(self, mask: int) -> tuple[JoinFilter, ...]:
        """The filters whose variables a set of relations binds, in the order of declaration."""
        bound = self.variables(mask)
        return tuple(filter_ for filter_ in self.filters if filter_.variables <= bound)

    def needed_outside(self, mask: int) -> tuple[str, ...]:
        """The variables of a set that something outside it still reads, sorted by name.

        That is: a relation outside, a filter that the set cannot decide alone, a bind, or the output.
        """
        bound = self.variables(mask)
        needed = set(bound) if self.output is None else set(bound & self.output)
        for filter_ in self.filters:
            if not filter_.variables <= bound:
                needed |= filter_.variables & bound
        for extend in self.extends:
            needed |= extend.inputs & bound
        needed.update(v for v in bound if self.members[v] & ~mask)
        return tuple(sorted(needed))
