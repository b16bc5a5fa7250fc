"""The algebra evaluated in the plainest way, to see whether two patterns mean the same.

Definitions 11 to 16 of the uncertainty paper (with its left join, difference and errors), read as sets of solutions or
as bags. Only what the rewriting rules speak of is here; terms are IRIs and integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Project,
    ToMultiset,
    Union,
    Values,
    Window,
)
from sparkext.language.expressions import (
    And,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Constant,
    Exists,
    Expression,
    Not,
    Or,
    VariableReference,
)
from sparkext.language.nodes import Node, PatternTerm, TriplePattern, Variable
from static_data.terms import XSD_BOOLEAN, XSD_INTEGER, Iri, Literal, Term

Solution = frozenset[tuple[Variable, Term]]
Solutions = Counter[Solution]
Triples = frozenset[tuple[Term, Term, Term]]


class ExpressionError(Exception):
    """SPARQL's error value."""


@dataclass(frozen=True)
class World:
    """A dataset, and the datasets that windows hold."""

    default: Triples = frozenset()
    named: Mapping[Iri, Triples] = field(default_factory=dict)
    windows: Mapping[Iri, World] = field(default_factory=dict)


def integer(value: int) -> Literal:
    return Literal(str(value), XSD_INTEGER)


class Evaluation:
    """Evaluates patterns over one world; with `bag` False, every operator's result is a set."""

    def __init__(self, world: World, bag: bool) -> None:
        self.world = world
        self.bag = bag

    def solutions(self, node: Node) -> Solutions:
        return self._eval(node, self.world, self.world.default)

    def _eval(self, node: Node, world: World, graph: Triples) -> Solutions:
        found = self._operator(node, world, graph)
        return found if self.bag else Counter(dict.fromkeys(found, 1))

    def _operator(self, node: Node, world: World, graph: Triples) -> Solutions:
        match node:
            case Bgp():
                found: Solutions = Counter([frozenset()])
                for pattern in node.patterns:
                    found = _join(found, _matches(pattern, graph))
                return found
            case Values():
                rows = (zip(node.names, row, strict=True) for row in node.rows)
                return Counter(frozenset((n, c) for n, c in row if c is not None) for row in rows)
            case Join():
                return _join(
                    self._eval(node.left, world, graph), self._eval(node.right, world, graph)
                )
            case LeftJoin():
                return self._left_join(node, world, graph)
            case Union():
                left = self._eval(node.left, world, graph)
                return left + self._eval(node.right, world, graph)
            case Minus():
                right = self._eval(node.right, world, graph)
                left = self._eval(node.left, world, graph)
                return Counter(
                    {s: n for s, n in left.items() if not any(_removes(s, r) for r in right)}
                )
            case Filter():
                inner = self._eval(node.input, world, graph)
                return Counter(
                    {s: n for s, n in inner.items() if self.true(node.condition, s, world, graph)}
                )
            case Extend():
                return self._extend(node, world, graph)
            case Graph():
                named = world.named
                names = named if isinstance(node.name, Variable) else {node.name} & named.keys()
                parts = {u: self._eval(node.input, world, named[u]) for u in names}
                return _with_name(node.name, parts)
            case Window():
                windows = world.windows
                names = windows if isinstance(node.name, Variable) else {node.name} & windows.keys()
                parts = {u: self._eval(node.input, windows[u], windows[u].default) for u in names}
                return _with_name(node.name, parts)
            case Project():
                out: Solutions = Counter()
                for solution, times in self._eval(node.input, world, graph).items():
                    out[frozenset(pair for pair in solution if pair[0] in node.names)] += times
                return out
            case Distinct():
                return Counter(dict.fromkeys(self._eval(node.input, world, graph), 1))
            case ToMultiset():
                return self._eval(node.input, world, graph)
        raise NotImplementedError(type(node))

    def _left_join(self, node: LeftJoin, world: World, graph: Triples) -> Solutions:
        right = self._eval(node.right, world, graph)
        out: Solutions = Counter()
        for solution, times in self._eval(node.left, world, graph).items():
            extended = {
                merged: times * n
                for merged, n in _join(Counter([solution]), right).items()
                if node.condition is None or self.true(node.condition, merged, world, graph)
            }
            for merged, n in (extended or {solution: times}).items():
                out[merged] += n
        return out

    def _extend(self, node: Extend, world: World, graph: Triples) -> Solutions:
        out: Solutions = Counter()
        for solution, times in self._eval(node.input, world, graph).items():
            assert node.variable not in dict(solution), (
                "a BIND of a variable in scope is no pattern"
            )
            try:
                value = self.value(node.expression, solution, world, graph)
                out[solution | {(node.variable, value)}] += times
            except ExpressionError:
                out[solution] += times
        return out

    def true(self, condition: Expression, solution: Solution, world: World, graph: Triples) -> bool:
        try:
            return _truth(self.value(condition, solution, world, graph))
        except ExpressionError:
            return False

    def value(self, e: Expression, solution: Solution, world: World, graph: Triples) -> Term:
        bound = dict(solution)
        match e:
            case VariableReference(variable):
                if variable not in bound:
                    raise ExpressionError
                return bound[variable]
            case Constant(term):
                return term
            case BuiltinCall("BOUND", (VariableReference(variable),)):
                return _boolean(variable in bound)
            case Exists():
                pattern = _substitute(e.pattern, bound)
                return _boolean(bool(self._eval(pattern, world, graph)) != e.negated)
            case Not(operand):
                return _boolean(not _truth(self.value(operand, solution, world, graph)))
            case And() | Or():
                return self._logic(e, solution, world, graph)
        assert isinstance(e, Comparison | Arithmetic)
        left = self.value(e.left, solution, world, graph)
        right = self.value(e.right, solution, world, graph)
        if isinstance(e, Comparison) and e.operator in ("=", "!="):
            return _boolean((left == right) == (e.operator == "="))
        a, b = _number(left), _number(right)
        match e.operator:
            case "<":
                return _boolean(a < b)
            case ">":
                return _boolean(a > b)
            case "+":
                return integer(a + b)
        raise NotImplementedError(e.operator)

    def _logic(self, e: And | Or, solution: Solution, world: World, graph: Triples) -> Term:
        decides = isinstance(e, Or)
        failed = False
        for side in e.children:
            try:
                if _truth(self.value(side, solution, world, graph)) == decides:
                    return _boolean(decides)
            except ExpressionError:
                failed = True
        if failed:
            raise ExpressionError
        return _boolean(not decides)


