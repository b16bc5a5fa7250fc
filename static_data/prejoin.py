"""Static sub-patterns joined ahead of time by Spark, with multiplicities, and their sizes before
that is done.

Both work by variable elimination: a variable that nothing else needs is summed out of its relation
before and after each join, so that intermediate results hold each combination of needed variables
once, with a count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from static_data.errors import StaticDataError
from static_data.storage.catalogue import Catalogue
from static_data.store import StaticStore
from static_data.sub_pattern import (
    Branch,
    StaticSubPattern,
    Term,
    TermComparison,
    TriplePattern,
)

COUNT = "count"
"""Name of the column of multiplicities."""

_FIRST_LITERAL_ID = 3 << 58


@dataclass(frozen=True)
class SizeEstimate:
    """Size of a sub-pattern before it is made.

    `solutions` counts solution mappings with their multiplicities and without filters that compare
    two variables; `rows` is an upper bound of the distinct rows after projection. Both are exact
    counts of the data, or scaled up from a sample when `exact` is false.
    """

    solutions: int
    rows: int
    exact: bool


@dataclass(frozen=True)
class _Relation:
    """Rows over variables, each with a count; `expected` guesses their number."""

    variables: frozenset[str]
    frame: DataFrame
    expected: float


def materialise(store: StaticStore, sub_pattern: StaticSubPattern) -> DataFrame:
    """Join a sub-pattern: a lazy DataFrame (v0, v1, ... BIGINT, count BIGINT), each row of
    variables once.

    Filters compare ids, see `decidable_by_ids`. Nothing runs until the DataFrame is used.
    """
    catalogue = store.catalogue()
    parts = [
        _eliminated(store, catalogue, branch.patterns, branch.filters, sub_pattern.columns)
        for branch in sub_pattern.branches
    ]
    return _summed(reduce(DataFrame.unionByName, parts), sub_pattern.columns)


def estimate_rows(
    store: StaticStore, sub_pattern: StaticSubPattern, sample: int = 1
) -> SizeEstimate:
    """Count a sub-pattern's solutions without making them, from the degrees of join keys.

    A join of two patterns has the sum over its key of degree times degree; longer acyclic chains
    multiply on. Patterns in a cycle are joined. With `sample` n > 1 only about one in n values of
    the most shared variable of each branch are looked at. Runs one Spark job.
    """
    if sample < 1:
        raise StaticDataError(f"a sample is one in 1, 2, ... values, not one in {sample}")
    catalogue = store.catalogue()
    counts = []
    for branch in sub_pattern.branches:
        key = _most_shared(branch) if sample > 1 else None
        frame = _eliminated(store, catalogue, branch.patterns, (), (), key, sample)
        scale = sample if key is not None else 1
        counts.append(frame.select((F.col(COUNT) * scale).alias(COUNT)))
    found = reduce(DataFrame.unionByName, counts).agg(F.sum(COUNT)).first()
    solutions = int(found[0] or 0) if found is not None else 0
    rows = min(solutions, _row_bound(catalogue, sub_pattern))
    return SizeEstimate(solutions, rows, sample == 1)


def decidable_by_ids(catalogue: Catalogue, branch: Branch, comparison: TermComparison) -> bool:
    """Whether `=` and `!=` of SPARQL give what comparing ids gives, for all rows of the branch.

    So it is when one side is never a literal: literals can be equal as values ("1" and "01" as
    integers) or not comparable at all.
    """
    return any(
        _never_literal(catalogue, branch, side) for side in (comparison.left, comparison.right)
    )


def _never_literal(catalogue: Catalogue, branch: Branch, side: Term) -> bool:
    if isinstance(side, int):
        return side < _FIRST_LITERAL_ID
    for pattern in branch.patterns:
        if side in (pattern.subject, pattern.predicate):
            return True
        if side == pattern.object:
            predicate = pattern.predicate if isinstance(pattern.predicate, int) else None
            if catalogue.relation(pattern.graph, predicate).object.literal_rows == 0:
                return True
    return False


def _row_bound(catalogue: Catalogue, sub_pattern: StaticSubPattern) -> int:
    """A branch has at most the product of its projected variables' distinct values as rows."""
    total = 0
    for branch in sub_pattern.branches:
        bound = 1
        for name in sub_pattern.columns:
            bound *= min(
                _distinct(catalogue, pattern, name)
                for pattern in branch.patterns
                if name in pattern.variables
            )
        total += bound
    return total


def _distinct(catalogue: Catalogue, pattern: TriplePattern, name: str) -> int:
    predicate = pattern.predicate if isinstance(pattern.predicate, int) else None
    relation = catalogue.relation(pattern.graph, predicate)
    columns = (relation.subject, relation.predicate, relation.object)
    return min(c.distinct for c, t in zip(columns, pattern.terms, strict=True) if t == name)


def _most_shared(branch: Branch) -> str | None:
    shared = [(sum(v in p.variables for p in branch.patterns), v) for v in branch.variables]
    return max(shared)[1] if shared else None


