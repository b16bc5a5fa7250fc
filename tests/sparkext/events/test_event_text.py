"""Event patterns as text: the printed algebra, and what it is read as."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sparkext.language import format_algebra
from sparkext.language.algebra_text import format_events
from sparkext.language.event_patterns import (
    Conjunction,
    Disjunction,
    Event,
    EventPattern,
    First,
    Last,
    Related,
    Repetition,
    Sequence,
    Timed,
    Within,
    change_aggregates,
    walk,
)
from sparkext.language.expressions import Aggregate
from sparkext.rewriting.bound_variables import certain_variables
from tests.sparkext.events.test_event_patterns import EVENTS, A, B, C, match, query, v


def test_printed_algebra() -> None:
    text = f"""SELECT ?x {EVENTS} {{ MATCH RECENT WITHOUT CONSUMPTION {{
      A SEQ NOT B+ BY ?y SEQ C AT ?t WITHIN PT5S FROM ?a TO ?b }} }}"""
    assert format_algebra(query(text).pattern) == (
        "Project ?x\n"
        "  Match RECENT WITHOUT CONSUMPTION "
        "{ A SEQ NOT (B+ BY ?y) SEQ (C AT ?t) WITHIN 5000 ms FROM ?a TO ?b }\n"
        "    A: Window <http://e/v>\n"
        "      Bgp\n"
        "        ?x <http://e/p> ?y\n"
        "    B: Window <http://e/w>\n"
        "      Bgp\n"
        "        ?y <http://e/q> ?z\n"
        "    C: Window <http://e/w>\n"
        "      Bgp\n"
        "        ?z <http://e/r> ?u"
    )


def _larger(parts: st.SearchStrategy[EventPattern]) -> st.SearchStrategy[EventPattern]:
    counted = st.sampled_from([(), (Aggregate("COUNT", None),), (Aggregate("COUNT", None),) * 2])
    durations = st.integers(0, 10**9)
    relations: Any = st.sampled_from(["meets", "met by", "contains", "started by", "equals"])
    repetitions = st.builds(
        lambda part, aggregates: Repetition(
            part, (), tuple((v("new"), aggregate) for aggregate in aggregates)
        ),
        parts,
        counted,
    )
    return st.one_of(
        st.builds(First, parts),
        st.builds(Last, parts),
        st.builds(Sequence, parts, parts, st.none() | parts),
        st.builds(Conjunction, parts, parts),
        st.builds(Disjunction, parts, parts),
        st.builds(Related, relations, parts, parts),
        st.builds(Within, parts, durations),
        repetitions,
        st.builds(Timed, parts, st.just(v("new")), st.sampled_from([None, v("new")])),
    )


PATTERNS: st.SearchStrategy[EventPattern] = st.recursive(
    st.sampled_from([A, B, C]), _larger, max_leaves=8
)


def numbered(pattern: EventPattern) -> EventPattern:
    """The pattern with other names for all variables that it makes, and everything shown."""
    made = iter(range(10**6))

    def fresh(part: EventPattern) -> EventPattern:
        match part:
            case Event():
                return part
            case Sequence(left, right, absent):
                return Sequence(
                    fresh(left), fresh(right), None if absent is None else fresh(absent)
                )
            case Conjunction(left, right):
                return Conjunction(fresh(left), fresh(right))
            case Disjunction(left, right):
                return Disjunction(fresh(left), fresh(right))
            case Related(relation, left, right):
                return Related(relation, fresh(left), fresh(right))
            case Timed(input_, _, end):
                inner = fresh(input_)
                return Timed(
                    inner, v(f"t{next(made)}"), None if end is None else v(f"t{next(made)}")
                )
            case Repetition(input_, keys, aggregates):
                inner = fresh(input_)
                named = tuple((v(f"n{next(made)}"), aggregate) for _, aggregate in aggregates)
                return Repetition(inner, keys, named)
            case Within(input_, most):
                return Within(fresh(input_), most)
            case First(input_):
                return First(fresh(input_))
            case Last(input_):
                return Last(fresh(input_))

    return fresh(pattern)


@given(PATTERNS)
def test_printed_event_patterns_are_read_as_the_same(pattern: EventPattern) -> None:
    pattern = numbered(pattern)
    found = match(format_events(pattern))
    assert found.pattern == pattern
    named = dict.fromkeys(part.name for part in walk(pattern) if isinstance(part, Event))
    assert found.names == tuple(named)
    assert set(found.variables) >= certain_variables(found)


@given(PATTERNS)
def test_aggregates_are_changed_everywhere(pattern: EventPattern) -> None:
    changed = change_aggregates(pattern, lambda a: Aggregate("SAMPLE", a.argument))
    names = [
        a.name for part in walk(changed) if isinstance(part, Repetition) for _, a in part.aggregates
    ]
    assert len(names) == sum(
        len(part.aggregates) for part in walk(pattern) if isinstance(part, Repetition)
    )
    assert set(names) <= {"SAMPLE"}
    assert change_aggregates(pattern, lambda a: a) == pattern
