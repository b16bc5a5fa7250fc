"""Random graphs of rdflib's, and what becomes of one that an engine has loaded."""

from __future__ import annotations

from collections import Counter
from typing import Any

import rdflib
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from sparkext.answers.rdflib_bridge import from_rdflib

E = "http://e/"
IRIS = [URIRef(E + name) for name in ("a", "b", "c", "ä-€-😀", "p?q=1&r=%20#f", "x#y#z", "[1]")]
PREDICATES = [URIRef(E + name) for name in ("p", "q", "r")]
BLANKS = [BNode(label) for label in ("b", "x", "x62", "no label!", "ä b", "-", "N" + "0" * 32)]
DATATYPES = [
    XSD.integer,
    XSD.decimal,
    XSD.double,
    XSD.float,
    XSD.boolean,
    XSD.date,
    XSD.dateTime,
    XSD.duration,
    XSD.hexBinary,
    XSD.byte,
    URIRef(E + "own"),
]
LEXICALS = [
    "",
    "1",
    "01",
    "-0",
    "1.50",
    "1e3",
    "INF",
    "NaN",
    "true",
    "2020-02-30",
    "P1D",
    "no",
    "ff",
]

_texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=6) | st.sampled_from(
    ['say "x"', "a\nb\r\tc", "\\", "\\n", "\x00\x7f\x85\u2028", "'", "<>", "_:b .", "\U0010ffff"]
)
literals = st.one_of(
    st.builds(Literal, _texts),
    st.builds(Literal, _texts, lang=st.sampled_from(["en", "en-GB", "DE", "zh-hant-tw"])),
    st.builds(
        lambda lexical, datatype, normalize: Literal(
            lexical, datatype=datatype, normalize=normalize
        ),
        st.sampled_from(LEXICALS),
        st.sampled_from(DATATYPES),
        st.booleans(),
    ),
    st.integers(-3, 3).map(Literal),
)
subjects = st.sampled_from(IRIS + BLANKS)
triples = st.tuples(subjects, st.sampled_from(PREDICATES), subjects | literals)
ground_triples = st.tuples(
    st.sampled_from(IRIS), st.sampled_from(PREDICATES), st.sampled_from(IRIS) | literals
)
triple_lists = st.lists(triples, max_size=25)


def graph_of(triples: list[Any]) -> rdflib.Graph:
    """A graph of them."""
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(triple)
    return graph


def blank_label(node: BNode) -> str:
    """What a load calls a blank node, without the prefix of the load."""
    return str(from_rdflib(node).n3())[2:]


def as_loaded(node: Any, scope: str) -> Any:
    """A node as a store shows it that has loaded it."""
    return BNode(scope + blank_label(node)) if isinstance(node, BNode) else node


def loaded(triples: Any, scope: str) -> Counter[Any]:
    """The same of triples."""
    return Counter(tuple(as_loaded(node, scope) for node in triple) for triple in triples)


def name_of(graph: Any) -> Any:
    """A graph's name, None for the default graph."""
    name = getattr(graph, "identifier", graph)
    return None if name == DATASET_DEFAULT_GRAPH_ID else name