def _eliminated(
    store: StaticStore,
    catalogue: Catalogue,
    patterns: Iterable[TriplePattern],
    filters: Iterable[TermComparison],
    wanted: Iterable[str],
    sampled: str | None = None,
    sample: int = 1,
) -> DataFrame:
    """Join the patterns, keeping the wanted variables and a count."""
    needed = frozenset(wanted)
    waiting = list(filters)
    relations = [_scan(store, catalogue, pattern, sampled, sample) for pattern in patterns]
    relations = [_filtered(relation, waiting) for relation in relations]
    waiting = [f for f in waiting if not any(f.variables <= r.variables for r in relations)]
    while True:
        relations = [_narrowed(r, _needed_beside(r, relations, waiting, needed)) for r in relations]
        if len(relations) == 1:
            break
        left, right = min(
            ((a, b) for i, a in enumerate(relations) for b in relations[i + 1 :]),
            key=lambda pair: _join_key(*pair),
        )
        joined = _filtered(_joined(left, right), waiting)
        waiting = [f for f in waiting if not f.variables <= joined.variables]
        relations = [r for r in relations if r is not left and r is not right] + [joined]
    return relations[0].frame.select(*sorted(relations[0].variables), COUNT)


def _needed_beside(
    relation: _Relation,
    relations: Iterable[_Relation],
    filters: Iterable[TermComparison],
    wanted: frozenset[str],
) -> frozenset[str]:
    needed = set(wanted)
    for other in relations:
        if other is not relation:
            needed |= other.variables
    for comparison in filters:
        needed |= comparison.variables
    return relation.variables & needed


def _narrowed(relation: _Relation, needed: frozenset[str]) -> _Relation:
    if needed == relation.variables:
        return relation
    return replace(relation, variables=needed, frame=_summed(relation.frame, sorted(needed)))


def _summed(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    names = list(names)
    total = F.sum(COUNT).cast("bigint").alias(COUNT)
    # Without variables SQL gives one row, with a null count, where there is no solution at all.
    return frame.groupBy(*names).agg(total).where(F.col(COUNT).isNotNull())


def _join_key(a: _Relation, b: _Relation) -> tuple[bool, float]:
    """Joins that share a variable come first, small ones before large ones."""
    shared = a.variables & b.variables
    if not shared:
        return (True, a.expected * b.expected)
    return (False, a.expected * b.expected / max(a.expected, b.expected, 1.0))


def _joined(a: _Relation, b: _Relation) -> _Relation:
    shared = sorted(a.variables & b.variables)
    right = b.frame.withColumnRenamed(COUNT, "other count")
    frame = a.frame.join(right, shared) if shared else a.frame.crossJoin(right)
    product = (F.col(COUNT) * F.col("other count")).alias(COUNT)
    variables = a.variables | b.variables
    expected = max(a.expected, b.expected) if shared else a.expected * b.expected
    return _Relation(variables, frame.select(*sorted(variables), product), expected)


def _filtered(relation: _Relation, filters: Iterable[TermComparison]) -> _Relation:
    frame = relation.frame
    for comparison in filters:
        if comparison.variables <= relation.variables:
            same = _operand(comparison.left) == _operand(comparison.right)
            frame = frame.where(same if comparison.operator == "=" else ~same)
    return replace(relation, frame=frame)


def _operand(term: Term) -> Column:
    return F.lit(term).cast("bigint") if isinstance(term, int) else F.col(term)


def _scan(
    store: StaticStore,
    catalogue: Catalogue,
    pattern: TriplePattern,
    sampled: str | None,
    sample: int,
) -> _Relation:
    """The rows of one pattern: constants and repeated variables are applied."""
    columns = dict(zip("spo", pattern.terms, strict=True))
    if isinstance(pattern.predicate, int):
        frame = store.table(pattern.graph, pattern.predicate)
        relation = catalogue.relation(pattern.graph, pattern.predicate)
        del columns["p"]
    else:
        frame = store.quads(pattern.graph)
        relation = catalogue.relation(pattern.graph, None)
    expected = float(relation.rows)
    statistics = {"s": relation.subject, "p": relation.predicate, "o": relation.object}
    first: dict[str, str] = {}
    for column, term in columns.items():
        if isinstance(term, int):
            frame = frame.where(F.col(column) == F.lit(term).cast("bigint"))
            expected /= max(statistics[column].distinct, 1)
        elif term in first:
            frame = frame.where(F.col(column) == F.col(first[term]))
            expected /= max(statistics[column].distinct, 1)
        else:
            first[term] = column
    if sampled in first:
        # The hash must not be the one that Spark distributes rows by.
        place = F.pmod(F.xxhash64(F.col(first[sampled]), F.lit(1)), F.lit(sample))
        frame = frame.where(place == 0)
    named = [F.col(column).alias(name) for name, column in sorted(first.items())]
    counted = frame.select(*named, F.lit(1).cast("bigint").alias(COUNT))
    return _Relation(frozenset(first), counted, expected)
