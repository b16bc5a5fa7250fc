"""Patterns to algebra: the examples of SPARQL 1.1, section 18.2.3, and the rules around them."""

import pytest

from sparkext.errors import QuerySyntaxError
from sparkext.language import format_algebra, parse_query
from sparkext.language.algebra import Bgp, Extend, Filter, Join, LeftJoin, Minus, Path, Union
from sparkext.language.expressions import And, Comparison, Constant, VariableReference
from sparkext.language.nodes import Node, QuotedPattern, TriplePattern, Variable
from sparkext.language.paths import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    ZeroOrMore,
    ZeroOrOne,
)
from sparkext.language.query import Query
from static_data.terms import RDF, BlankNode, Iri, Literal, QuotedTriple

E = "http://e/"


def iri(name: str) -> Iri:
    return Iri(E + name)


def v(name: str) -> Variable:
    return Variable(name)


def triple(subject: str, predicate: str, object_: str) -> TriplePattern:
    return TriplePattern(v(subject), iri(predicate), v(object_))


def bgp(*patterns: TriplePattern) -> Bgp:
    return Bgp(patterns)


def query(text: str) -> Query:
    return parse_query(text, prefixes={"": E, "rdf": RDF})


def pattern(group: str) -> Node:
    """Return the algebra below the projection."""
    return query(f"SELECT * {group}").pattern.children[0]


def less(name: str, number: str) -> Comparison:
    integer = Iri("http://www.w3.org/2001/XMLSchema#integer")
    return Comparison(VariableReference(v(name)), Constant(Literal(number, integer)), "<")


P1, P2, P3 = triple("s", "p1", "v1"), triple("s", "p2", "v2"), triple("s", "p3", "v3")


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("{ ?s ?p ?o }", bgp(TriplePattern(v("s"), v("p"), v("o")))),
        ("{ ?s :p1 ?v1 ; :p2 ?v2 }", bgp(P1, P2)),
        ("{ { ?s :p1 ?v1 } UNION { ?s :p2 ?v2 } }", Union(bgp(P1), bgp(P2))),
        (
            "{ { ?s :p1 ?v1 } UNION { ?s :p2 ?v2 } UNION { ?s :p3 ?v3 } }",
            Union(Union(bgp(P1), bgp(P2)), bgp(P3)),
        ),
        ("{ ?s :p1 ?v1 OPTIONAL { ?s :p2 ?v2 } }", LeftJoin(bgp(P1), bgp(P2))),
        (
            "{ ?s :p1 ?v1 OPTIONAL { ?s :p2 ?v2 } OPTIONAL { ?s :p3 ?v3 } }",
            LeftJoin(LeftJoin(bgp(P1), bgp(P2)), bgp(P3)),
        ),
        (
            "{ ?s :p1 ?v1 OPTIONAL { ?s :p2 ?v2 FILTER(?v1 < 3) } }",
            LeftJoin(bgp(P1), bgp(P2), less("v1", "3")),
        ),
        (
            "{ { ?s :p1 ?v1 } UNION { ?s :p2 ?v2 } OPTIONAL { ?s :p3 ?v3 } }",
            LeftJoin(Union(bgp(P1), bgp(P2)), bgp(P3)),
        ),
        (
            "{ ?s :p1 ?v1 FILTER (?v1 < 3) OPTIONAL { ?s :p2 ?v2 FILTER (?v2 < 4) } }",
            Filter(less("v1", "3"), LeftJoin(bgp(P1), bgp(P2), less("v2", "4"))),
        ),
        (
            "{ ?s :p1 ?v1 . BIND(?v1 AS ?w) ?s :p2 ?v2 }",
            Join(Extend(bgp(P1), v("w"), VariableReference(v("v1"))), bgp(P2)),
        ),
        (
            "{ ?s :p1 ?v1 . { BIND(?v1 AS ?w) } }",
            Join(bgp(P1), Extend(Bgp(), v("w"), VariableReference(v("v1")))),
        ),
        ("{ ?s :p1 ?v1 . MINUS { ?s :p2 ?v2 } }", Minus(bgp(P1), bgp(P2))),
    ],
)
def test_examples_of_the_recommendation(group: str, expected: Node) -> None:
    assert pattern(group) == expected


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        # A filter holds for its whole group, wherever it stands, and ends no basic graph pattern.
        (
            "{ FILTER(?v1 < 3) ?s :p1 ?v1 . FILTER(?v2 < 4) ?s :p2 ?v2 }",
            Filter(And(less("v1", "3"), less("v2", "4")), bgp(P1, P2)),
        ),
        # Only the optional group's own filter becomes the join condition.
        (
            "{ ?s :p1 ?v1 OPTIONAL { { ?s :p2 ?v2 FILTER(?v2 < 3) } } }",
            LeftJoin(bgp(P1), Filter(less("v2", "3"), bgp(P2))),
        ),
        ("{ OPTIONAL { ?s :p1 ?v1 } }", LeftJoin(Bgp(), bgp(P1))),
        ("{ {} ?s :p1 ?v1 {} }", bgp(P1)),
        ("{}", Bgp()),
        ("{ { ?s :p1 ?v1 } ?s :p2 ?v2 }", Join(bgp(P1), bgp(P2))),
        ("{ ?s :p1 ?v1 { ?s :p2 ?v2 } ?s :p3 ?v3 }", Join(Join(bgp(P1), bgp(P2)), bgp(P3))),
    ],
)
def test_scope_of_filters_and_groups(group: str, expected: Node) -> None:
    assert pattern(group) == expected


