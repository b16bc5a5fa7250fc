"""Warnings for filters whose variables are bound only outside their WINDOW or GRAPH."""

import pytest

from sparkext.language import parse_query

HEAD = "PREFIX : <http://e/> SELECT * FROM NAMED WINDOW :w ON :s [NOW]\n"


def warnings(group: str) -> list[tuple[str, int, int]]:
    found = parse_query(HEAD + group).warnings
    return [(warning.message.split(" so ")[0], warning.line, warning.column) for warning in found]


def test_filter_inside_window() -> None:
    assert warnings("{ WINDOW :w { ?a :p ?b\n FILTER(?b > ?limit) } ?a :limit ?limit }") == [
        ("?limit is not bound inside this WINDOW group,", 3, 14)
    ]


def test_filter_inside_graph_and_optional() -> None:
    group = "{ ?a :limit ?x OPTIONAL { GRAPH :g { ?a :p ?b FILTER(?b > ?x) } } }"
    assert warnings(group) == [("?x is not bound inside this GRAPH group,", 2, 59)]


def test_filter_on_the_name_of_the_graph_around_it() -> None:
    group = "{ GRAPH ?g { ?a :p ?b FILTER(?g = :g) } }"
    assert warnings(group) == [("?g is not bound inside this GRAPH group,", 2, 30)]
    assert warnings("{ GRAPH ?g { ?g :p ?b FILTER(?g = :g) } }") == []


@pytest.mark.parametrize(
    "group",
    [
        "{ WINDOW :w { ?a :p ?b FILTER(?b > 3) } ?a :limit ?limit }",
        "{ WINDOW :w { ?a :p ?b } ?a :limit ?limit FILTER(?b > ?limit) }",
        # Bound nowhere at all: perhaps a typing error, but no matter of scope.
        "{ WINDOW :w { ?a :p ?b FILTER(BOUND(?nowhere)) } }",
        # An optional filter may see the left side.
        "{ WINDOW :w { ?a :p ?b OPTIONAL { ?a :q ?c FILTER(?c > ?b) } } }",
        # EXISTS has variables of its own.
        "{ WINDOW :w { ?a :p ?b FILTER EXISTS { ?a :q ?x } } ?x :r 1 }",
        "{ { ?a :p ?b } { ?c :q ?d FILTER(?b > 1) } }",
    ],
)
def test_no_warning(group: str) -> None:
    assert warnings(group) == []
