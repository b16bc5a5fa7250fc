"""The papers' continuous queries, corrected: CQELS Q1 to Q4, RSP-QL Example 10, RSP-QL*."""

import pytest

from sparkext.language import check_supported, format_algebra, parse_query
from sparkext.language.algebra import ToMultiset, Window
from sparkext.language.query import Query, Registration, WindowDeclaration
from static_data.terms import Iri

PREFIXES = {
    "": "http://example.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "loc": "http://deri.org/localization/schema#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "rspu": "http://w3id.org/rsp/rspu#",
}
STREAM = "<http://deri.org/locstreams>"
NOW = f"FROM NAMED WINDOW :now ON {STREAM} [NOW]"
W30 = f"FROM NAMED WINDOW :w30 ON {STREAM} [RANGE PT30S]"
ROOM = "GRAPH <http://deri.org/localization/> { ?loc loc:name ?locName }"
NAMES = "?person1 foaf:name ?author1Name . ?person2 foaf:name ?author2Name"
TWO = "WINDOW :now { ?person1 loc:at ?loc } WINDOW :w30 { ?person2 loc:at ?loc }"

Q1 = f"""REGISTER RSTREAM <http://example.org/q1> AS SELECT ?name ?locName {W30}
WHERE {{ WINDOW :w30 {{ ?person loc:at ?loc }} {ROOM} ?person foaf:name ?name }}"""
Q2 = f"""REGISTER RSTREAM <http://example.org/q2> AS
SELECT ?author1Name ?author2Name ?locName {NOW} {W30} WHERE {{ {TWO} {ROOM}
  ?paper dc:creator ?person1 . ?paper dc:creator ?person2 . {NAMES}
  FILTER(?person1 != ?person2) }}"""
Q3 = f"""REGISTER RSTREAM <http://example.org/q3> AS
SELECT ?author1Name ?author2Name ?locName {NOW} {W30} WHERE {{ {TWO} {ROOM}
  ?p1 dc:creator ?person1 . ?p2 dc:creator ?person2 .
  {{ {{ ?p1 dcterms:references ?p2 }} UNION {{ ?p2 dcterms:references ?p1 }} }}
  {NAMES} FILTER(?person1 != ?person2) }}"""
CITED = f"""{TWO} {{ SELECT ?person1 ?person2 (COUNT(?p2) AS ?numPub)
  WHERE {{ ?p1 dc:creator ?person1 . ?p2 dc:creator ?person2 . ?p1 dcterms:references ?p2 }}
  GROUP BY ?person1 ?person2 }} FILTER(?person1 != ?person2)"""
Q4 = f"""REGISTER RSTREAM <http://example.org/q4> AS SELECT ?person1 ?person2 ?numPub {NOW} {W30}
WHERE {{ {CITED} {{ SELECT ?person1 (MAX(?numPub) AS ?m) WHERE {{ {CITED} }} GROUP BY ?person1 }}
  FILTER(?numPub = ?m) }}"""


def parse(text: str) -> Query:
    return parse_query(text, prefixes=PREFIXES)


@pytest.mark.parametrize("text", [Q1, Q2, Q3, Q4], ids=["Q1", "Q2", "Q3", "Q4"])
def test_cqels_queries_are_supported_without_warnings(text: str) -> None:
    query = parse(text)
    check_supported(query)
    assert query.warnings == ()
    assert query.registration is not None


def test_q1() -> None:
    query = parse(Q1)
    assert query.registration == Registration("RSTREAM", Iri("http://example.org/q1"))
    assert query.windows == (
        WindowDeclaration(
            Iri("http://example.org/w30"), Iri("http://deri.org/locstreams"), "range", 30_000
        ),
    )
    assert (
        format_algebra(query.pattern)
        == """\
Project ?name ?locName
  Join
    Join
      Window <http://example.org/w30>
        Bgp
          ?person <http://deri.org/localization/schema#at> ?loc
      Graph <http://deri.org/localization/>
        Bgp
          ?loc <http://deri.org/localization/schema#name> ?locName
    Bgp
      ?person <http://xmlns.com/foaf/0.1/name> ?name"""
    )


def test_q2_has_two_windows_on_one_stream() -> None:
    query = parse(Q2)
    assert [declared.kind for declared in query.windows] == ["now", "range"]
    assert query.windows[0].stream == query.windows[1].stream
    text = format_algebra(query.pattern)
    assert text.startswith(
        "Project ?author1Name ?author2Name ?locName\n  Filter ?person1 != ?person2"
    )
    assert text.count("Window <") == 2


def test_q3_has_the_union_of_both_directions() -> None:
    text = format_algebra(parse(Q3).pattern)
    assert (
        """\
        Union
          Bgp
            ?p1 <http://purl.org/dc/terms/references> ?p2
          Bgp
            ?p2 <http://purl.org/dc/terms/references> ?p1"""
        in text
    )


def test_q4_nests_three_sub_selects() -> None:
    nodes = list(parse(Q4).pattern.walk())
    assert sum(isinstance(node, ToMultiset) for node in nodes) == 3
    assert sum(isinstance(node, Window) for node in nodes) == 4


def test_rspql_example_10_as_windows() -> None:
    query = parse("""
    REGISTER RSTREAM :coupons AS SELECT *
    FROM NAMED WINDOW :w1 ON :nearby [RANGE 5 STEP 2 STARTING AT 1]
    FROM NAMED WINDOW :w2 ON :coupon [RANGE 2 STEP 2 STARTING AT 0]
    { WINDOW :w1 { ?shopper :isNearby ?shop } WINDOW :w2 { ?shop_owner :offers ?coupon }
      ?shop_owner :owns ?shop }""")
    check_supported(query)
    assert [str(variable) for variable in query.variables] == [
        "?shopper",
        "?shop",
        "?shop_owner",
        "?coupon",
    ]
    assert [(w.width_ms, w.slide_ms, w.start_ms) for w in query.windows] == [(5, 2, 1), (2, 2, 0)]


def test_uncertainty_listing_with_quoted_triples_in_a_window_graph() -> None:
    query = parse("""
    REGISTER STREAM <warning/oxygen> COMPUTED EVERY PT10S AS
    CONSTRUCT { ?o :alarm ?d }
    FROM NAMED WINDOW <w> ON <http://stream/oxygen> [RANGE PT10S STEP PT10S]
    WHERE { WINDOW <w> { GRAPH ?g {
      ?o sosa:hasSimpleResult ?value . << ?o sosa:hasSimpleResult ?value >> rspu:uncertainty ?unc .
      BIND(rspu:add(?unc, ?value) AS ?d) FILTER(rspu:greaterThan(?d, 0.195) > 0.90) } } }""")
    assert query.registration is not None
    assert query.registration.every_ms == 10_000
    assert "<< ?o <http://www.w3.org/ns/sosa/hasSimpleResult> ?value >>" in format_algebra(
        query.pattern
    )
