"""EVENT ON and MATCH: what is refused, with its place."""

import pytest

from sparkext.errors import (
    QuerySyntaxError,
    UnknownWindowError,
    UnsupportedFeatureError,
)
from sparkext.language import check_supported, parse_query

EVENTS = (
    "FROM NAMED WINDOW :w ON :s [NOW] EVENT ON :w { ?x :p ?y } AS A EVENT ON :w { ?y :q ?z } AS B\n"
)


def refused(text: str) -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text, prefixes={"": "http://e/"})
    return caught.value


@pytest.mark.parametrize(
    ("expression", "column", "message"),
    [
        ("A SEQ D", 17, "no event is declared as D; declared: A, B"),
        ("a SEQ B", 11, "no event is declared as a; declared: A, B"),
        ("A SEQ NOT B", 17, "what is absent stands between two events: A SEQ NOT B SEQ C"),
        ("(A SEQ NOT B) SEQ A", 18, "what is absent stands between two events"),
        ("A SEQ NOT B AND A", 17, "what is absent stands between two events"),
        ("A AT ?x", 16, "?x is already used in this MATCH and cannot be bound by AT"),
        ("A SEQ B AT ?x", 22, "?x is already used in this MATCH and cannot be bound by AT"),
        ("A AT ?z SEQ B", 16, "?z is already used in this MATCH and cannot be bound by AT"),
        ("A AT ?t SEQ B AT ?t", 28, "?t is already used in this MATCH and cannot be bound by AT"),
        ("A AT ?t AND B AT ?t", 28, "?t is already used in this MATCH and cannot be bound by AT"),
        ("A AT ?t AFTER B AT ?t", 30, "?t is already used in this MATCH and cannot be bound by AT"),
        ("A AT ?t DURING B AT ?t", 31, "?t is already used in this MATCH"),
        ("A FROM ?t TO ?t", 24, "?t is already used in this MATCH and cannot be bound by TO"),
        ("A AT ?t FROM ?t TO ?u", 24, "?t is already used in this MATCH and cannot be bound by FROM"),
        ("A SEQ NOT (B AT ?x) SEQ A", 27, "?x is already used in this MATCH"),
        ("A AT ?z SEQ NOT B SEQ A", 16, "?z is already used in this MATCH"),
        ("A+ BY ?x FROM ?x TO ?u", 25, "?x is already used in this MATCH and cannot be bound by FROM"),
        ("A+ (COUNT(*) AS ?x)", 27, "?x is already used in this MATCH and cannot be bound by AS"),
        ("A+ BY ?x (COUNT(*) AS ?x)", 33, "?x is already used in this MATCH and cannot be bound by AS"),
        ("A+ (COUNT(*) AS ?n) (MAX(?y) AS ?n)", 43, "?n is already used in this MATCH"),
        ("A+ (COUNT(*) AS ?n) AND B AT ?n", 40, "?n is already used in this MATCH"),
        ("B+ (COUNT(*) AS ?x) AND A", 27, "?x is already used in this MATCH and cannot be bound by AS"),
        ("A+ BY ?z", 17, "?z is not bound by what is repeated"),
        ("A+ (SUM(MAX(?x)) AS ?n)", 19, "an aggregate cannot stand inside another one"),
        ("A+ (SUM(*) AS ?n)", 19, "SUM takes an expression; only COUNT takes *"),
        ("A+ (COUNT(EXISTS { ?x :p 1 }) AS ?n)", 15, "an aggregate over events cannot hold EXISTS"),
    ],
)  # fmt: skip
def test_what_an_event_pattern_cannot_say(expression: str, column: int, message: str) -> None:
    error = refused(f"SELECT * {EVENTS}{{ MATCH {{ {expression} }} }}")
    assert error.message.startswith(message)
    assert (error.line, error.column) == (2, column)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (
            "{ ?t :p 1 MATCH { A FROM ?t TO ?u } }",
            2,
            26,
            "?t is already used in this group and cannot be bound by FROM",
        ),
        (
            "{ BIND(1 AS ?n) MATCH { A+ (COUNT(*) AS ?n) } }",
            2,
            41,
            "?n is already used in this group and cannot be bound by AS",
        ),
        ("{ MATCH { A AT ?t } BIND(1 AS ?t) }", 2, 31, "?t is already used in this group"),
        (
            "{ MATCH { A AT ?t } MATCH { B AT ?t } }",
            2,
            34,
            "?t is already used in this group and cannot be bound by AT",
        ),
        (
            "EVENT ON :w {} AS A { MATCH { A } }",
            2,
            19,
            "event A is already declared at line 1, column 43",
        ),
        (
            "EVENT ON :w {} AS first {}",
            2,
            19,
            "FIRST is an operator of MATCH and cannot name an event",
        ),
        ("EVENT ON :w {} AS Not {}", 2, 19, "NOT is an operator of MATCH and cannot name an event"),
        ("EVENT ON :w { MATCH { A } } AS C {}", 2, 15, "an event cannot be defined by a MATCH"),
        (
            "EVENT ON :w { ?x :p ?y FILTER EXISTS { MATCH { A } } } AS C {}",
            2,
            40,
            "an event cannot be defined by a MATCH",
        ),
        ("EVENT ON :w { WINDOW :w {} } AS C {}", 2, 15, "WINDOW cannot stand inside an EVENT"),
        (
            "EVENT ON :w { FILTER(COUNT(?x) > 1) } AS C {}",
            2,
            22,
            "an aggregate is only allowed in SELECT",
        ),
        (
            "{ WINDOW :w { ?x :p ?y MATCH { A } } }",
            2,
            24,
            "MATCH cannot stand inside WINDOW: its events name their own windows",
        ),
        (
            "EVENT ON :w { _:b :p 1 } AS C { _:b :q 1 }",
            2,
            33,
            "blank node label _:b is already used in another basic graph pattern",
        ),
    ],
)
def test_what_a_query_with_events_cannot_say(
    text: str, line: int, column: int, message: str
) -> None:
    error = refused(f"SELECT * {EVENTS}{text}")
    assert error.message.startswith(message)
    assert (error.line, error.column) == (line, column)


