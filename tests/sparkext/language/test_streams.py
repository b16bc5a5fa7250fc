"""REGISTER, FROM [NAMED] WINDOW and WINDOW (RSP-QL)."""

import pytest

from sparkext.errors import QuerySyntaxError, UnknownWindowError
from sparkext.language import Registration, WindowDeclaration, format_algebra, parse_query
from sparkext.language.query import Query, ReportRule, WindowReport
from static_data.terms import Iri

E = "http://e/"
W, S = Iri(E + "w"), Iri(E + "s")


def query(text: str) -> Query:
    return parse_query(text, prefixes={"": E, "xsd": "http://www.w3.org/2001/XMLSchema#"})


def window(clause: str) -> WindowDeclaration:
    (declared,) = query(f"SELECT * FROM NAMED WINDOW :w ON {clause} {{}}").windows
    return declared


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        (":s [RANGE PT30S]", WindowDeclaration(W, S, "range", 30_000)),
        ("STREAM :s [RANGE 30s]", WindowDeclaration(W, S, "range", 30_000)),
        (":s [range 30 Seconds step 5 SECONDS]", WindowDeclaration(W, S, "range", 30_000, 5_000)),
        (":s [RANGE 30 STEP 10]", WindowDeclaration(W, S, "range", 30, 10)),
        (":s [RANGE PT1M SLIDE 1m]", WindowDeclaration(W, S, "range", 60_000, 60_000)),
        (
            ':s [RANGE "PT1M"^^xsd:duration STEP "PT1S"^^xsd:duration]',
            WindowDeclaration(W, S, "range", 60_000, 1_000),
        ),
        (
            ':s [RANGE 5 STEP 2 STARTING AT "1970-01-01T00:00:01Z"^^xsd:dateTime]',
            WindowDeclaration(W, S, "range", 5, 2, 1_000),
        ),
        (
            ":s [RANGE 5 STEP 2 STARTING AT 1970-01-01T00:00:01+00:00]",
            WindowDeclaration(W, S, "range", 5, 2, 1_000),
        ),
        (":s [RANGE 5 STARTING AT 7]", WindowDeclaration(W, S, "range", 5, None, 7)),
        (":s [NOW]", WindowDeclaration(W, S, "now")),
        (
            ":s [ELEMENTS 10 STEP 3]",
            WindowDeclaration(W, S, "elements", width_elements=10, slide_elements=3),
        ),
        (":s [ELEMENTS 10]", WindowDeclaration(W, S, "elements", width_elements=10)),
        (":s [LND 1]", WindowDeclaration(W, S, "landmark", start_ms=1)),  # as RSEP-QL writes it
        (":s [landmark 1970-01-01T00:00:01Z]", WindowDeclaration(W, S, "landmark", start_ms=1_000)),
        (":s [FROM 7]", WindowDeclaration(W, S, "landmark", start_ms=7)),
        (":s [ALL]", WindowDeclaration(W, S, "landmark")),
        (":s [INTERVAL 0 5]", WindowDeclaration(W, S, "interval", start_ms=0, end_ms=5)),
        (":s [INTERVAL 0, 5]", WindowDeclaration(W, S, "interval", start_ms=0, end_ms=5)),
        (
            ':s [FROM "1970-01-01T00:00:01Z"^^xsd:dateTime TO 1001]',
            WindowDeclaration(W, S, "interval", start_ms=1_000, end_ms=1_001),
        ),
        (
            ":s [NOW-PT10S TO NOW-PT4S]",
            WindowDeclaration(W, S, "range", 6_000, delay_ms=4_000),
        ),
        (
            ":s [FROM NOW - 10 minutes TO NOW STEP 1 minute]",
            WindowDeclaration(W, S, "range", 600_000, 60_000),
        ),
        (
            ":s [RANGE 10 STEP 5 DELAY 2 STARTING AT 1]",
            WindowDeclaration(W, S, "range", 10, 5, 1, delay_ms=2),
        ),
        (
            ":s [INTERVAL 0 5] . [LND 1]",
            WindowDeclaration(
                W,
                S,
                "interval",
                start_ms=0,
                end_ms=5,
                inner=WindowDeclaration(W, S, "landmark", start_ms=1),
            ),
        ),
        (
            ":s [NOW] REPORT ON Window Close AND non-empty content AND EVERY 2s",
            WindowDeclaration(W, S, "now", report=WindowReport(("WC", "NC"), 2_000)),
        ),
        (
            ":s [NOW] REPORT ON strict content change",
            WindowDeclaration(W, S, "now", report=WindowReport(("strict CC",))),
        ),
    ],
)
def test_windows(clause: str, expected: WindowDeclaration) -> None:
    assert window(clause) == expected


def test_unnamed_window() -> None:
    (declared,) = query("SELECT * FROM WINDOW ON :s [RANGE PT1S] {}").windows
    assert declared == WindowDeclaration(None, S, "range", 1_000)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("RSTREAM :q AS", Registration("RSTREAM", Iri(E + "q"))),
        ("istream :q as", Registration("ISTREAM", Iri(E + "q"))),
        ("DStream <http://e/q>\n AS", Registration("DSTREAM", Iri(E + "q"))),
        ("STREAM :q AS", Registration(None, Iri(E + "q"))),
        ("RSTREAM :q COMPUTED EVERY PT10S AS", Registration("RSTREAM", Iri(E + "q"), 10_000)),
        ("RSTREAM :q computed every 10 s AS", Registration("RSTREAM", Iri(E + "q"), 10_000)),
        ("RSTREAM :q [COMPUTED EVERY 10s] AS", Registration("RSTREAM", Iri(E + "q"), 10_000)),
    ],
)
def test_registration(clause: str, expected: Registration) -> None:
    assert query(f"REGISTER {clause} SELECT * {{}}").registration == expected


