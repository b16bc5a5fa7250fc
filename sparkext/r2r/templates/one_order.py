"""A query's triples and joined groups in one order, whatever the order they are written in.

The query is seen as a graph: its variables, constants and operators are nodes, and what stands in triples and in
operators are edges. A constant is one node, wherever it stands; which term it is makes no difference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import reduce

from sparkext.language.algebra import Bgp, Join, Path, Values
from sparkext.language.expressions import Constant, Exists, Expression
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.language.query import Query
from sparkext.r2r.patterns.inner_patterns import map_expressions, transform_everywhere
from sparkext.r2r.templates.constant_places import has_any_cells, has_any_ends, is_what_it_does
from sparkext.r2r.templates.refinement import Edge, numbering
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term

_CONSTANT, _VARIABLE, _HIDDEN, _OPERATOR = range(4)

_Context = tuple[int, int]
"""The operator that something stands in, and as which of its inputs."""


def in_one_order(pattern: Node, query: Query) -> tuple[Node, tuple[tuple[Term, ...], ...]]:
    """The query's pattern with its parts in one order, and the constants that could be exchanged with each other.

    Of constants that stand alike the one whose text comes first does.
    """
    pattern = transform_everywhere(pattern, _joined)
    graph = _QueryGraph()
    root = graph.operator()
    graph.add(("query", query.form), (root, *map(graph.variable, query.answered)))
    graph.add_own(query.template, "template", (root, 0))
    graph.visit(pattern, (root, 0))
    numbers, alike = numbering(graph.kinds, graph.edges, graph.text)
    ordered = _Order(graph, numbers).of(pattern)
    return ordered, tuple(terms for nodes in alike if (terms := graph.terms(nodes)))


def _joined(node: Node) -> Node:
    """The joined groups of a Join side by side, their triple patterns together."""
    if not isinstance(node, Join):
        return node
    parts = list(_parts(node))
    triples = [p for part in parts if isinstance(part, Bgp) for p in part.patterns]
    others = [part for part in parts if not isinstance(part, Bgp)]
    groups = [Bgp(tuple(triples)), *others] if triples else others
    return reduce(Join, groups) if groups else Bgp()


def _parts(node: Node) -> Iterator[Node]:
    if isinstance(node, Join):
        yield from _parts(node.left)
        yield from _parts(node.right)
    else:
        yield node


class _QueryGraph:
    """The graph of a query, as far as it has been visited."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.edges: list[Edge] = []
        self._of_values: dict[Variable | Term, int] = {}
        # By identity: equal ones may stand at several places.
        self.of_operators: dict[int, int] = {}
        self.of_rows: dict[int, list[int]] = {}  # those of VALUES, likewise
        self._texts: list[str] = []

    def _node(self, kind: int, text: str = "") -> int:
        self.kinds.append(kind)
        self._texts.append(text)
        return len(self.kinds) - 1

    def operator(self) -> int:
        """A new node of an operator or a group."""
        return self._node(_OPERATOR)

    def variable(self, variable: Variable) -> int:
        """The node of a variable."""
        if variable not in self._of_values:
            self._of_values[variable] = self._node(_HIDDEN if variable.hidden else _VARIABLE)
        return self._of_values[variable]

    def constant(self, term: Term) -> int:
        """The node of a constant."""
        if term not in self._of_values:
            self._of_values[term] = self._node(_CONSTANT, term.n3())
        return self._of_values[term]

    def text(self, node: int) -> str:
        """The text of a constant; that of other nodes is empty."""
        return self._texts[node]

    def terms(self, nodes: tuple[int, ...]) -> tuple[Term, ...]:
        """The terms of nodes; none where they are no constants."""
        if self.kinds[nodes[0]] != _CONSTANT:
            return ()
        of_nodes = {node: value for value, node in self._of_values.items()}
        return tuple(t for n in nodes if not isinstance(t := of_nodes[n], Variable))

    def add(self, label: object, nodes: tuple[int, ...]) -> None:
        """An edge."""
        self.edges.append((repr(label), nodes))

    def add_own(self, value: object, name: str, context: _Context) -> None:
        """An edge of what stands in an expression or the like, its constants as they are."""
        mentioned: list[int] = []
        shape = self._shape(value, mentioned, as_it_is=True)
        self.add((name, context[1], shape), (context[0], *mentioned))

    def visit(self, node: Node, context: _Context) -> None:
        """A pattern that stands there, and what is in it."""
        if isinstance(node, Join):
            self.visit(node.left, context)
            self.visit(node.right, context)
        elif isinstance(node, Bgp):
            for triple in node.patterns:
                mentioned = list(self.triple_nodes(triple))
                self.add((self.triple_shape(triple), context[1]), (context[0], *mentioned))
        elif isinstance(node, Path) and has_any_ends(node):
            me = self.of_operators[id(node)] = self.operator()
            ends = (node.subject, node.object)
            shapes = [self._end_shape(end) for end in ends]
            nodes = (n for end in ends for n in self._end_nodes(end))
            self.add((repr(node.path), context[1], shapes), (context[0], me, *nodes))
        elif isinstance(node, Values) and has_any_cells(node):
            self._visit_values(node, context)
        else:
            me = self.of_operators[id(node)] = self.operator()
            mentioned = []
            own = [
                self._shape(value, mentioned)
                for f in dataclasses.fields(node)
                if f.compare and not isinstance(value := getattr(node, f.name), Node)
            ]
            self.add((type(node).__name__, context[1], own), (context[0], me, *mentioned))
            for place, child in enumerate(node.children):
                self.visit(child, (me, place))

    def _visit_values(self, node: Values, context: _Context) -> None:
        me = self.of_operators[id(node)] = self.operator()
        names = [self.variable(name) for name in node.names]
        self.add(("Values", context[1]), (context[0], me))
        for name in names:
            self.add("name", (me, name))
        rows = self.of_rows[id(node)] = [self.operator() for _ in node.rows]
        for row, cells in zip(rows, node.rows, strict=True):
            self.add("row", (me, row))
            for name, cell in zip(names, cells, strict=True):
                if cell is not None:
                    self.add("cell", (row, name, self.constant(cell)))

    def triple_shape(self, triple: TriplePattern | QuotedPattern) -> object:
        """What a triple is beside its variables and constants."""
        predicate = triple.predicate
        named = "" if isinstance(predicate, Variable) else predicate.n3()
        return (named, self._end_shape(triple.subject), self._end_shape(triple.object))

    def _end_shape(self, term: PatternTerm) -> object:
        return self.triple_shape(term) if isinstance(term, QuotedPattern) else ""

    def triple_nodes(self, triple: TriplePattern | QuotedPattern) -> Iterator[int]:
        """The nodes of a triple's variables and constants, in their order."""
        yield from self._end_nodes(triple.subject)
        yield from self._end_nodes(triple.object)
        if isinstance(triple.predicate, Variable):
            yield self.variable(triple.predicate)

    def _end_nodes(self, term: PatternTerm) -> Iterator[int]:
        match term:
            case QuotedPattern():
                yield from self.triple_nodes(term)
            case Variable():
                yield self.variable(term)
            case Iri() | Literal() | QuotedTriple():
                yield self.constant(term)

    def _shape(self, value: object, mentioned: list[int], as_it_is: bool = False) -> object:
        match value:
            case Variable():
                mentioned.append(self.variable(value))
                return "?"
            case Constant() if not as_it_is:
                mentioned.append(self.constant(value.term))
                return "a constant"
            case Iri() | Literal() | QuotedTriple() | BlankNode():
                return value.n3()
            case Node():
                group = self.operator()
                mentioned.append(group)
                self.visit(value, (group, 0))
                return "a pattern"
            case tuple():
                return tuple(self._shape(part, mentioned, as_it_is) for part in value)
        if not dataclasses.is_dataclass(value):
            return value
        as_it_is = as_it_is or (isinstance(value, Expression) and is_what_it_does(value))
        return (
            type(value).__name__,
            *(
                self._shape(getattr(value, f.name), mentioned, as_it_is)
                for f in dataclasses.fields(value)
                if f.compare
            ),
        )


