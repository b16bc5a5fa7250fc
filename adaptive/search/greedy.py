"""Search for graphs too large to search exactly: quick, repeatable, not always the cheapest.

Two ways are tried and the cheaper plan is kept. One joins the two parts with the smallest result,
again and again (GOO, Fegaras 1998), which finds bushy trees. The other streams one relation and
adds the relation or pre-joined part with the cheapest step, which makes the most of indexes.
"""

from __future__ import annotations

from adaptive.graph.query_graph import bits
from adaptive.search.alternatives import Alternatives, Step, Table
from adaptive.search.enumerate import cheaper


def search_greedy(alternatives: Alternatives, within: int) -> Table:
    """A table that holds one good plan for a connected set of relations."""
    best = _smallest_results_first(alternatives, within)
    for position in bits(within):
        other = _streamed_from(alternatives, within, 1 << position)
        if cheaper(other[within], best[within]):
            best = other
    return best


def _leaves(alternatives: Alternatives, within: int) -> Table:
    table: Table = {}
    for mask in [1 << position for position in bits(within)] + list(alternatives.prejoins):
        if mask & ~within == 0 and (read := alternatives.read(mask)) is not None:
            table[mask] = read
    return table


def _smallest_results_first(alternatives: Alternatives, within: int) -> Table:
    """GOO: join the two neighbouring parts whose result is smallest until one part is left."""
    graph, rows = alternatives.graph, alternatives.estimator.rows
    table = _leaves(alternatives, within)
    parts = [1 << position for position in bits(within)]
    while len(parts) > 1:
        one, other = min(
            (
                (one, other)
                for number, one in enumerate(parts)
                for other in parts[number + 1 :]
                if graph.neighbours(one) & other
            ),
            key=lambda pair: (rows(pair[0] | pair[1]), pair),
        )
        _enter(table, one | other, _cheapest(alternatives, one, other, table))
        parts = [part for part in parts if part not in (one, other)] + [one | other]
    return table


def _streamed_from(alternatives: Alternatives, within: int, start: int) -> Table:
    """Grow one streamed part, at each turn by the step that costs least per relation it adds."""
    graph = alternatives.graph
    table = _leaves(alternatives, within)
    done = start
    while done != within:
        near = graph.neighbours(done)
        choices = [1 << position for position in bits(near & within)]
        choices += [m for m in alternatives.prejoins if m & near and not m & (done | ~within)]
        best: tuple[float, int, Step] | None = None
        for part in choices:
            step = _cheapest(alternatives, done, part, table)
            per_relation = (step.cost - table[done].cost) / part.bit_count()
            if best is None or (per_relation, part) < best[:2]:
                best = (per_relation, part, step)
        assert best is not None
        done |= best[1]
        _enter(table, done, best[2])
    return table


def _cheapest(alternatives: Alternatives, one: int, other: int, table: Table) -> Step:
    best: Step | None = None
    for step in alternatives.joins(one, other, table):
        if cheaper(step, best):
            best = step
    assert best is not None
    return best


def _enter(table: Table, mask: int, step: Step) -> None:
    """Enter a step unless the set can be had more cheaply as a pre-joined part."""
    if cheaper(step, table.get(mask)):
        table[mask] = step
