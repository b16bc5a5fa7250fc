"""``GRAPH ?g { .. }`` where ?g is not simply a column of every triple pattern inside, and GRAPH of what is no graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from functools import reduce

from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Path,
    Project,
    Reduced,
    Slice,
    ToMultiset,
    Union,
    Values,
    Window,
)
from sparkext.language.expressions import (
    BuiltinCall,
    Exists,
    Expression,
    Not,
    Or,
    VariableReference,
)
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of
from sparkext.r2r.patterns.inner_patterns import exists_of, map_expressions
from sparkext.r2r.patterns.local_names import rename, variables_of
from sparkext.r2r.patterns.stage_rows import LiveRows
from sparkext.rewriting.bound_variables import (
    certain_variables,
    holds_exists,
    mentioned_variables,
)
from static_data.terms import Iri


class GraphUse(Enum):
    """How a pattern inside GRAPH ?g depends on the graph.

    EVERY: each solution comes from triples of one graph, whose name is a column of them; joins on that column do the
    rest. NONE: the solutions are the same in every graph. OTHER: neither, as for a sub-select that hides the column.
    """

    EVERY = "every"
    NONE = "none"
    OTHER = "other"


def graph_use(node: Node) -> GraphUse:
    """How `node`, right inside GRAPH ?g, depends on the graph.

    >>> graph_use(Bgp(())), graph_use(Union(Bgp(()), Bgp(())))
    (<GraphUse.NONE: 'none'>, <GraphUse.NONE: 'none'>)
    """
    asked = {graph_use(exists.pattern) for exists in exists_of(node)}
    if asked - {GraphUse.NONE}:
        # What an EXISTS finds depends on the graph, which must then be a column of the solutions it is asked for.
        own = _own_use(node)
        return own if own is GraphUse.EVERY and GraphUse.OTHER not in asked else GraphUse.OTHER
    return _own_use(node)


def _own_use(node: Node) -> GraphUse:
    match node:
        case Bgp():
            return GraphUse.EVERY if node.patterns else GraphUse.NONE
        case Path():
            return GraphUse.EVERY
        case Values() | LiveRows() | Graph() | Window():
            return GraphUse.NONE
        case Filter() | Extend() | ToMultiset():
            return graph_use(node.input)
        case Join():
            uses = {graph_use(node.left), graph_use(node.right)}
            if GraphUse.OTHER in uses:
                return GraphUse.OTHER
            return GraphUse.EVERY if GraphUse.EVERY in uses else GraphUse.NONE
        case LeftJoin() | Minus():
            left, right = graph_use(node.left), graph_use(node.right)
            return left if left is GraphUse.EVERY and right is not GraphUse.OTHER else _same(node)
        case Union() | Project() | Distinct() | Reduced() | OrderBy() | Slice():
            use = _same(node)
            hides = use is GraphUse.EVERY and not isinstance(node, Union)
            return GraphUse.OTHER if hides else use
        case _:
            return GraphUse.NONE if _same(node) is GraphUse.NONE else GraphUse.OTHER


def _same(node: Node) -> GraphUse:
    uses = {graph_use(child) for child in node.children}
    return uses.pop() if len(uses) == 1 else GraphUse.OTHER


def named_afterwards(node: Graph) -> Node:
    """``GRAPH ?g { P }``, where the name is a column of P's triples, with the ?g that P speaks of another one.

    Inside the group ?g is not bound yet; its solutions are joined with the name (SPARQL 1.1, section 18.6). Before,
    ``Graph(?g, Filter(?g = .., P))``; after, ``Extend(Graph(?h, Filter(?g = .., P)), ?g, ?h)``.

    >>> from sparkext.language.nodes import TriplePattern
    >>> a, g = Variable("a"), Variable("g")
    >>> pattern = Bgp((TriplePattern(a, Iri("http://e/p"), a),))
    >>> named_afterwards(Graph(g, pattern)) == Graph(g, pattern)
    True
    >>> named_afterwards(Graph(g, Filter(VariableReference(g), pattern))).expression
    VariableReference(variable=Variable(name='_:graph of g'))
    """
    name = node.name
    assert isinstance(name, Variable)
    if _joins_with(name, node.input):
        return node
    hidden = unused("graph of", name, node.input)
    return joined_with_name(node.input, name, hidden, lambda p: replace(node, name=hidden, input=p))


def joined_with_name(
    pattern: Node, name: Variable, carried: Variable, evaluated: Callable[[Node], Node]
) -> Node:
    """The solutions of a pattern joined with the name of their graph, which `evaluated` has them carry along.

    What does not bind the name gets it; what binds it must bind it to that graph. What may bind it or not gets it, too.
    Before, ``P``; after, ``Extend(Filter(!BOUND(?own) || SAMETERM(?own, ?h), P with ?own for ?g and ?h), ?g, ?h)``.
    """
    read = VariableReference(carried)
    if name not in pattern.variables:
        return Extend(evaluated(pattern), name, read)
    if name in certain_variables(pattern):
        return Filter(BuiltinCall("SAMETERM", (VariableReference(name), read)), evaluated(pattern))
    own = unused("own", name, pattern)
    bound = VariableReference(own)
    fits = Or(Not(BuiltinCall("BOUND", (bound,))), BuiltinCall("SAMETERM", (bound, read)))
    return Extend(Filter(fits, evaluated(rename(pattern, {name: own}))), name, read)


def unused(role: str, name: Variable, pattern: Node) -> Variable:
    """A hidden variable that a pattern does not mention, be it of the same role for a GRAPH inside.

    >>> unused("graph of", Variable("g"), Bgp(())).name
    '_:graph of g'
    """
    found, mentioned = Variable(f"_:{role} {name.name}"), variables_of(pattern)
    while found in mentioned:
        found = Variable(f"{found.name}'")
    return found


def _joins_with(name: Variable, node: Node) -> bool:
    """Whether it is one whether the solutions of `node` are joined with a value of `name` or made with it."""
    match node:
        case Bgp() | Path():
            return True
        case Join() | Union():
            return _joins_with(name, node.left) and _joins_with(name, node.right)
        case Filter() | Extend():
            if isinstance(node, Extend) and node.variable == name:
                return False
            read = any(name in mentioned_variables(e) for e in expressions_of(node))
            asks = any(map(holds_exists, expressions_of(node)))
            if read and (asks or name not in certain_variables(node.input)):
                return False
            return _joins_with(name, node.input)
    return not any(
        name in inner.variables
        or any(name in mentioned_variables(e) for e in expressions_of(inner))
        for inner in node.walk()
    )


def bind_graph_variables(
    node: Node, graphs: Callable[[], tuple[Iri, ...]], is_named: Callable[[Iri], bool] | None = None
) -> Node:
    """The same pattern with GRAPH ?g spelt out where the column of its triples would not do (SPARQL 1.1, section 18.6).

    Before: ``Graph(?g, Values(..))``; after: ``Join(Values(..), Values(?g, names of all graphs))``.
    Before: ``Graph(?g, sub-select)``; after: the union, over all names, of
    ``Join(Graph(name, sub-select), Values(?g, name))``.
    Before: ``Graph(name, P)`` where no graph `is_named` so, if not given: none of `graphs`; after:
    ``Join(Graph(name, P), Values(no rows))``.

    `graphs` gives the names of all graphs, and is asked where the pattern is another one with others.

    >>> print(bind_graph_variables(Graph(Variable("g"), Bgp(())), lambda: (Iri("http://e/1"),)).right.rows)
    ((Iri(value='http://e/1'),),)
    """
    if isinstance(node, Window):
        return node  # its graphs are its elements', seen to by bind_window_graphs

    def in_exists(part: Expression) -> Expression:
        if not isinstance(part, Exists):
            return part
        return replace(part, pattern=bind_graph_variables(part.pattern, graphs, is_named))

    children = tuple(bind_graph_variables(child, graphs, is_named) for child in node.children)
    node = node.replace_children(children) if children else node
    node = map_expressions(node, lambda expression: expression.transform(in_exists))
    if not isinstance(node, Graph):
        return node
    if isinstance(node.name, Iri):
        if any(isinstance(inner, Window) for inner in node.input.walk()):
            return node  # a window is a dataset of its own; triples beside it find nothing by themselves
        found = node.name in graphs() if is_named is None else is_named(node.name)
        return node if found else Join(node, Values((), ()))
    use = graph_use(node.input)
    if use is GraphUse.EVERY:
        return named_afterwards(node)
    names = graphs()
    if use is GraphUse.NONE or not names:
        return Join(node.input, _names(node.name, names))
    parts: list[Node] = [
        Join(Graph(graph, node.input), _names(node.name, (graph,))) for graph in names
    ]
    return reduce(Union, parts)


def _names(variable: Variable, graphs: tuple[Iri, ...]) -> Values:
    return Values((variable,), tuple((graph,) for graph in graphs))
