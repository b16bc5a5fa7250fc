"""Random RDF-star data and patterns."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from static_data.terms import Iri, Literal, QuotedTriple, Term

E = "http://e/"
NODES = [Iri(E + name) for name in ("a", "b", "g1")]
PREDICATES = [Iri(E + name) for name in ("p", "q")]
VARIABLES = ("x", "y", "z", "u", "v")


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
    """Writes groups of triple patterns, quoted ones among them.

    Most are triples of the data with variables in them, the same for the same term as far as there are enough, so that
    much is found.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._variables: dict[Term, str] = {}

    def triples(self, data: Sequence[QuotedTriple], count: int) -> str:
        """A basic graph pattern."""
        random = self._random
        likes = [
            random.choice(data) if data and random.random() < 0.8 else random_triple(random)
            for _ in range(count)
        ]
        return " ".join(f"{self._parts(like)} ." for like in likes)

    def _parts(self, like: QuotedTriple) -> str:
        predicate = like.predicate.n3()
        if self._random.random() < 0.1:
            predicate = self._variable(like.predicate)
        return f"{self._term(like.subject)} {predicate} {self._term(like.object)}"

    def _term(self, like: Term) -> str:
        random = self._random
        if isinstance(like, QuotedTriple) and random.random() < 0.7:
            return f"<< {self._parts(like)} >>"
        return self._variable(like) if random.random() < 0.7 else like.n3()

    def _variable(self, like: Term) -> str:
        used = set(self._variables.values())
        free = [name for name in VARIABLES if name not in used]
        if like not in self._variables and free:
            self._variables[like] = free[0]
        return "?" + self._variables.get(like, self._random.choice(VARIABLES))
