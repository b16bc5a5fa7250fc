"""Queries that differ in constants only: one skeleton, and one pattern that gives each instance its own solutions."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.language import parse_query
from sparkext.language.algebra import Project, Values
from sparkext.language.nodes import Node, Variable
from sparkext.language.query import Query
from sparkext.r2r.templates.filled_patterns import filled
from sparkext.r2r.templates.shared_patterns import Instances, NotShareableError, shared
from sparkext.r2r.templates.skeletons import Skeleton, hole, skeleton_of
from static_data.terms import Term
from tests.sparkext.rewriting.algebra_evaluation import Evaluation, integer
from tests.sparkext.rewriting.random_patterns import TERMS, RandomPatterns

NUMBER = Variable("instance")
HEAD = "PREFIX : <http://e/> "


def skeleton(text: str) -> Skeleton:
    found = skeleton_of(parse_query(HEAD + text))
    assert found is not None
    return found


SAME = {
    "constants": ("SELECT ?a { ?a :p :x }", "SELECT ?a { ?a :p :y }"),
    "names of variables": ("SELECT ?a { ?a :p ?b }", "SELECT ?b { ?b :p ?a }"),
    "spelling": (
        "SELECT ?a { ?a :p 'x' ; :q 1 }",
        'PREFIX e: <http://e/> SELECT ?a WHERE { ?a e:q 01 . ?a e:p "y" }',
    ),
    "order of triples": (
        "SELECT ?a { ?a :p ?b . ?b :p ?c . ?c :q :x }",
        "SELECT ?z { ?y :p ?x . ?x :q :y . ?z :p ?y }",
    ),
    "order of blocks": (
        "SELECT ?a { GRAPH :g { ?a :p ?b } ?b :q :x GRAPH :h { ?b :p ?c } }",
        "SELECT ?a { GRAPH :h { ?b :p ?c } GRAPH :g { ?a :p ?b } ?b :q :y }",
    ),
    "limits": ("SELECT ?a { ?a :p ?b } LIMIT 3", "SELECT ?a { ?a :p ?b } OFFSET 1"),
    "conditions": (
        "SELECT ?a { ?a :p ?b FILTER(?b > 3 && EXISTS { ?a :q :x }) }",
        "SELECT ?a { ?a :p ?b FILTER(?b > 4.5 && EXISTS { ?a :q :y }) }",
    ),
    "constants that stand alike, one of them elsewhere too": (
        "SELECT ?p { ?p :q 'a', 'b' FILTER(?p != 'a') }",
        "SELECT ?p { ?p :q 'b', 'c' FILTER(?p != 'c') }",
    ),
    "branches that differ in where their ends are": (
        "SELECT ?p { ?p :q ?a, ?b . ?a :r 'a' . ?b :r 'b' . 'b' :s 'c' }",
        "SELECT ?p { ?p :q ?a, ?b . ?a :r 'b' . ?b :r 'a' . 'b' :s 'c' }",
    ),
    "order in ASK": ("ASK { ?a :p :x . ?b :q ?a }", "ASK { ?b :q ?a . ?a :p :y }"),
    "order in EXISTS": (
        "SELECT ?a { ?a :p ?b FILTER EXISTS { ?a :q :x . ?x :p ?b } }",
        "SELECT ?a { ?a :p ?b FILTER EXISTS { ?y :p ?b . ?a :q :z } }",
    ),
    "inline data": (
        "SELECT ?a { ?a :p ?b VALUES (?a ?b) { (:x 1) (UNDEF 2) (:x UNDEF) } }",
        "SELECT ?a { ?a :p ?b VALUES (?b ?a) { (UNDEF :y) (3 UNDEF) (4 :y) } }",
    ),
    "ends of paths": ("SELECT ?a { ?a :p+/:q :x }", "SELECT ?a { ?a :p+/:q 'y' }"),
    "blank nodes": ("SELECT ?a { ?a :p [ :q 1 ] }", "SELECT ?a { _:b :q 2 . ?a :p _:b }"),
}
OTHER = {
    "predicates": ("SELECT ?a { ?a :p :x }", "SELECT ?a { ?a :q :x }"),
    "what is answered": ("SELECT ?a { ?a :p ?b }", "SELECT ?b { ?a :p ?b }"),
    "its order": ("SELECT ?a ?b { ?a :p ?b }", "SELECT ?b ?a { ?a :p ?b }"),
    "graphs": ("SELECT ?a { GRAPH :g { ?a :p ?b } }", "SELECT ?a { GRAPH :h { ?a :p ?b } }"),
    "operators": (
        "SELECT ?a { ?a :p ?b FILTER(?b > 3) }",
        "SELECT ?a { ?a :p ?b FILTER(?b < 3) }",
    ),
    "inline data that have another form": (
        "SELECT ?a { ?a :p ?b VALUES ?b { 1 } }",
        "SELECT ?a { ?a :p ?b VALUES ?b { 1 2 } }",
    ),
    "which cells are one": (
        "SELECT ?a { ?a :p ?b VALUES (?a ?b) { (:x :x) } }",
        "SELECT ?a { ?a :p ?b VALUES (?a ?b) { (:x :y) } }",
    ),
    "ends of paths that may have no steps": (
        "SELECT ?a { ?a :p* :x }",
        "SELECT ?a { ?a :p* :y }",
    ),
    "regular expressions": (
        "SELECT ?a { ?a :p ?b FILTER REGEX(?b, 'x') }",
        "SELECT ?a { ?a :p ?b FILTER REGEX(?b, 'y') }",
    ),
    "which of the constants are one": (
        "SELECT ?p { ?p :q 'a', 'b' FILTER(?p != 'a') }",
        "SELECT ?p { ?p :q 'a', 'b' FILTER(?p != 'c') }",
    ),
    "a variable that stands twice": (
        "SELECT ?a { ?a :p ?b . ?b :p ?a }",
        "SELECT ?a { ?a :p ?b . ?a :p ?b }",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_one_skeleton(name: str) -> None:
    one, other = map(skeleton, SAME[name])
    assert one.query == other.query
    assert len(one.constants) == len(other.constants)


@pytest.mark.parametrize("name", OTHER)
def test_other_skeletons(name: str) -> None:
    one, other = map(skeleton, OTHER[name])
    assert one.query != other.query


SPOTS = st.sampled_from(("?a", "?b", "?c", "?d", "K1", "K2", "K3", "K4"))
TRIPLES = st.lists(st.tuples(SPOTS, st.sampled_from((":p", ":q")), SPOTS), min_size=1, max_size=6)


@st.composite
def groups(draw: st.DrawFn, depth: int = 1) -> list[str | list[Any]]:
    """Parts of a group that may stand in any order: triples, and groups with what is before and after them."""
    parts: list[str | list[Any]] = [" ".join((*triple, ".")) for triple in draw(TRIPLES)]
    for kind in draw(st.lists(st.sampled_from(sorted(AROUND)), max_size=2 if depth else 0)):
        parts.append([kind, *(draw(groups(depth - 1)) for _ in AROUND[kind][1:])])
    return parts


AROUND = {
    "graph": ("GRAPH :g {", "}"),
    "union": ("{", "} UNION {", "}"),
    "filter": ("{ ?a :p ?c FILTER(?a != K1 || ?c IN (K2, K3)) FILTER NOT EXISTS {", "} }"),
    "values": ("{ VALUES (?b ?c) { (K1 K2) (UNDEF K1) (K3 K3) }", "}"),
    "path": ("{ ?a :p+ ?x . K4 :q+ ?x . ?x :p|^:q K2 .", "}"),
    "select": ("{ SELECT ?a (COUNT(?b) AS ?n) {", "} GROUP BY ?a }"),
}


def written(parts: list[Any], chance: Random) -> str:
    """A group's text, its parts in some order."""

    def text(part: str | list[Any]) -> str:
        if isinstance(part, str):
            return part
        begin, *rest = AROUND[part[0]]
        inner = zip(part[1:], rest, strict=True)
        return begin + "".join(written(group, chance) + after for group, after in inner)

    return " ".join(map(text, chance.sample(parts, len(parts))))


