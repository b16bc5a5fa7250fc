"""EVENT ON and MATCH (RSEP-QL, section 3.3): syntax to event patterns, and back to text."""

import pytest

from sparkext.language import WindowDeclaration, format_algebra, parse_query
from sparkext.language.algebra import Bgp, Graph, Group, Join, Window
from sparkext.language.event_patterns import (
    Conjunction,
    Disjunction,
    Event,
    EventPattern,
    First,
    Last,
    Match,
    Related,
    Repetition,
    Sequence,
    Timed,
    Within,
)
from sparkext.language.expressions import Aggregate, VariableReference
from sparkext.language.nodes import Node, Variable
from sparkext.language.query import Query
from sparkext.language.support import query_word
from sparkext.rewriting.bound_variables import certain_variables
from sparkext.rewriting.lazy_binds import delay_binds
from sparkext.rewriting.lift_filters import lift_filters
from sparkext.rewriting.push_filters import push_filters
from static_data.terms import Iri

E = "http://e/"
A, B, C = Event("A"), Event("B"), Event("C")
EVENTS = """
FROM NAMED WINDOW :v ON :s [LANDMARK 1] FROM NAMED WINDOW :w ON :s [RANGE PT5S]
EVENT ON :v { ?x :p ?y } AS A EVENT ON :w { ?y :q ?z } AS B EVENT ON :w { ?z :r ?u } AS C
"""
PAPER = """
SELECT ?x ?z
FROM NAMED :S WIN [LND 9] AS :w1
FROM NAMED :S WIN [RANGE 5] AS :w2
EVENT ON :w1 { ?x :p ?y. } AS E1
EVENT ON :w2 { ?y :q ?z. } AS E2
WHERE { MATCH { E1 SEQ E2 } }
"""


def v(name: str) -> Variable:
    return Variable(name)


def query(text: str) -> Query:
    return parse_query(text, prefixes={"": E, "rspu": "http://w3id.org/rsp/rspu#"})


def match_of(pattern: Node) -> Match:
    (found,) = (node for node in pattern.walk() if isinstance(node, Match))
    return found


def match(expression: str, words: str = "", events: str = EVENTS) -> Match:
    return match_of(query(f"SELECT * {events} {{ MATCH {words} {{ {expression} }} }}").pattern)


def test_example_4_as_printed() -> None:
    read = query(PAPER)
    found = match_of(read.pattern)
    assert found.pattern == Sequence(Event("E1"), Event("E2"))
    assert found.names == ("E1", "E2")
    assert [event.name for event in found.events] == [Iri(E + "w1"), Iri(E + "w2")]
    assert [event.variables for event in found.events] == [(v("x"), v("y")), (v("y"), v("z"))]
    assert (found.selection, found.consumes) == (None, False)
    assert read.variables == (v("x"), v("z"))
    assert read.windows == (
        WindowDeclaration(Iri(E + "w1"), Iri(E + "S"), "landmark", start_ms=9),
        WindowDeclaration(Iri(E + "w2"), Iri(E + "S"), "range", 5),
    )
    assert not read.warnings


