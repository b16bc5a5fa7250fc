"""Event patterns in the JVM against the oracle's definitions, on random mappings of events."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

import pytest

from sparkext.language import event_patterns as ep
from sparkext.language.expressions import Aggregate, VariableReference
from sparkext.language.nodes import Variable
from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.matched_events import (
    Arrival,
    EventShape,
    MatchedEvents,
    hold_to_definitions,
    integer,
)

A, B, C = ep.Event("A"), ep.Event("B"), ep.Event("C")
T1, T2, N, M, X, Y = (Variable(name) for name in ("t1", "t2", "n", "m", "x", "y"))
COUNT = (N, Aggregate("COUNT", None))
SUM = (M, Aggregate("SUM", VariableReference(Y)))
MOST = (M, Aggregate("MAX", VariableReference(Y), distinct=True))

SHAPES = (
    {"A": EventShape(("x", "y")), "B": EventShape(("y", "z")), "C": EventShape(("z", "y"))},
    {"A": EventShape(("x", "y")), "B": EventShape(("x", "y")), "C": EventShape(("x",))},
    {"A": EventShape(("x",)), "B": EventShape(("y",)), "C": EventShape(("x", "y"))},
    {
        "A": EventShape(("x", "y"), ("y",)),
        "B": EventShape(("x", "y"), ("y",)),
        "C": EventShape(("x", "y"), ("x",)),
    },
    {"A": EventShape(()), "B": EventShape(("y",)), "C": EventShape(())},
)

SELECTIONS: tuple[ep.Selection, ...] = ("unrestricted", "naive", "chronological", "recent")


def seq(*parts: ep.EventPattern) -> ep.EventPattern:
    """The parts one after the other, from the left."""
    first, *others = parts
    for other in others:
        first = ep.Sequence(first, other)
    return first


def relation(rng: random.Random) -> ep.Relation:
    """Any of Allen's relations."""
    return rng.choice(ep.Relation.__args__)  # type: ignore[attr-defined]


KINDS: dict[str, Callable[[random.Random], ep.EventPattern]] = {
    "event": lambda rng: A,
    "sequence": lambda rng: rng.choice([seq(A, B), seq(A, A), seq(A, B, C), seq(A, seq(B, C))]),
    "conjunction": lambda rng: rng.choice(
        [ep.Conjunction(A, B), seq(ep.Conjunction(A, B), C), seq(A, ep.Conjunction(B, C))]
    ),
    "disjunction": lambda rng: rng.choice(
        [ep.Disjunction(A, B), seq(ep.Disjunction(A, B), C), seq(A, ep.Disjunction(B, C))]
    ),
    "related": lambda rng: rng.choice(
        [
            ep.Related(relation(rng), seq(A, B), seq(B, C)),
            ep.Related(relation(rng), seq(A, B), C),
            ep.Related(relation(rng), ep.Conjunction(A, B), seq(A, C)),
        ]
    ),
    "within": lambda rng: rng.choice(
        [
            ep.Within(seq(A, B, C), rng.randint(1, 6)),
            seq(A, ep.Within(ep.Conjunction(B, C), rng.randint(0, 3))),
            ep.Within(ep.Related(relation(rng), seq(A, B), seq(A, C)), rng.randint(1, 5)),
            ep.Conjunction(A, ep.Within(seq(B, C), rng.randint(1, 4))),
        ]
    ),
    "timed": lambda rng: rng.choice(
        [
            ep.Timed(seq(A, B), T1, T2),
            seq(ep.Timed(A, T1, None), ep.Timed(B, T2, None)),
            ep.Conjunction(ep.Timed(A, T1, None), ep.Timed(B, None, T1)),
            ep.Timed(A, T1, T1),
            ep.Timed(seq(A, B), T1, T1),
        ]
    ),
    "first": lambda rng: rng.choice(
        [
            ep.First(A),
            ep.First(seq(A, B)),
            seq(ep.First(A), B),
            seq(A, ep.First(B)),
            ep.Conjunction(A, ep.First(B)),
            seq(ep.First(seq(A, B)), C),
        ]
    ),
    "last": lambda rng: rng.choice(
        [
            ep.Last(A),
            ep.Last(seq(A, B)),
            seq(ep.Last(A), B),
            seq(A, ep.Last(B)),
            ep.Disjunction(A, ep.Last(B)),
            ep.Within(seq(ep.Last(A), ep.Last(B)), 3),
        ]
    ),
    "absent": lambda rng: rng.choice(
        [
            ep.Sequence(A, B, absent=C),
            ep.Sequence(A, A, absent=B),
            ep.Sequence(A, B, absent=seq(B, C)),
            seq(ep.Sequence(A, B, absent=A), C),
            seq(C, ep.Sequence(A, B, absent=ep.Disjunction(B, C))),
            ep.Timed(ep.Sequence(A, seq(B, C), absent=C), T1, T2),
        ]
    ),
    "repetition": lambda rng: rng.choice(
        [
            ep.Repetition(A, (), (COUNT,)),
            ep.Repetition(A, tuple(KEYS), (COUNT,)),
            seq(A, ep.Repetition(B, tuple(KEYS), (COUNT,))),
            seq(ep.Repetition(A, tuple(KEYS), (COUNT,)), B),
            ep.Within(seq(A, ep.Timed(ep.Repetition(B, tuple(KEYS), (COUNT,)), T1, T2)), 5),
            ep.Repetition(seq(A, B), tuple(KEYS), (COUNT,)),
            ep.Sequence(A, ep.Repetition(B, tuple(KEYS)), absent=C),
            ep.Conjunction(ep.Repetition(A, (), (COUNT,)), B),
        ]
    ),
    "aggregates": lambda rng: ep.Repetition(
        ep.Disjunction(A, B), rng.choice([(), (X,)]), (COUNT, rng.choice([SUM, MOST]))
    ),
}
KEYS: list[Variable] = []
"""The keys of repetitions: variables that all shapes of the case have."""


