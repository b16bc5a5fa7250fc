"""C-SPARQL, CQELS and SPARQLstream read as the same queries that RSP-QL writes."""

from __future__ import annotations

import pytest

from sparkext.errors import QuerySyntaxError
from sparkext.language import check_supported, parse_query
from sparkext.language.algebra import Window
from sparkext.language.query import Query, Registration, WindowDeclaration
from static_data.terms import Iri

PREFIXES = {
    "": "http://example.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "loc": "http://deri.org/localization/schema#",
}
STREAM = Iri("http://deri.org/locstreams")
S = STREAM.n3()


def parse(text: str) -> Query:
    return parse_query(text, prefixes=PREFIXES)


def without_names(query: Query) -> tuple[object, ...]:
    """What a query means, its windows by their place among the declarations."""
    places = {window.name: Iri(f"window:{n}") for n, window in enumerate(query.windows)}

    def rename(node: object) -> object:
        if isinstance(node, Window) and isinstance(node.name, Iri):
            return Window(places[node.name], node.input)  # type: ignore[arg-type]
        return node

    windows = [(w.stream, w.kind, w.width_ms, w.slide_ms, w.width_elements) for w in query.windows]
    return query.form, query.pattern.transform(rename), query.variables, windows  # type: ignore[arg-type]


# -- C-SPARQL ---------------------------------------------------------------------------------------


def test_csparql_registration_and_windows() -> None:
    query = parse(
        f"REGISTER QUERY People COMPUTED EVERY 1s AS SELECT ?p ?l FROM STREAM {S} [RANGE 10s STEP 5s]"
        " FROM <http://e/rooms> WHERE { ?p loc:at ?l }"
    )
    assert query.registration == Registration(None, Iri("People"), 1_000)
    assert query.windows == (WindowDeclaration(None, STREAM, "range", 10_000, 5_000),)
    assert query.dataset.default == (Iri("http://e/rooms"),)
    rspql = parse(
        f"REGISTER STREAM <People> COMPUTED EVERY PT1S AS SELECT ?p ?l"
        f" FROM WINDOW ON {S} [RANGE PT10S STEP PT5S] FROM <http://e/rooms> WHERE {{ ?p loc:at ?l }}"
    )
    assert query == rspql


def test_csparql_stream_of_triples() -> None:
    query = parse(
        f"REGISTER STREAM near COMPUTED EVERY 5m AS CONSTRUCT {{ ?p foaf:near ?q }}"
        f" FROM STREAM {S} [RANGE 1h STEP 10m] WHERE {{ ?p loc:at ?l . ?q loc:at ?l }}"
    )
    assert query.form == "CONSTRUCT" and query.registration is not None
    assert (query.registration.name, query.registration.every_ms) == (Iri("near"), 300_000)


@pytest.mark.parametrize(
    ("window", "declared"),
    [
        ("[RANGE 30s TUMBLING]", WindowDeclaration(None, STREAM, "range", 30_000, 30_000)),
        ("[RANGE TRIPLES 20]", WindowDeclaration(None, STREAM, "elements", width_elements=20)),
    ],
)
def test_csparql_other_windows(window: str, declared: WindowDeclaration) -> None:
    assert parse(f"SELECT ?s FROM STREAM {S} {window} {{ ?s ?p ?o }}").windows == (declared,)


def test_csparql_named_stream_is_read_with_graph() -> None:
    query = parse(
        f"SELECT ?p FROM NAMED STREAM {S} [RANGE 30s STEP 5s] {{ GRAPH {S} {{ ?p loc:at ?l }} }}"
    )
    rspql = parse(
        f"SELECT ?p FROM NAMED WINDOW {S} ON {S} [RANGE 30s STEP 5s] {{ WINDOW {S} {{ ?p loc:at ?l }} }}"
    )
    assert query == rspql


# -- the CQELS report -----------------------------------------------------------------------------------

NOW = f"FROM NAMED {S} [NOW] as ?lsnow"
R30 = f"FROM NAMED {S} [RANGE 30 seconds] as ?ls30"
ROOM = "GRAPH <http://deri.org/localization/>{?loc loc:name ?locName}"
TWO = "GRAPH ?lsnow {?person1 loc:at ?loc}.\nGRAPH ?ls30 {?person2 loc:at ?loc}."
SHOWN = "?author1Name ?author2Name ?locName"
NAMES = "?person1 foaf:name ?author1Name.?person2 foaf:name ?author2Name."
AUTHOR = '?anAuthor foaf:name "$Author Name$".'
CITING = (
    f"?p1 dc:creator ?anAuthor. {AUTHOR} ?p2 dc:creator ?citedAuthor. ?p1 dcterms:references ?p2."
)

