"""Rewriting of property paths: joins, unions and filters of patterns, as far as a path is not a search."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import count

from sparkext.language.algebra import Bgp, Filter, Join, Path, Union
from sparkext.language.expressions import (
    And,
    BuiltinCall,
    Constant,
    Expression,
    Not,
    VariableReference,
)
from sparkext.language.nodes import Node, PatternTerm, TriplePattern, Variable
from sparkext.language.paths import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    PathExpression,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from sparkext.r2r.patterns.inner_patterns import transform_everywhere

Fresh = Callable[[], Variable]


def expand_paths(pattern: Node) -> Node:
    """The same pattern whose paths are searches only: `p?`, `p*` and `p+` (SPARQL 1.1, section 18.4).

    Before: ``Path(?x, a / (b | !c), ?y)``; after, with a new variable for the middle and for the predicate:
    ``Join(Bgp(?x a ?m), Union(Bgp(?m b ?y), Filter(!sameTerm(?p, c), Bgp(?m ?p ?y))))``.

    >>> from static_data.terms import Iri
    >>> p, x, y = Link(Iri("http://e/p")), Variable("x"), Variable("y")
    >>> expand_paths(Path(x, Inverse(p), y)).patterns[0].subject.name
    'y'
    >>> print(type(expand_paths(Path(x, ZeroOrOne(OneOrMore(p)), y)).path).__name__)
    ZeroOrMore
    """
    numbers = count()
    return transform_everywhere(
        pattern,
        lambda node: (
            path_pattern(node.subject, node.path, node.object, numbered(numbers), node)
            if isinstance(node, Path)
            else node
        ),
    )


def numbered(numbers: count[int], prefix: str = "path") -> Fresh:
    """Makes variables that no query can name."""
    return lambda: Variable(f"_:{prefix}{next(numbers)}")


def path_pattern(
    subject: PatternTerm, path: PathExpression, object_: PatternTerm, fresh: Fresh, written: Node
) -> Node:
    """One path between two ends as a pattern; `written` is where it stands in the text."""
    place = written.position
    match path:
        case Link(predicate):
            return Bgp((TriplePattern(subject, predicate, object_, place),), position=place)
        case Inverse(inner):
            return path_pattern(object_, inner, subject, fresh, written)
        case Sequence(left, right):
            middle = fresh()
            return Join(
                path_pattern(subject, left, middle, fresh, written),
                path_pattern(middle, right, object_, fresh, written),
                position=place,
            )
        case Alternative(left, right):
            return Union(
                path_pattern(subject, left, object_, fresh, written),
                path_pattern(subject, right, object_, fresh, written),
                position=place,
            )
        case NegatedSet(predicates):
            any_predicate = fresh()
            refused: list[Expression] = [
                Not(BuiltinCall("SAMETERM", (VariableReference(any_predicate), Constant(iri))))
                for iri in predicates
            ]
            step = Bgp((TriplePattern(subject, any_predicate, object_, place),), position=place)
            return Filter(reduce(And, refused), step, position=place) if refused else step
        case _:
            return Path(subject, _simple(path), object_, position=place)


def _simple(path: PathExpression) -> PathExpression:
    """A search of searches as one: (p+)? is p*, (p?)+ is p*, and so on."""
    if not isinstance(path, ZeroOrOne | ZeroOrMore | OneOrMore):
        return path
    inner = _simple(path.path)
    if not isinstance(inner, ZeroOrOne | ZeroOrMore | OneOrMore):
        return path
    zero = not (isinstance(path, OneOrMore) and isinstance(inner, OneOrMore))
    many = not (isinstance(path, ZeroOrOne) and isinstance(inner, ZeroOrOne))
    made = (ZeroOrMore if zero else OneOrMore) if many else ZeroOrOne
    return made(inner.path)
