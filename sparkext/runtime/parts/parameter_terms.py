"""Parameters of a query as callers give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkext.argument_checks import check
from sparkext.errors import ParameterError, StreamElementError
from sparkext.language.nodes import Variable
from sparkext.runtime.parts.pushed_triples import term_text
from static_data.files.rdf_version import RdfVersion
from static_data.terms import BlankNode, Term, TermSyntaxError, parse_term

Parameters = Mapping[str, Any]
"""Terms by the name of their variable, without `?`: as elements have them, see `Stream.push`."""


def terms_of(parameters: object, version: RdfVersion) -> dict[Variable, Term]:
    """The terms of parameters; raises ParameterError for what is none, or a blank node.

    >>> terms_of({"room": "http://e/r1"}, RdfVersion.STAR)
    {Variable(name='room'): Iri(value='http://e/r1')}
    """
    if not isinstance(parameters, Mapping):
        raise check.wrong("parameters", "terms by the names of variables", parameters)
    found: dict[Variable, Term] = {}
    for name, given in parameters.items():
        if not isinstance(name, str):
            raise check.wrong("parameters", "terms by the names of variables", name)
        try:
            term = parse_term(term_text(given, version))
        except (StreamElementError, TermSyntaxError) as error:
            raise ParameterError(f"?{name}: {error}") from None
        if isinstance(term, BlankNode):
            raise ParameterError(f"?{name} cannot be a blank node")
        found[Variable(name.removeprefix("?").removeprefix("$"))] = term
    return found
