"""Parameters of a query: variables of its text for which each registration gives a term."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from sparkext.errors import ParameterError
from sparkext.language.nodes import Variable
from sparkext.language.query import Query
from sparkext.r2r.patterns.local_names import variables_of
from sparkext.r2r.templates.filled_patterns import Terms, filled, filled_name, filled_triple
from sparkext.r2r.templates.skeletons import Skeleton, skeleton_of
from static_data.terms import Iri, Term


def with_terms(query: Query, terms: Terms) -> Query:
    """The query with terms in place of its parameters; one that is answered is answered with its term.

    Raises ParameterError for a name that the query does not have, or that cannot be a parameter.
    """
    known = {*variables_of(query.pattern), *query.answered}
    for variable in terms:
        if variable not in known:
            raise ParameterError(f"the query has no variable {variable}")
    pattern = filled(query.pattern, terms)
    described = tuple(
        filled_name(terms, v) if isinstance(v, Variable) else v for v in query.described
    )
    return dataclasses.replace(
        query,
        pattern=pattern,
        template=tuple(filled_triple(triple, terms) for triple in query.template),
        described=described,
    )


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
        return general.with_constants(constants)
