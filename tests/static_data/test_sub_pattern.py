"""Canonical forms: equal exactly up to renaming and order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from static_data.errors import StaticDataError
from static_data.sub_pattern import (
    Branch,
    StaticSubPattern,
    Term,
    TermComparison,
    TriplePattern,
    canonical,
)

NAMES = ["a", "b", "c", "d", "e"]
variables = st.sampled_from(NAMES)
terms: st.SearchStrategy[Term] = variables | st.sampled_from([7, 8])
patterns = st.builds(TriplePattern, variables, terms, terms, st.sampled_from([0, 0, 0, 5]))


@st.composite
def sub_patterns(draw: Any, most: int = 6) -> tuple[list[Branch], list[str]]:
    branches = []
    for _ in range(draw(st.integers(1, 3))):
        drawn = draw(st.lists(patterns, min_size=1, max_size=most))
        bound = sorted({v for pattern in drawn for v in pattern.variables})
        comparisons = st.builds(
            TermComparison,
            st.sampled_from(["=", "!="]),
            st.sampled_from(bound),
            st.sampled_from([*bound, 7]),
        )
        filters = draw(st.lists(comparisons, max_size=2))
        branches.append(Branch(tuple(drawn), tuple(filters)))
    shared = sorted(frozenset.intersection(*[b.variables for b in branches]))
    projection = draw(st.lists(st.sampled_from(shared), unique=True)) if shared else []
    return branches, projection


def renamed(branch: Branch, names: dict[str, str]) -> Branch:
    def term(t: Term) -> Term:
        return names.get(t, t) if isinstance(t, str) else t

    return Branch(
        tuple(
            TriplePattern(term(p.subject), term(p.predicate), term(p.object), p.graph)
            for p in branch.patterns
        ),
        tuple(TermComparison(f.operator, term(f.left), term(f.right)) for f in branch.filters),
    )


@settings(derandomize=True, max_examples=300, deadline=None)
@given(sub_patterns(), st.data())
def test_the_form_does_not_depend_on_names_and_order(
    given_pattern: tuple[list[Branch], list[str]], data: st.DataObject
) -> None:
    branches, projection = given_pattern
    form, columns = canonical(branches, projection)
    shuffle = lambda items: data.draw(st.permutations(list(items)))  # noqa: E731
    shared = dict(zip(projection, shuffle([f"p{i}" for i in range(len(projection))]), strict=True))
    others = []
    for branch in shuffle(branches):
        local = sorted(branch.variables - set(projection))
        fresh = shuffle([f"x{i}" for i in range(len(local))])
        other = renamed(branch, {**shared, **dict(zip(local, fresh, strict=True))})
        turned = [TermComparison(f.operator, f.right, f.left) for f in other.filters]
        others.append(Branch(tuple(shuffle(other.patterns)), tuple(shuffle(turned))))
    again, other_columns = canonical(others, shuffle(shared.values()))
    assert again == form
    assert hash(again) == hash(form)
    assert sorted(other_columns.values()) == sorted(columns.values()) == sorted(form.columns)


def isomorphic(a: StaticSubPattern, b: StaticSubPattern) -> bool:
    """By trying everything; for one branch."""
    if a.width != b.width:
        return False
    left, right = a.branches[0], b.branches[0]
    ours, theirs = sorted(left.variables), sorted(right.variables)
    if len(ours) != len(theirs):
        return False
    wanted = (set(right.patterns), {turned(f) for f in right.filters})
    for order in itertools.permutations(theirs):
        names = dict(zip(ours, order, strict=True))
        if {names[c] for c in a.columns} == set(b.columns):
            other = renamed(left, names)
            if (set(other.patterns), {turned(f) for f in other.filters}) == wanted:
                return True
    return False


def turned(comparison: TermComparison) -> tuple[str, tuple[Term, ...]]:
    return comparison.operator, tuple(sorted((comparison.left, comparison.right), key=str))


few = st.sampled_from(["a", "b", "c"])
small_patterns = st.builds(TriplePattern, few, st.just(7), few | st.just(8))
small_filters = st.builds(TermComparison, st.just("!="), few, few)


@st.composite
def small_branches(draw: Any) -> tuple[Branch, list[str]]:
    drawn = draw(st.lists(small_patterns, min_size=1, max_size=4))
    bound = {v for pattern in drawn for v in pattern.variables}
    filters = [f for f in draw(st.lists(small_filters, max_size=1)) if f.variables <= bound]
    names = draw(st.lists(st.sampled_from(sorted(bound)), unique=True))
    return Branch(tuple(drawn), tuple(filters)), names


@settings(derandomize=True, max_examples=300, deadline=None)
@given(small_branches(), small_branches())
def test_forms_are_equal_exactly_when_isomorphic(
    one: tuple[Branch, list[str]], two: tuple[Branch, list[str]]
) -> None:
    a, columns = canonical([one[0]], one[1])
    b, _ = canonical([two[0]], two[1])
    assert (a == b) == isomorphic(a, b)
    # The form is a renaming of what was given, with the columns as said.
    assert set(a.branches[0].patterns) <= {
        p
        for order in itertools.permutations([f"v{i}" for i in range(len(one[0].variables))])
        for p in renamed(one[0], dict(zip(sorted(one[0].variables), order, strict=True))).patterns
    }
    assert set(columns) == set(one[1])


def test_forms_of_like_variables_are_found_in_time() -> None:
    star = [TriplePattern("hub", 7, f"leaf{i}") for i in range(6)]
    apart = [TriplePattern(f"s{i}", 7, f"o{i}") for i in range(6)]
    ring = [TriplePattern(f"n{i}", 7, f"n{(i + 1) % 6}") for i in range(6)]
    assert len(canonical([Branch(tuple(star))], [f"leaf{i}" for i in range(6)])[0].columns) == 6
    assert canonical([Branch(tuple(apart))], [])[0].width == 0
    form, columns = canonical([Branch(tuple(ring))], [f"n{i}" for i in range(6)])
    assert form == canonical([Branch(tuple(ring[::-1]))], [f"n{5 - i}" for i in range(6)])[0]
    assert sorted(columns.values()) == [f"v{i}" for i in range(6)]


def test_repeated_patterns_and_branches() -> None:
    one = Branch((TriplePattern("a", 7, "b"),))
    twice = Branch((TriplePattern("a", 7, "b"), TriplePattern("a", 7, "b")))
    assert canonical([one], ["a"])[0] == canonical([twice], ["a"])[0]
    assert canonical([one, one], ["a"])[0] != canonical([one], ["a"])[0]


def test_tables_are_those_of_all_patterns() -> None:
    form, _ = canonical(
        [
            Branch((TriplePattern("a", 7, "b"), TriplePattern("a", "p", "c", 5))),
            Branch((TriplePattern("a", 8, 9),)),
        ],
        ["a"],
    )
    assert form.tables == {(0, 7), (5, None), (0, 8)}


def test_what_cannot_be_bound_is_refused() -> None:
    branch = Branch((TriplePattern("a", 7, "b"),))
    with pytest.raises(StaticDataError, match=r"\?c"):
        canonical([branch], ["c"])
    with pytest.raises(StaticDataError, match=r"\?d"):
        canonical([Branch(branch.patterns, (TermComparison("=", "a", "d"),))], ["a"])
    with pytest.raises(StaticDataError, match="triple pattern"):
        canonical([Branch(())], [])
    with pytest.raises(StaticDataError, match="<"):
        TermComparison("<", "a", "b")
