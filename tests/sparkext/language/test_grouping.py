"""Aggregates, grouping and the solution modifiers (SPARQL 1.1, sections 18.2.4 and 18.2.5)."""

import pytest

from sparkext.errors import QuerySyntaxError
from sparkext.language import format_algebra, parse_query


def algebra(text: str) -> str:
    return format_algebra(parse_query(text, prefixes={"": "http://e/"}).pattern)


def test_an_aggregate_without_group_by_makes_one_group_without_keys() -> None:
    assert (
        algebra("SELECT (COUNT(*) AS ?n) { ?s :p ?o }")
        == """\
Project ?n
  Extend ?n = ?_:agg0
    Group () (?_:agg0 = COUNT(*))
      Bgp
        ?s <http://e/p> ?o"""
    )


def test_equal_aggregates_are_computed_once() -> None:
    text = "SELECT ?s (SUM(?o) AS ?a) (SUM(?o) + 1 AS ?b) {?s :p ?o} GROUP BY ?s ORDER BY SUM(?o)"
    assert (
        algebra(text)
        == """\
Project ?s ?a ?b
  OrderBy ASC(?_:agg0)
    Extend ?b = ?_:agg0 + 1
      Extend ?a = ?_:agg0
        Group (?s) (?_:agg0 = SUM(?o))
          Bgp
            ?s <http://e/p> ?o"""
    )


def test_keys_may_be_expressions_with_and_without_a_name() -> None:
    text = "SELECT ?k (MAX(?o) AS ?m) {?s :p ?o} GROUP BY (STR(?s) AS ?k) LANG(?o)"
    assert "Group (?k = STR(?s), ?_:key0 = LANG(?o)) (?_:agg0 = MAX(?o))" in algebra(text)


def test_variables_that_are_no_keys_are_sampled_in_having_and_order_by() -> None:
    text = "SELECT ?s {?s :p ?o} GROUP BY ?s HAVING (?o > 1) ORDER BY ?o"
    assert (
        algebra(text)
        == """\
Project ?s
  OrderBy ASC(?_:agg0)
    Filter ?_:agg0 > 1
      Group (?s) (?_:agg0 = SAMPLE(?o))
        Bgp
          ?s <http://e/p> ?o"""
    )


def test_a_later_item_may_use_an_earlier_name() -> None:
    text = "SELECT (COUNT(*) AS ?n) (?n * 2 AS ?m) { ?s :p ?o }"
    assert "Extend ?m = ?n * 2" in algebra(text)


def test_trailing_values_join_before_select_expressions() -> None:
    text = "SELECT (?o + 1 AS ?x) { ?s :p ?o } VALUES ?o { 1 2 }"
    assert (
        algebra(text)
        == """\
Project ?x
  Extend ?x = ?o + 1
    Join
      Bgp
        ?s <http://e/p> ?o
      Values (?o) { (1) (2) }"""
    )


def test_sub_select_is_a_multiset() -> None:
    text = "SELECT ?s { ?s :p ?o { SELECT REDUCED ?s { ?s :q ?z } ORDER BY ?z OFFSET 3 } }"
    assert (
        algebra(text)
        == """\
Project ?s
  Join
    Bgp
      ?s <http://e/p> ?o
    ToMultiset
      Slice offset 3
        Reduced
          Project ?s
            OrderBy ASC(?z)
              Bgp
                ?s <http://e/q> ?z"""
    )


def test_having_that_names_a_select_alias_warns() -> None:
    text = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING (?n > 1)"
    (warning,) = parse_query(text).warnings
    assert (warning.line, warning.column) == (1, 58)
    assert "?n is named by SELECT" in warning.message


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("SELECT * { ?s ?p ?o } GROUP BY ?s", "SELECT * cannot be used", 8),
        ("SELECT ?o { ?s ?p ?o } GROUP BY ?s", "?o is neither in GROUP BY", 8),
        ("SELECT ?o (COUNT(*) AS ?n) { ?s ?p ?o }", "?o is neither in GROUP BY", 8),
        ("SELECT (?o + COUNT(*) AS ?n) { ?s ?p ?o }", "?o is neither in GROUP BY", 9),
        ("SELECT (SUM(COUNT(*)) AS ?n) { ?s ?p ?o }", "cannot stand inside another one", 13),
        ("SELECT ?s { ?s ?p ?o FILTER(COUNT(?o) > 1) }", "an aggregate is only allowed", 29),
        ("SELECT ?s { ?s ?p ?o } GROUP BY (COUNT(?o))", "an aggregate is only allowed", 34),
        ("SELECT (1 AS ?s) { ?s ?p ?o }", "?s is already in use", 14),
        ("SELECT (1 AS ?x) (2 AS ?x) { }", "?x is already in use", 24),
        ("SELECT (SUM(*) AS ?x) { }", "SUM takes an expression", 13),
        ('SELECT (SUM(?x; SEPARATOR=",") AS ?y) { }', "SUM takes no SEPARATOR", 15),
    ],
)
def test_rules_of_grouping(text: str, message: str, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)
