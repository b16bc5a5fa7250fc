"""Terms in place of variables, wherever these stand in a pattern."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from sparkext.errors import ParameterError
from sparkext.language.algebra import Bgp, Extend, Graph, Path, Project, Service, Values, Window
from sparkext.language.expressions import Constant, Expression, VariableReference
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.r2r.patterns.inner_patterns import map_expressions, transform_everywhere
from sparkext.r2r.patterns.local_names import variables_of
from sparkext.r2r.templates.inline_rows import InlineRows
from static_data.terms import BlankNode, Iri, QuotedTriple, Term

Terms = Mapping[Variable, Term]
"""Terms by their variable."""


def filled(node: Node, terms: Terms) -> Node:
    """The pattern with terms in place of their variables; one that is projected is bound to its term.

    Raises ParameterError where a variable cannot have one.
    """
    return transform_everywhere(node, lambda inner: _filled(inner, terms))


def _filled(node: Node, terms: Terms) -> Node:
    node = map_expressions(node, lambda e: e.transform(lambda part: _value(part, terms)))
    match node:
        case Bgp():
            return dataclasses.replace(
                node, patterns=tuple(filled_triple(triple, terms) for triple in node.patterns)
            )
        case Path():
            subject, object_ = _term(node.subject, terms), _term(node.object, terms)
            return dataclasses.replace(node, subject=subject, object=object_)
        case Graph() | Window() | Service() if isinstance(node.name, Variable):
            return dataclasses.replace(node, name=filled_name(terms, node.name))
        case Project():
            made = node.input
            for variable in node.names:
                if variable in terms and variable not in made.variables:
                    made = Extend(made, variable, Constant(terms[variable]))
            return dataclasses.replace(node, input=made)
        case Extend() if node.variable in terms:
            raise ParameterError(f"the query itself gives {node.variable} a value")
        case InlineRows():
            return node.filled(terms)
        case Values() if not terms.keys().isdisjoint(node.names):
            name = next(name for name in node.names if name in terms)
            raise ParameterError(f"the query itself gives {name} values")
    return node


def _value(expression: Expression, terms: Terms) -> Expression:
    if isinstance(expression, VariableReference) and expression.variable in terms:
        return dataclasses.replace(
            Constant(terms[expression.variable]),
            position=expression.position,
            occurrence=expression.occurrence,
        )
    return expression


def filled_triple(triple: TriplePattern, terms: Terms) -> TriplePattern:
    """The triple with terms in place of their variables."""
    subject, predicate, object_ = (_term(term, terms) for term in triple)
    return dataclasses.replace(triple, subject=subject, predicate=predicate, object=object_)


def _term(term: PatternTerm, terms: Terms) -> PatternTerm:
    if isinstance(term, Variable):
        return terms.get(term, term)
    if not isinstance(term, QuotedPattern):
        return term
    parts = tuple(_term(part, terms) for part in (term.subject, term.predicate, term.object))
    if any(variables_of(part) for part in parts):
        return QuotedPattern(*parts)
    subject, predicate, object_ = parts
    assert isinstance(subject, Iri | BlankNode | QuotedTriple)
    assert isinstance(object_, Term)
    if not isinstance(predicate, Iri):
        raise ParameterError(f"{term.predicate.n3()} must be an IRI")
    return QuotedTriple(subject, predicate, object_)


def filled_name(terms: Terms, variable: Variable) -> Iri | Variable:
    """What names a graph where a variable did; raises ParameterError for what is no IRI."""
    term = terms.get(variable, variable)
    if not isinstance(term, Iri | Variable):
        raise ParameterError(f"{variable} must be an IRI, as it names a graph")
    return term