class _Order:
    """Puts patterns in the order that the numbers of their nodes say."""

    def __init__(self, graph: _QueryGraph, numbers: list[int]) -> None:
        self._graph = graph
        self._numbers = numbers

    def of(self, node: Node) -> Node:
        """The pattern in order, the patterns of EXISTS in it included."""
        if isinstance(node, Bgp):
            return dataclasses.replace(node, patterns=tuple(sorted(node.patterns, key=self._place)))
        if isinstance(node, Join):
            return reduce(Join, map(self.of, sorted(_parts(node), key=self._group_place)))
        if isinstance(node, Values) and has_any_cells(node):
            return self._values(node)
        node = node.replace_children(tuple(map(self.of, node.children)))
        return map_expressions(node, lambda e: e.transform(self._in_expression))

    def _in_expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Exists):
            return dataclasses.replace(expression, pattern=self.of(expression.pattern))
        return expression

    def _values(self, node: Values) -> Values:
        numbers = self._numbers
        of_names = [numbers[self._graph.variable(name)] for name in node.names]
        columns = sorted(range(len(of_names)), key=of_names.__getitem__)
        of_rows = [numbers[row] for row in self._graph.of_rows[id(node)]]
        rows = (node.rows[place] for place in sorted(range(len(of_rows)), key=of_rows.__getitem__))
        return Values(
            tuple(node.names[place] for place in columns),
            tuple(tuple(row[place] for place in columns) for row in rows),
            position=node.position,
        )

    def _place(self, triple: TriplePattern) -> tuple[str, list[int]]:
        nodes = [self._numbers[node] for node in self._graph.triple_nodes(triple)]
        return repr(self._graph.triple_shape(triple)), nodes

    def _group_place(self, part: Node) -> int:
        node = self._graph.of_operators.get(id(part))
        return -1 if node is None else self._numbers[node]  # triple patterns come first
