"""Quoted triples for a store that holds none: each is an IRI, described by three triples in a graph of their own.

The IRI is the quoted triple's text behind `urn:quoted:`, percent-encoded, so equal triples have equal IRIs. The helper
graph describes every quoted triple of the data, and those inside them; only patterns of quoted triples look at it.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote

from static_data.terms import QuotedTriple, Term, parse_term

PREFIX = "urn:quoted:"
HELPERS = "urn:helpers"
PARTS = ("urn:helpers:subject", "urn:helpers:predicate", "urn:helpers:object")


def encode_term(term: Term, helpers: set[str]) -> str:
    """The N-Triples text of a term; the helper triples it needs are added."""
    if not isinstance(term, QuotedTriple):
        return term.n3()
    name = f"<{PREFIX}{quote(term.n3(), safe='')}>"
    for part, value in zip(PARTS, (term.subject, term.predicate, term.object), strict=True):
        helpers.add(f"{name} <{part}> {encode_term(value, helpers)} .")
    return name


def encode_triples(triples: Iterable[QuotedTriple], helpers: set[str]) -> list[str]:
    """N-Triples lines of triples (given as terms of three parts)."""
    return [
        " ".join(encode_term(part, helpers) for part in (t.subject, t.predicate, t.object)) + " ."
        for t in triples
    ]


def decode_term(text: str | None) -> str | None:
    """The text of a term as the engine writes it.

    >>> decode_term(encode_term(parse_term("<< <a:s> <a:p> << <a:s> <a:q> 'x' >> >>".replace("'", '"')), set()))
    '<< <a:s> <a:p> << <a:s> <a:q> "x" >> >>'
    """
    if text is None or not text.startswith(f"<{PREFIX}"):
        return text
    return unquote(text[len(PREFIX) + 1 : -1])


__all__ = ["HELPERS", "PARTS", "decode_term", "encode_term", "encode_triples", "parse_term"]
