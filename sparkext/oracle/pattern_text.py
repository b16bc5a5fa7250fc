"""Algebra written back as SPARQL 1.1 over the graphs of one instant.

Each node becomes the content of one group, so the brackets say what is evaluated before what and nothing is left to a
reader's rules of scope. Where the standard and Oxigraph part, the definition is spelled out:

- the active graph is written at every basic graph pattern, so an empty pattern reads no graph at all;
- `GRAPH ?g` is the union over the names, joined with the name (SPARQL 1.1, section 18.6): Oxigraph binds ?g before what
  is inside, and leaves it unbound around what reads no triple;
- paths are taken apart as section 18.4 does, and a path of length zero from a constant is there whether or not the
  graph has the term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from sparkext.errors import CheckError
from sparkext.language import paths
from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
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
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import Expression, VariableReference
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern, Variable
from sparkext.oracle.expression_text import expression_text, term_text, variable_text
from sparkext.oracle.quoted_triples import HELPER_GRAPH, OBJECT, OWN, PREDICATE, SUBJECT
from sparkext.oracle.sightings import windows_read
from static_data.terms import Literal

NAMES_GRAPH = f"{OWN}names"
IS_NAMED = f"{OWN}is-named"
IS_ROW = f"{OWN}is-row"
NOTHING = "FILTER(false)"


@dataclass(frozen=True)
class GraphSet:
    """An RDF dataset as graphs of the store: those merged as the default graph, and the named ones by their name.

    Several default graphs are matched as a bag: what two of them hold is there twice. Names are N-Triples texts, graphs
    IRIs without brackets. `others` are named graphs that GRAPH finds by a constant name only. `shows` are the numbers
    of the windows whose elements it has.
    """

    default: tuple[str, ...]
    named: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    shows: tuple[int, ...] = ()


@dataclass(frozen=True)
class RowsGraph:
    """Solutions as a graph of the store: each row a node, with a predicate for each variable that it binds.

    `shapes` are IRIs that tell which variables a row binds, as objects of IS_ROW, with these variables' predicates.
    """

    graph: str
    shapes: Mapping[str, Mapping[Variable, str]]


@dataclass(frozen=True)
class Graphs:
    """What a query sees at one instant: its dataset, one of every named window, and what its MATCHes find."""

    dataset: GraphSet
    windows: Mapping[str, GraphSet] = field(default_factory=dict)
    matched: Callable[[Match], RowsGraph] | None = None


@dataclass(frozen=True)
class _Place:
    """Where a pattern stands: its dataset and, of that, the active graph."""

    dataset: GraphSet
    active: tuple[str, ...]


def select_text(node: Node, variables: tuple[Variable, ...], graphs: Graphs) -> str:
    """The query whose solutions are those of the node, with these columns in this order.

    >>> from sparkext.language import parse_query
    >>> query = parse_query("SELECT ?s { ?s <http://e/p> 1 }")
    >>> print(select_text(query.pattern, query.variables, Graphs(GraphSet(("http://e/g",)))))
    SELECT ?u_s WHERE { GRAPH <http://e/g> { ?u_s <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> . } }
    """
    writer = _Writer(graphs)
    return writer.select(node, _Place(graphs.dataset, graphs.dataset.default), variables)


class _Writer:
    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._numbers = count()

    def _fresh(self) -> Variable:
        # A user's variable begins with u_, one of the translation with h_.
        return Variable(f"_:oracle{next(self._numbers)}")

    def select(
        self, node: Node, place: _Place, variables: tuple[Variable, ...] | None = None
    ) -> str:
        """SELECT with the solution modifiers at the top of the node, which belong to one level."""
        tail = ""
        distinct = ""
        columns = node.variables if variables is None else variables
        if isinstance(node, Slice):
            tail = f" OFFSET {node.offset}" + ("" if node.limit is None else f" LIMIT {node.limit}")
            node = node.input
        if isinstance(node, Distinct | Reduced):
            # Which repetitions REDUCED drops is not said; dropping none is right.
            distinct = "DISTINCT " if isinstance(node, Distinct) else ""
            node = node.input
        if isinstance(node, Project):
            node = node.input
        if isinstance(node, OrderBy):
            keys = " ".join(
                f"{'DESC' if key.descending else 'ASC'}({self._expression(key.expression, place, node.input)})"
                for key in node.keys
            )
            tail = f" ORDER BY {keys}{tail}"
            node = node.input
        shown = " ".join(map(variable_text, columns)) or variable_text(self._fresh())
        return f"SELECT {distinct}{shown} WHERE {{ {self.pattern(node, place)} }}{tail}"

    def _group(self, node: Node, place: _Place) -> str:
        return f"{{ {self.pattern(node, place)} }}"

    def _expression(self, expression: Expression, place: _Place, *group: Node) -> str:
        """An expression over the solutions of what its group has."""
        windows = dict.fromkeys(place.dataset.shows)
        if place.dataset is self._graphs.dataset:
            named = {name: shown.shows for name, shown in self._graphs.windows.items()}
            own = place.dataset.shows if place.active == place.dataset.default else ()
            windows = (
                dict.fromkeys(n for p in group for n in windows_read(p, own, named)) or windows
            )
        return expression_text(expression, lambda node: self.pattern(node, place), windows)

    def pattern(self, node: Node, place: _Place) -> str:
        """The content of the group that stands for a node."""
        match node:
            case Bgp():
                return self._bgp(node, place)
            case Path():
                return self._path(node.subject, node.path, node.object, place)
            case Values():
                return _values(node)
            case Join():
                return f"{self._group(node.left, place)} {self._group(node.right, place)}"
            case LeftJoin():
                condition = ""
                if node.condition is not None:
                    condition = (
                        f" FILTER({self._expression(node.condition, place, *node.children)})"
                    )
                right = f"{{ {self._group(node.right, place)}{condition} }}"
                return f"{self._group(node.left, place)} OPTIONAL {right}"
            case Union():
                return f"{self._group(node.left, place)} UNION {self._group(node.right, place)}"
            case Minus():
                return f"{self._group(node.left, place)} MINUS {self._group(node.right, place)}"
            case Filter():
                condition = self._expression(node.condition, place, node.input)
                return f"{self._group(node.input, place)} FILTER({condition})"
            case Extend():
                value = self._expression(node.expression, place, node.input)
                target = variable_text(node.variable)
                return f"{self._group(node.input, place)} BIND({value} AS {target})"
            case Graph():
                return self._graph(node, place)
            case Window():
                return self._window(node)
            case Match():
                if self._graphs.matched is None:
                    raise CheckError("an event cannot be defined by a MATCH")
                return rows_text(self._graphs.matched(node), variable_text(self._fresh()))
            case Group():
                return self._grouping(node, place)
            case ToMultiset():
                return self.pattern(node.input, place)
            case Project() | Distinct() | Reduced() | OrderBy() | Slice():
                return f"{{ {self.select(node, place)} }}"
        raise CheckError(f"the oracle does not know {type(node).__name__.upper()}")

    # ---- graphs and windows

    def _graph(self, node: Graph, place: _Place) -> str:
        named = place.dataset.named
        if not isinstance(node.name, Variable):
            name = node.name.n3()
            graph = named.get(name, place.dataset.others.get(name))
            if graph is None:
                return NOTHING
            return self.pattern(node.input, replace(place, active=(graph,)))
        return self._over_names(
            node.name,
            [(g, self._group(node.input, replace(place, active=(g,)))) for g in named.values()],
        )

    def _window(self, node: Window) -> str:
        windows = self._graphs.windows
        if not isinstance(node.name, Variable):
            if node.name.n3() not in windows:
                raise CheckError(f"no window {node.name.n3()} can be read under this profile")
            inside = windows[node.name.n3()]
            return self.pattern(node.input, _Place(inside, inside.default))
        parts = [
            (window_iri(name), self._group(node.input, _Place(inside, inside.default)))
            for name, inside in windows.items()
        ]
        return self._over_names(node.name, parts)

    def _over_names(self, variable: Variable, parts: list[tuple[str, str]]) -> str:
        """The union of the parts, each joined with the name of its graph."""
        named = [
            f"{{ {part} GRAPH <{NAMES_GRAPH}> {{ <{graph}> <{IS_NAMED}> {variable_text(variable)} }} }}"
            for graph, part in parts
        ]
        return " UNION ".join(named) or NOTHING

    # ---- triples and paths

    def _bgp(self, node: Bgp, place: _Place) -> str:
        return " ".join(
            self._triple((pattern.subject, pattern.predicate, pattern.object), place)
            for pattern in node.patterns
        )

    def _triple(self, triple: tuple[PatternTerm, PatternTerm, PatternTerm], place: _Place) -> str:
        if isinstance(triple[0], Literal):
            return NOTHING  # no RDF triple has one, and Oxigraph reads none
        helpers: list[str] = []
        statement = " ".join(self._term(term, helpers) for term in triple)
        parts = [f"GRAPH <{graph}> {{ {statement} . }}" for graph in place.active]
        if len(parts) == 1:
            matched = parts[0]
        else:
            matched = f"{{ {' UNION '.join(f'{{ {part} }}' for part in parts) or NOTHING} }}"
        if not helpers:
            return matched
        if NOTHING in helpers:
            return NOTHING
        return f"{matched} GRAPH <{HELPER_GRAPH}> {{ {' '.join(helpers)} }}"

    def _term(self, term: PatternTerm, helpers: list[str]) -> str:
        """A term of a pattern; what a quoted pattern asks of its parts is added to `helpers`."""
        if isinstance(term, Variable):
            return variable_text(term)
        if not isinstance(term, QuotedPattern):
            return term_text(term)
        if isinstance(term.subject, Literal):
            helpers.append(NOTHING)
        name = variable_text(self._fresh())
        parts = {SUBJECT: term.subject, PREDICATE: term.predicate, OBJECT: term.object}
        for predicate, part in parts.items():
            helpers.append(f"{name} <{predicate}> {self._term(part, helpers)} .")
        return name

    def _path(
        self, subject: PatternTerm, path: paths.PathExpression, object_: PatternTerm, place: _Place
    ) -> str:
        match path:
            case paths.Link():
                return self._triple((subject, path.predicate, object_), place)
            case paths.Inverse():
                return self._path(object_, path.path, subject, place)
            case paths.Sequence():
                middle = self._fresh()
                left = self._path(subject, path.left, middle, place)
                right = self._path(middle, path.right, object_, place)
                return f"{{ {left} }} {{ {right} }}"
            case paths.Alternative():
                left = self._path(subject, path.left, object_, place)
                right = self._path(subject, path.right, object_, place)
                return f"{{ {left} }} UNION {{ {right} }}"
            case paths.NegatedSet():
                predicate = self._fresh()
                name = variable_text(predicate)
                step = self._triple((subject, predicate, object_), place)
                excluded = ", ".join(iri.n3() for iri in path.predicates)
                return f"{{ {step} }} FILTER({name} NOT IN ({excluded}))"
        return self._repeated(subject, path, object_, place)

    def _repeated(
        self, subject: PatternTerm, path: paths.PathExpression, object_: PatternTerm, place: _Place
    ) -> str:
        """`*`, `+` and `?`: sets of pairs, to which a constant end adds itself at length zero."""
        helpers: list[str] = []
        statement = (
            f"{self._term(subject, helpers)} {_path_text(path)} {self._term(object_, helpers)}"
        )
        if helpers or len(place.active) != 1:
            raise CheckError(
                "the oracle does not know *, + and ? from quoted triple patterns, nor over windows that are bags"
            )
        ends = [end for end in (subject, object_) if isinstance(end, Variable)]
        names = " ".join(variable_text(end) for end in dict.fromkeys(ends))
        walked = f"GRAPH <{place.active[0]}> {{ {statement} }}"
        if isinstance(subject, Literal):
            walked = NOTHING
        zero = ""
        if not isinstance(path, paths.OneOrMore) and len(ends) < 2:
            constants = [term_text(e) for e in (subject, object_) if not isinstance(e, Variable)]  # type: ignore[arg-type]
            if ends:
                zero = f" UNION {{ VALUES {names} {{ {constants[0]} }} }}"
            elif constants[0] == constants[1]:
                zero = " UNION { }"
        shown = names or variable_text(self._fresh())
        return f"{{ SELECT DISTINCT {shown} WHERE {{ {{ {walked} }}{zero} }} }}"

    # ---- groups

    def _grouping(self, node: Group, place: _Place) -> str:
        content = self._group(node.input, place)
        if any(a.argument is None and a.distinct for _, a in node.aggregates):
            # What is written as a variable for a blank node or inside a path is none of a solution's.
            content = f"{{ {self.select(node.input, place, _written(node.input))} }}"
        for name, value in node.keys:
            if value != VariableReference(name):
                content = f"{{ {content} BIND({self._expression(value, place, node.input)} AS {variable_text(name)}) }}"
        keys = [variable_text(name) for name, _ in node.keys]
        aggregates = [
            f"({self._expression(aggregate, place, node.input)} AS {variable_text(name)})"
            for name, aggregate in node.aggregates
        ]
        by = f" GROUP BY {' '.join(keys)}" if keys else ""
        return f"{{ SELECT {' '.join([*keys, *aggregates])} WHERE {content}{by} }}"


def rows_text(rows: RowsGraph, row: str) -> str:
    """The pattern that these solutions are the solutions of; `row` is a variable that nothing else uses.

    VALUES could not have blank nodes. What is unbound is left out, rather than optional: EXISTS puts terms in the
    place of variables.
    """
    parts = []
    for shape, columns in rows.shapes.items():
        cells = "".join(f" ; <{c}> {variable_text(v)}" for v, c in columns.items())
        parts.append(f"{{ GRAPH <{rows.graph}> {{ {row} <{IS_ROW}> <{shape}>{cells} . }} }}")
    return " UNION ".join(parts) or NOTHING


def _written(node: Node) -> tuple[Variable, ...]:
    return tuple(variable for variable in node.variables if not variable.hidden)


def window_iri(name: str) -> str:
    """The node of the names graph that stands for a window of this name (N-Triples text)."""
    return f"{OWN}window:{name[1:-1]}"


def _values(node: Values) -> str:
    names = " ".join(map(variable_text, node.names))
    rows = " ".join(
        f"({' '.join('UNDEF' if cell is None else term_text(cell) for cell in row)})"
        for row in node.rows
    )
    return f"VALUES ({names}) {{ {rows} }}"


def _path_text(path: paths.PathExpression) -> str:
    match path:
        case paths.Link():
            return path.predicate.n3()
        case paths.Inverse():
            return f"(^{_path_text(path.path)})"
        case paths.Sequence():
            return f"({_path_text(path.left)}/{_path_text(path.right)})"
        case paths.Alternative():
            return f"({_path_text(path.left)}|{_path_text(path.right)})"
        case paths.ZeroOrMore():
            return f"({_path_text(path.path)}*)"
        case paths.OneOrMore():
            return f"({_path_text(path.path)}+)"
        case paths.ZeroOrOne():
            return f"({_path_text(path.path)}?)"
        case paths.NegatedSet():
            return f"(!({'|'.join(iri.n3() for iri in path.predicates)}))"
    raise CheckError(f"the oracle does not know the path {type(path).__name__}")