def test_paper_form_of_windows_is_from_named_window() -> None:
    clauses = "FROM NAMED :s WIN [RANGE 5] . [LND 1] AS :w REPORT ON WC"
    written = "FROM NAMED WINDOW :w ON :s [RANGE 5] . [LND 1] REPORT ON WC"
    assert query(f"ASK {clauses} {{}}") == query(f"ASK {written} {{}}")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("A", A),
        ("(((A)))", A),
        ("A SEQ B", Sequence(A, B)),
        ("a_1 seq B", None),
        ("A SEQ B SEQ C", Sequence(Sequence(A, B), C)),
        ("A SEQ (B SEQ C)", Sequence(A, Sequence(B, C))),
        ("A BEFORE B", Sequence(A, B)),
        ("A AFTER B", Sequence(B, A)),
        ("A SEQ NOT B SEQ C", Sequence(A, C, absent=B)),
        ("A SEQ NOT FIRST B+ SEQ C", Sequence(A, C, absent=First(Repetition(B)))),
        ("A SEQ NOT B SEQ C SEQ NOT (B OR A) SEQ A",
         Sequence(Sequence(A, C, absent=B), A, absent=Disjunction(B, A))),
        ("A SEQ NOT B SEQ C AND A", Conjunction(Sequence(A, C, absent=B), A)),
        ("A AND B OR C AND A", Disjunction(Conjunction(A, B), Conjunction(C, A))),
        ("A AND B AND C", Conjunction(Conjunction(A, B), C)),
        ("A OR B OR C", Disjunction(Disjunction(A, B), C)),
        ("A AND B SEQ C", Conjunction(A, Sequence(B, C))),
        ("A MEETS B", Related("meets", A, B)),
        ("A met  by B", Related("met by", A, B)),
        ("A OVERLAPS B", Related("overlaps", A, B)),
        ("A OVERLAPPED\nBY B", Related("overlapped by", A, B)),
        ("A DURING B", Related("during", A, B)),
        ("A CONTAINS B", Related("contains", A, B)),
        ("A STARTS B", Related("starts", A, B)),
        ("A STARTED BY B", Related("started by", A, B)),
        ("A FINISHES B", Related("finishes", A, B)),
        ("A FINISHED BY B", Related("finished by", A, B)),
        ("A EQUALS B SEQ C", Sequence(Related("equals", A, B), C)),
        ("FIRST A", First(A)),
        ("first last A SEQ B", Sequence(First(Last(A)), B)),
        ("FIRST (A SEQ B)", First(Sequence(A, B))),
        ("A WITHIN PT5S", Within(A, 5000)),
        ("A SEQ B WITHIN 500 ms", Within(Sequence(A, B), 500)),
        ("A SEQ (B OR C WITHIN 1m)", Sequence(A, Within(Disjunction(B, C), 60_000))),
        ("A WITHIN PT0S", Within(A, 0)),
        ("A FROM ?a TO ?b", Timed(A, v("a"), v("b"))),
        ("A OR B WITHIN 5s FROM ?a TO ?b", Timed(Within(Disjunction(A, B), 5000), v("a"), v("b"))),
        ("A AT ?t", Timed(A, v("t"), None)),
        ("FIRST A AT ?t", First(Timed(A, v("t"), None))),
        ("(FIRST A) AT ?t SEQ B AT ?s",
         Sequence(Timed(First(A), v("t"), None), Timed(B, v("s"), None))),
        ("A+", Repetition(A)),
        ("A + BY ?x", Repetition(A, (v("x"),))),
        ("A+ BY ?x ?y ?x AT ?t", Timed(Repetition(A, (v("x"), v("y"))), v("t"), None)),
        ("LAST A+ (COUNT(*) AS ?n)", Last(Repetition(A, (), ((v("n"), Aggregate("COUNT", None)),)))),
        ("(A SEQ B)+ BY ?x SEQ C", Sequence(Repetition(Sequence(A, B), (v("x"),)), C)),
        ("(A AT ?t)+ BY ?t", Repetition(Timed(A, v("t"), None), (v("t"),))),
        # Each branch of OR may have the same times, as branches of UNION may have the same BINDs.
        ("A AT ?t OR B AT ?t", Disjunction(Timed(A, v("t"), None), Timed(B, v("t"), None))),
        # What a repetition does not show is its own.
        ("(A AT ?t)+ BY ?x SEQ B AT ?t",
         Sequence(Repetition(Timed(A, v("t"), None), (v("x"),)), Timed(B, v("t"), None))),
    ],
)  # fmt: skip
def test_expressions(expression: str, expected: EventPattern | None) -> None:
    events = EVENTS + "EVENT ON :w {} AS a_1"
    found = match(expression, events=events).pattern
    assert found == (Sequence(Event("a_1"), B) if expected is None else expected)


