"""RDF 1.2 reifiers that a parser made up, folded back into the quoted triples of RDF-star.

In Turtle and TriG, RDF 1.2 reads `<< s p o >>` as a fresh blank node with an `rdf:reifies` arc to a
triple term. The stream processing papers read it as the quoted triple itself. So arcs of
*generated* reifiers are dropped and their blank nodes replaced; reifiers that somebody wrote (`<< s
p o ~ :r >>`, `:r rdf:reifies <<( s p o )>>`) stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyoxigraph as ox

RDF_REIFIES = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
# pyoxigraph labels a blank node that has no label with a random 128-bit number in hexadecimal.
GENERATED_LABEL = re.compile(r"[a-f][0-9a-f]{20,31}")

# Quads are tuples (s, p, o, g): a quoted triple as subject cannot be put into the library's own
# Quad.
QuadTuple = tuple[Any, Any, Any, Any]


def _is_generated(term: Any) -> bool:
    return isinstance(term, ox.BlankNode) and GENERATED_LABEL.fullmatch(term.value) is not None


def _is_reification(quad: Any) -> bool:
    return isinstance(quad.object, ox.Triple) and quad.predicate == RDF_REIFIES


class _Folding:
    """Generated reifiers seen so far, with the quoted triple each stands for as a nested tuple."""

    def __init__(self) -> None:
        self.quoted: dict[Any, Any] = {}
        self.unused: dict[Any, Any] = {}

    def term(self, term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            self.unused.pop(term, None)
            return self.quoted.get(term, term)
        if isinstance(term, ox.Triple):
            return (self.term(term.subject), term.predicate, self.term(term.object))
        return term

    def quad(self, quad: Any) -> Any:
        if not self.quoted and not isinstance(quad.object, ox.Triple):
            return quad
        return (self.term(quad.subject), quad.predicate, self.term(quad.object), quad.graph_name)


def fold_stream(quads: Iterable[Any]) -> Iterator[Any]:
    """Fold while parsing, for files in which every reifier with a random label is generated.

    Takes quads in the parser's order, where a generated reifier is introduced before its uses or,
    as an object, directly after its first use. Yields quads, or tuples (s, p, o, g) whose terms may
    be nested tuples. A quoted triple that nothing is said of, which RDF 1.2 allows and RDF-star does not, is
    a SyntaxError at the end.
    """
    folding = _Folding()
    waiting: Any = None
    for quad in quads:
        if _is_reification(quad) and _is_generated(quad.subject):
            folding.quoted[quad.subject] = folding.term(quad.object)
            folding.unused[quad.subject] = quad.object
            continue
        if waiting is not None:
            yield folding.quad(waiting)
            waiting = None
        if _is_generated(quad.object) and quad.object not in folding.quoted:
            waiting = quad
        else:
            yield folding.quad(quad)
    if waiting is not None:
        yield folding.quad(waiting)
    for triple in folding.unused.values():
        raise SyntaxError(f"a quoted triple that nothing is said of: {triple}")


def fold_all(quads: Iterable[Any], written_labels: Collection[str]) -> Iterator[Any]:
    """Fold when the whole file is known, for files that also spell out `rdf:reifies`.

    A blank node counts as a generated reifier when its label is random and not in `written_labels`,
    and it reifies exactly one triple. Holds the file's quads in memory.
    """
    held = list(quads)
    arcs = Counter(
        quad.subject
        for quad in held
        if _is_reification(quad)
        and _is_generated(quad.subject)
        and quad.subject.value not in written_labels
    )
    reified = {
        quad.subject: quad.object
        for quad in held
        if _is_reification(quad) and arcs.get(quad.subject) == 1
    }
    folding = _Folding()

    def resolve(term: Any) -> Any:
        if isinstance(term, ox.BlankNode) and term in reified:
            if term not in folding.quoted:
                folding.quoted[term] = term  # A reifier of itself, however odd, stays a blank node.
                folding.quoted[term] = resolve(reified[term])
            return folding.quoted[term]
        if isinstance(term, ox.Triple):
            return (resolve(term.subject), term.predicate, resolve(term.object))
        return term

    for (
        node
    ) in reified:  # in the order of the file, in which inner ones come first: they may be deep
        resolve(node)
    for quad in held:
        if not (_is_reification(quad) and quad.subject in reified):
            yield (resolve(quad.subject), quad.predicate, resolve(quad.object), quad.graph_name)
