"""Sequences over random streams: the oracle gives what comprehensions over the elements give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sparkext.event_cases import Case, by_oracle

LAST = 12
EVENTS = {
    "A": ("w", "?x :a ?i"),
    "B": ("w", "?x :b ?j"),
    "C": ("w", "?x :c ?k"),
}
Happening = tuple[int, str, str, str]
"""Time, subject, predicate, object: with a random object, so that what shares ?x need not share the rest."""

happenings = st.lists(
    st.tuples(
        st.integers(1, LAST - 1),
        st.sampled_from("xyz"),
        st.sampled_from("abc"),
        st.sampled_from("12"),
    ),
    max_size=14,
    unique=True,
)
Pair = tuple[Happening, Happening]


@dataclass
class Expected:
    """E1 SEQ E2, or E1 SEQ NOT B SEQ E2, over all that has happened by some time and is not consumed."""

    happened: Sequence[Happening]
    absent: bool
    gone: set[Happening] = field(default_factory=set)

    def pairs(self, t: int) -> list[Pair]:
        seen = [h for h in self.happened if h[0] <= t and h not in self.gone]
        return [
            (a, c)
            for a in seen
            for c in seen
            if (a[2], c[2]) == ("a", "c") and a[1] == c[1] and a[0] < c[0]
            if not self.absent
            or not any(b[2] == "b" and b[1] == a[1] and a[0] < b[0] < c[0] for b in seen)
        ]

    def selected(self, t: int, policy: str) -> list[Pair]:
        pairs = self.pairs(t)
        if policy == "UNRESTRICTED":
            return pairs
        best = min if policy == "CHRONOLOGICAL" else max
        chosen = []
        for x in "xyz":
            mine = [(a, c) for a, c in pairs if a[1] == x]
            ends = {c[0] for _, c in mine}
            for a, c in mine:
                if c[0] == best(ends) and a[0] == best(a[0] for a, other in mine if other == c):
                    chosen.append((a, c))
        self.gone.update(h for pair in chosen for h in pair)
        return chosen


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("policy", ["UNRESTRICTED", "CHRONOLOGICAL", "RECENT"])
@settings(max_examples=25, deadline=None)
@given(happened=happenings, at=st.sets(st.integers(1, LAST - 1), max_size=3))
def test_sequences(policy: str, absent: bool, happened: list[Happening], at: set[int]) -> None:
    # There is something at each instant of evaluation, of no concern to the query.
    contents: dict[int, list[str]] = {t: ["n n n"] for t in {*at, LAST}}
    for time, *parts in happened:
        contents.setdefault(time, []).append(f"{parts[0]} {parts[1]} {parts[2]}")
    instants = sorted({*at, LAST})
    expected = Expected(happened, absent)
    history = {}
    for t in instants:
        lines = {f"{a[1]} {a[3]} {c[3]} {a[0]} {c[0]}" for a, c in expected.selected(t, policy)}
        history[t] = sorted(lines)
    match = "A SEQ NOT B SEQ C" if absent else "A SEQ C"
    case = Case(
        f"{policy} {{ {match} FROM ?s TO ?e }}",
        {name: event for name, event in EVENTS.items() if absent or name != "B"},
        {"S": dict(sorted(contents.items()))},
        history,
        instants,
        "?x ?i ?k ?s ?e",
    )
    assert by_oracle(case) == history
