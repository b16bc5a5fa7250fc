"""What an editor of queries may complete: the predicates, graphs and streams that an engine has, and their prefixes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from sparkext.runtime.query_instance import QueryInstance

if TYPE_CHECKING:
    from sparkext.engine import Engine

MOST_PREDICATES = 2000
WELL_KNOWN: Final = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "qudt": "http://qudt.org/schema/qudt/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "saref": "https://saref.etsi.org/core/",
    "schema": "http://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes as they are commonly written (prefix.cc)."""

_ALWAYS = ("rdf", "xsd")
_NAMESPACE = re.compile(r"(?P<namespace>.*[/#])[^/#]*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NO_NAMES = frozenset({"http", "https", "www", "com", "org", "net", "ns", "schema", "vocab"})


def vocabulary(engine: Engine) -> dict[str, Any]:
    """IRIs by `prefixes`, the `predicates` with their triples and the streams that have them, `graphs` and `streams`.

    Predicates are those of static graphs, by how many triples have them, and of the newest elements of streams.
    """
    store = engine.store
    counts: Counter[str] = Counter()
    with engine.parts.in_use():
        graphs = store.graphs()
        for graph in graphs:
            for predicate in store.predicates(graph.id):
                counts[_iri(store.text(predicate))] += store.row_count(graph.id, predicate)
        streams = list(engine.streams.items())
        arriving: dict[str, list[str]] = {}
        for iri, stream in streams:
            for name in stream.newest_predicates:
                arriving.setdefault(name, []).append(iri)
        declared = _declared(engine)
    names = [*arriving, *(name for name, _ in counts.most_common() if name not in arriving)]
    return {
        "prefixes": prefixes_for(names, declared),
        "predicates": [
            {"iri": name, "triples": counts[name], "streams": arriving.get(name, [])}
            for name in names[:MOST_PREDICATES]
        ],
        "graphs": [_iri(graph.text) for graph in graphs if graph.text],
        "streams": [iri for iri, _ in streams],
    }


def _iri(text: str) -> str:
    return text.removeprefix("<").removesuffix(">")


def _declared(engine: Engine) -> dict[str, str]:
    """The prefixes of queries, the newest last; of queries that differ in constants only, those of one."""
    found: dict[str, str] = {}
    seen = set()
    for query in engine.queries.values():
        template = query.template if isinstance(query, QueryInstance) else query
        if id(template) not in seen:
            seen.add(id(template))
            found.update(query.query.prefixes)
    return found


def prefixes_for(iris: Iterable[str], declared: Mapping[str, str]) -> dict[str, str]:
    """Prefixes for the namespaces of IRIs: as queries declare them, as they are commonly written, or made up.

    >>> prefixes_for(["http://e.org/rooms/schema#at", "http://xmlns.com/foaf/0.1/name"], {"": "http://e.org/"})
    {'': 'http://e.org/', 'rdf': 'http://www.w3.org/1999/02/22-rdf-syntax-ns#', 'xsd':
    'http://www.w3.org/2001/XMLSchema#', 'rooms': 'http://e.org/rooms/schema#', 'foaf': 'http://xmlns.com/foaf/0.1/'}
    """
    found = dict(declared)
    for name in _ALWAYS:
        found.setdefault(name, WELL_KNOWN[name])
    common = {namespace: name for name, namespace in WELL_KNOWN.items()}
    for iri in iris:
        match = _NAMESPACE.fullmatch(iri)
        if match is None or match["namespace"] in found.values():
            continue
        namespace = match["namespace"]
        usual = common.get(namespace)
        name = _made_up(namespace, found) if usual is None or usual in found else usual
        found[name] = namespace
    return found


def _made_up(namespace: str, taken: Mapping[str, str]) -> str:
    words = [word.lower() for word in _WORD.findall(namespace) if word.lower() not in _NO_NAMES]
    name = words[-1][:12] if words else "ns"
    number = 2
    made = name
    while made in taken:
        made, number = f"{name}{number}", number + 1
    return made