@given(groups(), st.integers(0, 10**9), st.sampled_from(("SELECT ?a ?c", "ASK", "SELECT ?b")))
@settings(max_examples=400, deadline=None)
def test_versions_of_a_query_are_of_one_kind(parts: list[Any], seed: int, head: str) -> None:
    chance = Random(seed)
    found = []
    for _ in range(2):
        text = f"{head} {{ {written(parts, chance)} }}"
        terms = chance.sample(range(10, 100), 4)
        for number, term in enumerate(terms, 1):
            text = text.replace(f"K{number}", chance.choice((f"<http://e/{term}>", f":{term}")))
        for variable in chance.sample("abcdn", 5):
            text = text.replace(f"?{variable}", f"?{chance.choice('xyz')}{variable}")
        found.append(skeleton(text))
    assert found[0].query == found[1].query


def test_a_skeleton_that_is_filled_means_the_query() -> None:
    for seed in range(200):
        random = RandomPatterns(seed)
        query = random_query(random)
        made = skeleton_of(query)
        assert made is not None
        constants = {hole(place): term for place, term in enumerate(made.constants)}
        world = random.world()
        found = Evaluation(world, bag=True).solutions(filled(made.query.pattern, constants))
        names = dict(zip(made.query.variables, query.variables, strict=True))
        again = Counter({frozenset((names[v], t) for v, t in s): n for s, n in found.items()})
        assert again == Evaluation(world, bag=True).solutions(query.pattern)


