"""The same statements about statements without quoted triples: RDF's own reification vocabulary."""

from __future__ import annotations

import re
from dataclasses import replace

from sparkext.recorded_streams import StreamElement

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PARTS = ("subject", "predicate", "object")

_TERM = r'<[^>\s]*>|_:\S+|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[\w-]+)?|[^\s<>"]+'
_QUOTED = re.compile(rf"<<\s*({_TERM})\s+({_TERM})\s+({_TERM})\s*>>")


def reified_element(element: StreamElement) -> StreamElement:
    """The element with a blank node for each triple that it quotes: four triples in the place of each.

    A triple that is quoted several times has one blank node. Quoted triples inside quoted ones are not for here.

    >>> said = "<< <http://e/a> <http://e/b> <http://e/c> >> <http://e/d> <http://e/e> ."
    >>> for triple in reified_element(StreamElement(0, None, (said,))).triples:
    ...     print(triple.replace(RDF, "rdf:"))
    _:t0 <rdf:type> <rdf:Statement> .
    _:t0 <rdf:subject> <http://e/a> .
    _:t0 <rdf:predicate> <http://e/b> .
    _:t0 <rdf:object> <http://e/c> .
    _:t0 <http://e/d> <http://e/e> .
    """
    nodes: dict[tuple[str, ...], str] = {}
    triples: list[str] = []

    def name(found: re.Match[str]) -> str:
        node = nodes.get(found.groups())
        if node is None:
            node = nodes[found.groups()] = f"_:t{len(nodes)}"
            triples.append(f"{node} <{RDF}type> <{RDF}Statement> .")
            triples.extend(
                f"{node} <{RDF}{part}> {term} ."
                for part, term in zip(PARTS, found.groups(), strict=True)
            )
        return node

    for triple in element.triples:
        rewritten = _QUOTED.sub(name, triple)  # what it needs comes first
        triples.append(rewritten)
    return replace(element, triples=tuple(triples))


def reified_pattern(text: str) -> str:
    """A group of patterns with each quoted one written out: type, subject, predicate, object, then what is said of it.

    Quoted triples are expected as subjects, and the prefix rdf: as declared.

    >>> print(reified_pattern("{ << ?s :p ?o >> :said ?by . ?by :known true }"))
    { ?statement0 rdf:type rdf:Statement . ?statement0 rdf:subject ?s . ?statement0 rdf:predicate :p . \
?statement0 rdf:object ?o . ?statement0 :said ?by . ?by :known true }
    """
    number = 0

    def written_out(found: re.Match[str]) -> str:
        nonlocal number
        node = f"?statement{number}"
        number += 1
        patterns = [f"{node} rdf:type rdf:Statement"]
        for part, term in zip(PARTS, found.groups(), strict=True):
            patterns.append(f"{node} rdf:{part} {term}")
        return " . ".join([*patterns, node])

    return _QUOTED.sub(written_out, text)
