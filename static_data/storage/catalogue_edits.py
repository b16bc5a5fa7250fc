"""The catalogue after a change of a few rows, without counting the tables again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from static_data.storage.catalogue import (
    TOP_VALUES,
    Catalogue,
    ColumnStatistics,
    RelationStatistics,
    predicate_statistics,
)
from static_data.storage.row_edits import NO_EDITS, Pair, RowEdits, TableKey

_FIRST_LITERAL_ID = 3 << 58


def after_edits(
    catalogue: Catalogue,
    edits: Mapping[TableKey, RowEdits],
    whole: Mapping[TableKey, Collection[Pair]],
) -> Catalogue:
    """The catalogue after `edits`; tables in `whole` are counted from all their rows.

    Of other tables, rows, literals and the listed frequent values stay exact; the number of distinct values is scaled
    with the rows, as is a whole graph's.
    """
    relations = dict(catalogue.relations)
    for key in {*edits, *whole}:
        before = catalogue.relation(*key)
        if key in whole:
            relations[key] = _counted(whole[key])
        else:
            relations[key] = _edited(before, edits.get(key, NO_EDITS))
        if not relations[key].rows:
            del relations[key]
    for graph in {key[0] for key in (*edits, *whole)}:
        parts = {p: r for (g, p), r in relations.items() if g == graph and p is not None}
        if not parts:
            relations.pop((graph, None), None)
            continue
        rows = sum(part.rows for part in parts.values())
        old = catalogue.relation(graph, None)
        relations[graph, None] = RelationStatistics(
            rows,
            _of_graph(old.subject, old.rows, rows, [r.subject for r in parts.values()]),
            _of_graph(old.object, old.rows, rows, [r.object for r in parts.values()]),
            predicate_statistics({p: r.rows for p, r in parts.items()}),
        )
    return Catalogue(relations)


def _counted(pairs: Collection[Pair]) -> RelationStatistics:
    return RelationStatistics(
        len(pairs), _counted_column(s for s, _ in pairs), _counted_column(o for _, o in pairs)
    )


def _counted_column(values: Iterable[int]) -> ColumnStatistics:
    counts = Counter(values)
    frequent = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    literals = sum(n for value, n in counts.items() if value >= _FIRST_LITERAL_ID)
    most = frequent[0][1] if frequent else 0
    return ColumnStatistics(len(counts), most, literals, tuple(frequent[:TOP_VALUES]))


def _edited(before: RelationStatistics, edits: RowEdits) -> RelationStatistics:
    rows = before.rows + len(edits.added) - len(edits.removed)
    if not before.rows:
        return _counted(edits.added)

    def column(old: ColumnStatistics, place: int) -> ColumnStatistics:
        changes = Counter(pair[place] for pair in edits.added)
        changes.subtract(pair[place] for pair in edits.removed)
        literals = sum(n for value, n in changes.items() if value >= _FIRST_LITERAL_ID)
        # A value that is not listed may have had some rows: what it gained is a lower bound.
        known = dict(old.top)
        known.update(
            {v: n + known.get(v, 0) for v, n in changes.items() if v in known or n > _least(old)}
        )
        top = sorted(((v, n) for v, n in known.items() if n > 0), key=lambda e: (-e[1], e[0]))
        everything_listed = len(old.top) < TOP_VALUES
        return ColumnStatistics(
            len(top) if everything_listed else _scaled(old.distinct, before.rows, rows),
            top[0][1] if top else 0,
            old.literal_rows + literals,
            tuple(top[:TOP_VALUES]),
        )

    return RelationStatistics(rows, column(before.subject, 0), column(before.object, 1))


def _least(column: ColumnStatistics) -> int:
    return column.top[-1][1] if len(column.top) >= TOP_VALUES else 0


def _scaled(distinct: int, before: int, rows: int) -> int:
    return min(rows, max(1, round(distinct * rows / before))) if rows else 0


def _of_graph(
    old: ColumnStatistics, before: int, rows: int, parts: Iterable[ColumnStatistics]
) -> ColumnStatistics:
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    most, total = max(p.distinct for p in parts), sum(p.distinct for p in parts)
    distinct = min(total, max(most, _scaled(old.distinct, before, rows))) if before else total
    merged: Counter[int] = Counter()
    for part in parts:
        merged.update(dict(part.top))
    top = sorted(merged.items(), key=lambda entry: (-entry[1], entry[0]))[:TOP_VALUES]
    return replace(
        old,
        distinct=distinct,
        max_fan_out=top[0][1] if top else 0,
        literal_rows=sum(p.literal_rows for p in parts),
        top=tuple(top),
    )