def random_query(random: RandomPatterns) -> Query:
    pattern = random.pattern(2)
    names = tuple(pattern.variables)
    return Query("SELECT", Project(pattern, names), names)


shareable = {True: 0, False: 0}


def test_inline_data_without_terms_stay() -> None:
    made = skeleton("SELECT ?a { ?a :p ?b VALUES (?a ?b) { (UNDEF UNDEF) } }")
    assert any(isinstance(node, Values) for node in made.query.pattern.walk())


def test_a_long_list_of_choices_is_what_a_query_asks() -> None:
    def asked(first: int, count: int) -> object:
        choices = ", ".join(map(str, range(first, first + count)))
        return skeleton(f"SELECT ?a {{ ?a :p ?b FILTER(?b IN ({choices})) }}").query

    assert asked(0, 100) == asked(1, 100)
    assert asked(0, 101) != asked(1, 101)


@given(st.integers(0, 10**9))
@settings(max_examples=400, deadline=None)
def test_each_instance_has_its_own_solutions(seed: int) -> None:
    random = RandomPatterns(seed)
    made = skeleton_of(random_query(random))
    assert made is not None
    chance = Random(seed)
    rows = [[chance.choice(TERMS) for _ in made.constants] for _ in range(3)]
    holes = [hole(place) for place in range(len(made.constants))]
    table = Values((NUMBER, *holes), tuple((integer(n), *row) for n, row in enumerate(rows)))
    pattern = made.query.pattern
    try:
        together = shared(pattern, Instances(table, NUMBER, frozenset(holes)))
    except NotShareableError:
        shareable[False] += 1
        return
    shareable[True] += 1
    world = random.world()
    for bag in (True, False):
        wanted: Counter[frozenset[tuple[Variable, Term]]] = Counter()
        for number, row in enumerate(rows):
            alone: Node = filled(pattern, dict(zip(holes, row, strict=True)))
            for solution, times in Evaluation(world, bag).solutions(alone).items():
                wanted[solution | {(NUMBER, integer(number))}] += times
        assert Evaluation(world, bag).solutions(together) == wanted


def test_most_patterns_are_shareable() -> None:
    if sum(shareable.values()) > 100:
        assert shareable[False] < sum(shareable.values()) / 4