def test_aggregates_are_those_of_group_by() -> None:
    found = match(
        'A+ BY ?x (SUM(?y + 1) AS ?s) (COUNT(DISTINCT ?y) AS ?n) (group_concat(?y; separator="|") AS ?g)'
    )
    y = VariableReference(v("y"))
    assert isinstance(found.pattern, Repetition)
    assert [name.name for name, _ in found.pattern.aggregates] == ["s", "n", "g"]
    assert found.aggregates[1:] == (
        Aggregate("COUNT", y, distinct=True),
        Aggregate("GROUP_CONCAT", y, separator="|"),
    )
    grouped = query("SELECT (SUM(?y + 1) AS ?s) { ?x :p ?y }").pattern
    (group,) = (node for node in grouped.walk() if isinstance(node, Group))
    assert group.aggregates[0][1] == found.aggregates[0]


def test_aggregates_of_events_do_not_group_the_query() -> None:
    read = query(f"SELECT * {EVENTS} {{ MATCH {{ A+ BY ?x (COUNT(*) AS ?n) }} FILTER(?n > 2) }}")
    assert read.variables == (v("x"), v("n"))
    assert not any(isinstance(node, Group) for node in read.pattern.walk())


@pytest.mark.parametrize(
    ("words", "selection", "consumes", "keeps"),
    [
        ("", None, False, False),
        ("WITHOUT CONSUMPTION", None, False, True),
        ("UNRESTRICTED", "unrestricted", False, False),
        ("naive", "naive", False, False),
        ("CHRONOLOGICAL", "chronological", True, False),
        ("Recent", "recent", True, False),
        ("RECENT without\n consumption", "recent", False, False),
        ("UNRESTRICTED WITHOUT CONSUMPTION", "unrestricted", False, False),
    ],
)
def test_selection_and_consumption(
    words: str, selection: str | None, consumes: bool, keeps: bool
) -> None:
    found = match("A SEQ B", words)
    assert (found.selection, found.consumes, found.keeps) == (selection, consumes, keeps)


@pytest.mark.parametrize(
    "name", ["a", "And", "SEQ", "within", "first_post", "match", "BY", "E-1", "Émission", "_1"]
)
def test_names_of_events(name: str) -> None:
    events = EVENTS + f"EVENT ON :w {{ ?k :p 1 }} AS {name}"
    found = match(f"{name} SEQ A AND A SEQ {name} WITHIN 5 s", events=events)
    assert found.names == (name, "A")


@pytest.mark.parametrize(
    "form",
    [
        "SELECT * {} WHERE {{ {} }}",
        "SELECT * {} {{ {} }}",
        "CONSTRUCT {{ ?x :is ?y }} {} WHERE {{ {} }}",
        "ASK {} {{ {} }}",
        "DESCRIBE ?x {} WHERE {{ {} }}",
        "SELECT * {} {{ {{ SELECT ?x {{ {} }} }} }}",
        "SELECT * {} {{ OPTIONAL {{ {} }} }}",
        "SELECT * {} {{ GRAPH ?g {{ {} }} }}",
    ],
)
def test_events_in_every_query_form(form: str) -> None:
    found = match_of(query(form.format(EVENTS, "MATCH { A SEQ B AND C }")).pattern)
    assert found.names == ("A", "B", "C")


def test_match_is_joined_with_what_stands_around_it() -> None:
    read = query(
        f"SELECT * {EVENTS} {{ ?x :knows ?k . MATCH {{ A SEQ B }} WINDOW :w {{ ?z :r ?u }} ?u :s ?o }}"
    )
    kinds = [type(node) for node in read.pattern.walk()]
    assert kinds[1:] == [Join, Join, Join, Bgp, Match, Window, Bgp, Window, Bgp, Window, Bgp, Bgp]
    assert [name.name for name in read.variables] == ["x", "k", "y", "z", "u", "o"]


def test_what_is_declared_and_not_matched_is_no_part_and_warned_of() -> None:
    read = query(f"SELECT * {EVENTS} {{ MATCH {{ A SEQ B }} }}")
    assert match_of(read.pattern).names == ("A", "B")
    (warning,) = read.warnings
    assert warning.message == "event C is not used: no MATCH names it"
    assert (warning.line, warning.column) == (3, 89)


