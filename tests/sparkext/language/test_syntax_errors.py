"""Syntax errors: exact place, readable expectation."""

import pytest

from sparkext.errors import QuerySyntaxError
from sparkext.language import parse_query


def error(text: str) -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text, prefixes={"": "http://e/"})
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "line", "column", "expected"),
    [
        ("", "unexpected end of the query", 1, 1, None),
        (
            "SELECT WHERE { ?s ?p ?o }",
            "unexpected 'WHERE'",
            1,
            8,
            ("a variable", "DISTINCT or REDUCED", "RSTREAM, ISTREAM or DSTREAM", "'('", "'*'"),
        ),
        (
            "SELECT ?s\nWHERE { ?s :p }",
            "unexpected '}'",
            2,
            15,
            ("a term or a variable", "a path operator"),
        ),
        (
            "SELECT ?s WHERE { ?s :p ?o",
            "unexpected end of the query",
            1,
            27,
            (
                "a graph pattern such as FILTER, OPTIONAL or GRAPH",
                "','",
                "'.'",
                "';'",
                "'{|'",
                "'}'",
            ),
        ),
        (
            "SELECT ?s WHERE { ?s 3 ?o }",
            "unexpected '3'",
            1,
            22,
            ("a predicate or a property path",),
        ),
        (
            "SELECT ?s WHERE { FILTER ?x > 3 }",
            "unexpected '?x'",
            1,
            26,
            ("a condition in parentheses or a function call",),
        ),
        ("SELECT ?s WHERE { FILTER(?x >) }", "unexpected ')'", 1, 30, ("an expression",)),
        (
            "SELECT ?s WHERE { FILTER(?x > 3 ?y) }",
            "unexpected '?y'",
            1,
            33,
            None,
        ),
        ("SELECT ?s WHERE { ?s :p ?o } LIMIT ten", "unexpected 'ten'", 1, 36, ("a whole number",)),
        (
            "SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE] {}",
            "unexpected ']'",
            1,
            44,
            ("a duration such as PT30S or 30 seconds", "ELEMENTS"),
        ),
        (
            "REGISTER VIEW :q AS SELECT * {}",
            "unexpected 'VIEW'",
            1,
            10,
            ("RSTREAM, ISTREAM or DSTREAM",),
        ),
        (
            "SELECT * { ?s :p 'abc }",
            "this string is not closed or has an unknown escape",
            1,
            18,
            (),
        ),
        (
            'SELECT * { ?s :p "a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> }',
            "a literal of rdf:langString is written with its language tag",
            1,
            23,
            (),
        ),
        (
            "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n"
            'SELECT * { VALUES ?x { "a"^^rdf:dirLangString } }',
            "a literal of rdf:dirLangString is written with its language tag",
            2,
            29,
            (),
        ),
        ("SELECT * { <> :p ?o }", "an empty IRI needs a BASE", 1, 12, ()),
        ("PREFIX x: <> SELECT * { ?s x: ?o }", "an empty IRI needs a BASE", 1, 28, ()),
        (
            "SELECT * { ?s :p <a b> }",
            "unexpected '<'",
            1,
            18,
            ("a term or a variable", "a path operator"),
        ),
    ],
)
def test_place_and_expectation(
    text: str, message: str, line: int, column: int, expected: tuple[str, ...] | None
) -> None:
    caught = error(text)
    assert caught.message == message
    assert (caught.line, caught.column) == (line, column)
    if expected is not None:
        assert caught.expected == expected


def test_message_is_one_line_with_place_and_expectation() -> None:
    caught = error("SELECT ?s\n{ FILTER(?x >) }")
    assert str(caught) == "line 2, column 14: unexpected ')'; expected an expression"


@pytest.mark.parametrize(
    "text", ["SELECT", "SELECT *", "SELECT * {", "ASK { ?s", "DESCRIBE", "(", "CONSTRUCT"]
)
def test_expectations_are_few_and_speak_no_grammar(text: str) -> None:
    caught = error(text)
    assert 0 < len(caught.expected) <= 6
    for name in caught.expected:
        assert not name.startswith("_")
        assert "ANON" not in name


def test_columns_count_characters_and_lines_survive_comments() -> None:
    caught = error("# 👾 a comment\nSELECT * {\r\n  ?é :p ; }")
    assert (caught.line, caught.column) == (3, 9)


def test_nesting_beyond_what_can_be_translated_is_a_clear_error() -> None:
    assert error("SELECT * " + "{" * 5000 + "}" * 5000).message == "the query is nested too deeply"


def test_many_triples_and_alternatives_are_not_deep() -> None:
    triples = " . ".join(f"?s{n} ?p ?o" for n in range(3000))
    choices = " || ".join(f"?o = {n}" for n in range(200))
    query = parse_query(f"SELECT * {{ {triples} FILTER({choices}) }}")
    assert len(query.variables) == 3002