def _boolean(value: bool) -> Literal:
    return Literal("true" if value else "false", XSD_BOOLEAN)


def _truth(term: Term) -> bool:
    if isinstance(term, Literal):
        return term.lexical not in ("false", "0")
    raise ExpressionError


def _number(term: Term) -> int:
    if isinstance(term, Literal) and term.datatype == XSD_INTEGER:
        return int(term.lexical)
    raise ExpressionError


def _matches(pattern: TriplePattern, graph: Triples) -> Solutions:
    found: Solutions = Counter()
    for triple in graph:
        bound: dict[Variable, Term] = {}
        for wanted, term in zip(pattern, triple, strict=True):
            if isinstance(wanted, Variable):
                if bound.setdefault(wanted, term) != term:
                    break
            elif wanted != term:
                break
        else:
            found[frozenset(bound.items())] += 1
    return found


def _compatible(left: Solution, right: Solution) -> bool:
    one, other = dict(left), dict(right)
    return all(one[v] == other[v] for v in one.keys() & other.keys())


def _removes(solution: Solution, other: Solution) -> bool:
    return _compatible(solution, other) and bool(dict(solution).keys() & dict(other).keys())


def _join(left: Solutions, right: Solutions) -> Solutions:
    out: Solutions = Counter()
    for one, times in left.items():
        for other, n in right.items():
            if _compatible(one, other):
                out[one | other] += times * n
    return out


def _with_name(name: Iri | Variable, parts: Mapping[Iri, Solutions]) -> Solutions:
    out: Solutions = Counter()
    for iri, part in parts.items():
        own: Solutions = Counter([frozenset({(name, iri)} if isinstance(name, Variable) else ())])
        out += _join(part, own)
    return out


def _substitute(pattern: Node, bound: Mapping[Variable, Term]) -> Node:
    """The pattern of an EXISTS with a solution's values put in; basic graph patterns and filters only."""

    def term(wanted: PatternTerm) -> PatternTerm:
        return bound.get(wanted, wanted) if isinstance(wanted, Variable) else wanted

    def expression(part: Expression) -> Expression:
        if isinstance(part, VariableReference) and part.variable in bound:
            return Constant(bound[part.variable])
        return part

    def node(part: Node) -> Node:
        match part:
            case Bgp():
                return Bgp(tuple(TriplePattern(*map(term, p)) for p in part.patterns))
            case Filter():
                return Filter(part.condition.transform(expression), part.input)
        raise NotImplementedError(type(part))

    return pattern.transform(node)
