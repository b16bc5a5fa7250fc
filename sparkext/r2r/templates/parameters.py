"""Parameters of a query: variables of its text for which each registration gives a term."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from sparkext.errors import ParameterError
from sparkext.language.algebra import Bgp, Extend, Graph, Path, Project, Service, Values, Window
from sparkext.language.expressions import Constant, Expression, VariableReference
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.language.query import Query
from sparkext.r2r.patterns.inner_patterns import map_expressions, transform_everywhere
from sparkext.r2r.patterns.local_names import variables_of
from sparkext.r2r.templates.skeletons import Skeleton, skeleton_of
from static_data.terms import BlankNode, Iri, QuotedTriple, Term

Terms = Mapping[Variable, Term]
"""Terms by their variable."""


def with_terms(query: Query, terms: Terms) -> Query:
    """The query with terms in place of its parameters; one that is answered is answered with its term.

    Raises ParameterError for a name that the query does not have, or that cannot be a parameter.
    """
    known = {*variables_of(query.pattern), *query.answered}
    for variable in terms:
        if variable not in known:
            raise ParameterError(f"the query has no variable {variable}")
    pattern = transform_everywhere(query.pattern, lambda node: _filled(node, terms))
    described = tuple(_iri(terms, v) if isinstance(v, Variable) else v for v in query.described)
    return dataclasses.replace(
        query,
        pattern=pattern,
        template=tuple(_triple(triple, terms) for triple in query.template),
        described=described,
    )


def _filled(node: Node, terms: Terms) -> Node:
    node = map_expressions(node, lambda e: e.transform(lambda part: _value(part, terms)))
    match node:
        case Bgp():
            return dataclasses.replace(
                node, patterns=tuple(_triple(triple, terms) for triple in node.patterns)
            )
        case Path():
            subject, object_ = _term(node.subject, terms), _term(node.object, terms)
            return dataclasses.replace(node, subject=subject, object=object_)
        case Graph() | Window() | Service() if isinstance(node.name, Variable):
            return dataclasses.replace(node, name=_iri(terms, node.name))
        case Project():
            made = node.input
            for variable in node.names:
                if variable in terms and variable not in made.variables:
                    made = Extend(made, variable, Constant(terms[variable]))
            return dataclasses.replace(node, input=made)
        case Extend() if node.variable in terms:
            raise ParameterError(f"the query itself gives {node.variable} a value")
        case Values() if not terms.keys().isdisjoint(node.names):
            name = next(name for name in node.names if name in terms)
            raise ParameterError(f"the query itself gives {name} values")
    return node


def _value(expression: Expression, terms: Terms) -> Expression:
    if isinstance(expression, VariableReference) and expression.variable in terms:
        return Constant(terms[expression.variable], position=expression.position)
    return expression


def _triple(triple: TriplePattern, terms: Terms) -> TriplePattern:
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


def _iri(terms: Terms, variable: Variable) -> Iri | Variable:
    term = terms.get(variable, variable)
    if not isinstance(term, Iri | Variable):
        raise ParameterError(f"{variable} must be an IRI, as it names a graph")
    return term


class ParameterisedQuery:
    """A query whose parameters have terms at each registration; what is the same for all is found once."""

    def __init__(self, query: Query, names: Iterable[Variable]) -> None:
        self.query = query
        self.names = tuple(names)
        # Terms that no query can have stand for the parameters.
        self._stand_ins = {name: Iri(f"urn:x-cqels:parameter:{name.name}") for name in self.names}
        self._skeleton = skeleton_of(with_terms(query, self._stand_ins))
        # One that stands elsewhere than in the skeleton's constants, as a predicate or a graph, makes other skeletons.
        shown = repr(self._skeleton and self._skeleton.query)
        self._general = self._skeleton is not None and not any(
            stand_in.value in shown for stand_in in self._stand_ins.values()
        )

    def skeleton(self, terms: Terms) -> Skeleton | None:
        """The skeleton of the query with these terms."""
        general = self._skeleton
        if general is None:
            return None
        own: dict[Term, Term] = {self._stand_ins[name]: terms[name] for name in self.names}
        constants = tuple(own.get(constant, constant) for constant in general.constants)
        if not self._general or len(set(constants)) < len(constants):  # equal constants are one
            return skeleton_of(with_terms(self.query, terms))
        return dataclasses.replace(general, constants=constants)
