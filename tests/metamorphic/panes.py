"""A window cut in two: what queries over the halves answer tells what one over the whole does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from sparkext.oracle import Answer
from sparkext.recorded_streams import StreamElement
from tests.metamorphic.relations import Relation, number, rows_of
from tests.sparkext.random_worlds import E, node

HALF = 6
"""Milliseconds of half a window; elements have odd times, so that none lies on an edge."""


def numbered_stream(random: Random, size: int) -> list[StreamElement]:
    """Elements in order of time, each of a triple that no other has, and one that joins.

    Both halves of the last window have one: at the end of a stream, windows are answered while they hold something.
    """
    last = [random.randrange(49, 54, 2), random.randrange(55, 60, 2)]
    times = sorted([*(random.randrange(1, 60, 2) for _ in range(size - 2)), *last])
    elements = []
    for place, time in enumerate(times):
        subject, other = random.choice("abc"), random.choice("abc")
        triples = (
            f'{node(subject)} {node("n")} "{place * 7 % 23}.{place:03}"^^<http://www.w3.org/2001/XMLSchema#decimal> .',
            f"{node(subject)} {node(f'p{place}')} {node(other)} .",
        )
        elements.append(StreamElement(time, None, triples))
    return elements


def _query(select: str, windows: str, pattern: str, tail: str = "") -> str:
    return f"PREFIX : <{E}>\nREGISTER RSTREAM :query AS SELECT {select}\n{windows}\nWHERE {{ {pattern} }} {tail}"


# What is asked at each full window: one of the whole, one of its half before, one of its half just ended. They report
# periodically, so that all have the same instants whatever the halves hold.
_EVERY = f"STEP {2 * HALF}"
_WHOLE = f"FROM NAMED WINDOW :w ON <s1> [RANGE {2 * HALF} {_EVERY}] REPORT ON WC"
_RECENT = f"FROM NAMED WINDOW :r ON <s1> [RANGE {HALF} {_EVERY} STARTING AT {HALF}] REPORT ON WC"
_BEFORE = f"FROM NAMED WINDOW :b ON <s1> [NOW-{2 * HALF} TO NOW-{HALF} {_EVERY}] REPORT ON WC"


def aggregates(random: Random) -> Relation:
    """COUNT, SUM, MIN and MAX of a window are those of its halves, put together."""
    key = random.choice(("", "?x "))
    select = f"{key}(COUNT(*) AS ?n) (SUM(?v) AS ?sum) (MIN(?v) AS ?low) (MAX(?v) AS ?top)"
    tail = "GROUP BY ?x" if key else ""
    texts = tuple(
        _query(select, window, f"WINDOW :{name} {{ ?x :n ?v }}", tail)
        for window, name in ((_WHOLE, "w"), (_BEFORE, "b"), (_RECENT, "r"))
    )

    def holds(answers: Sequence[Answer]) -> str:
        whole, *halves = (_groups(answer, bool(key)) for answer in answers)
        added: dict[str | None, list[object]] = {}
        for half in halves:
            for group, (n, total, low, top) in half.items():
                if n == 0:
                    continue
                if group not in added:
                    added[group] = [n, total, low, top]
                else:
                    was = added[group]
                    added[group] = [was[0] + n, was[1] + total, min(was[2], low), max(was[3], top)]  # type: ignore[operator, type-var]
        found = {group: list(values) for group, values in whole.items() if values[0]}
        return "" if found == added else f"{found} in place of {added}"

    return Relation("panes, aggregates", texts, holds)


def _groups(answer: Answer, keyed: bool) -> dict[str | None, tuple[object, ...]]:
    places = [answer.variables.index(name) for name in ("n", "sum", "low", "top")]
    key = answer.variables.index("x") if keyed else None
    return {
        None if key is None else row[key]: tuple(number(row[place]) for place in places)
        for row in answer.rows
    }


def join(random: Random) -> Relation:
    """The answers of a join over a window are those of each half and of what the halves have with each other."""
    first, second = random.choice(
        (
            ("?x ?p ?y", "?y ?q ?z"),
            ("?x ?p ?y", "?x ?q ?z"),
            ("?x :n ?v", "?y ?q ?x"),
            ("?x ?p ?y", "?z ?q ?y"),
        )
    )
    condition = (
        random.choice(("", "FILTER(?p != ?q)", "FILTER(isIRI(?y))")) if ":n" not in first else ""
    )
    both = f"{_BEFORE}\n{_RECENT}"
    texts = [_query("*", _WHOLE, f"WINDOW :w {{ {first} . {second} }} {condition}")]
    for one in "br":
        for other in "br":
            pattern = f"WINDOW :{one} {{ {first} }} WINDOW :{other} {{ {second} }} {condition}"
            texts.append(_query("*", both, pattern))

    def holds(answers: Sequence[Answer]) -> str:
        whole, *quarters = (rows_of(answer) for answer in answers)
        added = sum(quarters, Counter())
        return (
            "" if whole == added else f"without {dict(added - whole)}, with {dict(whole - added)}"
        )

    return Relation("panes, join", tuple(texts), holds)


def pane_relations(random: Random, count: int) -> list[Relation]:
    """So many, of both kinds by turns."""
    return [(aggregates, join)[place % 2](random) for place in range(count)]
