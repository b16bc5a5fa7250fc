"""Random patterns and data for the rewriting rules: few names, so that most joins find something."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

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
from sparkext.language.nodes import Node, TriplePattern, Variable
from static_data.terms import Iri, Term
from tests.sparkext.rewriting.algebra_evaluation import Triples, World, integer

VARIABLES = tuple(Variable(name) for name in "abc")
NAMES = (Iri("http://e/g1"), Iri("http://e/g2"))
PREDICATES = (Iri("http://e/p"), Iri("http://e/q"))
TERMS: tuple[Term, ...] = (Iri("http://e/x"), integer(0), integer(1), integer(2))


class RandomPatterns:
    """Makes the same patterns and worlds for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def triples(self) -> Triples:
        one = self.random.choice
        return frozenset((one(TERMS), one(PREDICATES), one(TERMS)) for _ in range(6))

    def dataset(self) -> World:
        return World(self.triples(), {name: self.triples() for name in NAMES})

    def world(self) -> World:
        outer = self.dataset()
        return World(outer.default, outer.named, {name: self.dataset() for name in NAMES})

    def variable(self) -> Variable:
        return self.random.choice(VARIABLES)

    def name(self) -> Iri | Variable:
        return self.random.choice((*NAMES, self.variable(), Variable("g")))

    def bgp(self) -> Node:
        one = self.random.choice
        ends = [self.variable() if self.random.random() < 0.8 else one(TERMS) for _ in range(2)]
        return Bgp((TriplePattern(ends[0], one(PREDICATES), ends[1]),))

    def values(self) -> Node:
        names = tuple(self.random.sample(VARIABLES, 2))
        cells = (*TERMS, None, None)
        rows = tuple(tuple(self.random.choice(cells) for _ in names) for _ in range(3))
        return Values(names, rows)

    def pattern(self, depth: int = 2) -> Node:
        if depth == 0:
            return self.values() if self.random.random() < 0.25 else self.bgp()
        makers: tuple[Callable[[int], Node], ...] = (
            lambda d: self.pattern(0),
            lambda d: Join(self.pattern(d), self.pattern(d)),
            lambda d: Union(self.pattern(d), self.pattern(d)),
            self.left_join,
            lambda d: Filter(self.condition(), self.pattern(d)),
            self.extend,
            lambda d: Graph(self.name(), self.pattern(d)),
            lambda d: Window(self.name(), self.pattern(d)),
            lambda d: Minus(self.pattern(d), self.pattern(d)),
            self.sub_select,
        )
        return self.random.choice(makers)(depth - 1)

    def left_join(self, depth: int) -> Node:
        condition = self.condition() if self.random.random() < 0.4 else None
        return LeftJoin(self.pattern(depth), self.pattern(depth), condition)

    def extend(self, depth: int) -> Node:
        return self.bind(self.pattern(depth))

    def bind(self, inner: Node) -> Node:
        """A BIND of a variable that the pattern does not have, as the language demands."""
        names = (*VARIABLES, *(Variable(name) for name in "gvwxyz"))
        free = [v for v in names if v not in inner.variables]
        return Extend(inner, self.random.choice(free[:3]), self.value())

    def sub_select(self, depth: int) -> Node:
        inner = self.pattern(depth)
        names = tuple(v for v in inner.variables if self.random.random() < 0.6)
        projected: Node = Project(inner, names)
        return ToMultiset(Distinct(projected) if self.random.random() < 0.3 else projected)

    def value(self) -> Expression:
        reference = VariableReference(self.variable())
        return self.random.choice((reference, Arithmetic(reference, Constant(integer(1)), "+")))

    def condition(self, depth: int = 1) -> Expression:
        kind = self.random.randrange(8 if depth else 5)
        if kind < 3:
            right = self.random.choice((Constant(self.random.choice(TERMS)), self.value()))
            return Comparison(self.value(), right, self.random.choice(("=", "!=", "<", ">")))
        if kind == 3:
            return BuiltinCall("BOUND", (VariableReference(self.variable()),))
        if kind == 4:
            return Exists(self.bgp(), negated=self.random.random() < 0.5)
        if kind == 5:
            return Not(self.condition(0))
        both = (self.condition(0), self.condition(0))
        return And(*both) if kind == 6 else Or(*both)
