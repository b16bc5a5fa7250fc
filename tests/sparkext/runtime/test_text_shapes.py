"""Texts that differ in constants only are read without being parsed, and mean what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.errors import CqelsError
from sparkext.language import parse_query
from sparkext.language.query import Query
from sparkext.r2r.templates.filled_patterns import filled
from sparkext.r2r.templates.skeletons import Skeleton, hole, skeleton_of
from sparkext.runtime.text_shapes import TextShapes
from tests.sparkext.listening import query

HEAD = "PREFIX e: <http://e/x#>\n"
FORMS = (
    "WINDOW :w { ?p :at ONE } ?p :name TWO FILTER(?p != ONE)",
    "WINDOW :w { ?p ?q ONE } OPTIONAL { ?p :is TWO }",
    "WINDOW :w { ONE :p TWO } GRAPH ONE { ?p :q ?q }",
    "WINDOW :w { ?p ONE ?q } VALUES ?q { TWO }",
    "WINDOW :w { ?p :at ?q } FILTER REGEX(STR(?q), TWO) { SELECT ?p { ?p :q ONE } LIMIT 2 }",
    "WINDOW :w { ?p :at ?q } BIND(IRI(CONCAT(TWO, 'b')) AS ?r) # TWO",
    "WINDOW :w { << ?p :at ONE >> :from TWO }",
    "WINDOW :w { ?p :p*/:q ONE ; :q TWO, ONE }",
    "WINDOW :w { ?p :at ONE } { SELECT * { ?p :q TWO . ?q :p ONE } }",
)
IRIS = (":a", ":b-c", "e:a", "e:d1", "<http://e/a>", "<http://e/x#a>", "<a>")
ONES = (*IRIS, '"a"', "'b'")  # strings may not stand everywhere
TERMS = (*IRIS, '"a"', "'a'", '"a b"', '"a"@en', '"5"^^e:t', '"q\\"q"', '""', "5", '"""a"""', "'{'")


class Reading:
    """A reader that counts what it parses."""

    def __init__(self) -> None:
        self.parsed = 0

    def __call__(self, text: str) -> Query:
        self.parsed += 1
        return parse_query(text)


def text_of(form: str, one: str, two: str, select: str = "?p") -> str:
    return HEAD + query(form.replace("ONE", one).replace("TWO", two), select=select)


def meaning(skeleton: Skeleton) -> Skeleton | None:
    """The query in one form, whatever the order in which constants that stand alike were taken out."""
    terms = {hole(place): term for place, term in enumerate(skeleton.constants)}
    whole = replace(skeleton.query, pattern=filled(skeleton.query.pattern, terms))
    return skeleton_of(whole)


@given(
    st.sampled_from(FORMS),
    st.lists(st.tuples(st.sampled_from(ONES), st.sampled_from(TERMS)), min_size=2, max_size=6),
    st.sampled_from(("?p", "*", "(COUNT(*) AS ?n)")),
)
@settings(max_examples=300, deadline=None)
def test_each_text_means_what_parsing_it_gives(
    form: str, terms: list[tuple[str, str]], select: str
) -> None:
    shapes = TextShapes(parse_query)
    for one, two in terms:
        text = text_of(form, one, two, select)
        try:
            parsed = parse_query(text)
        except CqelsError:
            assert shapes.parameterised(text) is None
            continue
        wanted = skeleton_of(parsed)
        found = shapes.parameterised(text)
        if found is not None:
            general, given_terms = found
            skeleton = general.skeleton(given_terms)
            assert skeleton is not None and wanted is not None
            assert meaning(skeleton) == meaning(wanted)
            assert general.query.answered == parsed.answered


@pytest.mark.parametrize("select", ["?p", "*"])
@pytest.mark.parametrize("form", [*FORMS[:2], FORMS[-1]])
def test_the_third_text_is_not_parsed(form: str, select: str) -> None:
    read = Reading()
    shapes = TextShapes(read)
    for number in range(50):
        found = shapes.parameterised(text_of(form, ":a", f'"n{number}"', select))
        assert (found is None) == (number == 0)
    assert read.parsed == 2


def test_a_string_where_an_iri_must_stand_is_left_to_the_parser() -> None:
    shapes = TextShapes(parse_query)
    for one in (":a", ":b"):
        shapes.parameterised(text_of("WINDOW :w { ?p ONE ?q } ?q :r TWO", one, ":c"))
    wrong = text_of("WINDOW :w { ?p ONE ?q } ?q :r TWO", '"a"', ":c")
    assert shapes.parameterised(wrong) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "WINDOW NAME { ?p :at ?q }",
        "WINDOW :w { ?p :at ?q } GRAPH NAME { ?p :is ?q }",
        "WINDOW :w { ?p :at ?q FILTER EXISTS { GRAPH NAME { ?p :is ?q } } }",
    ],
)
def test_names_of_windows_and_graphs_are_left_to_the_parser(pattern: str) -> None:
    """:w and :v are windows, :u is none."""
    shapes = TextShapes(parse_query)
    for name in (":w", ":v", ":u"):
        text = query(pattern.replace("NAME", name), "[RANGE 10] and [RANGE 10]", select="?p")
        assert shapes.parameterised(text) is None, name


@pytest.mark.parametrize(
    "head",
    [
        "PREFIX r: <http://e/r/>\nPREFIX s: <http://e/s/>\n# PREFIX s: <http://e/old/>\n",
        "BASE <http://e/>\nPREFIX r: <http://e/r/>\nPREFIX s: <s/>\n",
    ],
)
def test_a_prefix_that_is_met_later_is_what_the_parser_says(head: str) -> None:
    shapes = TextShapes(parse_query)
    for name in ("r:1", "r:2", "s:3", "s:4", "r:5"):
        text = head + query(f"WINDOW :w {{ ?p :at {name} }}", select="?p")
        parsed, found = skeleton_of(parse_query(text)), shapes.parameterised(text)
        if found is not None:
            general, terms = found
            made = general.skeleton(terms)
            assert made is not None and parsed is not None
            assert meaning(made) == meaning(parsed)


def test_what_is_no_query_is_left_to_the_parser() -> None:
    shapes = TextShapes(parse_query)
    for text in ("", "{", "SELECT", '} "a" {', text_of("FILTER(", ":a", '"b"')):
        for constant in ('"a"', '"b"'):
            assert shapes.parameterised(text.replace('"a"', constant)) is None
