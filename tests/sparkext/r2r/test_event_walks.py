"""What is done to a whole pattern before it is compiled is done inside the events of MATCH, too."""

from __future__ import annotations

from sparkext.language import parse_query
from sparkext.language.algebra import Filter, Path, Project, Window
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import BuiltinCall, Constant, Expression
from sparkext.language.nodes import Node
from sparkext.r2r.functions.solution_functions import complete_calls
from sparkext.r2r.leaves.delta_patterns import not_monotone
from sparkext.r2r.leaves.scoped_exists import ScopedExists, scope_exists
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH, InWindow, reads_no_window
from sparkext.r2r.patterns.expand_paths import expand_paths
from sparkext.r2r.patterns.graph_variables import GraphUse, bind_graph_variables, graph_use
from sparkext.r2r.patterns.inner_patterns import exists_of, map_expressions
from sparkext.r2r.patterns.local_names import number_hidden
from sparkext.r2r.patterns.occurrences import number_occurrences
from sparkext.r2r.patterns.stage_rows import MatchRows
from sparkext.r2r.patterns.substitution import closed, free_variables
from sparkext.r2r.patterns.window_graphs import bind_window_graphs, spell_out_windows
from static_data.terms import Iri, Literal

HEAD = """
PREFIX : <http://example.org/>
SELECT * FROM NAMED WINDOW :v ON :s [NOW] FROM NAMED WINDOW :w ON :s [RANGE PT30S]
"""
W = Iri("http://example.org/w")


def pattern(events: str, body: str) -> Node:
    found = parse_query(f"{HEAD}{events} {{ {body} }}").pattern
    assert isinstance(found, Project)
    return found.input


def match_in(node: Node) -> Match:
    (found,) = (part for part in node.walk() if isinstance(part, Match))
    return found


def conditions(match: Match) -> list[Expression]:
    return [part.condition for part in match.walk() if isinstance(part, Filter)]


def test_occurrences_are_numbered_through_events() -> None:
    events = (
        "EVENT ON :v { ?x :p ?y FILTER(?y > 1) } AS A EVENT ON :w { ?x :q ?y FILTER(?y > 1) } AS B"
    )
    found = match_in(number_occurrences(pattern(events, "MATCH { A SEQ B } FILTER(?y > 1)")))
    assert sorted(part.occurrence for part in conditions(found)) == [0, 1]
    assert conditions(found)[0] == conditions(found)[1]


def test_aggregates_are_among_the_expressions() -> None:
    events = "EVENT ON :v { ?x :p ?y } AS A EVENT ON :w { ?x :q ?z } AS B"
    body = "MATCH { A+ BY ?x (MAX(IRI(?y)) AS ?m) SEQ NOT A+ (MAX(IRI(?y)) AS ?n) SEQ B }"
    found = match_in(pattern(events, body))
    numbered = match_in(number_occurrences(found))
    assert [aggregate.occurrence for aggregate in numbered.aggregates] == [0, 1]
    completed = match_in(complete_calls(found, "http://base/"))
    for aggregate in completed.aggregates:
        (call,) = (part for part in aggregate.walk() if isinstance(part, BuiltinCall))
        assert call.arguments[1:] == (Constant(Literal("http://base/")),)
    assert map_expressions(found, lambda expression: expression) == found


def test_hidden_variables_of_events_are_numbered_by_themselves() -> None:
    events = "EVENT ON :v { ?x :p [] } AS A"
    sub_select = "{ SELECT ?x { MATCH { A } } }"
    found = number_hidden(pattern(events, f"?x :q [] {sub_select}"))
    (hidden,) = (name for name in match_in(found).event("A").variables if name.hidden)
    assert hidden.name == "_:local0"


def test_paths_in_events() -> None:
    events = "EVENT ON :v { ?x :p/:q+ ?y } AS A"
    found = match_in(expand_paths(pattern(events, "MATCH { A }")))
    assert [name.name for name in found.variables] == ["x", "y"]
    assert len([part for part in found.walk() if isinstance(part, Path)]) == 1


def test_exists_in_an_event_looks_at_its_window() -> None:
    events = "EVENT ON :w { ?x :p ?y FILTER EXISTS { ?y :q ?x } } AS A"
    scoped = match_in(scope_exists(pattern(events, "?x :r ?y MATCH { A }"), DEFAULT_GRAPH))
    (found,) = (exists for part in scoped.walk() for exists in exists_of(part))
    assert isinstance(found, ScopedExists)
    assert found.scope == InWindow(W)
    assert [name.name for name in found.correlated] == ["x", "y"]


def test_graphs_around_and_inside_events() -> None:
    events = "EVENT ON :w { GRAPH ?g { ?x :p ?y } GRAPH ?h { VALUES ?z { 1 } } } AS A"
    found = pattern(events, "MATCH { A }")
    assert graph_use(found) is GraphUse.NONE
    bound = match_in(bind_window_graphs(bind_graph_variables(found, lambda: (W,))))
    assert [name.name for name in bound.variables] == ["g", "x", "y", "z", "h"]
    spelt_out = match_in(spell_out_windows(found, [W], strict=[W]))
    assert spelt_out.events[0].strict


def test_what_a_match_is_for_delta_evaluation() -> None:
    found = pattern("EVENT ON :w { ?x :p ?y } AS A", "MATCH { A }")
    assert not reads_no_window(found, DEFAULT_GRAPH)
    assert not_monotone(found, DEFAULT_GRAPH) == "MATCH"
    names, sure = found.variables, frozenset(found.variables)
    selecting, open_ended = MatchRows(names, sure), MatchRows(names, frozenset(), 0, True)
    assert not_monotone(selecting, DEFAULT_GRAPH) == "a MATCH that selects events"
    assert not_monotone(open_ended, DEFAULT_GRAPH) == "a MATCH that leaves variables unbound"
    assert not_monotone(MatchRows(names, sure, 0, True), DEFAULT_GRAPH) is None


def test_match_takes_from_outside_what_it_shows_only() -> None:
    """What FIRST chooses depends on what is put in, so that EXISTS with MATCH is not just a join."""
    events = "EVENT ON :w { ?x :p ?y } AS A"
    found = match_in(pattern(events, "MATCH { FIRST A+ BY ?x (COUNT(?y) AS ?n) }"))
    names = {name.name for name in free_variables(found)}
    assert names == {"x", "n"}
    assert closed(found, frozenset()) and not closed(found, free_variables(found))
    (window,) = found.events
    assert isinstance(window, Window)