def test_no_event_at_all() -> None:
    error = refused("SELECT * { MATCH { A } }")
    assert (error.message, error.column) == ("no event is declared as A; declared: none", 20)


@pytest.mark.parametrize(
    ("text", "column", "found", "expected"),
    [
        ("{ MATCH { } }", 11, "}", ("an event",)),
        ("{ MATCH { ?x } }", 11, "?x", ("an event",)),
        ("{ MATCH { A SEQ } }", 17, "}", ("an event", "NOT")),
        ("{ MATCH { FIRST } }", 17, "}", ("an event",)),
        ("{ MATCH { A MET B } }", 13, "MET", ("an operator such as SEQ", "AT", "FROM", "WITHIN", "'+'", "'}'")),
        ("{ MATCH { (A SEQ B } }", 20, "}", ("')'",)),
        ("{ MATCH { A WITHIN } }", 20, "}", ("a duration such as PT30S or 30 seconds",)),
        ("{ MATCH { A WITHIN -5 } }", 20, "-", ("a duration such as PT30S or 30 seconds",)),
        ("{ MATCH { A WITHIN 5 s SEQ B } }", 24, "SEQ", ("FROM", "'}'")),
        ("{ MATCH { A FROM ?a } }", 21, "}", ("TO",)),
        ("{ MATCH { A AT 5 } }", 16, "5", ("a variable",)),
        ("{ MATCH { A+ BY } }", 17, "}", ("a variable",)),
        ("{ MATCH { A+ (?x AS ?n) } }", 15, "?x", ("an aggregate",)),
        ("{ MATCH OLDEST { A } }", 9, "OLDEST", ("a selection such as RECENT", "WITHOUT CONSUMPTION", "'{'")),
        ("{ MATCH RECENT WITHOUT { A } }", 16, "WITHOUT", ("WITHOUT CONSUMPTION", "'{'")),
        ("EVENT :w {} AS C {}", 7, ":w", ("ON",)),
        ("EVENT ON ?w {} AS C {}", 10, "?w", ("an IRI",)),
        ("EVENT ON :w {} {}", 16, "{}", ("AS",)),
        ("EVENT ON :w {} AS ?c {}", 19, "?c", ("the name of an event",)),
        ("EVENT ON :w {} AS :c {}", 19, ":c", ("the name of an event",)),
        ("FROM :g {}", 1, "FROM", ("EVENT", "WHERE", "'{'")),
    ],
)  # fmt: skip
def test_what_was_expected(text: str, column: int, found: str, expected: tuple[str, ...]) -> None:
    error = refused(f"SELECT * {EVENTS}{text}")
    assert (error.line, error.column) == (2, column)
    assert error.message == f"unexpected {found!r}"
    assert tuple(error.expected) == expected


def test_window_of_an_event_must_be_declared() -> None:
    with pytest.raises(UnknownWindowError) as caught:
        parse_query(f"SELECT * {EVENTS}EVENT ON :u {{}} AS C {{}}", prefixes={"": "http://e/"})
    assert (caught.value.line, caught.value.column) == (2, 10)
    assert "http://e/u" in str(caught.value) and "http://e/w" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("MATCH { A+ SEQ B+ }", 11, "a repetition on both sides of SEQ is"),
        ("MATCH { A SEQ (A+ AT ?t) BEFORE (B+ WITHIN 1 s) }", None, None),
        (
            "MATCH { (A+ AT ?t) BEFORE (B+ WITHIN 1 s) }",
            12,
            "a repetition on both sides of SEQ is",
        ),
        ("MATCH NAIVE { A SEQ B+ }", 23, "a repetition in a SEQ that selects naive is"),
        (
            "MATCH RECENT { A+ BY ?y SEQ B }",
            18,
            "a repetition in a SEQ that selects recent is",
        ),
        ("MATCH CHRONOLOGICAL { A SEQ B AND A+ }", None, None),
        ("MATCH UNRESTRICTED { A SEQ NOT A+ SEQ B+ BY ?y }", None, None),
        ("OPTIONAL { MATCH { A+ SEQ B } }", None, None),
        ("MATCH { A } FILTER EXISTS { MATCH { A+ SEQ B+ } }", 39, "a repetition on both sides"),
    ],
)
def test_what_is_not_run(text: str, column: int | None, message: str | None) -> None:
    query = parse_query(f"SELECT * {EVENTS}{{ {text} }}", prefixes={"": "http://e/"})
    if column is None or message is None:
        check_supported(query)
        return
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_supported(query)
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == (2, column)


def test_what_events_call_is_looked_at() -> None:
    text = f"SELECT * {EVENTS}{{ MATCH {{ A+ (MAX(:f(?y)) AS ?n) }} }}"
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_supported(parse_query(text, prefixes={"": "http://e/"}))
    assert "the function <http://e/f>" in str(caught.value)
