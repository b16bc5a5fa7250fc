"""Random RDF-star data and patterns, written for the engine and, quoted triples encoded, for SPARQL 1.1."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from static_data.terms import Iri, Literal, QuotedTriple, Term
from tests.oracle.quoted_encoding import HELPERS, PARTS, encode_term

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


@dataclass(frozen=True)
class Texts:
    """One group's content: for the engine, and for SPARQL 1.1 over encoded data."""

    star: str
    plain: str

    def __add__(self, other: Texts) -> Texts:
        return Texts(f"{self.star} {other.star}", f"{self.plain} {other.plain}")


class PatternWriter:
    """Writes groups; variables inside quoted triples are found through the helper graph."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._helpers = 0

    def triples(self, count: int) -> Texts:
        """A basic graph pattern: its triples and, apart from them, what their quoted triples are made of."""
        result, apart = Texts("", ""), ""
        for _ in range(count):
            found: list[str] = []
            parts = [
                self._term(2, found),
                self._predicate(),
                self._term(2, found),
            ]
            star = " ".join(star for star, _ in parts)
            plain = " ".join(plain for _, plain in parts)
            result += Texts(f"{star} .", f"{plain} .")
            apart += " ".join(found)
        return Texts(result.star, f"{result.plain} GRAPH <{HELPERS}> {{ {apart} }}")

    def _predicate(self) -> tuple[str, str]:
        random = self._random
        text = f"?{random.choice(VARIABLES)}" if random.random() < 0.1 else None
        text = text or random.choice(PREDICATES).n3()
        return text, text

    def _term(self, depth: int, helpers: list[str]) -> tuple[str, str]:
        random = self._random
        if depth and random.random() < 0.4:
            parts = [
                self._term(depth - 1, helpers),
                self._predicate(),
                self._term(depth - 1, helpers),
            ]
            self._helpers += 1
            name = f"?quoted{self._helpers}"
            for part, (_, plain) in zip(PARTS, parts, strict=True):
                helpers.append(f"{name} <{part}> {plain} .")
            return "<< " + " ".join(star for star, _ in parts) + " >>", name
        if random.random() < 0.8:
            variable = f"?{random.choice(VARIABLES)}"
            return variable, variable
        term = random_term(random, 1)
        while isinstance(term, Literal):
            term = random_term(random, 1)
        return term.n3(), encode_term(term, set())