SUBJECT, OBJECT = v("s"), v("o")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("^:p", bgp(TriplePattern(OBJECT, iri("p"), SUBJECT))),
        (
            ":p/:q",
            bgp(
                TriplePattern(SUBJECT, iri("p"), v("_:p0")),
                TriplePattern(v("_:p0"), iri("q"), OBJECT),
            ),
        ),
        (":p|:q", Path(SUBJECT, Alternative(Link(iri("p")), Link(iri("q"))), OBJECT)),
        (":p*", Path(SUBJECT, ZeroOrMore(Link(iri("p"))), OBJECT)),
        ("(:p|:q)+", Path(SUBJECT, OneOrMore(Alternative(Link(iri("p")), Link(iri("q")))), OBJECT)),
        ("^(:p?)", Path(SUBJECT, Inverse(ZeroOrOne(Link(iri("p")))), OBJECT)),
        ("!:p", Path(SUBJECT, NegatedSet((iri("p"),)), OBJECT)),
        ("!^:p", Path(SUBJECT, Inverse(NegatedSet((iri("p"),))), OBJECT)),
        (
            "!(:p|^:q|a)",
            Path(
                SUBJECT,
                Alternative(
                    NegatedSet((iri("p"), Iri(RDF + "type"))),
                    Inverse(NegatedSet((iri("q"),))),
                ),
                OBJECT,
            ),
        ),
    ],
)
def test_property_paths(path: str, expected: Node) -> None:
    assert pattern(f"{{ ?s {path} ?o }}") == expected


def test_a_path_splits_the_basic_graph_pattern() -> None:
    algebra = pattern("{ ?s :p1 ?v1 . ?s :p+ ?o . ?s :p2 ?v2 }")
    path = Path(SUBJECT, OneOrMore(Link(iri("p"))), OBJECT)
    assert algebra == Join(Join(bgp(P1), path), bgp(P2))


def test_blank_nodes_become_hidden_variables() -> None:
    first = query("SELECT * { _:x :p [ :q ?o ] . _:x :r ?s }")
    x, anonymous = v("_:b0"), v("_:b1")
    assert first.pattern.children[0] == bgp(
        TriplePattern(anonymous, iri("q"), OBJECT),
        TriplePattern(x, iri("p"), anonymous),
        TriplePattern(x, iri("r"), SUBJECT),
    )
    assert first.variables == (OBJECT, SUBJECT)


def test_collections_are_taken_apart() -> None:
    algebra = pattern("{ ?s :p (1 ?o) }")
    assert isinstance(algebra, Bgp)
    assert [p.predicate.n3().rpartition("#")[2] for p in algebra.patterns] == [
        "first>",
        "rest>",
        "first>",
        "rest>",
        "<http://e/p>",
    ]
    assert algebra.patterns[3].object == Iri(RDF + "nil")
    assert pattern("{ ?s :p () }") == bgp(TriplePattern(SUBJECT, iri("p"), Iri(RDF + "nil")))


