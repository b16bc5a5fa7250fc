"""Reference resolution: the examples of RFC 3986, section 5.4, and BASE and PREFIX in a query."""

import pytest

from sparkext.language import parse_query
from sparkext.language.algebra import Bgp
from sparkext.language.translation.iris import resolve_iri

BASE = "http://a/b/c/d;p?q"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ],
)
def test_rfc_3986_examples(reference: str, expected: str) -> None:
    assert resolve_iri(BASE, reference) == expected


def test_a_base_without_a_path() -> None:
    assert resolve_iri("http://a", "g") == "http://a/g"


def test_base_and_prefix_hold_from_where_they_stand() -> None:
    query = parse_query(
        "BASE <http://a/b/> PREFIX p: <c#> BASE <x/> PREFIX q: <> "
        r"SELECT * { <s> p:l\-1 q:%41 }"
    )
    (bgp,) = query.pattern.children
    assert isinstance(bgp, Bgp)
    assert [term.n3() for term in bgp.patterns[0]] == [
        "<http://a/b/x/s>",
        "<http://a/b/c#l-1>",
        "<http://a/b/x/%41>",
    ]


def test_without_a_base_relative_references_stay() -> None:
    query = parse_query("SELECT * { <s> <p> <o> }")
    assert query.pattern.children[0].patterns[0].subject.n3() == "<s>"  # type: ignore[attr-defined]
