"""Parse tree of a group graph pattern to algebra (SPARQL 1.1, sections 18.2.2.2 to 18.2.2.8)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from lark import Token, Tree

from sparkext.language.algebra import (
    Bgp,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Path,
    Service,
    ToMultiset,
    Union,
    Values,
    Window,
)
from sparkext.language.expressions import Expression, conjunction
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.language.query import WindowDeclaration
from sparkext.language.translation.iris import Prologue
from sparkext.language.translation.translate_dialects import stream_window_name
from sparkext.language.translation.translate_events import EventTranslation
from sparkext.language.translation.translate_streams import translate_stream_window
from sparkext.language.translation.translate_terms import (
    ParseNode,
    fail,
    kind_of,
    position_of,
    trees,
    variable,
)
from sparkext.language.translation.translate_triples import TripleOrPath
from static_data.files.rdf_version import RdfVersion
from static_data.terms import Iri, Term


def simplify(pattern: Node) -> Node:
    """Drop joins with the empty pattern (SPARQL 1.1, section 18.2.2.8).

    >>> simplify(Join(Bgp(), Union(Bgp(), Bgp())))
    Union(left=Bgp(patterns=()), right=Bgp(patterns=()))
    """

    def drop(node: Node) -> Node:
        if isinstance(node, Join):
            if node.left == Bgp():
                return node.right
            if node.right == Bgp():
                return node.left
        return node

    return pattern.transform(drop)


class PatternTranslation(EventTranslation):
    """Groups and everything that can stand in one; sub-selects call back into the layer above."""

    def __init__(self, prologue: Prologue, rdf: RdfVersion) -> None:
        super().__init__(prologue, rdf)
        # Which pattern around reads a window, so that no other can stand in it.
        self._inside: str | None = None
        # Windows of other dialects: those that GRAPH reads, by graph name, and those within patterns.
        self.windows_as_graphs: dict[Iri | Variable, Iri] = {}
        self.stream_windows: list[WindowDeclaration] = []

    @abstractmethod
    def sub_select(self, tree: Tree[Token]) -> Node:
        """Translate a sub-select."""

    def exists_pattern(self, tree: Tree[Token]) -> Node:
        """Translate the group of an EXISTS, simplified, since the algebra around it does not look
        inside.
        """
        return simplify(self.group(tree))

    def group(self, tree: ParseNode) -> Node:
        """Translate `{ ... }`, without the last simplification."""
        assert isinstance(tree, Tree)
        outer_scope = self.basic_graph_pattern
        self.start_basic_graph_pattern()
        with self.aggregates_refused():
            first = tree.children[0] if tree.children else None
            if first is not None and kind_of(first) == "sub_select":
                assert isinstance(first, Tree)
                result: Node = ToMultiset(self.sub_select(first), position=position_of(first))
            else:
                result = self._elements(tree)
        self.basic_graph_pattern = outer_scope
        return result

    def _elements(self, tree: Tree[Token]) -> Node:
        filters: list[Expression] = []
        result: Node = Bgp()
        pending: list[TripleOrPath] = []
        for element in trees(tree):
            kind = kind_of(element)
            if kind == "triples_block":
                pending += self.triples(element)
            elif kind == "filter":
                # Filters hold for the whole group, and do not end a basic graph pattern (section
                # 5.2.2).
                filters.append(self.expression(element.children[0]))
            else:
                result = self._join_triples(result, pending)
                pending = []
                result = self._element(result, element)
                self.start_basic_graph_pattern()
        result = self._join_triples(result, pending)
        if not filters:
            return result
        return Filter(conjunction(filters), result, position=filters[0].position)

    def _join_triples(self, result: Node, pending: Sequence[TripleOrPath]) -> Node:
        """Join adjacent triple patterns as one basic graph pattern; a path stands alone (section
        18.2.2.5).
        """
        patterns: list[TriplePattern] = []

        def join_patterns(left: Node) -> Node:
            if not patterns:
                return left
            joined = Join(left, Bgp(tuple(patterns), position=patterns[0].position))
            patterns.clear()
            return joined

        for item in pending:
            if isinstance(item, Path):
                result = Join(join_patterns(result), item)
            else:
                patterns.append(item)
        return join_patterns(result)

    def _element(self, before: Node, tree: Tree[Token]) -> Node:
        position = position_of(tree)
        match kind_of(tree):
            case "optional":
                right = self.group(tree.children[0])
                if isinstance(right, Filter):
                    return LeftJoin(before, right.input, right.condition, position=position)
                return LeftJoin(before, right, position=position)
            case "minus":
                return Minus(before, self.group(tree.children[0]), position=position)
            case "bind":
                return self._bind(before, tree)
            case "group_or_union":
                first, *others = tree.children
                union = self.group(first)
                for other in others:
                    union = Union(union, self.group(other), position=position)
                return Join(before, union, position=position)
            case "graph":
                inner = self._graph(tree)
            case "window":
                inner = self._window(tree)
            case "stream_pattern":
                inner = self._in_window(self._stream_window(tree), tree)
            case "match":
                inner = self._match(before, tree)
            case "service":
                *silent, name, pattern = tree.children
                inner = Service(
                    self._name(name), self.group(pattern), bool(silent), position=position
                )
            case _:
                inner = self.values(tree)
        return Join(before, inner, position=position)

    def _name(self, tree: ParseNode) -> Iri | Variable:
        return variable(tree) if isinstance(tree, Token) else self.iri(tree)

    def _bind(self, before: Node, tree: Tree[Token]) -> Node:
        expression, name = tree.children
        target = variable(name)
        if target in before.variables:
            fail(name, f"{target} is already used in this group and cannot be bound again by BIND")
        return Extend(before, target, self.expression(expression), position=position_of(tree))

    def _window(self, tree: Tree[Token]) -> Node:
        name_tree, _ = tree.children
        name = self._name(name_tree)
        if isinstance(name, Iri):
            self.check_window(name_tree, name)
        return self._in_window(name, tree)

    def _in_window(self, name: Iri | Variable, tree: Tree[Token]) -> Node:
        if self._inside is not None:
            another = "another WINDOW" if self._inside == "WINDOW" else "an EVENT"
            fail(tree, f"WINDOW cannot stand inside {another}")
        inner = self._read_from_window(tree.children[-1], "WINDOW")
        return Window(name, inner, position=position_of(tree))

    def _read_from_window(self, tree: ParseNode, reader: str) -> Node:
        self._inside = reader
        inner = self.group(tree)
        self._inside = None
        return inner

    def event_group(self, tree: ParseNode) -> Node:
        """Translate the group of an event, simplified, and read from its window alone."""
        return simplify(self._read_from_window(tree, "EVENT"))

    def _match(self, before: Node, tree: Tree[Token]) -> Node:
        if self._inside == "EVENT":
            fail(tree, "an event cannot be defined by a MATCH")
        if self._inside is not None:
            fail(tree, "MATCH cannot stand inside WINDOW: its events name their own windows")
        return self.match(before, tree)

    def _graph(self, tree: Tree[Token]) -> Node:
        name_tree, pattern = tree.children
        name = self._name(name_tree)
        window = self.windows_as_graphs.get(name)
        if window is not None:
            return self._in_window(window, tree)
        return Graph(name, self.group(pattern), position=position_of(tree))

    def _stream_window(self, tree: Tree[Token]) -> Iri:
        """The name of the window of `STREAM <s> [..]`; the same one written twice is one window."""
        window = translate_stream_window(self, tree)
        for number, known in enumerate(self.stream_windows, 1):
            if replace(known, name=None) == window:
                return stream_window_name(number)
        name = stream_window_name(len(self.stream_windows) + 1)
        self.stream_windows.append(replace(window, name=name))
        return name

    def values(self, tree: Tree[Token]) -> Values:
        """Translate the data block of VALUES."""
        position = position_of(tree)
        (block,) = trees(tree)
        if kind_of(block) == "values_one":
            name, *cells = block.children
            return Values(
                (variable(name),), tuple((self._value(cell),) for cell in cells), position=position
            )
        header, *row_trees = trees(block)
        names = tuple(variable(token) for token in header.children if kind_of(token) == "VAR")
        for token in header.children:
            if kind_of(token) == "VAR" and names.count(variable(token)) > 1:
                fail(token, f"{variable(token)} stands twice in this VALUES")
        rows = []
        for row_tree in row_trees:
            row = tuple(self._value(cell) for cell in trees(row_tree))
            if len(row) != len(names):
                fail(row_tree, f"this row has {len(row)} values for {len(names)} variables")
            rows.append(row)
        return Values(names, tuple(rows), position=position)

    def _value(self, tree: ParseNode) -> Term | None:
        assert isinstance(tree, Tree)
        match kind_of(tree):
            case "undef":
                return None
            case "data_triple":
                return self.data_triple(tree)
        return self.constant(tree)
