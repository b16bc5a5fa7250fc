"""Data that several tests read in several formats."""

from __future__ import annotations

import bz2
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pyoxigraph as ox

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"

# Without blank nodes and quoted triples: every format can say it.
PLAIN = f"""
<{EX}a> <{EX}knows> <{EX}b> .
<{EX}b> <{EX}knows> <{EX}c> .
<{EX}a> <{EX}name> "Anna \\"A\\" \\\\ \\t\\n tab and line" .
<{EX}a> <{EX}name> "Anne"@fr .
<{EX}b> <{EX}name> "B\u00e9a \U0001f600"@en-gb .
<{EX}a> <{EX}age> "42"^^<{XSD}integer> .
<{EX}b> <{EX}age> "042"^^<{XSD}integer> .
<{EX}b> <{EX}height> "1.80"^^<{XSD}decimal> .
<{EX}c> <{EX}height> "1.8E0"^^<{XSD}double> .
<{EX}c> <{EX}born> "2026-01-31T10:00:00.5Z"^^<{XSD}dateTime> .
<{EX}c> <{EX}alive> "true"^^<{XSD}boolean> .
<{EX}c> <{EX}odd> "x"^^<{XSD}integer> .
<{EX}caf\u00e9> <{EX}knows> <{EX}a> .
"""

Quad = tuple[str, str, str, str | None]


def oracle_quads(content: bytes, format: Any, base: str = EX) -> set[Quad]:
    """What pyoxigraph reads, as canonical texts; for data without quoted triples."""
    return {
        (text(q.subject), text(q.predicate), text(q.object), graph_text(q.graph_name))
        for q in ox.parse(content, format=format, base_iri=base)
    }


def text(term: Any) -> str:
    """Canonical N-Triples text, written independently of the code under test."""
    if isinstance(term, ox.Literal):
        lexical = (
            term.value.replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\r", "\\r")
        )
        if term.language:
            return f'"{lexical}"@{term.language.lower()}'
        if term.datatype.value == XSD + "string":
            return f'"{lexical}"'
        return f'"{lexical}"^^<{term.datatype.value}>'
    return str(term)


def graph_text(graph: Any) -> str | None:
    """Text of a graph name, None for the default graph."""
    return None if isinstance(graph, ox.DefaultGraph) else text(graph)


def write_as(folder: Path, name: str, content: bytes) -> Path:
    """Write content, packed as the name says."""
    path = folder / name
    if name.lower().endswith(".gz"):
        path.write_bytes(gzip.compress(content))
    elif name.lower().endswith(".bz2"):
        path.write_bytes(bz2.compress(content))
    else:
        path.write_bytes(content)
    return path


def serialised(content: str, format: Any) -> bytes:
    """N-Quads text in another format."""
    quads = ox.parse(content.encode(), format=ox.RdfFormat.N_QUADS)
    if format in (ox.RdfFormat.TURTLE, ox.RdfFormat.RDF_XML, ox.RdfFormat.N_TRIPLES):
        triples = [q.triple for q in quads]
        result = ox.serialize(triples, format=format)
    else:
        result = ox.serialize(list(quads), format=format)
    assert result is not None
    return result


def store_quads(store: Any) -> Counter[Quad]:
    """All quads of a store as texts; a Counter, so that repeated rows show."""
    return Counter(
        (store.text(s), store.text(p), store.text(o), store.text(g) if g else None)
        for s, p, o, g in store.quads().collect()
    )
