"""WINDOW ?w, and GRAPH ?g inside a window, whose graphs are those of the elements that it holds at the time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import reduce

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    OrderBy,
    Path,
    Project,
    Reduced,
    ToMultiset,
    Union,
    Values,
    Window,
)
from sparkext.language.expressions import BuiltinCall, Exists, Expression, Not, VariableReference
from sparkext.language.nodes import Node, Position, TriplePattern, Variable
from sparkext.language.support import query_word
from sparkext.r2r.patterns.graph_variables import (
    GraphUse,
    graph_use,
    joined_with_name,
    named_afterwards,
    unused,
)
from sparkext.r2r.patterns.inner_patterns import map_expressions, transform_everywhere
from sparkext.r2r.patterns.stage_rows import LiveRows
from static_data.terms import Iri


def spell_out_windows(
    node: Node, names: Sequence[Iri], strict: Collection[Iri] = frozenset()
) -> Node:
    """The same pattern with WINDOW ?w as the union over the query's named windows, each joined with its name.

    Windows in `strict` are marked so.

    >>> found = spell_out_windows(Window(Variable("w"), Bgp()), [Iri("http://e/w")])
    >>> found.left.name.value, found.right.rows
    ('http://e/w', ((Iri(value='http://e/w'),),))
    """

    def spell_out(inner: Node) -> Node:
        if not isinstance(inner, Window):
            return inner
        if isinstance(inner.name, Iri):
            return replace(inner, strict=inner.name in strict)
        parts: list[Node] = [
            Join(
                replace(inner, name=name, strict=name in strict), Values((inner.name,), ((name,),))
            )
            for name in names
        ]
        return reduce(Union, parts) if parts else Join(inner.input, Values((inner.name,), ()))

    return transform_everywhere(node, spell_out)


def bind_window_graphs(node: Node) -> Node:
    """The same pattern with GRAPH ?g inside windows spelt out where the column of its triples would not do.

    A window's graphs are known only at an evaluation, so a pattern that hides the graph carries it along: before,
    ``Graph(?g, Project(P, ?x))``; after, ``Project(Graph(?h, P), ?x ?h)`` with ?h bound to ?g.
    """
    if isinstance(node, Window):
        return replace(node, input=_in_window(node.input))
    return _with_inputs(node, bind_window_graphs)


def _with_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with its inputs changed, and the patterns of EXISTS in its expressions."""

    def in_exists(part: Expression) -> Expression:
        return replace(part, pattern=change(part.pattern)) if isinstance(part, Exists) else part

    children = tuple(change(child) for child in node.children)
    node = node.replace_children(children) if children else node
    return map_expressions(node, lambda expression: expression.transform(in_exists))


def _in_window(node: Node) -> Node:
    node = _with_inputs(node, _in_window)
    if not isinstance(node, Graph) or not isinstance(node.name, Variable):
        return node
    use = graph_use(node.input)
    place = node.position or Position(1, 1)
    if use is GraphUse.EVERY:
        return named_afterwards(node)
    if use is GraphUse.NONE:
        return Join(node.input, _element_names(node.name))
    carried = unused("graph of", node.name, node.input)
    return joined_with_name(
        node.input, node.name, carried, lambda pattern: _carrying(pattern, carried, place)
    )


def _carrying(node: Node, graph: Variable, place: Position) -> Node:
    """The pattern evaluated in each element's graph, with the graph's name as one more variable of its solutions.

    `place` is where the text has GRAPH, for what cannot be done.
    """

    def carrying(inner: Node) -> Node:
        return _carrying(inner, graph, place)

    match node:
        case Bgp() if node.patterns:
            return Graph(graph, node)
        case Path():
            return Graph(graph, node)
        case Bgp() | Values() | LiveRows() | Graph() | Window():
            return Join(node, _element_names(graph))
        case Join() | Union():
            return node.replace_children((carrying(node.left), carrying(node.right)))
        case LeftJoin():
            if node.condition is not None:
                _check(node.condition, place)
            return node.replace_children((carrying(node.left), carrying(node.right)))
        case Filter():
            _check(node.condition, place)
            return replace(node, input=carrying(node.input))
        case Extend() | Distinct() | Reduced() | ToMultiset():
            return node.replace_children((carrying(node.input),))
        case OrderBy():
            return carrying(node.input)  # a bag has no order
        case Project():
            return Project(carrying(node.input), (*node.names, graph))
        case Group():
            inner = carrying(node.input)
            keys = (*node.keys, (graph, VariableReference(graph)))
            grouped = replace(node, input=inner, keys=keys)
            return grouped if node.keys else Union(grouped, _of_nothing(node, inner, graph))
        case _:
            raise _refused(query_word(node), place)


def _of_nothing(node: Group, carried: Node, graph: Variable) -> Node:
    """What aggregates without GROUP BY say of the graphs in which nothing is found: there is one row all the same."""
    found = Variable(f"_:found in {graph.name}")
    names = Extend(Distinct(Project(carried, (graph,))), found, VariableReference(graph))
    is_found = BuiltinCall("BOUND", (VariableReference(found),))
    others = Filter(Not(is_found), LeftJoin(_element_names(graph), names))
    alone = replace(node, input=Values(node.input.variables, ()))
    return Project(Join(alone, others), (*node.variables, graph))


def _check(condition: Expression, place: Position) -> None:
    if any(isinstance(part, Exists) for part in condition.walk()):
        raise _refused("EXISTS", place)


def _refused(what: str, place: Position) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"GRAPH with a variable inside WINDOW, around a sub-select with {what}, is not supported",
        *place,
    )


def _element_names(variable: Variable) -> Node:
    """The names of a window's elements, each once."""
    subject, predicate, object_ = (Variable(f"_:{place} of {variable.name}") for place in "spo")
    triple = TriplePattern(subject, predicate, object_)
    return Distinct(Project(Graph(variable, Bgp((triple,))), (variable,)))
