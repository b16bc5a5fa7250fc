"""Random RDF-star data and patterns."""

from __future__ import annotations

from random import Random

from static_data.terms import Iri, Literal, QuotedTriple, Term

E = "http://e/"
NODES = [Iri(E + name) for name in ("a", "b", "g1")]
PREDICATES = [Iri(E + name) for name in ("p", "q")]
VARIABLES = ("x", "y", "z")


def random_term(random: Random, depth: int) -> Term:
    """A node, a number or a quoted triple of at most this depth."""
    if depth and random.random() < 0.45:
        return random_triple(random, depth - 1)
    if random.random() < 0.15:
        return Literal("1", datatype=Iri("http://www.w3.org/2001/XMLSchema#integer"))
    return random.choice(NODES)


def random_triple(random: Random, depth: int = 2) -> QuotedTriple:
    """A triple, as terms; literals only as its object."""
    subject = random_term(random, depth)
    while isinstance(subject, Literal):
        subject = random_term(random, depth)
    return QuotedTriple(subject, random.choice(PREDICATES), random_term(random, depth))


class PatternWriter:
    """Writes groups of triple patterns, quoted ones among them."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def triples(self, count: int) -> str:
        """A basic graph pattern."""
        patterns = (f"{self._term(2)} {self._predicate()} {self._term(2)} ." for _ in range(count))
        return " ".join(patterns)

    def _predicate(self) -> str:
        random = self._random
        text = f"?{random.choice(VARIABLES)}" if random.random() < 0.1 else None
        return text or random.choice(PREDICATES).n3()

    def _term(self, depth: int) -> str:
        random = self._random
        if depth and random.random() < 0.4:
            return f"<< {self._term(depth - 1)} {self._predicate()} {self._term(depth - 1)} >>"
        if random.random() < 0.8:
            return f"?{random.choice(VARIABLES)}"
        term = random_term(random, 1)
        while isinstance(term, Literal):
            term = random_term(random, 1)
        return term.n3()
