"""Aggregates over term ids, and the order of terms that ORDER BY, MIN and MAX follow."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations, product
from typing import Any

from pyspark.sql.functions import expr

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.term_values.term_samples import (
    BLANK,
    FALSE,
    QUOTED,
    TERMS,
    TIMES,
    TRUE,
    integer,
    number,
    typed,
)


def grouped(live: LiveRoom, aggregate: str, groups: list[list[str]]) -> list[str | None]:
    """An aggregate over the terms of each group; "" stands for an unbound value."""
    rows = [
        (number, live.id(term) if term else 0)
        for number, members in enumerate(groups)
        for term in members
    ]
    content = live.static("groups", rows)
    frame = live.frame(content, "g", "t").groupBy("g")
    call = aggregate.replace("$room", f"{live.number}L")
    found = dict(live.on_driver(live.prepare(frame.agg(expr(call)))))
    return [live.text(found[n]) if found[n] else None for n in range(len(groups))]


def test_sums_and_averages(live: LiveRoom) -> None:
    big = integer(2**56)
    groups: list[tuple[list[str], Any, Any]] = [
        ([integer(1), integer(2), integer("007")], ("integer", "10"), ("decimal", "3.3333")),
        ([integer(1), typed("1.5", "decimal")], ("decimal", "2.5"), ("decimal", "1.25")),
        ([big] * 40, ("integer", str(40 * 2**56)), ("decimal", str(2**56))),
        ([typed("0.1", "decimal")] * 10, ("decimal", "1"), ("decimal", "0.1")),
        ([integer(1), typed("2.5E0", "double")], ("double", "3.5"), ("double", "1.75")),
        ([typed("2.5E0", "float"), integer(1)], ("float", "3.5"), ("float", "1.75")),
        ([typed("INF", "double"), integer(1)], ("double", "Infinity"), ("double", "Infinity")),
        ([typed("7", "int"), typed("07", "byte")], ("integer", "14"), ("decimal", "7")),
        ([integer(1), '"2"'], None, None),
        ([integer(1), ""], None, None),
        ([BLANK], None, None),
    ]
    for aggregate, place in (("cqels_sum", 1), ("cqels_average", 2)):
        call = f"{aggregate}($room, collect_list(t))"
        found = [number(text) for text in grouped(live, call, [g[0] for g in groups])]
        for (members, *expected), value in zip(groups, found, strict=True):
            wanted = expected[place - 1]
            if wanted is None:
                assert value is None, members
            else:
                assert value is not None, members
                assert value[0] == wanted[0], members
                assert value[1] == Decimal(wanted[1]) or round(value[1], 4) == Decimal(wanted[1])


def test_the_sum_of_nothing_is_zero_and_so_is_its_average(live: LiveRoom) -> None:
    content = live.stage("empty", 1)
    for aggregate in ("cqels_sum", "cqels_average"):
        frame = live.frame(content, "t").agg(expr(f"{aggregate}({live.number}L, collect_list(t))"))
        ((total,),) = live.on_driver(live.prepare(frame))
        assert live.text(total) == integer(0)


# ORDER BY: unbound, blank nodes, IRIs, literals; then what SPARQL leaves open, as the engine has it.
IN_ORDER = [
    "",
    BLANK,
    "<http://example.org/a>",
    "<http://example.org/a1>",
    "<http://example.org/b>",
    typed("-INF", "double"),
    integer(-(10**400)),
    typed(f"-{9 * 10**399}.5", "decimal"),
    integer(-(2**57)),
    integer(-5),
    typed("-2.25", "decimal"),
    integer(0),
    typed("0.1", "decimal"),
    typed("0.1", "float"),
    integer(1),
    typed("1.5", "decimal"),
    integer("007"),
    integer(9007199254740992),
    integer(9007199254740993),
    typed("9.007199254740994E15", "double"),
    integer(2**62),
    typed(f"{9 * 10**399}.5", "decimal"),
    integer(10**400),
    typed("INF", "double"),
    typed("NaN", "double"),
    '""',
    '"B"',
    '"a"',
    '"\uff5e"',
    '"\U0001f600"',
    '"a"@en',
    '"a!"@en',
    FALSE,
    TRUE,
    TIMES[7],
    TIMES[0],
    TIMES[3],
    typed("2026-01-31", "date"),
    typed("2026-02-01Z", "date"),
    typed("PT1H", "dayTimeDuration"),
    typed("P1D", "dayTimeDuration"),
    typed("P1M", "duration"),
    QUOTED,
    QUOTED.replace("/b>", "/b1>"),
    QUOTED.replace("/b>", "/c>"),
]


def test_order_of_terms(live: LiveRoom) -> None:
    values = live.cqels.functions.TermValues
    ids = [live.id(term) if term else 0 for term in IN_ORDER]
    for (at, a), (after, b) in combinations(enumerate(ids), 2):
        forth, back = values.order(live.number, a, b), values.order(live.number, b, a)
        assert forth < 0 < back, (IN_ORDER[at], IN_ORDER[after])
    assert all(values.order(live.number, a, a) == 0 for a in ids)


def test_the_order_is_total_and_transitive(live: LiveRoom) -> None:
    values = live.cqels.functions.TermValues
    texts = [*TERMS, *[typed(f"9.00719925474099{n}E15", "double") for n in (1, 2, 4)]]
    texts += [integer(9007199254740990 + n) for n in range(5)]
    ids = sorted({live.id(text) for text in texts})
    order = {(a, b): values.order(live.number, a, b) for a, b in product(ids, repeat=2)}
    assert all((order[a, b] == 0) == (a == b) for a, b in order)
    assert all((order[a, b] < 0) == (order[b, a] > 0) for a, b in order)
    # A total order has one term with no predecessor, one with one, and so on.
    predecessors = [sum(order[b, a] < 0 for b in ids) for a in ids]
    assert sorted(predecessors) == list(range(len(ids)))


def test_min_and_max_follow_that_order(live: LiveRoom) -> None:
    groups = [
        [integer(2), typed("1.5", "decimal"), typed("10", "int")],
        ['"b"', '"a"', integer(5)],
        [TIMES[0], TIMES[7], TIMES[3]],
        ["<http://example.org/b>", '"a"', BLANK],
        [integer(7)],
    ]
    low = [typed("1.5", "decimal"), integer(5), TIMES[7], BLANK, integer(7)]
    high = [typed("10", "int"), '"b"', TIMES[3], '"a"', integer(7)]
    assert grouped(live, "cqels_min($room, t)", groups) == low
    assert grouped(live, "cqels_max($room, t)", groups) == high


def test_min_and_max_pass_over_unbound_values(live: LiveRoom) -> None:
    groups = [["", integer(3), integer(2)], [integer(3), ""], [""]]
    assert grouped(live, "cqels_min($room, nullif(t, 0))", groups) == [integer(2), integer(3), None]
    assert grouped(live, "cqels_max($room, nullif(t, 0))", groups) == [integer(3), integer(3), None]
