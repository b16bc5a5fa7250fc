"""What the engine refuses, and where it says so; what it takes is taken."""

import pytest

from sparkext.errors import UnsupportedFeatureError
from sparkext.language import check_supported, parse_query
from sparkext.language.query import Query
from static_data.terms import XSD

WINDOWS = "FROM NAMED WINDOW :w ON :s [RANGE PT30S] FROM NAMED WINDOW :n ON :s [NOW]"


def query(text: str) -> Query:
    return parse_query(text, prefixes={"": "http://e/"})


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT ?a {WINDOWS} "
        "{ WINDOW :w { ?a :p ?b } WINDOW :n { ?a :p _:c } GRAPH :g { ?b :q 1 } }",
        "SELECT * { GRAPH ?g { ?a :p ?b } { ?a :q ?c } UNION { ?a :r ?c } OPTIONAL { ?c :s ?d } }",
        "SELECT * { ?a :p ?b FILTER(?b IN (1, 2) && !(?b = 3) || -?b + 1 * 2 / 3 - 4 >= 0) }",
        "SELECT * { ?a :p ?b "
        "BIND(IF(BOUND(?b), STR(?b), COALESCE(LANG(?b), DATATYPE(?b))) AS ?c) }",
        "SELECT * { ?a :p ?b FILTER(isIRI(?a) || isBlank(?a) || isLiteral(?b) || isNumeric(?b)) }",
        "SELECT * { VALUES (?a ?b) { (1 UNDEF) } FILTER(sameTerm(?a, ?b) || ?a NOT IN (1)) }",
        "SELECT DISTINCT ?a { { SELECT ?a (COUNT(DISTINCT ?b) AS ?n) { ?a :p ?b } GROUP BY ?a "
        "HAVING (SUM(?b) > 1) } } ORDER BY DESC(?a) LIMIT 1 OFFSET 2",
        "SELECT REDUCED (AVG(?b) AS ?x) (MIN(?b) AS ?y) (MAX(?b) AS ?z) (SAMPLE(?b) AS ?s) "
        "{ ?a :p ?b }",
        "REGISTER ISTREAM :q COMPUTED EVERY 10s AS SELECT * { ?a :p ?b }",
        "SELECT * { ?a :p/^:q ?b }",
        "ASK { ?a :p ?b }",
        "CONSTRUCT WHERE { ?a :p ?b }",
        "DESCRIBE :a",
        "SELECT * FROM :g FROM NAMED :h { ?a :q ?b }",
        "SELECT * { << << ?a :q ?b >> :p ?b >> :p ?b VALUES ?t { << :a :q :b >> } }",
        "SELECT * FROM WINDOW ON :s [NOW] { ?a :q ?b {| :p ?c |} }",
        f"SELECT * {WINDOWS} {{ WINDOW ?w {{ GRAPH ?g {{ ?a :q ?b }} }} GRAPH :g {{ WINDOW :w {{}} }} }}",
        "SELECT (GROUP_CONCAT(STRLEN(?a); SEPARATOR=', ') AS ?c) { ?a :q ?b FILTER REGEX(?b, 'x') }",
        f"SELECT * {{ ?a :p ?b BIND(<< ?a :p ?b >> AS ?t) BIND(<{XSD}integer>(?b) AS ?i) }}",
    ],
)
def test_supported(text: str) -> None:
    check_supported(query(text))


@pytest.mark.parametrize(
    ("text", "what", "column"),
    [
        ("SELECT * { FILTER EXISTS { SERVICE :e { ?a :q ?b } } }", "SERVICE is", 28),
        ("SELECT * { BIND(1 + :f('a') AS ?x) }", "the function <http://e/f> is", 21),
        ("SELECT * { FILTER(:f(1)) }", "the function <http://e/f> is", 19),
        (
            f"SELECT * {{ FILTER(<{XSD}integer>(1, 2)) }}",
            f"anything but one argument in the cast <{XSD}integer> is",
            19,
        ),
        (f"SELECT * {{ FILTER(<{XSD}anyURI>(1)) }}", f"the function <{XSD}anyURI> is", 19),
        ("SELECT * { SERVICE :e { ?a :q ?b } }", "SERVICE is", 12),
        (
            "SELECT * { OPTIONAL { ?a :p ?b FILTER(:f(?b, 'x')) } }",
            "the function <http://e/f> is",
            39,
        ),
        ("SELECT (COUNT(:f(?a)) AS ?n) { ?a :q ?b }", "the function <http://e/f> is", 15),
        ("SELECT * { ?a :p ?b } ORDER BY :f(?b)", "the function <http://e/f> is", 32),
        ("SELECT ?b { ?a :p ?b } GROUP BY (:f(?a) AS ?b2) ?b", "the function <http://e/f> is", 34),
        ("SELECT * { ?a :p ?b { SELECT * { SERVICE :e { ?a :q ?b } } } }", "SERVICE is", 34),
    ],
)
def test_refused_with_its_place(text: str, what: str, column: int) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_supported(query(text))
    assert caught.value.message == f"{what} not supported yet"
    assert (caught.value.line, caught.value.column) == (1, column)


def test_the_first_in_the_text_is_reported() -> None:
    text = "SELECT * {\n ?a :p ?b\n MINUS { SERVICE :e { ?a :q ?b } }\n FILTER :f(?b) }"
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_supported(query(text))
    assert (caught.value.line, caught.value.column) == (3, 10)