# As the report prints them, slips and all; the streams and patterns after the keyword SELECT.
AS_PRINTED = {
    "Q1": f"SELECT ?name ?locName\n{R30}\nWHERE {{ GRAPH ?ls30 {{?person loc:at ?loc}}.\n{ROOM}\n"
    "?person foaf:name ?name. }",
    "Q2": f"SELECT {SHOWN}\n{NOW}\n{R30}\nWHERE {{ {TWO}\n{ROOM}\n"
    f"?person1 dc:creator ?paper.?person2 dc:creator ?paper.{NAMES} }}",
    "Q3": f"SELECT {SHOWN}\n{NOW}\n{R30}\nWHERE {{ {TWO}\n{ROOM}\n"
    "?p1 dc:creator ?person1 .?p2 dc:creator ?person2\n"
    "{ {?p1 dcterms:references ?p2} UNION {?p2 dcterms:references ?p1} }\n"
    f"{NAMES} }}",
    "Q1'": f"SELECT ?name ?locName\n{R30}\nWHERE {{ GRAPH ?ls30 {{?person loc:at ?loc}}.\n{ROOM}\n"
    '?person foaf:name "$Author Name$". }',
    "Q2'": f"SELECT ?citedAuthorName\n{NOW}\n{R30}\nWHERE {{ GRAPH ?lsnow {{<:anAuthor> loc:at ?loc}}.\n"
    f"GRAPH ?ls30 {{?citedAuthor loc:at ?loc}}.\n?citedAuthor foaf:name ?citedAuthorName.\n{CITING} }}",
    "Q3'": f"SELECT ?interestedAuthorName ?locName\n{NOW}\n{R30}\nWHERE {{ {TWO}\n{ROOM}\n{AUTHOR}\n"
    "?interestedAuthor foaf:name ?interestedAuthorName.\n"
    "{ {?p1 dcterms:references ?p2. ?p1 dc:creator ?anAuthor. ?p2 dc:creator ?interestedAuthor}\n"
    "UNION {?p dc:creator ?anAuthor. ?p dc:creator ?interestedAuthor} } }",
}
# Not SPARQL: an aggregate without AS or inside another, and GROUP BY outside its sub-select.
NOT_LEGAL = {
    "Q4": (
        f"SELECT ?person1 ?person2 max(?numPub)\n{NOW}\n{R30}\nWHERE {{ {TWO} }} GROUP BY ?person2",
        (1, 26),
    ),
    "Q4, its sub-select": (
        f"SELECT ?person1 ?person2 (max(?numPub) AS ?m)\n{NOW}\n{R30}\nWHERE {{ {TWO}\n"
        "{ SELECT ?person1 ?person2 (count(?p2) AS ?numPub) WHERE { ?p1 dcterms:references ?p2 } }\n"
        "GROUP BY ?person1 ?person2\n}\nGROUP BY ?person2",
        (7, 1),
    ),
    "Q4'": (
        f"SELECT ?locName max(count(?citedAuthor))\n{R30}\nWHERE {{ {CITING} }}\nGROUP BY ?loc",
        (1, 17),
    ),
}
CORRECTED = {
    "Q1": f"SELECT ?name ?locName {R30} WHERE {{ GRAPH ?ls30 {{ ?person loc:at ?loc }} {ROOM}"
    " ?person foaf:name ?name }",
    "Q2": f"SELECT {SHOWN} {NOW} {R30} WHERE {{ {TWO} {ROOM} ?paper dc:creator ?person1 ."
    f" ?paper dc:creator ?person2 . {NAMES} FILTER(?person1 != ?person2) }}",
    "Q4'": f"SELECT ?locName (COUNT(DISTINCT ?citedAuthor) AS ?n) {R30} WHERE {{"
    f" GRAPH ?ls30 {{ ?citedAuthor loc:at ?loc }} {ROOM} {CITING} }} GROUP BY ?loc ?locName",
}


@pytest.mark.parametrize("name", [*AS_PRINTED, *(f"{name} corrected" for name in CORRECTED)])
def test_report_queries(name: str) -> None:
    text = CORRECTED[name.split()[0]] if " corrected" in name else AS_PRINTED[name]
    query = parse(text)
    check_supported(query)
    # The same text with the declarations and windows as RSP-QL writes them.
    rspql = text.replace(NOW, f"FROM NAMED WINDOW :lsnow ON {S} [NOW]")
    rspql = rspql.replace(R30, f"FROM NAMED WINDOW :ls30 ON {S} [RANGE PT30S]")
    rspql = rspql.replace("GRAPH ?lsnow", "WINDOW :lsnow").replace("GRAPH ?ls30", "WINDOW :ls30")
    assert "?ls" not in rspql
    assert without_names(query) == without_names(parse(rspql))
    assert query.windows[-1].name == Iri("urn:cqels:window:ls30")


@pytest.mark.parametrize("name", NOT_LEGAL)
def test_report_queries_that_are_no_sparql(name: str) -> None:
    text, place = NOT_LEGAL[name]
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == place


# -- CQELS-QL -------------------------------------------------------------------------------------------


