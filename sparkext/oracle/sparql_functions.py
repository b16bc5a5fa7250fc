"""SPARQL-star's functions on quoted triples, as functions that Oxigraph calls.

They are plain Python on the decoded terms; None is SPARQL's error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyoxigraph as ox

from sparkext.oracle.quoted_triples import OWN, StoredTerm, decode, encode, is_encoded
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple

IS_TRIPLE: Final = f"{OWN}is-triple"
NOT_TRIPLE: Final = f"{OWN}not-a-triple"
TRIPLE: Final = f"{OWN}triple"
PARTS: Final = {name: f"{OWN}{name.lower()}-of" for name in ("SUBJECT", "PREDICATE", "OBJECT")}


def _is_triple(term: StoredTerm) -> StoredTerm:
    return ox.Literal(is_encoded(term))


def _not_triple(term: StoredTerm) -> StoredTerm | None:
    """The term itself, an error for a quoted triple: goes around arguments that must not be one."""
    return None if is_encoded(term) else term


def _triple(subject: StoredTerm, predicate: StoredTerm, object_: StoredTerm) -> StoredTerm | None:
    s, p, o = decode(subject), decode(predicate), decode(object_)
    if isinstance(s, Literal) or not isinstance(p, Iri):
        return None
    assert isinstance(s, Iri | BlankNode | QuotedTriple)
    return encode(QuotedTriple(s, p, o))


def _part(name: str) -> Callable[[StoredTerm], StoredTerm | None]:
    def part(term: StoredTerm) -> StoredTerm | None:
        return encode(getattr(decode(term), name.lower())) if is_encoded(term) else None

    return part


FUNCTIONS: Final[dict[ox.NamedNode, Callable[..., StoredTerm | ox.Triple | None]]] = {
    ox.NamedNode(IS_TRIPLE): _is_triple,
    ox.NamedNode(NOT_TRIPLE): _not_triple,
    ox.NamedNode(TRIPLE): _triple,
    **{ox.NamedNode(iri): _part(name) for name, iri in PARTS.items()},
}
