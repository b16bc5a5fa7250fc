"""Constants taken out of a query: queries that differ in them alone have one skeleton.

Spelling, prefixes, names of variables and the order of triples and of joined groups make no difference: triples and
groups are put in an order that follows from where variables and constants stand, and variables are numbered in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sparkext.language.algebra import Bgp, Path, Slice, Values
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import Constant, Expression, VariableReference
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.language.query import Query
from sparkext.r2r.patterns.inner_patterns import map_expressions, transform_everywhere
from sparkext.r2r.patterns.local_names import rename, variables_of
from sparkext.r2r.templates.constant_places import has_any_cells, has_any_ends, is_what_it_does
from sparkext.r2r.templates.inline_rows import InlineRows
from sparkext.r2r.templates.one_order import in_one_order
from static_data.terms import Iri, Literal, QuotedTriple, Term


@dataclass(frozen=True)
class Skeleton:
    """A query without its constants: in `query`, the variable `hole(n)` stands for `constants[n]`, each another one.

    Its variables have names of ours, in `query.answered` in the order of the query's. OFFSET and LIMIT of the whole
    query are none of it: `offset`, `limit` (None: all). Constants of the places of one group in `alike` could be
    exchanged with each other: they are in the order of their texts.
    """

    query: Query
    constants: tuple[Term, ...]
    offset: int = 0
    limit: int | None = None
    alike: tuple[tuple[int, ...], ...] = ()

    def with_constants(self, constants: Sequence[Term]) -> Skeleton:
        """The same with other constants, each another one, in these places."""
        made = list(constants)
        for places in self.alike:
            ordered = sorted((made[place] for place in places), key=lambda term: term.n3())
            for place, term in zip(places, ordered, strict=True):
                made[place] = term
        return dataclasses.replace(self, constants=tuple(made))


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
    pattern, exchangeable = in_one_order(pattern, query)
    numbers: dict[Variable, Variable] = {}
    for variable in (*query.answered, *variables_of(pattern)):
        kind = "_:" if variable.hidden else ""
        numbers.setdefault(variable, Variable(f"{kind}v{len(numbers)}"))
    shown = [numbers.get(v, v) for v in query.variables]
    if query.form != "SELECT":  # their order is that of the text, and nothing is answered in it
        shown.sort(key=lambda variable: variable.name)
    constants: list[Term] = []
    made = dataclasses.replace(
        query,
        pattern=transform_everywhere(rename(pattern, numbers), lambda n: _emptied(n, constants)),
        variables=tuple(shown),
        template=rename(query.template, numbers),
        registration=query.registration
        and dataclasses.replace(query.registration, name=None, position=None),
        text="",
        prefixes={},
        warnings=(),
        position=None,
    )
    alike = tuple(tuple(sorted(map(constants.index, terms))) for terms in exchangeable)
    return Skeleton(made, tuple(constants), offset, limit, alike)


def _whole(pattern: Node) -> tuple[Node, int, int | None]:
    if isinstance(pattern, Slice):
        return pattern.input, pattern.offset, pattern.limit
    return pattern, 0, None


_Ends = TypeVar("_Ends", TriplePattern, QuotedPattern)
_Change = Callable[[PatternTerm], PatternTerm]


def _with_ends(pattern: _Ends, change: _Change) -> _Ends:
    """A triple with other subjects and objects, those of the triples that it quotes included."""
    subject, object_ = _changed(pattern.subject, change), _changed(pattern.object, change)
    return dataclasses.replace(pattern, subject=subject, object=object_)


def _changed(term: PatternTerm, change: _Change) -> PatternTerm:
    return _with_ends(term, change) if isinstance(term, QuotedPattern) else change(term)


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
        if is_what_it_does(expression):
            return expression
        children = tuple(value(child) for child in expression.children)
        return (
            expression if children == expression.children else expression.replace_children(children)
        )

    match node:
        case Bgp():
            patterns = tuple(_with_ends(p, end) for p in node.patterns)
            return dataclasses.replace(node, patterns=patterns)
        case Path() if has_any_ends(node):
            subject, object_ = _changed(node.subject, end), _changed(node.object, end)
            return dataclasses.replace(node, subject=subject, object=object_)
        case Values() if has_any_cells(node):
            cells = (tuple(None if t is None else place(t) for t in row) for row in node.rows)
            return InlineRows(node.names, tuple(cells))
    return map_expressions(node, value)
