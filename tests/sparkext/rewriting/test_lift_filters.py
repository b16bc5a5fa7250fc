"""Filters that read a variable of the outside, lifted to the group that binds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkext.language import parse_query
from sparkext.language.nodes import Node
from sparkext.rewriting.lift_filters import apply_filter_scope, lift_filters
from static_data.terms import Iri
from tests.sparkext.rewriting.algebra_evaluation import Evaluation, World, integer

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "PREFIX : <http://e/> SELECT * FROM NAMED WINDOW :w ON :s [NOW]\n"


def pattern(group: str) -> Node:
    return parse_query(HEAD + group).pattern


LIFTED = {
    "out of WINDOW": (
        "{ WINDOW :w { ?a :p ?b FILTER(?b > ?x) } ?a :max ?x }",
        "{ WINDOW :w { ?a :p ?b } ?a :max ?x FILTER(?b > ?x) }",
    ),
    "out of GRAPH inside WINDOW": (
        "{ ?a :max ?x WINDOW :w { GRAPH ?g { ?a :p ?b FILTER(?b > ?x) } } }",
        "{ ?a :max ?x WINDOW :w { GRAPH ?g { ?a :p ?b } } FILTER(?b > ?x) }",
    ),
    "only the part that reads the outside": (
        "{ ?a :max ?x WINDOW :w { ?a :p ?b FILTER(?b > ?x && ?b > 3) } }",
        "{ ?a :max ?x WINDOW :w { ?a :p ?b FILTER(?b > 3) } FILTER(?b > ?x) }",
    ),
    "to the group of the window": (
        "{ WINDOW :w { ?a :max ?x GRAPH :g { ?a :p ?b FILTER(?b > ?x) } } }",
        "{ WINDOW :w { ?a :max ?x GRAPH :g { ?a :p ?b } FILTER(?b > ?x) } }",
    ),
    "to the nearest of two groups": (
        "{ ?a :q ?y { ?a :max ?x GRAPH :g { ?a :p ?b FILTER(?b > ?x) } } }",
        "{ ?a :q ?y { ?a :max ?x GRAPH :g { ?a :p ?b } FILTER(?b > ?x) } }",
    ),
    "to an OPTIONAL, as its condition": (
        "{ ?a :max ?x OPTIONAL { WINDOW :w { ?a :p ?b FILTER(?b > ?x) } } }",
        "{ ?a :max ?x OPTIONAL { WINDOW :w { ?a :p ?b } FILTER(?b > ?x) } }",
    ),
    "the condition of an OPTIONAL": (
        "{ ?a :max ?x WINDOW :w { ?a :p ?b OPTIONAL { ?a :q ?c FILTER(?c > ?x) } } }",
        "{ ?a :max ?x WINDOW :w { ?a :p ?b OPTIONAL { ?a :q ?c } } FILTER(?c > ?x) }",
    ),
    "the condition of an OPTIONAL with the BIND that it reads": (
        "{ ?a :max ?x WINDOW :w { ?a :p ?b BIND(?b + ?x AS ?y) OPTIONAL { ?a :q ?b FILTER(?b > ?y) } } }",
        "{ ?a :max ?x WINDOW :w { ?a :p ?b OPTIONAL { ?a :q ?b } } BIND(?b + ?x AS ?y) FILTER(?b > ?y) }",
    ),
    "to the name of the graph": (
        "{ GRAPH ?g { ?a :p ?b FILTER(?g = :g) } }",
        "{ GRAPH ?g { ?a :p ?b } FILTER(?g = :g) }",
    ),
    "to a later BIND": (
        "{ GRAPH :g { ?a :p ?b FILTER(?b > ?x) } BIND(3 AS ?x) }",
        "{ GRAPH :g { ?a :p ?b } BIND(3 AS ?x) FILTER(?b > ?x) }",
    ),
    "within a branch of UNION": (
        "{ { ?a :max ?x GRAPH :g { ?a :p ?b FILTER(?b > ?x) } } UNION { ?a :r ?b } }",
        "{ { ?a :max ?x GRAPH :g { ?a :p ?b } FILTER(?b > ?x) } UNION { ?a :r ?b } }",
    ),
}


@pytest.mark.parametrize("name", LIFTED)
def test_lifted(name: str) -> None:
    written, meant = LIFTED[name]
    assert lift_filters(pattern(written)) == pattern(meant)
    assert pattern(written) != pattern(meant)


@pytest.mark.parametrize(
    "group",
    [
        "{ WINDOW :w { ?a :p ?b FILTER(?b > 3) } ?a :max ?x }",
        "{ WINDOW :w { ?a :p ?b FILTER(BOUND(?nowhere)) } ?a :max ?x }",
        "{ ?a :min ?y WINDOW :w { ?a :p ?b BIND(?b + ?x AS ?y) } ?a :max ?x }",
        "{ WINDOW :w { ?a :p ?b BIND(?b + ?x AS ?y) } ?a :max ?x GRAPH :g { ?a :q ?y } }",
        "{ WINDOW :w { ?a :p ?b OPTIONAL { ?a :q ?c FILTER(?c > ?b) } } }",
        # Not inside WINDOW or GRAPH: a nested group is written on purpose.
        "{ { ?a :p ?b FILTER(?b > ?x) } ?a :max ?x }",
        # EXISTS has a scope of its own, and a graph of its own.
        "{ WINDOW :w { ?a :p ?b FILTER EXISTS { ?a :q ?x } } ?x :r 1 }",
        # Lifted out of one branch, it would hold for the other too.
        "{ ?a :max ?x { GRAPH :g { ?a :p ?b FILTER(?b > ?x) } } UNION { ?a :r ?b } }",
        "{ ?a :max ?x MINUS { GRAPH :g { ?a :p ?b FILTER(?b > ?x) } } }",
        "{ ?a :max ?x { SELECT ?a ?b { GRAPH :g { ?a :p ?b FILTER(?b > ?x) } } } }",
    ],
)
def test_not_lifted(group: str) -> None:
    assert lift_filters(pattern(group)) == pattern(group)


def test_answers_in_both_scopes() -> None:
    p, top, x, y = (Iri(f"http://e/{name}") for name in ("p", "max", "x", "y"))
    window = World(frozenset({(x, p, integer(5)), (y, p, integer(2))}))
    limits = frozenset({(x, top, integer(3)), (y, top, integer(3))})
    world = World(limits, windows={Iri("http://e/w"): window})
    written = pattern("{ WINDOW :w { ?a :p ?b FILTER(?b > ?x) } ?a :max ?x }")
    assert not Evaluation(world, True).solutions(written)
    (found,) = Evaluation(world, True).solutions(lift_filters(written))
    assert {variable.name: term for variable, term in found} == {
        "a": x,
        "b": integer(5),
        "x": integer(3),
    }


def test_warnings_name_the_key_and_go_when_it_is_set() -> None:
    text = HEAD + "{ WINDOW :w { ?a :p ?b FILTER(?b > ?x) } ?a :max ?x }"
    standard = apply_filter_scope(parse_query(text), "standard")
    assert ["spark.cqels.filterScope=lift" in str(w) for w in standard.warnings] == [True]
    assert apply_filter_scope(parse_query(text), "lift").warnings == ()


# Listing 2 of the uncertainty paper: its filters read what their own groups bind.
LISTING_2 = """PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX rspu: <http://w3id.org/rsp/rspu#> BASE <http://e/>
REGISTER STREAM <warning/tvs> COMPUTED EVERY PT4S AS SELECT ?location ?oxValue ?tempValue
FROM NAMED WINDOW <w1> ON <http://stream/oxygen> [RANGE PT10S STEP PT1S]
FROM NAMED WINDOW <w2> ON <http://stream/temperature> [RANGE PT10S STEP PT1S]
WHERE {
  WINDOW <w1> { GRAPH ?g1 {
    ?o1 sosa:hasSimpleResult ?oxValue ; sosa:hasFeatureOfInterest ?location .
    << ?o1 sosa:hasSimpleResult ?oxValue >> rspu:uncertainty ?unc .
    FILTER(rspu:lessThan(rspu:add(?unc, ?oxValue), 0.18) >= 0.80) } }
  WINDOW <w2> { GRAPH ?g2 {
    ?o2 sosa:hasSimpleResult ?tempValue ; sosa:hasFeatureOfInterest ?location .
    FILTER(?tempValue > 30) } } }"""


def test_listing_2_stays_as_it_is() -> None:
    query = parse_query(LISTING_2)
    assert query.warnings == ()
    assert lift_filters(query.pattern) == query.pattern


# Variables of the static part that filters inside the windows read, by query.
TVS = {
    "Q1a": "",
    "Q1b": "",
    "Q2a": "mu1 mu3",
    "Q2b": "mu1 mu3",
    "Q3a": "mu1 value1",
    "Q3b": "mu1 value1",
}


@pytest.mark.parametrize("name", TVS)
def test_tunnel_ventilation_queries(shared: Path, name: str) -> None:
    text = (shared / "workloads" / "tvs" / f"{name}.rspqlstar").read_text(encoding="utf-8")
    query = parse_query(text.replace("$QUERY_NAME", "q").replace("$P", "0.5"))
    outside = {warning.message.split()[0] for warning in query.warnings}
    assert outside == {f"?{variable}" for variable in TVS[name].split()}
    lifted = apply_filter_scope(query, "lift")
    assert lifted.warnings == ()
    assert (lifted.pattern != query.pattern) == bool(outside)