def test_report_of_a_registration() -> None:
    registered = query(
        "REGISTER STREAM :q COMPUTED EVERY 5 REPORT ON WC OF :w AND NC OF :v OR CC OF :v AND EVERY 7 AS "
        "SELECT * FROM NAMED WINDOW :w ON :s [NOW] FROM NAMED WINDOW :v ON :s [NOW] {}"
    ).registration
    v = Iri(E + "v")
    rules = (ReportRule((("WC", W), ("NC", v))), ReportRule((("CC", v),), 7))
    assert registered == Registration(None, Iri(E + "q"), 5, rules)


def test_forms_and_prefixes_after_register() -> None:
    text = "REGISTER ISTREAM <q> AS PREFIX x: <http://x/> CONSTRUCT { ?s x:p 1 } WHERE { ?s x:q 2 }"
    registered = parse_query(text, base_iri="http://base/")
    assert registered.registration == Registration("ISTREAM", Iri("http://base/q"))
    assert registered.form == "CONSTRUCT"


def test_plain_sparql_has_no_registration_and_means_rstream() -> None:
    plain = query("SELECT * FROM :g FROM NAMED :h { ?s ?p ?o }")
    assert plain.registration is None
    assert plain.stream_operator == "RSTREAM"
    assert (plain.dataset.default, plain.dataset.named) == ((Iri(E + "g"),), (Iri(E + "h"),))


def test_window_patterns() -> None:
    parsed = query(
        "SELECT * FROM NAMED WINDOW :w ON :s [NOW] "
        "{ WINDOW :w { ?a :p ?b } WINDOW ?v { ?b :q ?c } }"
    )
    assert (
        format_algebra(parsed.pattern.children[0])
        == """\
Join
  Window <http://e/w>
    Bgp
      ?a <http://e/p> ?b
  Window ?v
    Bgp
      ?b <http://e/q> ?c"""
    )
    assert [str(name) for name in parsed.variables] == ["?a", "?b", "?v", "?c"]
    assert parsed.window(W) == WindowDeclaration(W, S, "now")
    with pytest.raises(KeyError):
        parsed.window(S)


def test_a_report_names_windows_that_are_declared() -> None:
    with pytest.raises(UnknownWindowError) as caught:
        query(
            "REGISTER STREAM :q REPORT ON WC OF :v AS SELECT * FROM NAMED WINDOW :w ON :s [NOW] {}"
        )
    assert (caught.value.line, caught.value.column) == (1, 1)
    assert caught.value.known == ("http://e/w",)


def test_unknown_window_has_its_place_and_the_known_names() -> None:
    text = "SELECT *\nFROM NAMED WINDOW :w ON :s [NOW]\n{ WINDOW :v { ?a :p ?b } }"
    with pytest.raises(UnknownWindowError) as caught:
        query(text)
    assert (caught.value.line, caught.value.column) == (3, 10)
    assert caught.value.known == ("http://e/w",)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        (
            "SELECT * FROM NAMED WINDOW :w ON :s [NOW]\nFROM NAMED WINDOW :w ON :t [NOW] {}",
            "window <http://e/w> is already declared at line 1, column 28",
            2,
            19,
        ),
        (
            "SELECT * FROM NAMED WINDOW :w ON :s [NOW] { WINDOW :w { WINDOW :w { ?a :p ?b } } }",
            "WINDOW cannot stand inside another WINDOW",
            1,
            57,
        ),
        ("SELECT * FROM NAMED WINDOW :w ON :s [RANGE 0 s] {}", "longer than nothing", 1, 44),
        ("SELECT * FROM NAMED WINDOW :w ON :s [RANGE P1M] {}", "have no fixed length", 1, 44),
        ("SELECT * FROM NAMED WINDOW :w ON :s [ELEMENTS 0] {}", "at least one element", 1, 47),
        (
            "SELECT * FROM NAMED WINDOW :w ON :s [ELEMENTS 2147483648] {}",
            "at most 2,147,483,647",
            1,
            47,
        ),
        (
            "SELECT * FROM NAMED WINDOW :w ON :s [ELEMENTS 5 STEP 99999999999999999999] {}",
            "by no more",
            1,
            54,
        ),
        ("SELECT * FROM NAMED WINDOW :w ON :s [RANGE P999999999D] {}", "out of range", 1, 44),
        (
            "SELECT * FROM NAMED WINDOW :w ON :s [INTERVAL 5 9007199254740992] {}",
            "out of range",
            1,
            49,
        ),
        ("SELECT * FROM NAMED WINDOW :w ON :s [INTERVAL 5 4] {}", "cannot end before", 1, 38),
        ("SELECT * FROM NAMED WINDOW :w ON :s [NOW-5 TO NOW-5] {}", "cannot end before", 1, 38),
        (
            "SELECT * FROM NAMED WINDOW :w ON :s [ELEMENTS 5] . [NOW] {}",
            "cannot be composed",
            1,
            38,
        ),
        (
            "SELECT * FROM NAMED WINDOW :w ON :s [NOW] REPORT ON WC AND EVERY 5 AND EVERY 6 {}",
            "EVERY stands once",
            1,
            72,
        ),
        (
            'SELECT * FROM NAMED WINDOW :w ON :s [RANGE "PT1S"^^xsd:string] {}',
            "expected a literal of xsd:duration",
            1,
            52,
        ),
    ],
)
def test_rules_of_windows(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        query(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
