"""Look-ups by two variables in large relations: those that follow from one another may stay near each other."""

from __future__ import annotations

from collections.abc import Collection

from adaptive.query_graph import Relation, RelationKind, RelationStatistics

# As indexes of static relations are made that have a small table for each value (PartitionedIndex.scala): of so many
# rows at least, for at most so many values with so many rows each, on the average.
LEAST_ROWS = 65_536.0
MOST_VALUES = 32_768.0
LEAST_SHARE = 32.0


def near_rows(relation: Relation, known: RelationStatistics, on: Collection[str]) -> float:
    """The rows among which a look-up by some variables finds its own: those of one value, or all.

    Rows that are looked up one after the other often have one of the two values in common, and take the same few of
    the other one again and again. What these read is taken to stay in the processor's caches, however large the index
    is: the small tables of a static relation. Of windows it is, too: by their size, an order that looked up pairs in
    one was expected to take six times as long as it took.

    >>> from adaptive.query_graph import ColumnStatistics
    >>> knows = Relation("knows", ("a", "b"), RelationKind.STATIC)
    >>> known = RelationStatistics(4e6, {"a": ColumnStatistics(1e3), "b": ColumnStatistics(1e4)})
    >>> near_rows(knows, known, ("a", "b")), near_rows(knows, known, ("a",))
    (400.0, 4000000.0)
    """
    rows = known.rows
    if len(on) != 2 or rows < LEAST_ROWS or not is_near(relation):
        return rows
    columns = (known.columns.get(variable) for variable in on)
    counts = (column.distinct for column in columns if column is not None)
    shares = [rows / n for n in counts if 1.0 <= n <= MOST_VALUES and rows / n >= LEAST_SHARE]
    return min(shares, default=rows)


def is_near(relation: Relation) -> bool:
    """Whether look-ups of two variables in a relation's index may be near each other."""
    return relation.kind is not RelationKind.DERIVED and relation.indexable
