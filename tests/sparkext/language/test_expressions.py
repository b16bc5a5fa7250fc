"""Expressions: precedence, the sign that belongs to a number, and the forms that look alike."""

import pytest

from sparkext.language import parse_query
from sparkext.language.algebra import Filter
from sparkext.language.algebra_text import format_expression
from sparkext.language.expressions import BuiltinCall, Exists, Expression, FunctionCall


def condition(text: str) -> Expression:
    query = parse_query(f"SELECT * {{ FILTER({text}) }}", prefixes={"": "http://e/"})
    (node,) = query.pattern.children
    assert isinstance(node, Filter)
    return node.condition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?a || ?b && ?c = ?d + ?e * -?f", "?a || (?b && (?c = (?d + (?e * -?f))))"),
        ("?a - ?b - ?c", "(?a - ?b) - ?c"),
        ("?a -1", "?a + -1"),
        ("?a -1*2+3", "(?a + (-1 * 2)) + +3"),
        ("!?a && !!?b", "!?a && !!?b"),
        ("?a<?b&&?c>?d", "(?a < ?b) && (?c > ?d)"),
        ("?a IN (1, 2.0, :x)", "?a IN (1, 2.0, <http://e/x>)"),
        ("?a NOT IN ()", "?a NOT IN ()"),
        ("sameTerm(?a, ?b) && isURI(?a)", "SAMETERM(?a, ?b) && ISIRI(?a)"),
        ("COALESCE(?a, IF(BOUND(?b), ?b, 'no'))", 'COALESCE(?a, IF(BOUND(?b), ?b, "no"))'),
        (":f(?a)", "<http://e/f>(?a)"),
        (":f()", "<http://e/f>()"),
        ("<< ?a :p 1 >> = TRIPLE(?a, :p, 1)", '<< ?a <http://e/p> "1"^^'),
        ("NOT EXISTS { ?a :p ?b }", "NOT EXISTS { Bgp ?a <http://e/p> ?b }"),
        ("true || FALSE", "true || false"),
    ],
)
def test_reading(text: str, expected: str) -> None:
    assert format_expression(condition(text)).startswith(expected)


def test_names_are_in_upper_case_and_one_per_function() -> None:
    call = condition("uri(?a)")
    assert call == BuiltinCall("IRI", call.children)
    assert isinstance(condition(":f(DISTINCT ?a)"), FunctionCall)


def test_exists_knows_its_variables() -> None:
    exists = condition("EXISTS { ?a ?b 1 }")
    assert isinstance(exists, Exists)
    assert [str(variable) for variable in exists.variables] == ["?a", "?b"]


def test_transform_rebuilds_only_what_changes() -> None:
    expression = condition("?a + 1 > ?b")
    assert expression.transform(lambda part: part) == expression
    kinds = [type(part).__name__ for part in expression.walk()]
    assert kinds == [
        "Comparison",
        "Arithmetic",
        "VariableReference",
        "Constant",
        "VariableReference",
    ]
