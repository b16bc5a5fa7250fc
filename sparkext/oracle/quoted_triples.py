"""Quoted triples for a SPARQL engine that has none: each becomes an IRI, with three helper triples.

Oxigraph 0.5 is RDF 1.2: it reads `<< s p o >>` as a new reifier, and its store has no quoted triple as a subject. So
the oracle never shows it one:

- a quoted triple is the IRI `urn:cqels:oracle:quoted:` followed by its canonical N-Triples text, percent-encoded. Equal
  quoted triples are thus equal IRIs, wherever they stand, and the IRI alone says what it stands for;
- the graph `urn:cqels:oracle:quoted` holds, for every quoted triple of the data and for those nested in it, the triples
  `IRI subject s`, `IRI predicate p`, `IRI object o` (with predicates of the oracle's own), s and o again encoded;
- a quoted triple *pattern* becomes a variable for the IRI, and a triple pattern over that graph for each of its parts,
  recursively. As an IRI has exactly one of each, these joins neither lose nor repeat solutions;
- TRIPLE, SUBJECT, PREDICATE, OBJECT and isTRIPLE are functions on these IRIs (`sparql_functions`); what asks whether a
  term is an IRI, or for its text, is told that a quoted triple is none and has none;
- answers are decoded back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import quote, unquote

import pyoxigraph as ox

from sparkext.errors import CheckError
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term, parse_term

OWN = "urn:cqels:oracle:"
HELPER_GRAPH = f"{OWN}quoted"
SUBJECT, PREDICATE, OBJECT = (f"{OWN}{part}" for part in ("subject", "predicate", "object"))
_PREFIX = f"{HELPER_GRAPH}:"

StoredTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal


def encode(term: Term) -> StoredTerm:
    """The term as the store holds it.

    >>> a, p = Iri("http://e/a"), Iri("http://e/p")
    >>> encode(QuotedTriple(a, p, a)) == encode(QuotedTriple(a, p, a))
    True
    >>> decode(encode(Literal("x", language="en", direction="rtl"))).n3()
    '"x"@en--rtl'
    """
    match term:
        case Iri():
            return _named_node(term.value)
        case BlankNode():
            return ox.BlankNode(term.label)
        case Literal():
            if term.language is not None:
                direction = ox.BaseDirection(term.direction) if term.direction else None
                return ox.Literal(term.lexical, language=term.language, direction=direction)
            return ox.Literal(term.lexical, datatype=_named_node(term.datatype.value))
        case QuotedTriple():
            return ox.NamedNode(_PREFIX + quote(term.n3(), safe=""))


def _named_node(iri: str) -> ox.NamedNode:
    try:
        return ox.NamedNode(iri)
    except ValueError as error:
        # RFC 3987 does not have it. A parser that is told not to mind makes it all the same.
        line = f"<urn:x> <urn:x> <{iri}> ."
        try:
            (quad,) = ox.parse(line, format=ox.RdfFormat.N_TRIPLES, lenient=True)
        except SyntaxError:
            quad = None
        node = None if quad is None else quad.object
        if not isinstance(node, ox.NamedNode) or node.value != iri:
            raise CheckError(f"Oxigraph does not read <{iri}>: {error}") from None
        return node


def decode(term: object) -> Term:
    """The term that a stored one stands for, the inverse of `encode`."""
    match term:
        case ox.NamedNode():
            quoted = is_encoded(term)
            return parse_term(unquote(term.value[len(_PREFIX) :])) if quoted else Iri(term.value)
        case ox.BlankNode():
            return BlankNode(term.value)
        case ox.Literal():
            if term.language:
                direction = None if term.direction is None else str(term.direction.value)
                return Literal(term.value, language=term.language, direction=direction)
            return Literal(term.value, Iri(term.datatype.value))
    raise TypeError(f"not a term of the store: {term!r}")


def is_encoded(term: object) -> bool:
    """Whether a stored term stands for a quoted triple."""
    return isinstance(term, ox.NamedNode) and term.value.startswith(_PREFIX)


def helper_quads(term: Term) -> Iterator[ox.Quad]:
    """What the helper graph says of a term: nothing, unless it is a quoted triple."""
    if not isinstance(term, QuotedTriple):
        return
    name = encode(term)
    assert isinstance(name, ox.NamedNode)
    graph = ox.NamedNode(HELPER_GRAPH)
    parts = {SUBJECT: term.subject, PREDICATE: term.predicate, OBJECT: term.object}
    for predicate, part in parts.items():
        yield ox.Quad(name, ox.NamedNode(predicate), encode(part), graph)
        yield from helper_quads(part)