def test_quoted_triples_and_annotations() -> None:
    quoted = QuotedPattern(SUBJECT, iri("p"), OBJECT)
    annotated = bgp(
        TriplePattern(SUBJECT, iri("p"), OBJECT), TriplePattern(quoted, iri("confidence"), v("c"))
    )
    assert pattern("{ ?s :p ?o {| :confidence ?c |} }") == annotated
    assert pattern("{ ?s :p ?o . << ?s :p ?o >> :confidence ?c }") == annotated
    assert pattern("{ << << :a :p :b >> :q :c >> :r ?o }") == bgp(
        TriplePattern(
            QuotedTriple(QuotedTriple(iri("a"), iri("p"), iri("b")), iri("q"), iri("c")),
            iri("r"),
            OBJECT,
        )
    )


def test_reifiers_of_rdf_12() -> None:
    reifies = Iri(RDF + "reifies")
    quoted = QuotedPattern(SUBJECT, iri("p"), OBJECT)
    assert pattern("{ << ?s :p ?o ~ :r >> :q ?c }") == bgp(
        TriplePattern(iri("r"), reifies, quoted), TriplePattern(iri("r"), iri("q"), v("c"))
    )
    assert pattern("{ ?s :p ?o ~ :r {| :q ?c |} }") == bgp(
        TriplePattern(SUBJECT, iri("p"), OBJECT),
        TriplePattern(iri("r"), reifies, quoted),
        TriplePattern(iri("r"), iri("q"), v("c")),
    )


def test_construct_template_keeps_blank_nodes() -> None:
    construct = query("CONSTRUCT { _:x :p ?o . [] :q _:x } WHERE { ?s :p ?o }")
    x = BlankNode("b0")
    assert construct.template == (
        TriplePattern(x, iri("p"), OBJECT),
        TriplePattern(BlankNode("b1"), iri("q"), x),
    )
    short = query("CONSTRUCT WHERE { ?s :p1 ?v1 }")
    assert (short.template, short.pattern) == ((P1,), bgp(P1))


def test_in_scope_variables_in_order_of_appearance() -> None:
    text = (
        "SELECT * { GRAPH ?g { ?s :p ?o } OPTIONAL { ?o :q ?z } MINUS { ?s :r ?m } BIND(1 AS ?b) }"
    )
    assert [str(name) for name in query(text).variables] == ["?g", "?s", "?o", "?z", "?b"]


def test_format_algebra_shows_the_whole_tree() -> None:
    text = """
    SELECT DISTINCT ?s (COUNT(DISTINCT ?o) AS ?n) {
      GRAPH :g { ?s :p ?o } OPTIONAL { ?s :q* ?z FILTER(?z != "a"@en) }
      VALUES (?s ?k) { (:a UNDEF) }
    } GROUP BY ?s HAVING (COUNT(DISTINCT ?o) > 1) ORDER BY DESC(?n) LIMIT 2
    """
    assert (
        format_algebra(query(text).pattern)
        == """\
Slice offset 0 limit 2
  Distinct
    Project ?s ?n
      OrderBy DESC(?n)
        Extend ?n = ?_:agg0
          Filter ?_:agg0 > 1
            Group (?s) (?_:agg0 = COUNT(DISTINCT ?o))
              Join
                LeftJoin ?z != "a"@en
                  Graph <http://e/g>
                    Bgp
                      ?s <http://e/p> ?o
                  Path ?s <http://e/q>* ?z
                Values (?s ?k) { (<http://e/a> UNDEF) }"""
    )


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("SELECT * {\n ?s :p ?o BIND(1 AS ?o) }", "?o is already used in this group", 2, 21),
        ("SELECT * { _:a :p ?o OPTIONAL { _:a :q ?z } }", "_:a is already used in another", 1, 33),
        ("SELECT * { ?s :p+ ?o {| :q 1 |} }", "only a triple can be annotated", 1, 22),
        ("CONSTRUCT { ?s :p/:q ?o } {}", "not allowed in a CONSTRUCT template", 1, 16),
        ("SELECT * { VALUES (?a ?b) { (1 2) (3) } }", "1 values for 2 variables", 1, 35),
        ("SELECT * { ?s x:p ?o }", "prefix 'x:' is not declared", 1, 15),
        ("SELECT * { ?s :p '\\ud800' }", "\\ud800 is not a character", 1, 18),
        ("SELECT * { FILTER(STRLEN()) }", "STRLEN takes 1 argument, not 0", 1, 19),
        ("SELECT * { FILTER(BOUND(1)) }", "BOUND takes a variable", 1, 25),
    ],
)
def test_rules_beyond_the_grammar(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(QuerySyntaxError, match=r".") as caught:
        query(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
