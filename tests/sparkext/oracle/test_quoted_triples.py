"""The encoding of quoted triples for a SPARQL engine without them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation
from sparkext.oracle.quoted_triples import decode, encode, helper_quads
from sparkext.oracle.streams import element
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term

E = "http://e/"
IRIS = st.sampled_from([Iri(f"{E}a"), Iri(f"{E}b%20c"), Iri(f"{E}é/ü#x")])
PLAIN = IRIS | st.sampled_from(
    [
        BlankNode("b0"),
        Literal('a "quoted"\n% text'),
        Literal("x", language="en"),
        Literal("5", Iri(f"{E}t")),
    ]
)


def _quoted(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    subjects = inner.filter(lambda term: not isinstance(term, Literal))
    return st.builds(QuotedTriple, subjects, IRIS, inner)  # type: ignore[arg-type]


TERMS = st.recursive(PLAIN, _quoted, max_leaves=6)


@settings(derandomize=True, max_examples=100, database=None)
@given(TERMS, TERMS)
def test_encoding_is_one_to_one_and_comes_back(one: Term, other: Term) -> None:
    assert decode(encode(one)) == one
    assert (encode(one) == encode(other)) == (one == other)


def test_three_helper_triples_for_each_level() -> None:
    inner = QuotedTriple(Iri(f"{E}s"), Iri(f"{E}p"), Literal("o"))
    middle = QuotedTriple(inner, Iri(f"{E}p"), Iri(f"{E}o"))
    assert len(list(helper_quads(QuotedTriple(middle, Iri(f"{E}p"), inner)))) == 3 + 3 + 3 + 3
    assert list(helper_quads(Iri(f"{E}s"))) == []


def rows(pattern: str, *statements: str, select: str = "*") -> list[str]:
    """Solutions over one element at 1, in the order of the columns' names, as lines of N-Triples texts."""
    text = f"PREFIX : <{E}> SELECT {select} FROM NAMED WINDOW :w ON :s [NOW] {{ WINDOW :w {{ {pattern} }} }}"
    full = [" ".join(f"<{E}{t[1:]}>" if t[0] == ":" else t for t in s.split()) for s in statements]
    streams = {f"{E}s": [element(1, *full)]}
    (answer,) = ContinuousEvaluation(parse_query(text), streams).answers().values()
    order = sorted(range(len(answer.variables)), key=lambda place: answer.variables[place])
    return sorted(
        " | ".join(str(row[place]).replace(f"<{E}", ":").replace(">", "") for place in order)
        for row in answer.rows
    )


def test_two_statements_about_one_triple_join() -> None:
    data = ("<< :s :p :o >> :a :x .", "<< :s :p :o >> :b :y .")
    assert rows("<< :s :p :o >> :a ?x ; :b ?y", *data) == [":x | :y"]
    assert rows("?t :a ?x . ?t :b ?y", *data) == ["<< :s :p :o  | :x | :y"]


def test_a_triple_that_is_quoted_is_not_asserted() -> None:
    data = ("<< :s :p :o >> :a :x .",)
    assert rows("?s :p ?o", *data) == []
    assert rows("<< ?s :p ?o >> :a ?x", *data) == [":o | :s | :x"]


def test_depth_three() -> None:
    data = ("<< << << :s :p :o >> :q :r >> :t << :s :p :o >> >> :u :v .",)
    assert rows("<< << << ?s :p ?o >> :q ?r >> :t ?t >> :u ?v", *data) == [
        ":o | :r | :s | << :s :p :o  | :v"
    ]
    assert rows("<< << ?x :q ?r >> :t ?x >> :u ?v", *data) == [":r | :v | << :s :p :o "]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("isTRIPLE(?t)", "true"),
        ("isIRI(?t)", "false"),
        ("SUBJECT(?t)", ":s"),
        ("OBJECT(TRIPLE(?t, :p, 5))", "5"),
        ("TRIPLE(:s, :p, :o) = ?t", "true"),
        ("COALESCE(STR(?t), 'none')", "none"),
        ("COALESCE(SUBJECT(:s), 'none')", "none"),
        ("COALESCE(TRIPLE('s', :p, :o), 'none')", "none"),
    ],
)
def test_functions(expression: str, value: str) -> None:
    (found,) = rows("?t :a ?x", "<< :s :p :o >> :a :x .", select=f"({expression} AS ?v)")
    assert found.split("^^")[0].strip('"') == value
