"""Which static patterns are asked of the events of a MATCH before these are kept."""

from __future__ import annotations

import pytest

from sparkext.language import parse_query
from sparkext.language.algebra import Bgp, Graph
from sparkext.language.event_patterns import Match
from sparkext.language.nodes import Node
from sparkext.r2r.patterns.restricted_events import restrictions

EVENTS = """PREFIX : <http://e/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE PT1S]
EVENT ON :w { ?x :p ?y } AS A EVENT ON :w { ?y :q ?z } AS B """
AB = "MATCH { A SEQ B }"


def found(body: str) -> list[list[str]]:
    pattern = parse_query(EVENTS + body).pattern
    match = next(node for node in pattern.walk() if isinstance(node, Match))
    return [[shown(part) for part in parts] for parts in restrictions(pattern, match)]


def shown(node: Node) -> str:
    inner = node.input if isinstance(node, Graph) else node
    assert isinstance(inner, Bgp)
    (triple,) = inner.patterns
    text = " ".join(term.n3().replace("http://e/", "") for term in triple)
    return f"{node.name.n3()} {text}" if isinstance(node, Graph) else text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{{ ?x :is :Rare {AB} }}", [["?x <is> <Rare>"], []]),
        (f"{{ ?y :is :Rare {AB} }}", [["?y <is> <Rare>"], ["?y <is> <Rare>"]]),
        (f"{{ :room :has ?z . {AB} FILTER(?x != ?z) }}", [[], ["<room> <has> ?z"]]),
        (f"{{ GRAPH :g {{ ?x :is :Rare }} {AB} }}", [["<http://e/g> ?x <is> <Rare>"], []]),
        (f"{{ ?x :name ?n {AB} }}", [[], []]),
        (f"{{ ?n :is :Rare {AB} }}", [[], []]),
        (f"{{ ?x ?x ?x {AB} }}", [[], []]),
        (f"{{ {AB} OPTIONAL {{ ?x :is :Rare }} }}", [[], []]),
        (f"{{ {AB} MINUS {{ ?x :is :Rare }} }}", [[], []]),
        (f"{{ {{ {AB} }} UNION {{ ?x :is :Rare }} }}", [[], []]),
        (f"{{ ?x :is :Rare OPTIONAL {{ {AB} }} }}", [[], []]),
        (f"{{ OPTIONAL {{ ?x :is :Rare {AB} }} }}", [["?x <is> <Rare>"], []]),
        (f"{{ GRAPH :g {{ ?x :is :Rare {AB} }} }}", [[], []]),
        (f"{{ GRAPH ?g {{ ?x :is :Rare }} {AB} }}", [[], []]),
        (f"{{ ?x :is :Rare . {AB} {{ {AB} }} UNION {{}} }}", [[], []]),
    ],
)
def test_patterns_of_one_variable_that_are_joined_with_the_match(
    body: str, expected: list[list[str]]
) -> None:
    assert found(body) == expected
