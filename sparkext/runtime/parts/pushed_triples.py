"""Triples as users give them, terms of Python or text, written as lines of N-Triples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from sparkext.answers.rdflib_bridge import is_rdflib, node_text, triples_of
from sparkext.answers.scipy_bridge import from_scipy, is_scipy
from sparkext.argument_checks import described
from sparkext.errors import DistributionError, StreamElementError
from static_data.files.rdf_version import RdfVersion
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple

ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
LINE_ENDS = re.compile(r"[\r\n]+")  # str.splitlines also cuts at characters that literals may hold

TermLike = str | Iri | BlankNode | Literal | QuotedTriple | int | float | bool
Triple = tuple[TermLike, TermLike, TermLike]


def triple_lines(
    triples: str | Triple | Iterable[Triple],
    version: RdfVersion = RdfVersion.STAR,
    name: str = "triples",
) -> list[str]:
    """Triples as lines of N-Triples; raises StreamElementError for what is none.

    Quoted triples are written as `version` has them; what is text stays as it is. Of an rdflib dataset it is
    the default graph, if no other has triples. `name` is the argument's.
    """
    if isinstance(triples, str):
        return [line for line in LINE_ENDS.split(triples) if line.strip(" \t")]
    if isinstance(triples, tuple) and len(triples) == 3 and not isinstance(triples[0], tuple):
        triples = [triples]
    if isinstance(triples, bytes | bytearray) or not isinstance(triples, Iterable):
        raise StreamElementError(
            f"{name}: must be N-Triples text, one triple or several, not {described(triples)}"
        )
    if is_rdflib(triples) and hasattr(triples, "triples"):
        try:
            triples = list(triples_of(triples))
        except ValueError as error:
            raise StreamElementError(f"{name}: {error}") from None
    lines = []
    for triple in triples:
        if not isinstance(triple, tuple) or len(triple) != 3:
            raise StreamElementError(
                f"{name}: a triple is (subject, predicate, object), not {described(triple)}"
            )
        try:
            lines.append(" ".join(term_text(term, version) for term in triple) + " .")
        except StreamElementError as error:
            raise StreamElementError(f"{name}: {error}") from None
    return lines


_XSD = "http://www.w3.org/2001/XMLSchema#"
_PYTHON_VALUES: tuple[tuple[type, Callable[[Any], str], str], ...] = (
    (bool, lambda v: str(v).lower(), "boolean"),
    (int, str, "integer"),
    (float, lambda v: {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(repr(v), repr(v)), "double"),
)


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE_OR_BREAK = re.compile(r"\\.|[\r\n]", re.DOTALL)
_BREAKS = {"\n": "\\n", "\r": "\\r"}


def term_text(term: TermLike, version: RdfVersion = RdfVersion.STAR) -> str:
    r"""A term in N-Triples syntax; a text that is so already, but for raw line breaks in strings, gets these escaped.

    >>> term_text("http://e/x"), term_text(3), term_text('"a"@en')
    ('<http://e/x>', '"3"^^<http://www.w3.org/2001/XMLSchema#integer>', '"a"@en')
    >>> print(term_text('"a\nb"'))
    "a\nb"
    """
    if is_rdflib(term):
        try:
            return node_text(term)
        except TypeError as error:
            raise StreamElementError(str(error)) from None
    if isinstance(term, str):
        term = term.strip("\r\n")
        if ABSOLUTE_IRI.fullmatch(term) and not term.startswith("_:"):
            return f"<{term}>"
        return _STRING.sub(_with_breaks_escaped, term) if LINE_ENDS.search(term) else term
    for kind, text, datatype in _PYTHON_VALUES:
        if isinstance(term, kind):
            return f'"{text(term)}"^^<{_XSD}{datatype}>'
    try:
        if isinstance(term, QuotedTriple) and version is RdfVersion.RDF_1_2:
            subject, object_ = term_text(term.subject, version), term_text(term.object, version)
            return f"<<( {subject} {term.predicate.n3()} {object_} )>>"
        if isinstance(term, Iri | BlankNode | Literal | QuotedTriple):
            return term.n3()
    except (AttributeError, TypeError):
        pass  # a part of it is none
    if is_scipy(term):
        try:
            return from_scipy(term).n3()
        except DistributionError as error:
            raise StreamElementError(str(error)) from None
    raise StreamElementError(f"not an RDF term: {described(term)}")


def _with_breaks_escaped(string: re.Match[str]) -> str:
    # A break after a backslash stays, so that its element is set aside: what is meant nobody can tell.
    return _ESCAPE_OR_BREAK.sub(lambda found: _BREAKS.get(found[0], found[0]), string[0])