def test_cqels_ql() -> None:
    query = parse(
        f"SELECT ?p ?q FROM NAMED <http://e/rooms> WHERE {{ STREAM {S} [NOW] {{ ?p loc:at ?l }}"
        f" STREAM {S} [RANGE 30s SLIDE 5s] {{ ?q loc:at ?l }} GRAPH <http://e/rooms> {{ ?l ?x ?y }} }}"
    )
    rspql = parse(
        f"SELECT ?p ?q FROM NAMED WINDOW :now ON {S} [NOW]"
        f" FROM NAMED WINDOW :w ON {S} [RANGE PT30S STEP PT5S] FROM NAMED <http://e/rooms>"
        " WHERE { WINDOW :now { ?p loc:at ?l } WINDOW :w { ?q loc:at ?l }"
        " GRAPH <http://e/rooms> { ?l ?x ?y } }"
    )
    assert without_names(query) == without_names(rspql)
    assert query.dataset == rspql.dataset


def test_all_of_a_stream() -> None:
    query = parse(f"SELECT ?p WHERE {{ STREAM {S} [ALL] {{ ?p loc:at ?l }} }}")
    assert [(window.kind, window.start_ms) for window in query.windows] == [("landmark", None)]


def test_the_same_window_twice_is_one() -> None:
    text = f"STREAM {S} [NOW] {{ ?p loc:at ?l }} STREAM {S} [TRIPLES 5] {{ ?q loc:at ?l }}"
    query = parse(f"SELECT * WHERE {{ {text} STREAM {S} [NOW] {{ ?r loc:at ?l }} }}")
    assert [window.kind for window in query.windows] == ["now", "elements"]
    names = [node.name for node in query.pattern.walk() if isinstance(node, Window)]
    assert names == [query.windows[0].name, query.windows[1].name, query.windows[0].name]


# -- SPARQLstream -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["ISTREAM", "RSTREAM", "DSTREAM"])
def test_streaming_operator_of_select(operator: str) -> None:
    query = parse(f"SELECT {operator} DISTINCT ?s FROM NAMED STREAM {S} [NOW] WHERE {{ ?s ?p ?o }}")
    assert query.stream_operator == operator
    assert query.registration is not None and query.registration.name is None
    assert query.windows == (WindowDeclaration(None, STREAM, "now"),)


@pytest.mark.parametrize(
    ("window", "declared"),
    [
        ("[NOW - 10 S TO NOW - 0 S STEP 5 S]", (10_000, 5_000, None)),
        ("[NOW \u2013 10 MINUTES TO NOW \u2013 4 MINUTES]", (360_000, None, 240_000)),
        ("[FROM NOW - 10 MINUTES TO NOW STEP 1 MINUTE]", (600_000, 60_000, None)),
    ],
)
def test_windows_of_sparqlstream(window: str, declared: tuple[int, int | None, int | None]) -> None:
    query = parse(f"SELECT ISTREAM ?s FROM NAMED STREAM {S} {window} WHERE {{ ?s ?p ?o }}")
    (found,) = query.windows
    assert (found.name, found.kind) == (None, "range")
    assert (found.width_ms, found.slide_ms, found.delay_ms) == declared


def test_streaming_operator_of_construct_and_register() -> None:
    made = f"CONSTRUCT DSTREAM {{ ?s ?p ?o }} FROM NAMED STREAM {S} [NOW] WHERE {{ ?s ?p ?o }}"
    assert parse(made).stream_operator == "DSTREAM"
    registered = parse(f"REGISTER STREAM :q COMPUTED EVERY 5s AS {made}").registration
    assert registered == Registration("DSTREAM", Iri("http://example.org/q"), 5_000)


# -- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            f"SELECT ?ls30 {R30}\nWHERE {{ GRAPH ?ls30 {{ ?p loc:at ?l }} }}",
            (1, 8),
            "names a window",
        ),
        (
            f"SELECT ?p {R30}\nWHERE {{ GRAPH ?ls30 {{ ?p loc:at ?ls30 }} }}",
            (2, 33),
            "names a window",
        ),
        (f"SELECT ?p {R30}\n{R30} WHERE {{ ?p loc:at ?l }}", (2, 1), "already declared"),
        (f"SELECT ?p FROM STREAM {S}\nWHERE {{ ?p ?q ?r }}", (2, 1), "expected '['"),
        (
            f"REGISTER ISTREAM <q> AS\nSELECT DSTREAM ?p FROM NAMED STREAM {S} [NOW] {{ ?p ?q ?r }}",
            (2, 8),
            "registered with ISTREAM",
        ),
        (f"SELECT ?p FROM STREAM {S}\n[RANGE 5 parsecs]", (2, 10), "unexpected 'parsecs'"),
        (
            "SELECT ?p { ?p ?q ?r\n{ SELECT ISTREAM ?p { ?p ?q ?r } } }",
            (2, 10),
            "not for a sub-select",
        ),
        (
            f"SELECT * {{ STREAM {S} [NOW] {{\nSTREAM {S} [NOW] {{ ?s ?p ?o }} }} }}",
            (2, 1),
            "inside",
        ),
        (f"SELECT * {{ STREAM {S} [TRIPLES 0] {{ ?s ?p ?o }} }}", (1, 57), "at least one"),
    ],
)
def test_errors_say_where(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(QuerySyntaxError, match=message.replace("[", r"\[")) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == place