def one_case(live: LiveRoom, kind: str, selection: ep.Selection, seed: int) -> int:
    """Evaluates a random pattern of a kind several times; the number of solutions."""
    rng = random.Random(f"{kind} {selection} {seed}")
    shapes = rng.choice(SHAPES)
    if kind == "aggregates":
        shapes = rng.choice([SHAPES[1], SHAPES[3]])
    repeated = [v for v in (X, Y) if all(v.name in shapes[e].variables for e in "AB")]
    KEYS[:] = rng.choice([[], repeated, repeated[:1]])
    matched = MatchedEvents(
        live,
        KINDS[kind](rng),
        shapes,
        selection,
        consumes=selection in ("chronological", "recent") and rng.random() < 0.6,
        bag=rng.random() < 0.3,
        lateness=rng.choice([None, 0, 0, 2]),
    )
    return hold_to_definitions(rng, matched)


CASES = [
    (kind, selection)
    for kind in KINDS
    for selection in SELECTIONS
    if selection == "unrestricted" or kind not in ("repetition", "event", "aggregates")
]


@pytest.mark.parametrize(("kind", "selection"), CASES)
def test_matches_are_those_of_the_definitions(
    live: LiveRoom, kind: str, selection: ep.Selection
) -> None:
    assert sum(one_case(live, kind, selection, seed) for seed in range(30)) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "selection"), CASES)
def test_many_matches_are_those_of_the_definitions(
    live: LiveRoom, kind: str, selection: ep.Selection
) -> None:
    assert sum(one_case(live, kind, selection, seed) for seed in range(30, 1030)) > 0


LARGE: dict[str, Callable[[list[int], list[int]], int]] = {
    "unrestricted": lambda lefts, rights: sum(bisect_left(lefts, right) for right in rights),
    "chronological": lambda lefts, rights: any(right > lefts[0] for right in rights),
    "recent": lambda lefts, rights: rights[-1] > lefts[0],
    "absent": lambda lefts, rights: sum(
        bisect_left(lefts, right) > 0
        and (at == 0 or rights[at - 1] <= lefts[bisect_left(lefts, right) - 1])
        for at, right in enumerate(rights)
    ),
}
"""How many matches A SEQ B has for a key with these different times; with `absent`, A SEQ NOT (A or B) SEQ B."""


@pytest.mark.parametrize("lateness", [None, 0, 301_000])
@pytest.mark.parametrize("kind", LARGE)
def test_many_mappings_come_and_leave(live: LiveRoom, kind: str, lateness: int | None) -> None:
    """Windows that grow and shrink, over many keys of few mappings and few of many."""
    rng = random.Random(f"{kind} {lateness}")
    nothing = ep.Disjunction(A, B)
    pattern = ep.Sequence(A, B, absent=nothing) if kind == "absent" else seq(A, B)
    selection = "unrestricted" if kind == "absent" else kind
    shapes = {"A": EventShape(("x",)), "B": EventShape(("x",))}
    matched = MatchedEvents(live, pattern, shapes, selection, bag=True, lateness=lateness)  # type: ignore[arg-type]
    keys = [frozenset({(X, integer(n))}) for n in range(400)]
    held: list[Arrival] = []
    position = 0
    sizes = [(2500, 2500), (2500, 2500), (1500, 150), (50, 40), (10, 2), (2000, 4500), (1, 0)]
    for many, (count, window) in itertools.product((400, 20), sizes):
        arrivals = []
        for _ in range(count):
            position += 1
            late = (
                rng.randint(0, 300 if lateness is None else lateness // 1001)
                if rng.random() < 0.2
                else 0
            )
            time = 1000 * (position - late) + position % 997  # no two are equal
            arrivals.append(
                Arrival(rng.choice("AB"), keys[rng.randrange(many)], time, position, ())
            )
        matched.insert(arrivals)
        held = [a for a in held + arrivals if a.position > position - window]
        matched.opens = [position - window] * 2
        expected: Counter[str] = Counter()
        by_key: dict[object, tuple[list[int], list[int]]] = {}
        for a in held:
            by_key.setdefault(a.mu, ([], []))["AB".index(a.event)].append(a.time)
        for mu, (lefts, rights) in by_key.items():
            if lefts and rights:
                expected[mu] = LARGE[kind](sorted(lefts), sorted(rights))
        found = matched.found()
        assert found == Counter({tuple(v for _, v in mu): n for mu, n in expected.items() if n})
    assert matched.jvm.openCount() < 1000, "what has left is forgotten"