def test_variables_in_scope() -> None:
    assert match("A SEQ NOT B SEQ C").variables == (v("x"), v("y"), v("z"), v("u"))
    assert match("A SEQ NOT C SEQ B").variables == (v("x"), v("y"), v("z"))
    assert match("B+ BY ?y (COUNT(*) AS ?n) AND A FROM ?s TO ?e").variables == tuple(
        map(v, "ynxse")
    )
    assert match("A+").variables == ()


def test_blank_nodes_of_an_event_are_its_own() -> None:
    """Used twice, and in two MATCHes, an event's blank node may be another one each time."""
    events = "FROM NAMED WINDOW :w ON :s [NOW] EVENT ON :w { [] :p ?x . _:b :q ?x } AS A"
    read = query(f"SELECT * {events} {{ MATCH {{ A SEQ A }} MATCH {{ A }} }}")
    first, second = (node for node in read.pattern.walk() if isinstance(node, Match))
    assert first.variables == second.variables == (v("x"),)
    assert len(first.event("A").variables) == 3
    assert first.names == ("A",)


def test_inside_an_event() -> None:
    events = """FROM NAMED WINDOW :w ON :s [NOW]
      EVENT ON :w { ?x :p ?y FILTER(?y > 1) BIND(?y + 1 AS ?k) GRAPH :static { ?x :q ?z } GRAPH ?g { ?x :r 1 } } AS A"""
    found = match("A", events=events)
    assert [node.name for node in found.walk() if isinstance(node, Graph)] == [
        Iri(E + "static"),
        v("g"),
    ]
    assert found.variables == (v("x"), v("y"), v("k"), v("z"), v("g"))


def test_certain_variables() -> None:
    def certain(expression: str, events: str = EVENTS) -> str:
        return "".join(
            sorted(name.name for name in certain_variables(match(expression, "", events)))
        )

    assert certain("A SEQ B") == certain("A AND B WITHIN 5s") == certain("A MEETS B") == "xyz"
    assert certain("A OR B") == "y"
    assert certain("A AT ?t OR B AT ?t") == "ty"
    assert certain("A SEQ NOT C SEQ A") == "xy"
    assert certain("FIRST A FROM ?s TO ?e") == "esxy"
    assert certain("A+ BY ?x (COUNT(?y) AS ?n) (SUM(?y) AS ?m)") == "nx"
    assert certain("(A OR B)+ BY ?x ?y") == "y"
    optional = (
        "FROM NAMED WINDOW :w ON :s [NOW] EVENT ON :w { ?x :p [] OPTIONAL { ?x :q ?y } } AS A"
    )
    assert certain("A", optional) == "x"


def test_rewriting_leaves_the_windows_of_events_in_place() -> None:
    """A filter around MATCH does not go into an event, nor does a BIND of an event come out."""
    events = """FROM NAMED WINDOW :w ON :s [NOW] EVENT ON :w
      { ?x :p ?y BIND(rspu:mean(?y) AS ?m) FILTER(?m > 1) FILTER(?limit > ?m) } AS A"""
    text = f"SELECT * {events} {{ MATCH {{ A SEQ A }} FILTER(?x > 2) ?a :limit ?limit }}"
    pattern = query(text).pattern
    for rewritten in (push_filters(pattern), delay_binds(pattern), lift_filters(pattern)):
        assert match_of(rewritten).names == ("A",)
        assert isinstance(match_of(rewritten).events[0], Window)
        assert "Filter ?x > 2\n" in format_algebra(rewritten).split("Match")[0]
    assert match_of(delay_binds(pattern)) == match_of(lift_filters(pattern)) == match_of(pattern)


def test_filters_of_events_that_read_the_outside_are_warned_of() -> None:
    events = "FROM NAMED WINDOW :w ON :s [NOW]\nEVENT ON :w { ?x :p ?y FILTER(?y > ?limit) } AS A"
    (warning,) = query(f"SELECT * {events} {{ MATCH {{ A }} ?a :limit ?limit }}").warnings
    assert (warning.line, warning.column) == (2, 36)
    assert warning.message == (
        "?limit is not bound inside this EVENT group, so the FILTER is never true; "
        "move the FILTER out to where the variable is bound"
    )


def test_word_for_messages() -> None:
    assert query_word(match("A")) == "MATCH"
