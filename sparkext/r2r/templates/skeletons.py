"""Constants taken out of a query: queries that differ in them alone have one skeleton.

Spelling, prefixes, names of variables and the order of triples and of joined groups make no difference: variables are
numbered in an order that follows from where they stand, and triple patterns and groups are sorted by it.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from sparkext.language.algebra import Bgp, Join, Slice
from sparkext.language.casts import cast_of
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import (
    BuiltinCall,
    Constant,
    Expression,
    FunctionCall,
    VariableReference,
)
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.language.query import Query
from sparkext.r2r.patterns.inner_patterns import map_expressions, transform_everywhere
from sparkext.r2r.patterns.local_names import rename, variables_of
from static_data.terms import Iri, Literal, QuotedTriple, Term

# A constant argument of these is what they do: another one is another function.
_BY_CONSTANT = {"REGEX", "REPLACE"}
_ROUNDS = 3


@dataclass(frozen=True)
class Skeleton:
    """A query without its constants: in `query`, the variable `hole(n)` stands for `constants[n]`, each another one.

    Its variables have names of ours, in `query.answered` in the order of the query's. OFFSET and LIMIT of the whole
    query are none of it: `offset`, `limit` (None: all).
    """

    query: Query
    constants: tuple[Term, ...]
    offset: int = 0
    limit: int | None = None


def hole(number: int) -> Variable:
    """The variable that stands for a constant; no query can write it, and it is not local to a sub-select."""
    return Variable(f"constant {number}")


def skeleton_of(query: Query) -> Skeleton | None:
    """A query's skeleton; None for those that are answered by themselves: DESCRIBE, MATCH.

    >>> from sparkext.language.translation.parser import parse_query
    >>> one = skeleton_of(parse_query("SELECT ?a { ?a <http://e/p> ?b . ?b <http://e/q> 7 }"))
    >>> two = skeleton_of(parse_query("PREFIX : <http://e/> SELECT ?x { ?y :q 8 . ?x :p ?y }"))
    >>> one.query == two.query, [term.n3() for term in two.constants]
    (True, ['"8"^^<http://www.w3.org/2001/XMLSchema#integer>'])
    """
    if query.form == "DESCRIBE" or any(isinstance(node, Match) for node in query.pattern.walk()):
        return None
    pattern, offset, limit = _whole(query.pattern)
    pattern = transform_everywhere(pattern, _joined)
    colours = _colours(pattern, query)
    pattern = transform_everywhere(pattern, lambda node: _sorted(node, colours))
    numbers: dict[Variable, Variable] = {}
    for variable in (*query.answered, *variables_of(pattern)):
        kind = "_:" if variable.hidden else ""
        numbers.setdefault(variable, Variable(f"{kind}v{len(numbers)}"))
    constants: list[Term] = []
    made = dataclasses.replace(
        query,
        pattern=transform_everywhere(rename(pattern, numbers), lambda n: _emptied(n, constants)),
        variables=tuple(numbers.get(v, v) for v in query.variables),
        template=rename(query.template, numbers),
        registration=query.registration
        and dataclasses.replace(query.registration, name=None, position=None),
        text="",
        prefixes={},
        warnings=(),
        position=None,
    )
    return Skeleton(made, tuple(constants), offset, limit)


def _whole(pattern: Node) -> tuple[Node, int, int | None]:
    if isinstance(pattern, Slice):
        return pattern.input, pattern.offset, pattern.limit
    return pattern, 0, None


_Ends = TypeVar("_Ends", TriplePattern, QuotedPattern)


def _with_ends(pattern: _Ends, change: Callable[[PatternTerm], PatternTerm]) -> _Ends:
    """A triple with other subjects and objects, those of the triples that it quotes included."""

    def end(term: PatternTerm) -> PatternTerm:
        return _with_ends(term, change) if isinstance(term, QuotedPattern) else change(term)

    return dataclasses.replace(pattern, subject=end(pattern.subject), object=end(pattern.object))


# -- one order ------------------------------------------------------------------------------------


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


Colours = Mapping[Variable, int]


def _colours(pattern: Node, query: Query) -> Colours:
    """A number of each variable by where it stands, and then by which ones it stands with (colour refinement)."""
    answered = {variable: place for place, variable in enumerate(query.answered)}
    triples = list(_triples(pattern, ""))
    stands: dict[Variable, list[object]] = defaultdict(list)
    for variable, place in answered.items():
        stands[variable].append(("answered", place))
    for variable, where in _read(pattern, ""):
        stands[variable].append(where)
    colours = {variable: hash(tuple(sorted(map(repr, at)))) for variable, at in stands.items()}
    for _ in range(_ROUNDS):
        around: dict[Variable, list[tuple[object, ...]]] = defaultdict(list)
        for where, triple in triples:
            shown = _shown(triple, colours)
            for place, term in enumerate(triple):
                for variable in variables_of(term):
                    around[variable].append((where, place, *shown))
        colours = {
            variable: hash((colours.get(variable, 0), *sorted(map(repr, around[variable]))))
            for variable in {*colours, *around}
        }
    return colours


def _triples(node: Node, where: str) -> Iterator[tuple[str, TriplePattern]]:
    """The triple patterns, each with what stands around it."""
    if isinstance(node, Bgp):
        for pattern in node.patterns:
            yield where, pattern
    for place, child in enumerate(node.children):
        yield from _triples(child, where if isinstance(node, Join) else _inside(where, node, place))


def _inside(where: str, node: Node, place: int) -> str:
    name = getattr(node, "name", None)
    shown = name.n3() if isinstance(name, Iri) else ""
    return f"{where}/{type(node).__name__} {shown}{place if len(node.children) > 1 else ''}"


def _read(node: Node, where: str) -> Iterator[tuple[Variable, object]]:
    """What variables stand in other than triple patterns: expressions, projections, names."""
    if not isinstance(node, Bgp | Join):
        own = dataclasses.replace(node.replace_children(tuple(Bgp() for _ in node.children)))
        for place, variable in enumerate(_mentions(own)):
            yield variable, (where, type(node).__name__, place)
    for place, child in enumerate(node.children):
        yield from _read(child, where if isinstance(node, Join) else _inside(where, node, place))


def _mentions(value: object) -> Iterator[Variable]:
    if isinstance(value, Variable):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _mentions(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _mentions(getattr(value, field.name))


def _shown(pattern: TriplePattern, colours: Colours) -> tuple[object, ...]:
    def shown(term: PatternTerm) -> object:
        if isinstance(term, Variable):
            return colours.get(term, 0)
        if isinstance(term, Iri | Literal | QuotedTriple):
            return "a constant"
        return tuple(colours.get(v, 0) for v in variables_of(term))

    predicate = pattern.predicate
    named = predicate.n3() if isinstance(predicate, Iri) else shown(predicate)
    return (named, shown(pattern.subject), shown(pattern.object))


def _sorted(node: Node, colours: Colours) -> Node:
    if isinstance(node, Bgp):
        # Of two that differ in constants only, neither comes first of itself: any order will do.
        patterns = sorted(node.patterns, key=lambda p: repr((_shown(p, colours), *map(_text, p))))
        return dataclasses.replace(node, patterns=tuple(patterns))
    if isinstance(node, Join):
        parts = sorted(_parts(node), key=lambda part: repr(_form(part, colours)))
        return reduce(Join, parts)
    return node


def _text(term: PatternTerm) -> str:
    return "" if isinstance(term, Variable) or variables_of(term) else term.n3()


def _form(node: Node, colours: Colours) -> object:
    """What a group looks like, whatever its variables and constants are called."""
    if isinstance(node, Bgp):
        return ("Bgp", *(_shown(p, colours) for p in node.patterns))
    own = node.replace_children(tuple(Bgp() for _ in node.children)) if node.children else node
    read = tuple(colours.get(v, 0) for v in _mentions(own))
    name = getattr(node, "name", None)
    shown = name.n3() if isinstance(name, Iri) else ""
    return (type(node).__name__, shown, read, *(_form(child, colours) for child in node.children))


# -- constants ------------------------------------------------------------------------------------


def _emptied(node: Node, constants: list[Term]) -> Node:
    """A node with holes for its constants, equal ones with the same; the new ones are put to the others."""

    def place(term: Term) -> Variable:
        if term not in constants:
            constants.append(term)
        return hole(constants.index(term))

    def end(term: PatternTerm) -> PatternTerm:
        return place(term) if isinstance(term, Iri | Literal | QuotedTriple) else term

    def value(expression: Expression) -> Expression:
        if isinstance(expression, Constant):
            return VariableReference(place(expression.term), occurrence=expression.occurrence)
        if _is_what_it_does(expression):
            return expression
        children = tuple(value(child) for child in expression.children)
        return (
            expression if children == expression.children else expression.replace_children(children)
        )

    if isinstance(node, Bgp):
        return dataclasses.replace(node, patterns=tuple(_with_ends(p, end) for p in node.patterns))
    return map_expressions(node, value)


def _is_what_it_does(expression: Expression) -> bool:
    if isinstance(expression, BuiltinCall):
        return expression.name in _BY_CONSTANT
    return isinstance(expression, FunctionCall) and cast_of(expression) is None
